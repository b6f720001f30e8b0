"""The corrected line: what to write where an `await` was forgotten, made from the agent's own source.

Rules:

- The agent's own text is kept, and only what is missing put in: `await`, parentheses where the answer is used at once,
  `.blocking` where code cannot await. A call over several lines is written anew on one.
- All calls on the line that miss their await are corrected together: half a correction would only fail again.
- Without a source there is no line, but always a form to write.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Final

from guest_stdlib import expressions
from guest_stdlib.expressions import Source

__all__ = ["advice", "literal", "plain_function"]

LONGEST: Final = 200  # characters of a corrected line; beyond it only the call is shown


def advice(path: str, code: CodeType, instruction: int, beside: Iterable[int] = ()) -> str:
    """What to write instead of a call of `path` that was not awaited: "Write: answer = await contacts.ask('...')".

    `beside` are the instructions of the same code that made further such calls; those on the same line are corrected
    too.
    """
    place = expressions.at(code, instruction)
    if place is None:
        return f"Write: await {path}(...)"
    source, call = place.source, place.node
    if isinstance(call, ast.Call) and (named := _references(call, path)):
        return f"Write: {_edited(source, call, map(_blocking, named)) or f'{path}.blocking'}"
    calls = [call]
    for other in beside:
        found = expressions.at(code, other, source=source)
        if found and found.node.lineno == found.node.end_lineno == call.lineno and found.node not in calls:
            calls.append(found.node)
    scope = expressions.scope_of(call, source.parents)
    if scope.kind in ("awaits", "generator"):
        edits = [edit for each in calls for edit in _awaiting(source, each)]
        whole = call
        if isinstance(scope.node, ast.GeneratorExp):
            whole = scope.node
            edits += _as_list(scope.node)
        return f"Write: {_edited(source, whole, edits) or _anew(source, call, ast.Await(call))}"
    functions = [each.func for each in calls if isinstance(each, ast.Call)]
    blocking = _edited(source, call, map(_blocking, functions)) or _anew(source, call, _as_blocking(call))
    if scope.kind == "function":
        return f"{plain_function(scope.name)} and await this call in it, or write: {blocking}"
    return f"A {'lambda' if scope.kind == 'lambda' else 'class body'} cannot await. Write: {blocking}"


def plain_function(name: str) -> str:
    """What to do about a function that cannot await, as the beginning of a sentence."""
    return (
        f'{name} is a plain function, which cannot await. Make it "async def {name}(...)", '
        f'write "await {name}(...)" where it is called'
    )


def literal(code: CodeType, instruction: int, which: int | str, value: object) -> ast.Constant | None:
    """The literal `value` in the source of one argument (by position or name) of a call; None where it is not there."""
    place = expressions.at(code, instruction)
    if place is None or not isinstance(place.node, ast.Call):
        return None
    if isinstance(which, str):
        given = [keyword.value for keyword in place.node.keywords if keyword.arg == which]
    else:
        given = place.node.args[which : which + 1]
    constants = (inner for argument in given for inner in ast.walk(argument) if isinstance(inner, ast.Constant))
    return next((found for found in constants if type(found.value) is type(value) and found.value == value), None)


# Editing the agent's own line


@dataclass(frozen=True, slots=True)
class _Edit:
    """Text put in at a column (in bytes, as CPython counts), in the place of `length` bytes."""

    column: int
    text: str
    length: int = 0


def _awaiting(source: Source, call: ast.expr) -> Iterator[_Edit]:
    """`await` before a call, in parentheses where its answer is used at once; an await that stood before the use
    goes.
    """
    used, parent = call, source.parents.get(call)
    while isinstance(parent, ast.Attribute | ast.Subscript | ast.Call) and _primary(parent) is used:
        used, parent = parent, source.parents.get(parent)
    if used is call:
        yield _Edit(call.col_offset, "await ")
        return
    yield _Edit(call.col_offset, "(await ")
    yield _Edit(_end(call), ")")
    if isinstance(parent, ast.Await) and parent.lineno == call.lineno:
        yield _Edit(parent.col_offset, "", used.col_offset - parent.col_offset)


def _primary(node: ast.Attribute | ast.Subscript | ast.Call) -> ast.expr:
    return node.func if isinstance(node, ast.Call) else node.value


def _end(node: ast.expr) -> int:
    return node.end_col_offset or node.col_offset


def _blocking(function: ast.expr) -> _Edit:
    return _Edit(_end(function), ".blocking")


def _as_list(generator: ast.GeneratorExp) -> Iterator[_Edit]:
    """Square brackets inside the generator's parentheses: `list(x for ...)` becomes `list([x for ...])`."""
    yield _Edit(generator.col_offset + 1, "[")
    yield _Edit(_end(generator) - 1, "]")


def _edited(source: Source, within: ast.expr, edits: Iterable[_Edit]) -> str | None:
    """The agent's own line, edited; None where what is edited spans several lines, or the line is too long to show."""
    if within.lineno != within.end_lineno:
        return None
    text = source.lines[within.lineno - 1].encode()
    for edit in sorted(edits, key=lambda edit: edit.column, reverse=True):
        text = text[: edit.column] + edit.text.encode() + text[edit.column + edit.length :]
    written = text.decode().strip()
    return written if len(written) <= LONGEST else None


# Writing it anew


def _anew(source: Source, call: ast.expr, correct: ast.expr) -> str:
    """The statement on one line with `correct` in the place of `call`; the call alone where that is too long."""
    statement: ast.AST = call
    while not isinstance(statement, ast.stmt) and statement in source.parents:
        statement = source.parents[statement]
    if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr | ast.Return):
        whole = ast.unparse(_Replace(call, correct).visit(statement))
        if len(whole) <= LONGEST and "\n" not in whole:
            return whole
    alone = ast.unparse(correct)
    return alone if len(alone) <= LONGEST else f"{alone[: LONGEST - 4]}...)"


class _Replace(ast.NodeTransformer):
    def __init__(self, old: ast.expr, new: ast.expr) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else self.generic_visit(node)


def _as_blocking(call: ast.expr) -> ast.expr:
    if not isinstance(call, ast.Call):
        return call
    return ast.Call(ast.Attribute(call.func, "blocking"), call.args, call.keywords)


def _references(call: ast.Call, path: str) -> list[ast.expr]:
    """The places among a call's arguments that name the method without calling it: `map(contacts.find, names)`."""
    if ast.unparse(call.func).rpartition(".")[2] == path.rpartition(".")[2]:
        return []
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    return [
        inner
        for argument in arguments
        for inner in ast.walk(argument)
        if isinstance(inner, ast.Name | ast.Attribute) and ast.unparse(inner) == path
    ]
