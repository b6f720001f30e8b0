"""A small server of the Messages API on loopback, for tests. It is our own, because there is none to run.

Written from the public description of the API, not from our renderer, so that it can disagree with it:

- It refuses what breaks a rule of the API (`anthropic_rules`).
- Reasoning is sealed with a signature of the server's making, over its words; with `binds_reasoning`, over all that
  stood before it too, as newer models have it.
- The prefix cache knows what stood before each mark of earlier requests, and finds it at most twenty blocks before a
  mark. Tokens are four bytes of JSON each.

It answers what `will` was told to, in order, and otherwise "ok". Nothing in it waits for time: a `Held` answer goes on
when its gate is opened.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import h11
import trio

from tests.anthropic_rules import Json, refusal_of

KEY = "sk-ant-test-0123456789"


@dataclass(frozen=True, slots=True)
class Say:
    """A message of these blocks. Reasoning is sealed by the server."""

    blocks: tuple[Json, ...]
    stop: str = "end_turn"
    details: Json | None = None
    breaks_after: int | None = None
    fails_with: Json | None = None
    ends_early: bool = False
    gate: trio.Event | None = None


@dataclass(frozen=True, slots=True)
class Fail:
    """An answer that is no message."""

    status: int
    type: str = "api_error"
    message: str = "no"
    headers: tuple[tuple[str, str], ...] = (("retry-after-ms", "1"),)


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def use(name: str, id: str, **arguments: object) -> Json:
    return {"type": "tool_use", "id": id, "name": name, "input": arguments}


def thinking(words: str) -> Json:
    return {"type": "thinking", "thinking": words, "signature": ""}


def say(*blocks: Json | str, **more: Any) -> Say:
    made = tuple([text(block) if isinstance(block, str) else block for block in blocks])
    stop = "tool_use" if any(block["type"] == "tool_use" for block in made) else "end_turn"
    return Say(made, **{"stop": stop, **more})


class Server:
    """`url` is where it listens. `bodies` and `headers` are what it was sent, `attempts` counts all of it."""

    def __init__(self, *, binds_reasoning: bool = False, reports_cache: bool = True) -> None:
        self.url = ""
        self.bodies: list[Json] = []
        self.headers: list[dict[str, str]] = []
        self.held, self.hung_up = trio.Event(), trio.Event()
        self.connections = 0
        self._answers: list[Say | Fail | Callable[[Json], Say | Fail]] = []
        self._binds, self._reports = binds_reasoning, reports_cache
        self._cached: set[str] = set()

    @property
    def attempts(self) -> int:
        return len(self.bodies)

    def will(self, *answers: Say | Fail | Callable[[Json], Say | Fail]) -> None:
        self._answers += answers

    async def serve(self, stream: trio.SocketStream) -> None:
        self.connections += 1
        connection = h11.Connection(h11.SERVER)
        async with stream:
            while (asked := await _request(connection, stream)) is not None:
                request, body = asked
                self.headers.append({key.decode(): value.decode() for key, value in request.headers})
                try:
                    if not await self._answer(connection, stream, request, body):
                        return
                except trio.BrokenResourceError:
                    self.hung_up.set()
                    return
                if connection.our_state is not h11.DONE or connection.their_state is not h11.DONE:
                    return
                connection.start_next_cycle()

    async def _answer(self, connection: h11.Connection, stream: trio.SocketStream, request: Any, raw: bytes) -> bool:
        body = json.loads(raw, parse_constant=_no_constant)
        self.bodies.append(body)
        answer = self._answers.pop(0) if self._answers else say("ok")
        answer = answer(body) if callable(answer) else answer
        refused = self._refused(request, body)
        if refused is not None and not isinstance(answer, Fail):
            answer = refused
        if isinstance(answer, Fail):
            said = json.dumps({"type": "error", "error": {"type": answer.type, "message": answer.message}}).encode()
            headers = [("content-type", "application/json"), ("content-length", str(len(said))), *answer.headers]
            await stream.send_all(connection.send(h11.Response(status_code=answer.status, headers=headers)) or b"")
            await stream.send_all((connection.send(h11.Data(data=said)) or b"") + _end(connection))
            return True
        head = h11.Response(status_code=200, headers=[("content-type", "text/event-stream")])
        await stream.send_all(connection.send(head) or b"")
        for number, (name, event) in enumerate(self._events(body, answer)):
            if number == answer.breaks_after:
                if answer.gate is not None:
                    self.held.set()
                    if not await self._gate(stream, answer.gate):
                        return False
                elif answer.fails_with is not None:
                    await stream.send_all(_line(connection, "error", {"type": "error", "error": answer.fails_with}))
                    break
                elif answer.ends_early:
                    break
                else:
                    return False
            await stream.send_all(_line(connection, name, event))
        await stream.send_all(_end(connection))
        return True

    async def _gate(self, stream: trio.SocketStream, gate: trio.Event) -> bool:
        """Wait for the gate; False if the other side hangs up first."""
        async with trio.open_nursery() as nursery:

            async def listen() -> None:
                if not await stream.receive_some():
                    self.hung_up.set()
                    nursery.cancel_scope.cancel()

            nursery.start_soon(listen)
            await gate.wait()
            nursery.cancel_scope.cancel()
        return not self.hung_up.is_set()

    def _refused(self, request: Any, body: Json) -> Fail | None:
        headers = self.headers[-1]
        if KEY not in (headers.get("x-api-key"), headers.get("authorization", "").removeprefix("Bearer ")):
            return Fail(401, "authentication_error", "invalid key")
        if request.target.split(b"?")[0] != b"/v1/messages" or "anthropic-version" not in headers:
            return Fail(404, "not_found_error", "no such resource")
        problem = refusal_of(body) or self._broken_seal(body)
        return None if problem is None else Fail(400, "invalid_request_error", problem)

    def _broken_seal(self, body: Json) -> str | None:
        for number, message in enumerate(body["messages"]):
            for place, block in enumerate(message["content"]):
                if block["type"] != "thinking":
                    continue
                if block["signature"].split(".")[0] != _digest(block["thinking"]):
                    return f"messages.{number}.content.{place}: Invalid `signature` in `thinking` block"
                if self._binds and block["signature"] != self._seal(block["thinking"], body, number):
                    return (
                        f"messages.{number}.content.{place}: Invalid `signature` in `thinking` block. "
                        "The block is bound to a different conversation."
                    )
        return None

    def _seal(self, words: str, body: Json, until: int) -> str:
        before = [_bare(body.get("tools", [])), _bare(body.get("system", [])), _bare(body["messages"][:until])]
        return f"{_digest(words)}.{_digest(before)}"

    def _events(self, body: Json, answer: Say) -> Iterator[tuple[str, Json]]:
        usage = self._usage(body)
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"] + "-20260101"}
        yield _event("message_start", message={**message, "content": [], "stop_reason": None, "usage": usage})
        yield _event("ping")
        for index, block in enumerate(answer.blocks):
            kind = block["type"]
            empty: dict[str, Json] = {
                "text": {"text": ""},
                "tool_use": {"input": {}},
                "thinking": {"thinking": "", "signature": ""},
            }
            yield _event("content_block_start", index=index, content_block={**block, **empty.get(kind, {})})
            deltas: list[Json] = []
            if kind == "text":
                deltas = [{"type": "text_delta", "text": piece} for piece in _pieces(block["text"])]
            elif kind == "tool_use" and block["input"]:
                written = block.get("written") or json.dumps(block["input"])
                deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *_pieces(written)]]
            elif kind == "thinking":
                seal = self._seal(block["thinking"], body, len(body["messages"]))
                deltas = [{"type": "thinking_delta", "thinking": piece} for piece in _pieces(block["thinking"])]
                deltas.append({"type": "signature_delta", "signature": seal})
            for delta in deltas:
                yield _event("content_block_delta", index=index, delta=delta)
            yield _event("content_block_stop", index=index)
        delta = {"stop_reason": answer.stop, "stop_sequence": None, "stop_details": answer.details}
        yield _event("message_delta", delta=delta, usage={"output_tokens": _tokens(list(answer.blocks))})
        yield _event("message_stop")

    def _usage(self, body: Json) -> Json:
        """Read what is cached up to the last mark, write what is not, and count."""
        running = _digest([body["model"], body.get("thinking"), body.get("tool_choice")])
        sums, prefixes, marks = 0, [], []
        for role, block in _flat(body):
            running = _digest([running, role, _bare(block)])
            sums += _tokens(_bare(block))
            prefixes.append((running, sums))
            if "cache_control" in block:
                marks.append(len(prefixes) - 1)
        hits = [
            prefixes[place][1]
            for mark in marks
            for place in range(mark, max(-1, mark - 21), -1)
            if prefixes[place][0] in self._cached
        ]
        read = max(hits, default=0)
        marked = prefixes[marks[-1]][1] if marks else 0
        self._cached |= {prefixes[mark][0] for mark in marks}
        counted = {"input_tokens": sums - marked, "output_tokens": 1}
        if not self._reports:
            return counted | {"input_tokens": sums}
        return counted | {"cache_read_input_tokens": read, "cache_creation_input_tokens": marked - read}


@asynccontextmanager
async def open_server(port: int = 0, **options: bool) -> AsyncIterator[Server]:
    """A server that listens as long as the block lasts."""
    server = Server(**options)
    listeners = await trio.open_tcp_listeners(port, host="127.0.0.1")
    server.url = f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}"
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, server.serve, listeners)
        yield server
        nursery.cancel_scope.cancel()


async def _request(connection: h11.Connection, stream: trio.SocketStream) -> tuple[Any, bytes] | None:
    request, body = None, b""
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            try:
                connection.receive_data(await stream.receive_some())
            except trio.BrokenResourceError:
                return None
        elif isinstance(event, h11.Request):
            request = event
        elif isinstance(event, h11.Data):
            body += event.data
        elif isinstance(event, h11.EndOfMessage):
            return request, body
        else:
            return None


def _line(connection: h11.Connection, name: str, event: Json) -> bytes:
    return connection.send(h11.Data(data=f"event: {name}\ndata: {json.dumps(event)}\n\n".encode())) or b""


def _end(connection: h11.Connection) -> bytes:
    return connection.send(h11.EndOfMessage()) or b""


def _event(name: str, **fields: object) -> tuple[str, Json]:
    return name, {"type": name, **fields}


def _pieces(words: str) -> list[str]:
    return [words[start : start + 7] for start in range(0, len(words), 7)]


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def _tokens(value: object) -> int:
    return len(json.dumps(value)) // 4 + 1


def _bare(value: Any) -> Any:
    """Without marks, and without the reasoning, which may be left out from the front."""
    if isinstance(value, list):
        return [_bare(each) for each in value if not (isinstance(each, dict) and each.get("type") == "thinking")]
    if isinstance(value, dict):
        return {key: _bare(each) for key, each in value.items() if key != "cache_control"}
    return value


def _flat(body: Json) -> Iterator[tuple[str, Json]]:
    yield from [("tools", tool) for tool in body.get("tools", [])]
    yield from [("system", block) for block in body.get("system", [])]
    for message in body["messages"]:
        yield from [(message["role"], block) for block in message["content"]]


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")
