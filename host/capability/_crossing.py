"""What a capability's exception becomes on its way to agent code. One table, `failure_of`; nothing crosses by another
way.

- An exception that the capabilities declare (`errors`), or a subclass of one: that class, its message, its annotated
  attributes.
- `CapabilityError`: as it is. A subclass of it that nobody declared: `CapabilityError`, with its name as `type`.
- A time-out of trio: `TimeoutError`.
- A built-in exception class, exactly: as it is, with `str(error)`. Two exceptions: where the operating system wrote
  the text of an OSError, the file name in it is left out, since it is a path of this machine; and those that speak of
  faults in code or of the machine (NameError, ImportError, AssertionError, MemoryError ...) would read as faults of
  the agent's own line, so they cross as the next row.
- Any other: `CapabilityError` with the class's name, as `type` and before the message; absolute paths in the message
  are shortened to their last part.
- A group with one exception in it (a nursery wraps a single error too) is that exception. A larger one is a
  `CapabilityError` that tells all its messages.

Traceback, cause, notes and every attribute that is not declared stay on the host. Messages are cut at 4,000
characters.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Collection, Mapping
from typing import Final

import trio

from guest_stdlib.channel.events import Failure
from host.errors import CapabilityError, field_names

__all__ = ["Crossed", "failure_of"]

LONGEST_MESSAGE: Final = 4000

# Built-in classes that accuse the code where they surface. From a capability they would accuse the wrong code.
_FAULTS: Final = (
    AssertionError,
    BufferError,
    ImportError,
    MemoryError,
    NameError,
    RecursionError,
    ReferenceError,
    StopAsyncIteration,
    StopIteration,
    SyntaxError,
    SystemError,
)
_PATH: Final = re.compile(r"(?<![\w/:.~\\-])(?:file://|~|[A-Za-z]:)?(?:[/\\][\w.@+~-]+)+[/\\]([\w.@+~-]+)")


class Crossed(Exception):
    """What is raised towards the sandbox in place of an exception: `failure` is all of it that crosses."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"{failure.type}: {failure.message}")
        self.failure = failure


def failure_of(error: Exception, known: Collection[type[Exception]] = ()) -> Failure:
    """What crosses for `error`. `known` are the exception classes that agent code has in scope by name."""
    if isinstance(error, ExceptionGroup):
        return _group_failure(error, known)
    for parent in type(error).__mro__:
        if parent in known:
            fields = {name: getattr(error, name) for name in field_names(parent) if hasattr(error, name)}
            return _failure(parent.__name__, _message(error), fields)
    name = type(error).__name__
    if isinstance(error, CapabilityError):
        return _failure("CapabilityError", _message(error), {"type": error.type})
    if isinstance(error, trio.TooSlowError):
        return _failure("TimeoutError", _message(error) or "The capability took too long.")
    if getattr(builtins, name, None) is type(error) and not isinstance(error, _FAULTS):
        return _failure(name, _builtin_message(error))
    message = _PATH.sub(r"\1", _message(error))
    return _failure("CapabilityError", f"{name}: {message}" if message else name, {"type": name})


def _failure(type_name: str, message: str, fields: Mapping[str, object] | None = None) -> Failure:
    if len(message) > LONGEST_MESSAGE:
        message = f"{message[:LONGEST_MESSAGE]} … ({len(message) - LONGEST_MESSAGE:,} more characters)"
    return Failure(kind="script", type=type_name, message=message, fields=fields or {})


def _group_failure(group: ExceptionGroup[Exception], known: Collection[type[Exception]]) -> Failure:
    failures = [failure_of(error, known) for error in _leaves(group)]
    if len(failures) == 1:
        return failures[0]
    texts = [
        failure.message if failure.type == "CapabilityError" else f"{failure.type}: {failure.message}"
        for failure in failures
    ]
    return _failure("CapabilityError", f"{len(failures)} errors: {'; '.join(texts)}", {"type": "ExceptionGroup"})


def _leaves(group: ExceptionGroup[Exception]) -> list[Exception]:
    leaves: list[Exception] = []
    for error in group.exceptions:
        leaves.extend(_leaves(error) if isinstance(error, ExceptionGroup) else [error])
    return leaves


def _message(error: Exception) -> str:
    try:
        return str(error)
    except Exception:
        return ""  # a class whose own __str__ fails has no message to give


def _builtin_message(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return error.strerror or "the operating system refused"
    return _message(error)
