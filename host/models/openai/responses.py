"""Responses: the request is sent, and the reply put together from its finished items.

Pieces are only shown. What counts are the items as the server finished them, since those can be sent again: they hold
ids and sealed reasoning. Servers that imitate this form leave out indexes and more; a type is all that is relied on.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final, Literal

from host.conversation import Refusal
from host.conversation.blocks import as_text
from host.models.openai.connection import Connection, Event
from host.models.openai.errors import Failures
from host.models.openai.responses_request import parts_of, responses_body
from host.models.openai.wire import encoded, for_later, usage
from host.models.port import Delta, Reply, Request, Stop, Stream, Usage

__all__ = ["OpenAIResponses"]

type _Kind = Literal["text", "thinking", "call"]

_CALLS: Final = frozenset({"function_call", "custom_tool_call"})


class OpenAIResponses:
    """A model behind OpenAI's responses, or a server's that speaks like it.

    As `OpenAIChat`. `seals_reasoning` asks for reasoning in sealed form, which models that do not reason refuse: turn
    it off for those.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 600,
        max_retries: int = 3,
        sees_images: bool = True,
        seals_reasoning: bool = True,
        options: Mapping[str, object] | None = None,
    ) -> None:
        self._model = model
        self._connection = Connection(
            model, base_url=base_url, api_key=api_key, timeout=timeout, max_retries=max_retries
        )
        self._sees_images = sees_images
        self._seals_reasoning = seals_reasoning
        self._options = dict(options or {})

    @property
    def name(self) -> str:
        """Such as "openai:gpt-5"."""
        return self._connection.name

    def __repr__(self) -> str:
        return f"<OpenAIResponses {self.name}>"

    def body(self, request: Request) -> dict[str, object]:
        """What is sent for a request."""
        return responses_body(
            request,
            model=self._model,
            sees_images=self._sees_images,
            seals_reasoning=self._seals_reasoning,
            options=self._options,
        )

    async def reply(self, request: Request, *, stream: Stream | None = None) -> Reply:
        """See `Model.reply`."""
        gathered = _Gathered(stream)
        await self._connection.events("/responses", encoded(self.body(request)), gathered.take)
        return gathered.reply(self._model, self._connection.failures)


class _Gathered:
    """What has come of one reply."""

    def __init__(self, stream: Stream | None) -> None:
        self._stream = stream
        self._began = False
        self._items: list[dict[str, object]] = []
        self._response: Mapping[str, object] | None = None
        self._error: object = None
        self._thinks_in: tuple[object, ...] = ()

    def take(self, event: Event) -> None:
        """Add one event."""
        self._began = True
        response, item = event.get("response"), event.get("item")
        match event.get("type"):
            case "response.output_text.delta":
                self._tell("text", event)
            case "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta":
                self._tell("call", event)
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                self._think(event)
            case "response.output_item.done" if isinstance(item, dict):
                self._items.append(_identified(item))
            case "response.completed" | "response.incomplete" if isinstance(response, dict):
                self._response = response
            case "response.failed" if isinstance(response, dict):
                self._error = response.get("error") or "no reason given"
            case "error":
                self._error = event

    def _think(self, event: Event) -> None:
        """Reasoning comes in sections; a line's end parts those of one item, as in the part that it becomes."""
        place = (event.get("item_id"), event.get("type"), event.get("summary_index"), event.get("content_index"))
        if self._thinks_in and place != self._thinks_in and place[0] == self._thinks_in[0]:
            self._tell("thinking", {"delta": "\n"})
        self._thinks_in = place
        self._tell("thinking", event)

    def _tell(self, kind: _Kind, event: Event) -> None:
        piece = event.get("delta")
        if self._stream is not None and isinstance(piece, str) and piece:
            self._stream(Delta(kind=kind, text=piece))

    def reply(self, model: str, failures: Failures) -> Reply:
        """The whole reply. Raises ModelError for one that failed or broke off."""
        if self._error is not None:
            raise failures.reported(self._error)
        if self._response is None:
            if self._began:
                raise failures.broken_off()
            return Reply()
        counts = self._response.get("usage")
        spent = usage(counts, sent="input", wrote="output") if isinstance(counts, dict) else Usage()
        items = self._items or self._output()
        parts = parts_of(items)
        stop = self._stop(items, refused=any(isinstance(part, Refusal) for part in parts))
        if not parts:
            return Reply(usage=spent, stop=stop)
        kept = for_later(model, "output", items)
        return Reply(parts=parts, usage=spent, stop=stop, shape="openai-responses", original=kept)

    def _output(self) -> list[dict[str, object]]:
        output = self._response.get("output") if self._response is not None else None
        return [_identified(item) for item in output if isinstance(item, dict)] if isinstance(output, list) else []

    def _stop(self, items: list[dict[str, object]], *, refused: bool) -> Stop:
        details = self._response.get("incomplete_details") if self._response is not None else None
        reason = as_text(details.get("reason")) if isinstance(details, dict) else ""
        if reason:
            return "refusal" if reason == "content_filter" else "length"
        if any(item.get("type") in _CALLS for item in items):
            return "tools"
        return "refusal" if refused else "end"


def _identified(item: dict[str, object]) -> dict[str, object]:
    """An item; a call that has no id gets one."""
    if item.get("type") not in _CALLS or item.get("call_id"):
        return item
    return {**item, "call_id": f"call_{os.urandom(12).hex()}"}
