"""What the tools on offer are for, and which records their results hold. Read from names, schemas and results alone.

- A tool named `answer` with one argument ends the search; that argument is the key by which a record is named.
- A tool named `clarify` takes a question, and options if it can.
- Any other tool that needs exactly one text, and not the key, looks things up.
- A record is any object in a result that has the key. Found again with other texts, it has both.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from host.models.lexical.language import is_function_word, stem, terms
from host.models.port import ToolSpec

__all__ = ["Offer", "Record", "offered", "read_records"]

_SHORT: Final = 10  # words; a field of more is a text, and what it mentions says less about the record
# Fields of these names hold what is said about a record, however short.
_PROSE: Final = frozenset(
    {"note", "notes", "snippet", "text", "body", "description", "comment", "comments", "remark", "remarks", "summary"}
    | {"details", "content", "excerpt", "abstract", "bemerkung", "beschreibung", "notiz", "remarque"}
)
_SHORT_TEXT: Final = 60  # characters
_NAMED: Final = 1.0
_MENTIONED: Final = 0.3
# A moment or a telephone number: nobody speaks of a record by these, and their digits occur everywhere.
_NUMBER: Final = re.compile(r"\d{4}-\d\d-\d\dT.*|[\d\s()+./-]{7,}", re.DOTALL)
# "v2", "w19", "q3": people say "version 2", "week 19".
_COUNTED: Final = re.compile(r"[a-z]{1,2}(\d+)")
_MOST: Final = 50  # results to ask for


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """The tools of a request by what they are for. `spoken` are the words in which the tools describe themselves."""

    lookups: tuple[tuple[ToolSpec, str], ...]
    key: str
    clarifies: bool
    spoken: frozenset[str]

    def call(self, spec: ToolSpec, parameter: str, text: str) -> str:
        """The arguments of a look-up, as JSON: as many results as the tool allows, up to a sensible number."""
        arguments: dict[str, object] = {parameter: text}
        limit = _properties(spec).get("limit")
        if isinstance(limit, Mapping) and limit.get("type") == "integer":
            most = limit.get("maximum")
            arguments["limit"] = min(_MOST, most) if isinstance(most, int) else _MOST
        return json.dumps(arguments, ensure_ascii=False)


@dataclass(slots=True, kw_only=True)
class Record:
    """One record: its key, its fields as text in the order in which they came, and how strongly each word stands for
    it.
    """

    key: object
    fields: dict[str, list[str]] = field(default_factory=dict)
    words: dict[str, float] = field(default_factory=dict)

    def add(self, fields: Mapping[str, object], key: str) -> None:
        """Take in what one result says about the record."""
        for name, value in fields.items():
            for text in _texts(value):
                if name == key and not isinstance(self.key, str):
                    continue
                known = self.fields.setdefault(name, [])
                if text and text not in known:
                    known.append(text)
                    self._learn(text, prose=not _PROSE.isdisjoint(terms(name)))

    def _learn(self, text: str, *, prose: bool) -> None:
        if _NUMBER.fullmatch(text):
            return
        found = terms(text)
        strength = _MENTIONED if prose or len(found) > _SHORT else _NAMED
        for word in found:
            if not is_function_word(word):
                self.words[stem(word)] = max(strength, self.words.get(stem(word), 0.0))
            if (counted := _COUNTED.fullmatch(word)) is not None:
                self.words.setdefault(counted[1].lstrip("0") or "0", strength / 2)

    @property
    def called(self) -> str:
        """The record's first field: what it is called."""
        return next((texts[0] for texts in self.fields.values() if texts), str(self.key))

    @property
    def described(self) -> str:
        """The record in a few words that tell it from others: what it is called, and its next short fields."""
        first = self.called
        short = [(name, texts[0]) for name, texts in self.fields.items() if texts and len(texts[0]) <= _SHORT_TEXT]
        short = [(name, text) for name, text in short if first not in text and not _NUMBER.fullmatch(text)]
        short.sort(key=lambda field: not _PROSE.isdisjoint(terms(field[0])))
        more = list(dict.fromkeys(text for _, text in short))[:2]
        return f"{first} ({', '.join(more)})" if more else first


def offered(tools: Sequence[ToolSpec]) -> Offer:
    """What the tools are for."""
    by_name = {tool.name: tool for tool in tools}
    answer = by_name.get("answer")
    keys = _required(answer) if answer is not None else []
    key = keys[0] if len(keys) == 1 else ""
    lookups = []
    for tool in tools:
        required = _required(tool)
        if tool.name in ("answer", "clarify") or len(required) != 1 or required[0] == key:
            continue
        described = _properties(tool).get(required[0])
        if isinstance(described, Mapping) and described.get("type") == "string":
            lookups.append((tool, required[0]))
    spoken = {stem(word) for tool in tools for text in _spoken(tool) for word in terms(text)}
    return Offer(lookups=tuple(lookups), key=key, clarifies="clarify" in by_name, spoken=frozenset(spoken))


def read_records(results: Iterable[str], key: str) -> list[Record]:
    """The records in the texts of results, in the order in which they first occur."""
    found: dict[str, Record] = {}
    for text in results:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            continue
        for fields in _objects(value, key):
            identity = json.dumps(fields[key], sort_keys=True, default=str)
            found.setdefault(identity, Record(key=fields[key])).add(fields, key)
    return list(found.values())


def _objects(value: object, key: str) -> Iterable[Mapping[str, object]]:
    """Every object that has the key, wherever it stands in a result."""
    waiting = [value]
    while waiting:
        here = waiting.pop(0)
        if isinstance(here, Mapping):
            if key in here:
                yield here
            else:
                waiting += here.values()
        elif isinstance(here, list):
            waiting += here


def _texts(value: object) -> list[str]:
    match value:
        case str():
            return [value]
        case list():
            return [text for each in value for text in _texts(each)]
        case dict():
            return [text for each in value.values() for text in _texts(each)]
        case None | bool():
            return []
        case _:
            return [str(value)]


def _properties(tool: ToolSpec) -> Mapping[str, object]:
    properties = tool.parameters.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def _required(tool: ToolSpec) -> list[str]:
    required = tool.parameters.get("required")
    return [str(name) for name in required] if isinstance(required, list | tuple) else []


def _spoken(tool: ToolSpec) -> Iterable[str]:
    yield tool.name
    yield tool.description
    for name, described in _properties(tool).items():
        yield name
        if isinstance(described, Mapping):
            yield str(described.get("description", ""))
