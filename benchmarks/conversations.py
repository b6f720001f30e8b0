"""What an inherited conversation costs. It never enters a guest: a call with a long one should cost what any does."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from typing import Final

from benchmarks.capability import Desk
from benchmarks.sampling import Failed, Sample, measure, value_of
from benchmarks.work import CALLS, Arrivals
from host import Conversation, HostSession, Inherited, open_host
from sandbox.image import Image

__all__ = ["fork", "inherited"]

MESSAGES: Final = (0, 1_000, 100_000)
TOKENS: Final = 1_000_000  # what the longest has at least
SAID: Final = "Message {} of this conversation says something about the metrics, and nothing else."


def _conversation(messages: int) -> Conversation:
    conversation = Conversation()
    for number in range(messages):
        text = SAID.format(number)
        conversation = conversation.user(text) if number % 2 == 0 else conversation.assistant(text)
    return conversation


def _calls(session: HostSession, arrivals: Arrivals) -> Sample:
    source = f"for i in range({CALLS + 1}):\n    x = await desk.ask('Which Sarah?')\nx"

    async def sample() -> float:
        arrivals.clear()
        if value_of(await session.run(source)) != "Which Sarah?":
            raise Failed("the answers did not arrive as they were given")
        return arrivals.each(CALLS)

    return sample


@measure("inherited", unit="us", figures=tuple(f"inherited-{count}" for count in MESSAGES), runs=40, seconds=8.0)
async def inherited(image: Image) -> AsyncIterator[Mapping[str, Sample]]:
    """A delegating call in sequence, `await desk.ask(...)`, in sessions that inherited 0, 1,000 and 100,000 messages;
    the last have more than 1,000,000 tokens."""
    arrivals = Arrivals()
    async with open_host(capabilities=[Desk(arrivals)], image=image) as host, AsyncExitStack() as stack:
        samples: dict[str, Sample] = {}
        for count in MESSAGES:
            conversation = _conversation(count)
            session = await stack.enter_async_context(host.session(inherited=conversation))
            samples[f"inherited-{count}"] = _calls(session, arrivals)
        if conversation.tokens < TOKENS:
            raise Failed(f"the longest conversation has {conversation.tokens} tokens, and not {TOKENS}")
        yield samples


def _extensions(conversation: Conversation) -> Sample:
    own = _conversation(2)

    async def sample() -> float:
        count = 2000
        began = time.perf_counter()
        for _ in range(count):
            Inherited.of(conversation).extend(own, agent="child")
        return (time.perf_counter() - began) / count

    return sample


@measure("conversation-fork", unit="us", figures=("conversation-fork-10", "conversation-fork-10000"))
async def fork(image: Image) -> AsyncIterator[Mapping[str, Sample]]:
    """`Inherited.of(conversation).extend(own)`: what a child is given, and what it passes on, of 10 and of 10,000
    messages."""
    del image  # no sandbox is in it
    yield {
        "conversation-fork-10": _extensions(_conversation(10)),
        "conversation-fork-10000": _extensions(_conversation(10_000)),
    }
