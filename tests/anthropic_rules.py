"""The rules of the Messages API, written from its public description and its error messages, and not from our renderer.

Where the API is lenient (neighbours of one role, a reply that is begun, a message that is a string) this is as strict
as the strictest model, or stricter.
"""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass, field
from typing import Any

type Json = dict[str, Any]

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}\Z")
_FIELDS = {
    "text": {"text", "citations"},
    "image": {"source"},
    "document": {"source", "title", "context", "citations"},
    "tool_use": {"id", "name", "input"},
    "tool_result": {"tool_use_id", "content", "is_error"},
    "thinking": {"thinking", "signature"},
    "redacted_thinking": {"data"},
}
_SPEAKS = {
    "user": {"text", "image", "document", "tool_result"},
    "assistant": {"text", "tool_use", "thinking", "redacted_thinking"},
    "system": {"text"},
}
_BODY = {"model", "max_tokens", "messages", "system", "tools", "thinking", "output_config", "stream", "tool_choice"}


@dataclass(slots=True)
class _Refused(Exception):
    said: str


@dataclass(slots=True)
class _Seen:
    calls: set[str] = field(default_factory=set)
    marks: int = 0


def refusal_of(body: Json) -> str | None:
    """What the API has against this body; None if nothing."""
    try:
        _check(body, _Seen())
    except _Refused as refused:
        return refused.said
    return None


def _demand(holds: object, said: str) -> None:
    if not holds:
        raise _Refused(said)


def _check(body: Json, seen: _Seen) -> None:
    _demand(body.keys() <= _BODY, f"extra inputs are not permitted: {sorted(body.keys() - _BODY)}")
    _demand(isinstance(body.get("model"), str) and body["model"], "model: field required")
    _demand(type(body.get("max_tokens")) is int and body["max_tokens"] > 0, "max_tokens: field required")
    for tool in body.get("tools", []):
        _demand(_NAME.match(tool["name"]), f"tools: name {tool['name']!r} should match the pattern")
        _demand(tool["input_schema"].get("type") == "object", "tools: input_schema.type should be 'object'")
        _mark(tool, seen)
    for block in body.get("system", []):
        _block(block, "system", seen, "system")
    _demand("system" not in body or body["system"], "system: at least one block")
    messages: list[Json] = body.get("messages") or []
    _demand(messages, "messages: at least one message is required")
    _demand(messages[0]["role"] == "user", "messages.0: the first message must be the user's")
    for number, message in enumerate(messages):
        _message(messages, number, message, seen)
    _demand(messages[-1]["role"] != "assistant", "this model does not support assistant message prefill")
    _demand(seen.marks <= 4, f"a maximum of 4 blocks with cache_control may be provided, found {seen.marks}")
    _thinking(body)


def _message(messages: list[Json], number: int, message: Json, seen: _Seen) -> None:
    at, role = f"messages.{number}", message.get("role") or ""
    _demand(message.keys() == {"role", "content"} and role in _SPEAKS, f"{at}: a role and content are required")
    content = message["content"]
    _demand(isinstance(content, list) and content, f"{at}: content should be a list that is not empty")
    before = messages[number - 1] if number else None
    after = messages[number + 1] if number + 1 < len(messages) else None
    if role == "system":
        _demand(before is not None and before["role"] == "user", f"{at}: role 'system' must follow a 'user' message")
        _demand(after is None or after["role"] == "assistant", f"{at}: role 'system' must precede an 'assistant'")
    elif before is not None:
        _demand(before["role"] != role, f"{at}: roles must alternate")
        _demand(role != "user" or before["role"] == "assistant", f"{at}: roles must alternate")
    for place, block in enumerate(content):
        _block(block, role, seen, f"{at}.content.{place}")
    results = [block["tool_use_id"] for block in content if block["type"] == "tool_result"]
    first = content[: len(results)]
    _demand(all(block["type"] == "tool_result" for block in first), f"{at}: tool_result blocks must be first")
    made = [block["id"] for block in before["content"] if block["type"] == "tool_use"] if before else []
    if role == "user":
        _demand(sorted(results) == sorted(made), f"{at}: each tool_use must have a single result behind it")
    if role == "assistant":
        _demand(
            content[-1]["type"] not in ("thinking", "redacted_thinking"),
            f"{at}: the final block in an assistant message cannot be `thinking`",
        )
        for block in content:
            if block["type"] == "tool_use":
                _demand(block["id"] not in seen.calls, f"{at}: `tool_use` ids must be unique")
                seen.calls.add(block["id"])


def _block(block: Json, role: str, seen: _Seen, at: str) -> None:
    kind = block.get("type", "")
    _demand(kind in _SPEAKS[role], f"{at}: {kind!r} is not permitted in role {role!r}")
    extra = block.keys() - _FIELDS[kind] - {"type", "cache_control"}
    _demand(not extra, f"{at}: extra inputs are not permitted: {sorted(extra)}")
    _mark(block, seen)
    if kind == "text":
        _demand(block["text"].strip(), f"{at}: text content blocks must contain non-whitespace text")
        _demand(_is_utf8(block["text"]), f"{at}: not UTF-8")
    elif kind in ("image", "document"):
        _source(block["source"], kind, at)
    elif kind == "tool_use":
        _demand(_NAME.match(block["id"]) and _NAME.match(block["name"]), f"{at}: should match the pattern")
        _demand(isinstance(block["input"], dict), f"{at}: input should be an object")
        _demand(_is_utf8(json.dumps(block["input"], ensure_ascii=False, allow_nan=False)), f"{at}: not UTF-8")
    elif kind == "tool_result":
        content = block.get("content", [])
        for place, inner in enumerate(content):
            _demand(inner["type"] in ("text", "image", "document"), f"{at}.{place}: not permitted in a result")
            _block(inner, "user", seen, f"{at}.{place}")
        if block.get("is_error"):
            _demand(content, f"{at}: content cannot be empty if `is_error` is true")
            _demand(all(inner["type"] == "text" for inner in content), f"{at}: an error is all text")
    else:
        _demand("cache_control" not in block, f"{at}: reasoning cannot be marked")
        _demand(block.get("signature") or block.get("data"), f"{at}: field required")


def _source(source: Json, kind: str, at: str) -> None:
    match source["type"]:
        case "base64":
            types = ["image/png", "image/jpeg", "image/gif", "image/webp"] if kind == "image" else ["application/pdf"]
            _demand(source["media_type"] in types, f"{at}: media_type")
            try:
                _demand(base64.b64decode(source["data"], validate=True), f"{at}: empty")
            except ValueError:
                raise _Refused(f"{at}: invalid base64 data") from None
        case "url":
            _demand(source["url"].startswith("https://"), f"{at}: only HTTPS URLs are supported")
        case "file":
            _demand(source["file_id"], f"{at}: file_id")
        case other:
            raise _Refused(f"{at}: unknown source {other!r}")


def _mark(block: Json, seen: _Seen) -> None:
    if "cache_control" in block:
        mark = block["cache_control"]
        _demand(mark["type"] == "ephemeral" and mark.get("ttl", "5m") in ("5m", "1h"), "cache_control: unknown")
        seen.marks += 1


def _thinking(body: Json) -> None:
    asked = body.get("thinking")
    if asked is None or asked["type"] != "enabled":
        return
    _demand(1024 <= asked["budget_tokens"] < body["max_tokens"], "thinking.budget_tokens: out of range")
    spoken = next((each for each in reversed(body["messages"]) if each["role"] == "assistant"), None)
    if spoken is not None and any(block["type"] == "tool_use" for block in spoken["content"]):
        first = spoken["content"][0]["type"]
        _demand("thinking" in first, f"Expected `thinking` or `redacted_thinking`, but found `{first}`")


def _is_utf8(words: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in words)
