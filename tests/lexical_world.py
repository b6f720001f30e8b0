"""Small invented worlds for the lexical model: records of any kind behind one search tool, and conversations.

The loop, the section and the model are the real ones. The search is a plain one over the records' words, so that what
is tested is the model and not a capability.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from host.context import Inherited
from host.conversation import Conversation, Message, Text, ToolResult
from host.errors import NeedsClarification
from host.events import Event, Requested
from host.loop import Agent, ToolError, choose, chooser, lookup
from host.models.lexical import Lexical
from host.models.lexical.language import terms
from host.models.port import Model, Request
from host.spelling import content_words

type Row = Mapping[str, object]


def talk(*said: str) -> Inherited:
    """A conversation: "u: " is what the person says, "a: " the agent, "t: " a tool's result."""
    conversation = Conversation()
    for line in said:
        who, _, text = line.partition(": ")
        match who:
            case "u":
                conversation = conversation.user(text)
            case "a":
                conversation = conversation.assistant(text)
            case "t":
                result = ToolResult(call="call", name="tool", parts=(Text(text=text),))
                conversation = conversation.append(Message(role="tool", parts=(result,)))
            case _:
                raise ValueError(line)
    return Inherited.of(conversation)


def agent(rows: Sequence[Row], model: Model | None = None) -> Agent:
    """An agent that looks after records, each with a `ref`."""

    async def look(arguments: Mapping[str, object]) -> object:
        wanted = [term for word in content_words(str(arguments["text"])) for term in terms(word)]
        hits = [(sum(any(term.startswith(word) for term in _terms(row)) for word in wanted), row) for row in rows]
        return [row for hit, row in sorted(hits, key=lambda each: -each[0]) if hit]

    async def pick(key: object) -> str:
        if any(row["ref"] == key for row in rows):
            return str(key)
        raise ToolError(f"There is no {key}.")

    return chooser(
        name="things",
        about="You look after things.",
        model=model or Lexical(),
        lookups=[lookup("look", "Look things up.", {"text": {"type": "string"}}, look, required=["text"])],
        key="ref",
        described={"type": "string"},
        pick=pick,
    )


def _terms(row: Row) -> list[str]:
    return terms(json.dumps(row, ensure_ascii=False))


async def meant(
    rows: Sequence[Row], asked: str, inherited: Inherited | None = None, *, seen: list[Request] | None = None
) -> str | None:
    """The record that the model takes to be meant; None if it asks back."""

    def observe(event: Event) -> None:
        if seen is not None and isinstance(event, Requested):
            seen.append(event.request)

    try:
        return await choose(agent(rows), str, asked, inherited or Inherited.cold(), observe=observe)
    except NeedsClarification:
        return None
