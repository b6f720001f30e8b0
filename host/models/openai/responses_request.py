"""A request in the form of responses. A pure function: the same request gives the same bytes, always.

- `input` stands last in the body, so the bytes of a longer conversation begin with those of the shorter one (R32, R37).
- The server keeps nothing (`store` is false): the history is in the request, and reasoning comes back sealed, so that
  it can be sent again. An own reply of this very model goes out item by item as it came, so that its reasoning stands
  before the items that it led to; in no other reply is reasoning sent.
- Neighbours of one role become one message of several blocks; the tail is a block of its own, the last.
- Tools are not `strict`: schemas are ours, and not of the narrow kind that strictness asks for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from host.conversation import Message, Part, ToolCall, ToolResult
from host.conversation.items import read_item
from host.conversation.well_formed import well_formed
from host.models.openai.wire import ROLES, author, call_id, callable_as, image_address, own, result_text, words
from host.models.port import Request, ToolSpec

__all__ = ["parts_of", "responses_body"]

type Json = dict[str, object]

_SEALED: Final = ["reasoning.encrypted_content"]


def responses_body(
    request: Request,
    *,
    model: str,
    sees_images: bool = True,
    seals_reasoning: bool = True,
    options: Mapping[str, object] | None = None,
) -> Json:
    """The body of a request. `options` are further fields of it, such as "reasoning"; ours win over them."""
    items: list[object] = []
    for message in well_formed(request.messages):
        for written in _written(message, model, sees_images=sees_images):
            _put(items, written)
    if request.tail.strip():
        _put(items, _said("user", [_text(request.tail)]))
    body: Json = {**(options or {}), "model": model, "stream": True, "store": False}
    if seals_reasoning:
        body["include"] = _SEALED
    if request.system.strip():
        body["instructions"] = request.system
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    return {**body, "input": items}


def parts_of(items: Iterable[object]) -> tuple[Part, ...]:
    """The items of a reply as parts, in order."""
    read = [read_item(item) for item in items if isinstance(item, dict)]
    return tuple([part for item in read if item is not None for part in item.parts])


def _tool(tool: ToolSpec) -> Json:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": False,
    }


def _written(message: Message, model: str, *, sees_images: bool) -> Iterable[object]:
    role = ROLES.get(message.role, "user")
    if role == "tool":
        return _results(message, sees_images=sees_images)
    if role == "assistant":
        return _assistant(message, model)
    blocks = _blocks(message.parts, sees_images=sees_images and role == "user")
    if blocks and author(message):
        blocks = [_text(f"{author(message)}{blocks[0]['text']}"), *blocks[1:]] if "text" in blocks[0] else blocks
    return (_said(role, blocks),) if blocks else ()


def _results(message: Message, *, sees_images: bool) -> Iterator[Json]:
    for part in message.parts:
        if not isinstance(part, ToolResult):
            continue
        output: object = result_text(part)
        if sees_images and any(image_address(inner) for inner in part.parts):
            output = [*([_text("Error")] if part.is_error else []), *_blocks(part.parts, sees_images=True)]
        yield {"type": "function_call_output", "call_id": call_id(part.call), "output": output}


def _assistant(message: Message, model: str) -> Iterable[object]:
    kept = _kept(message, model)
    if kept is not None:
        return kept
    said = [text for part in message.parts if not isinstance(part, ToolCall) and (text := words(part)).strip()]
    items = [_said("assistant", [{"type": "output_text", "text": text} for text in said])] if said else []
    return [*items, *[_call(call) for call in message.calls]]


def _call(call: ToolCall) -> Json:
    sent = callable_as(call)
    return {"type": "function_call", "call_id": sent.id, "name": sent.name, "arguments": sent.arguments}


def _kept(message: Message, model: str) -> list[object] | None:
    """The reply's items as they came, if it is this model's own, says what the message says, and can be sent."""
    items = list(own(message, model, "output") or ())
    if parts_of(items) != message.parts or any(callable_as(call) != call for call in message.calls):
        return None
    return items or None


def _blocks(parts: Iterable[Part], *, sees_images: bool) -> list[Json]:
    blocks: list[Json] = []
    for part in parts:
        address = image_address(part) if sees_images else None
        if address is not None:
            blocks.append({"type": "input_image", "image_url": address, "detail": "auto"})
        elif (said := words(part)).strip():
            blocks.append(_text(said))
    return blocks


def _text(text: str) -> Json:
    return {"type": "input_text", "text": text}


def _said(role: str, blocks: list[Json]) -> Json:
    return {"type": "message", "role": role, "content": blocks}


def _put(items: list[object], item: object) -> None:
    """Append an item, or add its blocks to the last one if that is a message of ours with the same role."""
    last = items[-1] if items else None
    if _role(last) is not None and _role(last) == _role(item):
        assert isinstance(last, dict)
        assert isinstance(item, dict)
        items[-1] = {**last, "content": [*last["content"], *item["content"]]}
    else:
        items.append(item)


def _role(item: object) -> object:
    """The role of a message that we wrote; None for any other item, also for a message as the provider wrote it."""
    return item["role"] if isinstance(item, dict) and item.keys() == {"type", "role", "content"} else None
