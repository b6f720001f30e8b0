"""What a delegation costs, by its shape: what is sent, what of it a provider's cache can serve, and how long it takes.

Made for choosing, before anything has run; what a run did cost stands in its record. All counts are tokens.

A provider bills the start of a request lower, and reads it faster, if it has seen exactly these bytes lately: tool
schemas, system prompt, messages, up to the first difference. So for every shape the question is which first tokens of
the child's request stood in a request before, and whose. The shapes:

    here       no child: the caller does it in its own conversation, one part after the other
    brief      cold: the child has its instructions and the request. It is the cheapest start, and it knows nothing
               else: the shape is only comparable with the others where the request says everything
    retold     cold, but the work needs what the history says: it comes to the child another way, be it that the child
               reads the same files again or that the request repeats what was said. The same amount, all of it fresh
    quoted     fork: the history as a section of the child's own instructions. Nothing is shared with the caller
    replayed   fork: the caller's messages as they were sent, same agent, same model, same tools. The caller's own last
               request is the shared start
    compact    fork without tool traffic: replayed up to the first thing that is dropped, a different text from there
    hand-off   another agent goes on with the whole transcript: other instructions and tools, so nothing is shared

What is counted alike in all shapes and so left out: that the caller writes the task, and reads the answers.

The prices and rates are parameters; their defaults are assumptions, see `Prices` and `Pace`. Not modelled: the least
size that a provider caches (often about a thousand tokens), the blocks that hits come in, how long an entry lives, and
that a request which waits for a free machine waits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, get_args

__all__ = ["SHAPES", "Cost", "Pace", "Prices", "Shape", "Work", "at_once", "cost_of", "costs_of", "in_turn"]

Shape = Literal["here", "brief", "retold", "quoted", "replayed", "compact", "hand-off"]
SHAPES: Final[tuple[Shape, ...]] = get_args(Shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What is to be done, in tokens.

    `history` is the caller's conversation, `task` what the child is asked to do, `instructions` the agent's system
    prompt and tool schemas. The child makes `requests` requests to its model: it writes `output` in each, and reads
    `found`, the results of its calls, between two of them. There are `children` of this kind, started by one call.

    `kept` is how much of the history a compact fork keeps, and `kept_start` how much of that stands before the first
    thing dropped; both default to a history without tool traffic, that is, to all of it. `trips` is how many of its
    requests a cold child spends on finding out again what the history says, before the work begins: 0 where the request
    repeats it.
    """

    history: int
    task: int
    output: int = 0
    instructions: int = 0
    requests: int = 1
    found: int = 0
    children: int = 1
    kept: int | None = None
    kept_start: int | None = None
    trips: int = 0

    def __post_init__(self) -> None:
        counts = (self.history, self.task, self.output, self.instructions, self.found, self.trips)
        if min(counts) < 0 or self.requests < 1 or self.children < 1:
            raise ValueError("tokens and trips are 0 or more, and there are at least one request and one child")
        if not 0 <= self.start_kept <= self.all_kept <= self.history:
            raise ValueError("a compact fork keeps at most the history, and shares at most what it keeps")

    @property
    def length(self) -> int:
        """What the work adds to a conversation behind the task."""
        return self.requests * self.output + (self.requests - 1) * self.found

    @property
    def all_kept(self) -> int:
        """`kept`, or all of the history."""
        return self.history if self.kept is None else self.kept

    @property
    def start_kept(self) -> int:
        """`kept_start`, or all that is kept if that is all of the history, else nothing."""
        if self.kept_start is not None:
            return self.kept_start
        return self.history if self.all_kept == self.history else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """What a token costs, as a multiple of a fresh input token.

    The defaults are an assumption, close to what one large provider asks: a read from the cache is a tenth, a token
    that is put into it costs a quarter more, and a written token five times as much. Replace them by your own: others
    charge nothing for putting something in (`written=1`), or have no cache (`cached=1, written=1`).
    """

    fresh: float = 1.0
    cached: float = 0.1
    written: float = 1.25
    output: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How fast it goes. The defaults are an assumption about a hosted model of middle size, not a measurement.

    `prefill` is fresh input tokens a second, `cached` those read from the cache, `output` those written. `request` is
    the seconds that every request takes beside that, `tool` those that the calls between two requests take.
    """

    prefill: float = 5_000.0
    cached: float = 100_000.0
    output: float = 60.0
    request: float = 0.5
    tool: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one shape costs, for all children together.

    `sent` is all input over all requests, `cacheable` the part of it that stood at the start of an earlier request and
    can be served from the cache, and `cached` the part that is assumed to be: all of that with a hit, 0 without.
    `fresh` is the rest: sent = cached + fresh. `put` is the part of `fresh` that goes into the cache because a further
    request of the same child begins with it. `price` is in fresh input tokens, `seconds` from the call to the last
    answer. `grows` is by how much the caller's history is longer afterwards.
    """

    sent: int = 0
    cacheable: int = 0
    cached: int = 0
    fresh: int = 0
    put: int = 0
    output: int = 0
    price: float = 0.0
    seconds: float = 0.0
    grows: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            sent=self.sent + other.sent,
            cacheable=self.cacheable + other.cacheable,
            cached=self.cached + other.cached,
            fresh=self.fresh + other.fresh,
            put=self.put + other.put,
            output=self.output + other.output,
            price=self.price + other.price,
            seconds=self.seconds + other.seconds,
            grows=self.grows + other.grows,
        )


def in_turn(parts: Iterable[Cost]) -> Cost:
    """The cost of delegations made one after the other: everything adds up."""
    return sum(parts, Cost())


def at_once(parts: Iterable[Cost]) -> Cost:
    """The cost of delegations that run at the same time: the tokens add up, and it takes as long as the slowest."""
    parts = tuple(parts)
    return replace(in_turn(parts), seconds=max((part.seconds for part in parts), default=0.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Start:
    """A child's first request: what it holds before the task, how much of that the caller sent before, and how much an
    earlier child of the same kind did.
    """

    before: int
    of_caller: int = 0
    of_sibling: int = 0


def cost_of(
    shape: Shape,
    work: Work,
    *,
    prices: Prices | None = None,
    pace: Pace | None = None,
    hit: bool = True,
    warm: bool = False,
) -> Cost:
    """What the work costs in this shape. Several children run at once, except "here", which has only one conversation.

    `hit` says whether what can be served from the cache is: a hit is never certain, so look at both. `warm` says that
    a child of this kind was answered a moment ago, so that what they have in common is in the cache as well; children
    that start at once cannot have that of each other.
    """
    if shape not in SHAPES:
        raise ValueError(f"a shape is one of {', '.join(SHAPES)}, not {shape!r}")
    child = _Child(work=work, prices=prices or Prices(), pace=pace or Pace(), hit=hit)
    start = _start(shape, work)
    if shape == "here":
        return in_turn([child.part(start, number) for number in range(work.children)])
    shared = max(start.of_caller, start.of_sibling if warm else 0)
    # Who hands off hands over the conversation, so all of the target's work is added to it.
    grows = work.task + work.length if shape == "hand-off" else work.output
    one = child.cost(before=start.before, shared=shared, grows=grows, trips=work.trips if shape == "retold" else 0)
    return at_once([one] * work.children)


def costs_of(
    work: Work, *, prices: Prices | None = None, pace: Pace | None = None, hit: bool = True, warm: bool = False
) -> Mapping[Shape, Cost]:
    """The work in every shape, to compare them."""
    return {shape: cost_of(shape, work, prices=prices, pace=pace, hit=hit, warm=warm) for shape in SHAPES}


def _start(shape: Shape, work: Work) -> _Start:
    """The table of the shapes."""
    own, history = work.instructions, work.history
    match shape:
        case "here" | "replayed":
            return _Start(before=own + history, of_caller=own + history, of_sibling=own + history)
        case "brief":
            return _Start(before=own, of_sibling=own)
        case "retold":
            return _Start(before=own + history, of_sibling=own)
        case "quoted" | "hand-off":
            return _Start(before=own + history, of_sibling=own + history)
        case "compact":
            return _Start(before=own + work.all_kept, of_caller=own + work.start_kept, of_sibling=own + work.all_kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Child:
    """A child at work."""

    work: Work
    prices: Prices
    pace: Pace
    hit: bool

    def part(self, start: _Start, number: int) -> Cost:
        """The cost of the same work in the caller's own conversation, as the part with this number from 0: what the
        parts before added to the conversation stands before it. All but the last thing written was sent before.
        """
        each = self.work.task + self.work.length
        more = number * each
        unsent = self.work.output if number else 0
        goes_on = number + 1 < self.work.children
        return self.cost(
            before=start.before + more, shared=start.of_caller + more - unsent, grows=each, goes_on=goes_on
        )

    def cost(self, *, before: int, shared: int, grows: int, trips: int = 0, goes_on: bool = False) -> Cost:
        """What its requests cost. The first one holds what stands `before` the task, and the task; each further one
        holds the one before it, and what was written and found since.

        With `trips`, what is to be found out again comes in equal shares, one with each further request. `goes_on` says
        that the conversation does so behind the last request.
        """
        work = self.work
        retold = work.history if trips else 0
        size, known = before - retold + work.task, shared
        total = Cost(grows=grows)
        requests = work.requests + trips
        for number in range(1, requests + 1):
            last = number == requests
            total += self._request(size=size, known=known, repeated=not last or goes_on, calls=not last)
            known = size
            size += work.output + (_share(retold, trips, number) if number <= trips else work.found)
        return total

    def _request(self, *, size: int, known: int, repeated: bool, calls: bool) -> Cost:
        cached = known if self.hit else 0
        fresh = size - cached
        put = fresh if repeated and self.hit else 0
        output = self.work.output
        prices, pace = self.prices, self.pace
        price = (fresh - put) * prices.fresh + put * prices.written + cached * prices.cached + output * prices.output
        seconds = pace.request + fresh / pace.prefill + cached / pace.cached + output / pace.output
        return Cost(
            sent=size,
            cacheable=known,
            cached=cached,
            fresh=fresh,
            put=put,
            output=output,
            price=price,
            seconds=seconds + (pace.tool if calls else 0.0),
        )


def _share(whole: int, parts: int, number: int) -> int:
    """The share of the part with this number, from 1, so that all shares add up to the whole."""
    return whole * number // parts - whole * (number - 1) // parts
