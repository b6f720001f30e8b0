"""What messages are made of, in no provider's form.

Every provider's content is read into these few parts (`reading`), and every renderer writes from them. Two rules:

- Nothing is lost. What has no part of its own here is an `Opaque`, and a message keeps the provider's own item beside
  its parts (`Message.original`), so that it can be sent again as it was.
- A part holds what the provider said, even if it is broken: arguments that are no JSON, a result for an unknown call,
  text with NUL or half a surrogate. To make it safe is the renderer's work, who knows for whom.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

__all__ = [
    "SHAPES",
    "Elsewhere",
    "Media",
    "MediaKind",
    "Message",
    "Opaque",
    "Part",
    "Refusal",
    "Role",
    "Shape",
    "Summary",
    "Text",
    "Thinking",
    "ToolCall",
    "ToolResult",
    "message_id",
]

type Role = str
"""Who speaks: "system", "developer", "user", "assistant" or "tool"; any other name is kept as the provider wrote it."""

MediaKind = Literal["image", "audio", "video", "document", "file"]
Shape = Literal["openai-chat", "openai-responses", "anthropic", "langchain"]
SHAPES: Final[tuple[Shape, ...]] = get_args(Shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """What was said, in words."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Media:
    """An image, a recording, a document. `source` is a data URL, an address, or "file:" and the provider's file id.

    `size` counts bytes, and is None where only the provider knows it. `name` is a file name or title.
    """

    kind: MediaKind
    media_type: str | None = None
    size: int | None = None
    source: str | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call that the model made. `arguments` is the text that the model wrote, which may be anything at all."""

    id: str
    name: str
    arguments: str = ""

    @property
    def parsed(self) -> Mapping[str, object] | None:
        """The arguments as a JSON object; empty for blank text and null; None if they are no JSON object."""
        if not self.arguments.strip():
            return {}
        try:
            value = json.loads(self.arguments)
        except (ValueError, RecursionError):
            return None
        if value is None:
            return {}
        return value if isinstance(value, dict) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a tool answered. `call` is the id of the call, which need not occur in the conversation, or only once."""

    call: str
    parts: tuple[Part, ...] = ()
    is_error: bool = False
    name: str | None = None

    @property
    def text(self) -> str:
        """The words of its text parts, a line between two of them."""
        return "\n".join([part.text for part in self.parts if isinstance(part, Text)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinking:
    """Reasoning. `signature` and `redacted` are the provider's sealed data: valid on the same model or not at all."""

    text: str = ""
    signature: str | None = None
    redacted: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """The model declined, in these words."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A compaction: it stands in place of earlier messages. `text` is None where the provider sealed it."""

    text: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Elsewhere:
    """Earlier history that the provider's server holds under `reference`; it is not in this conversation."""

    reference: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Opaque:
    """An item or block of a kind that has no part of its own: its type, and itself as JSON text."""

    type: str
    json: str


type Part = Text | Media | ToolCall | ToolResult | Thinking | Refusal | Summary | Elsewhere | Opaque


def message_id() -> str:
    """A new id that no other message has, in this process or any other."""
    return f"m_{os.urandom(10).hex()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message. It never changes; its id names it for as long as it is remembered by anyone.

    `original` is the provider's own item as UTF-8 JSON, in the form called `shape`: what was received can be sent again
    byte for byte. `name` is the author's name where one was given. `volatile` marks what is true only now (the list of
    running work, say): it may be shown, and is never passed on to a child.
    """

    role: Role
    parts: tuple[Part, ...] = ()
    id: str = field(default_factory=message_id)
    name: str | None = None
    shape: Shape | None = None
    original: bytes | None = None
    volatile: bool = False

    @property
    def text(self) -> str:
        """The words of its text parts, a line between two of them."""
        return "\n".join([part.text for part in self.parts if isinstance(part, Text)])

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls that it makes."""
        return tuple([part for part in self.parts if isinstance(part, ToolCall)])

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """The results that it holds."""
        return tuple([part for part in self.parts if isinstance(part, ToolResult)])
