"""A model whose replies stand in a file, so that a test can lead a conversation with the command as a process.

One JSON object a line: `text` and `calls` ([{"name", "arguments"}]) make the reply; `for` is a piece of text that must
stand in the last message of the request. Each line is used once, the first that fits. `text` may be a list, whose
pieces come one by one: {"gate": FIFO} among them waits until something was written into that FIFO.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import trio

from host.conversation import Message, Text, ToolCall, ToolResult
from host.models.errors import ModelError
from host.models.port import Delta, Reply, Request, Stream

__all__ = ["Script"]


class Script:
    """The model of one file."""

    name = "script"

    def __init__(self, file: Path) -> None:
        lines = [json.loads(line) for line in file.read_text().splitlines() if line.strip()]
        self._left: list[Mapping[str, object]] = lines
        self._calls = 0

    async def reply(self, request: Request, *, stream: Stream | None = None) -> Reply:
        """The reply of the first line that fits. Raises ModelError if none does."""
        said = _said(request.messages[-1])
        line = next((each for each in self._left if str(each.get("for", "")) in said), None)
        if line is None:
            raise ModelError(f"The script has no reply to {said!r}.", model=self.name)
        self._left.remove(line)
        text = line.get("text", "")
        whole = ""
        for piece in text if isinstance(text, list) else [text]:
            if isinstance(piece, dict):
                await trio.to_thread.run_sync(Path(piece["gate"]).read_bytes, abandon_on_cancel=True)
                continue
            whole += str(piece)
            if stream is not None and piece:
                stream(Delta(kind="text", text=str(piece)))
        return Reply.of(whole, *self._made(line.get("calls")))

    def _made(self, calls: object) -> list[ToolCall]:
        made = []
        for each in calls if isinstance(calls, list) else []:
            self._calls += 1
            arguments = json.dumps(each.get("arguments", {}))
            made.append(ToolCall(id=f"call_{self._calls}", name=each["name"], arguments=arguments))
        return made


def _said(message: Message) -> str:
    """The words of a message and of the results in it, and the names of its calls."""
    inner = [each for part in message.parts if isinstance(part, ToolResult) for each in part.parts]
    results = [each.text for each in inner if isinstance(each, Text)]
    return "\n".join([message.text, *results, *[call.name for call in message.calls]])
