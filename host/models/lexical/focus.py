"""What a conversation is about when a request comes out of it: how strongly each clause is bound to its end.

The request came from the end of the conversation, so the last saying is in focus. From there focus spreads, getting weaker
with each step, and a clause has as much of it as its strongest way gives:

- to the rest of a sentence, and of a saying;
- from a saying to the one before and the one after: more if the later one points back ("it", "that one"), takes something
  back, answers a question, or says nothing that was spoken of before; less where a sentence says that it is beside the
  matter, or over and done with;
- from a clause to every other that shares a telling word with it, wherever that is; the rarer the word, the more.

The words of the request are sources too: those that name what is asked for a weak one, since they fit all that is open, and
its other words a strong one.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence

from host.models.lexical.history import History
from host.models.lexical.weights import Weights

__all__ = ["focus"]

_LEAST = 0.02

# A node is a pair: a kind and a number, or a word.
type _Node = tuple[str, int] | tuple[str, str]


def focus(history: History, heads: frozenset[str], asides: Sequence[str], w: Weights) -> list[float]:
    """How strongly each clause is in focus, from 0 to 1. `heads` are words of the history that name what is asked for."""
    best: dict[_Node, float] = {}
    waiting: list[tuple[float, _Node]] = []

    def reach(node: _Node, strength: float) -> None:
        if strength > best.get(node, _LEAST):
            best[node] = strength
            heapq.heappush(waiting, (-strength, node))

    strong = [word for aside in asides for word in history.related(aside)]
    if history.sayings:
        reach(("sentence", len(history.sentences) - 1), w.end_beside_asides if strong else 1.0)
    for word in strong:
        reach(("word", word), w.asides)
    for word in heads:
        for clause in history.clauses_with(word):
            reach(("clause", clause), w.head)
    while waiting:
        negative, node = heapq.heappop(waiting)
        if -negative < best[node]:
            continue
        for other, share in _ways(history, node, heads, w):
            reach(other, -negative * share)
    return [best.get(("clause", number), 0.0) for number in range(len(history.clauses))]


def _ways(history: History, node: _Node, heads: frozenset[str], w: Weights) -> Iterator[tuple[_Node, float]]:
    """Where focus goes from a node, and how much of it."""
    match node:
        case ("word", str() as word):
            for clause in history.clauses_with(word):
                yield ("clause", clause), 1.0
        case ("clause", int() as number):
            clause = history.clauses[number]
            yield ("sentence", clause.sentence), w.sentence
            for word in history.links(number):
                if word not in heads:
                    share = w.word * history.rarity(word) ** w.rarity
                    for other, sureness in history.related(word).items():
                        yield ("word", other), share * sureness
        case ("sentence", int() as number):
            clauses = history.sentences[number]
            yield ("saying", history.clauses[clauses[0]].saying), w.saying
            for each in clauses:
                yield ("clause", each), 1.0
        case ("saying", int() as number):
            saying = history.sayings[number]
            within = {history.clauses[each].sentence: history.clauses[each].aside for each in saying.clauses}
            for sentence, aside in within.items():
                yield ("sentence", sentence), (w.aside if aside else 1.0) / len(within) ** w.long
            for earlier, later, to in ((number - 1, number, number - 1), (number, number + 1, number + 1)):
                if 0 <= to < len(history.sayings):
                    after = history.sayings[later]
                    bound = after.points_back or after.corrects or history.sayings[earlier].asks
                    taken = history.takes_up(later, heads)
                    yield ("saying", to), w.turn if taken and not bound else w.turn_both if taken else w.turn_back
        case _:
            return
