"""What findings cost, by the cost model (`host.record.cost`) and what the record holds.

What a provider counted comes first; where it reported nothing, tokens are estimated from the texts
(`host.conversation.estimated_tokens`), and where the record has no texts, nothing is said. Seconds are those measured;
what was not measured comes from the model's pace, and the basis says so.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from host.conversation import Message, Text, estimated_tokens
from host.conversation.weight import weigh
from host.graph.rules.finding import NOTHING, Price
from host.graph.run import Ask, Branch, Fork, Run, Strand, Use
from host.models.port import Request
from host.record.cost import Pace, Prices, Shape, Work, cost_of

__all__ = ["Rates", "dearer", "history_of", "kept_of", "repeated", "serial", "shape_of", "start", "wasted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """The prices and the pace that findings are priced by."""

    prices: Prices = field(default_factory=Prices)
    pace: Pace = field(default_factory=Pace)


def start(ask: Ask | None, rates: Rates) -> Price:
    """One conversation's start, uncached: what the first request of an agent held that no cache was reported to have
    served.
    """
    if ask is None:
        return NOTHING
    usage = None if ask.replied is None else ask.replied.reply.usage
    if usage is not None and usage.input:
        fresh = usage.input - (usage.cached or 0)
        basis = "one conversation's start, as the provider counted it"
    elif ask.asked is not None:
        fresh = _size(ask.asked.request)
        basis = "one conversation's start, estimated"
    else:
        return Price(basis="one conversation's start; its size is not in the record")
    return Price(
        tokens=fresh,
        fresh=fresh * rates.prices.fresh,
        seconds=rates.pace.request + fresh / rates.pace.prefill,
        basis=basis,
    )


def repeated(uses: Sequence[Use], strands: Iterable[Strand]) -> Price:
    """Calls that were made a second time: their arguments, their results, and the time that they took."""
    tokens = sum(estimated_tokens(use.call.arguments) for use in uses)
    tokens += sum(estimated_tokens(use.ended.text) for use in uses if use.ended is not None)
    asked = [_asks_of(uses, strand) for strand in strands]
    seconds = sum(use.seconds for use in uses) + sum(ask.seconds for asks in asked for ask in asks)
    return Price(tokens=tokens, seconds=_known(seconds), basis="the repeated calls with their results")


def _asks_of(uses: Sequence[Use], strand: Strand) -> list[Ask]:
    """The requests whose replies made only these calls."""
    mine = {use.at for use in uses}
    others = {use.number for use in strand.uses if use.at not in mine}
    numbers = {use.number for use in strand.uses if use.at in mine} - others
    return [ask for ask in strand.asks if ask.number in numbers]


def wasted(run: Run, branch: Branch) -> Price:
    """All that a branch used, with what it started."""
    strands = run.below(branch.loop)
    if not strands:
        return NOTHING
    usage = strands[0].loop.below
    seconds = _known(branch.seconds)
    if usage.total:
        return Price(tokens=usage.total, seconds=seconds, basis="all that the branch used")
    sizes = [_size(ask.asked.request) for strand in strands for ask in strand.asks if ask.asked is not None]
    return Price(tokens=sum(sizes) if sizes else None, seconds=seconds, basis="all that the branch was sent, estimated")


def serial(uses: Sequence[Use], strand: Strand, rates: Rates) -> Price:
    """Parts that were done one after the other and could have been done at once: the time of all but the slowest."""
    by_number = {ask.number: ask for ask in strand.asks}
    each = [use.seconds + (by_number[use.number].seconds if use.number in by_number else math.nan) for use in uses]
    ask = by_number.get(uses[0].number)
    work = _work(ask, uses)
    here = cost_of("here", work, prices=rates.prices, pace=rates.pace)
    forked = cost_of("replayed", work, prices=rates.prices, pace=rates.pace)
    change = ""
    if ask is not None and ask.asked is not None:
        more = forked.sent - here.sent
        change = f"; a fork would send about {abs(more):,} tokens {'more' if more > 0 else 'less'}"
    if not any(map(math.isnan, each)):
        return Price(seconds=sum(each) - max(each), basis=f"all parts but the slowest{change}")
    basis = f"by the cost model, as no times were recorded{change}"
    return Price(seconds=max(here.seconds - forked.seconds, 0.0), basis=basis)


def _work(ask: Ask | None, uses: Sequence[Use]) -> Work:
    request = None if ask is None or ask.asked is None else ask.asked.request
    args = [estimated_tokens(use.call.arguments) for use in uses]
    found = [estimated_tokens(use.ended.text) for use in uses if use.ended is not None]
    return Work(
        history=0 if request is None else sum(map(weigh, request.messages)),
        task=_mean(args),
        output=_mean(args),
        found=_mean(found),
        instructions=0 if request is None else _fixed(request),
        requests=2,
        children=len(uses),
    )


def shape_of(fork: Fork, branch: Branch, agent: str) -> Shape:
    """What shape of the cost model a branch of a fork has."""
    match fork.mode:
        case "none":
            return "brief"
        case "compact":
            return "compact"
        case _:
            return "replayed" if branch.agent == agent else "quoted"


def dearer(run: Run, strand: Strand, use: Use, fork: Fork, rates: Rates) -> Price:
    """What a fork of one branch cost more than the same work in the caller's own conversation."""
    (branch,) = fork.branches
    child = run.strands.get(branch.loop or "")
    if child is None or child.first is None:
        return NOTHING
    history = history_of(strand, use)
    kept = kept_of(strand, use)
    request = None if child.first.asked is None else child.first.asked.request
    uses = child.uses
    outputs = [ask.replied.reply.usage.output or _written(ask) for ask in child.asks if ask.replied is not None]
    work = Work(
        history=history,
        task=estimated_tokens(branch.instructions),
        output=_mean(outputs),
        instructions=0 if request is None else _fixed(request),
        requests=max(len(child.asks), 1),
        found=_mean([estimated_tokens(each.ended.text) for each in uses if each.ended is not None]),
        kept=min(kept, history),
        kept_start=0,
    )
    forked = cost_of(shape_of(fork, branch, use.agent), work, prices=rates.prices, pace=rates.pace)
    here = cost_of("here", work, prices=rates.prices, pace=rates.pace)
    first = start(child.first, rates)
    return Price(
        tokens=first.tokens,
        fresh=max(forked.price - here.price, 0.0),
        seconds=first.seconds,
        basis="one conversation's start; its worth is what the cost model gives beyond doing it here",
    )


def history_of(strand: Strand, use: Use) -> int:
    """About how many tokens of conversation the caller had when it made a call; 0 if that is not in the record."""
    return sum(map(weigh, _messages(strand, use)))


def kept_of(strand: Strand, use: Use) -> int:
    """How much of that is words: what a compact fork keeps."""
    return sum(
        weigh(Message(role=message.role, parts=words, id=message.id))
        for message in _messages(strand, use)
        if (words := tuple([part for part in message.parts if isinstance(part, Text)]))
    )


def _messages(strand: Strand, use: Use) -> tuple[Message, ...]:
    ask = next((ask for ask in strand.asks if ask.number == use.number), None)
    return () if ask is None or ask.asked is None else ask.asked.request.messages


def _size(request: Request) -> int:
    return _fixed(request) + sum(map(weigh, request.messages)) + estimated_tokens(request.tail)


def _fixed(request: Request) -> int:
    tools = [
        f"{tool.name} {tool.description} {json.dumps(tool.parameters, ensure_ascii=False, default=str)}"
        for tool in request.tools
    ]
    return estimated_tokens(request.system) + sum(map(estimated_tokens, tools))


def _written(ask: Ask) -> int:
    reply = None if ask.replied is None else ask.replied.reply
    return 0 if reply is None else weigh(Message(role="assistant", parts=reply.parts, id=""))


def _mean(numbers: Sequence[int]) -> int:
    return round(sum(numbers) / len(numbers)) if numbers else 0


def _known(seconds: float) -> float | None:
    return None if math.isnan(seconds) else seconds
