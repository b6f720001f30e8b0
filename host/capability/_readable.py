"""Types and default values as text that an agent reads: `list[Contact] | None`, `5`, `'PERSON'`.

The text is Python that means the same in a stub. A class of a standard module is written with its module
(`datetime.date`), a record by its bare name, which is in scope for agent code. An enum's class is not: its members are
written by their names, as text. Text of a default shows no address and no path: what has no literal form is `...`.
"""

from __future__ import annotations

import ast
import contextlib
import datetime as dt
import decimal
import enum
import functools
import types
import typing
import uuid
from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from typing import Any, Final, Literal, NewType, TypeAliasType, TypeVar, Union, get_args, get_origin

__all__ = ["default_text", "type_text"]

_MODULES: Final = ("datetime", "decimal", "uuid")
_QUALIFIERS: Final = (typing.Annotated, typing.Final, typing.NotRequired, typing.Required)
_WORDS: Final[Mapping[object, str]] = {
    None: "None",
    types.NoneType: "None",
    typing.LiteralString: "str",
    Any: "Any",
    object: "Any",
    Ellipsis: "...",
}
_LONGEST_DEFAULT: Final = 200


def type_text(annotation: object, *, written: bool = False, variables: Collection[object] = ()) -> str:
    """The annotation as an agent reads it. Aliases, `NewType` and `Annotated` are replaced by what they stand for.

    With `written` it is the type of what an agent writes: an enum is given by its member's name there. Of type
    variables those in `variables` keep their names; any other is what it is bound to.
    """
    text = functools.partial(type_text, written=written, variables=variables)
    with contextlib.suppress(KeyError, TypeError):  # Annotated with a list, say, is unhashable
        return _WORDS[annotation]
    if isinstance(annotation, TypeAliasType):
        return text(annotation.__value__)
    if isinstance(annotation, NewType):
        return text(annotation.__supertype__)
    if isinstance(annotation, TypeVar) and annotation in variables:
        return annotation.__name__
    if isinstance(annotation, TypeVar):
        return text(Any if annotation.__bound__ is None else annotation.__bound__)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if isinstance(origin, TypeAliasType):
        return text(origin.__value__[arguments])
    if origin in _QUALIFIERS:
        return text(arguments[0])
    if origin is Literal:
        return f"Literal[{', '.join(map(default_text, arguments))}]"
    if origin in (Union, types.UnionType):
        return " | ".join(dict.fromkeys(map(text, arguments)))
    if origin is not None:
        return f"{_class_name(origin)}[{', '.join(map(text, arguments)) or '()'}]"
    name = _class_name(annotation)
    return f"{name} | str" if written and isinstance(annotation, enum.EnumType) else name


def _class_name(cls: object) -> str:
    name = str(getattr(cls, "__name__", None) or cls)
    module = getattr(cls, "__module__", "")
    return f"{module}.{name}" if module in _MODULES else name


def default_text(value: object) -> str:
    """A default value, or a literal's, as Python text; `...` where it has no plain form or a long one."""
    text = _literal(value)
    if text is None or len(text) > _LONGEST_DEFAULT:
        return "..."
    try:
        ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, MemoryError):
        return "..."
    return text


def _literal(value: object) -> str | None:
    """Python text for `value`, or None. Only exact types count, so that no foreign `__repr__` runs."""
    if isinstance(value, enum.Enum):
        return repr(value.name)
    kind = type(value)
    if value is None or kind in (bool, int, str, bytes, complex):
        return repr(value)
    if isinstance(value, float) and kind is float:
        return repr(value) if value - value == 0 else f"float({str(value)!r})"
    if kind in _DATED:
        return repr(value)
    if kind in (decimal.Decimal, uuid.UUID):
        return f"{kind.__module__}.{value!r}"
    if kind in (list, tuple, set, frozenset, dict):
        return _container(value)
    if is_dataclass(value) and not isinstance(value, type):
        return _call(kind.__name__, {field.name: getattr(value, field.name) for field in fields(value) if field.init})
    return None


_DATED: Final = (dt.datetime, dt.date, dt.time, dt.timedelta)


def _container(value: object) -> str | None:
    if isinstance(value, Mapping):
        pairs = [(_literal(key), _literal(item)) for key, item in value.items()]
        known = [f"{key}: {item}" for key, item in pairs if key is not None and item is not None]
        return f"{{{', '.join(known)}}}" if len(known) == len(pairs) else None
    assert isinstance(value, (list, tuple, AbstractSet))
    items = [_literal(item) for item in value]
    texts = [item for item in items if item is not None]
    if len(texts) < len(items):
        return None
    inside = ", ".join(texts)
    if isinstance(value, list):
        return f"[{inside}]"
    if isinstance(value, tuple):
        return f"({inside},)" if len(texts) == 1 else f"({inside})"
    braces = f"{{{', '.join(sorted(texts))}}}" if texts else ""
    if isinstance(value, frozenset):
        return f"frozenset({braces})"
    return braces or "set()"


def _call(name: str, arguments: Mapping[str, object]) -> str | None:
    texts = {argument: _literal(value) for argument, value in arguments.items()}
    if None in texts.values():
        return None
    return f"{name}({', '.join(f'{argument}={text}' for argument, text in texts.items())})"
