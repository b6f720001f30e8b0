"""Saved histories of every provider, read into a conversation.

What is accepted: a list of messages or items; one message; an object that holds them (a request, a request with its
response beside or inside it, a response alone, a saved state); JSON or JSON Lines. The shape is recognised item by
item. What is not is refused with one sentence that names the source and the place. Nothing else is ever raised.

A message that came in gets an id that the next reading of the same file gives it too: the provider's own where it has
one and it is the first of that name, else a digest of its content and of how many equal messages came before. So an
id survives when a history grows, and when other messages (unless they are equal) are edited or removed.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from os import PathLike
from pathlib import Path
from typing import Final

from host.conversation.blocks import Json, as_json
from host.conversation.document import NESTED_TOO_DEEPLY, called, parse
from host.conversation.envelope import Found, items, named
from host.conversation.errors import ConversationError
from host.conversation.items import commonest, evidence, read_item
from host.conversation.parts import SHAPES, Message, Shape
from host.conversation.tree import Conversation

__all__ = ["from_json", "load"]


def load(path: str | PathLike[str], *, shape: Shape | None = None) -> Conversation:
    """Read a file. Raises `ConversationError` for what it says, `OSError` if it cannot be read."""
    file = Path(path)
    data, is_lines = parse(file.read_bytes(), file.name)
    return _conversation(data, shape=shape, source=file.name, place="line" if is_lines else "message")


def from_json(data: object, *, shape: Shape | None = None, source: str = "the data") -> Conversation:
    """Read parsed JSON. The data is copied first: what its owner does to it later changes nothing."""
    try:
        copied = json.loads(json.dumps(data))
    except RecursionError:
        raise ConversationError(f"{source} is no conversation: {NESTED_TOO_DEEPLY}") from None
    except (TypeError, ValueError) as error:
        raise ConversationError(f"{source} is no conversation: it is not JSON ({called(str(error))})") from None
    return _conversation(copied, shape=shape, source=source, place="message")


def _conversation(data: object, *, shape: Shape | None, source: str, place: str) -> Conversation:
    if shape is not None and shape not in SHAPES:
        raise ConversationError(f"unknown shape {shape!r}: known are {', '.join(SHAPES)}")
    try:
        found = list(items(data, source, place))
        return _read(found, shape, source)
    except RecursionError:
        raise ConversationError(f"{source} is no conversation: {NESTED_TOO_DEEPLY}") from None


def _read(found: list[Found], shape: Shape | None, source: str) -> Conversation:
    known = [each.shape or (evidence(each.item) if isinstance(each.item, dict) else None) for each in found]
    usual = commonest(known, next((each.likely for each in found if each.likely is not None), "openai-chat"))
    conversation = Conversation()
    ids = _Ids()
    for each, own in zip(found, known, strict=True):
        conversation = conversation.append(_message(each, shape or own or usual, ids, source))
    return conversation


def _message(found: Found, shape: Shape, ids: _Ids, source: str) -> Message:
    item = found.item
    if not isinstance(item, dict):
        raise ConversationError(
            f"{source} is no conversation: {found.place} should be an object with a role, found {named(item)}"
        )
    original = _bytes(item)
    if found.aside is not None:
        return Message(role="system", parts=found.aside, id=ids.next(None, original), shape=shape, original=original)
    read = read_item(item)
    if read is None:
        raise ConversationError(
            f"{source} is no conversation: {found.place} has neither a 'role' nor a 'type': found {named(item)}"
        )
    return Message(
        role=read.role,
        parts=read.parts,
        name=read.name,
        id=ids.next(read.id, original),
        shape=shape,
        original=original,
    )


class _Ids:
    """Gives each message of one history its id."""

    LONGEST_OWN: Final = 200

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._seen: Counter[bytes] = Counter()

    def next(self, own: str | None, original: bytes) -> str:
        if own is not None and len(own) <= self.LONGEST_OWN and own not in self._taken:
            self._taken.add(own)
            return own
        digest = hashlib.blake2b(original, digest_size=10)
        self._seen[key := digest.digest()] += 1
        while True:
            digest.update(b"\0%d" % self._seen[key])
            made = f"i_{digest.hexdigest()}"
            if made not in self._taken:
                self._taken.add(made)
                return made


def _bytes(item: Json) -> bytes:
    """An item as compact UTF-8 JSON; half surrogates, which UTF-8 has not, stay escaped."""
    try:
        return as_json(item).encode()
    except UnicodeEncodeError:
        return json.dumps(item, separators=(",", ":")).encode()
