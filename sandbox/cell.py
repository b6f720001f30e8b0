"""One cell under way: from `Run` to `Done` or `Failed`, with everything that may come between.

The guest runs until everything in it waits; then the calls it made run here, in a nursery that the cell owns, and their
answers go in together with the next step. A cell at rest can be copied (`Resting`), by a fork or for the disk.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

import trio

from guest_stdlib.channel import (
    Abandon,
    Call,
    Cancel,
    Done,
    Failed,
    FromGuest,
    FromHost,
    Rest,
    Return,
    Throw,
)

from .clock import Clock
from .errors import CallRejected, GuestCrashed, GuestStopped
from .failure import failure_of
from .interpreter import Interpreter
from .limits import Limits, LimitWatch, Reason
from .outcome import OutputBuffer
from .resting import PendingCall, Resting

__all__ = ["Cell", "Crashed", "Ending", "Resting", "Stopped", "Suspended"]

type Answer = Callable[[Call], Awaitable[object]]

STUCK: Final = "every task in the cell waits for another one, so none of them can go on"


@dataclass(frozen=True, slots=True)
class Stopped:
    """A limit's hard stage, or a cancellation that the guest did not follow in time."""


@dataclass(frozen=True, slots=True)
class Crashed:
    """The guest trapped or broke the protocol."""

    message: str


@dataclass(frozen=True, slots=True)
class Suspended:
    """The session was put to sleep."""


type Ending = Done | Failed | Stopped | Crashed | Suspended


@dataclass(slots=True, kw_only=True)
class _Flight:
    """A call that is being answered."""

    call: Call
    answer: Awaitable[object]
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)

    def close(self) -> None:
        """Close an answer that nobody awaits any more, as a coroutine must be; one that is finished does not mind."""
        close = getattr(self.answer, "close", None)
        if close is not None:
            close()


class Cell:
    """Drives one cell. `answer` makes its calls; those to the paths in `held` are kept, and `holding` tells."""

    def __init__(
        self,
        interpreter: Interpreter,
        *,
        number: int,
        name: str,
        limits: Limits,
        clock: Clock,
        answer: Answer,
        output: OutputBuffer,
        held: frozenset[str] = frozenset(),
        holding: trio.Event,
        resting: Resting | None = None,
    ) -> None:
        now = trio.current_time()
        self.number, self.name = number, name
        self.watch = LimitWatch(limits)
        self.output = output
        self.calls = resting.calls if resting else 0
        self.rounds = resting.rounds if resting else 0
        self.rejected = 0
        self.made: list[str] = []
        self.ending: Ending | None = None
        self.turning = False
        self._interpreter, self._limits, self._clock, self._answer, self._held = (
            interpreter,
            limits,
            clock,
            answer,
            held,
        )
        self._deadline = now + limits.wall_seconds
        self._holding = holding
        self._in_grace = False
        self._flights: dict[int, _Flight] = {}
        self._kept = {pending.call.call: pending.call for pending in resting.pending} if resting else {}
        self._settled: list[Return | Throw] = list(resting.settled) if resting else []
        self._wake = (resting.wake or 0.0) if resting else 0.0  # as the guest said it, where `_wake_at` is trio's time
        self._wake_at = now + resting.wake if resting and resting.wake is not None else math.inf
        self._fresh: list[Call] = []
        self._queue: deque[_Flight] = deque()  # beyond `calls_at_once`
        self._flying = 0
        self._changed = trio.Event()
        self._rests = trio.lowlevel.ParkingLot()

    # The loop

    async def run(self, events: list[FromHost] | None) -> Ending:
        """Drive the cell to its end. `events` start it; None goes on with one that rests.

        A cancellation reaches the guest, which may clean up for as long as the grace lasts, and is then raised;
        `ending` tells how that went.
        """
        try:
            return await self._drive(events)
        except BaseException as error:
            if self.ending is None and _is_cancellation(error):
                with trio.CancelScope(shield=True):
                    await self._cancel()
            raise

    async def _cancel(self) -> None:
        self._settled.clear()
        self._kept.clear()
        if self.watch.reason is None:
            self.watch.begin("cancelled")
        self.watch.told = True
        self._in_grace = False  # a cancellation has a grace of its own
        self._enter_grace()
        await self._drive([Cancel(reason="cancelled", message=self.watch.message)])

    async def _drive(self, events: list[FromHost] | None) -> Ending:
        async with trio.open_nursery() as nursery:
            for call in list(self._kept.values()):
                self._launch(call, nursery)
            try:
                ending = await self._converse(events, nursery)
            except GuestStopped:
                ending = Stopped()
            except GuestCrashed as crash:
                ending = Crashed(str(crash))
            self.ending = ending
            nursery.cancel_scope.cancel()
        for flight in self._queue:
            flight.close()
        return ending

    async def _converse(self, events: list[FromHost] | None, nursery: trio.Nursery) -> Ending:
        said = await self._next() if events is None else events
        while self.ending is None:
            ending = self._take(await self._turn(said))
            if ending is not None:
                return ending
            fresh, self._fresh = self._fresh, []
            if len(fresh) == 1 and not self._flights and self._wake_at == math.inf and fresh[0].path not in self._held:
                # A lone call, the common case, needs no task of its own.
                if (flight := self._begin(fresh[0])) is not None:
                    flight.scope.deadline = self._deadline
                    await self._fly(flight)
            else:
                for call in fresh:
                    self._launch(call, nursery)
            if self.ending is None:
                said = await self._next()
        return self.ending

    async def _turn(self, events: list[FromHost]) -> list[FromGuest]:
        self.turning = True
        try:
            return await self._interpreter.turn(events, self.watch)
        finally:
            self.turning = False
            self._rests.unpark_all()

    def _take(self, said: list[FromGuest]) -> Done | Failed | None:
        """Note what the guest said. The channel has checked its order."""
        ending: Done | Failed | None = None
        for event in said:
            match event:
                case Call():
                    self._fresh.append(event)
                case Abandon():
                    if flight := self._flights.pop(event.call, None):
                        flight.scope.cancel()
                    self._kept.pop(event.call, None)
                    self._fresh = [call for call in self._fresh if call.call != event.call]
                    self._settled = [settled for settled in self._settled if settled.call != event.call]
                case Done() | Failed():
                    ending = event
                    self.rejected += event.rejected
                case Rest():
                    self._wake = event.wake or 0.0
                    self._wake_at = math.inf if event.wake is None else trio.current_time() + event.wake
        if self._fresh:
            self.rounds += 1
        return ending

    # Calls

    def _launch(self, call: Call, nursery: trio.Nursery) -> None:
        """Make a call in a task of its own, or keep it if it is held."""
        if call.path in self._held:
            self._kept[call.call] = call
            self._holding.set()
            return
        self._kept.pop(call.call, None)
        if (flight := self._begin(call)) is None:
            return
        if self._flying < self._limits.calls_at_once:
            self._flying += 1
            nursery.start_soon(self._fly_in_turn, flight)
        else:
            self._queue.append(flight)

    def _begin(self, call: Call) -> _Flight | None:
        """Take a call: what it sees of the world is settled here, before anything is awaited. None if one too many."""
        self.calls += 1
        if self.calls > self._limits.calls:
            self.rejected += 1
            return None
        flight = self._flights[call.call] = _Flight(call=call, answer=self._answer(call))
        return flight

    async def _fly_in_turn(self, flight: _Flight | None) -> None:
        """Make one call after another, as long as some are queued."""
        try:
            while flight is not None:
                await self._fly(flight)
                flight = self._queue.popleft() if self._queue else None
        finally:
            self._flying -= 1

    async def _fly(self, flight: _Flight) -> None:
        """Wait for a call's answer and note it. Cancelling the flight's scope means that nobody waits any more."""
        call = flight.call
        settled: Return | Throw | None = None
        with flight.scope:
            try:
                await trio.lowlevel.checkpoint_if_cancelled()  # a call that was given up before its turn is not made
                self.made.append(call.path)
                settled = Return(call=call.call, value=await flight.answer)
            except CallRejected as refusal:
                self.rejected += 1
                settled = Throw(call=call.call, failure=refusal.failure)
            except Exception as error:
                settled = Throw(call=call.call, failure=failure_of(error))
            finally:
                flight.close()
        if self._flights.get(call.call) is flight:
            del self._flights[call.call]
            if settled is not None:
                self._settled.append(settled)
                self._changed.set()

    # Waiting

    async def _next(self) -> list[FromHost]:
        """Wait for something that the guest should know: answers, a timer that is due ([]), or a limit."""
        while True:
            if self.watch.reason is not None:
                self._enter_grace()
            if self.watch.reason is not None and not self.watch.told:
                # It was interrupted so late in its step that it came to rest first.
                return self._tell(self.watch.reason)
            if self.calls > self._limits.calls and not self._in_grace:
                return self._limit("calls")
            if self._settled:
                settled, self._settled = self._settled, []
                return list(settled)
            now = trio.current_time()
            if self._wake_at <= now:
                return []
            if now >= self._deadline:
                return self._limit("wall")
            if not self._flights and not self._kept:
                if self._wake_at == math.inf:
                    return self._limit("wall", STUCK)
                if self._clock.jumps:
                    self._clock.slept(self._wake)
                    return []
            self._changed = trio.Event()
            with trio.CancelScope(deadline=min(self._deadline, self._wake_at)):
                await self._changed.wait()
            if self._clock.jumps and trio.current_time() >= self._wake_at:
                self._clock.slept(self._wake)
            if self.ending is not None:
                return []

    def _enter_grace(self) -> None:
        """From the soft stage on there is only the grace left, and it starts once."""
        if not self._in_grace:
            self._in_grace = True
            self._deadline = trio.current_time() + self._limits.grace_seconds

    def _limit(self, reason: Reason, message: str = "") -> list[FromHost]:
        """Begin the soft stage of a limit while the guest waits; the hard one if that has begun already."""
        if self._in_grace:
            raise GuestStopped("the grace is over")
        self.watch.begin(reason)
        self._enter_grace()
        return self._tell(reason, message)

    def _tell(self, reason: Reason, message: str = "") -> list[FromHost]:
        """Raise at the guest's awaits. Nobody waits for the calls any more."""
        self.watch.told = True
        for flight in list(self._flights.values()):
            flight.scope.cancel()
        self._flights.clear()
        self._kept.clear()
        self._settled.clear()
        return [Cancel(reason=reason, message=message or self.watch.message)]

    async def pause(self, seconds: float) -> None:
        """The guest sleeps on its native stack. Comes back early when a limit or a cancellation is due."""
        if self._clock.jumps:
            self._clock.slept(seconds)
            return
        if self.watch.reason is not None:
            self._enter_grace()
        try:
            with trio.CancelScope(deadline=self._deadline):
                await trio.sleep(seconds)
        except (
            trio.Cancelled
        ):  # it stays pending: the turn that follows interrupts the guest, and the cell ends with it
            self.watch.want("cancelled")
        if trio.current_time() >= self._deadline:
            self.watch.want("wall")

    # At rest

    async def rest(self) -> None:
        """Come back when the guest is at rest (or the cell over); what follows without waiting still finds it so."""
        while self.turning and self.ending is None:
            await self._rests.park()

    def resting(self) -> Resting:
        """The cell as a value. Only at rest."""
        wake = None if self._wake_at == math.inf else max(self._wake_at - trio.current_time(), 0.0)
        pending = [PendingCall(call=flight.call, made=True) for flight in self._flights.values()]
        pending += [PendingCall(call=call, made=False) for call in [*self._kept.values(), *self._fresh]]
        return Resting(
            number=self.number,
            name=self.name,
            pending=tuple(sorted(pending, key=lambda waiting: waiting.call.call)),
            settled=tuple(self._settled),
            wake=wake,
            calls=self.calls - len(self._flights),
            rounds=self.rounds,
            output=self.output.parts(),
        )

    def put_to_sleep(self) -> None:
        """End the cell here: it goes on elsewhere. Calls in flight are cancelled. Only at rest."""
        self.ending = Suspended()
        for flight in self._flights.values():
            flight.scope.cancel()
        self._changed.set()


def _is_cancellation(error: BaseException) -> bool:
    """Whether this is trio's cancellation and nothing else, alone or as a nursery wraps it."""
    if isinstance(error, BaseExceptionGroup):
        return all(_is_cancellation(inner) for inner in error.exceptions)
    return isinstance(error, trio.Cancelled)
