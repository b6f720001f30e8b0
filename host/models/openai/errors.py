"""What the SDK, the connection and the provider report, as our errors. Two tables: by exception, and by status or code.

Refused is what will be refused again (key, model, size, form, an empty purse); all else may go better later. The SDK
has already asked again where that made sense. A message quotes the provider's own sentence, if it wrote one, and never
a body, a header or the key, whoever sent it back to us.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from typing import Final

import anyio
import httpx2
import openai

from host.models.errors import ModelError, ModelRefused, ModelTimeout, ModelUnavailable

__all__ = ["BROKEN", "Failures"]

BROKEN: Final = (httpx2.HTTPError, httpx2.StreamError, ssl.SSLError, anyio.EndOfStream)
"""What reading a response can raise, apart from the SDK's own exceptions."""

_TIMEOUTS: Final = (openai.APITimeoutError, httpx2.TimeoutException)
_PASSING: Final[Mapping[int, type[ModelError]]] = {
    408: ModelTimeout,
    409: ModelUnavailable,
    425: ModelUnavailable,
    429: ModelUnavailable,
    504: ModelTimeout,
}
_TOO_LONG: Final = re.compile(
    r"context.?(length|size|window)|maximum context|(prompt|input|request) is too (long|large)", re.IGNORECASE
)
_NO_MONEY: Final = re.compile(r"insufficient_quota|billing", re.IGNORECASE)
_FINAL: Final = re.compile(
    r"invalid|context|policy|quota|billing|image|unsupported|not_found|residency|permission|authentication"
)
_LONGEST: Final = 1000


class Failures:
    """Makes the errors of one model. `key` is what no message may hold."""

    def __init__(self, *, model: str, key: str, timeout: float) -> None:
        self._model = model
        self._key = key
        self._timeout = timeout

    def __repr__(self) -> str:
        return f"<Failures of {self._model}>"

    def asking(self, error: Exception) -> ModelError:
        """What sending a request raised, retries included."""
        if isinstance(error, _TIMEOUTS):
            return self._made(ModelTimeout, f"did not answer within {self._timeout:g} s{_after(error)}")
        if isinstance(error, (openai.APIConnectionError, *BROKEN)):
            return self._made(ModelUnavailable, f"could not be reached{_after(error)}", said=_cause(error))
        if isinstance(error, openai.APIStatusError):
            return self._answered(error.status_code, error.body, _after(error))
        return self._made(ModelRefused, "could not be asked", said=str(error))

    def reading(self, error: Exception) -> ModelError:
        """What reading a reply raised."""
        if isinstance(error, _TIMEOUTS):
            return self._made(ModelTimeout, f"fell silent for {self._timeout:g} s in the middle of its reply")
        return self.broken_off()

    def broken_off(self) -> ModelError:
        """A reply that ended before it was complete."""
        return self._made(ModelUnavailable, "broke off in the middle of its reply")

    def unreadable(self) -> ModelError:
        """A stream that has no JSON objects in it."""
        return self._made(ModelUnavailable, "sent a reply that cannot be read")

    def no_stream(self, media_type: str) -> ModelError:
        """Success, but no stream of events."""
        return self._made(
            ModelRefused, f"answered with {media_type[:80]} and no stream of events; is the base URL right?"
        )

    def reported(self, error: object) -> ModelError:
        """An error that the provider wrote into its stream."""
        found = error if isinstance(error, Mapping) else {"message": error}
        code = str(found.get("code") or "")
        kind = f"{code} {found.get('type') or ''}"
        if code.isdecimal() and len(code) == 3:
            return self._answered(int(code), found)
        said = _sentence(found)
        if _TOO_LONG.search(f"{kind} {said}"):
            return self._too_long(None, said)
        if _FINAL.search(kind):
            return self._made(ModelRefused, "refused the request", said=said)
        return self._made(ModelUnavailable, "failed in the middle of its reply", said=said)

    def _answered(self, status: int, body: object, after: str = "") -> ModelError:
        said = _sentence(body)
        named = f"{body.get('code') or ''} {body.get('type') or ''}" if isinstance(body, Mapping) else ""
        if status == 429 and _NO_MONEY.search(named):
            return self._made(ModelRefused, "refused the request (429)", said=said, status=status)
        passing = _PASSING.get(status) or (ModelUnavailable if status >= 500 else None)
        if passing is not None:
            return self._made(passing, f"could not answer ({status}){after}", said=said, status=status)
        if status == 413 or _TOO_LONG.search(f"{named} {said}"):
            return self._too_long(status, said)
        return self._made(ModelRefused, f"refused the request ({status})", said=said, status=status)

    def _too_long(self, status: int | None, said: str) -> ModelError:
        return self._made(ModelRefused, "cannot take so long a request", said=said, status=status)

    def _made(self, kind: type[ModelError], what: str, *, said: str = "", status: int | None = None) -> ModelError:
        if self._key:
            said = said.replace(self._key, "[key]")
        said = said.strip()[:_LONGEST]
        return kind(f"{self._model} {what}{f': {said}' if said else '.'}", model=self._model, status=status)


def _sentence(body: object) -> str:
    """The sentence that the provider wrote for people, wherever it stands."""
    for key in ("message", "error", "detail"):
        value = body.get(key) if isinstance(body, Mapping) else None
        if isinstance(value, Mapping):
            return _sentence(value)
        if isinstance(value, str) and value:
            return value
    return ""


def _cause(error: Exception) -> str:
    """What the connection reported, where the SDK only says that there was something."""
    cause = error.__cause__ if isinstance(error, openai.OpenAIError) else error
    return str(cause) if isinstance(cause, BROKEN) else ""


def _after(error: Exception) -> str:
    """How often the SDK asked again; it says so in the request."""
    retries = error.request.headers.get("x-stainless-retry-count", "0") if isinstance(error, openai.APIError) else "0"
    return "" if retries == "0" else ", also after a retry" if retries == "1" else f", also after {retries} retries"
