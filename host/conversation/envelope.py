"""What a history comes wrapped in: a request, a response, both, a saved state, or nothing; and where each item stood.

A request holds its messages beside things that belong to the history too: Anthropic's `system`, OpenAI's
`instructions`, and references to history that the provider's server keeps. These are found as items that stand aside,
with their parts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from host.conversation.blocks import Json, content
from host.conversation.errors import ConversationError
from host.conversation.items import read_item
from host.conversation.parts import Elsewhere, Part, Shape

__all__ = ["Found", "items", "named"]

_EXPECTED: Final = "expected a list of messages or an object with 'messages'"
_HELD: Final = ("previous_response_id", "conversation")
_LISTS: Final = ("messages", "input", "output")
_HOLDERS: Final = (*_LISTS, "choices", "request", "response", "values")
_DEEPEST: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """An item, and where it stands, for error messages.

    `shape` is what its envelope says about it, `likely` what it suggests. `aside` holds the parts of an item that is no
    message in its provider's form, but stood beside them.
    """

    item: object
    place: str
    shape: Shape | None = None
    likely: Shape | None = None
    aside: tuple[Part, ...] | None = None


def items(data: object, source: str, place: str, *, depth: int = 0) -> Iterator[Found]:
    """All items of a document in order. `place` is what one is called ("message", "line")."""
    if isinstance(data, list):
        for number, item in enumerate(data, start=1):
            if isinstance(item, dict) and _holds(item):
                raise ConversationError(
                    f"{source} is no conversation: {place} {number} is a whole conversation; one file holds one"
                )
            yield Found(item=item, place=f"{place} {number}")
    elif isinstance(data, dict) and _holds(data) and depth <= _DEEPEST:
        yield from _held(data, source, depth)
    elif isinstance(data, dict) and read_item(data) is not None:
        yield Found(item=data, place="the message")
    else:
        raise ConversationError(f"{source} is no conversation: {_EXPECTED}, found {named(data)}")


def _holds(data: Json) -> bool:
    """Whether an object holds messages. One with a role or a type is a message itself, whatever else is in it."""
    if isinstance(data.get("messages"), list):
        return True
    is_item = isinstance(data.get("role"), str) or isinstance(data.get("type"), str)
    return not is_item and (any(data.get(key) is not None for key in _HOLDERS) or any(_references(data)))


def _held(data: Json, source: str, depth: int) -> Iterator[Found]:
    yield from _aside(data)
    yield from _nested(data, "request", source, depth)
    yield from _nested(data, "values", source, depth)
    for key in _LISTS:
        yield from _listed(data, key, source)
    yield from _chosen(data, source)
    response = data.get("response")
    if isinstance(response, dict) and any(key in data for key in (*_LISTS, "request")):
        # It repeats the instructions that its request had.
        data = {"response": {key: value for key, value in response.items() if key not in (*_HELD, *_INSTRUCTIONS)}}
    yield from _nested(data, "response", source, depth)


def _aside(data: Json) -> Iterator[Found]:
    for key, reference in _references(data):
        part = Elsewhere(reference=reference)
        yield Found(item={key: data[key]}, place=f"'{key}'", shape="openai-responses", aside=(part,))
    for key, shape in _INSTRUCTIONS.items():
        value = data.get(key)
        if isinstance(value, list) and value and all(isinstance(item, dict) and "role" in item for item in value):
            for number, item in enumerate(value, start=1):
                yield Found(item=item, place=f"item {number} of '{key}'", shape=shape)
        elif parts := content(value):
            yield Found(item={key: value}, place=f"'{key}'", shape=shape, aside=parts)


def _references(data: Json) -> Iterator[tuple[str, str]]:
    """What a request or response says about history that the server holds: a name for it, or an object with its id."""
    for key in _HELD:
        value = data.get(key)
        reference = value.get("id") if isinstance(value, dict) else value
        if isinstance(reference, str) and reference:
            yield key, reference


_INSTRUCTIONS: Final[Mapping[str, Shape]] = {"instructions": "openai-responses", "system": "anthropic"}
_SPEAKERS: Final[Mapping[str, str]] = {"messages": "user", "input": "user", "output": "assistant"}


def _listed(data: Json, key: str, source: str) -> Iterator[Found]:
    value = data.get(key)
    shape: Shape | None = None if key == "messages" else "openai-responses"
    if value is None:
        return
    if isinstance(value, str):
        yield Found(item={"role": _SPEAKERS[key], "content": value}, place=f"'{key}'", shape=shape)
    elif isinstance(value, list):
        for number, item in enumerate(value, start=1):
            yield Found(item=item, place=f"item {number} of '{key}'" if shape else f"message {number}", likely=shape)
    else:
        raise ConversationError(f"{source} is no conversation: expected '{key}' to be a list, found {named(value)}")


def _chosen(data: Json, source: str) -> Iterator[Found]:
    """The answer in a response of OpenAI chat: the first of its choices."""
    choices = data.get("choices")
    if choices is None:
        return
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    if not isinstance(message, dict):
        raise ConversationError(f"{source} is no conversation: expected a 'message' in the first of its 'choices'")
    yield Found(item=message, place="the first of 'choices'", shape="openai-chat")


def _nested(data: Json, key: str, source: str, depth: int) -> Iterator[Found]:
    value = data.get(key)
    if value is not None:
        yield from items(value, source, f"message of '{key}', number", depth=depth + 1)


def named(value: object) -> str:
    """What a JSON value is, in words, for an error message."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "a list" if value else "an empty list"
        case dict() if value:
            keys = [json.dumps(key if len(key) <= 30 else key[:29] + "…") for key in list(value)[:3]]
            return f"an object with {', '.join(keys)}{' and more' if len(value) > 3 else ''}"
        case _:
            return "an empty object"
