"""One cell: read, compiled, and told apart into what runs and what gives its value.

Rules:

- The value of a cell is that of its last statement, if that is an expression or an assignment. So the last expression
  is compiled by itself; everything before it is one piece of code. Names live on in one namespace.
- Code without await is plain code. Code with it is a coroutine; the caller sees which.
- Each cell's source stays registered in linecache under a name of its own, so that tracebacks and inspect show the
  lines of functions from earlier cells.
- A `__future__` import lasts, as it does at an interactive prompt.
- A cell that the policy rejects, or that is no Python, is rejected before its first effect.
"""

from __future__ import annotations
import __future__

import ast
import inspect
import linecache
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Final, cast

from guest_stdlib.cleaning import Cleaned, read
from guest_stdlib.unblocking import unblocked

__all__ = ["Cell", "Cells", "Sources"]

type Policy = Callable[[ast.Module, str, str], ast.Module]

_FUTURE: Final = sum({getattr(__future__, name).compiler_flag for name in __future__.all_feature_names})
_ASSIGNED: Final = "__assigned__"  # the value of a last assignment, on its way out of the namespace


class Sources:
    """The sources of a session, by the file name that their tracebacks show."""

    def __init__(self) -> None:
        self._cells: dict[str, Cleaned] = {}

    def __contains__(self, filename: object) -> bool:
        return filename in self._cells

    def __getitem__(self, filename: str) -> Cleaned:
        return self._cells[filename]

    def name(self, name: str, cell: int) -> str:
        """A file name for a new cell: the one that it was given, unless an earlier cell has it."""
        if name not in self._cells:
            return name
        numbered = f"{name[:-1]} {cell}>" if name.startswith("<") and name.endswith(">") else f"{name} (cell {cell})"
        return numbered if numbered not in self._cells else f"{numbered} #{len(self._cells)}"

    def add(self, filename: str, cleaned: Cleaned) -> None:
        """Keep a cell's source."""
        self._cells[filename] = cleaned
        lines = [line + "\n" for line in cleaned.text.split("\n")]
        linecache.cache[filename] = (len(cleaned.text), None, lines, filename)

    def forget(self) -> None:
        """Leave no trace."""
        for filename in self._cells:
            linecache.cache.pop(filename, None)
        self._cells.clear()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A cell that can run: `body`, then `last` for its value.

    `text` is its code as it was read. `target` is what its last statement assigns to, as text; with `captured` the
    value is then under a hidden name.
    """

    text: str
    body: CodeType | None = None
    last: CodeType | None = None
    target: str | None = None
    captured: bool = False
    notices: tuple[str, ...] = ()

    def tree(self) -> ast.Module:
        """The agent's own syntax tree, read again: a policy uses up the first one."""
        tree = read(self.text, "<cell>", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT).tree
        assert tree is not None
        return tree

    async def run(self, namespace: dict[str, object]) -> object:
        """Run it and return its value. What it raises is the agent's."""
        value: object = None
        try:
            if self.body is not None:
                await _run(self.body, namespace)
            if self.last is not None:
                value = await _run(self.last, namespace)
            elif self.captured:
                value = namespace.get(_ASSIGNED)
        finally:
            if self.captured:
                namespace.pop(_ASSIGNED, None)
        return value


async def _run(code: CodeType, namespace: dict[str, object]) -> object:
    result = FunctionType(code, namespace)()
    return await cast(Awaitable[object], result) if code.co_flags & inspect.CO_COROUTINE else result


class Cells:
    """Compiles the cells of one session. `policy` makes of a cell's tree, source and file name the tree to run."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._future = 0
        self.policy: Policy | None = None

    def compile(self, source: str, filename: str) -> Cell:
        """Read and compile a cell. Raises SyntaxError, or what the policy raises; nothing has run then."""
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | self._future
        found = read(source, filename, flags)
        self._sources.add(filename, found.cleaned)
        if found.tree is None:
            assert found.error is not None
            raise found.error
        tree, text = found.tree, found.cleaned.text
        target = _target(tree)
        if self.policy is not None:
            tree = self.policy(tree, text, filename)
        elif "asyncio.run" in text:
            tree = unblocked(tree)
        body_tree, last_tree, captured = _split(tree)
        body = last = None
        if body_tree.body:
            body = compile(body_tree, filename, "exec", flags, dont_inherit=True)
            flags |= body.co_flags & _FUTURE
        if last_tree is not None:
            last = compile(last_tree, filename, "eval", flags, dont_inherit=True)
        self._future = flags & _FUTURE
        notices = found.cleaned.notices
        return Cell(text=text, body=body, last=last, target=target, captured=captured, notices=notices)


def _target(tree: ast.Module) -> str | None:
    """What the last statement assigns to, as it is written."""
    match tree.body:
        case [*_, ast.Assign(targets=targets)]:
            return " = ".join(ast.unparse(target) for target in targets)
        case [*_, ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()) | ast.AugAssign(target=ast.Name(id=name))]:
            return name
        case _:
            return None


def _split(tree: ast.Module) -> tuple[ast.Module, ast.Expression | None, bool]:
    """What runs first, the expression for the value, and whether the value is found under a hidden name instead."""
    *before, last = tree.body or [ast.Pass()]
    match last:
        case ast.Expr(value=value):
            return ast.Module(before, type_ignores=[]), ast.Expression(value), False
        case ast.Assign(targets=targets, value=value):
            # One more target takes the value itself: to read `box["x"]` back might do more than reading.
            hidden = ast.copy_location(ast.Name(_ASSIGNED, ast.Store()), targets[0])
            assign = ast.copy_location(ast.Assign([hidden, *targets], value), last)
            return ast.Module([*before, assign], type_ignores=[]), None, True
        case ast.AnnAssign(target=ast.Name() as name, value=ast.expr()) | ast.AugAssign(target=ast.Name() as name):
            return tree, ast.Expression(ast.copy_location(ast.Name(name.id, ast.Load()), name)), False
        case _:
            return tree, None, False
