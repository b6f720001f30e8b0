"""The lexical model itself: it looks things up first, then answers or asks back. See the package for how it decides."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from host.context import Entry, read_section
from host.conversation import Message, Text, ToolCall, ToolResult
from host.models.lexical.choice import Asked, choice
from host.models.lexical.history import History
from host.models.lexical.kit import kit
from host.models.lexical.language import ABOUT, ASKING, is_function_word, stem, terms
from host.models.lexical.records import Offer, Record, offered, read_records
from host.models.lexical.talk import can_talk, talk
from host.models.lexical.weights import Weights
from host.models.port import Delta, Reply, Request, Stream
from host.spelling import content_words, fold

__all__ = ["Lexical"]

_REACH: Final = 400_000  # characters of history; reading them takes a second
_NEIGHBOURS: Final = 10
_QUERIES: Final = 20
_RECENT: Final = 6  # sayings
_OPTIONS: Final = 8
_PIECE: Final = re.compile(r"\s*\S+\s*\Z|\s*\S+|\s+")
_NOTHING: Final = "I can only look things up and choose among them, and no tool is on offer for that."


class Lexical:
    """A model that resolves a request by the words of what it can see: request, tools, results, inherited section.

    It needs no network and no key, keeps nothing between requests, and gives the same reply to the same request.
    """

    name = "lexical"

    def __init__(self, weights: Weights | None = None) -> None:
        self._weights = weights or Weights()

    async def reply(self, request: Request, *, stream: Stream | None = None) -> Reply:
        """Calls of tools, as long as something is to be found out; then an answer. Words are streamed one by one."""
        reply = self._reply(request)
        if stream is not None:
            for piece in _PIECE.findall(reply.text):
                stream(Delta(kind="text", text=piece))
        return reply

    def _reply(self, request: Request) -> Reply:
        offer = offered(request.tools)
        asked = next((message.text for message in request.messages if message.role == "user"), "")
        if not offer.lookups or not offer.key:
            return talk(request) if can_talk(kit(request.tools)) else Reply.of(_NOTHING)
        words = _words(asked, offer)
        section = read_section(request.system)
        history = History(_within_reach(section.entries, words) if section is not None else ())
        results = [text for message in request.messages for text in _results(message)]
        records = read_records(results, offer.key)
        rounds = sum(bool(message.calls) for message in request.messages)
        if rounds == 0 or (rounds == 1 and not records):
            queries = _queries(words, history, broad=rounds > 0)
            if queries:
                return _lookups(offer, queries, rounds)
        about = ABOUT.search(fold(asked)) is not None
        chosen, near = choice(words, records, history, self._weights, about=about)
        if chosen is not None:
            return _call("answer", {offer.key: chosen.key}, rounds)
        return _asked_back(offer, asked, near, rounds)


def _results(message: Message) -> Iterator[str]:
    """What the tools answered that did not fail."""
    for part in message.parts:
        if isinstance(part, ToolResult) and not part.is_error:
            yield "\n".join(each.text for each in part.parts if isinstance(each, Text))


def _words(asked: str, offer: Offer) -> list[Asked]:
    """The words of the request that carry a meaning."""
    found: dict[str, Asked] = {}
    for text in content_words(asked):
        for word in terms(text):
            root = stem(word)
            if not is_function_word(word) and root not in found:
                telling = root not in offer.spoken and word not in ASKING
                found[root] = Asked(stem=root, text=text, telling=telling)
    return list(found.values())


def _within_reach(entries: Sequence[Entry], words: Sequence[Asked]) -> list[Entry]:
    """The entries that are read: the newest, and of those that are older the ones with a word of the request."""
    left = _REACH
    first = len(entries)
    while first > 0 and left > 0:
        first -= 1
        left -= len(entries[first].text)
    wanted = [word.stem for word in words if word.telling]
    older = [entry for entry in entries[:first] if wanted and _mentions(entry.text, wanted)]
    return [*older, *entries[first:]]


def _mentions(text: str, wanted: Sequence[str]) -> bool:
    folded = fold(text)
    return any(word in folded for word in wanted)


def _queries(words: Sequence[Asked], history: History, *, broad: bool) -> list[str]:
    """What to look up: the request's words together and one by one, and each with what the history says beside it.

    Where the request names nothing ("her address", "it"), or nothing was found, what was spoken of last.
    """
    telling = [word for word in words if word.telling]
    own = telling or words
    queries = [" ".join(word.text for word in own)]
    queries += [form for word in own for form in (word.text, word.stem)]
    around = _around(history, [word.stem for word in telling])
    if telling:
        queries += [f"{telling[0].text} {word}" for word in around]
    if broad or not telling:
        queries += [*around, *_recent(history)]
    return [query for query in dict.fromkeys(queries) if query][:_QUERIES]


def _around(history: History, heads: Sequence[str]) -> list[str]:
    """The words that stand near what was asked for, the nearest and newest first."""
    worth: dict[str, float] = {}
    for head in heads:
        for place in history.places(head):
            clause = history.clauses[place.clause]
            newness = 0.98 ** (len(history.sayings) - clause.saying)
            for number in history.sentences[clause.sentence]:
                for position, word in enumerate(history.clauses[number].stems):
                    if word and word not in heads:
                        away = abs(position - place.position) if number == place.clause else 6
                        value = newness / (2 + away) * history.rarity(word)
                        worth[word] = max(value, worth.get(word, 0.0))
    return _best(worth, _NEIGHBOURS)


def _recent(history: History) -> list[str]:
    """The most telling words of the last sayings."""
    worth: dict[str, float] = {}
    for back, saying in enumerate(reversed(history.sayings[-_RECENT:])):
        for word in history.words(saying.clauses):
            worth[word] = max(worth.get(word, 0.0), saying.weight * 0.8**back * history.rarity(word))
    return _best(worth, _QUERIES)


def _best(worth: Mapping[str, float], count: int) -> list[str]:
    return sorted(worth, key=lambda word: (-worth[word], word))[:count]


def _lookups(offer: Offer, queries: Iterable[str], rounds: int) -> Reply:
    wanted = [(query, spec, parameter) for query in queries for spec, parameter in offer.lookups]
    calls = [
        ToolCall(id=f"call_{rounds + 1}_{number}", name=spec.name, arguments=offer.call(spec, parameter, query))
        for number, (query, spec, parameter) in enumerate(wanted, 1)
    ]
    return Reply.of("", *calls)


def _call(name: str, arguments: Mapping[str, object], rounds: int) -> Reply:
    call = ToolCall(id=f"call_{rounds + 1}_1", name=name, arguments=json.dumps(arguments, ensure_ascii=False))
    return Reply.of("", call)


def _asked_back(offer: Offer, asked: str, near: Sequence[Record], rounds: int) -> Reply:
    """A question that says what is open, and between which."""
    said = " ".join(asked.split())
    question = f'Which one is meant by "{said}"?' if near else f'Nothing here fits "{said}". What is meant?'
    options = [record.described for record in near[:_OPTIONS]]
    if not offer.clarifies:
        return Reply.of(" ".join([question, *options]))
    return _call("clarify", {"question": question, "options": options}, rounds)
