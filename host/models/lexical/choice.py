"""Which of the records found is meant: by the request as far as it says, and by the history where it leaves that open.

1. Each record is matched with the request, word for word. A word in a name, a title or another short field counts in
full,
   one in a longer text little (unless the request asks what a thing is *about*), a related word less than the same one.
   Words that the tools use of themselves ("address", "file") say what kind of thing is asked for, and count little.
2. A record is out if another one matches all that it matches, and is also named by a word of the request that it lacks
   altogether: "the board report" rules out all reports but the board's.
3. What is left open is weighed by the history (see `evidence`), with the words that tell the open records from each
other. 4. The best must be clearly ahead of every other one, compared with that one alone, by what tells just these
two apart.
   Otherwise it is open, and all that are near the best are the options.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from host.models.lexical.evidence import Evidence
from host.models.lexical.history import History
from host.models.lexical.language import alike
from host.models.lexical.records import Record
from host.models.lexical.weights import Weights

__all__ = ["Asked", "choice"]

_NAMED: Final = 0.5  # from here on a match means that the record is called so
_SOME: Final = 0.15  # from here on a match means anything
_ABOUT: Final = 0.6  # what a word in a text counts if the request asks what a thing is about
_RIVALS: Final = 12
_NEAR: Final = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A word of the request. `telling` is false for words that say what kind of thing is asked for, or only ask."""

    stem: str
    text: str
    telling: bool

    @property
    def weight(self) -> float:
        """How much a match of the word counts."""
        return 1.0 if self.telling else 0.3


def choice(
    words: Sequence[Asked], records: Sequence[Record], history: History, weights: Weights, *, about: bool
) -> tuple[Record | None, list[Record]]:
    """The record that is meant, or None and those that may be, the likeliest first."""
    cases = _open(words, [_Case(record, words, about=about) for record in records])
    heads = _heads(words, cases) or [word.stem for word in words if word.telling]
    asides = [word.stem for word in words if word.telling and word.stem not in heads]
    evidence = Evidence(history, heads, asides, weights)
    found = evidence.weigh(_telling([case.record for case in cases], heads, weights))
    most = max(1.0, *found, 1.0)
    for case, weight in zip(cases, found, strict=True):
        case.evidence = weight / most
    cases.sort(key=lambda case: -case.total)
    if not cases or (heads and not evidence.spoken_of and cases[0].matched < _SOME):
        return None, []
    best, *rivals = cases
    rests = best.matched >= _NAMED or best.evidence >= weights.telling
    if rests and all(_beats(best, rival, evidence, heads, weights) for rival in rivals[:_RIVALS]):
        return best.record, []
    near = [case.record for case in cases if case.total >= _SOME and best.total - case.total < _NEAR]
    return None, near


class _Case:
    """How a record fits the request, word for word, and what the history says for it."""

    def __init__(self, record: Record, words: Sequence[Asked], *, about: bool) -> None:
        self.record = record
        self.words = words
        self.named = [_match(word, record, about=False) for word in words]
        self.matches = [_match(word, record, about=True) for word in words] if about else self.named
        self.matched = sum(
            word.weight * match * (1 if match >= _NAMED else 0.5)
            for word, match in zip(words, self.matches, strict=True)
        )
        self.evidence = 0.0

    @property
    def total(self) -> float:
        """Request and history together."""
        return self.matched + self.evidence

    def rules_out(self, other: _Case) -> bool:
        """Whether the other cannot be meant beside this one."""
        covers = all(mine >= min(theirs, 0.25) for mine, theirs in zip(self.matches, other.matches, strict=True))
        return covers and any(
            word.telling and mine >= _NAMED and theirs < 0.2
            for word, mine, theirs in zip(self.words, self.matches, other.matches, strict=True)
        )


def _open(words: Sequence[Asked], cases: Sequence[_Case]) -> list[_Case]:
    """The cases that the request leaves open. If some records are called so, those that have no such name are out."""
    heads = set(_heads(words, cases))
    if heads:
        naming = [at for at, word in enumerate(words) if word.stem in heads]
        cases = [case for case in cases if any(case.matches[at] >= _SOME for at in naming)]
    return [case for case in cases if not any(other.rules_out(case) for other in cases)]


def _heads(words: Sequence[Asked], cases: Sequence[_Case]) -> list[str]:
    """The words of the request that are a name of any of the records: they name what is asked for."""
    return [
        word.stem for at, word in enumerate(words) if word.telling and any(case.named[at] >= _NAMED for case in cases)
    ]


def _match(word: Asked, record: Record, *, about: bool) -> float:
    """How well a word of the request fits a record."""
    least = _ABOUT if about else 0.0
    return max((max(strength, least) * alike(word.stem, other) for other, strength in record.words.items()), default=0)


def _beats(best: _Case, rival: _Case, evidence: Evidence, heads: Sequence[str], weights: Weights) -> bool:
    """Whether the best is clearly meant and not this other one, by what tells these two apart."""
    mine, theirs = evidence.weigh(_telling([best.record, rival.record], heads, weights))
    ahead = best.matched - rival.matched + (mine - theirs) / max(1.0, mine, theirs)
    if ahead >= weights.clear:
        return True
    return ahead >= weights.least and mine >= (weights.ratio if ahead >= weights.ahead else weights.lone) * theirs


def _telling(records: Sequence[Record], heads: Sequence[str], weights: Weights) -> list[dict[str, float]]:
    """For each record, the words that tell it from the others, weighted by how few of the others they stand for."""
    among: dict[str, float] = {}
    for record in records:
        for word, strength in record.words.items():
            among[word] = among.get(word, 0.0) + strength
    shared = {word for word in among if any(alike(word, head) for head in heads)}
    others = max(len(records) - 1, 1)
    found: list[dict[str, float]] = []
    for record in records:
        own: dict[str, float] = {}
        for word, strength in record.words.items():
            rest = max(0.0, 1 - (among[word] - strength) / others)
            weight = (strength if strength >= _NAMED else weights.prose) * rest
            if weight > 0.02 and word not in shared:
                own[word] = weight
        found.append(own)
    return found
