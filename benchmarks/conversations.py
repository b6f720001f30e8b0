"""What an inherited conversation costs. It never enters a guest: a call with a long one should cost what any does. To
cut it is to take hold of a value; to render it for a child is linear in its length.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Final, Literal

from benchmarks.capability import Desk
from benchmarks.loops import Working, conversation, working
from benchmarks.sampling import Failed, Sample, measure, value_of
from benchmarks.work import CALLS, Arrivals
from host import Conversation, HostSession, open_host
from host.context import Start, start
from sandbox.image import Image

__all__ = ["fork", "inherited", "rendering"]

MESSAGES: Final = (0, 1_000, 100_000)
TOKENS: Final = 1_000_000  # what the longest has at least
FORKED: Final = (10, 1_000, 10_000)
FORKS: Final = 2_000  # in one sample
INSTRUCTIONS: Final = "You answer questions about people."


def _calls(session: HostSession, inherited: Conversation, arrivals: Arrivals) -> Sample:
    source = f"for i in range({CALLS + 1}):\n    x = await desk.ask('Which Sarah?')\nx"

    async def sample() -> float:
        arrivals.clear()
        if value_of(await session.run(source, inherited=inherited)) != "Which Sarah?":
            raise Failed("the answers did not arrive as they were given")
        return arrivals.each(CALLS)

    return sample


@measure("inherited", unit="us", figures=tuple(f"inherited-{count}" for count in MESSAGES), runs=40, seconds=8.0)
async def inherited(image: Image) -> AsyncIterator[Mapping[str, Sample]]:
    """A delegating call in sequence, `await desk.ask(...)`, in cells that inherited 0, 1,000 and 100,000 messages, as
    the code of a loop does (`session.run(code, inherited=...)`); the last have more than 1,000,000 tokens."""
    arrivals = Arrivals()
    async with open_host(capabilities=[Desk(arrivals)], image=image) as host, host.session() as session:
        samples: dict[str, Sample] = {}
        for count in MESSAGES:
            passed = conversation(count)
            samples[f"inherited-{count}"] = _calls(session, passed, arrivals)
        if passed.tokens < TOKENS:
            raise Failed(f"the longest conversation has {passed.tokens} tokens, and not {TOKENS}")
        yield samples


def _cuts(at_work: Working, messages: int) -> Sample:
    loop = at_work.loop

    async def sample() -> float:
        began = time.perf_counter()
        for _ in range(FORKS):
            cut = loop.snapshot("call-0")
        took = time.perf_counter() - began
        if len(cut.layers[-1].conversation) < messages or cut.layers[-1].sent is None:
            raise Failed("the fork is not of the whole conversation")
        return took / FORKS

    return sample


@measure("conversation-fork", unit="us", figures=tuple(f"conversation-fork-{count}" for count in FORKED))
async def fork(image: Image) -> AsyncIterator[Mapping[str, Sample]]:
    """The fork of a conversation of 10, 1,000 and 10,000 messages as a loop makes it at a delegating call
    (`Loop.snapshot`): all that the child inherits, and can pass on."""
    del image  # no sandbox is in it
    yield {f"conversation-fork-{count}": _cuts(await working(conversation(count)), count) for count in FORKED}


def _starts(begin: Callable[[], Start], rendering: Literal["quoted", "replayed"], messages: int) -> Sample:
    async def sample() -> float:
        began = time.perf_counter()
        begun = begin()
        took = time.perf_counter() - began
        shown = begun.system.count("of this conversation says") if rendering == "quoted" else begun.shared
        if begun.rendering != rendering or shown != messages:
            raise Failed(f"the child starts from {shown} messages, {begun.rendering}")
        return took

    return sample


@measure(
    "render",
    unit="ms",
    figures=tuple(f"render-{how}-{count}" for how in ("quoted", "replayed") for count in FORKED),
    seconds=8.0,
)
async def rendering(image: Image) -> AsyncIterator[Mapping[str, Sample]]:
    """What a child starts from, made of such a fork: quoted in the instructions of another agent, and replayed for the
    same one, with the hash of the shared prefix. The result is as long as the conversation, so the time is linear."""
    del image
    samples: dict[str, Sample] = {}
    for count in FORKED:
        at_work = await working(conversation(count))
        samples[f"render-quoted-{count}"] = _starts(_quoted(at_work), "quoted", count)
        samples[f"render-replayed-{count}"] = _starts(_replayed(at_work), "replayed", count)
    yield samples


def _quoted(at_work: Working) -> Callable[[], Start]:
    return lambda: start(
        instructions=INSTRUCTIONS,
        tools=(),
        agent="people",
        model="another",
        request="Which Sarah?",
        inherited=at_work.inherited,
    )


def _replayed(at_work: Working) -> Callable[[], Start]:
    sent = at_work.sent
    return lambda: start(
        instructions=sent.request.system,
        tools=sent.request.tools,
        agent=sent.agent,
        model=sent.model,
        request="Which Sarah?",
        inherited=at_work.inherited,
    )
