"""A Claude model behind the port: the request is rendered, the SDK sends it, the stream is read.

- The key comes from the caller or from ANTHROPIC_API_KEY, and the address from the caller or ANTHROPIC_BASE_URL; a
  server at an address is asked without a key if there is none. The key is in no repr and no error.
- Retries are the SDK's: 408, 409, 429, 500 and above (so 529, overloaded, too) and lost connections, after what the
  provider says in `Retry-After`. A reply that broke off while it was streamed is not asked for again, because pieces
  of it have been shown.
- One request may become two: newer models bind reasoning to every word that stood before it, and refuse it when a word
  has changed, such as the tail. The provider's advice is to send the request again without reasoning, and that is done.
- No connection outlives its request, as with the models of `host.models.openai`: nobody has to close a model, and it
  can be used in one trio run after the other.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import AsyncIterator, Awaitable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from ipaddress import ip_address
from typing import Any, Final, Literal

import anthropic
import httpx2
import trio

from host.models.anthropic.errors import FOREIGN, Failures
from host.models.anthropic.reading import Reading
from host.models.anthropic.rendering import Effort, Options, rendered
from host.models.errors import ModelRefused
from host.models.port import Delta, Reply, Request, Stream

__all__ = ["Anthropic"]

_KEY_NAME: Final = "ANTHROPIC_API_KEY"
_NO_KEY: Final = "no-key"
_CONNECT: Final = 10.0
_WITHOUT_SYSTEM_MESSAGES: Final = re.compile(r"claude-(instant|[1-4]\b|opus-4(?!-[89]\b)|(.*-)?(sonnet|haiku))")
_BOUND_ELSEWHERE: Final = "bound to a different conversation"

_NO_STREAM: Final = ("text/html", "application/json")


class Anthropic:
    """A model of Anthropic's, or of a server that speaks its Messages API at `base_url`.

    `model` is the name that the API knows it by. `max_tokens` bounds a reply, reasoning included. `thinking_budget` is
    how many of them may go into reasoning (models up to Claude 4.6), or "adaptive" (Claude 4.6 and later); None leaves
    it to the model's default. `timeout` counts seconds between two pieces of an answer. `cache` is how long the
    provider keeps the prefix. `system_messages` is whether the model takes system messages within the conversation;
    None goes by its name. `replay_thinking=False` sends no reasoning back.

    Raises ModelRefused if there is no usable key, ValueError for numbers that no API takes and for an address that is
    none.
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        max_tokens: int = 16_384,
        thinking_budget: int | Literal["adaptive"] | None = None,
        effort: Effort | None = None,
        timeout: float = 600.0,
        max_retries: int = 2,
        cache: Literal["5m", "1h"] | None = "5m",
        system_messages: bool | None = None,
        replay_thinking: bool = True,
    ) -> None:
        if max_tokens < 1 or max_retries < 0 or timeout <= 0:
            raise ValueError("max_tokens and timeout are above zero, and max_retries is not below it")
        if isinstance(thinking_budget, int) and not 1024 <= thinking_budget < max_tokens:
            raise ValueError(f"thinking_budget is at least 1024 and below max_tokens ({max_tokens})")
        if system_messages is None:
            system_messages = _WITHOUT_SYSTEM_MESSAGES.search(model) is None
        self._options = Options(
            asked_as=model,
            max_tokens=max_tokens,
            thinking=thinking_budget,
            effort=effort,
            system_messages=system_messages,
            cache=cache,
            reasoning_sent=replay_thinking,
        )
        key = _usable_key(self.name, api_key, is_needed=base_url is None)
        self._failures = Failures(model=self.name, key=key)
        self._client = anthropic.AsyncAnthropic(
            api_key=key,
            base_url=base_url,
            max_retries=max_retries,
            http_client=anthropic.DefaultAsyncHttpxClient(
                timeout=anthropic.Timeout(timeout, connect=min(timeout, _CONNECT)),
                limits=httpx2.Limits(max_keepalive_connections=0),
                trust_env=not _is_loopback(base_url),  # no proxy leads to this machine itself
            ),
        )

    @property
    def name(self) -> str:
        """The provider and the model, such as "anthropic:claude-opus-4-8"."""
        return f"anthropic:{self._options.asked_as}"

    def __repr__(self) -> str:
        return f"<Anthropic {self._options.asked_as!r}>"

    def body(self, request: Request) -> dict[str, Any]:
        """What is sent for a request."""
        return rendered(request, self._options)

    async def reply(self, request: Request, *, stream: Stream | None = None) -> Reply:
        """See `Model.reply`."""
        try:
            return await self._asked(self.body(request), stream)
        except ModelRefused as refusal:
            if not self._options.reasoning_sent or _BOUND_ELSEWHERE not in str(refusal):
                raise
        return await self._asked(rendered(request, replace(self._options, reasoning_sent=False)), stream)

    async def _asked(self, body: dict[str, Any], stream: Stream | None) -> Reply:
        answer = await self._translated(self._client.messages.create(**body, stream=True))
        events = anthropic.AsyncStream.raw_events(answer.response)
        reading = Reading(self._options.asked_as)
        try:
            media_type = answer.response.headers.get("content-type", "").partition(";")[0].strip()
            if media_type in _NO_STREAM:
                raise self._failures.no_stream(media_type)
            while (event := await self._translated(anext(events, None))) is not None:
                piece = self._taken(reading, event.event, event.data)
                if piece is not None and stream is not None:
                    stream(piece)
        finally:
            await _end(answer, events)
        if not reading.is_whole:
            raise self._failures.broken_off()
        return reading.reply()

    def _taken(self, reading: Reading, name: str | None, data: str) -> Delta | None:
        """Give an event to the reading. Raises ModelError for one that is an error, or none of the API's."""
        if name is None or not data:
            return None
        try:
            event = json.loads(data)
            if name != "error":
                return reading.take(event)
            failure = self._failures.within_stream(event["error"])
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            failure = self._failures.unreadable()
        raise failure

    async def _translated[T](self, step: Awaitable[T]) -> T:
        """Await a step of the SDK's. Its exceptions become ours, and ours do not hold them."""
        try:
            return await step
        except FOREIGN as error:
            failure = self._failures.of(error)
        raise failure


def _usable_key(model: str, given: str | None, *, is_needed: bool) -> str:
    key = (given or os.environ.get(_KEY_NAME) or "").strip()
    if not key and is_needed and not os.environ.get("ANTHROPIC_BASE_URL"):
        raise ModelRefused(
            f"{model} needs a key: set {_KEY_NAME}, or give the base URL of a server that needs none.", model=model
        )
    if not (key.isascii() and key.isprintable()):
        raise ModelRefused(f"The key for {model} has characters in it that no key has.", model=model)
    return key or _NO_KEY


def _is_loopback(base_url: str | None) -> bool:
    if base_url is None:
        return False
    if not base_url.startswith(("http://", "https://")):
        raise ValueError(f"base_url should begin with http:// or https://, found {base_url!r}")
    try:
        host = httpx2.URL(base_url).host
        return host == "localhost" or ip_address(host).is_loopback
    except (httpx2.InvalidURL, ValueError):
        return False


async def _end(answer: anthropic.AsyncStream[Any], events: AsyncIterator[object]) -> None:
    """Close the connection if the answer was not read to its end, and let the SDK's generators end with it.

    They do not close each other: one that is left in its middle is found by trio's garbage collector, with a warning.
    """
    with trio.move_on_after(1, shield=True):
        for step in (answer.close, partial(_drained, events)):
            with suppress(*FOREIGN):  # that it is at its end is what was wanted
                await step()


async def _drained(events: AsyncIterator[object]) -> None:
    async for _ in events:
        pass
