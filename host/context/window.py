"""What of a history a choice passes on: the window that is cut out of the layers of a tree.

In this order, each by itself:

- Turns are counted, on the history as it is. A turn is an exchange: it begins with what a person (in deeper layers:
  whoever gave the work) says after someone else has spoken, and runs to the answer, however many calls lie between. A
  user's message of nothing but tool results begins none. Since a layer hangs below the end of the one above, the turns
  of a tree are one sequence, and the recent ones are its last.
- Content is filtered. `conversation` keeps the words of user and assistant, with what they showed; `agents` also the
  results of calls to the tools that delegate; `full` keeps everything. A summary that stands in place of words counts
  as words.
- Tokens are bounded, if they are. What goes first is whole layers in the middle, the upper before the lower; then the
  oldest exchanges, the root's before the last layer's, down to one in each; then the oldest messages of these. A call
  is never cut from results that stand right behind it.

What is left out is counted, layer by layer (`Layer.left_out`), and a layer stays in its place even if nothing is left
of it. To cut a window out of itself changes nothing.

Turns are marked before content is filtered, and neither looks at what the other took: so it is all one which is first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from host.context.choice import ContextChoice, Scope
from host.context.layer import Layer
from host.conversation import (
    Conversation,
    Elsewhere,
    Media,
    Message,
    Part,
    Refusal,
    Summary,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from host.conversation.weight import weigh

__all__ = ["begins_turn", "filtered", "recent", "windowed"]


def windowed(layers: tuple[Layer, ...], choice: ContextChoice) -> tuple[Layer, ...]:
    """The layers as the choice passes them on. The same objects where it leaves nothing out."""
    if choice.is_whole:
        return layers
    chosen = [list(layer.passed()) for layer in layers]
    if choice.exchanges is not None:
        chosen = recent(chosen, choice.exchanges)
    chosen = [list(filtered(messages, choice.scope, layer)) for messages, layer in zip(chosen, layers, strict=True)]
    kept = chosen if choice.max_tokens is None else _bounded(chosen, choice.max_tokens)
    return tuple(map(_cut, layers, chosen, kept))


def _cut(layer: Layer, chosen: list[Message], kept: list[Message]) -> Layer:
    there = list(layer.passed())
    if len(kept) == len(there) and all(one is other for one, other in zip(kept, there, strict=True)):
        return layer
    return replace(
        layer,
        conversation=Conversation().extend(kept),
        left_out=layer.left_out + len(there) - len(kept),
        over_budget=layer.over_budget + len(chosen) - len(kept),
        until=layer.end,
    )


def begins_turn(message: Message, before: Message | None) -> bool:
    """Whether a message begins an exchange, after the one before it that was not volatile."""
    return _is_request(message) and (before is None or not _is_request(before))


def _is_request(message: Message) -> bool:
    return message.role == "user" and any(
        part.text.strip() if isinstance(part, (Text, Refusal)) else not isinstance(part, (ToolResult, Thinking))
        for part in message.parts
    )


def recent(layers: Sequence[Sequence[Message]], turns: int) -> list[list[Message]]:
    """The messages of the last turns, layer by layer; all of them, where there are fewer turns."""
    kept: list[list[Message]] = []
    for messages in reversed(layers):
        begins = _beginnings(messages)
        if turns <= 0:
            kept.append([])
        elif len(begins) < turns:
            kept.append(list(messages))
        else:
            kept.append(list(messages[begins[-turns] :]))
        turns -= len(begins)
    return kept[::-1]


def _beginnings(messages: Sequence[Message]) -> list[int]:
    """Where the turns begin."""
    return [
        number
        for number, message in enumerate(messages)
        if begins_turn(message, messages[number - 1] if number else None)
    ]


def filtered(messages: Iterable[Message], scope: Scope, layer: Layer) -> Iterator[Message]:
    """The messages with what belongs to the scope; one of which nothing is left is left out."""
    if scope == "full":
        yield from messages
        return
    brought = _brought(layer) if scope == "agents" else {}
    for message in messages:
        parts = tuple(
            [kept for number, part in enumerate(message.parts) for kept in _kept(part, number, message, brought)]
        )
        if parts and parts == message.parts:
            yield message
        elif parts:
            yield replace(message, parts=parts, original=None)


def _brought(layer: Layer) -> dict[tuple[str, int], str]:
    """The results of delegations in a layer: the tool's name by the message's id and the place in it."""
    names: dict[str, str] = {}
    found: dict[tuple[str, int], str] = {}
    for message in layer.conversation:
        for number, part in enumerate(message.parts):
            if isinstance(part, ToolCall) and part.id:
                names[part.id] = part.name
            elif isinstance(part, ToolResult):
                name = names.get(part.call, part.name)
                if name in layer.delegating:
                    found[message.id, number] = name
    return found


def _kept(part: Part, number: int, message: Message, brought: Mapping[tuple[str, int], str]) -> tuple[Part, ...]:
    match part:
        case Text() | Refusal() | Media():
            return (part,) if message.role in ("user", "assistant") else ()
        case Summary() | Elsewhere():
            return (part,)
        case ToolResult() if (message.id, number) in brought:
            return (replace(part, name=brought[message.id, number]),)
        case _:
            return ()


def _bounded(layers: list[list[Message]], tokens: int) -> list[list[Message]]:
    """The messages that fit, layer by layer."""
    weights = [sum(map(weigh, messages)) for messages in layers]
    total = sum(weights)
    kept = list(layers)
    for number in range(1, len(layers) - 1):
        if total > tokens:
            total -= weights[number]
            kept[number] = []
    for pieces in (_exchanges, _replies):
        for number in (0, len(layers) - 1):
            if total > tokens:
                kept[number], total = _shortened(pieces(kept[number]), total, tokens)
    return kept


def _shortened(pieces: list[list[Message]], total: int, tokens: int) -> tuple[list[Message], int]:
    """What is left of the messages without as many of the oldest pieces as it takes, but never the last piece."""
    gone = 0
    while total > tokens and gone < len(pieces) - 1:
        total -= sum(map(weigh, pieces[gone]))
        gone += 1
    return [message for piece in pieces[gone:] for message in piece], total


def _exchanges(messages: list[Message]) -> list[list[Message]]:
    """The messages, a piece for each exchange."""
    return _pieces(messages, _beginnings(messages))


def _replies(messages: list[Message]) -> list[list[Message]]:
    """The messages, a piece for each with the results right behind it; and an empty one at the end."""
    begins = [number for number, message in enumerate(messages) if not _is_results(message)]
    return [*_pieces(messages, begins), []]


def _is_results(message: Message) -> bool:
    return bool(message.parts) and all(isinstance(part, ToolResult) for part in message.parts)


def _pieces(messages: list[Message], begins: list[int]) -> list[list[Message]]:
    edges = sorted({0, *begins, len(messages)})
    return [messages[start:end] for start, end in pairwise(edges)]
