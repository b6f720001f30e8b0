"""What was asked of a model and what it answered, kept, and written as JSON Lines.

A line is one exchange. Everything of a request and of its reply is in it, also the sealed reasoning and the ids of
messages, which are the same when the file is read again.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, Final, Self

from host.conversation import Conversation, ConversationError
from host.models.port import Model, Reply, Request, Stream, ToolSpec, Usage

__all__ = ["Exchange", "Recording", "read", "write"]

_FORMAT: Final = "branchpoint exchange 1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request and the reply to it."""

    request: Request
    reply: Reply


class Recording:
    """A model that passes on to another one and keeps every exchange that came to a reply, in the order of replies."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.exchanges: list[Exchange] = []

    @property
    def name(self) -> str:
        """The name of the model that answers."""
        return self._model.name

    async def reply(self, request: Request, *, stream: Stream | None = None) -> Reply:
        """The other model's reply. Its errors pass, and are not kept."""
        reply = await self._model.reply(request, stream=stream)
        self.exchanges.append(Exchange(request=request, reply=reply))
        return reply

    def save(self, path: str | PathLike[str]) -> Self:
        """Write what was kept so far, in place of what is there. Raises OSError."""
        write(path, self.exchanges)
        return self


def write(path: str | PathLike[str], exchanges: Iterable[Exchange]) -> None:
    """Write exchanges, one a line. Raises OSError."""
    lines = [json.dumps(_written(exchange)) + "\n" for exchange in exchanges]
    Path(path).write_text("".join(lines), encoding="utf-8")


def read(path: str | PathLike[str]) -> Iterator[Exchange]:
    """Read what `write` wrote. Raises OSError, and ValueError for a line that is no exchange."""
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), start=1):
        try:
            yield _read(json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError, ConversationError) as error:
            raise ValueError(f"{Path(path).name}: line {number} is no exchange ({error!r})") from None


def _written(exchange: Exchange) -> dict[str, object]:
    request, reply = exchange.request, exchange.reply
    usage = reply.usage
    return {
        "format": _FORMAT,
        "system": request.system,
        "messages": _packed(Conversation().extend(request.messages).to_plain()),
        "tools": [[tool.name, tool.description, tool.parameters] for tool in request.tools],
        "tail": request.tail,
        "reply": _packed(Conversation.of(replace(reply.message(), id="reply")).to_plain()),
        "stop": reply.stop,
        "usage": [usage.input, usage.output, usage.cached, usage.written],
    }


def _read(data: dict[str, Any]) -> Exchange:
    if data["format"] != _FORMAT:
        raise ValueError(f"expected {_FORMAT!r}")
    said = Conversation.from_plain(_unpacked(data["reply"])).last
    if said is None:
        raise ValueError("it has no reply")
    spent, written, cached, kept = data["usage"]
    tools = [ToolSpec(name=name, description=about, parameters=schema) for name, about, schema in data["tools"]]
    return Exchange(
        request=Request(
            system=data["system"],
            messages=Conversation.from_plain(_unpacked(data["messages"])).messages,
            tools=tuple(tools),
            tail=data["tail"],
        ),
        reply=Reply(
            parts=said.parts,
            shape=said.shape,
            original=said.original,
            stop=data["stop"],
            usage=Usage(input=spent, output=written, cached=cached, written=kept),
        ),
    )


def _packed(value: Any) -> Any:
    """Plain data as JSON has it: bytes as an object that says whether they are text or base64."""
    match value:
        case bytes():
            try:
                return {"text": value.decode()}
            except UnicodeDecodeError:
                return {"base64": base64.b64encode(value).decode()}
        case dict():
            return {key: _packed(inner) for key, inner in value.items()}
        case list() | tuple():
            return [_packed(inner) for inner in value]
        case _:
            return value


def _unpacked(value: Any) -> Any:
    match value:
        case {"text": str(words)} if len(value) == 1:
            return words.encode()
        case {"base64": str(words)} if len(value) == 1:
            return base64.b64decode(words)
        case dict():
            return {key: _unpacked(inner) for key, inner in value.items()}
        case list():
            return [_unpacked(inner) for inner in value]
        case _:
            return value
