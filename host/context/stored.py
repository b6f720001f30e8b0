"""An inherited tree as plain data for msgpack, and back: for ledgers and for sessions that are put to sleep.

What a loop last sent (`Layer.sent`) is left out: it is of use to a fork that begins now, and that moment has gone.
What is read may come from a damaged or foreign file, so nothing in it is believed.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any, Final

from host.context.choice import ContextChoice
from host.context.inherited import Inherited
from host.context.layer import Layer
from host.conversation import Conversation, ConversationError

__all__ = ["tree_from_plain", "tree_to_plain"]

_TEXTS: Final = ("agent", "below", "until")
_NAMES: Final = ("steering", "delegating", "loading")
_COUNTS: Final = ("left_out", "over_budget")


def tree_to_plain(inherited: Inherited) -> dict[str, object]:
    """The tree as dicts, lists, strings and bytes. Linear in its messages."""
    described = {"choice": asdict(inherited.choice), "layers": [_described(layer) for layer in inherited.layers]}
    conversations = [layer.conversation.to_plain() for layer in inherited.layers]
    return {"tree": json.dumps(described), "conversations": conversations}


def tree_from_plain(plain: object) -> Inherited:
    """The inverse of `tree_to_plain`. Raises `ConversationError` for anything else."""
    if not isinstance(plain, dict):
        raise ConversationError("stored tree: expected the plain form of one")
    try:
        described = json.loads(plain["tree"])
        layers = [
            Layer(conversation=Conversation.from_plain(conversation), **_read(fields))
            for conversation, fields in zip(plain["conversations"], described["layers"], strict=True)
        ]
        return Inherited(layers=tuple(layers), choice=ContextChoice(**described["choice"]))
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise ConversationError(f"stored tree: {error}") from None


def _described(layer: Layer) -> dict[str, object]:
    fields: dict[str, object] = {name: getattr(layer, name) for name in (*_TEXTS, *_COUNTS)}
    return fields | {name: sorted(getattr(layer, name)) for name in _NAMES}


def _read(described: dict[str, object]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name in _TEXTS:
        fields[name] = None if described[name] is None else text(described[name])
    for name in _NAMES:
        names = described[name]
        if not isinstance(names, list):
            raise TypeError(f"{name} should be a list of names")
        fields[name] = frozenset(map(text, names))
    for name in _COUNTS:
        count = described[name]
        if type(count) is not int or count < 0:
            raise ValueError(f"{name} should be a number of messages")
        fields[name] = count
    return fields


def text(value: object) -> str:
    """A value that must be text. Raises TypeError."""
    if not isinstance(value, str):
        raise TypeError(f"expected text, found {type(value).__name__}")
    return value
