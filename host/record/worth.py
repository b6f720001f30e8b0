"""What the choice between fork and cold was worth, read off records.

Both choices can be wrong. A fork carries history that nobody may need; a cold child may lack what only the history
says. For every delegation whose child has ended there is one verdict:

    used       forked, and something inherited was used
    unused     forked, and nothing inherited was used: cold would have done
    empty      forked, and there was nothing to inherit
    asked      cold, and the child asked back: the history may have answered it
    guessed    cold, and the child settled on one of several candidates that its request does not tell apart
    sufficed   cold, and neither
    open       the child has not ended, failed, was stopped, or never began

*Used* is told from what the child wrote (the arguments of its calls, and its answer): words that tell (see `telling`)
which stand in what it inherited, and neither in its request, its own instructions, its tools' descriptions, nor in
anything that its tools had returned by then. It is also used if the child settled on one of several candidates that
its lookups returned, and a word that tells it from the others stands in what it inherited, and in nothing else that it
read.

What these signs miss. A child that history only kept from an error, or that says with other words what it read, counts
as unused; so does one that did nothing but fork onward. A word that it knew anyway, and that occurs in the history by
chance, makes it count as used. A choice by comparison ("the newest", "the largest"), or by a rule in the child's own
instructions, may count as guessed, because its request names nothing that the record says; a guess between candidates
that came as prose does not. So the counts say where to look, and single verdicts are for people to check.

Tokens are estimates (`host.conversation.weight`), as no provider says which of its tokens were history. What a fork
spent is the history times the child's requests, because each of them holds it; what a cold start saved is what a fork
would have spent there, not known where the caller's own requests are not in the record. Hits are what providers
reported, for the child's own requests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from host.context import read_section
from host.conversation import Message, Text
from host.conversation.weight import weigh
from host.events import Delivered, Event, Requested
from host.record.runs import Delegation, delegations
from host.record.telling import ENOUGH
from host.record.using import Index, Written, written_by

__all__ = ["Report", "Verdict", "Worth", "report", "worth_of"]

Verdict = Literal["used", "unused", "empty", "asked", "guessed", "sufficed", "open"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Worth:
    """What one choice was worth. `words` are what the verdict was told by: the inherited words that a fork used, or
    those that tell what a cold child settled on from what it might as well have been.

    `history` is about how many tokens of history were passed, or, for a cold child, could have been: None if that is
    not known. `requests` is how many requests the child made, and `cached` what was read from the cache for them, None
    if no provider reported that.
    """

    delegation: Delegation
    verdict: Verdict
    words: tuple[str, ...]
    history: int | None
    requests: int
    cached: int | None

    @property
    def forked(self) -> bool:
        """Whether it was a fork."""
        return self.delegation.choice.context == "fork"

    @property
    def tokens(self) -> int | None:
        """What the history cost over all of the child's requests, or would have cost."""
        return None if self.history is None else self.history * self.requests

    def as_plain(self) -> dict[str, object]:
        """The choice and its verdict as JSON data."""
        choice = self.delegation.choice
        return {
            "id": choice.id,
            "path": choice.path,
            "context": choice.context,
            "chooser": choice.chooser,
            "verdict": self.verdict,
            "words": list(self.words),
            "history": self.history,
            "requests": self.requests,
            "tokens": self.tokens,
            "cached": self.cached,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The choices of one or more runs, and their sums."""

    choices: tuple[Worth, ...]

    def count(self, *verdicts: Verdict) -> int:
        """How many choices have one of these verdicts; all of them, if none is named."""
        return sum(not verdicts or each.verdict in verdicts for each in self.choices)

    @property
    def forked(self) -> tuple[Worth, ...]:
        """The forks."""
        return tuple([each for each in self.choices if each.forked])

    @property
    def cold(self) -> tuple[Worth, ...]:
        """The cold starts."""
        return tuple([each for each in self.choices if not each.forked])

    @property
    def spent(self) -> int:
        """About how many tokens of history the forked children were sent."""
        return sum(each.tokens or 0 for each in self.forked)

    @property
    def wasted(self) -> int:
        """Those of them that went to children which used nothing of it."""
        return sum(each.tokens or 0 for each in self.forked if each.verdict == "unused")

    @property
    def saved(self) -> int:
        """About how many tokens of history the cold children were spared, as far as that is known."""
        return sum(each.tokens or 0 for each in self.cold)

    @property
    def cached(self) -> int | None:
        """What the forked children read from caches, where that was reported; None if it was nowhere."""
        reported = [each.cached for each in self.forked if each.cached is not None]
        return sum(reported) if reported else None

    def as_plain(self) -> dict[str, object]:
        """The sums as JSON data. Shares are of the choices that came to an end; null where there are none."""
        forked = Counter(each.verdict for each in self.forked)
        cold = Counter(each.verdict for each in self.cold)
        return {
            "delegations": len(self.choices),
            "forked": {"count": len(self.forked)} | {verdict: forked[verdict] for verdict in _FORKED},
            "cold": {"count": len(self.cold)} | {verdict: cold[verdict] for verdict in _COLD},
            "used_share": _share(forked, "used", "unused", "empty"),
            "asked_or_guessed_share": _share(cold, "asked", "guessed", "sufficed", wanted=2),
            "tokens": {"spent": self.spent, "wasted": self.wasted, "saved": self.saved, "cached": self.cached},
        }

    def render_text(self) -> str:
        """The report for people: sums, then each choice that deserves a look."""
        forked, cold = self.forked, self.cold
        unknown = sum(each.tokens is None for each in cold)
        told = sum(each.cached is not None for each in forked)
        cache = "no provider reported on it"
        if self.cached is not None:
            cache = f"{self.cached:,} tokens read from it, as reported for {told} of {len(forked)} forked children"
        not_known = f" ({unknown} of {len(cold)} not known)" if unknown else ""
        lines = [
            f"{_counted(len(self.choices), 'delegation')}: {len(forked)} forked, {len(cold)} cold.",
            f"Forked: {_listed(forked, _FORKED)}.",
            f"Cold: {_listed(cold, _COLD)}.",
            f"History sent to forked children: about {self.spent:,} tokens, {self.wasted:,} of them for nothing.",
            f"History spared by going cold: about {self.saved:,} tokens{not_known}.",
            f"Cache: {cache}.",
        ]
        lines += [f"- {_line(each)}" for each in self.choices if each.verdict in _LOOK]
        return "\n".join(lines)


_FORKED: Final[Mapping[Verdict, str]] = {
    "used": "used what they inherited",
    "unused": "used nothing of it",
    "empty": "had nothing to inherit",
    "open": "came to no end",
}
_COLD: Final[Mapping[Verdict, str]] = {
    "sufficed": "needed no more",
    "asked": "asked back",
    "guessed": "guessed",
    "open": "came to no end",
}
_LOOK: Final[Mapping[Verdict, str]] = {
    "unused": "forked, used nothing that it inherited",
    "asked": "cold, asked back",
    "guessed": "cold, guessed",
}


def _line(each: Worth) -> str:
    choice = each.delegation.choice
    words = f" ({', '.join(each.words)})" if each.words else ""
    tokens = "" if each.tokens is None else f", {each.tokens:,} tokens"
    return f"{choice.path} ({choice.id}, by {choice.chooser}): {_LOOK[each.verdict]}{words}{tokens}"


def _listed(choices: Iterable[Worth], said: Mapping[Verdict, str]) -> str:
    counts = Counter(each.verdict for each in choices)
    return ", ".join(f"{counts[verdict]} {words}" for verdict, words in said.items())


def _share(counts: Counter[Verdict], *verdicts: Verdict, wanted: int = 1) -> float | None:
    """The share of the first `wanted` of these verdicts among all of them."""
    among = sum(counts[verdict] for verdict in verdicts)
    return round(sum(counts[verdict] for verdict in verdicts[:wanted]) / among, 3) if among else None


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def report(records: Iterable[Iterable[Event]]) -> Report:
    """What the choices in these records were worth, in order."""
    return Report(choices=tuple([each for record in records for each in worth_of(record)]))


def worth_of(events: Iterable[Event]) -> tuple[Worth, ...]:
    """What each choice in one record was worth."""
    events = tuple(events)
    children = [_Child(delegation=each, inherited=_ids(each)) for each in delegations(events)]
    by_loop: dict[str, list[Event]] = {}
    for event in events:
        by_loop.setdefault(getattr(event, "loop", ""), []).append(event)
    for child in children:
        child.read(by_loop)
    index = Index(frozenset().union(*[child.wanted for child in children]))
    for child in children:
        for layer in child.delegation.choice.inherited.layers:
            index.learn(layer.conversation)
    delivered = frozenset().union(*[child.delivered for child in children])
    for event in events if delivered else ():
        if isinstance(event, Requested):
            for message in event.request.messages:
                if message.id in delivered:
                    index.learn_message(message)
    by_id = {child.delegation.choice.id: child for child in children}
    sections: dict[str, int] = {}
    return tuple([child.worth(index, by_id, sections) for child in children])


def _ids(delegation: Delegation) -> frozenset[str]:
    return frozenset(message.id for layer in delegation.choice.inherited.layers for message in layer.passed())


@dataclass(slots=True, kw_only=True)
class _Child:
    """One delegation, with what its loops wrote. `inherited` are the ids of the messages that were passed."""

    delegation: Delegation
    inherited: frozenset[str]
    delivered: frozenset[str] = frozenset()
    wrote: tuple[Written, ...] = ()

    def read(self, by_loop: Mapping[str, list[Event]]) -> None:
        """Read what its loops did. What was delivered later is inherited, too."""
        own = [by_loop[loop.id] for loop in self.delegation.loops]
        self.delivered = frozenset(
            id
            for events in own
            for event in events
            if isinstance(event, Delivered)
            for _, id in event.ids  # noqa: A001
        )
        self.inherited |= self.delivered
        self.wrote = tuple([written_by(events, self.inherited) for events in own])

    @property
    def wanted(self) -> frozenset[str]:
        """The words to look for in what it inherited."""
        return frozenset().union(*[each.own | (each.apart or frozenset()) for each in self.wrote])

    def worth(self, index: Index, by_id: Mapping[str, _Child], sections: dict[str, int]) -> Worth:
        """What the choice was worth."""
        delegation = self.delegation
        forked = delegation.choice.context == "fork"
        verdict, words = self._fork(index) if forked else self._cold()
        cached = [loop.usage.cached for loop in delegation.loops if loop.usage.cached is not None]
        return Worth(
            delegation=delegation,
            verdict=verdict,
            words=words,
            history=delegation.choice.inherited.tokens if forked else self._spared(by_id, sections),
            requests=sum(len(loop.requests) for loop in delegation.loops),
            cached=sum(cached) if cached else None,
        )

    @property
    def _is_over(self) -> bool:
        return self.delegation.outcome in ("answered", "asked back")

    def _fork(self, index: Index) -> tuple[Verdict, tuple[str, ...]]:
        if not self.delegation.choice.inherited and not self.delivered:
            return "empty", ()
        found: dict[str, int] = {}
        for wrote in self.wrote:
            for word in wrote.own:
                if strength := index.strength(word, self.inherited):
                    found[word] = strength
            for word in wrote.apart or ():
                if index.strength(word, self.inherited) is not None:
                    found[word] = ENOUGH
        if sum(found.values()) >= ENOUGH:
            return "used", tuple(sorted(found, key=lambda word: (-found[word], word)))
        return ("unused" if self._is_over else "open"), ()

    def _cold(self) -> tuple[Verdict, tuple[str, ...]]:
        if not self._is_over:
            return "open", ()
        if self.delegation.outcome == "asked back":
            return "asked", ()
        guesses = [wrote.apart for wrote in self.wrote if wrote.apart is not None]
        if guesses:
            return "guessed", tuple(sorted(frozenset().union(*guesses)))
        return "sufficed", ()

    def _spared(self, by_id: Mapping[str, _Child], sections: dict[str, int]) -> int | None:
        """The history that the caller had when it chose: what it inherited, and what was said to it since. What the
        first loop of a run inherited stands in its instructions alone; `sections` remembers how much that is.
        """
        asked = self.delegation.asked
        if asked is None:
            return None
        above = by_id.get(self.delegation.caller or "")
        if above is not None:
            inherited, before = above.inherited, above.delegation.choice.inherited.tokens
        else:
            system = asked.request.system
            if system not in sections:
                section = read_section(system)
                entries = () if section is None else section.entries
                sections[system] = sum(weigh(_as_message(entry.text)) for entry in entries)
            inherited, before = frozenset(), sections[system]
        return before + sum(weigh(message) for message in asked.request.messages if message.id not in inherited)


def _as_message(text: str) -> Message:
    return Message(role="user", parts=(Text(text=text),), id="")
