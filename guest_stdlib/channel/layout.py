"""How each event lies in a frame: its code, then its fields in this order. `LAYOUTS` is the whole protocol's
vocabulary.

- A field that has its default value is nil, and nils at the end are left out. So a plain call is four tokens and its
  arguments.
- A field checks types, exactly, in both directions: wrong on the way out is our own mistake (`LocalError`), wrong on
  the way in is the peer's (`PeerError`). What values it may have, the event itself checks when it is made.
- Values of scripts and capabilities (`Value`, `Values`, `Named`) go through `Writer`; they were built by `Reader`
  before they get here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from guest_stdlib.channel.errors import LocalError, PeerError, TooLarge, Unsendable
from guest_stdlib.channel.events import (
    Abandon,
    Call,
    Cancel,
    Done,
    Event,
    Failed,
    Failure,
    Interrupted,
    Open,
    Output,
    Rest,
    Return,
    Run,
    Throw,
)
from guest_stdlib.channel.paths import heavy, too_large
from guest_stdlib.channel.values import SCALARS
from guest_stdlib.channel.writing import Writer

__all__ = ["EVENT_ITEMS", "oversize", "read_event", "tree_of"]

EVENT_ITEMS: Final = 32
"""Items that an event counts for besides its values: more than any has tokens."""

_REQUIRED: Final = object()


class _Field:
    """A field that holds a value of exactly one of `kinds`; without `default` it must be there."""

    def __init__(self, name: str, *kinds: type, default: object = _REQUIRED) -> None:
        self.name = name
        self.kinds = kinds
        self.default = default

    def write(self, value: Any, writer: Writer) -> object:  # noqa: ARG002
        """What is packed for the field; None stands for its default."""
        if type(value) not in self.kinds:
            raise LocalError(f"{self.name} is a {type(value).__name__}")
        return None if value == self.default else value

    def read(self, value: Any) -> object:
        """The inverse, for what is not None."""
        if type(value) not in self.kinds:
            raise PeerError(f"an event in the frame has a {type(value).__name__} as its {self.name}")
        return value

    def roots(self, value: Any) -> Iterable[tuple[str, object]]:  # noqa: ARG002
        """The values of others that it holds, each with what a sentence calls it."""
        return ()


def _number(name: str) -> _Field:
    return _Field(name, int)


def _text(name: str, default: object = _REQUIRED) -> _Field:
    return _Field(name, str, default=default)


def _maybe(name: str, kind: type) -> _Field:
    return _Field(name, kind, type(None), default=None)


class _Texts(_Field):
    """A tuple of strings."""

    def __init__(self, name: str) -> None:
        super().__init__(name, default=())

    def write(self, value: Any, writer: Writer) -> object:
        if type(value) is not tuple or any(type(text) is not str for text in value):
            raise LocalError(f"{self.name} is not a tuple of strings")
        writer.spend(len(value))
        return list(value) or None

    def read(self, value: Any) -> object:
        if type(value) is not list or any(type(text) is not str for text in value):
            raise PeerError(f"an event in the frame has {self.name} that are not strings")
        return tuple(value)


class _Value(_Field):
    """One value of anyone's."""

    def __init__(self, name: str) -> None:
        super().__init__(name, default=None)

    def write(self, value: Any, writer: Writer) -> object:
        if type(value) in SCALARS:
            return value
        try:
            return writer.tree(value)
        except Unsendable as problem:
            problem.within(self.name)
            raise

    def read(self, value: Any) -> object:
        return value

    def roots(self, value: Any) -> Iterable[tuple[str, object]]:
        return ((self.name, value),)


class _Values(_Field):
    """A tuple of values, which an error calls `args[0]` and so on."""

    def __init__(self, name: str) -> None:
        super().__init__(name, default=())

    def write(self, value: Any, writer: Writer) -> object:
        if type(value) is not tuple:
            raise LocalError(f"{self.name} is a {type(value).__name__}")
        if not value:
            return None
        writer.spend(len(value))
        trees: list[object] = []
        try:
            for item in value:
                trees.append(item if type(item) in SCALARS else writer.tree(item))  # noqa: PERF401 (its length is the path)
        except Unsendable as problem:
            problem.within(f"{self.name}[{len(trees)}]")
            raise
        return trees

    def read(self, value: Any) -> object:
        if type(value) is not list:
            raise PeerError(f"an event in the frame has a {type(value).__name__} as its {self.name}")
        return tuple(value)

    def roots(self, value: Any) -> Iterable[tuple[str, object]]:
        return ((f"{self.name}[{index}]", item) for index, item in enumerate(value))


class _Named(_Field):
    """A mapping of names to values, each of which an error calls by its name."""

    def __init__(self, name: str) -> None:
        super().__init__(name, default=MappingProxyType({}))

    def write(self, value: Any, writer: Writer) -> object:
        if not isinstance(value, Mapping):
            raise LocalError(f"{self.name} is a {type(value).__name__}")
        if not value:
            return None
        writer.spend(2 * len(value))
        trees: dict[str, object] = {}
        name = ""
        try:
            for name, item in value.items():
                if type(name) is not str:
                    raise LocalError(f"{self.name} has a name that is a {type(name).__name__}")
                trees[name] = item if type(item) in SCALARS else writer.tree(item)
        except Unsendable as problem:
            problem.within(name)
            raise
        return trees

    def read(self, value: Any) -> object:
        if type(value) is not dict or any(type(name) is not str for name in value):
            raise PeerError(f"an event in the frame has {self.name} that are not named values")
        return value

    def roots(self, value: Any) -> Iterable[tuple[str, object]]:
        return tuple(value.items())


class _Tables(_Values):
    """A tuple of mappings: the plain forms of `guest_stdlib.declared`, which are dicts."""

    def read(self, value: Any) -> object:
        if type(value) is not list or any(type(table) is not dict for table in value):
            raise PeerError(f"an event in the frame has {self.name} that are not tables")
        return tuple(value)


class _Counts(_Named):
    """A mapping of names to integers."""

    def read(self, value: Any) -> object:
        if type(value) is not dict or any(
            type(name) is not str or type(count) is not int for name, count in value.items()
        ):
            raise PeerError(f"an event in the frame has {self.name} that are not numbers")
        return value


class _Nested(_Field):
    """A `Failure`, which is laid out like an event."""

    def __init__(self, name: str, layout: _Layout) -> None:
        super().__init__(name, Failure)
        self.layout = layout

    def write(self, value: Any, writer: Writer) -> object:
        super().write(value, writer)
        return self.layout.write(value, writer)

    def read(self, value: Any) -> object:
        if type(value) is not list or not value or type(value[0]) is not int or value[0] != self.layout.code:
            raise PeerError(f"an event in the frame has something as its {self.name} that is none")
        return self.layout.read(value)

    def roots(self, value: Any) -> Iterable[tuple[str, object]]:
        return self.layout.roots(value)


class _Layout:
    """The fields of a class; before them stands its `code`."""

    def __init__(self, code: int, cls: type, *fields: _Field) -> None:
        self.code = code
        self.cls = cls
        self.fields = fields
        self.required = sum(field.default is _REQUIRED for field in fields)

    def write(self, event: object, writer: Writer) -> list[object]:
        tree = [self.code, *(field.write(getattr(event, field.name), writer) for field in self.fields)]
        while tree[-1] is None:
            del tree[-1]
        return tree

    def read(self, items: list[object]) -> object:
        given = {
            field.name: field.read(item)
            for field, item in zip(self.fields, items[1:], strict=False)
            if item is not None or field.default is _REQUIRED
        }
        if not self.required < len(items) <= len(self.fields) + 1:
            raise PeerError(f"an event in the frame has {len(items) - 1} fields, which is no {self.cls.__name__}")
        return self.cls(**given)

    def roots(self, event: object) -> Iterable[tuple[str, object]]:
        for field in self.fields:
            yield from field.roots(getattr(event, field.name))


_FAILURE: Final = _Layout(
    0,
    Failure,
    _text("kind"),
    _text("type"),
    _text("message"),
    _text("traceback", ""),
    _maybe("line", int),
    _maybe("column", int),
    _maybe("hint", str),
    _Named("fields"),
)

_LAYOUTS: Final[Mapping[type, _Layout]] = {
    layout.cls: layout
    for layout in (
        _Layout(
            1,
            Open,
            _Tables("capabilities"),
            _Tables("errors"),
            _Tables("records"),
            _text("policy", "open"),
            _maybe("token", str),
            _Field("cold", bool, default=False),
            _maybe("seed", int),
            _Counts("limits"),
            _Field("workspace", bool, default=False),
        ),
        _Layout(2, Run, _number("cell"), _text("source"), _text("name", "<cell>"), _maybe("notice", str)),
        _Layout(3, Return, _number("call"), _Value("value")),
        _Layout(4, Throw, _number("call"), _Nested("failure", _FAILURE)),
        _Layout(5, Cancel, _text("reason"), _text("message")),
        _Layout(
            6,
            Call,
            _number("call"),
            _text("path"),
            _Values("args"),
            _Named("kwargs"),
            _Named("context"),
            _maybe("token", str),
        ),
        _Layout(7, Abandon, _number("call")),
        _Layout(8, Output, _text("stream"), _text("text")),
        _Layout(9, Done, _number("cell"), _Value("value"), _Texts("notices"), _Field("rejected", int, default=0)),
        _Layout(
            10,
            Failed,
            _number("cell"),
            _Nested("failure", _FAILURE),
            _Texts("notices"),
            _Field("rejected", int, default=0),
        ),
        _Layout(11, Interrupted),
        _Layout(12, Rest, _maybe("wake", float)),
    )
}
_BY_CODE: Final = {layout.code: layout for layout in _LAYOUTS.values()}


def tree_of(event: Event, writer: Writer) -> list[object]:
    """The event as a tree. Unsendable for a value in it, LocalError for a field."""
    layout = _LAYOUTS.get(type(event))
    if layout is None:
        raise LocalError(f"a {type(event).__name__} is not an event")
    return layout.write(event, writer)


def read_event(items: object) -> Event:
    """The inverse. PeerError; ValueError where the event refuses its fields."""
    layout = _BY_CODE.get(items[0]) if type(items) is list and items and type(items[0]) is int else None
    if layout is None:
        raise PeerError("the frame holds something that is not an event")
    return layout.read(items)  # type: ignore[arg-type,return-value]


def oversize(event: Event, size: int, most: int) -> TooLarge:
    """The error for an event that packs to `size` bytes: it blames the first large part, or else the whole."""
    for root, value in _LAYOUTS[type(event)].roots(event):
        if heavy(value, most // 2) is not None:
            problem = too_large(value, size, most)
            problem.within(root)
            return problem
    return TooLarge(f"this {type(event).__name__} has {size:,} bytes, and {most:,} may cross at once")
