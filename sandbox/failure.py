"""What a script may learn of an exception that a callback raised: its class name, its message, its plain fields.

Never the traceback, never the cause: they tell about the host. An exception may say itself how it crosses, by an
attribute `failure`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from guest_stdlib.channel.events import Failure

__all__ = ["failure_of"]


def failure_of(error: Exception) -> Failure:
    """`error` as data for the guest."""
    own = getattr(error, "failure", None)
    if isinstance(own, Failure):
        return own
    fields = getattr(error, "fields", None)
    return Failure(
        kind="script",
        type=type(error).__name__,
        message=_shortened(_message(error)),
        fields={str(name): value for name, value in fields.items()} if isinstance(fields, Mapping) else {},
    )


LONGEST: Final = 10_000  # characters: a message may well repeat what was sent


def _shortened(message: str) -> str:
    return (
        message if len(message) <= LONGEST else f"{message[:LONGEST]} [... {len(message) - LONGEST:,} more characters]"
    )


def _message(error: Exception) -> str:
    try:
        # str of a KeyError is the repr of its key; the bare argument reads the same on both sides.
        return str(error.args[0]) if isinstance(error, KeyError) and len(error.args) == 1 else str(error)
    except Exception as broken:
        return f"(its message could not be read: {type(broken).__name__})"
