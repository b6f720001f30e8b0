"""Shapes: types as plain data, checked in the same way on both sides.

Rules:

- The forms are those of `guest_stdlib.declared`, and one more: `["tuple", shape, "..."]` is a tuple of any length.
- A check follows a type checker, not a converter: bool is no int, a tuple is no list, a datetime is no date. As for
  type checkers, an int is a float, and a subclass is its base.
- An enum takes a member, or a member's name as text: agent code has no class to take members from.
- The fields of records are not checked here: whoever made a record checked it.
- Shapes are derived from annotations in `guest_stdlib.annotations`; `of` and `records_in` are names here too.
- A value that fits costs no allocation of paths; the way to the fault is put together only once there is one.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Final
from uuid import UUID

from guest_stdlib.annotations import of, records_in
from guest_stdlib.channel.values import Member
from guest_stdlib.channel.values import Record as Unknown
from guest_stdlib.declared import Shape

__all__ = ["ShapeError", "check", "exactly", "got", "of", "records_in", "text"]

type Records = Mapping[str, type]
type _Fault = tuple[str, str, str]  # path, expected, got
type _Check = Callable[[object, Sequence[object], Records], _Fault | None]

_EXACT: Final[dict[str, type]] = {
    "none": type(None),
    "bool": bool,
    "int": int,
    "float": float,
    "str": str,
    "bytes": bytes,
    "datetime": datetime,
    "date": date,
    "time": time,
    "timedelta": timedelta,
    "decimal": Decimal,
    "uuid": UUID,
}
_ONLY: Final = {name: frozenset({kind}) for name, kind in _EXACT.items()}
_NOTHING: Final[frozenset[type]] = frozenset()
_TEXT: Final = {"any": "Any", "none": "None", "decimal": "Decimal", "uuid": "UUID"}


class ShapeError(TypeError):
    """A value does not fit. `path` leads to the part that does not ("" is the whole): `[2]`, `['name']`."""

    def __init__(self, path: str, expected: str, got: str) -> None:
        super().__init__(path, expected, got)
        self.path = path
        self.expected = expected
        self.got = got

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        return f"{where}expected {self.expected}, got {self.got}"


def check(value: object, shape: Shape, *, records: Records) -> None:
    """Raise a `ShapeError` unless `value` fits `shape`. `records` holds the classes of records and enums by name.

    A record or enum whose class is not in `records` is told by its class name.
    """
    if exactly(value, shape):
        return
    fault = _fault(value, shape, records)
    if fault is not None:
        raise ShapeError(*fault)


def exactly(value: object, shape: Shape) -> bool:
    """Whether a value fits a simple shape by its very type. False means nothing yet."""
    return isinstance(shape, str) and (shape == "any" or type(value) is _EXACT.get(shape))


def _fault(value: object, shape: object, records: Records) -> _Fault | None:
    if isinstance(shape, str):
        return None if _fits(value, shape) else ("", text(shape), got(value))
    if not isinstance(shape, list | tuple) or not shape or shape[0] not in _FORMS:
        raise ValueError(f"{shape!r} is no shape")
    return _FORMS[shape[0]](value, shape, records)


def _fits(value: object, name: str) -> bool:
    if name == "any":
        return True
    exact = _EXACT.get(name)
    if exact is None:
        raise ValueError(f"{name!r} is no shape")
    kind = type(value)
    if kind is exact:
        return True
    if kind is bool:
        return False
    if name == "float":
        return isinstance(value, float | int)
    if name == "date":
        return isinstance(value, date) and not isinstance(value, datetime)
    return isinstance(value, exact)


def _plainly(values: Iterable[object], shape: object) -> bool:
    """Whether all values fit, as far as their types alone tell: False may still mean that they do."""
    return isinstance(shape, str) and (shape == "any" or _ONLY.get(shape, _NOTHING).issuperset(map(type, values)))


def _items(values: Sequence[object], shape: object, records: Records) -> _Fault | None:
    if _plainly(values, shape):
        return None
    for index, item in enumerate(values):
        if fault := _fault(item, shape, records):
            return f"[{index}]{fault[0]}", fault[1], fault[2]
    return None


def _list(value: object, shape: Sequence[object], records: Records) -> _Fault | None:
    if not isinstance(value, list):
        return "", text(shape), got(value)
    return _items(value, shape[1] if len(shape) > 1 else "any", records)


def _tuple(value: object, shape: Sequence[object], records: Records) -> _Fault | None:
    if not isinstance(value, tuple):
        return "", text(shape), got(value)
    if len(shape) == 3 and shape[2] == "...":
        return _items(value, shape[1], records)
    if len(value) != len(shape) - 1:
        return "", text(shape), got(value)
    for index, (item, inner) in enumerate(zip(value, shape[1:], strict=True)):
        if fault := _fault(item, inner, records):
            return f"[{index}]{fault[0]}", fault[1], fault[2]
    return None


def _set(value: object, shape: Sequence[object], records: Records) -> _Fault | None:
    if not isinstance(value, set | frozenset):
        return "", text(shape), got(value)
    fault = _items(tuple(value), shape[1] if len(shape) > 1 else "any", records)
    return ("", text(shape), f"{type(value).__name__} holding {fault[2]}") if fault else None


def _dict(value: object, shape: Sequence[object], records: Records) -> _Fault | None:
    if not isinstance(value, dict):
        return "", text(shape), got(value)
    keys, values = shape[1:3] if len(shape) > 2 else ("any", "any")
    if not _plainly(value, keys) and (fault := _items(tuple(value), keys, records)):
        return "", text(shape), f"a key of type {fault[2]}"
    if _plainly(value.values(), values):
        return None
    for key, item in value.items():
        if fault := _fault(item, values, records):
            return f"[{_short.repr(key)}]{fault[0]}", fault[1], fault[2]
    return None


def _union(value: object, shape: Sequence[object], records: Records) -> _Fault | None:
    faults = []
    for member in shape[1:]:
        fault = _fault(value, member, records)
        if fault is None:
            return None
        faults.append(fault)
    deeper = [fault for fault in faults if fault[0]]  # the right kind of container, with one wrong thing in it
    return deeper[0] if len(deeper) == 1 else ("", text(shape), got(value))


def _literal(value: object, shape: Sequence[object], _: Records) -> _Fault | None:
    if any(type(value) is type(known) and value == known for known in shape[1:]):
        return None
    return "", text(shape), got(value)


def _record(value: object, shape: Sequence[object], records: Records) -> _Fault | None:
    name = str(shape[1])
    kind = records.get(name)
    if isinstance(value, Unknown):  # its class is not known here, or refused the fields
        if value.type_name != name:
            return "", name, f"{value.type_name} ({_short.repr(dict(value.fields))})"
        return ("", name, f"one that cannot be made: {value.problem}") if value.problem else None
    fits = isinstance(value, kind) if kind is not None else type(value).__name__ == name
    return None if fits else ("", name, got(value))


def _enum(value: object, shape: Sequence[object], records: Records) -> _Fault | None:
    name, members = str(shape[1]), shape[2:]
    kind = records.get(name)
    if isinstance(value, Enum):
        fits = isinstance(value, kind) if kind is not None else type(value).__name__ == name
    elif isinstance(value, Member):
        fits = value.type_name == name and value.name in members
    else:
        fits = isinstance(value, str) and value in members
    return None if fits else ("", f"{name} (one of {', '.join(map(repr, members))})", got(value))


_FORMS: Final[dict[str, _Check]] = {
    "list": _list,
    "tuple": _tuple,
    "set": _set,
    "dict": _dict,
    "union": _union,
    "literal": _literal,
    "record": _record,
    "enum": _enum,
}


# As text

_short = reprlib.Repr(maxstring=60, maxother=60, maxlevel=2, maxlist=4, maxtuple=4, maxdict=4, maxset=4, maxfrozenset=4)


def got(value: object) -> str:
    """What a value is, in a few words: `int (7)`, `None`, `list (['a', 'b', 'c', 'd', ...])`."""
    return "None" if value is None else f"{type(value).__name__} ({_short.repr(value)})"


def text(shape: Shape) -> str:
    """A shape as a type is written: `list[str] | None`."""
    if isinstance(shape, str):
        return _TEXT.get(shape, shape)
    form, parts = str(shape[0]), shape[1:]
    if form == "literal":
        return f"Literal[{', '.join(map(repr, parts))}]"
    if form in ("record", "enum"):
        return str(parts[0])
    if form == "union":
        return " | ".join(_texts(parts))
    if form == "tuple" and not parts:
        return "tuple[()]"
    return f"{form}[{', '.join(_texts(parts))}]" if parts else form


def _texts(shapes: Iterable[object]) -> list[str]:
    return [text(shape) for shape in shapes if isinstance(shape, str | Sequence)]
