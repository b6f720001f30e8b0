"""`str.format` and `string.Formatter` that read attributes and items as agent code does.

Rules:

- A format is a small language of its own, `{0.name[key]}`, in a text that no transformer sees. So formats that read
  attributes or items are carried out here, step by step through the guards, with CPython's results and messages.
- Most formats read neither; CPython's own formatting does for them.
- How a step reads is handed in: `read(value, key, is_attribute)`.
"""

from __future__ import annotations

import string
from _string import formatter_field_name_split, formatter_parser  # type: ignore[import-not-found]
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any, Final

__all__ = ["Read", "format_methods", "formatter_class"]

type Read = Callable[[Any, Any, bool], Any]

_NESTED: Final = 2  # a field, and a field in its specification


def format_methods(read: Read) -> dict[str, Callable[..., str]]:
    """What stands for `str.format` and `str.format_map`, by name, both unbound."""

    def format_(text: Any, /, *args: object, **fields: object) -> str:
        if isinstance(text, str) and _reads(text):
            return _Format(read, args, fields).expand(text)
        return str.format(text, *args, **fields)

    def format_map(text: Any, mapping: Mapping[str, Any], /) -> str:
        if isinstance(text, str) and _reads(text):
            return _Format(read, None, mapping).expand(text)
        return str.format_map(text, mapping)

    return {"format": format_, "format_map": format_map}


def formatter_class(read: Read) -> type[string.Formatter]:
    """What stands for `string.Formatter`.

    It takes over the methods and has no parent: through `super()` the parent's `get_field` could be called.
    """

    def get_field(self: string.Formatter, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The object that a replacement field names, and the name or number of the argument that it came from."""
        first, rest = formatter_field_name_split(field_name)
        return _walk(read, self.get_value(first, args, kwargs), rest), first

    methods = {name: value for name, value in vars(string.Formatter).items() if isinstance(value, FunctionType)}
    return type(
        "Formatter",
        (),
        {**methods, "__doc__": string.Formatter.__doc__, "__module__": "string", "get_field": get_field},
    )


def _reads(text: str) -> bool:
    """Whether a format reads attributes or items, or may do so."""
    if not (str.__contains__(text, ".") or str.__contains__(text, "[")):
        return False
    try:
        fields = list(formatter_parser(text))
    except ValueError:
        return True
    return any("." in (field or "") or "[" in (field or "") or "{" in (spec or "") for _, field, spec, _ in fields)


def _walk(read: Read, value: Any, steps: Iterator[tuple[bool, str | int]]) -> Any:
    for is_attribute, key in steps:
        value = read(value, key, is_attribute)
    return value


class _Format:
    """One call of `format`, or of `format_map`, which has no positional arguments (None)."""

    def __init__(self, read: Read, args: Sequence[object] | None, fields: Mapping[str, Any]) -> None:
        self._read = read
        self._args = args
        self._fields = fields
        self._numbered: bool | None = None  # whether the fields are numbered by hand, once one has shown it
        self._next = 0

    def expand(self, text: str, depth: int = _NESTED) -> str:
        """The text with its fields filled in."""
        if not depth:
            raise ValueError("Max string recursion exceeded")
        parts: list[str] = []
        for literal, field, spec, conversion in formatter_parser(text):
            parts.append(literal)
            if field is not None:
                value = _converted(self._value(field), conversion)
                parts.append(format(value, self.expand(spec, depth - 1) if "{" in spec else spec))
        return "".join(parts)

    def _value(self, field: str) -> object:
        first, rest = formatter_field_name_split(field)
        if first == "" or isinstance(first, int):
            value: Any = self._positional(None if first == "" else first)
        else:
            value = self._fields[first]
        return _walk(self._read, value, rest)

    def _positional(self, number: int | None) -> object:
        by_hand = number is not None
        if self._numbered is None:
            self._numbered = by_hand
        if self._numbered is not by_hand:
            ways = ["automatic field numbering", "manual field specification"]
            raise ValueError(f"cannot switch from {ways[self._numbered]} to {ways[by_hand]}")
        if number is None:
            number, self._next = self._next, self._next + 1
        if self._args is None:
            raise ValueError("Format string contains positional fields")
        if number >= len(self._args):
            raise IndexError(f"Replacement index {number} out of range for positional args tuple")
        return self._args[number]


def _converted(value: object, conversion: str | None) -> object:
    match conversion:
        case None:
            return value
        case "r":
            return repr(value)
        case "s":
            return str(value)
        case "a":
            return ascii(value)
    raise ValueError(f"Unknown conversion specifier {conversion}")
