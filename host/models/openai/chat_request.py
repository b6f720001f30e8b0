"""A request in the form of chat completions. A pure function: the same request gives the same bytes, always.

- Messages stand last in the body, behind the model, the options and the tools. So the bytes of a longer conversation
  begin with those of the shorter one, up to its last message (R32, R37).
- Neighbours of one role become one message, because the templates of many models refuse two in a row. Then a longer
  conversation continues the shorter one's last message instead of following it.
- An own reply of this very model goes out as it was written down when it came (`chat`): with its reasoning, and with
  what its provider attached to its calls. Anything else is written anew from its parts.
- The tail joins the last user message, or follows as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from host.conversation import Message, Part, ToolCall, ToolResult
from host.conversation.items import read_item
from host.conversation.well_formed import well_formed
from host.models.openai.wire import ROLES, author, call_id, callable_as, image_address, own, result_text, words
from host.models.port import Request, ToolSpec

__all__ = ["chat_body"]

type Json = dict[str, object]

_MERGEABLE: Final = frozenset({"role", "content", "tool_calls"})


def chat_body(
    request: Request, *, model: str, sees_images: bool = True, options: Mapping[str, object] | None = None
) -> Json:
    """The body of a request. `options` are further fields of it, such as "temperature"; ours win over them."""
    messages: list[Json] = []
    if request.system.strip():
        messages.append({"role": "system", "content": request.system})
    for message in well_formed(request.messages):
        for written in _written(message, model, sees_images=sees_images):
            _put(messages, written)
    if request.tail.strip():
        _put(messages, {"role": "user", "content": request.tail})
    body: Json = {**(options or {}), "model": model, "stream": True, "stream_options": {"include_usage": True}}
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    return {**body, "messages": messages}


def _tool(tool: ToolSpec) -> Json:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _written(message: Message, model: str, *, sees_images: bool) -> Iterable[Json]:
    role = ROLES.get(message.role, "user")
    if role == "tool":
        return _results(message)
    if role == "assistant":
        return _assistant(message, model)
    content = _content(message, sees_images=sees_images and role == "user")
    return ({"role": role, "content": content},) if content else ()


def _results(message: Message) -> Iterable[Json]:
    for part in message.parts:
        if isinstance(part, ToolResult):
            yield {"role": "tool", "tool_call_id": call_id(part.call), "content": result_text(part)}


def _assistant(message: Message, model: str) -> Iterable[Json]:
    kept = _kept(message, model)
    if kept is not None:
        return (kept,)
    text = _joined([part for part in message.parts if not isinstance(part, ToolCall)])
    written: Json = {"role": "assistant", "content": text}
    if message.calls:
        written["tool_calls"] = [_call(call) for call in message.calls]
    return (written,) if text or message.calls else ()


def _call(call: ToolCall) -> Json:
    sent = callable_as(call)
    return {"id": sent.id, "type": "function", "function": {"name": sent.name, "arguments": sent.arguments}}


def _kept(message: Message, model: str) -> Json | None:
    """The reply as it came, if it is this model's own, says what the message says, and can be sent."""
    choices = own(message, model, "choices")
    first = choices[0] if choices else None
    kept = first.get("message") if isinstance(first, dict) else None
    if not isinstance(kept, dict):
        return None
    item = read_item(kept)
    if item is None or item.parts != message.parts or any(callable_as(call) != call for call in message.calls):
        return None
    return kept if kept.get("content") or kept.get("tool_calls") else None


def _content(message: Message, *, sees_images: bool) -> str | list[Json]:
    """Text, or a list of blocks if there are images to see."""
    seen = [image_address(part) if sees_images else None for part in message.parts]
    if not any(seen):
        text = _joined(message.parts)
        return f"{author(message)}{text}" if text else ""
    blocks: list[Json] = [_block(author(message).strip())] if author(message) else []
    for part, address in zip(message.parts, seen, strict=True):
        if address is not None:
            blocks.append({"type": "image_url", "image_url": {"url": address}})
        elif (said := words(part)).strip():
            blocks.append(_block(said))
    return blocks


def _joined(parts: Iterable[Part]) -> str:
    return "\n".join([said for part in parts if (said := words(part)).strip()])


def _block(text: str) -> Json:
    return {"type": "text", "text": text}


def _put(messages: list[Json], message: Json) -> None:
    """Append a message, or add it to the last one if that has the same role."""
    last = messages[-1] if messages else {}
    alike = last.get("role") == message["role"] and message["role"] != "tool"
    if not alike or "tool_calls" in last or not (last.keys() | message.keys()) <= _MERGEABLE:
        messages.append(message)
        return
    messages[-1] = {**message, "content": _together(last["content"], message["content"])}


def _together(one: object, other: object) -> object:
    if isinstance(one, str) and isinstance(other, str):
        return f"{one}\n\n{other}" if one and other else one or other
    return [*_blocks(one), *_blocks(other)]


def _blocks(content: object) -> list[object]:
    return content if isinstance(content, list) else [_block(content)] if isinstance(content, str) else []
