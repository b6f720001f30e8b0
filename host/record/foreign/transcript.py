"""Saved messages of any provider (OpenAI, Anthropic, LangChain), read as the run of one loop.

The agent is the author of the first answer that has a name. Usage and model are read from the messages themselves,
where providers and LangChain keep them. Messages say neither which tools were on offer nor how long anything took.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from host.conversation import Conversation, Message
from host.conversation.items import commonest
from host.events import Event
from host.models.port import Usage
from host.record.foreign.told import NAMELESS, Telling
from host.record.foreign.trace import UNKNOWN, Gap, Trace, usage_in

__all__ = ["read_transcript"]


def read_transcript(data: object, source: str) -> Trace:
    """The run that messages tell of. Raises `ConversationError` if they are none."""
    messages = Conversation.from_json(data, source=source).messages
    about = {message.id: _about(message) for message in messages if message.role == "assistant"}
    usages = {id: usage for id, said in about.items() if (usage := _usage(said)) is not None}  # noqa: A001
    wrapped = data if isinstance(data, dict) else {}
    models = [model for said in (*about.values(), wrapped) if (model := _model(said)) is not None]
    names = [message.name for message in messages if message.role == "assistant" and message.name]
    asked = next((message.text for message in messages if message.role == "user" and message.text), "")
    events: list[Event] = []
    telling = Telling(
        events,
        "conversation",
        agent=names[0] if names else NAMELESS,
        model=models[0] if models else UNKNOWN,
        request=asked,
    )
    for message in messages:
        telling.message(message, usage=usages.get(message.id))
    telling.end()
    unknown: set[Gap] = {"tools", "seconds"}
    unknown |= set() if names else {"agents"}
    unknown |= set() if models else {"model"}
    unknown |= set() if usages else {"tokens"}
    unknown |= set() if any(message.role in ("system", "developer") for message in messages) else {"instructions"}
    form = commonest((message.shape for message in messages), "openai-chat")
    return Trace(source=source, form=form, events=tuple(events), unknown=frozenset(unknown))


def _about(message: Message) -> Mapping[str, object]:
    """The provider's own item: what stands beside the content is there alone."""
    try:
        item = json.loads(message.original or b"null")
    except (ValueError, RecursionError):
        return {}
    for key in ("kwargs", "data"):
        if isinstance(item, dict) and isinstance(inner := item.get(key), dict):
            item = inner
    return item if isinstance(item, dict) else {}


def _places(said: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    """Where providers, and LangChain for them, keep what is about a reply."""
    yield said
    for key in ("response_metadata", "additional_kwargs"):
        inner = said.get(key)
        if isinstance(inner, dict):
            yield inner


def _usage(said: Mapping[str, object]) -> Usage | None:
    for place in _places(said):
        for key in ("usage_metadata", "usage", "token_usage"):
            if (usage := usage_in(place.get(key))) is not None:
                return usage
    return None


def _model(said: Mapping[str, object]) -> str | None:
    for place in _places(said):
        for key in ("model_name", "model"):
            name = place.get(key)
            if isinstance(name, str) and name:
                return name
    return None
