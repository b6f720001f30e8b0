"""Values that are too large to hand out whole: a shorter one that is valid and typed, and says how to read the rest.

Rules:

- What is shown is a prefix of the value, of its own type, never cut text. Counts are exact.
- The full value stays in the guest, bound to `_`, and `handle` is an expression that reads on where the prefix ends.
- A part that is too large by itself is shortened in its place, with a handle of its own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, cast

__all__ = ["Shortened", "notice", "shorten"]

_ELEMENTS: Final = 100  # of a container
_CHARACTERS: Final = 10_000  # of a text
_EACH: Final = 10  # bytes that a value takes besides its text, at most
_DEPTH: Final = 20
_NAMES: Final = 80  # bytes that a `Shortened` takes besides its head and its handle


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortened:
    """The beginning of a value.

    `type` is its type's name, `length` the number of its elements, characters or bytes, and `shown` how many of those
    `head` holds. `handle` is the expression that reads on.
    """

    type: str
    length: int
    shown: int
    head: object
    handle: str


def shorten(value: object, handle: str, *, size: int, items: int, depth: int) -> Iterator[object]:
    """Ever shorter forms of a value that is to take `size` bytes, `items` items and `depth` levels at most.

    The first nearly always does: sizes are estimated. `handle` is the expression for the whole.
    """
    levels = min(_DEPTH, max(0, (depth - 3) // 2))  # each level may become two, a `Shortened` and its head
    for part in (2, 8, 32):
        yield _Shortening(size // part, items // part).fit(value, handle, levels)
    yield _Shortening(0, 0).fit(value, handle, 0)


def notice(value: object, problem: str) -> str:
    """What to say about a shortened value. `problem` says what was wrong with it whole."""
    if not isinstance(value, Shortened):
        return f"Parts of the cell's value are shortened, because {problem}. The whole value is bound to `_`."
    unit = {"str": "characters", "bytes": "bytes", "int": "bits"}.get(value.type, "elements")
    return (
        f"The cell's value is shortened to {value.shown:,} of {value.length:,} {unit}, because {problem}. "
        f"The whole value is in the session; read on with `{value.handle}`."
    )


class _Shortening:
    """What may still be sent while a value is shortened."""

    def __init__(self, size: int, items: int) -> None:
        self.size = size
        self.items = items

    def fit(self, value: Any, handle: str, depth: int) -> object:
        """The value, or what can be sent of it."""
        kind = type(value)
        if kind is str or kind is bytes:
            return self._text(value, handle)
        if kind is list or kind is tuple:
            return self._sequence(value, handle, depth)
        if kind is set or kind is frozenset:
            return self._set(value, handle, depth)
        if kind is dict:
            return self._dict(value, handle, depth)
        if kind is int and value.bit_length() > 8 * max(0, self.size):
            return Shortened(type="int", length=value.bit_length(), shown=0, head=None, handle=f"hex({handle})[:1000]")
        if dataclasses.is_dataclass(kind):
            return self._fields(value, handle, depth)
        self._take(value.bit_length() // 8 if kind is int else 0)
        return value

    def _take(self, size: int) -> bool:
        """Whether there is room for one more value."""
        self.size -= size + _EACH
        self.items -= 1
        return self.size >= 0 and self.items >= 0

    def _elements(self, whole: Any) -> Iterator[Any]:
        for element in islice(whole, _ELEMENTS):
            if not self._take(0):
                return
            yield element

    def _text(self, value: str | bytes, handle: str) -> object:
        width = 1 if isinstance(value, bytes) or value.isascii() else 4
        room = max(0, self.size) // width
        if len(value) <= room and (len(value) <= _CHARACTERS or self._take(width * len(value))):
            return value
        shown = min(_CHARACTERS, len(value), room)
        self.size -= width * shown
        return self._shortened(value, value[:shown], shown, f"{handle}[{shown}:{2 * shown or _ELEMENTS}]")

    def _sequence(self, value: list[Any] | tuple[Any, ...], handle: str, depth: int) -> object:
        head: list[object] = []
        if depth:
            for number, element in enumerate(self._elements(value)):
                head.append(self.fit(element, f"{handle}[{number}]", depth - 1))
        return self._prefix(value, head if isinstance(value, list) else tuple(head), handle)

    def _set(self, value: set[Any] | frozenset[Any], handle: str, depth: int) -> object:
        elements = self._elements(value) if depth else ()
        head = [element for element in elements if self._take(len(element) if type(element) is str else 0)]
        return self._prefix(value, type(value)(head), f"list({handle})")

    def _dict(self, value: dict[Any, Any], handle: str, depth: int) -> object:
        head: dict[object, object] = {}
        if depth:
            for key in self._elements(value):
                if not self._take(len(key) if type(key) is str else 0):
                    break
                head[key] = self.fit(value[key], f"{handle}[{key!r}]", depth - 1)
        return self._prefix(value, head, f"list({handle}.items())")

    def _fields(self, value: Any, handle: str, depth: int) -> object:
        names = [field.name for field in dataclasses.fields(value)]
        parts = {name: getattr(value, name) for name in names}
        head = {name: self.fit(part, f"{handle}.{name}", depth - 1) for name, part in parts.items()} if depth else {}
        if depth and all(head[name] is parts[name] for name in names):
            return value
        return self._shortened(names, head, len(head), handle, type(value).__name__)

    def _prefix(self, whole: Any, head: Any, sequence: str) -> object:
        shown = len(head)
        if shown == len(whole):
            same = isinstance(whole, set | frozenset) or all(map(_is, _parts(whole), _parts(head)))
            return whole if same else head
        return self._shortened(whole, head, shown, f"{sequence}[{shown}:{2 * shown or _ELEMENTS}]")

    def _shortened(self, whole: Any, head: object, shown: int, handle: str, kind: str | None = None) -> Shortened:
        self.size -= _NAMES + 4 * len(handle)
        name = kind or type(whole).__name__
        return Shortened(type=name, length=len(whole), shown=shown, head=head, handle=handle)


def _parts(container: Any) -> Iterator[object]:
    return iter(cast(dict[object, object], container).values()) if type(container) is dict else iter(container)


def _is(one: object, other: object) -> bool:
    return one is other
