"""A scene for loops: a model that a function plays, agents on it, and short words for what was sent to whom."""

from __future__ import annotations

import inspect
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import count

import trio

from host import Capability, Inherited
from host.context import Section, read_section
from host.conversation import Message, ToolCall, ToolResult
from host.events import Event
from host.loop import Agent, Dialogue, open_dialogue, run_agent
from host.models.port import Delta, Reply, Request, Stream

type Act = Callable[[Request], Reply | str | Awaitable[Reply | str]]

_IDS = count(1)


def call(tool: str, /, **arguments: object) -> Reply:
    """A reply that makes one call."""
    return calls((tool, arguments))


def calls(*wanted: tuple[str, Mapping[str, object]], text: str = "") -> Reply:
    """A reply of several calls at once."""
    made = [ToolCall(id=f"call-{next(_IDS)}", name=tool, arguments=json.dumps(given)) for tool, given in wanted]
    return Reply.of(text, *made)


class Actor:
    """A model that functions play, one for each agent, told apart by how its instructions begin.

    A function is given the request and how many requests this agent was sent before. `requests` are all, in order.
    """

    name = "actor"

    def __init__(self, **parts: Callable[[Request, int], Reply | str | Awaitable[Reply | str]] | Sequence[Reply | str]):
        self.parts = parts
        self.requests: list[Request] = []

    async def reply(self, request: Request, *, stream: Stream | None = None) -> Reply:
        await trio.lowlevel.checkpoint()
        who = next(name for name in self.parts if request.system.startswith(f"You are the {name}."))
        before = len(self.of(who))
        self.requests.append(request)
        part = self.parts[who]
        said = part(request, before) if callable(part) else part[before]
        if inspect.isawaitable(said):
            said = await said
        reply = Reply.of(said) if isinstance(said, str) else said
        if stream is not None and reply.text:
            stream(Delta(kind="text", text=reply.text))
        return reply

    def of(self, who: str) -> list[Request]:
        """What this agent's model was sent."""
        return [request for request in self.requests if request.system.startswith(f"You are the {who}.")]

    def agent(self, who: str, **changes: object) -> Agent:
        """An agent whom this model plays."""
        return Agent(name=who, instructions=f"You are the {who}.", model=self, **changes)  # type: ignore[arg-type]


class Desk(Capability):
    """A desk that hands requests to an agent behind it."""

    name = "desk"

    def __init__(self, agent: Agent, *, name: str | None = None) -> None:
        super().__init__(name=name)
        self.agent = agent
        self.seen: list[Inherited] = []

    async def ask(self, question: str, *, inherited: Inherited) -> str:
        """Answers a question. Delegates."""
        self.seen.append(inherited)
        return str((await run_agent(self.agent, question, inherited)).value)

    async def count(self, text: str) -> int:
        """How long a text is."""
        return len(text)


class Run:
    """A dialogue under way, with all that happened in it."""

    def __init__(self, dialogue: Dialogue, events: list[Event]) -> None:
        self.dialogue = dialogue
        self.events = events

    async def say(self, text: str) -> str:
        return await self.dialogue.say(text)

    def told[E](self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]


@asynccontextmanager
async def talking(agent: Agent, **settings: object) -> AsyncIterator[Run]:
    events: list[Event] = []
    async with open_dialogue(agent, observe=events.append, **settings) as dialogue:  # type: ignore[arg-type]
        yield Run(dialogue, events)


def section(request: Request) -> Section | None:
    """What was inherited, as it stands in the instructions."""
    return read_section(request.system)


def inherited_texts(request: Request) -> list[str]:
    """The words of every inherited message, in order."""
    found = section(request)
    return [] if found is None else [entry.text for entry in found.entries if entry.deed == "said"]


def whole(request: Request) -> str:
    """Every word of a request, wherever it stands: what must not be there is searched for in this."""
    tools = [f"{tool.name} {tool.description} {json.dumps(tool.parameters)}" for tool in request.tools]
    return "\n".join([request.system, *map(spoken, request.messages), *tools, request.tail])


def spoken(message: Message) -> str:
    """Every word of a message."""
    words = [message.text] if message.text else []
    for part in message.parts:
        if isinstance(part, ToolCall):
            words += [part.name, part.arguments]
        elif isinstance(part, ToolResult):
            words += [spoken(Message(role="tool", parts=part.parts))]
    return "\n".join(words)


def tool_names(request: Request) -> list[str]:
    return [tool.name for tool in request.tools]


def steering(request: Request, means: str) -> str:
    """The name of the newest tool of this kind that steers a running task."""
    return next(name for name in reversed(tool_names(request)) if name.startswith(f"{means}_") and "__" in name)
