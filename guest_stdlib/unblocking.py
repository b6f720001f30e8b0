"""`asyncio.run(main())` at the top level of a cell, read as what it means there: `await` the run of `main()`.

Most scripts that models write end in that line. Run as it stands it blocks on the native stack, which works, but then
the session cannot be suspended or forked while it waits. At top level a cell may await, so nothing is lost: the
coroutine runs in a context of its own, what it started ends with it, and SystemExit comes out where the call stands.

The tree only marks the place. Whether `asyncio.run` is really that function is seen when it runs (runners.py).
"""

from __future__ import annotations

import ast
from typing import Final

__all__ = ["AT_TOP", "unblocked"]

AT_TOP: Final = "__asyncio_run__"  # a builtin: it is given the function that was called, then its arguments

_ELSEWHERE: Final = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda),
    *(ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp),
)


def unblocked(tree: ast.Module) -> ast.Module:
    """The tree, changed in place, with such calls awaited."""
    _TopLevel().visit(tree)
    return tree


class _TopLevel(ast.NodeTransformer):
    """Looks only where a cell may await."""

    def visit(self, node: ast.AST) -> ast.AST:
        """Await what is a call of asyncio.run."""
        if isinstance(node, _ELSEWHERE):
            return node
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="asyncio"), attr="run") as function):
                at_top = ast.copy_location(ast.Name(AT_TOP, ast.Load()), function)
                call = ast.copy_location(ast.Call(at_top, [function, *node.args], node.keywords), node)
                return ast.copy_location(ast.Await(call), node)
            case _:
                return node
