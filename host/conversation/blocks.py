"""Content as providers write it, read into parts.

Blocks of all providers are known by their `type`, in one table: the names do not collide, and content moves between
providers' formats without being rewritten (LangChain keeps Anthropic's blocks, servers that imitate OpenAI keep both).
Reading never fails: a block that lacks what it should have is kept as `Opaque`, and so is one of an unknown type.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Final

from host.conversation.media import flattened, media_in
from host.conversation.parts import (
    MediaKind,
    Opaque,
    Part,
    Refusal,
    Summary,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)

__all__ = ["Json", "as_json", "as_text", "content", "opaque", "text_or_none", "tool_call"]

type Json = Mapping[str, object]
type Read = Callable[[Json], tuple[Part, ...]]

_COMPACT: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def as_json(value: object) -> str:
    """A JSON value as compact JSON text."""
    return _COMPACT.encode(value)


def as_text(value: object) -> str:
    """A string as it is, null as "", anything else as JSON text."""
    if isinstance(value, str):
        return value
    return "" if value is None else as_json(value)


def text_or_none(value: object) -> str | None:
    """A string as it is, null and "" as None, anything else as JSON text."""
    return as_text(value) or None


def opaque(item: Json) -> Opaque:
    """An item kept unchanged."""
    return Opaque(type=as_text(item.get("type")) or "item", json=as_json(item))


def content(value: object, *, inside_result: bool = False) -> tuple[Part, ...]:
    """Content of any form (null, a string, blocks, or a bare JSON value, as results may be), as parts.

    A result inside a result stays opaque: no provider nests them.
    """
    if value is None or value == "":
        return ()
    if isinstance(value, str):
        return (Text(text=value),)
    if isinstance(value, list):
        parts: list[Part] = []
        for block in value:
            if isinstance(block, dict):
                parts += _block(block, inside_result=inside_result)
            elif block is not None:
                parts.append(Text(text=as_text(block)))
        return tuple(parts)
    if isinstance(value, dict) and "type" in value:
        return _block(value, inside_result=inside_result)
    return (Text(text=as_json(value)),)


def _block(block: Json, *, inside_result: bool) -> tuple[Part, ...]:
    kind = block.get("type")
    if not isinstance(kind, str):
        return (Text(text=as_text(block["text"])),) if "text" in block else (opaque(block),)
    if kind.endswith("tool_result"):
        return (opaque(block),) if inside_result else _result(block)
    read = _BLOCKS.get(kind)
    return (opaque(block),) if read is None else read(block)


def _text(block: Json) -> tuple[Part, ...]:
    return (Text(text=as_text(block["text"])),) if "text" in block else (opaque(block),)


def _refusal(block: Json) -> tuple[Part, ...]:
    return (Refusal(text=as_text(block.get("refusal"))),)


def _thinking(block: Json) -> tuple[Part, ...]:
    return (Thinking(text=as_text(block.get("thinking")), signature=text_or_none(block.get("signature"))),)


def _redacted(block: Json) -> tuple[Part, ...]:
    return (Thinking(redacted=as_text(block.get("data"))),)


def _reasoning(block: Json) -> tuple[Part, ...]:
    return (Thinking(text=as_text(block.get("reasoning")), signature=text_or_none(block.get("signature"))),)


def _compaction(block: Json) -> tuple[Part, ...]:
    return (Summary(text=text_or_none(block.get("content"))),)


def _call(block: Json) -> tuple[Part, ...]:
    return (tool_call(block),)


def tool_call(item: Json) -> ToolCall:
    """A call in any provider's form: the name at the top or under `function`, arguments as text or as an object."""
    inner = item.get("function")
    named = inner if isinstance(inner, dict) else item
    written = next((named[key] for key in ("arguments", "args", "input") if named.get(key) is not None), None)
    identity = next((item[key] for key in ("call_id", "id", "tool_call_id") if item.get(key) is not None), None)
    return ToolCall(id=as_text(identity), name=as_text(named.get("name")), arguments=as_text(written))


def _result(block: Json) -> tuple[Part, ...]:
    call = next((block[key] for key in ("tool_use_id", "tool_call_id", "call_id") if block.get(key) is not None), None)
    inside = block.get("content", block.get("output"))
    failed = block.get("is_error") is True or block.get("status") == "error"
    return (ToolResult(call=as_text(call), parts=content(inside, inside_result=True), is_error=failed),)


def _media(kind: MediaKind) -> Read:
    def read(block: Json) -> tuple[Part, ...]:
        media = media_in(block, kind)
        return (opaque(block),) if media is None else (media, *_written(block))

    return read


def _written(block: Json) -> tuple[Part, ...]:
    """The words that come with media: a document given as text or as blocks, a recording's transcript."""
    found = flattened(block)
    if found.get("type") == "text":
        return content(found.get("data"), inside_result=True)
    if found.get("type") == "content":
        return content(found.get("content"), inside_result=True)
    return content(found.get("transcript"), inside_result=True)


_BLOCKS: Final[Mapping[str, Read]] = {
    "text": _text,
    "input_text": _text,
    "output_text": _text,
    "summary_text": _text,
    "refusal": _refusal,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "reasoning": _reasoning,
    "reasoning_content": _reasoning,
    "compaction": _compaction,
    "tool_use": _call,
    "server_tool_use": _call,
    "mcp_tool_use": _call,
    "tool_call": _call,
    "server_tool_call": _call,
    "invalid_tool_call": _call,
    "image": _media("image"),
    "image_url": _media("image"),
    "input_image": _media("image"),
    "output_image": _media("image"),
    "audio": _media("audio"),
    "input_audio": _media("audio"),
    "output_audio": _media("audio"),
    "video": _media("video"),
    "video_url": _media("video"),
    "document": _media("document"),
    "file": _media("file"),
    "input_file": _media("file"),
}
