"""Runs with forks and hand-offs, written down by hand: agents who do things, shortly."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from host.context import Inherited
from host.context.choice import COLD, COMPACT, FORK, ContextChoice
from host.conversation import Conversation, Message, Text, ToolCall, ToolResult
from host.events import (
    Arm,
    CallBegan,
    CallEnded,
    Delegated,
    Event,
    Forked,
    HandedOff,
    How,
    Joined,
    Kind,
    LoopBegan,
    LoopEnded,
    Replied,
    Requested,
    TurnEnded,
)
from host.models.port import Reply, Request, ToolSpec, Usage


def tool(name: str, description: str = "Does it.", **properties: object) -> ToolSpec:
    """A tool with these parameters; one of type string if none are given."""
    given = properties or {"text": {"type": "string"}}
    return ToolSpec(name=name, description=description, parameters={"type": "object", "properties": given})


def fork_tool(*agents: str, description: str = "Forks this conversation.") -> ToolSpec:
    """The tool by which an agent forks, to these agents or to any."""
    agent: dict[str, object] = {"type": "string", **({"enum": list(agents)} if agents else {})}
    branch = {"type": "object", "properties": {"name": {}, "instructions": {}, "agent": agent}}
    return tool("fork", description, branches={"type": "array", "items": branch})


MODES: Mapping[str, ContextChoice] = {"inherit": FORK, "compact": COMPACT, "none": COLD}
FIND = tool("find", "Finds records.")
READ = tool("read_file", "Reads a file.", path={"type": "string"})
WRITE = tool("write_file", "Writes a file.", path={"type": "string"}, content={"type": "string"})


@dataclass(slots=True, kw_only=True)
class Part:
    """A branch to be: `does` plays it, and its loop ends as told."""

    name: str
    instructions: str = "Do your part."
    agent: str | None = None
    calls: Sequence[tuple[str, dict[str, Any], str]] = ()
    text: str = "Done."
    how: How = "answered"
    seconds: float = 3.0
    cached: int | None = None
    joined: bool = True


@dataclass(slots=True, kw_only=True)
class Played:
    """One loop at work, told to a list of events that the loops of a run share."""

    events: list[Event] = field(default_factory=list)
    loop: str = "l1"
    agent: str = "desk"
    kind: Kind = "conversation"
    system: str = "You are the desk. You may fork."
    tools: tuple[ToolSpec, ...] = (FIND, READ, WRITE)
    request: str = "Look into it."
    parent: str | None = None
    branch: str | None = None
    delegation: str | None = None
    depth: int = 0
    messages: list[Message] = field(default_factory=list)
    number: int = 0
    made: int = 0
    usage: Usage = field(default_factory=Usage)
    input: int | None = None
    cached: int | None = None

    def __post_init__(self) -> None:
        self.events.append(
            LoopBegan(
                loop=self.loop,
                agent=self.agent,
                model="scripted",
                kind=self.kind,
                depth=self.depth,
                request=self.request,
                parent=self.parent,
                delegation=self.delegation,
                branch=self.branch,
                rendering="replayed" if self.branch else "none",
            )
        )
        self.user(self.request)

    def user(self, text: str) -> None:
        """The person, or whoever asks, says something."""
        self.messages.append(Message(role="user", parts=(Text(text=text),)))

    def reply(self, text: str = "", *calls: ToolCall, seconds: float = 1.0) -> None:
        """A request, and the reply to it."""
        self.number += 1
        request = Request(system=self.system, messages=tuple(self.messages), tools=self.tools)
        self.events.append(Requested(loop=self.loop, number=self.number, request=request))
        usage = Usage() if self.input is None else Usage(input=self.input, output=10, cached=self.cached)
        reply = Reply.of(text, *calls, usage=usage)
        self.usage += usage
        self.messages.append(reply.message())
        self.events.append(Replied(loop=self.loop, number=self.number, reply=reply, seconds=seconds))

    def _call(self, name: str, arguments: dict[str, Any]) -> ToolCall:
        self.made += 1
        return ToolCall(id=f"{self.loop}_call_{self.made}", name=name, arguments=json.dumps(arguments))

    def calls(
        self, name: str, result: str = "Nothing.", *, seconds: float = 0.5, failed: bool = False, **arguments: Any
    ) -> None:
        """A reply with one call, and its result."""
        self.at_once((name, arguments, result), seconds=seconds, failed=failed)

    def at_once(
        self, *wanted: tuple[str, dict[str, Any], str], seconds: float = 0.5, failed: bool = False, text: str = ""
    ) -> None:
        """A reply with several calls, and their results."""
        calls = [(self._call(name, arguments), result) for name, arguments, result in wanted]
        self.reply(text, *[call for call, _ in calls])
        for call, result in calls:
            self._begin(call)
            self._end(call, result, seconds=seconds, failed=failed)

    def _begin(self, call: ToolCall) -> None:
        self.events.append(CallBegan(loop=self.loop, call=call))

    def _end(self, call: ToolCall, result: str, *, seconds: float = 0.5, failed: bool = False) -> None:
        self.events.append(CallEnded(loop=self.loop, call=call, text=result, failed=failed, seconds=seconds))
        part = ToolResult(call=call.id, parts=(Text(text=result),), is_error=failed, name=call.name)
        self.messages.append(Message(role="tool", parts=(part,)))

    def hands_off(
        self,
        target: str,
        reason: str | None = None,
        *,
        tools: tuple[ToolSpec, ...] | None = None,
        beside: tuple[str, dict[str, Any], str] | None = None,
    ) -> None:
        """Control moves to another agent, which has tools of its own."""
        call = self._call(f"transfer_to_{target}", {} if reason is None else {"reason": reason})
        other = None if beside is None else self._call(beside[0], beside[1])
        self.reply("", *([] if other is None else [other]), call)
        if other is not None and beside is not None:
            self._begin(other)
            self._end(other, beside[2])
        self._begin(call)
        self.events.append(
            HandedOff(loop=self.loop, call=call.id, source=self.agent, target=target, reason=reason)
        )  # fmt: skip
        self._end(call, f"{target} has control now.")
        self.agent = target
        self.system = f"You are the {target}."
        self.tools = self.tools if tools is None else tools

    def forks(self, *parts: Part, mode: str = "inherit") -> None:
        """A reply that forks; the branches, at once; the join."""
        asked = [
            {"name": part.name, "instructions": part.instructions, **({"agent": part.agent} if part.agent else {})}
            for part in parts
        ]
        call = self._call("fork", {"branches": asked, "context": mode})
        self.reply("", call)
        self._begin(call)
        arms = [Arm(name=part.name, agent=part.agent or self.agent) for part in parts]
        self.events.append(Forked(loop=self.loop, call=call.id, mode=mode, arms=tuple(arms)))
        choice = MODES[mode]
        branches = []
        for part, arm in zip(parts, arms, strict=True):
            name = f"{self.loop}.{part.name}"
            inherited = Inherited.cold()
            if not choice.is_cold:
                inherited = Inherited.of(Conversation.of(*self.messages), agent=self.agent, choice=choice)
            self.events.append(
                Delegated(
                    id=f"d_{name}",
                    loop=self.loop,
                    call=call.id,
                    path="fork",
                    context="cold" if choice.is_cold else "fork",
                    chooser="call",
                    requested="cold" if choice.is_cold else "fork",
                    inherited=inherited,
                )
            )
            branch = Played(
                events=self.events,
                loop=name,
                agent=arm.agent,
                kind="branch",
                system=self.system if arm.agent == self.agent else f"You are the {arm.agent}.",
                tools=self.tools,
                request=part.instructions,
                parent=self.loop,
                branch=part.name,
                delegation=f"d_{name}",
                depth=self.depth + 1,
                messages=[] if choice.is_cold else list(self.messages),
                input=self.input,
                cached=part.cached,
            )
            branches.append(branch)
        for part, branch in zip(parts, branches, strict=True):
            for name, arguments, result in part.calls:
                branch.calls(name, result, **arguments)
            branch.reply(part.text)
            branch.ends(part.text, how=part.how, seconds=part.seconds)
        if not all(part.joined for part in parts):
            return
        joined = [
            Arm(
                name=arm.name,
                agent=arm.agent,
                loop=branch.loop,
                status="ok" if part.how == "answered" else "error",
                text=part.text,
            )
            for part, arm, branch in zip(parts, arms, branches, strict=True)
        ]
        seconds = max(part.seconds for part in parts)
        self.events.append(Joined(loop=self.loop, call=call.id, arms=tuple(joined), seconds=seconds))
        self._end(call, "\n\n".join(f"### {arm.name} ({arm.status})\n{arm.text}" for arm in joined), seconds=seconds)

    def answers(self, text: str = "That is all.") -> None:
        """The last reply of a turn."""
        self.reply(text)
        self.events.append(
            TurnEnded(loop=self.loop, how="answered", text=text, turns=self.number, usage=self.usage)
        )  # fmt: skip

    def ends(self, text: str = "That is all.", *, how: How = "answered", seconds: float = 20.0) -> list[Event]:
        """The loop is over. Gives the run's events."""
        self.events.append(
            LoopEnded(loop=self.loop, how=how, text=text, turns=self.number, usage=self.usage, seconds=seconds)
        )
        return self.events
