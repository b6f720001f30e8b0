"""Parts of messages as content blocks of the Messages API, in both directions of need: what the API takes as it is, and
what it takes only as words.

Every block that comes out of here is valid wherever its kind may stand: text says something, text is text that UTF-8
has, ids and names are of the letters that the API allows, the input of a call is a JSON object. What the API has no
block for is described in a line of text in square brackets, so that the model knows that there was something.

- An id or a tool's name that another provider made and that has other letters is spelled anew. The same one always
  becomes the same, so a call and its result stay together and no prefix changes.
- Arguments that are no JSON object become the object {"arguments_as_written": TEXT}.
"""

from __future__ import annotations

import binascii
import hashlib
import json
import math
import re
from collections.abc import Iterable
from typing import Any, Final

from host.conversation import (
    Elsewhere,
    Media,
    Opaque,
    Part,
    Refusal,
    Summary,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)

__all__ = ["AS_WRITTEN", "Block", "answer", "call", "call_input", "legible", "said", "text", "thought"]

type Block = dict[str, Any]

AS_WRITTEN: Final = "arguments_as_written"

_IDENTIFIER: Final = re.compile(r"[a-zA-Z0-9_-]{1,128}\Z")
_FILE: Final = re.compile(r"file:[a-zA-Z0-9_-]+\Z")
_ILLEGIBLE: Final = re.compile("[\x00\ud800-\udfff]")
_IMAGES: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_DEEPEST: Final = 100
_LONGEST_OPAQUE: Final = 2_000


def legible(words: str) -> str:
    """Text without what no JSON in UTF-8 can hold, or what servers stumble over: half surrogates and NUL."""
    return _ILLEGIBLE.sub("\ufffd", words)


def text(words: str) -> Block | None:
    """A block of text; None if there is nothing to read in it, which the API refuses."""
    return {"type": "text", "text": legible(words)} if words.strip() else None


def said(parts: Iterable[Part], *, own_files: bool = False) -> list[Block]:
    """What anyone may say. `own_files` is whether file ids are Anthropic's.

    Reasoning is left out: it is sealed for one model, and goes its own way (`thought`).
    """
    blocks = [_said(part, own_files) for part in parts]
    return [block for block in blocks if block is not None]


def _said(part: Part, own_files: bool) -> Block | None:
    match part:
        case Text(text=words) | Refusal(text=words):
            return text(words)
        case Media():
            return _media(part, own_files)
        case Summary(text=None):
            return text("[an earlier part of this conversation was summarised; the summary cannot be read here]")
        case Summary(text=words):
            return text(f"[summary of an earlier part of this conversation]\n{words}")
        case Elsewhere(reference=reference):
            return text(f"[an earlier part of this conversation is kept elsewhere, as {reference!r}; it is not here]")
        case Opaque(type=kind, json=data):
            more = len(data) - _LONGEST_OPAQUE
            cut = f" [{more} characters more]" if more > 0 else ""
            return text(f"[an item of type {kind!r}]\n{data[:_LONGEST_OPAQUE]}{cut}")
        case ToolCall(name=name, arguments=arguments):
            return text(f"[a call of {name!r}]\n{arguments}")
        case ToolResult(parts=parts):
            return text("[a result]\n" + _words(said(parts)))
        case Thinking():
            return None


def _words(blocks: Iterable[Block]) -> str:
    return "\n".join([block["text"] if block["type"] == "text" else f"[{block['type']}]" for block in blocks])


def thought(part: Thinking) -> Block | None:
    """Reasoning as it came, for the model that sealed it; None if it is not sealed, and so valid for none."""
    if part.redacted:
        return {"type": "redacted_thinking", "data": part.redacted}
    if part.signature:
        return {"type": "thinking", "thinking": part.text, "signature": part.signature}
    return None


def call(part: ToolCall) -> Block:
    """A call that the model made."""
    name = part.name if _IDENTIFIER.match(part.name) else re.sub(r"[^a-zA-Z0-9_-]", "_", part.name)[:128] or "unnamed"
    return {"type": "tool_use", "id": _id(part.id), "name": name, "input": call_input(part)}


def answer(part: ToolResult, *, own_files: bool = False) -> Block:
    """The result of a call. An error is words alone, and at least one, because the API demands both."""
    block: Block = {"type": "tool_result", "tool_use_id": _id(part.call)}
    content = said(part.parts, own_files=own_files)
    if part.is_error:
        content = [_described(inner) if inner["type"] != "text" else inner for inner in content]
        content = content or [{"type": "text", "text": "(no message)"}]
    if content:
        block["content"] = content
    if part.is_error:
        block["is_error"] = True
    return block


def _id(id: str) -> str:
    if _IDENTIFIER.match(id):
        return id
    return f"call_{hashlib.blake2b(id.encode('utf-8', 'surrogatepass'), digest_size=12).hexdigest()}"


def call_input(part: ToolCall) -> dict[str, Any]:
    """The arguments as a JSON object, whatever the model wrote."""
    parsed = part.parsed
    if parsed is not None:
        try:
            return {legible(key): _value(value, 1) for key, value in parsed.items()}
        except ValueError:  # JSON to Python, and to nobody else
            pass
    return {AS_WRITTEN: legible(part.arguments)}


def _value(value: object, depth: int) -> object:
    """A JSON value that can be written again. Raises ValueError for numbers without end and nesting without end."""
    if depth > _DEEPEST:
        raise ValueError
    match value:
        case str():
            return legible(value)
        case float() if not math.isfinite(value):
            raise ValueError
        case dict():
            return {legible(key): _value(inner, depth + 1) for key, inner in value.items()}
        case list():
            return [_value(inner, depth + 1) for inner in value]
    return value


def _media(part: Media, own_files: bool) -> Block | None:
    source = part.source or ""
    kind = "image" if part.kind == "image" else "document" if part.kind in ("document", "file") else None
    found: Block | None = None
    if kind is not None and source.startswith("data:"):
        found = _inline(source, kind)
    elif kind is not None and source.startswith("https://"):
        is_pdf = part.media_type in (None, "application/pdf")
        found = {"type": "url", "url": legible(source)} if kind == "image" or is_pdf else None
    elif kind is not None and own_files and _FILE.match(source):
        found = {"type": "file", "file_id": source.removeprefix("file:")}
    if found is None or kind is None:
        return text(_description(part))
    block: Block = {"type": kind, "source": found}
    if kind == "document" and part.name and part.name.strip():
        block["title"] = legible(part.name)
    return block


def _inline(source: str, kind: str) -> Block | None:
    """The data of a data URL, if it is base64 of a type that the API takes."""
    head, _, data = source.removeprefix("data:").partition(",")
    media_type, _, encoding = head.partition(";")
    takes = media_type in _IMAGES if kind == "image" else media_type == "application/pdf"
    if not takes or not encoding.endswith("base64") or not data:
        return None
    try:
        binascii.a2b_base64(data.encode("ascii"), strict_mode=True)
    except ValueError:
        return None
    return {"type": "base64", "media_type": media_type, "data": data}


def _description(part: Media) -> str:
    known = [part.name and json.dumps(part.name), part.media_type, part.size is not None and f"{part.size} bytes"]
    return f"[{', '.join([part.kind, *[fact for fact in known if fact]])}; it cannot be shown here]"


def _described(block: Block) -> Block:
    return {"type": "text", "text": f"[{block['type']}; it cannot be shown in an error]"}
