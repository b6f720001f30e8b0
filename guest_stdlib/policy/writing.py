"""What runs when agent code sets or deletes an attribute or an item.

Rules:

- Agent code changes what is its own: objects of its classes, those classes, its functions, containers, plain data.
- It changes nothing that others share or trust: modules, classes of the library, functions that are not its own,
  capabilities.
- A change that is refused is refused before the value to be set is even there.
"""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any, Final

from guest_stdlib.policy.attributes import read_attribute
from guest_stdlib.policy.classes import Own
from guest_stdlib.policy.imports import AllowedModule
from guest_stdlib.policy.violations import PolicyRefusal
from guest_stdlib.policy.words import POLICY

__all__ = ["Place", "Write", "attribute_of", "writer"]

type Write = Callable[[Any], Any]

_CONTAINERS: Final = frozenset(
    {
        dict,
        list,
        set,
        bytearray,
        collections.deque,
        collections.defaultdict,
        collections.OrderedDict,
        collections.Counter,
        collections.ChainMap,
        collections.UserDict,
        collections.UserList,
    }
)
# Named, not imported: most sessions have no use for them.
_DATA: Final = frozenset(
    {
        ("array", "array"),
        ("builtins", "memoryview"),
        ("decimal", "Context"),
        ("decimal", "SignalDict"),
        ("textwrap", "TextWrapper"),
        ("types", "SimpleNamespace"),
        ("xml.etree.ElementTree", "Element"),
    }
)


def writer(own: Own) -> Write:
    """`_write_`: gives an object back if agent code may change its attributes and items. Raises PolicyRefusal."""
    plain: set[type] = set(_CONTAINERS)

    def write(subject: Any, /) -> Any:
        cls = type(subject)
        if cls in plain or own.is_class(cls):
            return subject
        if _is_data(cls):
            plain.add(cls)
            return subject
        if own.is_function(subject) or (isinstance(subject, type) and own.is_class(subject)):
            return subject
        raise PolicyRefusal(_refusal(subject))

    return write


def _is_data(cls: type) -> bool:
    if issubclass(cls, BaseException):
        return not issubclass(cls, BaseExceptionGroup)
    return hasattr(cls, "__dataclass_fields__") or (cls.__module__, cls.__name__) in _DATA


def _refusal(subject: object) -> str:
    if isinstance(subject, AllowedModule):
        what, instead = f'The module "{subject.__name__}"', "Use a name of your own."
    elif isinstance(subject, type):
        what, instead = f'The class "{subject.__name__}"', "Derive a class of your own from it."
    elif isinstance(subject, BaseExceptionGroup):
        what, instead = "An exception group", "Raise ExceptionGroup(message, errors) with what belongs in it."
    elif callable(subject) and hasattr(subject, "__name__"):
        what, instead = f'The function "{subject.__name__}"', "Write a function of your own that calls it."
    else:
        what, instead = (
            f'An object of type "{type(subject).__name__}"',
            "Keep the value in a name or a dict of your own.",
        )
    return f"{what} cannot be changed under {POLICY}. {instead}"


class Place:
    """One attribute of one object, as the target of `x.count += 1`: read, then set, with the object evaluated once."""

    __slots__ = ("_name", "_subject")

    def __init__(self, subject: object, name: str) -> None:
        self._subject = subject
        self._name = name

    @property
    def value(self) -> Any:
        """What the attribute is."""
        return read_attribute(self._subject, self._name)

    @value.setter
    def value(self, value: object) -> None:
        setattr(self._subject, self._name, value)


def attribute_of(write: Write) -> Callable[[object, str], Place]:
    """`_attribute_`: the place that an augmented assignment to an attribute reads and sets. Raises PolicyRefusal."""

    def attribute(subject: object, name: str, /) -> Place:
        return Place(write(subject), name)

    return attribute
