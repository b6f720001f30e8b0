"""The agent's own source, read where something happened in it.

Rules:

- An expression is found by the position of an instruction, so two calls on one line are told apart. Sources come from
  linecache, under the name that the code was compiled with.
- Frames of the library and of our own code are passed over: what matters is the line that the agent wrote.
- Values are only looked up, never computed: reading a source for a message runs none of the agent's code.
- All this is for messages. Where there is no source, there is nothing to find, and no error.
"""

from __future__ import annotations

import ast
import linecache
import sys
from dataclasses import dataclass
from itertools import islice
from types import CodeType, FrameType
from typing import Final, Literal

from guest_stdlib.records import Record

__all__ = [
    "MISSING",
    "Found",
    "Parents",
    "Scope",
    "Source",
    "agent_frame",
    "at",
    "line",
    "raised_at",
    "read",
    "scope_of",
    "value_of",
]

MISSING: Final = object()

_NOT_THE_AGENTS: Final = sys.stdlib_module_names | {"guest_stdlib", "entry", "wit_world"}

type Position = tuple[int, int, int, int]
type Parents = dict[ast.AST, ast.AST]


# Where


def _is_agents(frame: FrameType) -> bool:
    module = frame.f_globals.get("__name__")
    return module == "__main__" or (isinstance(module, str) and module.partition(".")[0] not in _NOT_THE_AGENTS)


def agent_frame(depth: int) -> FrameType:
    """The nearest frame of the agent's own code. `depth` 1 begins with the caller; where there is none, that one."""
    nearest = sys._getframe(depth)
    frame: FrameType | None = nearest
    while frame is not None:
        if _is_agents(frame):
            return frame
        frame = frame.f_back
    return nearest


def line(code: CodeType, instruction: int) -> int:
    """The line, counted from 1, of an instruction (its offset in bytes)."""
    found = next(islice(code.co_positions(), instruction // 2, None), (None,))[0]
    return found or code.co_firstlineno


def _position(code: CodeType, instruction: int) -> Position | None:
    first, last, start, end = next(islice(code.co_positions(), instruction // 2, None), (None,) * 4)
    if first is None or last is None or start is None or end is None:
        return None
    return first, last, start, end


# What stands there


class Source:
    """One parsed source: its lines, its tree, and each node's parent."""

    def __init__(self, filename: str) -> None:
        self.lines = linecache.getlines(filename)
        self.tree = ast.parse("".join(self.lines))
        self.parents: Parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def expression(self, position: Position) -> ast.expr | None:
        """The expression at exactly this position; a call, where several things stand there."""
        found: ast.expr | None = None
        for node in self.parents:
            if isinstance(node, ast.expr) and position == (
                node.lineno,
                node.end_lineno,
                node.col_offset,
                node.end_col_offset,
            ):
                if isinstance(node, ast.Call):
                    return node
                found = found or node
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """An expression in its source, and the frame in which it was evaluated, where that is known."""

    source: Source
    node: ast.expr
    frame: FrameType | None = None


def read(filename: str) -> Source | None:
    """The source that was compiled under this name."""
    try:
        source = Source(filename)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return source if source.lines else None


def at(
    code: CodeType, instruction: int, *, frame: FrameType | None = None, source: Source | None = None
) -> Found | None:
    """The expression that an instruction belongs to. `source` saves reading it again."""
    position = _position(code, instruction)
    source = source or read(code.co_filename)
    node = source.expression(position) if source and position else None
    return Found(source=source, node=node, frame=frame) if source and node else None


def raised_at(error: BaseException) -> Found | None:
    """The expression in the agent's code that was being evaluated when `error` was raised: in the innermost of its
    frames.
    """
    found, trace = None, error.__traceback__
    while trace is not None:
        if _is_agents(trace.tb_frame):
            found = trace
        trace = trace.tb_next
    return at(found.tb_frame.f_code, found.tb_lasti, frame=found.tb_frame) if found else None


# What encloses it


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What encloses an expression, as far as awaiting goes. `name` is the function's or the class's."""

    kind: Literal["awaits", "function", "lambda", "class", "generator"]
    name: str = ""
    node: ast.AST | None = None


def scope_of(node: ast.AST, above: Parents) -> Scope:
    """The scope in which `node` is evaluated: defaults and decorators belong to the scope outside, a first iterable
    too.
    """
    child, parent = node, above.get(node)
    while parent is not None:
        if isinstance(parent, ast.AsyncFunctionDef) and child in parent.body:
            return Scope(kind="awaits", name=parent.name, node=parent)
        if isinstance(parent, ast.FunctionDef) and child in parent.body:
            return Scope(kind="function", name=parent.name, node=parent)
        if isinstance(parent, ast.ClassDef) and child in parent.body:
            return Scope(kind="class", name=parent.name, node=parent)
        if isinstance(parent, ast.Lambda) and child is parent.body:
            return Scope(kind="lambda", node=parent)
        if isinstance(parent, ast.comprehension) and child is parent.iter:
            whole = above[parent]
            if isinstance(whole, ast.GeneratorExp) and parent is whole.generators[0]:
                child, parent = whole, above.get(whole)
                continue
        if isinstance(parent, ast.GeneratorExp):
            outside = scope_of(parent, above)
            return Scope(kind="generator", node=parent) if outside.kind == "awaits" else outside
        child, parent = parent, above.get(parent)
    return Scope(kind="awaits")


# What its value is


def value_of(node: ast.expr, frame: FrameType | None) -> object:
    """The value of a name, of a record's field, or of an item of a plain container; MISSING for anything that would
    run code.
    """
    if frame is None:
        return MISSING
    match node:
        case ast.Name(id=name):
            return frame.f_locals.get(name, frame.f_globals.get(name, MISSING))
        case ast.Attribute(value=inner, attr=name):
            owner = value_of(inner, frame)
            return vars(owner).get(name, MISSING) if isinstance(owner, Record) else MISSING
        case ast.Subscript(value=inner, slice=ast.Constant(value=key)):
            owner = value_of(inner, frame)
            if type(owner) is dict and isinstance(key, str | int):
                return owner.get(key, MISSING)
            if type(owner) in (list, tuple) and isinstance(key, int):
                items = list(owner)  # type: ignore[call-overload]
                return items[key] if -len(items) <= key < len(items) else MISSING
    return MISSING
