"""The fast lane: large plain values go through C code of the standard library instead of item by item through Python.

Ten thousand rows of five fields, written in the guest: 180 ms by msgpack's Python half, 98 ms by ours, 35 ms this way.

Rules and reasons:

- Guest to host it is JSON, which can say nothing that hurts. Host to guest it is `marshal`, which is faster and knows
  more types, but whose reader trusts its input: so the guest may read it, the host never does.
- The lane carries a value exactly, or does not take it. `json` would turn tuples into lists and keys into strings,
  `marshal` would turn a bytearray into bytes and would take code objects. So `survey` looks first, at the exact type of
  everything.
- `survey` goes level by level, since `set(map(type, level))` runs at C speed and a loop does not. It counts before it
  collects, so a cycle or a crafted doubling ends at the budget.
- JSON must not meet Python's limit on the digits of an integer, which the process on either end may have changed:
  integers of up to 640 digits are never refused, so that is the limit here. Longer ones make the value go the other
  way.
- A value written by `marshal` must not hold the same list, dict or set twice: it would arrive with the two still one.
"""

from __future__ import annotations

import json
import marshal
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, NamedTuple

from guest_stdlib.channel import values
from guest_stdlib.channel.errors import PeerError

__all__ = ["JSON_LANE", "MARSHAL_LANE", "Lane", "Survey", "read_json", "read_marshal", "survey"]

_DIGITS: Final = 640  # sys.int_info.str_digits_check_threshold: the lowest limit that a process can set
_NOTHING: Final[type] = type(None)


class Survey(NamedTuple):
    """What a plain value holds: `items` as both ends count them, `pairs` in its dicts, `depth` levels of containers."""

    items: int
    pairs: int
    depth: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """Which types a lane carries exactly, and from how many items on it pays.

    `shared` says whether a part that occurs twice arrives as two. `write` takes what was surveyed; None if it cannot
    after all.
    """

    tag: object
    least: int
    scalars: frozenset[type]
    keys: frozenset[type]
    containers: frozenset[type]
    shared: bool
    write: Callable[[object], bytes | None]

    def send(self, value: object, *, depth: int, items: int) -> tuple[bytes, int] | None:
        """The value's bytes and items; None where the lane does not carry it exactly, or not within these limits."""
        found = survey(value, self, depth=depth, items=items)
        if found is None or (body := self.write(value)) is None:
            return None
        return body, found.items


def survey(value: object, lane: Lane, *, depth: int, items: int) -> Survey | None:
    """What `value` holds; None if the lane does not carry it exactly, or if it passes one of the limits."""
    level: list[Any] = [value]
    count = pairs = levels = 0
    seen: set[int] = set()
    met = 0
    while True:
        kinds = set(map(type, level))
        here = kinds & lane.containers
        if not kinds - here <= lane.scalars:
            return None
        if not here:
            return Survey(count, pairs, levels)
        levels += 1
        if levels > depth:
            return None
        below: list[Any] = []
        for kind in here:
            group: list[Any] = level if len(kinds) == 1 else [item for item in level if type(item) is kind]
            size = sum(map(len, group))
            if kind is dict:
                pairs += size
                size *= 2
            count += size + len(group)
            if count > items:
                return None
            if not lane.shared and kind in _MUTABLE:
                met += len(group)
                seen.update(map(id, group))
                if len(seen) < met:
                    return None
            if kind is dict:
                keys = set(map(type, chain.from_iterable(group)))
                if not keys <= lane.keys:
                    return None
                below.extend(chain.from_iterable(map(dict.values, group)))
            else:
                below.extend(chain.from_iterable(group))
        level = below


_MUTABLE: Final = frozenset((list, dict, set))
_encode: Final = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode


def write_json(value: object) -> bytes | None:
    """A surveyed value as JSON; None where it has an integer of over 640 digits."""
    allowed = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(_DIGITS)
    try:
        # Not in ASCII: two lone surrogates that happen to make a pair would come back as one character.
        return _encode(value).encode("utf-8", "surrogatepass")
    except ValueError:
        return None
    finally:
        sys.set_int_max_str_digits(allowed)


def write_marshal(value: Any) -> bytes:
    """A surveyed value in the form that every Python from 3.4 on reads."""
    return marshal.dumps(value, 4)


JSON_LANE: Final = Lane(
    tag=values.JSON,
    least=48,
    scalars=frozenset((_NOTHING, bool, int, float, str)),
    keys=frozenset((str,)),
    containers=frozenset((list, dict)),
    shared=True,
    write=write_json,
)
MARSHAL_LANE: Final = Lane(
    tag=values.MARSHAL,
    least=24,
    scalars=frozenset((_NOTHING, bool, int, float, complex, str, bytes)),
    keys=frozenset((_NOTHING, bool, int, float, str, bytes)),
    containers=frozenset((list, dict, tuple, set, frozenset)),
    shared=False,
    write=write_marshal,
)


_OPENING_ITEMS: Final = b"[{,:"
_NOT_OPENING_ITEMS: Final = bytes(byte for byte in range(256) if byte not in _OPENING_ITEMS)
_DIGITS_AS_ZERO: Final = bytes(48 if 48 <= byte < 58 else 32 for byte in range(256))
_LONG_NUMBER: Final = b"0" * (_DIGITS + 1)
# Possessive, and content with a string that does not end: so it takes linear time on anything.
_STRINGS: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+\\?"?', re.DOTALL)
_SPACES_AS_ONE: Final = bytes(32 if byte in b"\t\n\r" else byte for byte in range(256))


def _possible_pairs(body: bytes) -> int:
    spaced = body.translate(_SPACES_AS_ONE)
    return spaced.count(b'":') + spaced.count(b" :")


def _without_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise PeerError("JSON in the frame has a dict with the same key twice")
    return result


_decode: Final = json.JSONDecoder().decode
_decode_strictly: Final = json.JSONDecoder(object_pairs_hook=_without_duplicates).decode


def read_json(body: bytes, *, depth: int, items: int) -> tuple[object, int]:
    """The value and its number of items. PeerError for anything that `write_json` within these limits does not write.

    What it costs is settled before anything is made: items and digits are counted in the bytes. Only where strings hold
    enough commas or digits to matter are they taken out first.
    """
    if len(body.translate(None, _NOT_OPENING_ITEMS)) > items or _LONG_NUMBER in body.translate(_DIGITS_AS_ZERO):
        bare = _STRINGS.sub(b"", body)
        if len(bare.translate(None, _NOT_OPENING_ITEMS)) > items:
            raise PeerError(f"JSON in the frame holds more than {items:,} items")
        if _LONG_NUMBER in bare.translate(_DIGITS_AS_ZERO):
            raise PeerError(f"JSON in the frame has a number of more than {_DIGITS} digits")
    try:
        text = body.decode("utf-8", "surrogatepass")
        value = _decode(text)
        found = survey(value, JSON_LANE, depth=depth, items=2 * items)
        if found is None:
            raise PeerError(f"JSON in the frame nests more than {depth} levels deep")
        # As many colons as pairs: then no key came twice. Where strings have some too, those that may follow a key.
        if body.count(b":") != found.pairs and _possible_pairs(body) != found.pairs:
            value = _decode_strictly(text)
    except RecursionError:
        raise PeerError(f"JSON in the frame nests more than {depth} levels deep") from None
    except ValueError as error:
        raise PeerError(f"JSON in the frame is broken: {error}") from None
    return value, found.items


def read_marshal(body: bytes) -> object:
    """Only in the guest, which trusts its host: `marshal` may crash on bytes that it did not write."""
    return marshal.loads(body)  # noqa: S302 (never on the host)
