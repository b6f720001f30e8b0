"""How much a conversation speaks for each of several records that a request leaves open.

The words that tell a record from the others are looked for in the history. One occurrence counts by

- how strongly the word stands for the record, and for how few of the others it stands as well;
- how much the clause is in focus (see `focus`);
- who speaks, whether it is asked or said, and whether what is said is over and done with;
- whether someone wants something there, if the conversation ends with someone being given something;
- whether the saying takes back what was said before it, or was itself taken back since.

A word counts by its best occurrence, so it does not matter how often something is mentioned; an occurrence that
denies the word is taken off. A record's evidence is that of its best word, and less and less of each further one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from host.models.lexical.focus import focus
from host.models.lexical.history import History, Place
from host.models.lexical.weights import Weights

__all__ = ["Evidence"]


class Evidence:
    """What a history says about a request. `heads` are the stems of what is asked for, `asides` the request's other
    words.
    """

    def __init__(self, history: History, heads: Sequence[str], asides: Sequence[str], weights: Weights) -> None:
        self._history = history
        self._weights = weights
        named = frozenset(word for head in heads for word in history.related(head))
        self._sayings = {history.clauses[clause].saying for word in named for clause in history.clauses_with(word)}
        self._focus = focus(history, named, asides, weights)

    @property
    def spoken_of(self) -> bool:
        """Whether the history says anything about what was asked for."""
        return bool(self._sayings)

    def weigh(self, telling: Sequence[Mapping[str, float]]) -> list[float]:
        """The evidence for each record, given the words that tell it from the others, with their weights."""
        places = [{word: self._history.places(word) for word in words} for words in telling]
        clauses = {place.clause for words in places for found in words.values() for place in found}
        taken_back = self._taken_back({self._history.clauses[clause].saying for clause in clauses})
        worth = {clause: self._worth(clause, taken_back) for clause in clauses}
        return [
            self._total([weight * self._counts(found[word], worth) for word, weight in words.items()])
            for words, found in zip(telling, places, strict=True)
        ]

    def _total(self, values: list[float]) -> float:
        values.sort(reverse=True)
        return sum(value * self._weights.further**rank for rank, value in enumerate(values))

    def _counts(self, places: Sequence[Place], worth: Mapping[int, float]) -> float:
        """What a word's occurrences count: the best, less the best that denies it."""
        said = denied = 0.0
        for place in places:
            value = worth[place.clause] * place.sureness
            if self._denied(place):
                denied = max(denied, value)
            else:
                said = max(said, value)
        return max(0.0, said - self._weights.denial * denied)

    def _worth(self, number: int, taken_back: int) -> float:
        """What it counts that something is said in a clause. What was said before the saying `taken_back` counts
        less.
        """
        clause = self._history.clauses[number]
        saying = self._history.sayings[clause.saying]
        value = saying.weight * self._focus[number]
        if saying.asks:
            value *= self._weights.question
        if clause.done:
            value *= self._weights.done
        if clause.wish and self._history.gives:
            value *= 1 + self._weights.wish
        if saying.corrects:
            value *= self._weights.corrects
        elif clause.saying < taken_back:
            value *= self._weights.taken_back
        return value

    def _denied(self, place: Place) -> bool:
        """Whether an occurrence says that this is not meant: by the words around it, or by a no to the question it is
        in.
        """
        clause = self._history.clauses[place.clause]
        if place.position in clause.denied:
            return True
        sayings = self._history.sayings
        after = clause.saying + 1
        return sayings[clause.saying].asks and after < len(sayings) and sayings[after].refuses

    def _taken_back(self, sayings: set[int]) -> int:
        """The last saying, among these and those that speak of what was asked for, that takes something back about
        it.
        """
        return max((saying for saying in sayings | self._sayings if self._corrects(saying)), default=-1)

    def _corrects(self, saying: int) -> bool:
        about = not self._sayings or saying in self._sayings or saying - 1 in self._sayings
        return about and self._history.sayings[saying].corrects
