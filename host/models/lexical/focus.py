"""What a conversation is about when a request comes out of it: how strongly each clause is bound to its end.

The request came from the end of the conversation, so the last saying is in focus. From there focus spreads, getting
weaker with each step, and a clause has as much of it as its strongest way gives:

- to the rest of a sentence, and of a saying;
- from a saying to the one before and the one after: more if the later one points back ("it", "that one"), takes
  something back, answers a question, or says nothing that was spoken of before; less where a sentence says that it is
  beside the matter, or over and done with;
- from a clause to every other that shares a telling word with it, wherever that is; the rarer the word, the more.

The words of the request are sources too: those that name what is asked for a weak one, since they fit all that is
open, and its other words a strong one. Where the conversation ends with someone being given something, so is what
someone wants.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import Final, Literal

from host.models.lexical.history import History
from host.models.lexical.weights import Weights

__all__ = ["focus"]

_LEAST: Final = 0.05  # what is less in focus is not followed

# A node of the way that focus takes: what it is, its number, and for a word the word.
type _Node = tuple[Literal["clause", "sentence", "saying", "word"], int, str]


def focus(history: History, heads: frozenset[str], asides: Sequence[str], weights: Weights) -> list[float]:
    """How strongly each clause is in focus, from 0 to 1. `heads` are words of the history that name what is asked
    for.
    """
    best: dict[_Node, float] = {}
    waiting: list[tuple[float, _Node]] = []

    def reach(node: _Node, strength: float) -> None:
        if strength > best.get(node, _LEAST):
            best[node] = strength
            heapq.heappush(waiting, (-strength, node))

    strong = [word for aside in asides for word in history.related(aside)]
    if history.sentences:
        reach(("sentence", len(history.sentences) - 1, ""), weights.end_beside_asides if strong else 1.0)
    for word in strong:
        reach(("word", 0, word), weights.asides)
    for word in heads:
        for clause in history.clauses_with(word):
            reach(("clause", clause, ""), weights.head)
    if history.gives:
        for number, each in enumerate(history.clauses):
            if each.wish:
                reach(("clause", number, ""), weights.wanted)
    while waiting:
        negative, node = heapq.heappop(waiting)
        if -negative == best[node]:
            for other, share in _ways(history, node, heads, weights):
                reach(other, -negative * share)
    return [best.get(("clause", number, ""), 0.0) for number in range(len(history.clauses))]


def _ways(history: History, node: _Node, heads: frozenset[str], weights: Weights) -> Iterator[tuple[_Node, float]]:
    """Where focus goes from a node, and how much of it."""
    kind, number, word = node
    match kind:
        case "word":
            for clause in history.clauses_with(word):
                yield ("clause", clause, ""), 1.0
        case "clause":
            yield ("sentence", history.clauses[number].sentence, ""), weights.sentence
            for link in history.links(number) - heads:
                share = weights.word * history.rarity(link) ** weights.rarity
                for other, sureness in history.related(link).items():
                    yield ("word", 0, other), share * sureness
        case "sentence":
            clauses = history.sentences[number]
            yield ("saying", history.clauses[clauses[0]].saying, ""), weights.saying
            for clause in clauses:
                yield ("clause", clause, ""), 1.0
        case "saying":
            within = {
                history.clauses[each].sentence: history.clauses[each].aside for each in history.sayings[number].clauses
            }
            for sentence, aside in within.items():
                yield ("sentence", sentence, ""), (weights.aside if aside else 1.0) / len(within) ** weights.long
            if number > 0:
                yield ("saying", number - 1, ""), _turn(history, number, heads, weights)
            if number + 1 < len(history.sayings):
                yield ("saying", number + 1, ""), _turn(history, number + 1, heads, weights)


def _turn(history: History, later: int, heads: frozenset[str], weights: Weights) -> float:
    """How strongly a saying is bound to the one before it."""
    saying = history.sayings[later]
    points_back = saying.points_back or saying.corrects or history.sayings[later - 1].asks
    if not history.takes_up(later, heads):
        return weights.turn_back
    return weights.turn_both if points_back else weights.turn
