"""What pydantic finds wrong with the data of a project, in words: which key, what it should be, what to write.

A misspelt key is taken for the one that must have been meant, so that the rest of the file can be judged at once; it
is an error all the same. An unknown key that resembles none is left out of what is judged.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from host.agents.findings import Fix, KeyPath, Span, dotted, nearest, only_near
from host.agents.settings import ProjectSettings, field_at, known_keys
from host.agents.source import Document

__all__ = ["Misfit", "read_settings"]

_KINDS: Final = {
    "string_type": "a text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
}
_BOUNDS: Final = {
    "greater_than": ("gt", "above"),
    "greater_than_equal": ("ge", "from"),
    "less_than_equal": ("le", "up to"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Misfit:
    """One thing that does not fit: the id of its rule, its path, what to say, where, and how to mend it."""

    rule: str
    path: KeyPath
    message: str
    help: str
    span: Span | None
    fix: Fix | None = None


def read_settings(document: Document) -> tuple[ProjectSettings | None, list[Misfit]]:
    """The settings that a document holds, None where its values do not fit; and all that is wrong with its shape."""
    if document.data is None:
        help_ = "Write agents: and the agents by name below it."
        return None, [Misfit(rule="key.missing", path=(), message="The file is empty.", help=help_, span=None)]
    misfits = list(_empty(document, document.data, ()))
    empty = {misfit.path for misfit in misfits}
    while True:
        try:
            settings = ProjectSettings.model_validate(document.data)
        except ValidationError as error:
            told = error.errors(include_url=False)
        else:
            return (None if empty else settings), misfits
        unknown = [detail for detail in told if detail["type"] == "extra_forbidden"]
        if not unknown:
            for path, detail in {_path(detail): detail for detail in reversed(told)}.items():
                if path not in empty:
                    misfits.append(_wrong(document, path, detail))
            return None, misfits
        # An alias shares its keys: what is mended once is mended for all, so each is looked for before it is told.
        misfits.extend(
            _unknown(document, path) for path in map(_path, unknown) if path[-1] in _there(document.data, path[:-1])
        )


def _path(detail: ErrorDetails) -> KeyPath:
    return tuple(detail["loc"])


def _empty(document: Document, data: object, path: KeyPath) -> Iterator[Misfit]:
    """Keys without a value. Only a budget has a meaning for that: no bound."""
    if isinstance(data, Mapping):
        for key, value in data.items():
            yield from _empty(document, value, (*path, key))
    elif isinstance(data, tuple):
        for number, value in enumerate(data):
            yield from _empty(document, value, (*path, number))
    elif data is None and path and path[:-1] != ("run", "budget"):
        field = field_at(path)
        optional = isinstance(path[-1], int) or field is None or not field.is_required()
        help_ = f"{_example(path)}{' Or take it out.' if optional else ''}"
        message = f"{dotted(path)} has no value."
        yield Misfit(rule="value.empty", path=path, message=message, help=help_, span=document.at(path, key=True))


def _unknown(document: Document, path: KeyPath) -> Misfit:
    """An unknown key; the document goes on without it, or with the key that was meant."""
    *above, last = path
    parent, key = tuple(above), str(last)
    where = f"{dotted(parent)} has" if parent else "There is"
    known = list(known_keys(parent))
    there = _there(document.data, parent)
    meant = only_near(key, known)
    span = document.at(path, key=True)
    fix = None
    if meant is not None and meant not in there:
        help_ = f"Write {meant}."
        if span is not None and (old := document.slice(span)) in {key, f"'{key}'", f'"{key}"'}:
            quote = "" if old == key else old[0]  # a key that is written with escapes or an anchor is left to people
            fix = Fix(old=old, new=f"{quote}{meant}{quote}")
        document.rename(path, meant)
    else:
        if meant is not None:
            help_ = f"{meant} is there already: take this one out."
        elif near := nearest(key, known):
            help_ = f"Write {' or '.join(near)}."
        else:
            help_ = f"Known here: {', '.join(known)}."
        document.rename(path, None)
    message = f"{where} no key {key}."
    return Misfit(rule="key.unknown", path=path, message=message, help=help_, span=span, fix=fix)


def _there(data: object, path: KeyPath) -> Mapping[str, object]:
    for part in path:
        assert isinstance(data, Mapping)
        data = data[part]
    assert isinstance(data, Mapping)
    return data


def _wrong(document: Document, path: KeyPath, detail: ErrorDetails) -> Misfit:
    """A value that is not what it should be, or is missing."""
    if detail["type"] == "missing":
        return Misfit(
            rule="key.missing",
            path=path,
            message=f"{dotted(path)} is missing.",
            help=_example(path),
            span=document.at(path[:-1], key=True),
        )
    if path:
        message, help_ = f"{dotted(path)} is {_expected(detail)}, not {_shown(detail['input'])}.", _example(path)
    else:
        message = f"The file holds {_shown(detail['input'])}, and not a mapping."
        help_ = "Begin with agents: and the agents by name below it."
    return Misfit(rule="value.wrong", path=path, message=message, help=help_, span=document.at(path))


def _expected(detail: ErrorDetails) -> str:
    kind = detail["type"]
    if kind in _KINDS:
        return _KINDS[kind]
    context = detail.get("ctx", {})
    if kind in _BOUNDS:
        name, word = _BOUNDS[kind]
        return f"a number {word} {context[name]:g}" if context[name] < 1e6 else f"a number {word} {context[name]:,.0f}"
    if kind == "literal_error":
        return f"one of {str(context['expected']).replace(chr(39), '').replace(' or ', ', ')}"
    return detail["msg"]


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        return "empty"
    if isinstance(value, str):
        return f"the text {_short(value)}"
    if isinstance(value, Mapping):
        return "a mapping"
    return "a list" if isinstance(value, tuple) else str(value)


def _short(text: str, most: int = 40) -> str:
    return json.dumps(text if len(text) <= most else f"{text[: most - 1]}…", ensure_ascii=False)


def _example(path: KeyPath) -> str:
    """What to write, from the examples of the model."""
    field = field_at(path)
    if field is None or not field.examples:
        return "Write a mapping of its settings." if len(path) == 2 else ""
    key = next(part for part in reversed(path) if isinstance(part, str))
    value = field.examples[0]
    text = _flow(value[0]) if isinstance(path[-1], int) else f"{key}: {_flow(value)}"
    return f"Write for example {text.removesuffix('.')}."


def _flow(value: object) -> str:
    """A value as one would write it on one line."""
    match value:
        case bool():
            return str(value).lower()
        case tuple():
            return f"[{', '.join(map(_flow, value))}]"
        case dict():
            return f"{{{', '.join(f'{key}: {_flow(each)}' for key, each in value.items())}}}"
        case _:
            return str(value)
