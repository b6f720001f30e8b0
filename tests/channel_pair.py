"""Both ends of a channel wired together in memory, and what the channel's tests compare with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgpack  # type: ignore[import-untyped]
import msgpack.fallback  # type: ignore[import-untyped]

from guest_stdlib.channel import (
    NEED_DATA,
    Call,
    Codec,
    CodecLimits,
    Done,
    End,
    Event,
    Failure,
    FromGuest,
    FromHost,
    GuestChannel,
    HostChannel,
    Open,
    Output,
    Rest,
    Return,
    Run,
    Via,
)
from guest_stdlib.channel.packing import FASTEST, Lean, Msgpack, Packing, tag

PACKINGS: Final[Mapping[str, Packing]] = {
    "msgpack in C": Msgpack(msgpack),
    "msgpack in Python": Msgpack(msgpack.fallback),
    "lean": Lean(),
}

FAILURE: Final = Failure(kind="script", type="ValueError", message="no")


class Pair:
    """A host and a guest. What one sends, the other receives at once."""

    def __init__(self, limits: CodecLimits | None = None, *, packing: Packing = FASTEST) -> None:
        self.host = HostChannel(Codec(limits, packing=packing))
        self.guest = GuestChannel(packing=packing)

    def tell(self, *events: FromHost) -> list[Event]:
        """The host takes its turn; what the guest hears."""
        self.guest.receive(self.host.send(*events))
        return drain(self.guest)

    def reply(self, *events: FromGuest, via: Via = Via.STEP) -> list[Event]:
        """The guest takes its turn; what the host hears."""
        self.host.receive(self.guest.send(*events, via=via), via)
        return drain(self.host)

    def emit(self, text: str) -> list[Event]:
        """The guest writes something."""
        self.host.receive(self.guest.emit(Output(stream="stdout", text=text)), Via.EMIT)
        return drain(self.host)

    def ask(self) -> list[Event]:
        """The guest asks why it was interrupted."""
        self.host.receive(self.guest.ask(), Via.EXCHANGE)
        return drain(self.host)

    # Where most tests begin

    def opened(self) -> Pair:
        """No cell runs."""
        self.tell(Open())
        self.reply(Rest())
        return self

    def running(self) -> Pair:
        """Cell 1 runs."""
        self.opened().tell(Run(cell=1, source="..."))
        return self

    def waiting(self, *, via: Via = Via.STEP) -> Pair:
        """Cell 1 waits for call 1."""
        self.running().reply(Call(call=1, path="contacts.find", args=("Sarah",)), Rest(), via=via)
        return self

    def ended(self) -> Pair:
        """Cell 1 has ended, having made call 1."""
        self.waiting().tell(Return(call=1, value=None))
        self.reply(Done(cell=1), Rest())
        return self


def drain(channel: HostChannel | GuestChannel) -> list[Event]:
    """All events that were received."""
    events: list[Event] = []
    while (event := channel.next_event()) is not NEED_DATA:
        events.append(event)
    return events


def ends(limits: CodecLimits | None = None, packing: Packing = FASTEST) -> dict[str, tuple[Codec, Codec]]:
    """Sender and receiver for each direction."""
    host, guest = Codec(limits, packing=packing), Codec(limits, end=End.GUEST, packing=packing)
    return {"to the guest": (host, guest), "to the host": (guest, host)}


def frame(*events: object, extra: bytes = b"") -> bytes:
    """A frame as a hostile guest may make it: any tree at all, with `extra` behind it."""
    out: list[bytes] = []
    Lean().pack(list(events), out)
    return b"".join(out) + extra


def returned(tree: object) -> bytes:
    """A frame with a `Done` whose value is this tree."""
    return frame([9, 1, tree], [12])


def tagged(code: int, *parts: object) -> list[object]:
    """A tagged list."""
    return [tag(code), *parts]


def exact(value: object) -> object:
    """A form of a value in which nothing that differs is equal: types, the order of dicts, -0.0, nan, folds, zones."""
    kind = type(value)
    match value:
        case list() | tuple():
            return kind, [exact(item) for item in value]
        case dict():
            return kind, [(exact(key), exact(item)) for key, item in value.items()]
        case set() | frozenset():
            return kind, sorted((exact(item) for item in value), key=repr)
        case int():
            return kind, hex(value)
        case _:
            return kind, repr(value)
