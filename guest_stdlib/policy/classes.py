"""How agent code makes classes, and which classes and functions are its own.

Rules:

- Each class statement of agent code ends here (the transformer gives it `metaclass=__metaclass__`). The class is made
  by the metaclass that its bases ask for, and is remembered as the agent's own: attributes can be set on it and on
  its objects.
- What agent code may not derive from: classes whose objects show only a part of themselves, metaclasses, and
  exception groups, whose `split` the interpreter calls in `except*` and whose answer it trusts.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from types import FunctionType
from typing import Any, Final

from guest_stdlib.policy.attributes import has_rule
from guest_stdlib.policy.kind import Kind
from guest_stdlib.policy.violations import PolicyRefusal
from guest_stdlib.policy.words import BASES, POLICY

__all__ = ["ClassMaker", "Own", "check_base"]


_BUILTINS_OF: Final = vars(FunctionType)["__builtins__"]


class Own:
    """What the agent's code of one session has made. `builtins` is where its functions look their builtins up."""

    def __init__(self, builtins: Mapping[str, object]) -> None:
        self._builtins: Final = builtins
        self._classes: Final[set[type]] = set()

    def add(self, cls: type) -> None:
        """Remember a class that agent code has made."""
        self._classes.add(cls)

    def is_class(self, cls: type) -> bool:
        """Whether a class is the agent's own, or derives from one that is."""
        if cls in self._classes:
            return True
        if self._classes.isdisjoint(cls.__mro__):
            return False
        self._classes.add(cls)
        return True

    def is_function(self, value: object) -> bool:
        """Whether `value` is a function that agent code has defined."""
        return type(value) is FunctionType and _BUILTINS_OF.__get__(value) is self._builtins


class ClassMaker:
    """`__metaclass__`: makes the classes of agent code, by the metaclass that the bases ask for."""

    def __init__(self, own: Own) -> None:
        self._own = own

    def __prepare__(self, name: str, bases: tuple[Any, ...], **options: object) -> MutableMapping[str, object]:
        """The namespace for the body of a class. Raises PolicyRefusal if it derives from what it may not."""
        for base in bases:
            check_base(base)
        return _metaclass(bases).__prepare__(name, bases, **options)

    def __call__(self, name: str, bases: tuple[Any, ...], members: dict[str, Any], **options: Any) -> object:
        """The class. The interpreter calls this when the body has run."""
        made = _metaclass(bases)(name, bases, members, **options)
        if isinstance(made, type):
            self._own.add(made)
        return made


def check_base(base: object) -> None:
    """Raises PolicyRefusal if agent code may not derive from this class."""
    if not isinstance(base, type):
        return
    if base is Kind or issubclass(base, type):
        raise PolicyRefusal(" ".join(BASES["type"]))
    if issubclass(base, BaseExceptionGroup):
        raise PolicyRefusal(" ".join(BASES[base.__name__]))
    if has_rule(base):
        message = f"A class cannot derive from {base.__name__} under {POLICY}."
        raise PolicyRefusal(f"{message} Keep one in an attribute of your class.")


def _metaclass(bases: tuple[object, ...]) -> type[type]:
    """The most derived of the bases' metaclasses. Raises TypeError where there is none, in CPython's words."""
    winner = type
    for base in bases:
        found = type(base)
        if issubclass(winner, found) or not issubclass(found, type):
            continue
        if not issubclass(found, winner):
            raise TypeError(
                "metaclass conflict: the metaclass of a derived class must be a (non-strict) subclass "
                "of the metaclasses of all its bases"
            )
        winner = found
    return winner
