"""Values as people and programs read them: some lines of Python, or JSON.

A printed value is cut at the whole: about a hundred lines, every bracket closed, and where something is left out its
number. `Layout` makes only the lines that it prints, so a million rows cost as much as a hundred.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final
from uuid import UUID

from guest_stdlib.channel import Member, Opaque, Record
from guest_stdlib.results import Shortened

__all__ = ["jsonable", "pretty"]

LINES: Final = 100
CHARACTERS: Final = 4_000  # of one text
DIGITS: Final = 4_000  # of one number; CPython itself refuses to write more than 4,300
_STEP: Final = 4


def pretty(value: object, *, width: int, lines: int = LINES) -> str:
    """A value as Python writes it, over several lines where one is too short for it."""
    layout = _Layout(width, lines)
    layout.put(value, "", "", "")
    return "\n".join(layout.lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """A container taken apart. `more` says what the guest left out of it."""

    opening: str
    closing: str
    length: int
    items: Iterable[tuple[str, object]]
    more: str = ""


class _Layout:
    def __init__(self, width: int, most: int) -> None:
        self._width, self._most = width, most
        self.lines: list[str] = []

    def put(self, value: object, indent: str, before: str, after: str) -> None:
        """Lay out a value between the texts that stand before and after it on its own lines."""
        flat = _flat(value, self._width - len(indent) - len(before) - len(after))
        if flat is not None:
            self.lines.append(f"{indent}{before}{flat}{after}")
        elif (parts := _parts(value)) is None:
            self.lines.append(f"{indent}{before}{_leaf(value)}{after}")
        else:
            self._put_parts(parts, indent, before, after)

    def _put_parts(self, parts: _Parts, indent: str, before: str, after: str) -> None:
        self.lines.append(f"{indent}{before}{parts.opening}")
        inner = indent + " " * _STEP
        for number, (name, item) in enumerate(parts.items):
            if len(self.lines) >= self._most:
                self.lines.append(f"{inner}... {parts.length - number:,} more")
                break
            self.put(item, inner, name, ",")
        else:
            if parts.more:
                self.lines.append(f"{inner}{parts.more}")
        self.lines.append(f"{indent}{parts.closing}{after}")


def _flat(value: object, room: int) -> str | None:
    """A value on one line of at most `room` characters; None if it takes more."""
    parts = _parts(value)
    if parts is None:
        text = _leaf(value) if _may_fit(value, room) else ""
        return text if text and len(text) <= room else None
    if parts.more:
        return None
    room -= len(parts.opening) + len(parts.closing)
    texts: list[str] = []
    for name, item in parts.items:
        flat = _flat(item, room - len(name)) if room >= 0 else None
        if flat is None:
            return None
        texts.append(name + flat)
        room -= len(name) + len(flat) + 2
    if room < -2:
        return None
    comma = "," if type(value) is tuple and len(texts) == 1 else ""
    return f"{parts.opening}{', '.join(texts)}{comma}{parts.closing}"


def _may_fit(value: object, room: int) -> bool:
    match value:
        case str() | bytes():
            return len(value) <= room
        case int():
            return value.bit_length() <= 4 * max(room, 0)
    return True


def _leaf(value: object) -> str:
    match value:
        case str() | bytes() if len(value) > CHARACTERS:
            unit = "characters" if isinstance(value, str) else "bytes"
            return f"{value[:CHARACTERS]!r}... {len(value) - CHARACTERS:,} more {unit}"
        case int() if (digits := _digits(value)) > DIGITS:
            return f"an int of about {digits:,} digits"
        case Opaque(text=text):
            return text
        case Member(type_name=name, name=member):
            return f"{name}.{member}"
        case Shortened(head=str() | bytes() as head):
            unit = "characters" if isinstance(head, str) else "bytes"
            return f"{head!r}... {value.length - len(head):,} more {unit}: {value.handle}"
    try:
        return repr(value)
    except ValueError:  # a number of too many digits within something else
        return f"<{type(value).__name__}>"


def _digits(value: int) -> int:
    return int(max(value.bit_length() - 1, 0) * math.log10(2)) + 1


def _parts(value: object) -> _Parts | None:
    match value:
        case Shortened(head=str() | bytes()):
            return None
        case Shortened(head=head) if inner := _parts(head):
            left = value.length - value.shown
            return dataclasses.replace(inner, more=f"... {left:,} more: {value.handle}") if left else inner
        case Record(type_name=name, fields=fields):
            return _fields(name, fields)
        case Opaque() | Member():
            return None
        case list():
            return _Parts(opening="[", closing="]", length=len(value), items=_unnamed(value))
        case tuple():
            return _Parts(opening="(", closing=")", length=len(value), items=_unnamed(value))
        case set() | frozenset() if value:
            name = "frozenset({" if isinstance(value, frozenset) else "{"
            closing = "})" if isinstance(value, frozenset) else "}"
            return _Parts(opening=name, closing=closing, length=len(value), items=_unnamed(value))
        case Mapping():
            named = ((f"{_flat(key, 1000) or _leaf(key)}: ", item) for key, item in value.items())
            return _Parts(opening="{", closing="}", length=len(value), items=named)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _fields(
            type(value).__name__, {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        )
    return None


def _fields(name: str, fields: Mapping[str, object]) -> _Parts:
    named = ((f"{field}=", item) for field, item in fields.items())
    return _Parts(opening=f"{name}(", closing=")", length=len(fields), items=named)


def _unnamed(values: Iterable[object]) -> Iterator[tuple[str, object]]:
    return (("", value) for value in values)


# JSON


def jsonable(value: object) -> object:
    """The value in JSON's types: records as objects, tuples and sets as arrays, times as ISO 8601, decimals, fractions
    and UUIDs as text; everything else, and a mapping whose keys would collide as text, by its repr.
    """
    match value:
        case None | bool() | str():
            return value
        case int():
            return value if _digits(value) <= DIGITS else hex(value)
        case float():
            return value if math.isfinite(value) else repr(value)
        case list() | tuple():
            return [jsonable(item) for item in value]
        case set() | frozenset():
            return sorted((jsonable(item) for item in value), key=repr)
        case dt.datetime() | dt.date() | dt.time():
            return value.isoformat()
        case Decimal() | UUID():
            return str(value)
        case Opaque(text=text):
            return text
        case Member(type_name=name, name=member):
            return f"{name}.{member}"
        case Record(fields=fields):
            return _object(fields)
        case Mapping():
            return _object(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: jsonable(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return _leaf(value)


def _object(mapping: Mapping[object, object] | Mapping[str, object]) -> object:
    named = {key if isinstance(key, str) else _leaf(key): jsonable(item) for key, item in mapping.items()}
    return named if len(named) == len(mapping) else _leaf(mapping)
