"""Chat completions: the request is sent, and the reply gathered from its pieces.

Servers imitate this form, each a little differently. What is read here is what they agree on, and what they are known
to do differently: calls without ids, without indexes, or all with the same index; reasoning under either of two names;
content in blocks; usage in any chunk or in none. A refusal is told when it is whole: no piece of it is text.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Final, Literal

from host.conversation import Part, Refusal, Text, ToolCall
from host.conversation.blocks import as_text, content
from host.conversation.items import read_item
from host.models.openai.chat_request import chat_body
from host.models.openai.connection import Connection, Event
from host.models.openai.wire import encoded, for_later, usage
from host.models.port import Delta, Reply, Request, Stop, Stream, Usage

__all__ = ["OpenAIChat"]

_STOPS: Final[Mapping[str, Stop]] = {
    "stop": "end",
    "length": "length",
    "tool_calls": "tools",
    "function_call": "tools",
    "content_filter": "refusal",
}
_CALL: Final = frozenset({"index", "id", "type", "function"})
_THOUGHTS: Final = ("reasoning_content", "reasoning")


class OpenAIChat:
    """A model behind chat completions, OpenAI's own or any server's that speaks like it.

    `timeout` is how many seconds the server may be silent; `max_retries` how often what failed in passing is asked
    again, before the reply has begun. `sees_images` says whether images are sent or named in words. `options` are
    further fields of each request: {"temperature": 0}. For `base_url` and `api_key`, and what raises, see `Connection`.
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
        options: Mapping[str, object] | None = None,
    ) -> None:
        self._model = model
        self._connection = Connection(
            model, base_url=base_url, api_key=api_key, timeout=timeout, max_retries=max_retries
        )
        self._sees_images = sees_images
        self._options = dict(options or {})

    @property
    def name(self) -> str:
        """Such as "openai:gpt-5"."""
        return self._connection.name

    def __repr__(self) -> str:
        return f"<OpenAIChat {self.name}>"

    def body(self, request: Request) -> dict[str, object]:
        """What is sent for a request."""
        return chat_body(request, model=self._model, sees_images=self._sees_images, options=self._options)

    async def reply(self, request: Request, *, stream: Stream | None = None) -> Reply:
        """See `Model.reply`."""
        gathered = _Gathered(stream)
        await self._connection.events("/chat/completions", encoded(self.body(request)), gathered.take)
        if gathered.began and not gathered.ended:
            raise self._connection.failures.broken_off()
        return gathered.reply(self._model)


type _Kind = Literal["text", "thinking", "call"]


class _Call:
    """The pieces of one call. `extra` is what a provider attaches to it and wants to see again."""

    def __init__(self, index: object) -> None:
        self.index = index
        self.id = ""
        self.name = ""
        self.arguments: list[str] = []
        self.extra: dict[str, object] = {}

    def add(self, piece: Mapping[str, object]) -> str:
        """Add a piece, and give what it adds to the arguments."""
        self.id = self.id or as_text(piece.get("id"))
        self.extra |= {key: value for key, value in piece.items() if key not in _CALL and value is not None}
        function = piece.get("function")
        if not isinstance(function, dict):
            return ""
        name = as_text(function.get("name"))
        if name != self.name:
            self.name += name
        written = as_text(function.get("arguments"))
        self.arguments.append(written)
        return written


class _Gathered:
    """The pieces of one reply so far. `began` once it holds anything; `ended` once it said why it ends."""

    def __init__(self, stream: Stream | None) -> None:
        self._stream = stream
        self._text: list[str] = []
        self._thoughts: list[str] = []
        self._thought_of = ""
        self._refusal: list[str] = []
        self._calls: list[_Call] = []
        self._finish = ""
        self._usage = Usage()

    @property
    def began(self) -> bool:
        return bool(self._text or self._thoughts or self._refusal or self._calls)

    @property
    def ended(self) -> bool:
        return bool(self._finish)

    def take(self, event: Event) -> None:
        """Add one chunk."""
        if isinstance(counts := event.get("usage"), dict):
            self._usage = usage(counts, sent="prompt", wrote="completion")
        choices = event.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict):
            return
        self._finish = as_text(choice.get("finish_reason")) or self._finish
        delta = choice.get("delta")
        if isinstance(delta, dict):
            self._add(delta)

    def _add(self, delta: Mapping[str, object]) -> None:
        for key in _THOUGHTS:
            thought = delta.get(key)
            if isinstance(thought, str) and thought and self._thought_of in ("", key):
                self._thought_of = key
                self._thoughts.append(thought)
                self._tell("thinking", thought)
        for part in content(delta.get("content")):
            if isinstance(part, Text) and part.text:
                self._text.append(part.text)
                self._tell("text", part.text)
        self._refusal += [said] if isinstance(said := delta.get("refusal"), str) and said else []
        calls = delta.get("tool_calls")
        for piece in calls if isinstance(calls, list) else ():
            if isinstance(piece, dict):
                self._tell("call", self._call(piece).add(piece))

    def _call(self, piece: Mapping[str, object]) -> _Call:
        """The call that a piece belongs to: by its index, unless it brings an id that this one has not."""
        index, identity = piece.get("index"), as_text(piece.get("id"))
        found = self._calls[-1:] if index is None else [call for call in self._calls if call.index == index][-1:]
        begins = bool(identity) if index is None else bool(identity) and any(call.id != identity for call in found)
        if not found or begins:
            self._calls.append(_Call(index))
            return self._calls[-1]
        return found[0]

    def _tell(self, kind: _Kind, piece: str) -> None:
        if self._stream is not None and piece:
            self._stream(Delta(kind=kind, text=piece))

    def reply(self, model: str) -> Reply:
        """The whole reply."""
        message: dict[str, object] = {"role": "assistant", "content": "".join(self._text)}
        if self._thoughts:
            message[self._thought_of] = "".join(self._thoughts)
        if self._refusal:
            message["refusal"] = "".join(self._refusal)
        if self._calls:
            message["tool_calls"] = list(self._written_calls())
        item = read_item(message)
        if item is None or not item.parts:
            return Reply(usage=self._usage, stop=_STOPS.get(self._finish, "end"))
        return Reply(
            parts=item.parts,
            usage=self._usage,
            stop=_stop(self._finish, item.parts),
            shape="openai-chat",
            original=for_later(model, "choices", [{"message": message}]),
        )

    def _written_calls(self) -> Iterator[Mapping[str, object]]:
        taken: set[str] = set()
        for call in self._calls:
            identity = call.id if call.id and call.id not in taken else f"call_{os.urandom(12).hex()}"
            taken.add(identity)
            function = {"name": call.name, "arguments": "".join(call.arguments)}
            yield {**call.extra, "id": identity, "type": "function", "function": function}


def _stop(finish: str, parts: tuple[Part, ...]) -> Stop:
    """Why it ended. Some servers say "stop" though there are calls."""
    stop = _STOPS.get(finish, "end")
    if stop == "end" and any(isinstance(part, ToolCall) for part in parts):
        return "tools"
    if stop == "end" and any(isinstance(part, Refusal) for part in parts):
        return "refusal"
    return stop
