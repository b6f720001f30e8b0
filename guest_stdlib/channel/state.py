"""The two ends of a channel.

Rules and reasons:

- Events in, bytes out, and the reverse. No I/O, no time, no threads: whoever holds a channel moves the bytes.
- Out of turn by us is `LocalError` and changes nothing. Out of turn by the peer is `PeerError`; then the channel is
  broken for good, and nothing of that frame is delivered. turns.py knows whose turn it is.
- An event that could not be packed left no trace, so an answer that cannot cross can be sent as a `Throw` instead.
- What the guest may put into one frame is limited together, since the host makes all of it at once. The end of a cell
  must always fit behind the calls before it, so calls leave room for it. What the host sends is limited value by value:
  the guest trusts it, and has a limit of memory.
- Output and the question after an interrupt are frames of their own, which pass by what is queued.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final, Self

from guest_stdlib.channel.budget import CodecLimits
from guest_stdlib.channel.codec import Codec, End, Packed
from guest_stdlib.channel.errors import Damaged, LocalError, PeerError, TooLarge
from guest_stdlib.channel.events import (
    NEED_DATA,
    Abandon,
    Call,
    Done,
    Event,
    Failed,
    FromGuest,
    FromHost,
    Interrupted,
    NeedData,
    Open,
    Output,
)
from guest_stdlib.channel.packing import FASTEST, Packing
from guest_stdlib.channel.turns import TRANSITIONS, Ledger, Phase, Via

__all__ = ["GuestChannel", "HostChannel"]


class _Channel:
    """What both ends have in common. `_keep` says whether open calls are kept with their arguments."""

    _peer: str
    _keep: bool

    def __init__(self, codec: Codec) -> None:
        self._codec = codec
        self._ledger = Ledger()
        self._queue: list[Packed] = []
        self._size = self._items = 0  # of what is queued
        self._inbox: deque[Event] = deque()

    @property
    def phase(self) -> Phase:
        """Where the session stands."""
        return self._ledger.phase

    @property
    def cell(self) -> int | None:
        """The number of the cell that runs or waits, None if there is none."""
        return self._ledger.cell

    @property
    def limits(self) -> CodecLimits:
        """The limits of what may be sent."""
        return self._codec.limits

    def know(self, records: Mapping[str, type]) -> None:
        """Set the classes that are rebuilt when values arrive, by name."""
        self._codec.know(records)

    def _pack(self, event: Event) -> Packed:
        return self._codec.pack(event)

    def _say(self, event: Event, via: Via) -> None:
        """Pack an event and write it down; or raise, and nothing has changed."""
        if (refusal := self._ledger.refusal(event, via)) is not None:
            raise LocalError(f"{type(event).__name__} cannot be sent {refusal}")
        packed = self._pack(event)
        self._ledger.enter(event, keep=self._keep)
        self._queue.append(packed)
        self._size += packed.size
        self._items += packed.items

    def _finish(self, events: tuple[Event, ...], via: Via) -> bytes:
        """Say the events and end the frame; or raise, and nothing has changed."""
        phase = self._ledger.phase
        for event in events:
            if type(event) not in TRANSITIONS[phase]:
                break  # it will be refused
            phase = TRANSITIONS[phase][type(event)]
        else:
            if via not in TRANSITIONS[phase]:
                raise LocalError(f"a frame cannot end while {phase.value}")
        if len(events) == 1:
            self._say(events[0], via)
        elif events:
            self._say_all(events, via)
        frame = self._codec.frame(self._queue)
        self._ledger.end(via)
        self._queue.clear()
        self._size = self._items = 0
        return frame

    def _say_all(self, events: tuple[Event, ...], via: Via) -> None:
        before, queued, size, items = self._ledger.copy(), len(self._queue), self._size, self._items
        try:
            for event in events:
                self._say(event, via)
        except BaseException:
            self._ledger, self._size, self._items = before, size, items
            del self._queue[queued:]
            raise

    def _hear(self, frame: bytes, via: Via) -> None:
        if self._ledger.phase is Phase.BROKEN:
            raise LocalError("the channel is broken, nothing more is read from it")
        try:
            self._inbox.extend(self._heard(frame, via))
        except PeerError:
            self._ledger.phase = Phase.BROKEN
            raise

    def _heard(self, frame: bytes, via: Via) -> tuple[Event, ...]:
        events = self._codec.decode(frame)
        for event in events:
            if (refusal := self._ledger.refusal(event, via)) is not None:
                raise PeerError(f"the {self._peer} sent {type(event).__name__} {refusal}")
            self._ledger.enter(event, keep=self._keep)
        if not self._ledger.end(via):
            raise PeerError(f"the {self._peer} ended a frame while {self._ledger.phase.value}")
        return events


class HostChannel(_Channel):
    """The host's end. The codec's limits hold for what the guest may send and for each value that the host sends.

    A turn: `send` the events of one step, run it, `receive` what it returned, take `next_event` until NEED_DATA.
    """

    _peer = "guest"
    _keep = True

    def __init__(self, codec: Codec | None = None) -> None:
        super().__init__(codec or Codec())

    @property
    def open_calls(self) -> Mapping[int, Call]:
        """The calls that wait for an answer, by number, in the order in which they were made."""
        return MappingProxyType(self._ledger.calls)  # type: ignore[arg-type]

    def queue(self, event: FromHost) -> None:
        """Put an event into the next frame. Unsendable (for a `Return`: queue a `Throw` then) or LocalError; nothing
        has changed then.
        """
        self._say(event, Via.INPUT)

    def send(self, *events: FromHost) -> bytes:
        """The frame of all queued events and these, for one step or as the answer of an exchange. It is the guest's
        turn then.

        Unsendable or LocalError; nothing has changed then.
        """
        return self._finish(events, Via.INPUT)

    def receive(self, frame: bytes, via: Via = Via.STEP) -> None:
        """Take a frame that came this way. PeerError; the channel is broken then."""
        self._hear(frame, via)

    def next_event(self) -> FromGuest | NeedData:
        """The next event that was received."""
        return self._inbox.popleft() if self._inbox else NEED_DATA  # type: ignore[return-value]

    def _pack(self, event: Event) -> Packed:
        # The guest must count as the host does, so it is told the host's limits.
        if isinstance(event, Open):
            event = replace(event, limits={**event.limits, **self._codec.limits.as_numbers()})
        return super()._pack(event)

    def state(self) -> dict[str, object]:
        """What `restore` needs, as a dict of strings, numbers and bytes: the session's place and its open calls.

        LocalError where the session cannot be stored now: only between turns, and not inside a blocking call, which
        lives on the guest's native stack. Unsendable if an open call holds a value that a capability has made
        unsendable.
        """
        ledger = self._ledger
        if ledger.phase.name not in _STORED or self._queue or self._inbox:
            reason = ledger.phase.value if ledger.phase.name not in _STORED else "events are on their way"
            raise LocalError(f"the session cannot be stored while {reason}")
        store = self._codec.stored()
        return {
            "version": _VERSION,
            "phase": ledger.phase.name,
            "cell": ledger.cell,
            "last_cell": ledger.last_cell,
            "last_call": ledger.last_call,
            "calls": [store.encode([call]) for call in self.open_calls.values()],
        }

    @classmethod
    def restore(cls, state: object, codec: Codec | None = None) -> Self:
        """The channel whose `state` was stored, at the same place. Damaged if that is not exactly what `state` gave."""
        channel = cls(codec)
        channel._ledger = _restored(state, channel._codec.stored())
        return channel


_VERSION: Final = 1
_KEYS: Final = frozenset(("version", "phase", "cell", "last_cell", "last_call", "calls"))
_STORED: Final = {phase.name: phase for phase in (Phase.NEW, Phase.IDLE, Phase.WAITING)}


def _restored(state: object, store: Codec) -> Ledger:
    """Believes nothing: what was stored may have been damaged, or made by someone else."""
    if type(state) is not dict or state.keys() != _KEYS or state["version"] != _VERSION:
        raise Damaged("the stored channel is none of this version")
    name, cell, last_cell, last_call, frames = (
        state[key] for key in ("phase", "cell", "last_cell", "last_call", "calls")
    )
    counts = type(last_cell) is int and type(last_call) is int and last_cell >= 0 and last_call >= 0
    if type(name) is not str or name not in _STORED or not counts or type(frames) not in (list, tuple):
        raise Damaged("the stored channel has a part of the wrong kind")
    ledger = Ledger(phase=_STORED[name], last_cell=last_cell, last_call=last_call)
    if ledger.phase is Phase.WAITING:
        ledger.cell = last_cell
    new = ledger.phase is Phase.NEW and (last_cell or last_call)
    if type(cell) is not type(ledger.cell) or cell != ledger.cell or cell == 0 or new:
        raise Damaged("the stored channel has numbers that do not fit its phase")
    earlier = 0
    for frame in frames:
        call = _stored_call(frame, store)
        if not earlier < call.call <= last_call or ledger.cell is None:
            raise Damaged(f"the stored channel has call {call.call} out of order")
        ledger.calls[call.call] = call
        earlier = call.call
    return ledger


def _stored_call(frame: object, store: Codec) -> Call:
    try:
        events = store.decode(frame) if type(frame) is bytes else ()
    except PeerError as error:
        raise Damaged(f"the stored channel has a call that cannot be read: {error}") from error
    if len(events) != 1 or not isinstance(events[0], Call):
        raise Damaged("the stored channel has something in place of a call")
    return events[0]


class GuestChannel(_Channel):
    """The guest's end. It takes its limits from `Open`, which is the first event that it receives.

    A turn: `receive` the frame of a step, take `next_event` until NEED_DATA, `queue` what happens meanwhile, and
    `send(Rest(...))`.
    """

    _peer = "host"
    _keep = False

    def __init__(self, records: Mapping[str, type] = MappingProxyType({}), *, packing: Packing = FASTEST) -> None:
        super().__init__(Codec(None, records, end=End.GUEST, packing=packing))
        self._limit(self.limits)

    @property
    def open_calls(self) -> frozenset[int]:
        """The numbers of the calls that wait for an answer."""
        return frozenset(self._ledger.calls)

    @property
    def next_call(self) -> int:
        """The number for the next call."""
        return self._ledger.last_call + 1

    def queue(self, event: Call | Abandon | Done | Failed) -> None:
        """Put an event into the next frame. Unsendable or LocalError; nothing has changed then."""
        self._say(event, Via.STEP)

    def send(self, *events: FromGuest, via: Via = Via.STEP) -> bytes:
        """The frame of all queued events and these, of which the last is `Rest`. It is the host's turn then.

        `via` is STEP, or EXCHANGE where the guest blocks. Unsendable or LocalError; nothing has changed then.
        """
        return self._finish(events, via)

    def emit(self, output: Output) -> bytes:
        """The frame of some output, to be sent at once. Unsendable where it is too large for one: write it in parts."""
        return self._alone(output, Via.EMIT)

    def ask(self) -> bytes:
        """The frame that asks why the guest was interrupted, to be exchanged for a `Cancel`."""
        return self._alone(Interrupted(), Via.EXCHANGE)

    def receive(self, frame: bytes) -> None:
        """Take the frame of a step, or the answer of an exchange. PeerError; the channel is broken then."""
        self._hear(frame, Via.INPUT)

    def next_event(self) -> FromHost | NeedData:
        """The next event that was received."""
        return self._inbox.popleft() if self._inbox else NEED_DATA  # type: ignore[return-value]

    def _heard(self, frame: bytes, via: Via) -> tuple[Event, ...]:
        events = super()._heard(frame, via)
        for event in events:
            if type(event) is Open:
                self._limit(_told(event))
        return events

    def _alone(self, event: Output | Interrupted, via: Via) -> bytes:
        if (refusal := self._ledger.refusal(event, via)) is not None:
            raise LocalError(f"{type(event).__name__} cannot be sent {refusal}")
        packed = self._codec.pack(event)
        if packed.size > self._most[1]:
            raise TooLarge(f"this {type(event).__name__} has more than {self.limits.frame_bytes:,} bytes")
        self._ledger.enter(event, keep=False)
        self._ledger.end(via)
        return self._codec.frame([packed])

    def _pack(self, event: Event) -> Packed:
        items, size = self._room.get(type(event), self._most)
        packed = self._codec.pack(event, items=items - self._items)
        if packed.size > size - self._size:
            kind = type(event).__name__
            raise TooLarge(f"this {kind} brings what crosses at once to more than {self.limits.frame_bytes:,} bytes")
        return packed

    def _limit(self, limits: CodecLimits) -> None:
        self._codec.limits = limits
        size, items = min(_SHARE_BYTES, limits.frame_bytes // 8), min(_SHARE_ITEMS, limits.items // 8)
        self._most = limits.items, limits.frame_bytes - _HEAD
        self._room = {
            kind: (self._most[0] - shares * items, self._most[1] - shares * size)
            for kind, shares in _SHARES_LEFT.items()
        }


# Calls fill a frame first. Shares of it are kept for the end of the cell, and for saying that its value does not fit.
_HEAD: Final = 5
_SHARE_BYTES: Final = 1 << 16
_SHARE_ITEMS: Final = 1000
_SHARES_LEFT: Final[Mapping[type, int]] = {Call: 3, Abandon: 2, Done: 1}


def _told(event: Open) -> CodecLimits:
    try:
        return CodecLimits(**{name: event.limits[name] for name in CodecLimits().as_numbers() if name in event.limits})
    except ValueError as error:
        raise PeerError(f"the host sent limits that cannot be: {error}") from error
