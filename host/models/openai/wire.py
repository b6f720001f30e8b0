"""What the two forms of OpenAI's protocol have in common on the wire: text, names, ids, arguments, images, usage.

Everything here is total and deterministic. A history may hold anything (`host.conversation.parts`), a provider accepts
little, and the same history must give the same bytes each time, or no cache could know it again. So:

- Text goes out as UTF-8. Half a surrogate becomes U+FFFD, two halves that stand together become their character.
- Names of tools and ids of calls that a provider would refuse are replaced by ones that depend on nothing but them, so
  that a call and its result still belong together.
- Arguments go out as written if they are a JSON object. Empty ones are `{}`. Anything else is wrapped in an object, as
  UNREADABLE: servers parse what they are sent, and the model should see what it wrote when it reads that it was wrong.
- What a provider has no place for is named in words, in brackets. Reasoning of other models is left out without a word.
- Each author's name stands in the text, since only one of the forms has a field for it, and few servers read that.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Final

from host.conversation import (
    Elsewhere,
    Media,
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
from host.conversation.blocks import as_json
from host.models.port import Usage

__all__ = [
    "ROLES",
    "UNREADABLE",
    "author",
    "call_id",
    "callable_as",
    "encoded",
    "for_later",
    "image_address",
    "own",
    "result_text",
    "usage",
    "words",
]

UNREADABLE: Final = "unreadable_arguments"
"""The one key of the object that stands for arguments which are no JSON object; its value is what was written."""

ROLES: Final[Mapping[str, str]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}
"""Our roles as sent. Servers of one's own know no developer, and OpenAI reads a system message as one. Others: user."""

_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,40}")
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/webp", "image/gif"})
_BYTES: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def encoded(body: Mapping[str, object]) -> bytes:
    """A request's body as the bytes that are sent."""
    written = _BYTES.encode(body)
    try:
        return written.encode()
    except UnicodeEncodeError:
        return written.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def callable_as(call: ToolCall) -> ToolCall:
    """A call as it can be sent: itself, unless a provider would refuse its id, its name or its arguments."""
    return ToolCall(id=call_id(call.id), name=_tool_name(call.name), arguments=_arguments(call))


def call_id(identity: str) -> str:
    """A call's id, or what stands for one that is empty, long, or made of other characters."""
    if _ID.fullmatch(identity):
        return identity
    return f"call_{hashlib.sha256(identity.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def _tool_name(name: str) -> str:
    if _NAME.fullmatch(name):
        return name
    return re.sub(r"[^A-Za-z0-9_-]+", "_", name)[:64] or "unnamed"


def _arguments(call: ToolCall) -> str:
    written = call.arguments.strip()
    if written in ("", "null"):
        return "{}"
    return call.arguments if _is_object(call.arguments) else as_json({UNREADABLE: call.arguments})


def _is_object(written: str) -> bool:
    try:
        value = json.loads(written, parse_constant=_no_constant)
        if "\\u" in written:
            as_json(value).encode()  # An escape of half a surrogate: strict parsers refuse it.
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def image_address(part: Part) -> str | None:
    """The data URL or address of an image that a model with eyes can be sent; None for all else."""
    if not isinstance(part, Media) or part.kind != "image" or part.source is None:
        return None
    if part.source.startswith(("https://", "http://")):
        return part.source
    head, comma, data = part.source.partition(",")
    kind = head.removeprefix("data:").removesuffix(";base64")
    if not comma or not data or f"data:{kind};base64" != head or kind not in _IMAGES:
        return None
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None
    return part.source


def author(message: Message) -> str:
    """What leads a message's text: its author's name, or a role that no provider knows."""
    name = message.name if message.role in ROLES else message.name or message.role
    shown = " ".join(name.split()) if name else ""
    return f"{shown}: " if shown else ""


def words(part: Part) -> str:
    """A part in words; empty for reasoning."""
    match part:
        case Text(text=text) | Refusal(text=text):
            return text
        case Summary(text=None):
            return "[A summary of earlier messages, which its provider sealed.]"
        case Summary(text=text):
            return f"[Summary of earlier messages]\n{text}"
        case Elsewhere():
            return "[Earlier messages are held by their provider and are not here.]"
        case Media():
            return _described(part)
        case ToolCall():
            return f"[Calls {_tool_name(part.name)}: {part.arguments}]"
        case ToolResult():
            return result_text(part)
        case Thinking():
            return ""
        case Opaque(type=kind):
            return f"[{kind}, not shown here]"


def _described(media: Media) -> str:
    facts = [f"{media.kind} {json.dumps(media.name, ensure_ascii=False)}" if media.name else media.kind]
    if media.media_type:
        facts.append(media.media_type)
    if media.size is not None:
        facts.append(f"{media.size} bytes")
    if media.source is not None and media.source.startswith(("https://", "http://")):
        facts.append(media.source)
    return f"[{', '.join(facts)}; not shown here]"


def result_text(result: ToolResult) -> str:
    """What a tool answered, in words. Neither form has a flag for an error, so the text says it."""
    text = "\n".join([said for part in result.parts if (said := words(part))])
    if result.is_error:
        return f"Error: {text}" if text else "Error"
    return text or "(empty)"


def for_later(model: str, key: str, items: Sequence[object]) -> bytes | None:
    """What a reply keeps as its `original`, for `own`; None if JSON cannot hold it (numbers without end, say)."""
    try:
        return json.dumps({"model": model, key: items}, separators=(",", ":"), allow_nan=False).encode()
    except (ValueError, RecursionError):
        return None


def own(message: Message, model: str, key: str) -> Sequence[object] | None:
    """The list under `key` in a reply's `original`, if this very model gave it; None otherwise.

    Replies keep `{"model": ..., key: [...]}`: a response of the provider, cut down to what can be sent again. A history
    that was read from a file keeps single items and names no model, so it is none of these.
    """
    if message.original is None:
        return None
    try:
        kept = json.loads(message.original)
    except (ValueError, RecursionError):
        return None
    if not isinstance(kept, dict) or kept.get("model") != model:
        return None
    items = kept.get(key)
    return items if isinstance(items, list) else None


def usage(counts: Mapping[str, object], *, sent: str, wrote: str) -> Usage:
    """What a provider reports in fields that begin with `sent` and `wrote`. What it does not report of its cache stays
    None: that is not 0 (R79).
    """
    details = counts.get(f"{sent}_tokens_details")
    cache = details if isinstance(details, Mapping) else {}
    return Usage(
        input=_count(counts.get(f"{sent}_tokens")) or 0,
        output=_count(counts.get(f"{wrote}_tokens")) or 0,
        cached=_count(cache.get("cached_tokens")),
        written=_count(cache.get("cache_write_tokens")),
    )


def _count(value: object) -> int | None:
    return value if type(value) is int and value >= 0 else None
