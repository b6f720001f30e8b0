"""One item of a saved history, read into a message's parts; and the evidence of whose form it has.

An item is read by what it is, not by what the file is thought to be: histories are mixed (an OpenAI request with
Anthropic blocks in it, LangChain dumps with either). An item must be an object with a role or a type; beyond that
nothing is demanded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from host.conversation.blocks import Json, as_text, content, opaque, text_or_none, tool_call
from host.conversation.media import media_in
from host.conversation.parts import (
    Elsewhere,
    Opaque,
    Part,
    Refusal,
    Role,
    Shape,
    Summary,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)

__all__ = ["Item", "commonest", "evidence", "read_item"]

_ROLES: Final[Mapping[str, Role]] = {
    "human": "user",
    "ai": "assistant",
    "model": "assistant",
    "function": "tool",
    "AIMessageChunk": "assistant",
    "HumanMessageChunk": "user",
    "SystemMessageChunk": "system",
    "ToolMessageChunk": "tool",
    "FunctionMessageChunk": "tool",
}
_LANGCHAIN_TYPES: Final = frozenset(_ROLES) - {"model"} | {"system", "tool", "chat", "developer", "ChatMessageChunk"}
_LANGCHAIN_CLASSES: Final[Mapping[str, str]] = {
    "HumanMessage": "human",
    "AIMessage": "ai",
    "SystemMessage": "system",
    "ToolMessage": "tool",
    "FunctionMessage": "function",
    "ChatMessage": "chat",
}
_ANTHROPIC_BLOCKS: Final = frozenset(
    {"tool_use", "tool_result", "thinking", "redacted_thinking", "document", "server_tool_use", "mcp_tool_use"}
)
_RESPONSES_BLOCKS: Final = frozenset({"input_text", "output_text", "input_image", "input_file"})
_CHAT_BLOCKS: Final = frozenset({"image_url", "input_audio", "file"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """What an item says: who speaks, in which parts, under which name; `id` is the provider's own id for it."""

    role: Role
    parts: tuple[Part, ...]
    name: str | None = None
    id: str | None = None


def read_item(item: Json) -> Item | None:
    """Read one item; None if it has neither a role nor a type and so is no message of anyone's."""
    unwrapped = _unwrapped(item)
    if unwrapped is not None:
        return _langchain(*unwrapped)
    role = item.get("role")
    if isinstance(role, str) and role:
        return _spoken(item, _ROLES.get(role, role))
    kind = item.get("type")
    if isinstance(kind, str) and kind:
        return _responses(item, kind)
    return None


def _unwrapped(item: Json) -> tuple[str, Json] | None:
    """LangChain's three ways to write a message: serialised constructor, type and data, or plain with a type."""
    kind, data, arguments = item.get("type"), item.get("data"), item.get("kwargs")
    if "lc" in item and isinstance(arguments, dict):
        path = item.get("id")
        kind = path[-1] if isinstance(path, list) and path else None
        kind = _LANGCHAIN_CLASSES.get(kind, kind) if isinstance(kind, str) else None
        data = arguments
    elif "role" in item and kind != "chat":
        return None
    if not isinstance(kind, str) or kind not in _LANGCHAIN_TYPES:
        return None
    return kind, data if isinstance(data, dict) else item


def _langchain(kind: str, data: Json) -> Item:
    role = _ROLES.get(kind, kind)
    if kind in ("chat", "ChatMessageChunk"):
        said = as_text(data.get("role")) or "user"
        role = _ROLES.get(said, said)
    return _spoken(data, role)


def _spoken(item: Json, role: Role) -> Item:
    """An item with a role, of OpenAI chat, Anthropic, LangChain, or a message of OpenAI Responses."""
    name, identity = text_or_none(item.get("name")), text_or_none(item.get("id"))
    if role == "tool":
        result = ToolResult(
            call=as_text(item.get("tool_call_id")),
            parts=content(item.get("content"), inside_result=True),
            is_error=item.get("status") == "error" or item.get("is_error") is True,
            name=name,
        )
        return Item(role=role, parts=(result,), id=identity)
    parts: list[Part] = []
    thought = item.get("reasoning_content", item.get("reasoning"))
    if isinstance(thought, str) and thought:
        parts.append(Thinking(text=thought))
    parts += content(item.get("content"))
    if item.get("refusal"):
        parts.append(Refusal(text=as_text(item["refusal"])))
    parts += _recorded(item)
    parts += _calls(item, {part.id for part in parts if isinstance(part, ToolCall)})
    return Item(role=role, parts=tuple(parts), name=name, id=identity)


def _recorded(item: Json) -> tuple[Part, ...]:
    """What an assistant of OpenAI chat said aloud."""
    audio = item.get("audio")
    if not isinstance(audio, dict):
        return ()
    media = media_in(audio, "audio")
    words = content(audio.get("transcript"))
    return (opaque(audio),) if media is None else (media, *words)


def _calls(item: Json, known: set[str]) -> list[Part]:
    """The calls that stand beside the content. LangChain lists calls that its content holds too: those once."""
    extra = item.get("additional_kwargs")
    listed = _listed(item.get("tool_calls"))
    if not listed and isinstance(extra, dict):
        listed = _listed(extra.get("tool_calls")) or _listed(extra.get("function_call"))
    listed = [*listed, *_listed(item.get("invalid_tool_calls")), *_listed(item.get("function_call"))]
    parts: list[Part] = []
    for value in listed:
        if not isinstance(value, dict):
            parts.append(Opaque(type="tool_call", json=as_text(value)))
            continue
        call = tool_call(value)
        if not call.id or call.id not in known:
            parts.append(call)
    return parts


def _listed(value: object) -> list[object]:
    if isinstance(value, list):
        return value
    return [] if value is None else [value]


def _responses(item: Json, kind: str) -> Item:
    """An item of OpenAI Responses that is no message."""
    role: Role = "assistant"
    part: Part
    match kind:
        case "function_call" | "custom_tool_call":
            part = tool_call(item)
        case "function_call_output" | "custom_tool_call_output":
            role = "tool"
            part = ToolResult(call=as_text(item.get("call_id")), parts=content(item.get("output"), inside_result=True))
        case "reasoning":
            thoughts = (*content(item.get("summary")), *content(item.get("content")))
            words = "\n".join(thought.text for thought in thoughts if isinstance(thought, Text))
            part = Thinking(text=words, signature=text_or_none(item.get("encrypted_content")))
        case "item_reference":
            part = Elsewhere(reference=as_text(item.get("id")))
        case "compaction" | "compaction_summary":
            role = "system"
            part = Summary(text=text_or_none(item.get("content") or item.get("summary")))
        case "message":
            return _spoken(item, "user")
        case _:
            role = "tool" if kind.endswith("_output") else "assistant"
            part = opaque(item)
    return Item(role=role, parts=(part,), id=None if kind == "item_reference" else text_or_none(item.get("id")))


def evidence(item: Json) -> Shape | None:
    """Whose form an item has, if that can be told from it alone."""
    if _unwrapped(item) is not None or any(key in item for key in ("additional_kwargs", "response_metadata", "lc")):
        return "langchain"
    kind, role, inside = item.get("type"), item.get("role"), item.get("content")
    if isinstance(kind, str) and (kind != "message" or "stop_reason" not in item):
        return "openai-responses"
    kinds = _block_types(inside) if isinstance(inside, list) else set()
    if kinds & _RESPONSES_BLOCKS:
        return "openai-responses"
    if kind == "message" or kinds & _ANTHROPIC_BLOCKS:
        return "anthropic"
    calls = [call for call in _listed(item.get("tool_calls")) if isinstance(call, dict)]
    if "invalid_tool_calls" in item or any("args" in call for call in calls):
        return "langchain"
    if role in ("tool", "function") or calls or "function_call" in item or kinds & _CHAT_BLOCKS:
        return "openai-chat"
    return None


def _block_types(blocks: list[object]) -> set[str]:
    found = [block.get("type") for block in blocks if isinstance(block, dict)]
    return {kind for kind in found if isinstance(kind, str)}


def commonest(found: Iterable[Shape | None], otherwise: Shape) -> Shape:
    """The shape that most items have, the first of them if several; `otherwise` where none can be told."""
    counted = Counter(shape for shape in found if shape is not None)
    return counted.most_common(1)[0][0] if counted else otherwise
