"""A server on loopback that answers what it was told to, in order, and keeps what it was asked. For what a real server
does only when it is unwell: refusals, overload, silence, connections that break.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import h11
import trio

type Json = dict[str, Any]

SSE = "text/event-stream; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Answer:
    """What one request gets. After the body the answer `ends`, `breaks` off, or `hangs` until the client goes away; one
    that `drops` is no answer at all, but a connection that is closed, and one that `waits` is silence.

    The body is written in pieces of `size` bytes, or as one.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    then: Literal["ends", "breaks", "hangs", "drops", "waits"] = "ends"
    size: int | None = None


def streamed(*events: object, done: bool = True, **how: Any) -> Answer:
    """A stream of these events."""
    data = [json.dumps(event, ensure_ascii=False).encode() for event in events] + [b"[DONE]"] * done
    body = b"".join([b"data: " + line + b"\n\n" for line in data])
    return Answer(body=body, headers={"Content-Type": SSE}, **how)


def refused(status: int, error: object, **headers: str) -> Answer:
    """An error, as a provider writes it."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    body = json.dumps({"error": error}).encode()
    return Answer(status=status, body=body, headers={"Content-Type": "application/json", **named})


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that came: its path, its headers by lower-case name, its body."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Json:
        return dict(json.loads(self.body))


class Server:
    """`url` is where it listens; `asked` what came so far; `gone` is set when a client left an answer that hangs."""

    def __init__(self, answers: Iterable[Answer]) -> None:
        self._answers = list(answers)
        self.asked: list[Asked] = []
        self.gone = trio.Event()
        self.url = ""

    async def serve(self, stream: trio.SocketStream) -> None:
        """One connection, which serves one request."""
        async with stream:
            connection = h11.Connection(h11.SERVER)
            request, body = None, b""
            while not isinstance(event := connection.next_event(), h11.EndOfMessage):
                if event is h11.NEED_DATA:
                    connection.receive_data(await stream.receive_some())
                elif isinstance(event, h11.Request):
                    request = event
                elif isinstance(event, h11.Data):
                    body += event.data
                else:
                    return  # It went away before it had asked.
            assert request is not None
            headers = {name.decode(): value.decode() for name, value in request.headers}
            self.asked.append(Asked(request.target.decode(), headers, body))
            answer = self._answers[len(self.asked) - 1]
            if answer.then == "waits":
                await trio.sleep_forever()
            if answer.then != "drops":
                with suppress(trio.BrokenResourceError):  # The client may go away when it likes.
                    await self._answer(stream, connection, answer)
                if answer.then == "hangs":
                    self.gone.set()

    async def _answer(self, stream: trio.SocketStream, connection: h11.Connection, answer: Answer) -> None:
        headers = [*answer.headers.items(), ("Connection", "close")]
        await stream.send_all(connection.send(h11.Response(status_code=answer.status, headers=headers)))
        size = answer.size or len(answer.body) or 1
        for start in range(0, len(answer.body), size):
            await stream.send_all(connection.send(h11.Data(data=answer.body[start : start + size])))
        if answer.then == "ends":
            await stream.send_all(connection.send(h11.EndOfMessage()))
        elif answer.then == "hangs":
            while await stream.receive_some():
                pass


@asynccontextmanager
async def serving(*answers: Answer) -> AsyncIterator[Server]:
    """A server that gives these answers."""
    server = Server(answers)
    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(partial(trio.serve_tcp, host="127.0.0.1"), server.serve, 0)
        server.url = f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}/v1"
        yield server
        nursery.cancel_scope.cancel()
