"""A conversation as plain data for msgpack, and back: for sessions that are stored or moved to another process.

One table says which fields each part has and of what kind; writing, reading and checking all follow it. What is read
may come from a damaged or foreign file, so nothing is believed: a wrong type anywhere is a `ConversationError` that
says where. Text with half a surrogate, which UTF-8 and so msgpack cannot hold, is written as bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, get_args

from host.conversation.errors import ConversationError
from host.conversation.parts import (
    SHAPES,
    Elsewhere,
    Media,
    MediaKind,
    Message,
    Opaque,
    Part,
    Refusal,
    Summary,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from host.conversation.tree import Conversation

__all__ = ["from_plain", "to_plain"]

_FORMAT: Final = "branchpoint conversation 1"
_DEEPEST: Final = 20

_Kind = Literal["text", "text or none", "size", "flag", "parts", "media kind"]

_PARTS: Final[dict[str, tuple[type[Part], tuple[tuple[str, _Kind], ...]]]] = {
    "text": (Text, (("text", "text"),)),
    "media": (
        Media,
        (
            ("kind", "media kind"),
            ("media_type", "text or none"),
            ("size", "size"),
            ("source", "text or none"),
            ("name", "text or none"),
        ),
    ),
    "call": (ToolCall, (("id", "text"), ("name", "text"), ("arguments", "text"))),
    "result": (ToolResult, (("call", "text"), ("parts", "parts"), ("is_error", "flag"), ("name", "text or none"))),
    "thinking": (Thinking, (("text", "text"), ("signature", "text or none"), ("redacted", "text or none"))),
    "refusal": (Refusal, (("text", "text"),)),
    "summary": (Summary, (("text", "text or none"),)),
    "elsewhere": (Elsewhere, (("reference", "text"),)),
    "opaque": (Opaque, (("type", "text"), ("json", "text"))),
}
_TAGS: Final = {part: tag for tag, (part, _) in _PARTS.items()}


def to_plain(conversation: Conversation) -> dict[str, object]:
    """The branch from its root, each message as a list: id, role, name, shape, volatile, original, parts."""
    messages: list[object] = [
        [
            _text(message.id),
            _text(message.role),
            _text(message.name),
            message.shape,
            message.volatile,
            message.original,
            _parts(message.parts, 0),
        ]
        for message in conversation
    ]
    return {"format": _FORMAT, "messages": messages}


def _text(value: str | None) -> str | bytes | None:
    if value is None or value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-8", "surrogatepass")
    return value


def _parts(parts: tuple[Part, ...], depth: int) -> list[object]:
    if depth > _DEEPEST:
        raise ConversationError(f"results are nested in results more than {_DEEPEST} deep")
    return [_part(part, depth) for part in parts]


def _part(part: Part, depth: int) -> list[object]:
    tag = _TAGS[type(part)]
    written: list[object] = [tag]
    for name, kind in _PARTS[tag][1]:
        value = getattr(part, name)
        if kind == "parts":
            written.append(_parts(value, depth + 1))
        else:
            written.append(_text(value) if isinstance(value, str) else value)
    return written


def from_plain(plain: object) -> Conversation:
    """The conversation that `to_plain` wrote. Raises `ConversationError` for anything else."""
    if not isinstance(plain, dict) or plain.get("format") != _FORMAT:
        raise ConversationError(f"stored conversation: expected {_FORMAT!r}")
    messages = plain.get("messages")
    if not isinstance(messages, (list, tuple)):
        raise ConversationError("stored conversation: expected a list of messages")
    return Conversation().extend(_read(messages))


def _read(messages: list[object] | tuple[object, ...]) -> Iterator[Message]:
    for number, fields in enumerate(messages, start=1):
        try:
            yield _message(fields)
        except _Damaged as damage:
            raise ConversationError(f"stored conversation: message {number}: {damage}") from None


class _Damaged(Exception):
    """A field is not what the table says; the message is the end of a sentence."""


def _message(fields: object) -> Message:
    if not isinstance(fields, (list, tuple)) or len(fields) != 7:
        raise _Damaged("expected seven fields")
    id, role, name, shape, volatile, original, parts = fields  # noqa: A001
    if shape is not None and shape not in SHAPES:
        raise _Damaged(f"unknown shape {shape!r}")
    if original is not None and not isinstance(original, bytes):
        raise _Damaged("the original item should be bytes")
    return Message(
        id=_required("id", id),
        role=_required("role", role),
        name=_optional("name", name),
        shape=shape,
        volatile=_flag("volatile", volatile),
        original=original,
        parts=_read_parts(parts, 0),
    )


def _read_parts(parts: object, depth: int) -> tuple[Part, ...]:
    if not isinstance(parts, (list, tuple)) or depth > _DEEPEST:
        raise _Damaged("expected a list of parts")
    return tuple([_read_part(part, depth) for part in parts])


def _read_part(part: object, depth: int) -> Part:
    if not isinstance(part, (list, tuple)) or not part or not isinstance(part[0], str) or part[0] not in _PARTS:
        raise _Damaged("expected a part of a known kind")
    made, fields = _PARTS[part[0]]
    if len(part) != len(fields) + 1:
        raise _Damaged(f"a part {part[0]!r} has {len(fields)} fields, found {len(part) - 1}")
    read: dict[str, object] = {}
    for (name, kind), value in zip(fields, part[1:], strict=True):
        match kind:
            case "text":
                read[name] = _required(name, value)
            case "text or none":
                read[name] = _optional(name, value)
            case "flag":
                read[name] = _flag(name, value)
            case "size":
                read[name] = _size(name, value)
            case "media kind":
                read[name] = _media_kind(name, value)
            case "parts":
                read[name] = _read_parts(value, depth + 1)
    return made(**read)  # type: ignore[arg-type]


def _required(name: str, value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise _Damaged(f"{name} is not UTF-8") from None
    raise _Damaged(f"{name} should be text")


def _optional(name: str, value: object) -> str | None:
    return None if value is None else _required(name, value)


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise _Damaged(f"{name} should be true or false")
    return value


def _size(name: str, value: object) -> int | None:
    if value is not None and (type(value) is not int or value < 0):
        raise _Damaged(f"{name} should be a number of bytes")
    return value


def _media_kind(name: str, value: object) -> MediaKind:
    if value not in get_args(MediaKind):
        raise _Damaged(f"{name} should be one of {', '.join(get_args(MediaKind))}")
    return value  # type: ignore[return-value]
