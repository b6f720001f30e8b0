"""From what was unpacked to values: the other direction of writing.py, and the one where the bytes may be hostile.

Rules and reasons:

- Nothing is believed: each form is checked for its number of parts, and each part for its exact type. Any error that
  building a value raises is the peer's.
- A tag that does not open a list must not reach anybody as a value. Tags are counted when they are read and when they
  are used.
- Two equal keys in a dict, or elements in a set, cannot come from a real one, and are refused.
- A known class gets its fields through its constructor. If that refuses them, it was the script that made a wrong
  record, not a broken peer that sent it: so what arrives is a `Record` that says what the problem is, and whoever
  checks arguments can tell the script.
- What is built may not cost more than its bytes suggest: fractions are bounded (reducing them is quadratic), so are
  dicts whose keys were made to collide, and a time zone is looked up only under a name that looks like one.
"""

from __future__ import annotations

import enum
import functools
import operator
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo

from guest_stdlib.channel import plain, values
from guest_stdlib.channel.errors import PeerError
from guest_stdlib.channel.packing import BIG_INTEGER, Tag, tag
from guest_stdlib.channel.values import FEW, FRACTION_BITS, Member, Opaque, Record, flooded, guessable, names_zone

__all__ = ["Reader"]

_CHUNK: Final = 256  # keys between two looks at the time
_HASHING_AT_ALL: Final = 50_000_000  # nanoseconds of processor time for a frame,
_HASHING_EACH: Final = 1_000  # and for each of its keys; honest ones need a tenth
_UNKNOWN_ZONES: Final = 100  # in one frame: each costs a search of the disk


class Reader:
    """Builds the values of one frame. See `packing.Builder` for who calls it."""

    __slots__ = ("_clock", "_depth", "_hashed", "_hashing", "_items", "_known", "_open_tags", "_trusting", "_zones")

    def __init__(
        self, known: Mapping[str, type], *, depth: int, items: int, trusting: bool, clock: Callable[[], int]
    ) -> None:
        """`known` are the classes to rebuild, `items` bounds what JSON may add, `trusting` allows `marshal`. `clock` is
        this thread's processor time in nanoseconds.
        """
        self._clock = clock
        self._zones = 0  # unknown ones
        self._known = known
        self._depth = depth
        self._items = items
        self._trusting = trusting
        self._open_tags = 0
        self._hashed = self._hashing = 0  # guessable keys so far, and nanoseconds for them

    def on_list(self, items: list[Any]) -> object:
        """A list, or what its tag says it is."""
        if items and type(items[0]) is Tag:
            self._open_tags -= 1
            return _BUILD[items[0]](self, items)
        return items

    def on_pairs(self, pairs: list[tuple[object, object]]) -> object:
        """A dict."""
        if len(pairs) > FEW:
            self._refuse_flood([key for key, _ in pairs])
        try:
            result = dict(pairs)
        except TypeError as error:
            raise PeerError(f"a dict in the frame has a key that is none: {error}") from None
        if len(result) < len(pairs):
            raise PeerError("a dict in the frame has the same key twice")
        return result

    def on_extension(self, code: int, body: bytes) -> object:
        """A tag, which is an extension without a body."""
        if body or code not in _CODES:
            raise PeerError(f"an extension in the frame is none of those in use (type {code}, {len(body):,} bytes)")
        self._open_tags += 1
        return tag(code)

    def finish(self) -> None:
        """Every tag opened a list; or one of them stands among the values."""
        if self._open_tags:
            raise PeerError("a tag in the frame stands where a value is expected")

    def _refuse_flood(self, keys: list[object]) -> None:
        """Refuse keys that were made to collide. Hashes of strings are secret; those of numbers and tuples are not.

        Equal hashes are counted, a few keys at a time first. But keys may also share a long chain of probes with hashes
        that all differ, and nothing tells that but the time it takes; so they are put into a set by and by, and the
        frame has only so much processor time for that. No limit of the guest's could end it later: it happens in C.
        """
        if self._trusting or len(keys) <= FEW or not guessable(keys):
            return
        chunks = [keys[at : at + _CHUNK] for at in range(0, len(keys), _CHUNK)]
        try:
            if any(map(flooded, chunks)):
                raise PeerError("keys in the frame were made to collide")
            started, seen = self._clock(), set[object]()
            for chunk in chunks:
                seen.update(chunk)
                self._hashed += len(chunk)
                spent = self._hashing + self._clock() - started
                if spent > _HASHING_AT_ALL + self._hashed * _HASHING_EACH:
                    raise PeerError("keys in the frame were made to collide")
            self._hashing = spent
            if flooded(keys):
                raise PeerError("keys in the frame were made to collide")
        except TypeError as error:
            raise PeerError(f"a key in the frame is none: {error}") from None

    # One method for each tag. `items[0]` is the tag.

    def _set(self, items: list[Any]) -> object:
        elements = items[1:]
        self._refuse_flood(elements)
        result = set(elements)
        if len(result) < len(elements):
            raise PeerError("a set in the frame has the same element twice")
        return frozenset(result) if items[0] is values.FROZENSET else result

    def _dict(self, items: list[Any]) -> object:
        return self.on_pairs(list(zip(items[1::2], items[2::2], strict=True)))

    def _record(self, items: list[Any]) -> object:
        _, type_name, fields = _exactly(items, str, dict)
        if any(type(name) is not str for name in fields):
            raise PeerError("a record in the frame has a field whose name is no string")
        problem = None
        cls = self._known.get(type_name)
        if cls is not None and not issubclass(cls, enum.Enum):
            declared = getattr(cls, "__dataclass_fields__", {})
            given = {name: value for name, value in fields.items() if name not in declared or declared[name].init}
            try:
                return cls(**given)
            except Exception as error:
                problem = str(error) or type(error).__name__
        return Record(type_name=type_name, fields=fields, problem=problem)

    def _member(self, items: list[Any]) -> object:
        _, type_name, name = _exactly(items, str, str)
        cls = self._known.get(type_name)
        if cls is not None and issubclass(cls, enum.Enum):
            if name in cls.__members__:
                return cls[name]
            parts = name.split("|") if name else []
            if issubclass(cls, enum.Flag) and all(part in cls.__members__ for part in parts):
                return functools.reduce(operator.or_, (cls[part] for part in parts), cls(0))
        return Member(type_name=type_name, name=name)

    def _opaque(self, items: list[Any]) -> object:
        _, type_name, text = _exactly(items, str, str)
        return Opaque(type_name=type_name, text=text)

    def _datetime(self, items: list[Any]) -> object:
        return self._moment(items, datetime)

    def _time(self, items: list[Any]) -> object:
        return self._moment(items, time)

    def _moment(self, items: list[Any], kind: type[datetime | time]) -> object:
        zone: Any = None
        if len(items) == 4 and type(items[3]) in (timezone, ZoneInfo, Opaque):
            zone = items.pop()
            items.append(None)
        _, text, fold, _ = _exactly(items, str, int, type(None))
        moment = kind.fromisoformat(text)
        if moment.tzinfo is not None:
            raise PeerError("a date or time in the frame has an offset in its text")
        if type(zone) is Opaque:
            return Opaque(type_name=f"datetime.{kind.__name__}", text=f"{moment.isoformat()} in {zone.text}")
        return moment.replace(tzinfo=zone, fold=fold)

    def _timezone(self, items: list[Any]) -> object:
        if len(items) == 3 and items[2] is None:
            return timezone(timedelta(microseconds=_exactly(items[:2], int)[1]))
        _, offset, name = _exactly(items, int, str)
        return timezone(timedelta(microseconds=offset), name)

    def _zone(self, items: list[Any]) -> object:
        _, key = _exactly(items, str)
        if not names_zone(key):
            raise PeerError("a time zone in the frame has a name that is none")
        try:
            return ZoneInfo(key)
        except KeyError:  # the two ends may have different editions of the time zones
            self._zones += 1
            if self._zones > _UNKNOWN_ZONES and not self._trusting:
                raise PeerError(f"the frame has more than {_UNKNOWN_ZONES} unknown time zones") from None
            return Opaque(type_name="zoneinfo.ZoneInfo", text=key)

    def _fraction(self, items: list[Any]) -> object:
        _, numerator, denominator = _exactly(items, int, int)
        if max(numerator.bit_length(), denominator.bit_length()) > FRACTION_BITS:
            raise PeerError(f"a fraction in the frame has more than {FRACTION_BITS:,} bits")
        return Fraction(numerator, denominator)

    def _json(self, items: list[Any]) -> object:
        _, body = _exactly(items, bytes)
        value, count = plain.read_json(body, depth=self._depth, items=self._items)
        self._items -= count
        return value

    def _marshal(self, items: list[Any]) -> object:
        if not self._trusting:
            raise PeerError("the frame holds marshal, which is never read from a guest")
        return plain.read_marshal(_exactly(items, bytes)[1])


def _exactly(items: list[Any], *kinds: type) -> list[Any]:
    """The tag and its parts, which are as many as `kinds` and of exactly these types."""
    if tuple(map(type, items[1:])) != kinds:
        expected = ", ".join(kind.__name__ for kind in kinds)
        raise PeerError(f"a tagged list in the frame (tag {items[0].code}) has other parts than {expected}")
    return items


_BUILD: Final[Mapping[object, Callable[[Reader, list[Any]], object]]] = {
    BIG_INTEGER: lambda _, items: int.from_bytes(_exactly(items, bytes)[1], "big", signed=True),
    values.TUPLE: lambda _, items: tuple(items[1:]),
    values.SET: Reader._set,
    values.FROZENSET: Reader._set,
    values.DICT: Reader._dict,
    values.RECORD: Reader._record,
    values.MEMBER: Reader._member,
    values.OPAQUE: Reader._opaque,
    values.DATETIME: Reader._datetime,
    values.DATE: lambda _, items: date.fromisoformat(_exactly(items, str)[1]),
    values.TIME: Reader._time,
    values.TIMEDELTA: lambda _, items: timedelta(*_exactly(items, int, int, int)[1:]),
    values.TIMEZONE: Reader._timezone,
    values.ZONE: Reader._zone,
    values.DECIMAL: lambda _, items: Decimal(_exactly(items, str)[1]),
    values.FRACTION: Reader._fraction,
    values.UUID: lambda _, items: UUID(bytes=_exactly(items, bytes)[1]),
    values.COMPLEX: lambda _, items: complex(*_exactly(items, float, float)[1:]),
    values.RANGE: lambda _, items: range(*_exactly(items, int, int, int)[1:]),
    values.JSON: Reader._json,
    values.MARSHAL: Reader._marshal,
}
_CODES: Final = frozenset(range(1, 1 + len(_BUILD)))
