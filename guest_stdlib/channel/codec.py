"""Events to frames and back.

A frame is a msgpack array of events; layout.py says how an event lies in it, values.py how a value does, budget.py what
is allowed.

Blame: a value that cannot cross raises `Unsendable`, with the path to it. An event with a field of the wrong type is a
mistake of this end, `LocalError`. For bytes that are not exactly a frame there is one error, `PeerError`, whatever is
wrong with them.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final, NamedTuple

from guest_stdlib.channel import plain
from guest_stdlib.channel.budget import LARGEST, CodecLimits, weigh
from guest_stdlib.channel.errors import PeerError, TooLarge
from guest_stdlib.channel.events import Event, Rest
from guest_stdlib.channel.hot import quick_event, quick_tree
from guest_stdlib.channel.layout import EVENT_ITEMS, oversize, read_event, tree_of
from guest_stdlib.channel.packing import FASTEST, Packing
from guest_stdlib.channel.reading import Reader
from guest_stdlib.channel.writing import Writer

__all__ = ["Codec", "End", "Packed"]


class End(enum.Enum):
    """Where a codec stands: it decides which fast lane is written and whether `marshal` is read.

    `STORE` is for bytes that outlive the process: no lane is written, and none is trusted when they are read.
    """

    HOST = enum.auto()
    GUEST = enum.auto()
    STORE = enum.auto()


_LANES: Final = {End.HOST: plain.MARSHAL_LANE, End.GUEST: plain.JSON_LANE, End.STORE: None}


_ROOM: Final = 8  # in msgpack a float takes nine bytes, where JSON may take "1.0,"


class Packed(NamedTuple):
    """One event, ready to be put into a frame: its pieces, their bytes together, and the items that they count for."""

    pieces: list[bytes]
    size: int
    items: int


_REST: Final = Packed([b"\x91\x0c"], 2, EVENT_ITEMS)  # almost every frame from a guest ends so


def _still() -> int:
    """Time that does not pass, where nobody gave a clock."""
    return 0


class Codec:
    """Encodes and decodes frames within `limits`. `records` maps names to the dataclasses, namedtuples and enums to
    rebuild.

    The default end is the host, which trusts nothing that it decodes. `clock` is the thread's processor time in
    nanoseconds; it bounds the time that hostile keys of dicts and sets may cost.
    """

    def __init__(
        self,
        limits: CodecLimits | None = None,
        records: Mapping[str, type] = MappingProxyType({}),
        *,
        end: End = End.HOST,
        packing: Packing = FASTEST,
        clock: Callable[[], int] | None = None,
    ) -> None:
        self._clock = clock or _still
        self.limits = limits or CodecLimits()
        self._packing = packing
        self._lane = _LANES[end]
        self._trusting = end is End.GUEST
        self._known: dict[str, type] = {}
        self._names: dict[type, str] = {}
        self.know(records)

    def know(self, records: Mapping[str, type]) -> None:
        """Replace the known classes."""
        self._known = dict(records)
        self._names = {cls: name for name, cls in records.items()}

    def stored(self) -> Codec:
        """The codec for what outlives the process, with the same classes, and room for what the lanes made small."""
        limits = replace(
            self.limits,
            frame_bytes=min(_ROOM * self.limits.frame_bytes, LARGEST),
            value_bytes=min(_ROOM * self.limits.value_bytes, LARGEST),
            items=min(_ROOM * self.limits.items, LARGEST),
        )
        return Codec(limits, self._known, end=End.STORE, packing=self._packing, clock=self._clock)

    def encode(self, events: Iterable[Event]) -> bytes:
        """One frame. Unsendable or LocalError; nothing was made then."""
        packed: list[Packed] = []
        left = self.limits.items
        for event in events:
            packed.append(self.pack(event, items=left))
            left -= packed[-1].items
        return self.frame(packed)

    def pack(self, event: Event, *, items: int | None = None) -> Packed:
        """One event of a frame in which `items` are left; without that, of a frame of its own."""
        left = self.limits.items if items is None else items
        if left < EVENT_ITEMS:
            kind = type(event).__name__
            raise TooLarge(f"this {kind} brings what crosses at once to more than {self.limits.items:,} items")
        if type(event) is Rest and event.wake is None:
            return _REST
        used = EVENT_ITEMS
        if (tree := quick_tree(event)) is None:
            writer = Writer(self.limits, items=left - used, lane=self._lane, names=self._names, receive=self._receive)
            tree = tree_of(event, writer)
            used = left - writer.items
        pieces: list[bytes] = []
        self._packing.pack(tree, pieces)
        size = sum(map(len, pieces))
        if size > self.limits.value_bytes:
            raise oversize(event, size, self.limits.value_bytes)
        return Packed(pieces, size, used)

    @staticmethod
    def frame(packed: Sequence[Packed]) -> bytes:
        """Join packed events."""
        count = len(packed)
        pieces = [bytes((0x90 + count,)) if count < 16 else b"\xdd" + count.to_bytes(4)]
        for event in packed:
            pieces += event.pieces
        return b"".join(pieces)

    def decode(self, frame: bytes) -> tuple[Event, ...]:
        """The events of a frame. PeerError for anything that `encode` does not make."""
        try:
            return self._events(frame)
        except PeerError:
            raise
        except Exception as error:  # whatever msgpack, a constructor or an event has against it
            raise PeerError(f"the frame cannot be read: {str(error)[:200] or type(error).__name__}") from error

    def _events(self, frame: bytes) -> tuple[Event, ...]:
        items = 0 if self._trusting else weigh(frame, self.limits)
        left = self.limits.items - items
        reader = Reader(self._known, depth=self.limits.depth, items=left, trusting=self._trusting, clock=self._clock)
        tree = self._packing.unpack(frame, reader)
        reader.finish()
        if type(tree) is not list:
            raise PeerError("the frame is not a list of events")
        return tuple([quick_event(items) or read_event(items) for items in tree])

    def _receive(self, trees: list[object]) -> list[object]:
        """What the other end will see, if it knows no classes."""
        pieces: list[bytes] = []
        self._packing.pack(trees, pieces)
        reader = Reader({}, depth=self.limits.depth, items=self.limits.items, trusting=True, clock=_still)
        return self._packing.unpack(b"".join(pieces), reader)  # type: ignore[return-value]
