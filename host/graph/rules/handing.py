"""Hand-offs that were made too early, back and forth, or for an answer.

- Too early: the same reply made other calls whose results the agent never read; or control came back and it then did
  work that needed nothing which had been said in between; or the target called a tool that only the one before it has.
- A loop: from A to B, back, and to B once more, within one turn. In another turn that is no loop: a person's next
  question may belong to B again.
- For an answer: the agent was at work, or gave a question as its reason; the target answered after a call or two; and
  the conversation was over, so nobody went on with the answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from host.graph.rules.case import Case, forking
from host.graph.rules.finding import NOTHING, Finding, Price, Rule
from host.graph.rules.pricing import start
from host.graph.rules.subjects import draws_on, heard, is_work
from host.graph.run import Ask, Strand, Use
from host.record.telling import words_of

__all__ = [
    "HANDOFF_EARLY",
    "HANDOFF_FOR_ANSWER",
    "HANDOFF_LOOP",
    "handoff_early",
    "handoff_for_answer",
    "handoff_loop",
]

HANDOFF_EARLY: Final = Rule(
    id="handoff.early",
    severity="note",
    title="an early hand-off",
    sign="a hand-off before the agent's own part was done",
)
HANDOFF_LOOP: Final = Rule(
    id="handoff.loop",
    severity="error",
    title="two agents claim the same job",
    sign="a hand-off from A to B, then from B to A, then from A to B",
)
HANDOFF_FOR_ANSWER: Final = Rule(
    id="handoff.for-answer",
    severity="warning",
    title="the conversation was spent to get an answer",
    sign="a hand-off for one question, after which the target writes the final answer",
)
_QUESTION: Final = re.compile(
    r"\?\s*$|^\W*(?:ask|find out|check|look up|get|what|which|who|whose|when|where|how|is|are|does|do|can)\b",
    re.IGNORECASE,
)


def handoff_early(case: Case) -> Iterator[Finding]:
    """`handoff.early`."""
    for strand in case.run.strands.values():
        handoffs = _handoffs(strand)
        for number, use in enumerate(handoffs):
            assert use.handoff is not None
            source, target = use.handoff.source, use.handoff.target
            why = _early(case, strand, handoffs, number)
            if why is not None:
                yield case.finding(
                    HANDOFF_EARLY,
                    strand,
                    use,
                    f"{source} handed over to {target} {why}",
                    fix=f"the instructions of {source}: its own part first",
                    expect=f"the calls of {source}, then the hand-off",
                    price=start(_next_ask(strand, use), case.rates),
                    agent=source,
                )


def _early(case: Case, strand: Strand, handoffs: Sequence[Use], number: int) -> str | None:
    use = handoffs[number]
    assert use.handoff is not None
    source, target = use.handoff.source, use.handoff.target
    beside = [each for each in strand.uses if use.number and each.number == use.number and is_work(each)]
    if beside:
        return f"in the same reply that called {beside[0].call.name}, whose result it never read"
    following = handoffs[number + 1] if number + 1 < len(handoffs) else None
    until = following.at if following is not None else len(case.run.events)
    foreign = _foreign(case, strand, use, until)
    if foreign is not None:
        return f"before it had called {foreign}, which {target} then tried to call and does not have"
    if (
        following is None
        or following.handoff is None
        or following.handoff.target != source
        or following.turn != use.turn
    ):
        return None
    done = [each for each in strand.uses if each.agent == source and each.turn == use.turn and is_work(each)]
    later = [each for each in done if each.at > following.at]
    if not later or any(each.at < use.at for each in done):
        return None
    said = [each.ended.text for each in strand.uses if use.at < each.at < later[0].at and each.ended is not None]
    said += [ask.replied.reply.text for ask in strand.asks if use.at < ask.at < later[0].at and ask.replied is not None]
    if draws_on(later[0], words_of("\n".join(said)), heard(strand), use.at):
        return None
    return f"and, when it had control again, called {later[0].call.name}, which it could have done before"


def _foreign(case: Case, strand: Strand, use: Use, until: int) -> str | None:
    """A tool that the target called, does not have, and its predecessor had."""
    had = case.tools(case.asked(strand, use))
    for each in strand.uses:
        if use.at < each.at < until and each.ended is not None and each.ended.failed:
            has = case.tools(case.asked(strand, each))
            if had is not None and has is not None and each.call.name in had and each.call.name not in has:
                return each.call.name
    return None


def handoff_loop(case: Case) -> Iterator[Finding]:
    """`handoff.loop`."""
    for strand in case.run.strands.values():
        handoffs = _handoffs(strand)
        found: set[tuple[int, frozenset[str]]] = set()
        for one, back, again in zip(handoffs, handoffs[1:], handoffs[2:], strict=False):
            ways = [(use.handoff.source, use.handoff.target) for use in (one, back, again) if use.handoff is not None]
            pair = frozenset(ways[0])
            if (
                one.turn == again.turn
                and ways[0] == ways[2] == ways[1][::-1]
                and len(pair) == 2
                and (one.turn, pair) not in found
            ):
                found.add((one.turn, pair))
                first, second = ways[0]
                switches = [use for use in handoffs if use.turn == one.turn and use.at >= back.at]
                yield case.finding(
                    HANDOFF_LOOP,
                    strand,
                    again,
                    f"{first} and {second} handed the conversation to each other {len(switches) + 1} times in one turn",
                    fix=f"the instructions of both {first} and {second}, so that one of them owns the job",
                    expect="one hand-off, or none",
                    price=_together([start(_next_ask(strand, use), case.rates) for use in switches]),
                )


def handoff_for_answer(case: Case) -> Iterator[Finding]:
    """`handoff.for-answer`."""
    for strand in case.run.strands.values():
        handoffs = _handoffs(strand)
        if not handoffs or strand.loop.ended is None or strand.loop.ended.how != "answered":
            continue
        use = handoffs[-1]
        assert use.handoff is not None
        source, target = use.handoff.source, use.handoff.target
        after = [each for each in strand.uses if each.at > use.at]
        asks = [ask for ask in strand.asks if ask.at > use.at]
        others = [each for each in handoffs[:-1] if each.turn == use.turn]
        if others or not asks or len(after) > case.bounds.brief or any(not is_work(each) for each in after):
            continue
        if asks[-1].turn != use.turn:  # it owns later turns: that is what a hand-off is for
            continue
        before = [each for each in strand.uses if each.at < use.at and each.number != use.number and is_work(each)]
        at_work = any((each.agent, each.turn) == (source, use.turn) for each in before)
        asked = _QUESTION.search(use.handoff.reason or "") is not None
        if not at_work and not asked:
            continue
        yield case.finding(
            HANDOFF_FOR_ANSWER,
            strand,
            use,
            f"{source} {'was at work and ' if at_work else ''}handed over to {target}"
            f"{' with a question' if asked else ''}, which answered after {len(after)}"
            f" call{'' if len(after) == 1 else 's'}, and the conversation ended there",
            fix=f"the instructions of {source}, and its declaration: let it fork to {target}",
            expect=f"a fork of one branch to {target}, and the final answer by {source}",
            price=start(_next_ask(strand, use), case.rates),
            causes=forking(case, case.asked(strand, use)),
            agent=source,
        )


def _handoffs(strand: Strand) -> list[Use]:
    return [use for use in strand.uses if use.handoff is not None]


def _next_ask(strand: Strand, use: Use) -> Ask | None:
    return next((ask for ask in strand.asks if ask.at > use.at), None)


def _together(prices: Sequence[Price]) -> Price:
    known = [price for price in prices if price.tokens is not None]
    if not known:
        return prices[0] if prices else NOTHING
    return Price(
        tokens=sum(price.tokens or 0 for price in known),
        fresh=sum(price.fresh or 0.0 for price in known),
        seconds=sum(price.seconds or 0.0 for price in known),
        basis=f"{len(known)} conversations' starts",
    )
