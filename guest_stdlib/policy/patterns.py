"""`match` cases that read attributes, rewritten so that they read them through the guards.

A class pattern with sub-patterns reads attributes of the subject, and a dotted name in a pattern reads one of a
value; neither leaves room for a guard. Such a case becomes one that takes any subject, with the whole test in its
`if`:

    case Point(x=0, y=b) if b > 1:      case _tmp1 if (_tmp2 := _match_class_(_tmp1, Point, 0, ("x", "y"))) is not None
                                                      and _tmp2[0] == 0 and ((b := _tmp2[1]), True)[-1] and b > 1:

Rules:

- All other cases stay as they are. So do the statement, its subject and its bodies: one statement in, one out.
- Names are bound when the whole pattern has matched, before its `if`, as CPython does it.
- What is held on the way is let go: once the names are bound, and when no case has matched.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Final

__all__ = ["rewrite", "rewrites"]

type Subject = Callable[[], ast.expr]

_AT: Final = ("lineno", "col_offset", "end_lineno", "end_col_offset")


def rewrites(pattern: ast.pattern) -> bool:
    """Whether a pattern reads attributes."""
    return any(
        isinstance(node, ast.Attribute)
        or (isinstance(node, ast.MatchClass) and bool(node.patterns or node.kwd_patterns))
        for node in ast.walk(pattern)
    )


def rewrite(statement: ast.Match, *, visit: Callable[[ast.expr], ast.expr], fresh: Callable[[], str]) -> None:
    """Rewrite the cases that read attributes. `visit` transforms the expressions in them; `fresh` makes up names."""
    held: list[str] = []
    for case in statement.cases:
        if not rewrites(case.pattern):
            continue
        test = _Test(case.pattern, visit, fresh)
        case.guard = test.guard(case.guard)
        case.pattern = _at(ast.MatchAs(name=test.subject), case.pattern)
        held += test.held
    last = statement.cases[-1]
    if held and not (last.guard is None and isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None):
        forget = ast.Assign(targets=[ast.Name(name, ast.Store()) for name in held], value=ast.Constant(None))
        body = [ast.fix_missing_locations(_at(forget, last.pattern))]
        statement.cases.append(ast.match_case(pattern=_at(ast.MatchAs(), last.pattern), body=list[ast.stmt](body)))


def _at[Node: ast.AST](node: Node, other: ast.AST) -> Node:
    for name in _AT:
        setattr(node, name, getattr(other, name))
    return node


class _Test:
    """One case as an expression."""

    def __init__(self, pattern: ast.pattern, visit: Callable[[ast.expr], ast.expr], fresh: Callable[[], str]) -> None:
        self._visit = visit
        self._fresh = fresh
        self._captured: dict[str, Subject] = {}
        self.held: list[str] = []
        self.subject = self._hold()
        self._pattern = pattern
        self._tests = self._of(pattern, self._name(self.subject))

    def guard(self, guard: ast.expr | None) -> ast.expr:
        """The test with its bindings, then the case's own guard."""
        values = [*self._tests, self._bind(self._captured, forget=self.held)]
        if guard is not None:
            values.append(guard)
        return self._place(ast.BoolOp(ast.And(), values), self._pattern)

    # Making expressions

    def _hold(self) -> str:
        name = self._fresh()
        self.held.append(name)
        return name

    @staticmethod
    def _name(name: str) -> Subject:
        return lambda: ast.Name(name, ast.Load())

    @staticmethod
    def _item(name: str, index: int) -> Subject:
        return lambda: ast.Subscript(ast.Name(name, ast.Load()), ast.Constant(index), ast.Load())

    @staticmethod
    def _place(expression: ast.expr, pattern: ast.pattern) -> ast.expr:
        """Give the new nodes a place in the source. Those that come from the source keep theirs."""
        pending: list[ast.AST] = [expression]
        while pending:
            node = pending.pop()
            if "lineno" in node._attributes and not hasattr(node, "lineno"):
                _at(node, pattern)
            pending.extend(ast.iter_child_nodes(node))
        return expression

    def _bind(self, captured: dict[str, Subject], *, forget: Sequence[str] = ()) -> ast.expr:
        binds: list[ast.expr] = [
            ast.NamedExpr(ast.Name(name, ast.Store()), value()) for name, value in captured.items()
        ]
        binds += [ast.NamedExpr(ast.Name(name, ast.Store()), ast.Constant(None)) for name in forget]
        return ast.Subscript(ast.Tuple([*binds, ast.Constant(True)], ast.Load()), ast.Constant(-1), ast.Load())

    def _taken_apart(self, pattern: ast.pattern, how: str, subject: Subject, *args: ast.expr) -> tuple[str, ast.expr]:
        name = self._hold()
        call = ast.Call(ast.Name(how, ast.Load()), [subject(), *args], [])
        taken = ast.NamedExpr(ast.Name(name, ast.Store()), call)
        test = ast.Compare(taken, [ast.IsNot()], [ast.Constant(None)])
        return name, self._place(test, pattern)

    # Patterns

    def _of(self, pattern: ast.pattern, subject: Subject) -> list[ast.expr]:
        """The tests that all must hold for a pattern to match. What it captures is remembered."""
        tests: list[ast.expr]
        match pattern:
            case ast.MatchValue(value=value):
                tests = [ast.Compare(subject(), [ast.Eq()], [self._visit(value)])]
            case ast.MatchSingleton(value=constant):
                tests = [ast.Compare(subject(), [ast.Is()], [ast.Constant(constant)])]
            case ast.MatchAs(pattern=None, name=None):
                tests = []
            case ast.MatchAs(pattern=None, name=str(name)):
                self._captured[name] = subject
                tests = []
            case ast.MatchAs(pattern=ast.pattern() as inner, name=str(name)):
                tests = self._of(inner, subject)
                self._captured[name] = subject
            case ast.MatchOr(patterns=patterns):
                tests = [self._any(patterns, subject)]
            case ast.MatchSequence(patterns=patterns):
                tests = self._sequence(pattern, patterns, subject)
            case ast.MatchMapping():
                tests = self._mapping(pattern, subject)
            case ast.MatchClass():
                tests = self._class(pattern, subject)
            case _:
                raise NotImplementedError(f"a pattern of another kind: {type(pattern).__name__}")
        return [self._place(test, pattern) for test in tests]

    def _each(self, name: str, patterns: Sequence[ast.pattern]) -> list[ast.expr]:
        return [test for index, inner in enumerate(patterns) for test in self._of(inner, self._item(name, index))]

    def _any(self, patterns: Sequence[ast.pattern], subject: Subject) -> ast.expr:
        outside = self._captured
        places: dict[str, str] = {}
        alternatives: list[ast.expr] = []
        for inner in patterns:
            self._captured = {}
            tests = self._of(inner, subject)
            found: dict[str, Subject] = {}
            for name, value in self._captured.items():
                if name not in places:
                    places[name] = self._hold()
                found[places[name]] = value
            if found or not tests:
                tests.append(self._bind(found))
            alternatives.append(ast.BoolOp(ast.And(), tests) if len(tests) > 1 else tests[0])
        self._captured = outside
        self._captured.update({name: self._name(place) for name, place in places.items()})
        return ast.BoolOp(ast.Or(), alternatives)

    def _sequence(self, pattern: ast.pattern, patterns: Sequence[ast.pattern], subject: Subject) -> list[ast.expr]:
        star = next((index for index, inner in enumerate(patterns) if isinstance(inner, ast.MatchStar)), None)
        before, after = (len(patterns), None) if star is None else (star, len(patterns) - star - 1)
        name, test = self._taken_apart(pattern, "_match_sequence_", subject, ast.Constant(before), ast.Constant(after))
        # A star with a name captures the list that stands in its place.
        inner = [ast.MatchAs(name=each.name) if isinstance(each, ast.MatchStar) else each for each in patterns]
        if star is not None:
            _at(inner[star], patterns[star])
        return [test, *self._each(name, inner)]

    def _mapping(self, pattern: ast.MatchMapping, subject: Subject) -> list[ast.expr]:
        keys = ast.Tuple([self._visit(key) for key in pattern.keys], ast.Load())
        rest = ast.Constant(pattern.rest is not None)
        name, test = self._taken_apart(pattern, "_match_mapping_", subject, keys, rest)
        if pattern.rest is not None:
            self._captured[pattern.rest] = self._item(name, len(pattern.keys))
        return [test, *self._each(name, pattern.patterns)]

    def _class(self, pattern: ast.MatchClass, subject: Subject) -> list[ast.expr]:
        names = ast.Tuple([ast.Constant(name) for name in pattern.kwd_attrs], ast.Load())
        count = ast.Constant(len(pattern.patterns))
        name, test = self._taken_apart(pattern, "_match_class_", subject, self._visit(pattern.cls), count, names)
        return [test, *self._each(name, [*pattern.patterns, *pattern.kwd_patterns])]
