"""Arguments from a hostile guest, made into what a method was annotated to receive.

`guest_stdlib.shapes.check` tells whether a value has the right shape. That leaves two things, which are done here and
only on the host:

- A record arrives with fields that nobody has checked. Each field is checked against the dataclass's own annotations,
  and the record is made anew through its class, so that what the class checks when it is made holds for it too.
- An enum may arrive as the name of a member, which is how agent code writes one; the method gets the member.

Inside a value annotated `Any` nothing is promised, so nothing is looked at. Walking is as deep as the value, whose
depth the channel has bounded; a shape without records and enums is not walked at all.
"""

from __future__ import annotations

import dataclasses
import enum
import typing
from collections.abc import Mapping, Sequence

from guest_stdlib import shapes
from guest_stdlib.annotations import of
from guest_stdlib.channel.values import Member
from guest_stdlib.declared import Shape
from guest_stdlib.shapes import ShapeError

__all__ = ["Settling", "field_shapes"]

_MISSING = object()


class Settling:
    """Checks and rebuilds values for one table of records (dataclasses and enums by name)."""

    def __init__(self, records: Mapping[str, type]) -> None:
        self._records = records
        self._fields = {name: field_shapes(kind) for name, kind in records.items()}

    def settled(self, value: object, shape: Shape) -> object:
        """The value as the method gets it. Raises ShapeError where it does not fit."""
        shapes.check(value, shape, records=self._records)
        return self._made(value, shape) if _has_classes(shape) else value

    def _made(self, value: object, shape: object) -> object:
        """The parts of a value that fits, rebuilt where their shape asks for it."""
        if isinstance(shape, str) or not isinstance(shape, Sequence) or not _has_classes(shape):
            return value
        form, inner = shape[0], shape[1:]
        if form == "union":
            return self._member(value, inner)
        if form == "record":
            return self._record(value, str(inner[0]))
        if form == "enum":
            return self._enum_member(value, str(inner[0]))
        if isinstance(value, list):
            return [self._at(f"[{index}]", item, inner[0]) for index, item in enumerate(value)]
        if isinstance(value, tuple):
            each = [inner[0]] * len(value) if inner[-1] == "..." else inner
            return tuple(
                self._at(f"[{index}]", item, one) for index, (item, one) in enumerate(zip(value, each, strict=True))
            )
        if isinstance(value, set | frozenset):
            return type(value)(self._at("", item, inner[0]) for item in value)
        if isinstance(value, dict):
            return {
                self._at("", key, inner[0]): self._at(f"[{shapes.got(key)}]", item, inner[1])
                for key, item in value.items()
            }
        return value

    def _at(self, path: str, value: object, shape: object) -> object:
        try:
            return self._made(value, shape)
        except ShapeError as error:
            raise ShapeError(f"{path}{error.path}", error.expected, error.got) from None

    def _member(self, value: object, members: Sequence[object]) -> object:
        """What a union makes of a value that fits it: what the first member makes of it that takes it whole."""
        refused: ShapeError | None = None
        for member in members:
            assert isinstance(member, str | Sequence)
            try:
                shapes.check(value, member, records=self._records)
            except ShapeError:
                continue
            try:
                return self._made(value, member)
            except ShapeError as error:
                refused = refused or error
        assert refused is not None
        raise refused

    def _enum_member(self, value: object, name: str) -> object:
        kind = self._records[name]
        assert issubclass(kind, enum.Enum)
        called = value.name if isinstance(value, Member) else value
        return kind[called] if isinstance(called, str) and not isinstance(called, kind) else value

    def _record(self, value: object, name: str) -> object:
        declared = self._records[name]
        kind = type(value) if isinstance(value, declared) else declared  # or one that derives from it
        values: dict[str, object] = {}
        for field, shape in self._fields.get(kind.__name__, {}).items():
            given = getattr(value, field, _MISSING)
            if given is _MISSING:
                raise ShapeError(f".{field}", shapes.text(shape), "nothing")
            try:
                values[field] = self.settled(given, shape)
            except ShapeError as error:
                raise ShapeError(f".{field}{error.path}", error.expected, error.got) from None
        assert dataclasses.is_dataclass(kind)
        made = {field.name for field in dataclasses.fields(kind) if field.init}
        try:
            return kind(**{field: given for field, given in values.items() if field in made})
        except Exception as error:
            raise ShapeError("", f"a {name} that its class accepts", f"{type(error).__name__}: {error}") from error


def field_shapes(kind: type) -> dict[str, Shape]:
    """The shapes of a dataclass's fields by name, none for an enum. TypeError names a field that cannot cross."""
    if not dataclasses.is_dataclass(kind):
        return {}
    hints = typing.get_type_hints(kind, include_extras=True)
    found: dict[str, Shape] = {}
    for field in dataclasses.fields(kind):
        try:
            found[field.name] = of(hints[field.name])
        except TypeError as error:
            raise TypeError(f"{kind.__name__}.{field.name}: {error}") from error
    return found


def _has_classes(shape: object) -> bool:
    """Whether records or enums occur in a shape."""
    if isinstance(shape, str) or not isinstance(shape, Sequence) or not shape or shape[0] == "literal":
        return False
    return shape[0] in ("record", "enum") or any(_has_classes(part) for part in shape[1:])
