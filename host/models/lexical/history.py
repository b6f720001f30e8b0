"""The inherited conversation as the lexical model reads it: sayings, their sentences, their clauses, and where each
word is.

A saying is one entry of the section. It counts by who speaks: the person and whoever gave an agent its work most,
agents less, results of tools least, since those hold what was looked at and not what was meant. Text is only ever
looked at for its words: nothing in it is followed, whatever it says.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from host.context import Entry
from host.models.lexical.language import (
    ASIDE,
    COMMON,
    CORRECTION,
    DENIAL,
    DONE,
    INSTEAD_OF,
    POINTING,
    REFUSAL,
    REJECTED,
    TRANSFER,
    WISH,
    alike,
    is_function_word,
    sentences,
    stem,
    terms,
)
from host.models.lexical.restated import without_questions, without_restatements
from host.spelling import fold

__all__ = ["Clause", "History", "Place", "Saying"]

_SPEAKERS: Final = {"user": 1.0, "caller": 1.0, "agent": 0.75, "participant": 0.75, "system": 0.6, "tool": 0.5}
_CALLED: Final = 0.5  # what an agent wrote as a call's arguments
_DENIED_WORDS: Final = 4  # how far a denial reaches
_BUCKET: Final = 5
_COMMON: Final = frozenset(stem(word) for word in COMMON)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """Part of a sentence. `stems` has "" for function words; `denied` are the positions that the clause says are not
    meant.
    """

    saying: int
    sentence: int
    stems: tuple[str, ...]
    denied: frozenset[int]
    wish: bool
    aside: bool
    done: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Saying:
    """One entry: how much it counts, and what it does to what was said before it: takes it back, points to it ("it"),
    asks about it, says no to it.
    """

    weight: float
    corrects: bool
    points_back: bool
    asks: bool
    refuses: bool
    clauses: range


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a word stands, and how surely it is that word."""

    clause: int
    position: int
    sureness: float


class History:
    """The sayings of a section in order. Linear in its length to make."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        """The history of these entries, but for what only states the request once more."""
        every, entries = entries, without_questions(without_restatements(entries))
        self.sayings: list[Saying] = []
        self.clauses: list[Clause] = []
        self.sentences: list[range] = []
        for entry in entries:
            if entry.text.strip():
                self._add(entry)
        # Whether the conversation ends with someone being given something.
        last = next((entry for entry in reversed(every) if _kind(entry) in ("user", "caller")), None)
        self.gives = last is not None and not TRANSFER.isdisjoint(terms(last.text))
        self._related: dict[str, dict[str, float]] = {}
        self._words: dict[range, frozenset[str]] = {}
        self._places: dict[str, list[tuple[int, int]]] = {}
        self._buckets: dict[str, list[str]] = {}
        self._endings: dict[str, list[str]] = {}
        for number, clause in enumerate(self.clauses):
            for position, each in enumerate(clause.stems):
                if each:
                    if each not in self._places:
                        self._places[each] = []
                        self._buckets.setdefault(each[:_BUCKET], []).append(each)
                        self._endings.setdefault(each[-_BUCKET:], []).append(each)
                    self._places[each].append((number, position))

    def _add(self, entry: Entry) -> None:
        begin = len(self.clauses)
        points_back = False
        for parts in sentences(entry.text):
            first = len(self.clauses)
            folded = fold(" ".join(parts))
            wish = WISH.search(folded) is not None
            aside = ASIDE.search(folded) is not None
            done = DONE.search(folded) is not None
            rejected = REJECTED.search(folded) is not None
            for part in parts:
                found = terms(part)
                points_back = points_back or not POINTING.isdisjoint(found)
                self.clauses.append(
                    Clause(
                        saying=len(self.sayings),
                        sentence=len(self.sentences),
                        stems=tuple("" if is_function_word(word) else stem(word) for word in found),
                        denied=frozenset(range(len(found))) if rejected else _denied(found),
                        wish=wish,
                        aside=aside,
                        done=done,
                    )
                )
            self.sentences.append(range(first, len(self.clauses)))
        kind = _kind(entry)
        weight = _CALLED if entry.deed == "calls" else _SPEAKERS.get(kind, 0.5)
        text = fold(entry.text)
        corrects = kind in ("user", "caller") and CORRECTION.search(text) is not None
        self.sayings.append(
            Saying(
                weight=weight,
                corrects=corrects,
                points_back=points_back,
                asks=text.rstrip("\"'\u201d\u00bb) ").endswith("?"),
                refuses=REFUSAL.search(text) is not None,
                clauses=range(begin, len(self.clauses)),
            )
        )

    def places(self, word: str) -> list[Place]:
        """Where a stem stands, also in other forms, and as the end of a compound."""
        return [
            Place(clause=clause, position=position, sureness=sureness)
            for other, sureness in self.related(word).items()
            for clause, position in self._places[other]
        ]

    def links(self, number: int) -> frozenset[str]:
        """The words of a clause that bind it to other clauses that have them."""
        return self.words(range(number, number + 1)) - _COMMON

    def clauses_with(self, word: str) -> Sequence[int]:
        """The clauses in which this very stem stands, in order."""
        return [clause for clause, _ in self._places.get(word, ())]

    def related(self, word: str) -> Mapping[str, float]:
        """The words of the history that may be this one: in other forms, or as the end of a compound."""
        if word not in self._related:
            known = {other: alike(word, other) for other in self._buckets.get(word[:_BUCKET], ())}
            if len(word) >= _BUCKET:
                same_end = self._endings.get(word[-_BUCKET:], ())
                known |= {other: alike(word, other) for other in same_end}
            self._related[word] = {other: sureness for other, sureness in known.items() if sureness}
        return self._related[word]

    def words(self, clauses: range) -> frozenset[str]:
        """The words that carry a meaning in these clauses."""
        if clauses not in self._words:
            self._words[clauses] = frozenset(each for clause in clauses for each in self.clauses[clause].stems if each)
        return self._words[clauses]

    def takes_up(self, saying: int, heads: frozenset[str]) -> bool:
        """Whether a saying speaks of something, other than these words, that was spoken of before it."""
        words = self.words(self.sayings[saying].clauses) - heads - _COMMON
        return any(self.clauses[self._places[word][0][0]].saying < saying for word in words)

    @cached_property
    def _rarity(self) -> dict[str, float]:
        every = max(len(self.sentences), 1)
        scale = math.log(1 + every)
        in_sentences = {
            each: len({self.clauses[clause].sentence for clause, _ in where}) for each, where in self._places.items()
        }
        return {each: math.log(1 + every / count) / scale for each, count in in_sentences.items()}

    def rarity(self, word: str) -> float:
        """How telling a stem is: 1 if it is in one sentence only, less the more sentences it is in."""
        return self._rarity.get(word, 1.0)


def _kind(entry: Entry) -> str:
    """What kind of speaker said it: the word behind "outer"."""
    return entry.speaker.split()[1] if " " in entry.speaker else "participant"


def _denied(words: Sequence[str]) -> frozenset[int]:
    """The positions of the words that a clause says are not meant.

    "not the blue one", "not for Ann", "don't send the blue one" deny what follows; "I have not seen the blue one"
    does not: there the denial is of the seeing.
    """
    found: set[int] = set()
    for at, word in enumerate(words):
        if word not in DENIAL or at + 1 == len(words):
            continue
        following = range(at + 1, min(at + 1 + _DENIED_WORDS, len(words)))
        perfect = at > 0 and words[at - 1] in ("have", "has", "had", "havent", "habe", "hat", "haben", "ai", "a", "ont")
        if not perfect:
            found.update(following)
    text = " ".join(words)
    for match in INSTEAD_OF.finditer(text):
        before = text[: match.end()].count(" ") + 1
        found.update(range(before, min(before + _DENIED_WORDS, len(words))))
    return frozenset(found)
