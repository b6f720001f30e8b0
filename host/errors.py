"""Errors that callers of `host` can meet, and errors that capabilities raise on purpose. Blame is in the type.

Two families, which never mix:

- `HostError` and below: our API was misused, or we failed. They are for the program that embeds us; no script sees
  them.
- `CapabilityError` and below: what a capability tells the code that called it. They cross into the sandbox, where
  `except` catches them by name, with the message and the plain attributes that their class declares, and never with a
  traceback.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence

__all__ = ["CapabilityDefinitionError", "CapabilityError", "HostError", "NeedsClarification", "field_names"]


class HostError(Exception):
    """The root of the errors that `host` raises for a misuse of its API or a failure of its own."""


class CapabilityDefinitionError(HostError, TypeError):
    """A capability class cannot be offered to an agent as it is written. The message names the method and what to
    write.
    """


class CapabilityError(Exception):
    """A capability could not do what was asked. `type` is the name of the original exception's class.

    A capability raises it, or a subclass, to tell the calling code why. The message is for the agent that reads it. A
    subclass declares its plain attributes by annotating them, and is named in the `errors` of the capabilities that
    raise it:

        class QuotaSpent(CapabilityError):
            remaining: int
    """

    type: str

    def __init__(self, *message: object, type: str | None = None) -> None:
        super().__init__(*message)
        self.type = type or self.__class__.__name__

    @property
    def fields(self) -> Mapping[str, object]:
        """The attributes that cross with the message, by name; those that were never set are left out."""
        return {name: getattr(self, name) for name in field_names(self.__class__) if hasattr(self, name)}


class NeedsClarification(CapabilityError):
    """The request leaves open what is meant. Ask again with a request that says it; `options` are the candidates, if
    known.
    """

    question: str
    options: tuple[str, ...]

    def __init__(self, question: str, options: Sequence[str] = ()) -> None:
        super().__init__(f"{question} Options: {'; '.join(options)}." if options else question)
        self.question = question
        self.options = tuple(options)


def field_names(error: type[Exception]) -> tuple[str, ...]:
    """The names that an exception class and its parents annotate as attributes, parents first, without private ones.

    `CapabilityError.type` counts for that class alone: a subclass says its type by its name.
    """
    names: dict[str, None] = {}
    for parent in reversed(error.__mro__):
        if issubclass(parent, Exception) and (parent is not CapabilityError or error is CapabilityError):
            names |= dict.fromkeys(inspect.get_annotations(parent))
    return tuple(name for name in names if not name.startswith("_"))
