"""From a value to the tree that is packed. values.py lists the forms.

Rules and reasons:

- Dispatch is by the exact type, so no subclass is ever taken for what it derives from.
- Scalars are not touched: a call with a few of them costs a dict look-up each. Numbers and strings are checked where
  the size of the whole becomes known.
- Success pays nothing for good errors. Where a problem is raised, each container adds its step to the path on the way
  out.
- Items count as msgpack tokens, as the other end will count them. A value that shares parts is written, and counted, as
  often as they occur; depth and items bound what a cycle or a crafted doubling can cost.
- Keys and set elements must stay different, and hashable, at the other end. Where they are of types that lose their
  identity on the way, that is tried out before anything is sent.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from pickle import PicklingError
from typing import Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo

from guest_stdlib.channel import plain, values
from guest_stdlib.channel.budget import CodecLimits
from guest_stdlib.channel.errors import TooDeep, TooLarge, Unsendable
from guest_stdlib.channel.paths import step, too_large
from guest_stdlib.channel.values import (
    FEW,
    FRACTION_BITS,
    SCALARS,
    Member,
    Opaque,
    Record,
    flooded,
    names_zone,
    shape_of,
)

__all__ = ["Writer"]

_MICROSECOND: Final = timedelta(microseconds=1)
_TRIES: Final = 16  # a value that keeps being not plain after all is not looked at for ever


class Writer:
    """Writes the values of one event. `items` counts down; what is left belongs to the next event of the same frame."""

    __slots__ = ("_depth", "_exotic", "_lane", "_least", "_limits", "_names", "_receive", "_shapes", "_tries", "items")

    def __init__(
        self,
        limits: CodecLimits,
        *,
        items: int,
        lane: plain.Lane | None,
        names: Mapping[type, str],
        receive: Callable[[list[object]], list[object]],
    ) -> None:
        """`names` are the known classes' names; `receive` makes of trees the values that the other end will see."""
        self.items = items
        self._limits = limits
        self._depth = limits.depth
        self._lane = lane
        self._least = sys.maxsize if lane is None else lane.least
        self._tries = _TRIES
        self._names = names
        self._receive = receive
        self._exotic = False  # whether something was written that loses its identity on the way
        self._shapes: dict[type, tuple[str, tuple[str, ...]] | None] = {}

    def tree(self, value: Any) -> object:
        """The tree of a value. Unsendable, with the path that leads to the problem."""
        kind = type(value)
        if kind in SCALARS:
            return value
        write = _WRITE.get(kind)
        return write(self, value) if write is not None else self._other(value, kind)

    def spend(self, items: int) -> None:
        """Count items; TooLarge where none are left."""
        self.items -= items
        if self.items < 0:
            raise TooLarge(f"brings what crosses at once to more than {self._limits.items:,} items")

    def _enter(self, items: int) -> None:
        self.spend(items)
        self._depth -= 1
        if self._depth < 0:
            raise TooDeep(f"is nested more than {self._limits.depth} levels deep")

    # Containers

    def _list(self, value: list[Any]) -> object:
        if self._many(value) and (sent := self._plain(value)) is not None:
            return sent
        return self._elements(value, [])

    def _tuple(self, value: tuple[Any, ...]) -> object:
        if self._many(value) and (sent := self._plain(value)) is not None:
            return sent
        return self._elements(value, [values.TUPLE])

    def _elements(self, value: list[Any] | tuple[Any, ...], out: list[object]) -> list[object]:
        tags = len(out)
        self._enter(len(value) + tags)
        try:
            for item in value:
                out.append(item if type(item) in SCALARS else self.tree(item))  # noqa: PERF401 (its length is the path)
        except Unsendable as problem:
            problem.within(f"[{len(out) - tags}]", value)
            raise
        self._depth += 1
        return out

    def _dict(self, value: dict[Any, Any]) -> object:
        if self._many(value) and (sent := self._plain(value)) is not None:
            return sent
        if not SCALARS.issuperset(map(type, value)):
            return self._odd_dict(value)
        if len(value) > FEW and flooded(value):
            raise Unsendable("has too many keys with the same hash")
        out: dict[object, object] = {}
        key = None
        self._enter(2 * len(value))
        try:
            for key, item in value.items():
                out[key] = item if type(item) in SCALARS else self.tree(item)
        except Unsendable as problem:
            problem.within(step(key), value)
            raise
        self._depth += 1
        return out

    def _odd_dict(self, value: dict[Any, Any]) -> object:
        out = [values.DICT]
        key = None
        self._enter(1 + 2 * len(value))
        keys = self._distinct(value, "a key")
        try:
            for (key, item), written in zip(value.items(), keys, strict=True):  # noqa: B007 (the key is the path)
                out += (written, self.tree(item))
        except Unsendable as problem:
            problem.within(step(key), value)
            raise
        self._depth += 1
        return out

    def _set(self, value: set[Any] | frozenset[Any]) -> object:
        if self._many(value) and (sent := self._plain(value)) is not None:
            return sent
        self._enter(1 + len(value))
        out = [values.SET if type(value) is set else values.FROZENSET, *self._distinct(value, "an element")]
        self._depth += 1
        return out

    def _distinct(self, value: dict[Any, Any] | set[Any] | frozenset[Any], what: str) -> list[object]:
        """The trees of keys or elements, which must be hashable and different at the other end too."""
        outer, self._exotic = self._exotic, False
        out: list[object] = []
        try:
            for item in value:
                out.append(item if type(item) in SCALARS else self.tree(item))  # noqa: PERF401
        except Unsendable as problem:
            problem.within(f"[<{what.split()[1]}>]", value)
            raise
        if self._exotic:
            try:
                received = len(set(self._receive(out)))
            except TypeError:
                raise Unsendable(f"has {what} that could not be {what} at the other end") from None
            if received < len(out):
                raise Unsendable(f"has {what} that would look like another one at the other end")
        if flooded(value):
            raise Unsendable("has too many keys with the same hash")
        self._exotic |= outer
        return out

    def _many(self, value: Any) -> bool:
        """Whether the fast lane may pay, by a glance at the first element: a count would cost what it saves."""
        size = len(value)
        if 0 < size < self._least:
            kind = type(value)
            if kind is list or kind is tuple:
                first = value[0]
            elif kind is dict:
                first = next(iter(value.values()))
            else:
                return False
            if type(first) is dict:
                size *= 2 * len(first)
            elif type(first) is list or type(first) is tuple:
                size *= len(first)
        return size >= self._least

    def _plain(self, value: object) -> object | None:
        """The value by the fast lane, None where it does not go that way."""
        lane = self._lane
        if lane is None or self._tries <= 0:
            return None
        if (sent := lane.send(value, depth=self._depth, items=self.items - 2)) is None:
            self._tries -= 1
            return None
        body, items = sent
        if len(body) > self._limits.value_bytes:
            raise too_large(value, len(body), self._limits.value_bytes)
        self.spend(items + 2)
        return [lane.tag, body]

    # Everything else

    def _datetime(self, value: datetime) -> object:
        if (zone := self._zone_of(value)) is None:
            return self._opaque(value)
        self.spend(4)
        return [values.DATETIME, value.replace(tzinfo=None).isoformat(), value.fold, *zone]

    def _time(self, value: time) -> object:
        if (zone := self._zone_of(value)) is None:
            return self._opaque(value)
        self.spend(4)
        return [values.TIME, value.replace(tzinfo=None).isoformat(), value.fold, *zone]

    def _zone_of(self, value: datetime | time) -> tuple[object] | None:
        zone: tzinfo | None = value.tzinfo
        if zone is None:
            return (None,)
        if type(zone) is timezone:
            return (self._timezone(zone),)
        if type(zone) is ZoneInfo and isinstance(written := self._zone(zone), list) and written[0] is values.ZONE:
            return (written,)
        return None

    def _timezone(self, value: timezone) -> object:
        self.spend(3)
        offset, *name = value.__getinitargs__()  # type: ignore[attr-defined]
        return [values.TIMEZONE, offset // _MICROSECOND, *(name or (None,))]

    def _zone(self, value: ZoneInfo) -> object:
        try:
            value.__reduce__()
        except PicklingError:  # read from a file of the owner's: its key says nothing elsewhere
            return self._opaque(value)
        if not names_zone(value.key):
            return self._opaque(value)
        self.spend(2)
        self._exotic = True
        return [values.ZONE, value.key]

    def _timedelta(self, value: timedelta) -> object:
        self.spend(4)
        return [values.TIMEDELTA, value.days, value.seconds, value.microseconds]

    def _fraction(self, value: Fraction) -> object:
        self.spend(3)
        if max(value.numerator.bit_length(), value.denominator.bit_length()) > FRACTION_BITS:
            raise TooLarge(f"is a Fraction of more than {FRACTION_BITS:,} bits; send a float or a Decimal")
        return [values.FRACTION, value.numerator, value.denominator]

    def _range(self, value: range) -> object:
        self.spend(4)
        return [values.RANGE, value.start, value.stop, value.step]

    def _texts(self, tag: object, *texts: object) -> list[object]:
        self.spend(1 + len(texts))
        return [tag, *texts]

    def _stand_in(self, value: Opaque | Member) -> object:
        if isinstance(value, Opaque):
            return self._texts(values.OPAQUE, *_strings(value, value.type_name, value.text))
        return self._texts(values.MEMBER, *_strings(value, value.type_name, value.name))

    def _record(self, value: Record) -> object:
        self._exotic = True
        type_name, *names = _strings(value, value.type_name, *value.fields)
        return self._fields(value, type_name, zip(names, value.fields.values(), strict=True))

    def _fields(self, value: object, type_name: str, pairs: Iterable[tuple[str, object]]) -> object:
        out: dict[str, object] = {}
        name = ""
        self._enter(3)
        try:
            for name, item in pairs:
                self.spend(2)
                out[name] = item if type(item) in SCALARS else self.tree(item)
        except Unsendable as problem:
            problem.within(f".{name}", value)
            raise
        self._depth += 1
        return [values.RECORD, type_name, out]

    def _other(self, value: object, kind: type) -> object:
        self._exotic = True
        if issubclass(kind, enum.Enum):
            member: enum.Enum = value  # type: ignore[assignment]
            return self._texts(values.MEMBER, self._names.get(kind, kind.__name__), member._name_ or "")
        if kind not in self._shapes:
            self._shapes[kind] = shape_of(kind, self._names)
        if (shape := self._shapes[kind]) is None:
            return self._opaque(value)
        type_name, names = shape
        try:
            pairs = [(name, getattr(value, name)) for name in names]
        except AttributeError as error:
            raise Unsendable(f"is a {type_name} without its field {error.name!r}") from None
        return self._fields(value, type_name, pairs)

    def _opaque(self, value: object) -> object:
        self._exotic = True
        opaque = Opaque.of(value)
        return self._texts(values.OPAQUE, opaque.type_name, opaque.text)

    def _refuse(self, value: object) -> object:
        raise Unsendable(f"is a {type(value).__name__}, which is not copied; send bytes(...) of it")


def _strings(value: object, *parts: str) -> tuple[str, ...]:
    """The parts of a stand-in, which anyone can make of anything."""
    if any(type(part) is not str for part in parts):
        raise Unsendable(f"is a {type(value).__name__} with a name or text that is not a string")
    return parts


_WRITE: Final[Mapping[type, Callable[[Writer, Any], object]]] = {
    list: Writer._list,
    tuple: Writer._tuple,
    dict: Writer._dict,
    set: Writer._set,
    frozenset: Writer._set,
    datetime: Writer._datetime,
    date: lambda writer, value: writer._texts(values.DATE, value.isoformat()),
    time: Writer._time,
    timedelta: Writer._timedelta,
    timezone: Writer._timezone,
    ZoneInfo: Writer._zone,
    Decimal: lambda writer, value: writer._texts(values.DECIMAL, str(value)),
    Fraction: Writer._fraction,
    UUID: lambda writer, value: writer._texts(values.UUID, value.bytes),
    complex: lambda writer, value: writer._texts(values.COMPLEX, value.real, value.imag),
    range: Writer._range,
    Opaque: Writer._stand_in,
    Member: Writer._stand_in,
    Record: Writer._record,
    bytearray: Writer._refuse,
    memoryview: Writer._refuse,
}
