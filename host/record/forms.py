"""The form that each event has in a file, derived from its declaration in `host.events`.

A field's annotation says how it is written and what may be read for it, so an event that gains a field needs no second
list kept in step here; a field of a kind that no rule covers stops this module from being imported. What stands in the
file is checked on reading as strictly as the annotation says: nothing in it is believed.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAliasType, Union, get_args, get_origin, get_type_hints

from host.conversation import Conversation, Message, Part
from host.events import Event, Printed, Spoke
from host.models.port import ToolSpec
from host.record.once import Damaged, Known, Written, bytes_from, bytes_to

__all__ = ["Durable", "entry_of", "event_of", "is_durable"]

type Durable = Event
"""An event that a record keeps: any but `Spoke` and `Printed`."""

_PASSING: Final = (Spoke, Printed)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    """How a value of one type is written, and read."""

    write: Callable[[Any, Written], object]
    read: Callable[[Any, Known], Any]


def is_durable(event: Event) -> bool:
    """Whether a record keeps the event: not if it is a piece of what a later event holds whole."""
    return not isinstance(event, _PASSING)


def entry_of(event: Durable, written: Written) -> dict[str, object]:
    """An event as one JSON object, with the definitions that it needs and that were not written yet."""
    name = type(event).__name__
    fields = _EVENTS[name].write(event, written)
    assert isinstance(fields, dict)
    return {"event": name, **fields, **({"new": news} if (news := written.news()) else {})}


def event_of(entry: object, known: Known) -> Durable:
    """The event that `entry_of` wrote. Raises `Damaged`, or `ConversationError` for a damaged message."""
    if not isinstance(entry, dict) or not isinstance(name := entry.pop("event", None), str):
        raise Damaged("there should be an object with an 'event'")
    form = _EVENTS.get(name)
    if form is None:
        raise Damaged(f"there is no event {name!r}: known are {', '.join(_EVENTS)}")
    news = entry.pop("new", {})
    if not isinstance(news, dict):
        raise Damaged("what is new should be an object")
    known.learn(news)
    event: Durable = form.read(entry, known)
    return event


def _form(hint: Any) -> _Form:
    """The form for an annotation."""
    if hint in _FORMS:
        return _FORMS[hint]
    if isinstance(hint, TypeAliasType):
        return _form(hint.__value__)
    arguments = get_args(hint)
    origin = get_origin(hint)
    if origin is Literal:
        return _one_of(arguments)
    if origin in (Union, types.UnionType) and type(None) in arguments and len(arguments) == 2:
        return _optional(next(each for each in arguments if each is not type(None)))
    if origin is frozenset and arguments == (str,):
        return _names()
    if origin is tuple and len(arguments) == 2 and arguments[1] is ...:
        return _many(arguments[0])
    if origin is tuple and ... not in arguments:
        return _together(arguments)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _values(hint)
    raise TypeError(f"a record has no form for {hint!r}")


def _plain(kind: type, what: str) -> _Form:
    def read(value: object, _: Known) -> object:
        if type(value) is not kind:
            raise Damaged(f"there should be {what}, found {value!r:.40}")
        return value

    return _Form(write=lambda value, _: value, read=read)


def _read_seconds(value: object, _: Known) -> float:
    if type(value) not in (int, float):
        raise Damaged(f"there should be a number of seconds, found {value!r:.40}")
    assert isinstance(value, int | float)
    return value


def _one_of(words: tuple[object, ...]) -> _Form:
    def read(value: object, _: Known) -> object:
        if not isinstance(value, str) or value not in words:
            raise Damaged(f"there should be one of {', '.join(map(str, words))}, found {value!r:.40}")
        return value

    return _Form(write=lambda value, _: value, read=read)


def _optional(hint: Any) -> _Form:
    form = _form(hint)
    return _Form(
        write=lambda value, written: None if value is None else form.write(value, written),
        read=lambda value, known: None if value is None else form.read(value, known),
    )


def _names() -> _Form:
    many = _many(str)
    return _Form(
        write=lambda value, written: many.write(sorted(value), written),
        read=lambda value, known: frozenset(many.read(value, known)),
    )


def _many(hint: Any) -> _Form:
    form = _form(hint)

    def read(value: object, known: Known) -> tuple[object, ...]:
        return tuple([form.read(each, known) for each in _listed(value)])

    return _Form(write=lambda value, written: [form.write(each, written) for each in value], read=read)


def _together(hints: tuple[Any, ...]) -> _Form:
    forms = [_form(hint) for hint in hints]

    def write(value: tuple[object, ...], written: Written) -> object:
        return [form.write(each, written) for form, each in zip(forms, value, strict=True)]

    def read(value: object, known: Known) -> tuple[object, ...]:
        listed = _listed(value)
        if len(listed) != len(forms):
            raise Damaged(f"there should be {len(forms)} values, found {len(listed)}")
        return tuple([form.read(each, known) for form, each in zip(forms, listed, strict=True)])

    return _Form(write=write, read=read)


def _listed(value: object) -> list[object]:
    if not isinstance(value, list):
        raise Damaged(f"there should be a list, found {value!r:.40}")
    return value


def _values(made: type) -> _Form:
    hints = get_type_hints(made)
    fields = {field.name: _form(hints[field.name]) for field in dataclasses.fields(made)}
    needed = {
        field.name
        for field in dataclasses.fields(made)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    }

    def write(value: object, written: Written) -> object:
        return {name: form.write(getattr(value, name), written) for name, form in fields.items()}

    def read(value: object, known: Known) -> object:
        if not isinstance(value, dict):
            raise Damaged(f"there should be the fields of a {made.__name__}, found {value!r:.40}")
        if not needed <= value.keys() <= fields.keys():
            wrong = sorted((needed - value.keys()) | (value.keys() - fields.keys()))
            raise Damaged(f"a {made.__name__} has other fields: see {', '.join(wrong)}")
        read_values = {}
        for name, each in value.items():
            try:
                read_values[name] = fields[name].read(each, known)
            except Damaged as damage:
                raise Damaged(f"{name}: {damage}") from None
        try:
            return made(**read_values)
        except ValueError as error:
            raise Damaged(str(error)) from None

    return _Form(write=write, read=read)


_FORMS: Final[Mapping[Any, _Form]] = {
    str: _Form(write=lambda value, written: written.text(value), read=lambda value, known: known.text(value)),
    int: _plain(int, "a whole number"),
    bool: _plain(bool, "true or false"),
    float: _Form(write=lambda value, _: value, read=_read_seconds),
    bytes: _Form(write=lambda value, _: bytes_to(value), read=lambda value, _: bytes_from(value)),
    ToolSpec: _Form(write=lambda value, written: written.tool(value), read=lambda value, known: known.tool(value)),
    Conversation: _Form(
        write=lambda value, written: written.conversation(value), read=lambda value, known: known.conversation(value)
    ),
    tuple[Message, ...]: _Form(
        write=lambda value, written: written.messages(tuple(value)), read=lambda value, known: known.messages(value)
    ),
    tuple[Part, ...]: _Form(
        write=lambda value, written: written.parts(Message(role="assistant", parts=value, id="")),
        read=lambda value, known: known.parts(value).parts,
    ),
}
_EVENTS: Final[Mapping[str, _Form]] = {
    each.__name__: _form(each) for each in get_args(Event.__value__) if each not in _PASSING
}
