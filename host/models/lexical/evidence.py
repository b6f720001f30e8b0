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
from typing import Final

from host.models.lexical.focus import focus
from host.models.lexical.history import History, Place
from host.models.lexical.weights import Weights

__all__ = ["Evidence"]

_BESIDE: Final = 3  # words


class Evidence:
    """What a history says about a request. `heads` are the stems of what is asked for, `asides` the request's other
    words.
    """

    def __init__(self, history: History, heads: Sequence[str], asides: Sequence[str], weights: Weights) -> None:
        self._history = history
        self._w = weights
        self._positions: dict[int, list[int]] = {}  # clause: where heads stand in it
        for head in heads:
            for place in history.places(head):
                self._positions.setdefault(place.clause, []).append(place.position)
        self._sayings = {history.clauses[clause].saying for clause in self._positions}
        in_history = frozenset(word for head in heads for word in history.related(head))
        self._focus = focus(history, in_history, asides, weights)

    @property
    def spoken_of(self) -> bool:
        """Whether the history says anything about what was asked for."""
        return bool(self._positions)

    def weigh(self, telling: Sequence[Mapping[str, float]]) -> list[float]:
        """The evidence for each record, given the words that tell it from the others, with their weights."""
        places = [{word: self._history.places(word) for word in words} for words in telling]
        sayings = {
            self._history.clauses[place.clause].saying for each in places for found in each.values() for place in found
        }
        relevant = sorted(self._sayings | sayings)
        age = {saying: len(relevant) - 1 - at for at, saying in enumerate(relevant)}
        correction = max((at for at in relevant if self._corrects(at)), default=-1)
        worth: dict[int, float] = {}
        totals: list[float] = []
        for words, found in zip(telling, places, strict=True):
            values: list[float] = []
            introduced = 0.0
            for word, weight in words.items():
                said = denied = 0.0
                for place in found[word]:
                    if place.clause not in worth:
                        worth[place.clause] = self._worth(place.clause, age, correction)
                    value = worth[place.clause] * place.sureness
                    beside = self._beside(place)
                    if self._denied(place):
                        denied = max(denied, value)
                    else:
                        said = max(said, value * (1.0 if beside else self._w.apart))
                        introduced = max(introduced, weight * place.sureness) if beside else introduced
                values.append(weight * max(0.0, said - self._w.denial * denied))
            values.sort(reverse=True)
            total = sum(value * self._w.further**rank for rank, value in enumerate(values))
            known = self._w.unknown + (1 - self._w.unknown) * introduced if self._positions else 1.0
            totals.append(total * known)
        return totals

    def _worth(self, number: int, age: Mapping[int, int], correction: int) -> float:
        """What it counts that something is said in a clause."""
        w = self._w
        clause = self._history.clauses[number]
        saying = self._history.sayings[clause.saying]
        bound = self._focus[number]
        value = saying.weight * bound * (w.question if saying.asks else 1.0) * (w.done if clause.done else 1.0)
        value *= w.oldest + (1 - w.oldest) * w.ageing ** age[clause.saying]
        value *= 1 + w.wish if clause.wish and self._history.gives else 1.0
        if saying.corrects:
            return value * w.corrects
        return value * (w.taken_back if clause.saying < correction else 1.0)

    def _beside(self, place: Place) -> bool:
        """Whether a word stands right beside what was asked for."""
        heads = self._positions.get(place.clause, ())
        return any(abs(head - place.position) <= _BESIDE for head in heads)

    def _denied(self, place: Place) -> bool:
        return place.position in self._history.clauses[place.clause].denied or self._refused(place.clause)

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
