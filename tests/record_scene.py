"""Runs written down by hand: the events of loops, shortly."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from host.context import Inherited
from host.conversation import Conversation, Message, Text, ToolCall, ToolResult
from host.events import CallBegan, CallEnded, Delegated, Event, How, LoopBegan, LoopEnded, Rendering, Replied, Requested
from host.models.port import Reply, Request, ToolSpec, Usage

LOOKUP = ToolSpec(name="find", description="Finds records.", parameters={"type": "object"})


class Told:
    """One loop's events, added to a list that the loops of a run share."""

    def __init__(
        self,
        events: list[Event],
        loop: str,
        request: str = "Do it.",
        *,
        parent: str | None = None,
        delegation: str | None = None,
        system: str = "You are an agent.",
        messages: tuple[Message, ...] = (),
        rendering: Rendering = "none",
    ) -> None:
        self.events = events
        self.loop = loop
        self.system = system
        self.messages = messages or (Message(role="user", parts=(Text(text=request),)),)
        self.usage = Usage()
        self.number = 0
        self._calls: Iterator[int] = count(1)
        events.append(
            LoopBegan(
                loop=loop,
                agent="clerk",
                model="scripted",
                kind="call" if parent else "conversation",
                depth=1 if parent else 0,
                request=request,
                parent=parent,
                delegation=delegation,
                rendering=rendering,
            )
        )

    def ask(self, *, tools: tuple[ToolSpec, ...] = (LOOKUP,)) -> None:
        """A request."""
        self.number += 1
        request = Request(system=self.system, messages=self.messages, tools=tools)
        self.events.append(Requested(loop=self.loop, number=self.number, request=request))

    def reply(self, text: str = "", *calls: ToolCall, usage: Usage | None = None) -> None:
        """A request, and the reply to it."""
        self.ask()
        reply = Reply.of(text, *calls, usage=usage)
        self.usage += reply.usage
        self.messages = (*self.messages, reply.message())
        self.events.append(Replied(loop=self.loop, number=self.number, reply=reply, seconds=1.0))

    def call(self, arguments: str, result: str, *, tool: str = "find", usage: Usage | None = None) -> None:
        """A request, a reply that calls a tool, and the call's result."""
        call = ToolCall(id=f"call_{next(self._calls)}", name=tool, arguments=arguments)
        self.reply("", call, usage=usage)
        self.returned(call, result)

    def returned(self, call: ToolCall, result: str) -> None:
        """A call is made, and has its result."""
        self.events.append(CallBegan(loop=self.loop, call=call))
        self.events.append(CallEnded(loop=self.loop, call=call, text=result, failed=False, seconds=0.5))
        answer = ToolResult(call=call.id, parts=(Text(text=result),), name=call.name)
        self.messages = (*self.messages, Message(role="tool", parts=(answer,)))

    def delegate(self, id: str, inherited: Inherited, *, call: str | None = None) -> None:
        """A delegation."""
        self.events.append(
            Delegated(
                id=id,
                loop=self.loop,
                call=call,
                path="contacts.ask",
                context="cold" if inherited.is_cold else "fork",
                chooser="call",
                requested="cold" if inherited.is_cold else "fork",
                inherited=inherited,
                offered=("fork", "cold"),
                tools=("find",),
                instructions=self.system,
            )
        )

    def end(self, text: str = "", how: How = "answered", seconds: float = 2.0) -> None:
        """The loop's end."""
        self.events.append(
            LoopEnded(loop=self.loop, how=how, text=text, turns=self.number, usage=self.usage, seconds=seconds)
        )


def history(*said: str) -> Conversation:
    """A conversation in which the user and the assistant take turns."""
    conversation = Conversation()
    for number, text in enumerate(said):
        conversation = conversation.assistant(text) if number % 2 else conversation.user(text)
    return conversation
