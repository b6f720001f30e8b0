"""What a tool gave as the answer to a question: a record with fields, or words; and which of it is wanted."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from host.models.lexical.kit import Slot
from host.models.lexical.language import alike, stem, terms
from host.models.lexical.speech import KINDS

__all__ = ["Found", "found_in", "value_for", "wanted_fields"]

_NAMES: Final = ("name", "title", "subject", "label", "called", "betreff", "titel", "nom", "titre")
_ALIKE: Final = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """An answer. `fields` are those of a record that have a value, as text; without any, `text` is all there is."""

    text: str
    fields: Mapping[str, str]

    @property
    def called(self) -> str:
        """What the record is called: by the field that names it, or else by its first."""
        named = (self.fields[name] for name in _NAMES if name in self.fields)
        return next(named, next(iter(self.fields.values()), self.text))


def found_in(text: str) -> Found:
    """What the text of a result holds. Of a list with one item, that item."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return Found(text=text, fields={})
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, Mapping):
        return Found(text=value if isinstance(value, str) else text, fields={})
    fields = {str(name): _text(each) for name, each in value.items()}
    return Found(text=text, fields={name: each for name, each in fields.items() if each})


def value_for(slot: Slot, found: Found) -> str | None:
    """The field of a record that a parameter takes: by its name, or by how it looks. None if there is none."""
    if not found.fields:
        return found.text or None
    names = wanted_fields(found, sorted(slot.words))
    return found.fields[names[0]] if names else None


def wanted_fields(found: Found, words: Sequence[str]) -> list[str]:
    """The fields that these stems ask for, the surest first."""
    sure: dict[str, float] = {}
    for name, value in found.fields.items():
        roots = [stem(word) for word in terms(name)]
        best = max((alike(root, word) for root in roots for word in words), default=0.0)
        for kinds, shape in KINDS:
            if not kinds.isdisjoint(words) and shape.fullmatch(value):
                best = max(best, _ALIKE + (0.1 if not kinds.isdisjoint(roots) else 0.0))
        if best >= _ALIKE:
            sure[name] = best
    return sorted(sure, key=lambda name: -sure[name])


def _text(value: object) -> str:
    match value:
        case str():
            return value.strip()
        case None | bool():
            return ""
        case list():
            return ", ".join(filter(None, map(_text, value)))
        case dict():
            return ", ".join(f"{name} {text}" for name, each in value.items() if (text := _text(each)))
        case _:
            return str(value)
