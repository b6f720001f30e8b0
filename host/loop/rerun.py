"""A run repeated from a branch point with the other choice, to see what the choice was worth (R82, R95).

    points = BranchPoints()
    ended = await run_agent(agent, request, inherited, points=points)
    again = await points.all[0].rerun(context="cold")
    print(again.compare())

Rules:

- A branch point is kept at each delegating call, before it is made: the loop's exchange as it stands, and for a call
  from code the interpreter that waits on that very call, put to sleep. Keeping one costs what that costs (some
  milliseconds, and half a megabyte for a small session), so it is done where points are asked for, and nowhere else.
- A rerun makes the call anew with the choice given, and goes on from there to the loop's answer, in a tree of its own.
  What the loop had done before is not done again: sibling calls of the same reply keep the results that they had.
- What is compared is the rest of the loop from the branch point on, with all that it started: answer, tokens, time.
- A branch point is a value. One that was read from a record on disk is as good as one of a run of this process.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from guest_stdlib.declared import Context, Words
from host.context import ContextChoice
from host.conversation import ToolCall, ToolResult
from host.errors import HostError
from host.events import Delegated, Event, LoopBegan, LoopEnded, Replied, TurnEnded
from host.loop.agent import Agent
from host.loop.budget import Budget
from host.loop.crew import Crew
from host.loop.exchange import Exchange
from host.models.port import Usage
from sandbox.image import Image
from sandbox.workspace import Workspace

if TYPE_CHECKING:
    from host.loop.loop import Loop

__all__ = ["BranchPoint", "BranchPoints", "Grounds", "Rerun", "Side", "rest"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of two ways that a run went on from a branch point: to which answer, with which tokens, in which time."""

    context: str
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    """What a repeated run stands on, as the first one did: budget, crew, sandbox image and workspace. Files are as they
    are now, not as they were.
    """

    budget: Budget
    crew: Crew
    image: Image | str
    workspace: Workspace | None = None


class BranchPoints:
    """Keeps the branch points of a run, in the order of the calls. Give it to `run_agent` or `open_dialogue`.

    `keep` is told of each, with the sleeping interpreter where code made the call, to store it beside a record.
    """

    def __init__(self, keep: Callable[[BranchPoint], None] | None = None) -> None:
        self.all: list[BranchPoint] = []
        self._told: list[Event] = []
        self._keep = keep

    def observe(self, event: Event) -> None:
        """Hear of what happens in the run, to compare with it later."""
        self._told.append(event)

    def note(self, loop: Loop, delegation: str, call: str | None) -> None:
        """Keep the branch point of a call by tool."""
        self._note(loop, delegation, call, None, None)

    async def note_in_code(self, loop: Loop, delegation: str, call: str | None, number: int) -> None:
        """Keep the branch point of the call of this number that waits in the loop's session."""
        session = loop.code.session
        assert session is not None
        copy = await session.fork()  # a copy has not made the call yet, so it can make it in another way
        self._note(loop, delegation, call, number, await copy.suspend())

    def _note(self, loop: Loop, delegation: str, call: str | None, number: int | None, state: bytes | None) -> None:
        at = next(at for at in range(len(self._told) - 1, -1, -1) if _is(self._told[at], delegation))
        delegated = self._told[at]
        assert isinstance(delegated, Delegated)
        exchange = loop.exchange.copy()
        last = exchange.conversation.id

        def results() -> Mapping[str, ToolResult]:
            parts = [part for message in loop.conversation.since(last) for part in message.results]
            return {part.call: part for part in parts}

        tree = loop.tree
        point = BranchPoint(
            delegated=delegated,
            agent=loop.agent,
            exchange=exchange,
            depth=loop.depth,
            fork_depth=loop.fork_depth,
            call_id=call,
            number=number,
            state=state,
            grounds=Grounds(budget=tree.purse.budget, crew=tree.crew, image=tree.image, workspace=tree.workspace),
            results=results,
            original=lambda: rest(self._told[at:], delegated),
        )
        self.all.append(point)
        if self._keep is not None:
            self._keep(point)


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchPoint:
    """A delegating call that is about to be made, and all that is needed to make it again.

    `delegated` tells of it. `call_id` is the model's call that made it or in whose code it was made. Where code made
    it, `state` is the interpreter that waits on it, put to sleep, and `number` is the call's in that session.
    `results` gives the results that the calls of the same reply had, and `original` how the run went on.
    """

    delegated: Delegated
    agent: Agent
    exchange: Exchange
    depth: int
    fork_depth: int
    call_id: str | None
    number: int | None
    state: bytes | None
    grounds: Grounds
    results: Callable[[], Mapping[str, ToolResult]]
    original: Callable[[], Side]

    async def rerun(self, *, context: ContextChoice | Context) -> Rerun:
        """Make the call with this choice, and go on to the loop's answer; then compare with how it went.

        Raises HostError if the run has not come to its answer yet, and whatever the repeated run fails by.
        """
        from host.loop.running import run_again

        original = self.original()
        told: list[Event] = []
        choice = context if isinstance(context, ContextChoice) else ContextChoice.parse(context)
        answer, seconds = await run_again(self, choice, observe=told.append)
        replies = [event for event in told if isinstance(event, Replied)]
        return Rerun(original=original, repeated=side(str(choice), answer, replies, seconds), events=tuple(told))

    def call(self) -> ToolCall:
        """The model's call that made the delegation, or in whose code it was made."""
        last = self.exchange.conversation.last
        found = None if last is None else next((call for call in last.calls if call.id == self.call_id), None)
        if found is None:
            raise HostError("this branch point stands in no call of a model, so it cannot be repeated")
        return found

    def arguments(self, words: Words) -> str:
        """The arguments of a call by tool, with these words for the choice."""
        return json.dumps({**(self.call().parsed or {}), **words})

    def with_siblings(self, result: ToolResult | None) -> tuple[ToolResult, ...]:
        """The results of the reply in the order of its calls: this one, and those that the others had."""
        last = self.exchange.conversation.last
        assert last is not None
        had = self.results()
        results = [result if call.id == self.call_id else had.get(call.id) for call in last.calls]
        return tuple(result for result in results if result is not None)


def rest(events: Sequence[Event], delegated: Delegated) -> Side:
    """How a run went on from a delegation: the events from there on, to the answer that came after what it started.

    Raises HostError if it has come to no answer.
    """
    loops, open_children = {delegated.loop}, set[str]()
    replies: list[Replied] = []
    answer: LoopEnded | TurnEnded | None = None
    until = 0
    for event in events:
        if isinstance(event, LoopBegan) and event.parent in loops:
            loops.add(event.loop)
            if event.delegation == delegated.id:
                open_children.add(event.loop)
        elif isinstance(event, Replied) and event.loop in loops:
            replies.append(event)
        elif isinstance(event, LoopEnded) and event.loop in open_children:
            open_children.discard(event.loop)
        elif isinstance(event, LoopEnded | TurnEnded) and event.loop == delegated.loop:
            answer, until = event, len(replies)
            if not open_children:
                break
    if answer is None:
        raise HostError("the run has not come to its answer yet, so there is nothing to compare with")
    return side(delegated.context, answer.text, replies[:until], answer.at - delegated.at)


def side(context: str, answer: str, replies: Sequence[Replied], seconds: float) -> Side:
    """What one way came to."""
    usage = sum((event.reply.usage for event in replies), Usage())
    return Side(context=context, answer=answer, usage=usage, requests=len(replies), seconds=seconds)


def _is(event: Event, delegation: str) -> bool:
    return isinstance(event, Delegated) and event.id == delegation
