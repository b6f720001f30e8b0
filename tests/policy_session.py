"""A session under policy `restricted`, run natively: what the runtime does with a cell, and no more."""

from __future__ import annotations

import ast
import asyncio
import inspect
from types import FunctionType
from typing import Any

from guest_stdlib.policy import restricted


class Session:
    """Names live on from cell to cell. Whatever is printed is in `printed`."""

    def __init__(self, **names: object) -> None:
        self.printed: list[str] = []
        self.namespace = restricted.namespace(self._print) | names

    def _print(self, *values: object, sep: str = " ", **_: object) -> None:
        self.printed.append(sep.join(map(str, values)))

    def run(self, source: str) -> Any:
        """The value of the cell's last expression, None if its last statement is none."""
        return _run(restricted.compile_cell(ast.parse(source), source, "<cell>"), self.namespace)


def run_openly(source: str) -> Any:
    """What the same cell gives without a policy."""
    return _run(ast.parse(source), {"__name__": "__main__"})


def outcome(run: Any, source: str) -> object:
    """The value, or the kind and the text of the exception."""
    try:
        return run(source)
    except Exception as error:
        return type(error), str(error)


def _run(tree: ast.Module, namespace: dict[str, object]) -> Any:
    *body, last = tree.body or [ast.Pass()]
    if isinstance(last, ast.Expr):
        last = ast.copy_location(ast.Assign([ast.copy_location(ast.Name("_", ast.Store()), last)], last.value), last)
    namespace.pop("_", None)
    code = compile(ast.Module([*body, last], []), "<cell>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    result = FunctionType(code, namespace)()
    if inspect.iscoroutine(result):
        asyncio.run(asyncio.wait_for(result, 10))
    return namespace.get("_")
