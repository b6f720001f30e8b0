"""Records: the dataclasses that capabilities return and take, as classes in scope for agent code.

Rules:

- A record is a dataclass for all that the dataclasses module does: fields, asdict, astuple, replace, ==, repr, match.
- Only the names of its fields crossed, so a record takes all that either kind of dataclass takes: its fields can be
  set, and it can stand in a set or as a key, by value.
- The methods are written once and shared, and what only `dataclasses` and `inspect` ask for is made when they ask: a
  fresh session should not pay for it before its first call.
"""

from __future__ import annotations

import dataclasses
import reprlib
from collections.abc import Mapping
from inspect import Parameter, Signature
from types import MappingProxyType
from typing import Any, Self

from guest_stdlib.declared import DeclaredRecord

__all__ = ["Record", "record_class"]


class _FromDataclass:
    """An attribute of a record's class that is taken from a real dataclass of the same fields, made on first use."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, record: object, kind: type[Record]) -> object:
        names = kind.__match_args__
        plain = type(kind.__name__, (), {"__doc__": "", "__annotations__": dict.fromkeys(names, Any)})
        made: type = dataclasses.dataclass(init=False, repr=False, eq=False)(plain)
        value: object = getattr(made, self._name)
        if names:  # a class without fields may be the one that all records share
            type.__setattr__(kind, self._name, value)  # a handle's class refuses it to others
        return value


class _Constructor:
    """The signature of a record's class, made on first use."""

    def __get__(self, record: object, kind: type[Record]) -> Signature:
        signature = Signature([Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in kind.__match_args__])
        if kind.__match_args__:
            type.__setattr__(kind, "__signature__", signature)
        return signature


class Record:
    """What every record derives from. `record_class` gives each its name and fields."""

    __match_args__: tuple[str, ...] = ()
    __dataclass_fields__ = _FromDataclass("__dataclass_fields__")
    __dataclass_params__ = _FromDataclass("__dataclass_params__")
    __signature__: Any = _Constructor()

    def __init__(self, *args: object, **kwargs: object) -> None:
        kind, names = type(self), type(self).__match_args__
        if len(args) > len(names):
            raise TypeError(f"{kind.__name__}() takes {len(names)} fields but {len(args)} were given. {_fields(kind)}")
        values = dict(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name in values:
                raise TypeError(f"{kind.__name__}() got multiple values for field {name!r}")
            if name not in names:
                raise TypeError(f"{kind.__name__}() got an unexpected field {name!r}. {_fields(kind)}")
            values[name] = value
        missing = [name for name in names if name not in values]
        if missing:
            raise TypeError(f"{kind.__name__}() is missing {', '.join(map(repr, missing))}. {_fields(kind)}")
        for name in names:
            setattr(self, name, values[name])

    @reprlib.recursive_repr()
    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
        return f"{type(self).__qualname__}({fields})"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self) or not isinstance(other, Record):
            return NotImplemented
        return _values(self) == _values(other)

    def __hash__(self) -> int:
        return hash(_values(self))

    def __replace__(self, **changes: object) -> Self:
        plain: Any = self
        replaced: Self = dataclasses.replace(plain, **changes)
        return replaced


def _values(record: Record) -> tuple[object, ...]:
    return tuple(getattr(record, name) for name in record.__match_args__)


def _fields(kind: type[Record]) -> str:
    return f"The fields of {kind.__name__} are {', '.join(kind.__match_args__) or 'none'}."


def record_class(
    declared: DeclaredRecord, members: Mapping[str, object] = MappingProxyType({}), *, kind: type = type
) -> type[Record]:
    """The class of a declared record. `members` are further ones, `kind` is the class's own class."""
    own: dict[str, object] = {
        "__doc__": declared.doc or f"{declared.name}({', '.join(declared.fields)})",
        "__module__": "__main__",
        "__match_args__": tuple(declared.fields),
        "__annotations__": dict.fromkeys(declared.fields, Any),
    }
    made: type[Record] = kind(declared.name, (Record,), {**own, **members})
    return made
