"""Calls that ran one after another though none needed the other's answer: what to say about them.

That there were many rounds of one call is counted while the cell runs. Whether they could have been one round is read
from the source: a loop whose calls use nothing from the turn before, or statements in a row that use nothing from each
other. When in doubt nothing is said: a hint that is wrong costs more than none.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

__all__ = ["FEWEST", "sentences"]

FEWEST: Final = 5  # rounds of one call; below that a hint is not worth reading
_MOST: Final = 3  # sentences

_NESTED: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_TOGETHER: Final = {"gather", "wait", "sleep", "wait_for", "TaskGroup"}  # they wait, but for no call of this place

type Block = list[ast.stmt]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A place in the code whose calls are independent. `times` is how often it calls, None for a loop."""

    line: int
    paths: tuple[str, ...]
    times: int | None


def sentences(tree: ast.Module, rounds: Mapping[str, int]) -> list[str]:
    """One sentence for each place. `rounds` counts, by path, the rounds that held a single call."""
    said = []
    left = dict(rounds)
    written = Counter(_path(call) for call in _calls(tree.body))
    for place in sorted(_places(tree.body), key=lambda place: place.line):
        known = [path for path in dict.fromkeys(place.paths) if path in left]
        elsewhere = sum(written[path] - place.paths.count(path) for path in known)
        ran = sum(left[path] for path in known) if known else sum(left.values()) if place.times is None else 0
        ran -= elsewhere  # at least once each
        calls = ran if place.times is None else min(ran, place.times)
        if calls < FEWEST:
            continue
        for path in known or list(left):
            left.pop(path, None)
        said.append(
            f"Line {place.line}: {calls:,} calls ran one after another; `asyncio.gather` would have taken one round."
        )
    return said[:_MOST]


def _places(block: Block) -> Iterator[_Place]:
    yield from _rows(block)
    for statement in block:
        if isinstance(statement, ast.For) and _independent(statement):
            if paths := tuple(_path(call) for call in _calls(statement.body)):
                yield _Place(line=statement.lineno, paths=paths, times=None)
            continue
        for inner in _blocks(statement):
            yield from _places(inner)
        for comprehension in _comprehensions(statement):
            if paths := tuple(_path(call) for call in _calls([comprehension])):
                yield _Place(line=comprehension.lineno, paths=paths, times=None)


def _blocks(statement: ast.stmt) -> Iterator[Block]:
    for name in ("body", "orelse", "finalbody"):
        if isinstance(inner := getattr(statement, name, None), list):
            yield inner
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield part.body


def _within(roots: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Everything below, except in functions and classes, which run at another time."""
    waiting = list(roots)
    while waiting:
        node = waiting.pop(0)
        yield node
        waiting[:0] = [child for child in ast.iter_child_nodes(node) if not isinstance(child, _NESTED)]


def _calls(roots: Iterable[ast.AST]) -> list[ast.Call]:
    """The calls that are awaited, or block."""
    found = []
    for node in _within(roots):
        if isinstance(node, ast.Await) and isinstance(node.value, ast.Call):
            if _path(node.value).rpartition(".")[2] not in _TOGETHER:
                found.append(node.value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "blocking":
            found.append(node)
    return found


def _path(call: ast.Call) -> str:
    return ast.unparse(call.func).removesuffix(".blocking")


def _names(nodes: Iterable[ast.AST], context: type[ast.expr_context]) -> set[str]:
    return {
        node.id
        for root in nodes
        for node in ast.walk(root)
        if isinstance(node, ast.Name) and isinstance(node.ctx, context)
    }


def _comprehensions(statement: ast.stmt) -> Iterator[ast.expr]:
    """Comprehensions in a simple statement that await in each turn."""
    if any(True for _ in _blocks(statement)):
        return
    for node in _within([statement]):
        match node:
            case ast.ListComp(elt=element) | ast.SetComp(elt=element):
                turns: list[ast.expr] = [element]
            case ast.DictComp(key=key, value=value):
                turns = [key, value]
            case _:
                continue
        if _calls(turns) and isinstance(node, ast.expr):
            yield node


def _changed(statement: ast.stmt) -> set[str]:
    """The names that a statement leaves changed: assigned, or handed an answer (`found.append(await ...)`)."""
    changed = _names([statement], ast.Store)
    for node in ast.walk(statement):
        match node:
            case ast.Call(func=ast.Attribute(value=holder), args=args, keywords=keywords) if _calls([*args, *keywords]):
                changed |= _names([holder], ast.Load)
            case ast.Assign(targets=targets):
                changed |= _names(targets, ast.Load)
            case ast.AugAssign(target=target):
                changed |= _names([target], ast.Load)
            case _:
                pass
    return changed


def _used(call: ast.Call) -> set[str]:
    return _names([*call.args, *call.keywords], ast.Load)


def _decided(statement: ast.stmt) -> set[str]:
    """The names by which a statement decides what to do."""
    tests = (getattr(node, "test", None) or getattr(node, "subject", None) for node in _within([statement]))
    return _names((test for test in tests if test is not None), ast.Load)


def _paced(body: Block) -> bool:
    """Whether the turns of a loop are kept apart on purpose."""
    calls = (node.func for node in _within(body) if isinstance(node, ast.Call))
    return any(ast.unparse(function).rpartition(".")[2] == "sleep" for function in calls)


def _independent(loop: ast.For) -> bool:
    """Whether no turn of a loop needs one before it: no call or decision uses a name that one before may have set."""
    body = loop.body
    if any(isinstance(node, ast.Break | ast.Return) for node in _within(body)) or _paced(body):
        return False
    carried = set().union(*map(_changed, body)) - _names([loop.target], ast.Store)
    for statement in body:
        used = _decided(statement).union(*map(_used, _calls([statement])))
        if used & carried:
            return False
        if isinstance(statement, ast.Assign | ast.AnnAssign) and not _names([statement], ast.Load) & carried:
            carried -= _names([statement], ast.Store)  # from here on it is this turn's own
    return True


def _rows(block: Block) -> Iterator[_Place]:
    """Simple statements in a row, each with calls that use nothing from those before."""
    row: list[ast.Call] = []
    answers: set[str] = set()

    def ended() -> Iterator[_Place]:
        if len(row) >= FEWEST:
            yield _Place(line=row[0].lineno, paths=tuple(map(_path, row)), times=len(row))
        row.clear()
        answers.clear()

    for statement in block:
        if any(True for _ in _blocks(statement)) or any(True for _ in _comprehensions(statement)):
            yield from ended()
            continue
        calls = _calls([statement])
        if any(_used(call) & answers for call in calls):
            yield from ended()
        if calls or _names([statement], ast.Load) & answers:
            answers |= _changed(statement)
        row += calls
    yield from ended()
