"""What a child starts from: its instructions and its first messages, in one of three renderings.

- `none`, for a cold child: its own instructions, and the request. Nothing else.
- `quoted`: its own instructions with the inherited conversation as a section, and the request.
- `replayed`: what its caller last sent, as it stood; then what the caller has said since, without the call that starts
  this child; then the assignment. A provider that caches prefixes has most of it already. It takes the same agent on
  the same model with the same tools, or nothing would be shared: where that is not given, the history is quoted.

A replay repeats the caller's own message objects, and nothing that follows them can change how they are sent. If that
is in question (a result came in while the request was on its way), they are fixed in the form in which they were sent.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from host.context.inherited import Inherited
from host.context.layer import Layer, Sent, backwards
from host.context.loaded import without_loaded
from host.context.quoted import render
from host.context.steering import steering_of
from host.conversation import Message, Part, Text, Thinking, ToolCall, ToolResult, well_formed
from host.models.port import Request, ToolSpec

__all__ = ["Rendering", "Start", "prefix_hash", "start"]

Rendering = Literal["none", "quoted", "replayed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """A child's first request, without its tools. The last message is the request, all before it are the caller's.

    `shared` counts those. For a replayed fork, `prefix` is the `prefix_hash` of what the caller last sent, which the
    first `sent` messages repeat with the same system text and tools; None and 0 for others, which claim to share
    nothing.
    """

    system: str
    messages: tuple[Message, ...]
    rendering: Rendering
    prefix: str | None = None
    shared: int = 0
    sent: int = 0

    @property
    def own(self) -> tuple[Message, ...]:
        """The messages with which the child's own exchange begins."""
        return self.messages[self.shared :]


def start(
    *,
    instructions: str,
    tools: tuple[ToolSpec, ...],
    agent: str,
    model: str,
    request: str,
    inherited: Inherited,
    rendering: Literal["auto", "quoted", "replayed"] = "auto",
    nonce: str | None = None,
    assignment: str | None = None,
) -> Start:
    """What a child of this agent, on this model and with these tools, starts from.

    `rendering` is a wish: a cold child gets nothing, and what cannot be replayed is quoted; `Start.rendering` says
    which it was. `nonce` marks a quoted section. `assignment` is the id under which the work was given out. Linear in
    the length of the history.
    """
    if inherited.is_cold:
        return Start(system=instructions, messages=(_asked(request),), rendering="none")
    if rendering != "quoted":
        sent = replayable(inherited, instructions=instructions, tools=tools, agent=agent, model=model)
        if sent is not None:
            return _replayed(sent, inherited.layers[-1], request, assignment)
    section = render(without_loaded(inherited, agent), nonce=nonce)
    return Start(system=f"{instructions}\n\n{section}", messages=(_asked(request),), rendering="quoted")


def prefix_hash(request: Request) -> str:
    """The SHA-256 of what a provider could have cached of a request, in hexadecimal: tools, system text and messages as
    they are sent (`well_formed`), as JSON. Ids of messages and the tail are not part of it.
    """
    messages = [
        [message.role, message.name, [_plain(part) for part in message.parts]]
        for message in well_formed(request.messages)
    ]
    written = json.dumps([_tools(request.tools), request.system, messages], separators=(",", ":"))
    return hashlib.sha256(written.encode()).hexdigest()


def _asked(request: str) -> Message:
    return Message(role="user", parts=(Text(text=request),))


def replayable(
    inherited: Inherited, *, instructions: str, tools: tuple[ToolSpec, ...], agent: str, model: str
) -> Sent | None:
    """What the caller last sent, if this child can go on from it."""
    layer = inherited.layers[-1]
    sent = layer.sent
    if sent is None or not inherited or not _is_uncut(inherited):
        return None
    same = sent.agent == agent and sent.model == model and _same_tools(sent.request.tools, tools)
    if not same or not sent.request.system.startswith(instructions):
        return None
    steering = steering_of(inherited.layers)
    if steering.mentioned(sent.request.messages) or steering.mentioned(layer.passed()):
        return None
    return sent


def _is_uncut(inherited: Inherited) -> bool:
    choice = inherited.choice
    return choice.depth == "all" and choice.scope == "full" and not inherited.left_out


def _same_tools(one: tuple[ToolSpec, ...], other: tuple[ToolSpec, ...]) -> bool:
    """Whether tools are the same to the byte, and so in the same order down to the keys of their schemas."""
    return one is other or (one == other and json.dumps(_tools(one)) == json.dumps(_tools(other)))


def _replayed(sent: Sent, layer: Layer, request: str, assignment: str | None) -> Start:
    since = _without(sent.call, said_since(layer, sent))
    head = as_sent(sent.request.messages, since)
    own = Message(role="user", parts=(Text(text=_assigned(request, assignment)),))
    return Start(
        system=sent.request.system,
        messages=(*head, *since, own),
        rendering="replayed",
        prefix=prefix_hash(sent.request),
        shared=len(head) + len(since),
        sent=len(head),
    )


def said_since(layer: Layer, sent: Sent) -> list[Message]:
    """What the caller has said since it sent a request: all behind the last message of the request that it still has.

    If it has none of them any more, since its history was compacted meanwhile: what begins with the starting call.
    """
    known = {message.id for message in sent.request.messages}
    since: list[Message] = []
    begins = 0
    for message in backwards(layer.conversation):
        if message.id in known:
            begins = len(since)
            break
        if not message.volatile:
            since.append(message)
        if not begins and any(call.id == sent.call for call in message.calls):
            begins = len(since)
    del since[begins if known else len(since) :]
    since.reverse()
    return since


def _without(call: str | None, messages: list[Message]) -> list[Message]:
    """The messages without the last call of this id, and without results of it; what was only that call goes whole."""
    if call is None:
        return messages
    kept: list[Message] = []
    taken = False
    for message in reversed(messages):
        parts = [part for part in message.parts if not (isinstance(part, ToolResult) and part.call == call)]
        if not taken and (calls := [part for part in parts if isinstance(part, ToolCall) and part.id == call]):
            parts = [part for part in parts if part is not calls[-1]]
            taken = True
        if len(parts) == len(message.parts):
            kept.append(message)
        elif any(not isinstance(part, Thinking) for part in parts):
            kept.append(replace(message, parts=tuple(parts), original=None))
    kept.reverse()
    return kept if taken else messages


def as_sent(head: tuple[Message, ...], since: list[Message]) -> tuple[Message, ...]:
    """What was sent, so that nothing that was said since can change how it is sent again."""
    return well_formed(head) if since and not _closes(since[0]) else head


def _closes(message: Message) -> bool:
    """Whether a message ends the place where results of earlier calls may stand."""
    for part in message.parts if message.role == "assistant" else ():
        if isinstance(part, ToolResult):
            return False
        if not isinstance(part, Thinking) and not (isinstance(part, Text) and not part.text.strip()):
            return True
    return False


_BEGINS: Final = (
    "Here your own work begins. It was split off from the conversation above, which you know now, and which goes on"
    " without you. Keep to this part; whoever asked for it keeps the rest."
)


def _assigned(request: str, assignment: str | None) -> str:
    named = "" if assignment is None else f" This is assignment {assignment}."
    return f"{_BEGINS}{named}\n\n{request}"


def _tools(tools: tuple[ToolSpec, ...]) -> list[object]:
    return [[tool.name, tool.description, _dict(tool.parameters)] for tool in tools]


def _dict(value: object) -> object:
    """A JSON value with plain dicts for mappings of every kind."""
    if isinstance(value, Mapping):
        return {key: _dict(inner) for key, inner in value.items()}
    return [_dict(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def _plain(part: Part) -> list[object]:
    fields = [getattr(part, name) for name in type(part).__slots__]
    inner = [[_plain(each) for each in field] if isinstance(field, tuple) else field for field in fields]
    return [type(part).__name__, *inner]
