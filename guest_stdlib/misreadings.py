"""Hints about values: attributes, items and operations that what is at hand does not have.

Rules:

- What a value is comes from the exception itself, or from the names in the failing line; nothing is computed.
- CPython's words are recognised by the table at the end. A message that is not in it has no hint.
"""

from __future__ import annotations

import ast
import asyncio
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from guest_stdlib import expressions
from guest_stdlib.arguments import nearest, signature_text
from guest_stdlib.expressions import Found
from guest_stdlib.records import Record
from guest_stdlib.scene import Scene, listed

__all__ = ["attribute", "index", "key", "operation"]


# Attributes and items

_SET: Final = re.compile(
    r"'(\w+)' object (?:attribute '(?=\w+' is read-only)|has no attribute '(?=\w+' and no __dict__))(\w+)"
)


def attribute(error: BaseException, scene: Scene) -> str | None:
    """The hint for an AttributeError."""
    owner, name = getattr(error, "obj", None), getattr(error, "name", None)
    if (match := _SET.match(str(error))) and match[1] in scene.capability_names:
        return (
            f"{match[1]} is a capability and cannot be changed. Keep the value in a name of your own: {match[2]} = ..."
        )
    if not name:
        return None
    if owner is None:
        return _none(error)
    if isinstance(owner, asyncio.Future):
        return _awaited_first(expressions.raised_at(error))
    if isinstance(owner, Record):
        if name in ("get", "keys", "items", "values"):
            return f"{_described(owner)} Read them as attributes; dataclasses.asdict makes it a dict."
        return f"{_described(owner)}{_did_you_mean(name, owner.__match_args__)}"
    if type(owner) is dict and name in owner:
        return f'Items of a dict are read by key: ["{name}"].'
    return _of_items(owner, name) if isinstance(owner, list | tuple) else None


def _none(error: BaseException) -> str | None:
    found = expressions.raised_at(error)
    if found is None or not isinstance(found.node, ast.Attribute):
        return None
    return f"{ast.unparse(found.node.value)} is None: nothing was found. Check for None first."


def _awaited_first(found: Found | None) -> str:
    """What to write where `asyncio.gather(...)`, or a task, was taken for its answer."""
    node = found.node if found else None
    if not isinstance(node, ast.Attribute | ast.Subscript):
        return "It was not awaited. Write: results = await asyncio.gather(...)"
    text, owner = ast.unparse(node), ast.unparse(node.value)
    return f"{owner} was not awaited. Write: (await {owner}){text.removeprefix(owner)}"


def _of_items(items: Iterable[object], name: str) -> str | None:
    first = next(iter(items), None)
    if first is None:
        return "It is empty: there is no item to read from."
    if isinstance(first, Record) and name in first.__match_args__:
        return f"It is a list of {type(first).__name__}: take one, [0].{name}, or go through them all."
    return None


def _described(record: Record) -> str:
    return f"{type(record).__name__} is a record with the fields {listed(record.__match_args__)}."


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    close = nearest(name, known)
    return f" Did you mean {close[0]}?" if close else ""


def key(error: BaseException, _: Scene) -> str | None:
    """The hint for a KeyError."""
    found = expressions.raised_at(error)
    wanted = error.args[0] if error.args else None
    if found is None or not isinstance(found.node, ast.Subscript) or not isinstance(wanted, str):
        return None
    owner = expressions.value_of(found.node.value, found.frame)
    if not isinstance(owner, dict):
        return None
    name = ast.unparse(found.node.value)
    if not owner:
        return f"{name} is empty."
    keys = [known for known in owner if isinstance(known, str)]
    close = nearest(wanted, keys)
    meant = f" Did you mean {close[0]!r}?" if close else ""
    return f"{name} has the keys {listed(map(repr, keys))}.{meant}"


def index(error: BaseException, _: Scene) -> str | None:
    """The hint for an IndexError."""
    found = expressions.raised_at(error)
    if found is None or not isinstance(found.node, ast.Subscript):
        return None
    owner = expressions.value_of(found.node.value, found.frame)
    if not isinstance(owner, list | tuple | str):
        return None
    name, count = ast.unparse(found.node.value), len(owner)
    if count == 0:
        return f"{name} is empty: nothing was found. Check before taking an item: if {name}: ..."
    return f"{name} has {count} item{'' if count == 1 else 's'}: the last is [{count - 1}], or [-1]."


# Operations


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mistake:
    """A TypeError by its words. `kind` is the type that they name, `found` the expression where it was raised."""

    kind: str
    found: Found | None
    scene: Scene

    @property
    def fields(self) -> tuple[str, ...] | None:
        """The fields of the record that `kind` names, None if it names something else."""
        named = self.scene.names.get(self.kind)
        return named.__match_args__ if isinstance(named, type) and issubclass(named, Record) else None


def operation(error: BaseException, scene: Scene) -> str | None:
    """The hint for a TypeError."""
    said = str(error)
    for pattern, explain in _WORDS:
        if match := pattern.search(said):
            kind = next((group for group in match.groups() if group), "")
            hint = explain(_Mistake(kind=kind, found=expressions.raised_at(error), scene=scene))
            if hint is not None:
                return hint
    return None


def _subscripted(mistake: _Mistake) -> str | None:
    if mistake.found is None or not isinstance(mistake.found.node, ast.Subscript):
        return None
    owner, item = ast.unparse(mistake.found.node.value), mistake.found.node.slice
    if mistake.kind == "method":
        return f"A method is called with parentheses: {owner}({ast.unparse(item)})"
    if mistake.fields is None:
        return None
    if isinstance(item, ast.Constant) and isinstance(item.value, str):
        close = nearest(item.value, mistake.fields)
        if close:
            return f"{mistake.kind} is a record, its fields are attributes. Write: {owner}.{close[0]}"
        return f"{mistake.kind} is a record with the fields {listed(mistake.fields)}."
    return f"{owner} is one {mistake.kind}, not a list of them; its fields are {listed(mistake.fields)}."


def _unawaited(mistake: _Mistake) -> str | None:
    return _awaited_first(mistake.found) if mistake.fields is None else None  # a record may be called Task, too


def _no_coroutine(mistake: _Mistake) -> str | None:
    if mistake.fields is None:
        return None
    return f"A {mistake.kind} goes on by itself and needs no task. Await it, alone or in await asyncio.gather(...)."


def _not_awaitable(mistake: _Mistake) -> str:
    if mistake.found is None:
        return "Leave out await: this is the value already."
    node = mistake.found.node
    awaited = node.value if isinstance(node, ast.Await) else node
    text = ast.unparse(awaited)
    if mistake.kind in ("list", "tuple", "set", "generator"):
        return f"To await several calls at once, write: await asyncio.gather(*{text})"
    if isinstance(awaited, ast.Call) and ast.unparse(awaited.func).endswith(".blocking"):
        return f"A blocking call gives the answer itself. Leave out await: {text}"
    if mistake.kind in ("method", "builtin_function_or_method", "function"):
        return f"It is not called yet. Write: await {text}(...)"
    return f"{text} is the value already. Leave out await: {text}"


def _not_json(mistake: _Mistake) -> str | None:
    if mistake.fields is not None:
        return f"{mistake.kind} is a record. Write: json.dumps(..., default=dataclasses.asdict)"
    if mistake.kind in ("datetime", "date", "time", "Decimal", "UUID", "timedelta"):
        return "Let it be written as text: json.dumps(..., default=str)"
    return "JSON has no sets. Make it a list first: sorted(...)" if mistake.kind in ("set", "frozenset") else None


def _not_callable(mistake: _Mistake) -> str | None:
    for declared in mistake.scene.capabilities:
        if declared.name == mistake.kind:
            known = [
                signature_text(f"{declared.name}.{method.name}", method) for method in declared.methods if not method.of
            ]
            return f"{mistake.kind} is called by its methods: {listed(known)}."
    return None


def _gathered(mistake: _Mistake) -> str | None:
    node = mistake.found.node if mistake.found else None
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("gather"):
        return "asyncio.gather takes the calls one by one. Put a star before the list: await asyncio.gather(*[...])"
    return None


def _not_async(_: _Mistake) -> str:
    return "It is no async iterator. Write for, not async for."


def _not_iterable(mistake: _Mistake) -> str | None:
    if mistake.fields is None:
        return None
    return f"{mistake.kind} is one record with the fields {listed(mistake.fields)}, not a list of them."


_WORDS: Final[tuple[tuple[re.Pattern[str], Callable[[_Mistake], str | None]], ...]] = (
    (re.compile(r"(?:'|type )(_GatheringFuture|Future|Task)'? (?:object )?(?:is not|has no len)"), _unawaited),
    (re.compile(r"'(\w+)' object is not subscriptable"), _subscripted),
    (re.compile(r"object (\w+) can't be used in 'await' expression"), _not_awaitable),  # 3.13
    (re.compile(r"'(\w+)' object can't be awaited"), _not_awaitable),  # 3.14
    (re.compile(r"a coroutine was expected, got (\w+)\("), _no_coroutine),
    (re.compile(r"Object of type (\w+) is not JSON serializable"), _not_json),
    (re.compile(r"'(\w+)' object is not callable"), _not_callable),
    (re.compile(r"unhashable type: 'list'|An asyncio.Future, a coroutine or an awaitable is required"), _gathered),
    (re.compile(r"'async for' requires an object with __aiter__ method, got (\w+)"), _not_async),
    (re.compile(r"'(\w+)' object is not iterable|cannot unpack non-iterable (\w+) object"), _not_iterable),
)
