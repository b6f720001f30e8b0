"""A request as the body of a call of the Messages API. A pure function: equal requests give equal bytes.

The form, from the front to the end, is what a cache is keyed by: tools, system, messages. So:

- What a history holds up to a reply is rendered the same whatever comes after it. So the next request of a conversation
  begins with the whole of the one before, and a cache that knows that one is read.
- Cache marks (`cache_control`), of which the API takes four: on the last tool, on the last block of the system, on the
  last block of the messages, and where the request before this one ended. The last is needed because the API looks
  back only some twenty blocks from a mark.
- The tail, which is true only now, is a block of its own behind the last mark.

Rules of the API that shape the rest:

- User and assistant take turns; the user is first. Neighbours of one role become one message. Results of calls stand
  first in the user's message behind the call.
- A system message within the conversation follows a user's message, and an assistant's or nothing follows it. So all
  that is said between two of the assistant's messages is one user message, and then one system message of all that the
  system said there; if the user said nothing there, a short line stands in for it. Those before everything else join
  the system at the top.
- Models before Claude Opus 4.8, all Sonnets and Haikus so far, and some servers take no system message there.
  For them (`system_messages=False`) it is a block of the user's message that says that it is the system's; it has then
  no more authority than the user's words.
- Reasoning is sent to the very model that wrote it, unchanged, or not at all. (`well_formed` leaves out what would be
  the last in a message.)
- An assistant's message is never the last one: newer models refuse to go on with one that was begun.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal

from host.conversation import Message, Thinking, ToolCall, ToolResult
from host.conversation.well_formed import well_formed
from host.models.anthropic.blocks import Block, answer, call, legible, said, text, thought
from host.models.port import Request, ToolSpec

__all__ = ["FROM_SYSTEM", "GO_ON", "SYSTEM_FOLLOWS", "Effort", "Options", "rendered"]

type Effort = Literal["low", "medium", "high", "xhigh", "max"]

_SYSTEM: Final = frozenset({"system", "developer"})
_SEALED: Final = frozenset({"thinking", "redacted_thinking"})

SYSTEM_FOLLOWS: Final = "[a message from the system follows]"
FROM_SYSTEM: Final = "[a message from the system, not from the user]"
GO_ON: Final = "[please go on]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What every request to one model has in common. `asked_as` names the model; `cache` is how long a provider keeps
    what is marked, None for no marks. `thinking` is a budget in tokens, or "adaptive". Without `reasoning_sent`, the
    reasoning of earlier messages is left out.
    """

    asked_as: str
    max_tokens: int
    thinking: int | Literal["adaptive"] | None = None
    effort: Effort | None = None
    system_messages: bool = True
    cache: Literal["5m", "1h"] | None = "5m"
    reasoning_sent: bool = True


def rendered(request: Request, options: Options) -> dict[str, Any]:
    """The body of the call, without `stream`. Never raises, whatever the history holds."""
    messages = well_formed(request.messages)
    begin = next((number for number, each in enumerate(messages) if each.role not in _SYSTEM), len(messages))
    mark: Block | None = None
    if options.cache is not None:
        mark = {"type": "ephemeral"} if options.cache == "5m" else {"type": "ephemeral", "ttl": options.cache}
    turns = _Turns(options)
    for message in messages[begin:]:
        turns.take(message)
    written = turns.finish()
    body: dict[str, Any] = {"model": options.asked_as, "max_tokens": options.max_tokens}
    if request.tools:
        body["tools"] = _marked_last([_tool(tool) for tool in request.tools], mark)
    system = [text(request.system), *[block for message in messages[:begin] for block in _words(message)]]
    if top := [block for block in system if block is not None]:
        body["system"] = _marked_last(top, mark)
    body["messages"] = written
    if mark is not None:
        _mark(written, mark)
    _close(written, request.tail)
    if options.thinking == "adaptive":
        body["thinking"] = {"type": "adaptive", "display": "summarized"}
    elif options.thinking is not None and not _thoughtless(written):
        body["thinking"] = {"type": "enabled", "budget_tokens": options.thinking}
    if options.effort is not None:
        body["output_config"] = {"effort": options.effort}
    return body


class _Turns:
    """The messages of the API, as they are written one after the other."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._written: list[Block] = []
        self._answers: list[Block] = []
        self._said: list[Block] = []
        self._ordered: list[Block] = []

    def take(self, message: Message) -> None:
        """Write one message, or keep it until all is known that stands beside it."""
        own_files = message.shape == "anthropic"
        if message.role == "assistant":
            blocks = _assistant(message, self._options)
            if blocks:
                self._flush()
                self._put("assistant", blocks)
        elif message.role == "tool":
            results = [part for part in message.parts if isinstance(part, ToolResult)]
            self._answers += [answer(result, own_files=own_files) for result in results]
        elif message.role not in _SYSTEM:
            blocks = said(message.parts, own_files=own_files)
            self._said += _by(message.name, blocks) if message.name else blocks
        elif self._options.system_messages:
            self._ordered += _words(message)
        else:
            self._said += [{**block, "text": f"{FROM_SYSTEM}\n{block['text']}"} for block in _words(message)]

    def finish(self) -> list[Block]:
        """All that was written. It is empty, or begins with the user."""
        self._flush()
        return self._written

    def _flush(self) -> None:
        heard = [*self._answers, *self._said]
        if self._ordered and not heard:
            heard = [{"type": "text", "text": SYSTEM_FOLLOWS}]
        if heard:
            self._put("user", heard)
        if self._ordered:
            self._put("system", self._ordered)
        self._answers, self._said, self._ordered = [], [], []

    def _put(self, role: str, blocks: list[Block]) -> None:
        if self._written and self._written[-1]["role"] == role:
            self._written[-1]["content"] += blocks
        else:
            self._written.append({"role": role, "content": list(blocks)})


def _assistant(message: Message, options: Options) -> list[Block]:
    own = options.reasoning_sent and _is_of(message, options.asked_as)
    blocks: list[Block] = []
    for part in message.parts:
        if isinstance(part, Thinking):
            if own and (sealed := thought(part)) is not None:
                blocks.append(sealed)
        elif isinstance(part, ToolCall):
            blocks.append(call(part))
        else:
            blocks += _readable(said((part,)))
    return blocks


def _is_of(message: Message, model: str) -> bool:
    """Whether this very model wrote the message, and it is as it came. Only then may reasoning be sent back."""
    if message.shape != "anthropic" or message.original is None:
        return False
    if not any(isinstance(part, Thinking) for part in message.parts):
        return False
    try:
        item = json.loads(message.original)
    except (ValueError, RecursionError):
        return False
    return isinstance(item, dict) and item.get("model") == model


def _readable(blocks: Iterable[Block]) -> list[Block]:
    """Blocks for a speaker who can only say words. What the assistant and the system showed is named."""
    return [
        block if block["type"] == "text" else {"type": "text", "text": f"[{block['type']}; it cannot be shown here]"}
        for block in blocks
    ]


def _words(message: Message) -> list[Block]:
    return _readable(said(message.parts))


def _by(name: str, blocks: list[Block]) -> list[Block]:
    """What someone of that name said: the API has no place for names, so it stands before the words."""
    first = next((number for number, block in enumerate(blocks) if block["type"] == "text"), None)
    if first is None:
        return blocks
    named = {**blocks[first], "text": f"{legible(name)}: {blocks[first]['text']}"}
    return [*blocks[:first], named, *blocks[first + 1 :]]


def _tool(tool: ToolSpec) -> Block:
    described = {"description": tool.description} if tool.description else {}
    return {"name": tool.name, **described, "input_schema": {"type": "object", **tool.parameters}}


def _marked_last(blocks: list[Block], mark: Block | None) -> list[Block]:
    return blocks if mark is None else [*blocks[:-1], {**blocks[-1], "cache_control": mark}]


def _mark(messages: list[Block], mark: Block) -> None:
    """Mark where this request ends, and where the one before it ended: before the last message of the assistant."""
    last = len(messages) - 1
    spoken = next((number for number in range(last, 0, -1) if messages[number]["role"] == "assistant"), 0)
    for number in {spoken - 1, last}:
        if number >= 0:
            messages[number]["content"] = _marked_last(messages[number]["content"], mark)


def _close(messages: list[Block], tail: str) -> None:
    """Write the tail, and see to it that the assistant is not the last."""
    closing = text(tail)
    if not messages or messages[-1]["role"] == "assistant":
        messages.append({"role": "user", "content": [closing or {"type": "text", "text": GO_ON}]})
    elif closing is not None:
        messages[-1]["content"].append(closing)


def _thoughtless(messages: list[Block]) -> bool:
    """Whether the calls being answered were made without reasoning that can be sent.

    With a budget the API demands that such a message begins with its reasoning; another model's cannot be given, so
    this one request has to do without.
    """
    spoken = next((message for message in reversed(messages) if message["role"] == "assistant"), None)
    if spoken is None or spoken["content"][0]["type"] in _SEALED:
        return False
    return any(block["type"] == "tool_use" for block in spoken["content"])
