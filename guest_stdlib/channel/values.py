"""What crosses besides the plain types, and how each is written.

Most values are their own msgpack form. The others are lists that open with a tag:

    tag             then
    BIG_INTEGER     the bytes of a signed integer beyond 64 bits
    TUPLE, SET, FROZENSET   the elements
    DICT            key, value, key, value, ... where a key is not None, bool, int, float, str or bytes
    RECORD          class name, dict of fields           a dataclass, a namedtuple
    MEMBER          class name, member name              an enum
    OPAQUE          class name, text                     anything else
    DATETIME, TIME  ISO text without offset, fold, time zone or None
    DATE            ISO text
    TIMEDELTA       days, seconds, microseconds
    TIMEZONE        offset in microseconds, name or None
    ZONE            key
    DECIMAL         text
    FRACTION        numerator, denominator
    UUID            16 bytes
    COMPLEX         real, imaginary
    RANGE           start, stop, step
    JSON, MARSHAL   a large plain value, see plain.py

Subclasses are not what they derive from: an OrderedDict, an IntEnum or a str subclass is never sent as a dict, int or
str.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, Self

from guest_stdlib.channel.packing import tag

__all__ = ["Member", "Opaque", "Record", "flooded", "guessable", "names_zone", "shape_of"]

TUPLE, SET, FROZENSET, DICT, RECORD, MEMBER, OPAQUE = (tag(code) for code in range(2, 9))
DATETIME, DATE, TIME, TIMEDELTA, TIMEZONE, ZONE = (tag(code) for code in range(9, 15))
DECIMAL, FRACTION, UUID, COMPLEX, RANGE = (tag(code) for code in range(15, 20))
JSON, MARSHAL = (tag(code) for code in range(20, 22))

SCALARS: Final = frozenset((type(None), bool, int, float, str, bytes))
"""Types whose values are their own packed form, in a list and as a key of a dict."""

OPAQUE_CHARACTERS: Final = 1000
_ADDRESS: Final = re.compile(r" at 0x[0-9A-Fa-f]+")
FRACTION_BITS: Final = 1 << 14  # reducing a fraction takes time quadratic in its size


@dataclass(frozen=True, slots=True, kw_only=True)
class Opaque:
    """What arrives in place of a value that cannot cross: its type, and its repr without addresses, shortened."""

    type_name: str
    text: str

    @classmethod
    def of(cls, value: object) -> Self:
        """What arrives in place of `value`."""
        kind = type(value)
        module = getattr(kind, "__module__", "builtins")
        name = kind.__qualname__ if module in ("builtins", "__main__") else f"{module}.{kind.__qualname__}"
        try:
            text = repr(value)
        except Exception as error:
            text = f"<{name} whose repr raised {type(error).__name__}>"
        # An address of this process is nobody's business on the other side, and would make runs differ.
        text = _ADDRESS.sub("", text[: 2 * OPAQUE_CHARACTERS])
        if len(text) > OPAQUE_CHARACTERS:
            text = text[: OPAQUE_CHARACTERS - 3] + "..."
        return cls(type_name=name, text=text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """An enum member of a class that this end does not know."""

    type_name: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A dataclass or namedtuple whose class this end does not know, or whose class refused the fields: `problem` says
    why.

    The fields are attributes too. Equality and hash are by name and fields.
    """

    type_name: str
    fields: Mapping[str, object] = field(default_factory=dict)
    problem: str | None = None

    def __getattr__(self, name: str) -> object:
        if name not in Record.__slots__ and not name.startswith("__") and name in self.fields:
            return self.fields[name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}", name=name, obj=self)

    def __hash__(self) -> int:
        return hash((self.type_name, frozenset(self.fields.items())))


FEW: Final = 64
"""Up to here, keys are not looked at for collisions."""

_UNGUESSABLE: Final = frozenset((str, bytes))


def guessable(keys: Collection[object]) -> bool:
    """Whether there are keys whose hashes can be known beforehand."""
    return not _UNGUESSABLE.issuperset(map(type, keys))


def flooded(keys: Collection[object]) -> bool:
    """Whether the keys were made to collide: more than 64 share a hash, so that a dict of them costs quadratic time.

    Hashes of strings are secret, those of numbers and tuples are not. TypeError for an unhashable key.
    """
    if len(keys) <= FEW or not guessable(keys):
        return False
    return max(Counter(map(hash, keys)).values()) > FEW


_ZONE_KEY: Final = re.compile(r"[A-Za-z0-9_+-]{1,20}(/[A-Za-z0-9_+-]{1,20}){0,3}")


def names_zone(key: str) -> bool:
    """Whether this may be the name of a time zone, and of no other file."""
    return _ZONE_KEY.fullmatch(key) is not None


_BUILTIN: Final = (BaseException, bool, int, float, complex, str, bytes, bytearray, list, dict, set, frozenset)


def shape_of(kind: type, names: Mapping[type, str]) -> tuple[str, tuple[str, ...]] | None:
    """The name and the fields of a dataclass or namedtuple, None for other classes."""
    if issubclass(kind, tuple):
        fields = getattr(kind, "_fields", None)
        if type(fields) is not tuple or any(type(name) is not str for name in fields):
            return None
    elif issubclass(kind, _BUILTIN) or not dataclasses.is_dataclass(kind):
        return None
    else:
        fields = tuple(declared.name for declared in dataclasses.fields(kind))
    return names.get(kind, kind.__name__), fields
