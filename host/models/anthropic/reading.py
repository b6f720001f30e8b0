"""The events of a streamed message, put together to a reply.

The blocks are kept as the API sent them, in their order. From them come the reply's parts, and its `original`: the
message as it can be sent again, with the name that the model was asked by, because reasoning may only go back to it.
What a call's arguments are is text here, as the model wrote it: it may have been cut off, and be no JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from host.conversation import Part, Refusal, Text, ToolCall
from host.conversation.blocks import as_json, content
from host.models.anthropic.blocks import Block, call_input
from host.models.port import Delta, Reply, Stop, Usage

__all__ = ["Reading"]

_STOPS: Final[Mapping[str, Stop]] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tools",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "pause_turn": "length",  # it is not over: whoever sends the reply back gets the rest
    "refusal": "refusal",
}
_DECLINED: Final = "The model declined to answer."


class Reading:
    """Takes the events of one message. `is_whole` is whether the last one has come."""

    def __init__(self, asked_as: str) -> None:
        self._asked_as = asked_as
        self._blocks: dict[int, Block] = {}
        self._arguments: dict[int, str] = {}
        self._usage: dict[str, int] = {}
        self._stop: str | None = None
        self._explanation: str | None = None
        self.is_whole = False

    def take(self, event: Mapping[str, Any]) -> Delta | None:
        """Take the next event; what it adds to the reply, if that is something to read. Unknown ones add nothing.

        Raises KeyError, TypeError or AttributeError if a known event is not as the API defines it.
        """
        match event["type"]:
            case "message_start":
                self._count(event["message"]["usage"])
            case "content_block_start":
                block = event["content_block"]
                self._blocks[event["index"]] = {key: value for key, value in block.items() if value is not None}
            case "content_block_delta":
                return self._add(event["index"], event["delta"])
            case "content_block_stop":
                index = event["index"]
                block = self._blocks[index]
                if block["type"] == "tool_use" and not self._arguments.get(index):
                    self._arguments[index] = as_json(block.get("input") or {})
                    return Delta(kind="call", text=self._arguments[index])
            case "message_delta":
                self._count(event["usage"])
                self._stop = event["delta"].get("stop_reason") or self._stop
                self._explanation = (event["delta"].get("stop_details") or {}).get("explanation")
            case "message_stop":
                self.is_whole = True
        return None

    def _add(self, index: int, delta: Mapping[str, Any]) -> Delta | None:
        block = self._blocks[index]
        match delta["type"]:
            case "text_delta":
                block["text"] += delta["text"]
                return Delta(kind="text", text=delta["text"])
            case "thinking_delta":
                block["thinking"] += delta["thinking"]
                return Delta(kind="thinking", text=delta["thinking"])
            case "signature_delta":
                block["signature"] = delta["signature"]
            case "input_json_delta":
                self._arguments[index] = self._arguments.get(index, "") + delta["partial_json"]
                return Delta(kind="call", text=delta["partial_json"]) if delta["partial_json"] else None
            case "citations_delta":
                block.setdefault("citations", []).append(delta["citation"])
        return None

    def _count(self, usage: Mapping[str, int | None]) -> None:
        """Counts are sums so far; one that is left out is as it was."""
        self._usage |= {name: value for name, value in usage.items() if value is not None}

    def reply(self) -> Reply:
        """The whole reply."""
        parts: list[Part] = []
        for index, block in self._blocks.items():
            if block["type"] == "tool_use":
                made = ToolCall(id=block["id"], name=block["name"], arguments=self._arguments.get(index, ""))
                block["input"] = call_input(made)
                parts.append(made)
            else:
                parts += [part for part in content([block]) if not isinstance(part, Text) or part.text]
        if self._stop == "refusal":
            parts.append(Refusal(text=self._explanation or _DECLINED))
        item = {"role": "assistant", "model": self._asked_as, "content": list(self._blocks.values())}
        return Reply(
            parts=tuple(parts),
            usage=self._counted(),
            stop=_STOPS.get(self._stop or "", "end"),
            shape="anthropic",
            original=as_json(item).encode("utf-8", "replace"),
        )

    def _counted(self) -> Usage:
        """The API counts what it read from its cache, and what it wrote there, apart from the rest of the input."""
        cached, written = self._usage.get("cache_read_input_tokens"), self._usage.get("cache_creation_input_tokens")
        return Usage(
            input=self._usage.get("input_tokens", 0) + (cached or 0) + (written or 0),
            output=self._usage.get("output_tokens", 0),
            cached=cached,
            written=written,
        )
