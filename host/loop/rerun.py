"""A run repeated from a branch point with the other choice, to see what the choice was worth (R82, R95).

    async with BranchPoints() as points:
        ended = await run_agent(agent, request, inherited, points=points)
        again = await points.all[0].rerun(context="cold")
        print(again.compare())

Rules:

- A branch point is kept at each delegating call, before it is made: the loop's exchange as it stands, and for a call
  from code a copy of the interpreter that waits on that very call. Keeping one costs what a fork of the session costs
  (a few milliseconds and its memory), so it is done where points are asked for, and nowhere else.
- A rerun makes the call anew with the choice given, and goes on from there to the loop's answer, in a tree of its own.
  What the loop had done before is not done again: sibling calls of the same reply keep the results that they had.
- What is compared is the rest of the loop from the branch point on, with all that it started: answer, tokens, time.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import trio

from guest_stdlib.declared import Context
from host.conversation import ToolCall, ToolResult
from host.errors import HostError
from host.events import Delegated, Event, LoopBegan, LoopEnded, Replied, TurnEnded
from host.loop.exchange import Exchange
from host.models.port import Usage
from host.session import HostSession

if TYPE_CHECKING:
    from host.loop.loop import Loop

__all__ = ["BranchPoint", "BranchPoints", "Rerun", "Side"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of two ways that a run went on from a branch point: to which answer, with which tokens, in which time."""

    context: Context
    answer: str
    usage: Usage
    requests: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerun:
    """What came of a choice, and what came of the other one. `events` are those of the repeated run."""

    original: Side
    repeated: Side
    events: tuple[Event, ...]

    def compare(self) -> str:
        """Both sides in words."""
        return "\n".join(_told(side) for side in (self.original, self.repeated))


def _told(side: Side) -> str:
    cached = "" if side.usage.cached is None else f" ({side.usage.cached:,} from a cache)"
    return (
        f"{side.context}: {side.requests} requests, {side.usage.input:,} tokens in{cached}, {side.usage.output:,} out,"
        f" {side.seconds:.1f} s: {side.answer}"
    )


class BranchPoints:
    """Keeps the branch points of a run, in the order of the calls. A context manager: at its end the interpreters are
    given back. Give it to `run_agent` or `open_dialogue`.
    """

    def __init__(self) -> None:
        self.all: list[BranchPoint] = []
        self._told: list[tuple[float, Event]] = []
        self._stack = AsyncExitStack()

    def observe(self, event: Event) -> None:
        """Hear of what happens in the run, to compare with it later."""
        self._told.append((trio.current_time(), event))

    def note(self, loop: Loop, delegation: str, call: str | None) -> None:
        """Keep the branch point of a call by tool."""
        self._keep(loop, delegation, call, None, None)

    async def note_in_code(self, loop: Loop, delegation: str, call: str | None, number: int) -> None:
        """Keep the branch point of the call of this number that waits in the loop's session."""
        session = loop.code.session
        assert session is not None
        copy = await self._stack.enter_async_context(await session.fork())
        self._keep(loop, delegation, call, number, copy)

    def _keep(
        self, loop: Loop, delegation: str, call: str | None, number: int | None, copy: HostSession | None
    ) -> None:
        at = next(at for at in range(len(self._told) - 1, -1, -1) if _is(self._told[at][1], delegation))
        delegated = self._told[at][1]
        assert isinstance(delegated, Delegated)
        self.all.append(
            BranchPoint(
                delegated=delegated,
                loop=loop,
                exchange=loop.exchange.copy(),
                place=at,
                call_id=call,
                number=number,
                copy=copy,
                points=self,
            )
        )

    def rest(self, point: BranchPoint) -> Side:
        """How the run went on from a branch point. Raises HostError if it has not come to an answer yet."""
        began, _ = self._told[point.place]
        loops = {point.loop.id}
        replies: list[Replied] = []
        for at, event in self._told[point.place :]:
            if isinstance(event, LoopBegan) and event.parent in loops:
                loops.add(event.loop)
            elif isinstance(event, Replied) and event.loop in loops:
                replies.append(event)
            elif isinstance(event, LoopEnded | TurnEnded) and event.loop == point.loop.id:
                return side(point.delegated.context, event.text, replies, at - began)
        raise HostError("the run has not come to its answer yet, so there is nothing to compare with")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        with trio.CancelScope(shield=True):
            await self._stack.aclose()


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchPoint:
    """A delegating call that is about to be made, and all that is needed to make it again: `delegated` tells of it,
    `copy` is the interpreter that waits on it, where code made it.
    """

    delegated: Delegated
    loop: Loop
    exchange: Exchange
    place: int
    call_id: str | None
    number: int | None
    copy: HostSession | None
    points: BranchPoints

    async def rerun(self, *, context: Context) -> Rerun:
        """Make the call with this choice, and go on to the loop's answer; then compare with how it went.

        Raises HostError if the run has not come to its answer yet, and whatever the repeated run fails by.
        """
        from host.loop.running import run_again

        original = self.points.rest(self)
        told: list[Event] = []
        began = trio.current_time()
        answer = await run_again(self, context, observe=told.append)
        replies = [event for event in told if isinstance(event, Replied)]
        repeated = side(context, answer, replies, trio.current_time() - began)
        return Rerun(original=original, repeated=repeated, events=tuple(told))

    def call(self) -> ToolCall:
        """The model's call that made the delegation, or in whose code it was made."""
        last = self.exchange.conversation.last
        found = None if last is None else next((call for call in last.calls if call.id == self.call_id), None)
        if found is None:
            raise HostError("this branch point stands in no call of a model, so it cannot be repeated")
        return found

    def arguments(self, context: Context) -> str:
        """The arguments of a call by tool, with the other choice."""
        return json.dumps({**(self.call().parsed or {}), "context": context})

    def with_siblings(self, result: ToolResult | None) -> tuple[ToolResult, ...]:
        """The results of the reply in the order of its calls: this one, and those that the others had."""
        last = self.exchange.conversation.last
        assert last is not None
        parts = [part for message in self.loop.conversation.since(last.id) for part in message.parts]
        had = {part.call: part for part in parts if isinstance(part, ToolResult)}
        results = [result if call.id == self.call_id else had.get(call.id) for call in last.calls]
        return tuple(result for result in results if result is not None)


def side(context: Context, answer: str, replies: Sequence[Replied], seconds: float) -> Side:
    """What one way came to."""
    usage = sum((event.reply.usage for event in replies), Usage())
    return Side(context=context, answer=answer, usage=usage, requests=len(replies), seconds=seconds)


def _is(event: Event, delegation: str) -> bool:
    return isinstance(event, Delegated) and event.id == delegation
