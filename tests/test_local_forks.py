"""Forks on a real server: what of a child's first request its prefix cache has seen before, as the server reports it.

The loops are real, and so is every request; what the base model writes makes no sense, so what the loops go on with is
written down here. The usage that counts is the server's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from host import Conversation
from host.events import LoopBegan, Replied
from host.loop import Agent
from host.models import Model
from host.models.port import Reply, Request, Stream, Usage
from tests.local_model import local_model, local_url
from tests.loop_scene import call, talking

__all__ = ["local_model", "local_url"]

TALK = Conversation()
for number in range(24):
    TALK = TALK.user(f"Item {number}: the shelf by the window holds {number * 7} crates of tea, and who counted them?")
    TALK = TALK.assistant(f"Lena counted them on day {number}, and Omar counted again; both came to {number * 7}.")


class Spoken:
    """A model whose replies are written down, and which asks the real one all the same, for what it reports."""

    def __init__(self, model: Model, say: Callable[[Request], Reply | str]) -> None:
        self.name = model.name
        self._model, self._say = model, say

    async def reply(self, request: Request, *, stream: Stream | None = None) -> Reply:
        usage = (await self._model.reply(request, stream=stream)).usage
        said = self._say(request)
        return replace(Reply.of(said) if isinstance(said, str) else said, usage=usage)


async def usages(model: Model, *, same: bool, context: str) -> tuple[Usage, Usage, str]:
    """What the server reports of the caller's request that starts a task, and of the task's first; and its rendering."""
    left: list[Reply | str] = [
        call("start_task", request="Count the crates again.", context=context),
        "Started.",
        "Done.",
    ]

    def say(request: Request) -> Reply | str:
        is_task = any("Count the crates again." in message.text for message in request.messages)
        return "I counted them." if is_task else left.pop(0)

    spoken = Spoken(model, say)
    desk = Agent(name="desk", instructions="You look after a tea house. " * 12, model=spoken, tasks="self")
    if not same:
        desk = replace(desk, tasks=Agent(name="clerk", instructions="You count crates. " * 12, model=spoken))
    async with talking(desk, conversation=TALK) as run:
        await run.say("Is that right?")
        await run.dialogue.settled()
        began = next(event for event in run.told(LoopBegan) if event.kind == "task")
        replies = {(event.loop, event.number): event.reply.usage for event in run.told(Replied)}
    return replies["loop 1", 1], replies[began.loop, 1], began.rendering


async def test_r32_r79_a_replayed_forks_first_request_is_cached_up_to_its_own_part(local_model: Model) -> None:
    """At least 95 % of what the caller had sent is read from the cache."""
    caller, child, rendering = await usages(local_model, same=True, context="fork")
    assert rendering == "replayed"
    assert caller.input > 1500
    assert child.cached is not None
    assert child.cached >= 0.95 * caller.input


@pytest.mark.parametrize(("context", "expected"), [("fork", "quoted"), ("cold", "none")])
async def test_r79_other_children_report_what_they_report(local_model: Model, context: str, expected: str) -> None:
    """A quoted fork is as long as the history and shares none of it; a cold child is short."""
    caller, child, rendering = await usages(local_model, same=False, context=context)
    assert rendering == expected
    assert child.cached is not None
    assert child.cached < 0.05 * caller.input
    assert (child.input > 0.9 * caller.input) is (context == "fork")
