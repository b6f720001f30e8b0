"""What delegation is measured with: a conversation, a model that a function plays, and a loop in the middle of work."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

import trio

from benchmarks.capability import Desk
from benchmarks.sampling import Failed
from host import Conversation, Inherited
from host.context import Sent
from host.conversation import ToolCall
from host.events import Delegated, Event, Requested
from host.loop import Agent
from host.loop.loop import Loop
from host.loop.running import make
from host.loop.tree import Tree
from host.models.port import Reply, Request, Stream, Usage

__all__ = ["INSTRUCTIONS", "SAID", "Played", "Working", "answer", "calling", "conversation", "played_by", "working"]

SAID: Final = "Message {} of this conversation says something about the metrics, and nothing else."
INSTRUCTIONS: Final = "You look after the metrics."
_REPORTED: Final = Usage(input=1_000, output=10)


def conversation(messages: int, said: str = SAID) -> Conversation:
    """So many messages, from the user and the assistant by turns."""
    made = Conversation()
    for number in range(messages):
        text = said.format(number)
        made = made.user(text) if number % 2 == 0 else made.assistant(text)
    return made


def answer(text: str = "Done.") -> Reply:
    """A reply in words. It reports what it used, as providers do: a loop has to estimate what is not reported."""
    return Reply.of(text, usage=_REPORTED)


def calling(tool: str, *arguments: Mapping[str, object]) -> Reply:
    """A reply that calls a tool once for each of the arguments."""
    calls = [
        ToolCall(id=f"call-{number}", name=tool, arguments=json.dumps(given)) for number, given in enumerate(arguments)
    ]
    return Reply.of("", *calls, usage=_REPORTED)


class Played:
    """A model that a function plays. The function is called in the moment in which a request arrives."""

    name = "played"

    def __init__(self, part: Callable[[Request], Awaitable[Reply]]) -> None:
        self._part = part

    async def reply(self, request: Request, *, stream: Stream | None = None) -> Reply:
        """What the function says. Nothing is streamed."""
        del stream
        reply = await self._part(request)
        await trio.lowlevel.checkpoint()
        return reply


def played_by(part: Callable[[Request], Awaitable[Reply]]) -> Agent:
    """An agent that starts tasks, which are done by agents like itself; the function thinks for all of them."""
    return Agent(name="keeper", instructions=INSTRUCTIONS, model=Played(part), tasks="self", max_turns=1_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Working:
    """A loop that has made a delegating call. `asked` is the request that the call answered, `inherited` what it passed
    on, and `sent` the part of that which a child can share byte for byte.
    """

    loop: Loop
    asked: Request
    inherited: Inherited
    sent: Sent


async def working(before: Conversation, *, instructions: str = INSTRUCTIONS) -> Working:
    """A loop that goes on with this conversation, and has its desk asked once."""

    async def part(request: Request) -> Reply:
        return answer() if request.messages[-1].role == "tool" else calling("desk_ask", {"question": "Which Sarah?"})

    told: list[Event] = []
    agent = Agent(name="keeper", instructions=instructions, model=Played(part), capabilities=(Desk(),))
    loop = make(
        agent,
        Tree(observe=told.append),
        kind="conversation",
        request="",
        inherited=Inherited.cold(),
        conversation=before,
    )
    await loop.answer()
    passed = [event.inherited for event in told if isinstance(event, Delegated)]
    if len(passed) != 1 or (sent := passed[0].layers[-1].sent) is None:
        raise Failed("the loop did not delegate")
    asked = next(event.request for event in told if isinstance(event, Requested))
    return Working(loop=loop, asked=asked, inherited=passed[0], sent=sent)
