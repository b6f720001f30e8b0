"""Tasks beside a conversation: to start many at once, and to steer one. The model is a function that answers at once,
so what is timed is what delegation itself takes.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

import trio

from benchmarks.loops import INSTRUCTIONS, answer, calling, conversation, played_by
from benchmarks.sampling import Failed, Sample, measure
from host.conversation import Conversation
from host.loop import Dialogue, open_dialogue
from host.models.port import Reply, Request
from sandbox.image import Image

__all__ = ["many", "steering"]

TASKS: Final = 200
HISTORY: Final = 100  # messages, before the tasks are started
STEERED: Final = (10, 10_000)  # messages, before the task that is steered
BEGIN: Final = "Begin."


def _part(number: int) -> str:
    return f"Look after part {number} of the metrics."


@measure("tasks", unit="us", figures=("tasks", "tasks/plain"), runs=20, seconds=8.0)
async def many(image: Image) -> AsyncIterator[Mapping[str, Sample]]:
    """200 forked tasks that one reply starts, in a conversation of 100 messages: from the request until all results are
    home and answered, a 200th of it. Beside it, 200 plain trio tasks that ask the same model function, with the same
    messages."""
    del image  # no sandbox is in it
    history = conversation(HISTORY)

    async def part(request: Request) -> Reply:
        if request.messages[-1].text != BEGIN:
            return answer()
        return calling("start_task", *({"request": _part(number), "context": "fork"} for number in range(TASKS)))

    agent = played_by(part)

    async def at_once() -> float:
        async with open_dialogue(agent, conversation=history) as dialogue:
            began = time.perf_counter()
            await dialogue.say(BEGIN)
            await dialogue.settled()
            took = time.perf_counter() - began
        if _home(dialogue) != TASKS:
            raise Failed(f"{_home(dialogue)} results came home, and {TASKS} tasks were started")
        return took / TASKS

    async def plain() -> float:
        replies: list[Reply] = []

        async def ask(number: int) -> None:
            messages = history.user(_part(number)).messages
            replies.append(await agent.model.reply(Request(system=INSTRUCTIONS, messages=messages)))

        began = time.perf_counter()
        async with trio.open_nursery() as nursery:
            for number in range(TASKS):
                nursery.start_soon(ask, number)
        took = time.perf_counter() - began
        if len(replies) != TASKS:
            raise Failed("not all were answered")
        return took / TASKS

    yield {"tasks": at_once, "tasks/plain": plain}


def _home(dialogue: Dialogue) -> int:
    """How many tasks went well, and have their result in the conversation."""
    fine = {task.call for task in dialogue.tasks.all if task.state == "finished" and not task.is_cold}
    return sum(part.call in fine for message in dialogue.conversation for part in message.results)


class _Steered:
    """A conversation with a forked task, whose model has a request and waits to be told to answer it."""

    def __init__(self) -> None:
        self.agent = played_by(self._reply)
        self._waits = trio.Event()
        self._answers = trio.Event()
        self._arrived = 0.0
        self._said = 0

    async def _reply(self, request: Request) -> Reply:
        now = time.perf_counter()
        last = request.messages[-1].text
        if last == BEGIN:
            return calling("start_task", {"request": "Look after the metrics.", "context": "fork"})
        if "Look after" not in last and "Look there" not in last:
            return answer()
        self._arrived = now
        self._waits.set()
        self._answers = trio.Event()
        await self._answers.wait()
        return answer()

    async def begin(self, dialogue: Dialogue) -> None:
        """Start the task."""
        await dialogue.say(BEGIN)
        await self._waits.wait()

    async def steer(self, dialogue: Dialogue) -> float:
        """Say something in the conversation, then to the task; seconds until the task's model is asked with both."""
        self._said += 1
        await dialogue.say(f"News {self._said} of the metrics.")
        (task,) = dialogue.tasks.all
        self._waits = trio.Event()
        began = time.perf_counter()
        task.interject("Look there first.")
        self._answers.set()
        await self._waits.wait()
        if f"News {self._said} of" not in task.loop.exchange.shown[-2].text:
            raise Failed("the task was not told what is new")
        return self._arrived - began


@asynccontextmanager
async def _steered(history: Conversation) -> AsyncIterator[tuple[_Steered, Dialogue]]:
    steered = _Steered()
    async with open_dialogue(steered.agent, conversation=history) as dialogue:
        await steered.begin(dialogue)
        yield steered, dialogue


@measure(
    "steering", unit="us", figures=tuple(f"steering-{which}{count}" for which in ("", "again-") for count in STEERED)
)
async def steering(image: Image) -> AsyncIterator[Mapping[str, Sample]]:
    """From `task.interject` to the forked task's next request, which has what was said and what is new in the
    conversation: four messages the first time that the task is steered, two when it is steered again. In conversations
    of 10 and 10,000 messages."""
    del image
    histories = {count: conversation(count) for count in STEERED}

    def first(count: int) -> Sample:
        async def sample() -> float:
            async with _steered(histories[count]) as (steered, dialogue):
                return await steered.steer(dialogue)

        return sample

    async with AsyncExitStack() as stack:
        samples = {f"steering-{count}": first(count) for count in STEERED}
        for count in STEERED:
            steered, dialogue = await stack.enter_async_context(_steered(histories[count]))
            await steered.steer(dialogue)
            samples[f"steering-again-{count}"] = _again(steered, dialogue)
        yield samples


def _again(steered: _Steered, dialogue: Dialogue) -> Sample:
    return lambda: steered.steer(dialogue)
