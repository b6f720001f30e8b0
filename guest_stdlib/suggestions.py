"""Hints: what to write instead, for mistakes that models make often enough to be known.

Rules:

- A hint is one or two plain sentences that end in what to write, made from the agent's own names. It repeats nothing
  that the exception's message already says, and where nothing certain is known there is none.
- The exception is only looked at. Nothing of the agent's is called, compared or formatted but plain values.
- A hint never fails: a fault here must not hide the exception that it was to explain.
"""

from __future__ import annotations

import ast
import builtins
import linecache
import re
import sys
from collections.abc import Callable
from typing import Final

from guest_stdlib import expressions, misreadings, packages
from guest_stdlib.arguments import nearest, signature_text
from guest_stdlib.corrections import plain_function
from guest_stdlib.scene import Scene, listed

__all__ = ["Scene", "hint"]

# What models import to get at tools, in one harness or another.
_TOOL_MODULES: Final = frozenset(
    ["capabilities", "capability", "default_api", "functions", "helpers", "mcp", "sandbox", "tool", "tools", "utils"]
)
_OTHER_LANGUAGES: Final = {"true": "True", "false": "False", "null": "None", "undefined": "None", "nil": "None"}
_NOT_ALLOWED: Final = re.compile(r'Module "(\w+)[\w.]*" is not available under policy')
_READS: Final = ("path", "file", "filename", "file_path")  # parameters of methods that read documents


def hint(error: BaseException, scene: Scene) -> str | None:
    """What to write instead, or None where nothing certain is known."""
    try:
        return _hint(error, scene)
    except Exception:
        return None


def _hint(error: BaseException, scene: Scene) -> str | None:
    if isinstance(error, BaseExceptionGroup):
        return next((found for member in error.exceptions if (found := _hint(member, scene))), None)
    explanations = (explain(error, scene) for kind, explain in _KNOWN if isinstance(error, kind))
    return next((found for found in explanations if found), None)


# Imports


def _import(error: BaseException, scene: Scene) -> str | None:
    name = getattr(error, "name", None) or ""
    root = name.partition(".")[0]
    wanted = _asked_for(error)
    meant = next((found for each in (*wanted, root) if (found := scene.meant(each))), None)
    ours = root in _TOOL_MODULES or root in scene.capability_names
    if ours or (meant is not None and wanted and not packages.known(root)):
        return _in_scope(scene, meant)
    advice = packages.advice(name)
    if advice == str(error):
        return None
    return f"{advice} Packages that are here: {listed(scene.packages)}." if scene.packages else advice


def _in_scope(scene: Scene, meant: str | None) -> str:
    capabilities = listed(scene.capability_names) or "none in this session"
    usage = f" Write: {scene.usage(meant)}" if meant else ""
    return f"Capabilities are in scope already, without an import: {capabilities}.{usage}"


def _asked_for(error: BaseException) -> list[str]:
    """The names in the `from ... import` that failed."""
    place = None
    trace = error.__traceback__
    while trace is not None:
        filename = trace.tb_frame.f_code.co_filename
        if linecache.getline(filename, trace.tb_lineno):
            place = filename, trace.tb_lineno
        trace = trace.tb_next
    if place is None or (source := expressions.read(place[0])) is None:
        return []
    return [
        alias.name
        for node in ast.walk(source.tree)
        if isinstance(node, ast.ImportFrom) and node.lineno <= place[1] <= (node.end_lineno or node.lineno)
        for alias in node.names
    ]


# Names


def _name(error: BaseException, scene: Scene) -> str | None:
    name = getattr(error, "name", None)
    if not isinstance(name, str) or isinstance(error, UnboundLocalError):
        return None
    if name in _OTHER_LANGUAGES:
        return f"In Python it is written {_OTHER_LANGUAGES[name]}."
    methods = [path for path in scene.methods if path.rpartition(".")[2] == name]
    if methods:
        return f"{name} is a method. Write: {' or '.join(scene.usage(path) for path in methods)}"
    module = packages.usual_name(name)
    if module is not None:
        return packages.advice(module)
    if name in sys.stdlib_module_names:
        return packages.UNUSABLE.get(name) or f"Import it first: import {name}"
    own = [known for known in scene.names if not known.startswith("_")]
    close = nearest(name, [*scene.capability_names, *own, *dir(builtins)])
    meant = f"Did you mean {close[0]}?" if close else ""
    return " ".join(part for part in (scene.notice, meant) if part) or None


# Syntax


def _syntax(error: BaseException, _: Scene) -> str | None:
    assert isinstance(error, SyntaxError)
    said, text = error.msg or "", (error.text or "").strip()
    if text.startswith(("!", "%")):
        return "Shell and notebook commands do not work here: write Python."
    if said == "'return' outside function":
        return "A cell is no function. Write the value alone on the last line, without return."
    if "outside" in said and ("await" in said or "asynchronous" in said or "async " in said):
        return _awaits_where_it_cannot(error)
    return None


def _awaits_where_it_cannot(error: SyntaxError) -> str | None:
    source = expressions.read(error.filename or "")
    if source is None or error.lineno is None or error.offset is None:
        return None
    # The parser counts characters, the compiler bytes.
    columns = {error.offset - 1, len(source.lines[error.lineno - 1][: error.offset - 1].encode())}
    for node in ast.walk(source.tree):
        if isinstance(node, _AWAITING) and node.lineno == error.lineno and node.col_offset in columns:
            return _instead_of(node, expressions.scope_of(node, source.parents))
    return None


_AWAITING: Final = (ast.Await, ast.AsyncFor, ast.AsyncWith, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _instead_of(node: ast.AST, scope: expressions.Scope) -> str:
    blocking = ""
    if isinstance(node, ast.Await) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
        call, function = ast.unparse(node.value), ast.unparse(node.value.func)
        if not function.startswith("asyncio."):
            blocking = f"{function}.blocking{call[len(function) :]}"
    if scope.kind == "function":
        return f"{plain_function(scope.name)}{f', or write in it: {blocking}' if blocking else '.'}"
    where = {"lambda": "A lambda", "class": "A class body"}.get(scope.kind, "This place")
    return f"{where} cannot await.{f' Write: {blocking}' if blocking else ' Use an async def function.'}"


# The world outside


def _outside(error: BaseException, scene: Scene) -> str | None:
    if "unknown url type" in str(error):  # https, where there is no ssl
        outside = listed(scene.capability_names) or "nothing"
        return f"There is no network here: what is outside is reached through {outside}."
    if not isinstance(error, FileNotFoundError | PermissionError) or _of_a_call(error):
        return None
    reads = [
        signature_text(path, method)
        for path, method in scene.methods.items()
        if any(parameter.name in _READS for parameter in method.parameters)
    ]
    return f"Documents are read with: {listed(reads)}" if reads else None


def _of_a_call(error: BaseException) -> bool:
    """Whether a call of a capability raised it: then it says itself what was not found or not allowed."""
    node = found.node if (found := expressions.raised_at(error)) else None
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Attribute) and node.func.attr == "blocking"
    return isinstance(node, ast.Await)


def _runtime(error: BaseException, _: Scene) -> str | None:
    if str(error) == "await wasn't used with future":
        return "What asyncio.gather gives is awaited before it is gone through: results = await asyncio.gather(...)"
    if str(error) == "cannot reuse already awaited coroutine":
        return "A call can be awaited once. Keep its answer in a name, or write the call again."
    return None


def _by_its_words(error: BaseException, scene: Scene) -> str | None:
    said = str(error)
    if said == "unable to open database file":
        return "There are no files here. Write: sqlite3.connect(':memory:')"
    if (refused := _NOT_ALLOWED.search(said)) and (refused[1] in _TOOL_MODULES or refused[1] in scene.capability_names):
        return _in_scope(scene, scene.meant(refused[1]))
    # A call that was not awaited, in a place that only knows its type.
    return scene.unawaited[0] if scene.unawaited and "coroutine" in said else None


type _Explain = Callable[[BaseException, Scene], str | None]

_KNOWN: Final[tuple[tuple[type[BaseException], _Explain], ...]] = (
    (ModuleNotFoundError, _import),
    (NameError, _name),
    (AttributeError, misreadings.attribute),
    (KeyError, misreadings.key),
    (IndexError, misreadings.index),
    (TypeError, misreadings.operation),
    (SyntaxError, _syntax),
    (OSError, _outside),
    (RuntimeError, _runtime),
    (Exception, _by_its_words),
)
