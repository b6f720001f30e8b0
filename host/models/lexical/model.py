"""stub docs, later"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from host.context import read_section
from host.models.lexical.evidence import Evidence
from host.models.lexical.history import History
from host.models.lexical.language import ABOUT, ASKING, alike, is_function_word, stem, terms
from host.models.lexical.records import Offer, Record, offered, read_records
from host.models.lexical.weights import Weights
from host.spelling import content_words, fold
from host.models.port import Reply, Request, ToolCall, Usage

__all__ = ["Lexical"]

_CLEAR: Final = 0.25
_ENOUGH: Final = 0.5
_RIVALS: Final = 12
_TELLING: Final = 0.1  # the evidence that a choice must rest on, where the request does not make it
_SOME: Final = 0.15
_KIND: Final = 0.3
_NEIGHBOURS: Final = 10
_QUERIES: Final = 20
_OPTIONS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class _Word:
    """A word of the request. `weight` is less for words that the tools use of themselves."""

    stem: str
    text: str
    weight: float


class Lexical:
    """A model that resolves a request by the words of what it can see. See the package's docstring."""

    def __init__(self, weights: Weights | None = None) -> None:
        self._weights = weights or Weights()

    async def reply(self, request: Request) -> Reply:
        """Look up, then answer or ask back. The same request gives the same reply."""
        offer = offered(request.tools)
        asked = next((message.text for message in request.messages if message.role == "user"), "")
        if not offer.lookups or not offer.key:
            return Reply(text="I can only look things up and choose among them, and no tool is on offer for that.")
        section = read_section(request.system)
        history = History(section.entries if section is not None else ())
        results = [message.text for message in request.messages if message.role == "tool" and not message.failed]
        records = read_records(results, offer.key)
        words = _request_words(asked, offer)
        rounds = sum(bool(message.tool_calls) for message in request.messages)
        if rounds == 0 or (rounds == 1 and not records):
            queries = _queries(asked, words, history, broad=rounds > 0)
            return _lookups(offer, queries, rounds) if queries else _clarified(offer, asked, [], rounds)
        chosen, open_ones = _choice(words, records, history, self._weights, about=ABOUT.search(fold(asked)) is not None)
        if chosen is not None:
            return _call("answer", {offer.key: chosen.key}, rounds)
        return _clarified(offer, asked, open_ones, rounds)


def _request_words(asked: str, offer: Offer) -> list[_Word]:
    found: dict[str, _Word] = {}
    for text in content_words(asked):
        for word in terms(text):
            if is_function_word(word):
                continue
            root = stem(word)
            found.setdefault(root, _Word(stem=root, text=text, weight=_KIND if root in offer.spoken or word in ASKING else 1.0))
    return list(found.values())


def _queries(asked: str, words: Sequence[_Word], history: History, *, broad: bool) -> list[str]:
    telling = [word for word in words if word.weight == 1.0]
    own = [form for word in telling or words for form in dict.fromkeys((word.text, word.stem))]
    queries = [" ".join(word.text for word in telling or words), *own] if own else []
    heads = [word.stem for word in telling]
    around = _around(history, heads)
    queries += [f"{own[0]} {word}" for word in around] if telling else around
    if broad or not telling:
        queries += around
        queries += _recent(history)
    return list(dict.fromkeys(query for query in queries if query))[:_QUERIES]


def _around(history: History, heads: Sequence[str]) -> list[str]:
    """The words that stand near what was asked for, the nearest and newest first."""
    worth: dict[str, float] = {}
    for head in heads:
        for place in history.places(head):
            clause = history.clauses[place.clause]
            for number in history.sentences[clause.sentence]:
                for position, word in enumerate(history.clauses[number].stems):
                    if word and word not in heads:
                        away = abs(position - place.position) if number == place.clause else 6
                        value = 0.98 ** (len(history.sayings) - clause.saying) / (2 + away) * history.rarity(word)
                        worth[word] = max(value, worth.get(word, 0.0))
    return sorted(worth, key=lambda word: (-worth[word], word))[:_NEIGHBOURS]


def _recent(history: History) -> list[str]:
    """The most telling words of the last sayings."""
    worth: dict[str, float] = {}
    for back, saying in enumerate(reversed(history.sayings[-6:])):
        for word in history.words(saying.clauses):
            worth[word] = max(worth.get(word, 0.0), saying.weight * 0.8**back * history.rarity(word))
    return sorted(worth, key=lambda word: (-worth[word], word))[:_QUERIES]


def _match(word: _Word, record: Record) -> float:
    return max((strength * alike(word.stem, other) for other, strength in record.words.items()), default=0.0)


def _choice(
    words: Sequence[_Word], records: Sequence[Record], history: History, w: Weights, *, about: bool
) -> tuple[Record | None, list[Record]]:
    """The record that is meant, or those among which it is open."""
    cases = [_Case(record=record, words=words, about=about) for record in records]
    heads = [word.stem for at, word in enumerate(words) if word.weight == 1.0 and any(case.named[at] >= _ENOUGH for case in cases)]
    if heads:
        named = [at for at, word in enumerate(words) if word.stem in heads]
        cases = [case for case in cases if any(case.matches[at] >= _SOME for at in named)]
    cases = [case for case in cases if not any(other.rules_out(case) for other in cases)]
    heads = [word.stem for at, word in enumerate(words) if word.weight == 1.0 and any(case.named[at] >= _ENOUGH for case in cases)] or [word.stem for word in words if word.weight == 1.0]
    asides = [word.stem for word in words if word.stem not in heads and word.weight == 1.0]
    evidence = Evidence(history, heads, asides, w)
    weights = evidence.weigh(_telling([case.record for case in cases], heads, w))
    for case, weight in zip(cases, weights, strict=True):
        case.evidence = weight
    cases.sort(key=lambda case: -case.total)
    if DEBUG:
        for c in cases[:5]: print("   ", c.record.called, round(c.matched,2), round(c.evidence,2), heads, asides)
    if not cases or (any(word.weight == 1.0 for word in words) and not evidence.spoken_of and cases[0].matched < _SOME):
        return None, []
    best, *rivals = cases
    if (best.matched >= _ENOUGH or best.evidence >= w.telling) and all(_beats(best, rival, evidence, heads, w) for rival in rivals[:_RIVALS]):
        return best.record, [best.record]
    near = [case.record for case in cases if case.total >= _SOME and best.total - case.total < 0.6]
    return None, near


DEBUG = False


def _beats(best: _Case, rival: _Case, evidence: Evidence, heads: Sequence[str], w: Weights) -> bool:
    """Whether the best is clearly meant and not this other one, by what tells these two apart."""
    mine, theirs = evidence.weigh(_telling([best.record, rival.record], heads, w))
    ahead = best.matched + mine - rival.matched - theirs
    if DEBUG: print("      vs", rival.record.called, round(mine,2), round(theirs,2), round(ahead,2))
    if ahead >= w.clear:
        return True
    return ahead >= w.least and mine >= (w.ratio if ahead >= w.ahead else w.lone) * theirs


class _Case:
    """How a record fits the request, word for word, and what the history says for it."""

    def __init__(self, *, record: Record, words: Sequence[_Word], about: bool) -> None:
        self.record = record
        self.words = words
        self.named = [_match(word, record, about=False) for word in words]
        self.matches = [_match(word, record, about=True) for word in words] if about else self.named
        self.matched = sum(word.weight * match * (1 if match >= _ENOUGH else 0.5) for word, match in zip(words, self.matches, strict=True))
        self.evidence = 0.0

    @property
    def total(self) -> float:
        return self.matched + self.evidence

    def rules_out(self, other: _Case) -> bool:
        """Whether the other cannot be meant: this one matches all that it does, and is named by a word that it lacks."""
        covers = all(mine >= min(theirs, 0.25) for mine, theirs in zip(self.matches, other.matches, strict=True))
        return covers and any(
            word.weight == 1.0 and mine >= _ENOUGH and theirs < 0.2
            for word, mine, theirs in zip(self.words, self.matches, other.matches, strict=True)
        )


def _match(word: _Word, record: Record, *, about: bool) -> float:
    return max(
        ((max(strength, 0.6) if about else strength) * alike(word.stem, other) for other, strength in record.words.items()), default=0.0
    )


def _telling(records: Sequence[Record], heads: Sequence[str], w: Weights) -> list[dict[str, float]]:
    """For each record, the words that tell it from the others, weighted by how few others they stand for."""
    among: dict[str, float] = {}
    for record in records:
        for word, strength in record.words.items():
            among[word] = among.get(word, 0.0) + strength
    others = max(len(records) - 1, 1)
    found = []
    for record in records:
        own: dict[str, float] = {}
        for word, strength in record.words.items():
            if any(alike(word, head) for head in heads):
                continue
            weight = (strength if strength > _SOME * 3 else w.prose) * max(0.0, 1 - (among[word] - strength) / others)
            if weight > 0.02:
                own[word] = weight
        found.append(own)
    return found


def _lookups(offer: Offer, queries: Sequence[str], rounds: int) -> Reply:
    calls = [
        ToolCall(id=f"call_{rounds + 1}_{number}", name=spec.name, arguments=offer.call(spec, parameter, query))
        for number, (query, (spec, parameter)) in enumerate(
            ((query, lookup) for query in queries for lookup in offer.lookups), 1
        )
    ]
    return Reply(tool_calls=tuple(calls), usage=Usage())


def _call(name: str, arguments: Mapping[str, object], rounds: int) -> Reply:
    call = ToolCall(id=f"call_{rounds + 1}_1", name=name, arguments=json.dumps(arguments, ensure_ascii=False))
    return Reply(tool_calls=(call,))


def _clarified(offer: Offer, asked: str, records: Sequence[Record], rounds: int) -> Reply:
    said = " ".join(asked.split())
    if records:
        question = f'Which one is meant by "{said}"?'
    else:
        question = f'Nothing here fits "{said}". What is meant?'
    options = [_described(record, records) for record in records[:_OPTIONS]]
    if not offer.clarifies:
        return Reply(text=" ".join([question, *options]))
    return _call("clarify", {"question": question, "options": options}, rounds)


def _described(record: Record, records: Sequence[Record]) -> str:
    """A record in a few words that tell it from the others."""
    parts: list[str] = []
    for texts in record.fields.values():
        if not texts or len(texts[0]) > 80 or texts[0] in parts:
            continue
        parts.append(texts[0])
    first, *rest = parts or [str(record.key)]
    return f"{first} ({', '.join(rest[:2])})" if rest else first
