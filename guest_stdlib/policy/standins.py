"""Members of allowed modules that are replaced, because the originals go past the guards.

- `operator.attrgetter` and `methodcaller` read attributes by name; `string.Formatter` reads them out of a text.
- `dataclass`, `total_ordering` and `wraps` set attributes on what they are given, which must be the agent's own.
- `typing.get_origin` and `get_args` hand out what an alias is made of, and `typing.Type` is made of `type`.
- The enums make classes when they are called, with members of any name: a member named `__reduce_ex__` would be a
  method.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import typing
from collections.abc import Callable
from typing import Any, Final

from guest_stdlib.policy.attributes import Formatter, admitted, read_attribute
from guest_stdlib.policy.classes import Own, check_base
from guest_stdlib.policy.violations import PolicyRefusal
from guest_stdlib.policy.words import DEFINABLE, POLICY, check_attribute, name_fault

__all__ = ["standins"]


class attrgetter:  # noqa: N801
    """attrgetter(name, ...) -> a function that reads these attributes of its argument, "a.b" step by step"""

    __module__ = "operator"

    def __init__(self, name: str, /, *names: str) -> None:
        self._names = (name, *names)
        self._paths = [[check_attribute(step) for step in path.split(".")] for path in self._names]

    def __call__(self, subject: object, /) -> object:
        values = []
        for path in self._paths:
            value = subject
            for name in path:
                value = read_attribute(value, name)
            values.append(value)
        return tuple(values) if len(values) > 1 else values[0]

    def __repr__(self) -> str:
        return f"operator.attrgetter({', '.join(map(repr, self._names))})"


def get_origin(tp: Any) -> Any:
    """What an alias is made of: `list` of `list[int]`."""
    return admitted(typing.get_origin(tp))


def get_args(tp: Any) -> tuple[Any, ...]:
    """What an alias is made with: `(str, int)` of `dict[str, int]`."""
    return tuple(map(admitted, typing.get_args(tp)))


class methodcaller:  # noqa: N801
    """methodcaller(name, ...) -> a function that calls this method of its argument, with these arguments"""

    __module__ = "operator"

    def __init__(self, name: str, /, *args: object, **kwargs: object) -> None:
        self._name, self._args, self._kwargs = check_attribute(name), args, kwargs

    def __call__(self, subject: object, /) -> object:
        return read_attribute(subject, self._name)(*self._args, **self._kwargs)

    def __repr__(self) -> str:
        arguments = [repr(argument) for argument in (self._name, *self._args)]
        arguments += [f"{name}={value!r}" for name, value in self._kwargs.items()]
        return f"operator.methodcaller({', '.join(arguments)})"


# What the compiler puts into the namespace of a class by itself.
_BY_THE_COMPILER: Final = frozenset(
    f"__{name}__"
    for name in (
        "annotate annotate_func annotations classcell classdict classdictcell conditional_annotations doc "
        "firstlineno module orig_bases qualname static_attributes type_params"
    ).split()
)


class _NamedMembers(enum.EnumType):
    """The type of the enums of agent code, whether a class statement makes them or a call."""

    def __new__(metacls, name: str, bases: tuple[type, ...], members: Any, **options: Any) -> Any:
        for base in bases:
            check_base(base)
        for member in members:
            if type(member) is not str:  # a subclass could be one name here, and another to the interpreter
                raise PolicyRefusal(
                    f"The name of a member must be a plain str, not {type(member).__name__}. Write str(name)."
                )
            if member not in _BY_THE_COMPILER and member not in DEFINABLE and (fault := name_fault(member)):
                raise PolicyRefusal(" ".join(fault))
        return super().__new__(metacls, name, bases, members, **options)


class _Enum(enum.Enum, metaclass=_NamedMembers):
    pass


class _IntEnum(enum.IntEnum, metaclass=_NamedMembers):
    pass


class _StrEnum(enum.StrEnum, metaclass=_NamedMembers):
    pass


class _Flag(enum.Flag, metaclass=_NamedMembers):
    pass


class _IntFlag(enum.IntFlag, metaclass=_NamedMembers):
    pass


_ENUMS: Final = {}
for _cls in (_Enum, _IntEnum, _StrEnum, _Flag, _IntFlag):
    _cls.__name__ = _cls.__qualname__ = _cls.__name__[1:]
    _cls.__module__ = "enum"
    _ENUMS[f"enum.{_cls.__name__}"] = _cls


def _of_own_classes(own: Own) -> dict[str, object]:
    def check(cls: object, decorator: str) -> None:
        if not (isinstance(cls, type) and own.is_class(cls)):
            what = f'class "{cls.__name__}"' if isinstance(cls, type) else f"{type(cls).__name__} object"
            raise PolicyRefusal(
                f"The {what} is not yours to change under {POLICY}. Write @{decorator} on a class of your own."
            )

    def dataclass(cls: type | None = None, /, **options: Any) -> Any:
        """@dataclass, or @dataclass(frozen=True, ...): adds the methods that the annotated fields of a class ask for"""

        def decorate(cls: type) -> type:
            check(cls, "dataclass")
            made: type = dataclasses.dataclass(cls, **options)
            own.add(made)  # with slots it is another class
            return made

        return decorate if cls is None else decorate(cls)

    def total_ordering(cls: type) -> type:
        """@total_ordering: adds the comparisons that a class with __eq__ and one other lacks"""
        check(cls, "total_ordering")
        return functools.total_ordering(cls)

    def wraps(wrapped: Callable[..., object]) -> Callable[[Any], Any]:
        """@wraps(function): gives a wrapper the name and the documentation of what it wraps"""

        def decorate(wrapper: Any) -> Any:
            if not (own.is_function(wrapper) or own.is_class(type(wrapper))):
                raise PolicyRefusal(
                    f"Only a function of your own can be a wrapper under {POLICY}. Write @wraps(function) on a def."
                )
            return functools.update_wrapper(wrapper, wrapped)

        return decorate

    for function in (dataclass, total_ordering, wraps):
        function.__qualname__ = function.__name__
    return {"dataclasses.dataclass": dataclass, "functools.total_ordering": total_ordering, "functools.wraps": wraps}


def standins(own: Own) -> dict[str, object]:
    """The replaced members of a session's modules, by `module.member`."""
    return {
        "operator.attrgetter": attrgetter,
        "operator.methodcaller": methodcaller,
        "string.Formatter": Formatter,
        "typing.get_args": get_args,
        "typing.get_origin": get_origin,
        **_ENUMS,
        **_of_own_classes(own),
    }
