"""Shapes from Python annotations: how the host derives what both sides check.

Rules:

- A type that cannot cross is refused when it is declared, with a sentence that names it: never checked as "any" in
  silence.
- Abstract types take what can cross: a Sequence is a list or a tuple, an Iterable a list, a tuple or a set, a Mapping
  a dict.
- A dataclass is a record, an Enum an enum, both known by their class name; so two of one name cannot be declared
  together.
- Annotations are evaluated: strings are resolved by `typing.get_type_hints` before they come here.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime as dt
import decimal
import enum
import types
import typing
import uuid
from collections.abc import Iterator
from typing import Any, Final

from guest_stdlib.declared import Shape

__all__ = ["of", "records_in"]

_NAMED: Final[dict[object, Shape]] = {
    Any: "any",
    object: "any",
    None: "none",
    type(None): "none",
    bool: "bool",
    int: "int",
    float: "float",
    str: "str",
    typing.LiteralString: "str",
    bytes: "bytes",
    dt.datetime: "datetime",
    dt.date: "date",
    dt.time: "time",
    dt.timedelta: "timedelta",
    decimal.Decimal: "decimal",
    uuid.UUID: "uuid",
    list: ["list", "any"],
    tuple: ["tuple", "any", "..."],
    set: ["set", "any"],
    frozenset: ["set", "any"],
    dict: ["dict", "any", "any"],
}
_SEQUENCES: Final = frozenset({collections.abc.Sequence, collections.abc.MutableSequence, collections.abc.Reversible})
_ITERABLES: Final = frozenset({collections.abc.Iterable, collections.abc.Collection, collections.abc.Container})
_SETS: Final = frozenset({set, frozenset, collections.abc.Set, collections.abc.MutableSet})
_MAPPINGS: Final = frozenset({dict, collections.abc.Mapping, collections.abc.MutableMapping})
_CONTAINERS: Final = _SEQUENCES | _ITERABLES | _SETS | _MAPPINGS | {list}


def of(annotation: object) -> Shape:
    """The shape of an annotation. TypeError, with a sentence, for a type whose values cannot cross."""
    try:
        named = _NAMED.get(annotation)
    except TypeError:  # unhashable, as Annotated is with a list beside the type
        named = None
    if named is not None:
        return named
    plain = _unwrapped(annotation)
    if plain is not annotation:
        return of(plain)
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal:
        return ["literal", *arguments]
    if origin in (typing.Union, types.UnionType):
        return _union(arguments)
    if isinstance(annotation, type) and origin is None:
        named = _of_class(annotation)
        if named is not None:
            return named
    generic = _of_generic(origin or annotation, arguments)
    if generic is None:
        raise TypeError(_refusal(annotation))
    return generic


def _unwrapped(annotation: object) -> object:
    """What stands behind Annotated, NewType, a type alias, Required and the like, or a type variable's bound."""
    origin = typing.get_origin(annotation)
    if origin in (typing.Annotated, typing.Required, typing.NotRequired, typing.ReadOnly, typing.Final):
        return typing.get_args(annotation)[0]
    if isinstance(annotation, typing.NewType):
        return annotation.__supertype__
    if isinstance(annotation, typing.TypeAliasType):
        return annotation.__value__
    if isinstance(annotation, typing.TypeVar):
        if annotation.__constraints__:
            return typing.Union[annotation.__constraints__]  # noqa: UP007
        return Any if annotation.__bound__ is None else annotation.__bound__
    return annotation


def _union(arguments: tuple[object, ...]) -> Shape:
    members: list[object] = []
    for argument in arguments:
        shape = of(argument)
        inner = shape[1:] if not isinstance(shape, str) and shape[0] == "union" else [shape]
        members += [member for member in inner if member not in members]
    if "any" in members:
        return "any"
    return ["union", *members]


def _of_class(annotation: type) -> Shape | None:
    if typing.is_typeddict(annotation):
        return ["dict", "str", "any"]
    if issubclass(annotation, enum.Enum):
        return ["enum", annotation.__name__, *annotation.__members__]
    if dataclasses.is_dataclass(annotation):
        return ["record", annotation.__name__]
    return None


def _of_generic(origin: object, arguments: tuple[object, ...]) -> Shape | None:
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return ["tuple", of(arguments[0]), "..."]
        return ["tuple", *map(of, arguments)]
    if isinstance(origin, type) and dataclasses.is_dataclass(origin):  # a generic dataclass with its arguments
        return ["record", origin.__name__]
    if not isinstance(origin, type) or origin not in _CONTAINERS:
        return None
    parts = [*map(of, arguments), "any", "any"]
    if origin in _MAPPINGS:
        return ["dict", parts[0], parts[1]]
    if origin in _SETS:
        return ["set", parts[0]]
    if origin is list:
        return ["list", parts[0]]
    either: list[Shape] = [["list", parts[0]], ["tuple", parts[0], "..."]]
    return ["union", *either] if origin in _SEQUENCES else ["union", *either, ["set", parts[0]]]


def _refusal(annotation: object) -> str:
    name = annotation.__qualname__ if isinstance(annotation, type) else repr(annotation)
    if isinstance(annotation, str | typing.ForwardRef):
        return f"the annotation {name} is still a string: resolve it with typing.get_type_hints first"
    return (
        f"values of type {name} cannot cross; use str, int, float, bool, bytes, list, tuple, set, dict, datetime, "
        "date, time, timedelta, Decimal, UUID, an Enum, a dataclass, or Any for whatever the channel takes"
    )


def records_in(annotation: object) -> dict[str, type]:
    """The dataclasses and enums that an annotation names, at any depth and through their fields, by class name.

    ValueError where two of them have one name.
    """
    found: dict[str, type] = {}
    for kind in _classes(annotation, set()):
        other = found.setdefault(kind.__name__, kind)
        if other is not kind:
            raise ValueError(
                f"two types are called {kind.__name__}: {other.__module__}.{other.__qualname__} and "
                f"{kind.__module__}.{kind.__qualname__}. Types are known by name in the sandbox: rename one"
            )
    return found


def _classes(annotation: object, seen: set[type]) -> Iterator[type]:
    plain = _unwrapped(annotation)
    if plain is not annotation:
        yield from _classes(plain, seen)
        return
    for argument in typing.get_args(annotation) if typing.get_origin(annotation) is not typing.Literal else ():
        yield from _classes(argument, seen)
    kind = typing.get_origin(annotation) or annotation
    if not isinstance(kind, type) or kind in seen:
        return
    seen.add(kind)
    if issubclass(kind, enum.Enum) and kind is not enum.Enum:
        yield kind
    elif dataclasses.is_dataclass(kind):
        yield kind
        for hint in _hints(kind).values():
            yield from _classes(hint, seen)
    elif typing.is_typeddict(kind):
        for hint in _hints(kind).values():
            yield from _classes(hint, seen)


def _hints(kind: type) -> dict[str, object]:
    try:
        return typing.get_type_hints(kind, include_extras=True)
    except NameError as error:
        raise TypeError(f"the annotations of {kind.__qualname__} cannot be resolved: {error}") from error
