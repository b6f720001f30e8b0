"""Under policy `restricted` plain code means what it means anywhere: random programs, run with and without."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.policy_session import Session, outcome, run_openly

SETUP = """
class P:
    def __init__(self, n, tags): self.n, self.tags = n, tags
    def __repr__(self): return f"P({self.n!r}, {self.tags!r})"
    def double(self): return self.n * 2
    def __iadd__(self, other): self.n += other; return self
a, b, s = 3, -2, "ab"
xs, d, p = [1, 2, 3], {"k": 1, "l": [4]}, P(5, ["t"])
log = []
def note(value):
    log.append(value)
    return value
"""
END = "repr((a, b, s, xs, d, p, log))"

_atoms = st.sampled_from(["a", "b", "s", "xs", "d", "p.n", "p.tags", "d['l']", "p.double()", "xs[0]", "0", "1", "2.5", "'q'", "[]", "None"])  # fmt: skip
_operators = st.sampled_from(["+", "-", "*", "//", "%", "<", "==", "in", "and", "or", "|", "&"])
_expressions = st.recursive(
    _atoms,
    lambda inner: st.one_of(
        st.tuples(inner, _operators, inner).map(lambda parts: f"({' '.join(parts)})"),
        inner.map(lambda item: f"note({item})"),
        inner.map(lambda item: f"len({item})"),
        inner.map(lambda item: f"f'{{{item}!r:>4}}'"),
        inner.map(lambda item: f"'{{}}{{1.n}}'.format({item}, p)"),
        st.tuples(inner, inner).map(
            lambda pair: f"{pair[0]}[{pair[1]}]" if pair[0][0] in "dxs" else f"[{pair[0]}, *{pair[1]}]"
        ),
        inner.map(lambda item: f"[x for x in {item} if x]"),
        inner.map(lambda item: f"sorted({item}, key=str)[::-1]"),
        st.tuples(inner, inner, inner).map(lambda parts: f"({parts[0]} if {parts[1]} else {parts[2]})"),
        inner.map(lambda item: f"(lambda v=({item}), *r: (v, r))()"),
        inner.map(lambda item: f"getattr(p, 'n', {item})"),
        inner.map(lambda item: f"dict(z={item}, **d)"),
    ),
    max_leaves=5,
)
_targets = st.sampled_from(["a", "b", "s", "xs[0]", "xs[-1]", "d['k']", "d['new']", "d['l'][0]", "p.n", "p.tags", "p.new", "xs[1:]", "note(p).n", "note(xs)[0]"])  # fmt: skip
_statements = st.one_of(
    st.tuples(_targets, _expressions).map(lambda pair: f"{pair[0]} = {pair[1]}"),
    st.tuples(_targets, st.sampled_from(["+=", "-=", "*=", "//=", "|="]), _expressions).map(" ".join),
    st.tuples(_targets, _targets, _expressions).map(lambda parts: f"{parts[0]}, *{parts[1]} = {parts[2]}"),
    st.tuples(_targets, _targets, _expressions).map(lambda parts: f"{parts[0]} = {parts[1]} = {parts[2]}"),
    st.tuples(_targets, _expressions).map(lambda pair: f"for {pair[0]} in {pair[1]}: note({pair[0]})"),
    st.tuples(_expressions, _targets).map(
        lambda pair: f"try:\n    note({pair[0]})\nexcept (TypeError, KeyError) as e:\n    {pair[1]} = type(e).__name__"
    ),
    st.tuples(_targets, _expressions).map(lambda pair: f"with_ = note({pair[1]})\nif with_: {pair[0]} = with_"),
    _targets.map(lambda target: f"del {target}"),
    _expressions.map(
        lambda item: f"match {item}:\n    case [x, *_] | P(tags=[x]): note(x)\n    case P(n=n) | n: note(n)"
    ),
    _expressions.map(lambda item: f"p += {item}"),
)


@settings(max_examples=250, deadline=None)
@given(st.lists(_statements, min_size=1, max_size=5))
def test_a_program_has_the_same_result_with_and_without_the_policy(statements: list[str]) -> None:
    """Values, order of evaluation and exceptions, texts included."""
    source = "\n".join([SETUP, *statements, END])
    assert outcome(Session().run, source) == outcome(run_openly, source)


_field_names = st.sampled_from(["", "0", "1", "2", "a", "p", "0.n", "p.n", "p.tags[0]", ".n", "[k]", "1[k]", "p.", "p[", "0.n.real", "m[l][0]", "p.n.nothing", "9.x"])  # fmt: skip
_fields = st.tuples(
    _field_names,
    st.sampled_from(["", "!r", "!s", "!a", "!x", "!"]),
    st.sampled_from(["", ":", ":>5", ":{0}", ":{a}", ":{p.n}", ":{}", ":{a:{a}}", ":}", ":{p.n:{a}}"]),
).map(lambda parts: "{" + "".join(parts) + "}")


@settings(max_examples=250, deadline=None)
@given(
    st.lists(st.one_of(_fields, st.sampled_from(["x", "{{", "}}", "{", "}", ".", "["])), max_size=4).map("".join),
    st.booleans(),
)
def test_a_format_gives_the_same_text_with_and_without_the_policy(text: str, mapped: bool) -> None:
    """Also where it is wrong: the exception and its text are CPython's."""
    call = "format_map({'a': 4, 'p': p, 'm': d})" if mapped else "format(p, d, a=4, p=p, m=d)"
    source = f"{SETUP}{text!r}.{call}"
    assert outcome(Session().run, source) == outcome(run_openly, source)
