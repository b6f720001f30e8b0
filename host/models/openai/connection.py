"""The way to a server: key, address, timeouts and retries, and the events of a streamed reply.

- The SDK asks again what failed in passing (timeouts, connection errors, 408, 409, 429 and 5xx), waits as long as the
  server says, and tells us what is left in the end. A reply that has begun is never asked for again.
- What is sent are the bytes that were rendered: the SDK is given them as they are.
- The stream is read here and not by the SDK's reader, which leaves its generators suspended at the end of a reply:
  under trio each of them is a warning. Whatever happens, the response has been read to its end or closed when we
  return, so a cancelled request frees the server at once.
- No connection outlives its request. A model is a value that nobody has to close, and a new connection takes two or
  three round trips where a reply takes seconds.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from ipaddress import ip_address
from typing import Final, cast

import httpx2
import openai
import trio

from host.models.errors import ModelRefused
from host.models.openai.errors import BROKEN, Failures

__all__ = ["Connection", "Event"]

type Event = Mapping[str, object]

_NO_KEY: Final = "no-key"
_CONNECT: Final = 10.0
_GRACE: Final = 1.0


class Connection:
    """A server and a model on it. `name` is how we call the model; `failures` makes its errors.

    Without `api_key`, `OPENAI_API_KEY` is used; without `base_url`, `OPENAI_BASE_URL`, or else OpenAI's own server. A
    server at a base URL is asked without a key if there is none. Raises ModelRefused if there is no usable key, and
    ValueError for a base URL that is none.
    """

    def __init__(
        self, model: str, *, base_url: str | None, api_key: str | None, timeout: float, max_retries: int
    ) -> None:
        self.name = f"openai:{model}"
        base_url = base_url or os.environ.get("OPENAI_BASE_URL") or None
        key = (api_key or os.environ.get("OPENAI_API_KEY") or "").strip()
        if base_url is not None and not base_url.startswith(("http://", "https://")):
            raise ValueError(f"base_url should begin with http:// or https://, found {base_url!r}")
        if not key and base_url is None:
            raise ModelRefused(
                f"{self.name} needs a key: set OPENAI_API_KEY, or give the base URL of a server that needs none.",
                model=self.name,
            )
        if not (key.isascii() and key.isprintable()):
            raise ModelRefused(f"The key for {self.name} has characters in it that no key has.", model=self.name)
        self.failures = Failures(model=self.name, key=key, timeout=timeout)
        self._client = openai.AsyncOpenAI(
            api_key=key or _NO_KEY,
            base_url=base_url,
            max_retries=max_retries,
            http_client=openai.DefaultAsyncHttpx2Client(
                timeout=httpx2.Timeout(timeout, connect=min(timeout, _CONNECT)),
                limits=httpx2.Limits(max_keepalive_connections=0),
                trust_env=not _is_loopback(base_url),  # No proxy leads to this machine itself.
            ),
        )

    def __repr__(self) -> str:
        return f"<Connection to {self.name}>"

    async def events(self, path: str, body: bytes, take: Callable[[Event], None]) -> None:
        """Send a request and give each event of the reply to `take`, as it comes. Raises ModelError."""
        try:
            # With this `cast_to` the SDK hands out the response unread, whatever its annotations say.
            response = cast(
                "httpx2.Response",
                await self._client.post(
                    path,
                    content=body,
                    cast_to=httpx2.Response,
                    stream=True,
                    stream_cls=openai.AsyncStream[object],
                ),
            )
        except (openai.OpenAIError, *BROKEN) as error:
            raise self.failures.asking(error) from None
        chunks = response.aiter_bytes()
        grace = 0.0
        try:
            media_type = response.headers.get("content-type", "").partition(";")[0].strip()
            if media_type in ("text/html", "application/json"):
                raise self.failures.no_stream(media_type)
            await self._read(chunks, take)
            grace = _GRACE
        finally:
            # Reading on is what ends the generators within `chunks`; a passed deadline ends them at once.
            with trio.move_on_after(grace):
                await _read_on(chunks)
            with trio.move_on_after(_GRACE, shield=True):
                await response.aclose()

    async def _read(self, chunks: AsyncIterator[bytes], take: Callable[[Event], None]) -> None:
        lines = _Lines()
        while True:
            try:
                chunk = await anext(chunks, None)
            except BROKEN as error:
                raise self.failures.reading(error) from None
            if chunk is None:
                return
            for data in lines.feed(chunk):
                if data.startswith(b"[DONE]"):
                    return
                take(self._event(data))

    def _event(self, data: bytes) -> Event:
        try:
            event = json.loads(data)
        except (ValueError, RecursionError):
            raise self.failures.unreadable() from None
        if not isinstance(event, dict):
            raise self.failures.unreadable()
        if event.get("error"):
            raise self.failures.reported(event["error"])
        return event


async def _read_on(chunks: AsyncIterator[bytes]) -> None:
    try:
        async for _ in chunks:
            pass
    except BROKEN:
        return  # The reply was complete, or its error is on its way already.


class _Lines:
    """Server-sent events, of which only the data matter: fed with bytes, it gives the data of each event.

    Lines end with LF or CRLF and nothing else: what Unicode also calls a line's end occurs within JSON.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The data of the events that are complete with this chunk."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for ended in lines:
            line = ended.removesuffix(b"\r")
            field, _, value = line.partition(b":")
            if field == b"data":
                self._data.append(value.removeprefix(b" "))
            elif not line and self._data:
                data, self._data = b"\n".join(self._data), []
                yield data


def _is_loopback(base_url: str | None) -> bool:
    if base_url is None:
        return False
    try:
        host = httpx2.URL(base_url).host
    except httpx2.InvalidURL:
        host = ""
    if not host:
        raise ValueError(f"base_url should name a host, found {base_url!r}")
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
