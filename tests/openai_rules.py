"""What OpenAI's two interfaces, and the templates of servers that imitate them, demand of a body. Written from their side:
it reads the bytes that are sent, and knows nothing of how they are made.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

type Json = dict[str, Any]

_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_IMAGE = re.compile(r"https?://.+|data:image/(png|jpeg|webp|gif);base64,[A-Za-z0-9+/]+=*", re.DOTALL)


def chat_problems(sent: bytes) -> list[str]:
    """Why chat completions would refuse these bytes; empty if they would not."""
    body = json.loads(sent.decode())
    return [*_body(body, {"messages", "stream_options"}), *_messages(body["messages"])]


def responses_problems(sent: bytes) -> list[str]:
    """Why responses would refuse these bytes; empty if they would not."""
    body = json.loads(sent.decode())
    return [*_body(body, {"input", "instructions", "store", "include"}), *_items(body["input"])]


def _body(body: Json, known: set[str]) -> Iterator[str]:
    for key in body.keys() - known - {"model", "stream", "tools"}:
        yield f"unknown field {key!r}"
    if body["stream"] is not True or not body["model"]:
        yield "the model is not named, or the reply not streamed"


def _messages(messages: list[Json]) -> Iterator[str]:
    due: set[str] = set()
    before = ""
    begun = False
    for number, message in enumerate(messages):
        role = message["role"]
        if role == "tool":
            if message.keys() != {"role", "tool_call_id", "content"}:
                yield f"message {number} has fields {sorted(message)}"
            if message["tool_call_id"] not in due:
                yield f"message {number} answers no call that is open"
            due.discard(message["tool_call_id"])
            if not isinstance(message["content"], str) or not message["content"]:
                yield f"message {number} has no content"
            before = role
            continue
        if due:
            yield f"message {number} comes before {due} are answered"
        if role == before:
            yield f"messages {number - 1} and {number} have one role"
        if role not in ("system", "user", "assistant"):
            yield f"message {number} has the role {role!r}"
        if role != "system" and not begun:
            begun = True
            if role != "user":
                yield "the first to speak is not the user"
        known = {"role", "content", "tool_calls"} if role == "assistant" else {"role", "content"}
        if message.keys() - known:
            yield f"message {number} has fields {sorted(message)}"
        if not (role == "assistant" and message.get("tool_calls") and message["content"] == ""):
            yield from _content(number, message["content"], images=role == "user")
        due = set()
        for call in message.get("tool_calls", ()):
            if call["id"] in due:
                yield f"message {number} makes two calls under one id"
            due.add(call["id"])
            if call.keys() != {"id", "type", "function"} or call["type"] != "function":
                yield f"message {number} has a call of an unknown kind"
            yield from _call(number, call["id"], call["function"])
        before = role
    if due:
        yield f"{due} are never answered"


def _content(number: int, content: object, *, images: bool) -> Iterator[str]:
    if isinstance(content, str):
        if not content.strip():
            yield f"message {number} is empty"
        return
    if not isinstance(content, list) or not content:
        yield f"message {number} has no content"
        return
    for block in content:
        match block:
            case {"type": "text", "text": str(text)} if text.strip() and len(block) == 2:
                pass
            case {"type": "image_url", "image_url": {"url": str(url)}} if images and _IMAGE.fullmatch(url):
                pass
            case _:
                yield f"message {number} has a block {block}"


def _call(number: int, identity: str, named: Json) -> Iterator[str]:
    if not _ID.fullmatch(identity) or not _NAME.fullmatch(named["name"]):
        yield f"message {number} has a call {identity!r} of {named['name']!r}"
    try:
        read = json.loads(named["arguments"], parse_constant=lambda _: 1 / 0)
        json.dumps(read, ensure_ascii=False).encode()
    except (ValueError, ZeroDivisionError):
        read = None
    if not isinstance(read, dict):
        yield f"message {number} has arguments that are no JSON object: {named['arguments']!r}"


def _items(items: list[Json]) -> Iterator[str]:
    due: list[str] = []
    made: set[str] = set()
    for number, item in enumerate(items):
        match item["type"]:
            case "function_call":
                if item["call_id"] in made:
                    yield f"item {number} uses an id again"
                due.append(item["call_id"])
                made.add(item["call_id"])
                yield from _call(number, item["call_id"], item)
            case "function_call_output":
                if item["call_id"] not in due:
                    yield f"item {number} answers no call that is open"
                due = [identity for identity in due if identity != item["call_id"]]
                if not isinstance(item["output"], str) or not item["output"]:
                    yield from _blocks(number, item["output"], {"input_text", "input_image"})
            case "message":
                if due:
                    yield f"item {number} comes before {due} are answered"
                text = "output_text" if item["role"] == "assistant" else "input_text"
                yield from _blocks(number, item["content"], {text, "input_image"} if item["role"] == "user" else {text})
                if item["role"] not in ("system", "user", "assistant") or item.keys() != {"type", "role", "content"}:
                    yield f"item {number} is no message"
            case _:
                yield f"item {number} is a {item['type']!r}"
    if due:
        yield f"{due} are never answered"


def _blocks(number: int, blocks: object, kinds: set[str]) -> Iterator[str]:
    if not isinstance(blocks, list) or not blocks:
        yield f"item {number} has no content"
        return
    for block in blocks:
        match block:
            case {"type": ("input_text" | "output_text") as kind, "text": str(text)} if kind in kinds and text.strip():
                pass
            case {"type": "input_image", "image_url": str(url), "detail": "auto"} if (
                "input_image" in kinds and _IMAGE.fullmatch(url)
            ):
                pass
            case _:
                yield f"item {number} has a block {block}"
