"""What an agent loaded for itself, skills and instructions that came as results of its tools, is of use to that agent
alone: a fork that runs on another agent does not get it (R29). All else is passed on as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from host.context.inherited import Inherited
from host.context.layer import Layer
from host.conversation import Conversation, Message, ToolCall, ToolResult

__all__ = ["without_loaded"]


def without_loaded(inherited: Inherited, agent: str) -> Inherited:
    """The tree as this agent may have it. The same object where nothing is dropped. Linear where anything may be."""
    if not any(layer.loading for layer in inherited.layers):
        return inherited
    layers = tuple([layer if _of(layer) == agent else _without(layer) for layer in inherited.layers])
    return replace(inherited, layers=layers)


def _of(layer: Layer) -> str | None:
    return layer.agent if layer.sent is None else layer.sent.agent


def _without(layer: Layer) -> Layer:
    if not layer.loading:
        return layer
    kept = Conversation().extend(_kept(layer))
    return replace(layer, conversation=kept, until=layer.end)


def _kept(layer: Layer) -> Iterator[Message]:
    loads: set[str] = set()
    for message in layer.conversation:
        loads |= {call.id for call in message.calls if call.name in layer.loading}
        parts = tuple(
            [
                part
                for part in message.parts
                if not (isinstance(part, ToolCall) and part.name in layer.loading)
                and not (isinstance(part, ToolResult) and part.call in loads)
            ]
        )
        if len(parts) == len(message.parts):
            yield message
        elif parts:
            yield replace(message, parts=parts, original=None)
