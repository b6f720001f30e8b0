"""How much a conversation speaks for each of several records that a request leaves open.

The words that tell a record from the others are looked for in the history. An occurrence counts by

- the word: how strongly it stands for the record (see `records`), and how few of the others it stands for as well;
- nearness: whether what was asked for is spoken of in the same clause, sentence or saying, in the saying before, or
  elsewhere;
- the matter: how much the sentence is about what the conversation is about at its end, where the request came from, or
  about the other words of the request;
- who speaks, how long ago, and whether someone is said to want or need something;
- whether it is denied ("not the blue one"), and whether the saying takes back what was said before.

A record's evidence is its best clause, a little of its second, and less of its third: what is mentioned more often is
not therefore meant. Denials are taken off. The result is between 0 and 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from host.models.lexical.focus import focus
from host.models.lexical.history import History, Place
from host.models.lexical.weights import Weights

__all__ = ["Evidence"]

_BESIDE: Final = 3  # words


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mention:
    """A record's words in one clause: how sure, and whether denied."""

    clause: int
    sureness: float
    denied: bool


class Evidence:
    """What a history says about a request. `heads` are the stems of what is asked for, `asides` the request's other words."""

    def __init__(self, history: History, heads: Sequence[str], asides: Sequence[str], weights: Weights) -> None:
        self._history = history
        self._w = weights
        self._positions: dict[int, list[int]] = {}  # clause: where heads stand in it
        for head in heads:
            for place in history.places(head):
                self._positions.setdefault(place.clause, []).append(place.position)
        self._sentences = {history.clauses[clause].sentence for clause in self._positions}
        self._sayings = {history.clauses[clause].saying for clause in self._positions}
        in_history = frozenset(word for head in heads for word in history.related(head))
        self._focus = focus(history, in_history, asides, weights)

    @property
    def spoken_of(self) -> bool:
        """Whether the history says anything about what was asked for."""
        return bool(self._positions)

    def weigh(self, telling: Sequence[Mapping[str, float]]) -> list[float]:
        """The evidence for each record, given the words that tell it from the others, with their weights."""
        mentions = [self._mentions(words) for words in telling]
        sayings = {self._history.clauses[each.clause].saying for found in mentions for each in found}
        relevant = sorted(self._sayings | sayings)
        age = {saying: len(relevant) - 1 - at for at, saying in enumerate(relevant)}
        correction = max((at for at in relevant if self._corrects(at)), default=-1)
        return [
            self._total([(self._value(each, age, correction), each.denied) for each in found]) for found in mentions
        ]

    def _total(self, values: Sequence[tuple[float, bool]]) -> float:
        said = sorted((value for value, denied in values if not denied), reverse=True)
        total = sum(value * share for value, share in zip(said, (1, self._w.second, self._w.third), strict=False))
        against = max((value for value, denied in values if denied), default=0.0)
        return min(1.0, max(0.0, total - self._w.denial * against))

    def _value(self, mention: _Mention, age: Mapping[int, int], correction: int) -> float:
        w = self._w
        clause = self._history.clauses[mention.clause]
        saying = self._history.sayings[clause.saying]
        here = w.here if mention.clause in self._positions else w.near if clause.sentence in self._sentences else 0.0
        bound = self._focus[mention.clause]
        bound += (1 - bound) * here * (w.aside if clause.aside else 1.0)
        value = mention.sureness * saying.weight * bound
        value *= (w.question if saying.asks else 1.0) * (w.done if clause.done else 1.0)
        value *= w.oldest + (1 - w.oldest) * w.ageing ** age[clause.saying]
        value *= 1 + w.wish * bound if clause.wish else 1.0
        if saying.corrects:
            return value * w.corrects
        return value * (w.taken_back if clause.saying < correction else 1.0)

    def _mentions(self, words: Mapping[str, float]) -> list[_Mention]:
        by_clause: dict[tuple[int, bool], dict[str, float]] = {}
        for word, weight in words.items():
            for place in self._history.places(word):
                denied = place.position in self._history.clauses[place.clause].denied or self._refused(place.clause)
                sure = weight * place.sureness * self._beside(place)
                kept = by_clause.setdefault((place.clause, denied), {})
                kept[word] = max(sure, kept.get(word, 0.0))
        mentions = []
        for (clause, denied), found in by_clause.items():
            missing = 1.0
            for sure in found.values():
                missing *= 1 - self._w.sure * sure
            mentions.append(_Mention(clause=clause, sureness=1 - missing, denied=denied))
        return mentions

    def _beside(self, place: Place) -> float:
        heads = self._positions.get(place.clause)
        if not heads:
            return 1.0
        return 1.0 if min(abs(head - place.position) for head in heads) <= _BESIDE else self._w.apart

    def _refused(self, clause: int) -> bool:
        """Whether a clause is in a question that was answered with no."""
        number = self._history.clauses[clause].saying
        sayings = self._history.sayings
        return sayings[number].asks and number + 1 < len(sayings) and sayings[number + 1].refuses

    def _corrects(self, saying: int) -> bool:
        """Whether a saying takes back something about what was asked for."""
        return self._history.sayings[saying].corrects and (
            not self._sayings or saying in self._sayings or saying - 1 in self._sayings
        )
