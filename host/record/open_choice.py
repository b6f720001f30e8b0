"""Which of several records a loop settled on, and whether anything that it read tells that one from the others.

A record is a JSON object that stands in a list in the result of a call. Those that one tool returned, over all of a
loop's calls of it, are the candidates. The one that the loop's last reply names, by a value that no other candidate
has, is the one that it settled on. Nothing is said where that is not exactly one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from host.events import CallEnded
from host.models.port import Reply
from host.record.telling import words_of
from host.spelling import fold, words

__all__ = ["OpenChoice", "open_choice"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenChoice:
    """The words of the record that was settled on, and those of the others that were to be had."""

    chosen: frozenset[str]
    others: tuple[frozenset[str], ...]
    tool: str

    @property
    def all_apart(self) -> frozenset[str]:
        """The words that some candidates have and some have not."""
        every = [self.chosen, *self.others]
        return frozenset().union(*every) - every[0].intersection(*every[1:])

    def left_open_by(self, said: frozenset[str]) -> tuple[frozenset[str], ...]:
        """The others for which these words speak no less than for the chosen one."""
        speaks = self.chosen & said
        return tuple([other for other in self.others if speaks <= other])

    def tells_apart(self, others: Sequence[frozenset[str]]) -> frozenset[str]:
        """The words that only the chosen one has, of it and these others."""
        return self.chosen.difference(*others)


def open_choice(results: Iterable[CallEnded], last: Reply) -> OpenChoice | None:
    """What the last reply settled on among the records in results; None if that is not exactly one of several."""
    by_tool: dict[str, dict[str, frozenset[str]]] = {}
    for result in results:
        if not result.failed:
            for record in _records(result.text):
                values = frozenset(_scalars(record))
                by_tool.setdefault(result.call.name, {})[json.dumps(record, sort_keys=True)] = values
    named = _Named(last)
    for tool, found in by_tool.items():
        records = list(found.values())
        if len(records) < 2:
            continue
        chosen = [number for number, values in enumerate(records) if named.any(_only(values, number, records))]
        if len(chosen) == 1:
            others = [values for number, values in enumerate(records) if number != chosen[0]]
            return OpenChoice(chosen=_words(records[chosen[0]]), others=tuple(map(_words, others)), tool=tool)
    return None


class _Named:
    """What a reply names: the values in the arguments of its calls, and the words of its text."""

    def __init__(self, reply: Reply) -> None:
        self._values = {fold(value) for call in reply.calls for value in _scalars(call.parsed or {})}
        self._text = f" {_spaced(reply.text)} "

    def any(self, values: Iterable[str]) -> bool:
        """Whether it names one of these values. A bare short number in a text is not taken for a value."""
        return any(
            fold(value) in self._values
            or (len(value) > 2 and (spaced := _spaced(value)) != "" and f" {spaced} " in self._text)
            for value in values
        )


def _only(values: frozenset[str], number: int, records: Sequence[frozenset[str]]) -> frozenset[str]:
    return values.difference(*[other for at, other in enumerate(records) if at != number])


def _records(text: str) -> Iterator[Mapping[str, object]]:
    try:
        waiting: list[object] = [json.loads(text)]
    except (ValueError, RecursionError):
        return
    while waiting:
        here = waiting.pop()
        if isinstance(here, dict):
            waiting += here.values()
        elif isinstance(here, list):
            for each in here:
                if isinstance(each, dict):
                    yield each
                else:
                    waiting.append(each)


def _scalars(value: object) -> Iterator[str]:
    waiting: list[object] = [value]
    while waiting:
        here = waiting.pop()
        match here:
            case Mapping():
                waiting += here.values()
            case list() | tuple():
                waiting += here
            case None | bool():
                pass
            case _:
                yield str(here)


def _words(values: frozenset[str]) -> frozenset[str]:
    return words_of("\n".join(sorted(values)))


def _spaced(text: str) -> str:
    return " ".join(map(fold, words(text)))
