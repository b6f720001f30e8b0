"""A session of Anthropic's coding agent: JSON Lines, each with a message, its time, and the line that it follows.

A reply is written down block by block, in lines with the id of one message. Lines of a side chain are those of a
subagent; its first line holds what it was asked, and the call that asked exactly this started it. Nothing else is sent
to it, so it started cold. What is no message (summaries, snapshots, notices) is left out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from host.context import Inherited
from host.conversation import Conversation, Message
from host.conversation.errors import ConversationError
from host.events import Delegated, Event
from host.record.foreign.told import NAMELESS, Telling, joined
from host.record.foreign.trace import UNKNOWN, Gap, Trace, moment, usage_in

__all__ = ["is_session", "read_session"]

_MARKS: Final = frozenset({"uuid", "parentUuid", "sessionId", "isSidechain"})
_MAIN: Final = "conversation"


def is_session(data: object) -> bool:
    """Whether these are the lines of such a session."""
    return isinstance(data, list) and any(_is_line(line) for line in data)


def _is_line(line: object) -> bool:
    return (
        isinstance(line, dict)
        and line.get("type") in ("user", "assistant")
        and isinstance(line.get("message"), dict)
        and not _MARKS.isdisjoint(line)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """One line that holds a message. `chain` is the loop that it belongs to."""

    chain: str
    message: Message
    reply: str | None
    item: Mapping[str, object]
    at: float


def read_session(data: object, source: str) -> Trace:
    """The run that a session tells of."""
    assert isinstance(data, list)
    lines = _lines([line for line in data if _is_line(line)], source)
    events: list[Event] = []
    chains: dict[str, Telling] = {}
    asked: dict[str, tuple[Telling, str, str]] = {}  # by prompt: who called, the call's id, the agent it named
    counted = models = 0
    for number, pieces in enumerate(_replies(lines)):
        first = pieces[0]
        message, item = joined([piece.message for piece in pieces]), first.item
        telling = chains.get(first.chain)
        if telling is None:
            telling = chains[first.chain] = _began(first, events, asked)
        usage = usage_in(pieces[-1].item.get("usage"))
        counted += usage is not None
        models += isinstance(item.get("model"), str)
        telling.message(message, usage=usage, at=pieces[-1].at)
        for call in message.calls:
            given = call.parsed or {}
            if isinstance(prompt := given.get("prompt"), str):
                agent = given.get("subagent_type")
                asked[prompt.strip()] = telling, call.id, agent if isinstance(agent, str) else f"subagent {number}"
    for telling in chains.values():
        telling.end()
    unknown: set[Gap] = {"tools", "instructions", "agents"}
    unknown |= set() if counted else {"tokens"}
    unknown |= set() if models else {"model"}
    unknown |= {"seconds"} if all(math.isnan(line.at) for line in lines) else set()
    return Trace(source=source, form="anthropic-session", events=tuple(events), unknown=frozenset(unknown))


def _began(first: _Line, events: list[Event], asked: Mapping[str, tuple[Telling, str, str]]) -> Telling:
    model = first.item.get("model")
    text = first.message.text
    if first.chain == _MAIN or text.strip() not in asked:
        return Telling(
            events,
            first.chain,
            agent=NAMELESS if first.chain == _MAIN else first.chain,
            model=model if isinstance(model, str) else UNKNOWN,
            request=text,
            at=first.at,
        )
    caller, call, agent = asked[text.strip()]
    events.append(
        Delegated(
            id=f"d_{first.chain}",
            loop=caller.loop,
            call=call,
            path=agent,
            context="cold",
            chooser="default",
            requested=None,
            inherited=Inherited.cold(),
        )
    )
    return Telling(
        events,
        first.chain,
        agent=agent,
        kind="call",
        request=text,
        parent=caller.loop,
        delegation=f"d_{first.chain}",
        at=first.at,
    )


def _lines(items: Sequence[Mapping[str, object]], source: str) -> list[_Line]:
    chains: dict[str, str] = {}
    lines: list[_Line] = []
    for number, item in enumerate(items, start=1):
        inner = item["message"]
        assert isinstance(inner, dict)
        own = item.get("uuid") if isinstance(item.get("uuid"), str) else f"line {number}"
        assert isinstance(own, str)
        chain = _MAIN
        if item.get("isSidechain") is True:
            above = chains.get(str(item.get("parentUuid")), _MAIN)
            agent = item.get("agentId")
            chain = f"side {agent}" if isinstance(agent, str) else above if above != _MAIN else f"side {own}"
        chains[own] = chain
        spoken = inner if isinstance(inner.get("role"), str) else {**inner, "role": item["type"]}
        try:
            (message,) = Conversation.from_json([{key: spoken.get(key) for key in ("role", "content")}]).messages
        except (ConversationError, ValueError) as error:
            raise ConversationError(f"{source}, message {number}: {error}") from None
        reply = inner.get("id") if item["type"] == "assistant" and isinstance(inner.get("id"), str) else None
        kept = Message(
            role=message.role,
            parts=message.parts,
            id=f"s_{own}",
            shape="anthropic",
            original=json.dumps(spoken, separators=(",", ":")).encode(),
        )
        lines.append(
            _Line(
                chain=chain,
                message=kept,
                reply=reply if isinstance(reply, str) else None,
                item=inner,
                at=moment(item.get("timestamp")),
            )
        )
    return lines


def _replies(lines: Sequence[_Line]) -> list[list[_Line]]:
    """The lines, those of one reply together, at the place of the first of them."""
    found: list[list[_Line]] = []
    replies: dict[tuple[str, str], list[_Line]] = {}
    for line in lines:
        if line.reply is None:
            found.append([line])
        elif (line.chain, line.reply) in replies:
            replies[line.chain, line.reply].append(line)
        else:
            found.append(replies.setdefault((line.chain, line.reply), [line]))
    return found
