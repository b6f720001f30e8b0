"""A run that was read from a file, whoever wrote it.

What a trace of others does not say is not in its events, and `unknown` names it: a request without tools is then not a
request that offered none. A number of seconds that is not said is nan.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal, get_args

from host.conversation import Shape
from host.events import Event
from host.models.port import Usage

__all__ = ["FORMS", "UNKNOWN", "Form", "Gap", "Trace", "between", "moment", "number_in", "usage_in"]

Form = Literal["record", "openai-agents", "anthropic-session"] | Shape
FORMS: Final[tuple[Form, ...]] = ("record", "openai-agents", "anthropic-session", *get_args(Shape))
Gap = Literal["agents", "instructions", "model", "requests", "results", "seconds", "tokens", "tools"]

UNKNOWN: Final = "unknown"
"""The name of a model that a trace does not name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """A run and where it comes from.

    `unknown` is what the file does not say of anything in it. `offers` names the tools of agents where the file has
    their names and no requests. `torn` says that a record ended in the middle of an entry.
    """

    source: str
    form: Form
    events: tuple[Event, ...]
    unknown: frozenset[Gap] = frozenset()
    offers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    torn: bool = False


def usage_in(value: object) -> Usage | None:
    """Usage in any provider's words; None where there is none.

    Anthropic counts what was read from and written to the cache beside the input, all others within it.
    """
    if not isinstance(value, dict):
        return None
    read = number_in(value, "cache_read_input_tokens")
    put = number_in(value, "cache_creation_input_tokens")
    sent = _first(value, "input_tokens", "prompt_tokens")
    wrote = _first(value, "output_tokens", "completion_tokens")
    if sent is None and wrote is None:
        return None
    if read is not None or put is not None:
        return Usage(input=(sent or 0) + (read or 0) + (put or 0), output=wrote or 0, cached=read, written=put)
    cached = written = None
    for key in ("input_tokens_details", "prompt_tokens_details", "input_token_details", "details"):
        inner = value.get(key)
        if isinstance(inner, dict):
            cached = _first(inner, "cached_tokens", "cache_read")
            written = number_in(inner, "cache_creation")
    return Usage(input=sent or 0, output=wrote or 0, cached=cached, written=written)


def number_in(value: Mapping[str, object], key: str) -> int | None:
    """A count; None where there is none."""
    found = value.get(key)
    return found if type(found) is int and found >= 0 else None


def _first(value: Mapping[str, object], *keys: str) -> int | None:
    return next((found for key in keys if (found := number_in(value, key)) is not None), None)


def moment(value: object) -> float:
    """A time as seconds since 1970; nan where there is none."""
    if not isinstance(value, str):
        return math.nan
    try:
        return datetime.fromisoformat(value).timestamp()
    except (ValueError, OverflowError, OSError):
        return math.nan


def between(one: float, other: float) -> float:
    """The seconds from one time to another, never less than none; nan where one of them is not known."""
    return max(other - one, 0.0) if not math.isnan(one) and not math.isnan(other) else math.nan
