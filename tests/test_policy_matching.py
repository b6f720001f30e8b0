"""`match` under policy `restricted`: rewritten cases do what CPython's own do."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guest_stdlib.policy import restricted
from tests.policy_session import Session, outcome, run_openly

CLASSES = """
import enum
class Point:
    __match_args__ = ("x", "y")
    def __init__(self, x, y): self.x, self.y = x, y
class Other:
    def __init__(self, x): self.x = x
class Text(str): pass
class K:
    ONE = 1
    WORD = "w"
class Color(enum.Enum):
    RED = 1
"""

# Each case of each of these is rewritten, since it reads attributes.
MATCHES = [
    ("keywords", "case Point(x=0, y=b): r = b"),
    ("positions", "case Point(a, b) if a < b: r = a, b"),
    ("positions and keywords", "case Point(1, y=b): r = b"),
    ("a class as a whole", "case int(n) | float(n): r = n"),
    ("a derived class as a whole", "case Text(t): r = t"),
    ("a dotted class", "case K.missing(): r = 1"),
    ("a dotted value", "case K.ONE | K.WORD as v: r = v"),
    ("an enum's member", "case Color.RED: r = 'red'"),
    ("alternatives that bind", "case [Point(x=a), b] | {'k': Other(x=a), 'b': b}: r = a, b"),
    ("a sequence with a star", "case [Point(x=a), *rest, K.ONE]: r = a, rest"),
    ("a sequence with a nameless star", "case [*_, Point(y=b)]: r = b"),
    ("a mapping with the rest", "case {K.WORD: v, 'a': Point(x=0), **rest}: r = v, rest"),
    ("a mapping without the rest", "case {K.WORD: v}: r = v"),
    ("nesting", "case Point(x=[Point(x=a), {'k': Other(x=(b, _))}], y=None): r = a, b"),
    ("names at every level", "case Point(x=[a, *_] as b) as c: r = a, b, c.y"),
    ("an attribute that is missing", "case Other(x=_, nothing=n): r = n"),
    ("too many positions", "case Point(1, 2, 3): r = 0"),
    ("positions of a class without", "case Other(1): r = 0"),
    ("an attribute twice", "case Point(1, x=2): r = 0"),
    ("no class", "case K.ONE(): r = 0"),
    ("a literal of each kind inside", "case Point(x=-1 | 1.5 | 2+3j | 'a' | b'b' | None | True, y=b): r = b"),
    ("a guard that binds", "case Point(x=a) if (t := a): r = t"),
]  # fmt: skip
SUBJECTS = """[
    Point(0, 5), Point(1, 2), Point(-1, 0), Point(None, 1), Point("a", 1), Point(2 + 3j, 1), Other(1), Other(0), 1, 2.5, True, "w", "x", Text("t"), b"b",
    None, Color.RED, [Point(1, 2), 3], [Point(1, 2), 5, 6, 1], (Point(1, 2), 1), [Point(0, 9)], "ab", range(2), [], {},
    {"k": Other(7), "b": 8}, {"w": 1, "a": Point(0, 0), "z": 2}, {"w": 1}, {"w": 1, "a": 2},
    Point([Point(3, 0), {"k": Other((4, 5))}], None), Point([1, 2], 3), Point(True, 4),
]"""


def _cell(cases: str, subjects: str = SUBJECTS) -> str:
    return f"""{CLASSES}
def show(value):
    return [show(v) for v in value] if isinstance(value, (list, tuple)) else repr(value).split(" at ")[0]
results = []
for subject in {subjects}:
    r = "none"
    try:
        match subject:
            {cases}
    except (TypeError, ValueError, AttributeError) as error:
        r = type(error).__name__ + ": " + str(error)
    results.append(show(r))
results
"""


@pytest.mark.parametrize("case", [case[1] for case in MATCHES], ids=[case[0] for case in MATCHES])
def test_a_rewritten_case_does_what_cpython_does(case: str) -> None:
    """Values, bindings, order and the texts of errors are CPython's, over subjects of every kind."""
    source = _cell(case)
    assert Session().run(source) == run_openly(source)


def test_all_cases_together_fall_through_as_they_do_in_cpython() -> None:
    """The first case that matches wins, rewritten or not."""
    kept = [case for _, case in MATCHES if "missing" not in case and "K.ONE()" not in case]
    source = _cell(
        "\n            ".join(
            [*kept[:4], "case [a, b]: r = 'two'", *kept[4:], "case {}: r = 'mapping'", "case _: r = 'rest'"]
        )
    )
    assert Session().run(source) == run_openly(source)


def test_what_a_case_holds_on_the_way_is_let_go() -> None:
    """Neither a match nor a failure to match keeps the subject alive in the namespace."""
    session = Session()
    session.run(
        CLASSES
        + "p = Point([1], [2])\nmatch p:\n    case Other(x=_): pass\n    case Point(x=0): pass\n    case Point(x=[n]): pass"
    )
    session.run("match p:\n    case Other(x=n): pass\n    case [Point(x=n)]: pass")
    hidden = {name: value for name, value in session.namespace.items() if name.startswith("_tmp")}
    assert hidden
    assert set(hidden.values()) == {None}
    assert session.run("n") == 1


def test_cases_that_read_no_attributes_stay_as_they_are() -> None:
    """Plain patterns run at CPython's own speed."""
    source = "match x:\n    case [1, *a] | {'k': a}: pass\n    case int() as n if n: pass\n    case -1 | 'a' | None: pass\n    case _: pass"
    assert ast.unparse(restricted.compile_cell(ast.parse(source), source, "<cell>")) == ast.unparse(ast.parse(source))


@pytest.mark.parametrize(
    "source",
    [
        "match 1:\n    case int(x) | [y]: pass",
        "match 1:\n    case [int(x), x]: pass",
        "match 1:\n    case x: pass\n    case int(y): pass",
        "match 1:\n    case _: pass\n    case K.x: pass",
        "match 1:\n    case object(a=1, a=2): pass",
        "match 1:\n    case [*a, *b, int(c)]: pass",
    ],
)
def test_patterns_that_python_refuses_are_refused_in_its_words(source: str) -> None:
    """What is wrong with a pattern is said of the agent's own pattern."""
    assert outcome(Session().run, source) == outcome(run_openly, source)
    assert outcome(run_openly, source)[0] is SyntaxError  # type: ignore[index]


def test_match_works_in_every_scope() -> None:
    """At top level, in functions, generators, async code and class bodies, with names declared global or nonlocal."""
    source = f"""{CLASSES}
log = []
def outer(p):
    inner_x = None
    def inner():
        nonlocal inner_x
        global top
        match p:
            case Point(x=inner_x, y=top): return lambda: inner_x
    return inner()(), inner_x
def gen(items):
    for item in items:
        match item:
            case Point(x=v): yield v
async def later(p):
    match p:
        case Point(x=v) if await wait(v): return v
async def wait(v): return v
class Body:
    match Point(1, 2):
        case Point(x=attribute): pass
(outer(Point(1, 2)), top, list(gen([Point(1, 2), 3, Point(4, 5)])), await later(Point(6, 7)), Body.attribute)
"""
    assert Session().run(source) == run_openly(source) == ((1, 1), 2, [1, 4], 6, 1)


# Patterns of all shapes, over subjects of all shapes

_literals = st.sampled_from(["0", "1", "-1", "'w'", "None", "True", "K.ONE", "K.WORD", "Color.RED"])
_subjects = st.recursive(
    st.sampled_from(["0", "1", "-1", "'w'", "None", "True", "2.5", "Color.RED", "Text('w')"]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]"),
        st.tuples(inner, inner).map(lambda pair: f"Point({pair[0]}, {pair[1]})"),
        inner.map(lambda item: f"Other({item})"),
        st.dictionaries(st.sampled_from(["'w'", "1", "'k'"]), inner, max_size=2).map(
            lambda items: "{" + ", ".join(f"{key}: {value}" for key, value in items.items()) + "}"
        ),
    ),
    max_leaves=6,
)


def _class(parts: list[tuple[str, str]]) -> str:
    return f"({', '.join(f'{name}={pattern}' if name else pattern for name, pattern in parts)})"


_patterns = st.recursive(
    st.one_of(_literals, st.just("_"), st.just("NAME"), st.sampled_from(["int()", "str(NAME)", "Point()", "Other(x=NAME)"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]"),
        st.tuples(inner, st.sampled_from(["*NAME", "*_"]), inner).map(lambda items: f"[{', '.join(items)}]"),
        st.tuples(inner, inner).map(lambda pair: f"Point({pair[0]}, y={pair[1]})"),
        st.tuples(inner, inner).map(lambda pair: f"Point({pair[0]}, {pair[1]})"),
        inner.map(lambda item: f"Other(x={item})"),
        st.tuples(st.sampled_from(["'w'", "K.ONE"]), inner, st.sampled_from(["", ", **NAME"])).map(
            lambda item: f"{{{item[0]}: {item[1]}{item[2]}}}"
        ),
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]} | {pair[1]})".replace("NAME", "_").replace("**_", "**NAME")),
        inner.map(lambda item: f"({item} as NAME)"),
    ),
    max_leaves=6,
)  # fmt: skip


def _named(pattern: str) -> str:
    first, *others = pattern.split("NAME")
    return first + "".join(f"n{number}{text}" for number, text in enumerate(others))


@settings(max_examples=150, deadline=None)
@given(st.lists(_patterns, min_size=1, max_size=2), st.lists(_subjects, min_size=1, max_size=6))
def test_any_pattern_does_what_cpython_does(patterns: list[str], subjects: list[str]) -> None:
    """For random patterns and subjects, the same case matches and binds the same names."""
    cases = "\n            ".join(
        f"case {_named(pattern)} if True: r = {number}, sorted((k, repr(v).split(' at ')[0]) for k, v in names().items())"
        for number, pattern in enumerate(patterns)
    )
    bound = sorted({f"n{number}" for pattern in patterns for number in range(pattern.count("NAME"))})
    table = ", ".join(f"'{name}': {name}" for name in bound)
    preset = "".join(f"{name} = None\n" for name in bound)
    source = f"{preset}def names(): return {{{table}}}\n" + _cell(cases, f"[{', '.join(subjects)}]")
    assert outcome(Session().run, source) == outcome(run_openly, source)
