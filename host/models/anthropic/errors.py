"""What the SDK, the connection and the provider report, as our errors: by exception, and by status or type.

Refused is what will be refused again (key, model, size, form, an empty purse); all else may go better later. The SDK
has already asked again where that makes sense. A message quotes the provider's own sentence, if it wrote one, without
the key, whoever sent it back to us.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Any, Final

import anthropic
import anyio
import httpx2

from host.models.errors import ModelError, ModelRefused, ModelTimeout, ModelUnavailable

__all__ = ["FOREIGN", "Failures"]

FOREIGN: Final = (
    anthropic.AnthropicError,
    httpx2.HTTPError,
    httpx2.StreamError,
    ssl.SSLError,
    anyio.EndOfStream,
    UnicodeDecodeError,
)
"""What a step of the SDK's can raise. Those of the transport come bare while a stream is read."""

# The first that fits.
_KINDS: Final[tuple[tuple[type[Exception], type[ModelError], str], ...]] = (
    (anthropic.APITimeoutError, ModelTimeout, "did not answer in time"),
    (httpx2.TimeoutException, ModelTimeout, "fell silent in the middle of its reply"),
    (anthropic.APIConnectionError, ModelUnavailable, "could not be reached"),
    (UnicodeDecodeError, ModelUnavailable, "sent a reply that cannot be read"),
    (anthropic.AnthropicError, ModelRefused, "could not be asked"),
    (Exception, ModelUnavailable, "broke off in the middle of its reply"),
)
_PASSING: Final[Mapping[int, type[ModelError]]] = {
    408: ModelTimeout,
    409: ModelUnavailable,
    429: ModelUnavailable,
    504: ModelTimeout,
}
# An error within a stream comes long after the status 200; its type says what it is.
_STATUSES: Final[Mapping[str, int]] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_LONGEST: Final = 1000


class Failures:
    """Makes the errors of one model. `key` is what no message may hold."""

    def __init__(self, *, model: str, key: str) -> None:
        self._model = model
        self._key = key

    def __repr__(self) -> str:
        return f"<Failures of {self._model}>"

    def of(self, error: Exception) -> ModelError:
        """What a step of the SDK's raised, retries included."""
        if isinstance(error, anthropic.APIStatusError):
            return self._told(error.status_code, error.api_message)
        return next(self._made(ours, what) for kind, ours, what in _KINDS if isinstance(error, kind))

    def within_stream(self, error: Mapping[str, Any]) -> ModelError:
        """An error that the provider wrote into its stream. Raises KeyError or TypeError if it is not of its form."""
        return self._told(_STATUSES.get(error["type"], 500), error["message"])

    def broken_off(self) -> ModelError:
        """A reply that ended before it was whole."""
        return self._made(ModelUnavailable, "broke off in the middle of its reply")

    def unreadable(self) -> ModelError:
        """An event that is none of the API's."""
        return self._made(ModelUnavailable, "sent a reply that cannot be read")

    def no_stream(self, media_type: str) -> ModelError:
        """Success, but no stream of events."""
        return self._made(
            ModelRefused, f"answered with {media_type[:80]} and no stream of events; is the base URL right?"
        )

    def _told(self, status: int, said: str | None) -> ModelError:
        kind = _PASSING.get(status) or (ModelUnavailable if status >= 500 else ModelRefused)
        what = "refused the request" if kind is ModelRefused else "could not answer"
        return self._made(kind, f"{what} ({status})", said=said or "", status=status)

    def _made(self, kind: type[ModelError], what: str, *, said: str = "", status: int | None = None) -> ModelError:
        said = said.replace(self._key, "[key]").strip()[:_LONGEST]
        return kind(f"{self._model} {what}{f': {said}' if said else '.'}", model=self._model, status=status)
