"""A live interpreter as the session sees it: events go in, events come out, whether by a step or out of a blocking
call.

This is where the guest's thread and trio meet. What runs on the guest's thread is marked so; everything else is trio's.
While the guest runs, its thread owns the channel; at rest, trio does.
"""

from __future__ import annotations

import codecs
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import trio

from guest_stdlib.channel import (
    NEED_DATA,
    Cancel,
    Done,
    Failed,
    Failure,
    FromGuest,
    FromHost,
    HostChannel,
    Interrupted,
    Open,
    Output,
    PeerError,
    Rest,
    Return,
    Throw,
    Unsendable,
    Via,
)

from .clock import Clock
from .errors import GuestCrashed, GuestStopped, SessionBusy
from .guest import Guest
from .limits import Limits, LimitWatch
from .snapshot import Snapshot
from .threads import Answered, Asked, Line
from .workspace import Files
from .world import BadGuest, Randomness, World

__all__ = ["Frozen", "Interpreter"]


@dataclass(frozen=True, slots=True)
class _Pause:
    """The guest sleeps on its native stack. The answer is nothing."""

    seconds: float


@dataclass(frozen=True, slots=True)
class _Wait:
    """The guest waits for the host on its native stack. The answer is a frame."""

    events: list[FromGuest]


class _Stop:
    """The answer that ends a blocking call for good."""


STOP: Final = _Stop()


@dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    """An interpreter at rest, as a value: its memory, where its conversation with the host stood, and what files it has
    open.
    """

    memory: Snapshot
    channel: dict[str, object]
    files: Files


class Interpreter:
    """One guest, its channel and its line. `pause` is how sleeping is done; it may return early."""

    def __init__(
        self,
        guest: Guest,
        channel: HostChannel,
        *,
        clock: Clock,
        randomness: Randomness,
        files: Files,
        max_frame: int,
        output: Callable[[str, str], None],
        pause: Callable[[float], Awaitable[None]],
    ) -> None:
        self.files = files
        self._guest = guest
        self._channel = channel
        self._clock = clock
        self._max_frame = max_frame
        self._output = output
        self._pause = pause
        self._line: Line[list[FromGuest], _Pause | _Wait, bytes | _Stop | None] = Line()
        self._watch: LimitWatch | None = None
        self._decoders = {stream: codecs.getincrementaldecoder("utf-8")("replace") for stream in ("stdout", "stderr")}
        guest.world = World(memory=guest, outside=self, clock=clock, randomness=randomness, files=files)

    @trio.lowlevel.enable_ki_protection
    async def turn(self, events: Sequence[FromHost], watch: LimitWatch) -> list[FromGuest]:
        """Give the guest events and return what it says until everything in it waits, `Rest` last.

        Raises `GuestStopped` and `GuestCrashed`; the interpreter is of no use after either. An answer that cannot
        cross becomes an exception in the script. A cancellation interrupts the guest and is raised at the caller's
        next checkpoint.
        """
        self._watch = watch
        said: list[FromGuest] = []
        for frame in self._frames(events):
            if said and isinstance(said[-1], Rest):
                said.pop()
            said += await self._pass(frame, watch)
            if any(isinstance(event, (Done, Failed)) for event in said):
                break
        return said

    def _frames(self, events: Sequence[FromHost]) -> Iterator[bytes]:
        """One frame, or several one after another if their values are too large for one."""
        try:
            frame = self._channel.send(*events)
        except Unsendable as error:
            if len(events) > 1:
                for event in events:
                    # Meanwhile the script may have given up some of the calls.
                    if not isinstance(event, (Return, Throw)) or event.call in self._channel.open_calls:
                        yield from self._frames([event])
                return
            if not isinstance(events[0], (Return, Throw)):
                raise
            failure = Failure(kind="script", type="CapabilityError", message=f"the answer cannot cross: {error}")
            frame = self._channel.send(Throw(call=events[0].call, failure=failure))
        yield frame

    async def _pass(self, frame: bytes, watch: LimitWatch) -> list[FromGuest]:
        def on_cancel() -> None:
            watch.want("cancelled")

        if self._line.asking:
            said = await self._line.answer(frame, on_cancel=on_cancel)
        else:
            self._clock.enter(trio.current_time())
            said = await self._line.run(lambda: self._step(frame, watch), on_cancel=on_cancel)
        while isinstance(said, Asked) and isinstance(said.question, _Pause):
            await self._pause(said.question.seconds)
            said = await self._line.answer(None, on_cancel=on_cancel)
        if isinstance(said, Answered):
            return said.result.unwrap()
        return said.question.events if isinstance(said.question, _Wait) else []

    async def open(self, opening: Open, watch: LimitWatch | None = None) -> None:
        """The session's first turn. Nothing bounds it but its own shortness; or `watch`, where code may run in it,
        since the guest is opened anew.
        """
        await self.turn([opening], watch or LimitWatch(Limits()))

    @trio.lowlevel.enable_ki_protection
    async def stop(self) -> None:
        """End a blocking call for good, so that the guest's thread is free."""
        while self._line.asking:
            await self._line.answer(STOP, on_cancel=lambda: None)

    @property
    def holds_stack(self) -> bool:
        """Whether the guest is in a blocking call, and so cannot be copied."""
        return self._line.asking

    def freeze(self) -> Frozen:
        """The interpreter as a value."""
        if self._line.asking:
            raise SessionBusy(
                "the session is in a blocking call (`.blocking(...)` or `asyncio.run(...)` in a cell), so it holds a "
                "native stack; it can be copied or suspended only while it waits in `await`"
            )
        files = self.files.within(self.files.workspace)
        return Frozen(memory=self._guest.snapshot(), channel=self._channel.state(), files=files)

    @property
    def memory_bytes(self) -> int:
        """The size of the guest's memory."""
        return self._guest.size

    def close(self) -> None:
        """Give everything back."""
        self._guest.close()
        self.files.close()

    # On the guest's thread

    def _step(self, frame: bytes, watch: LimitWatch) -> list[FromGuest]:
        watch.enter()
        try:
            answer = self._guest.step(frame, watch, max_frame=self._max_frame)
        finally:
            watch.leave()
        return self._receive(answer, Via.STEP)

    def _receive(self, frame: bytes, via: Via) -> list[FromGuest]:
        if len(frame) > self._max_frame:
            raise GuestCrashed(f"the guest sent a frame of {len(frame)} bytes, and {self._max_frame} is the limit")
        try:
            self._channel.receive(frame, via)
        except PeerError as error:
            raise GuestCrashed(f"the guest broke the protocol: {error}") from error
        events: list[FromGuest] = []
        while (event := self._channel.next_event()) is not NEED_DATA:
            events.append(event)
        return events

    def emit(self, frame: bytes) -> None:
        """Output events, taken at once."""
        for event in self._receive(frame, Via.EMIT):
            if isinstance(event, Output):
                self._line.call_soon(partial(self._output, event.stream, event.text))

    def output(self, stream: str, data: bytes) -> None:
        """Raw output; a character may come in two pieces."""
        text = self._decoders[stream].decode(data)
        if text:
            self._line.call_soon(partial(self._output, stream, text))

    def exchange(self, frame: bytes) -> bytes:
        """A blocking call. `Interrupted` is answered here; everything else by trio."""
        watch = self._watch
        if watch is None:
            raise GuestStopped("no cell is running")
        events = self._receive(frame, Via.EXCHANGE)
        if len(events) == 1 and isinstance(events[0], Interrupted):
            if watch.reason is None:
                raise BadGuest("an interruption that nobody caused")
            watch.told = True
            return self._channel.send(Cancel(reason=watch.reason, message=watch.message))
        return self._ask(watch, _Wait(events))

    def sleep(self, seconds: float) -> None:
        """Sleep on the native stack."""
        watch = self._watch
        if watch is not None and seconds > 0:
            self._ask(watch, _Pause(seconds))

    def _ask(self, watch: LimitWatch, question: _Pause | _Wait) -> bytes:
        watch.leave()
        try:
            reply = self._line.ask(question)
        finally:
            watch.enter()
        if reply is STOP:
            raise GuestStopped("the guest was stopped in a blocking call")
        return reply if isinstance(reply, bytes) else b""
