"""The end of a cell: what it left running is ended, and said.

Rules:

- A task that is left over is cancelled and may clean up, calls included; not for long, and once more if it goes on.
  What runs then is closed where it stands.
- Async generators that were begun are closed, as `asyncio.run` closes them.
- A cell that is left (a copy of the guest goes on without it) is ended in one go: what waits is cancelled, and again if
  it goes on to wait for something else, since there is nothing to wait for.
- Each kind of thing left over is one notice, with function and line and what to write.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import re
from collections import Counter
from collections.abc import AsyncGenerator, Iterable
from typing import Any, Final

from guest_stdlib.loop import Loop, answer

__all__ = ["abandon_tasks", "anything_left", "end", "leave"]

_GRACE: Final = 1.0  # seconds for what a cancelled task still does, twice
_CANCELLATIONS: Final = 20  # of one task, in a cell that is left


def anything_left(loop: Loop) -> bool:
    """Whether a cell that ended left something running."""
    return bool(loop.tasks) or bool(loop.generators and loop.unfinished())


async def end(loop: Loop, *, stopped: bool) -> list[str]:
    """End all tasks and close all generators; the notices about them. After a stop there is nothing to tell."""
    left = [task for task in loop.tasks if not task.done()]
    notices = [] if stopped else _sentences(task for task in left if task not in loop.closing)
    for attempt in range(2 + stopped):
        for task in left:
            if task not in loop.closing and attempt >= stopped:  # after a stop they have an exception already
                task.cancel()
        if left:
            _, waiting = await asyncio.wait(left, timeout=_GRACE)
            left = list(waiting)
    abandon_tasks(loop)
    generators = loop.unfinished()
    if not stopped:
        notices += _closed(generators)
    for generator in generators:
        with contextlib.suppress(BaseException):
            await asyncio.wait_for(generator.aclose(), _GRACE)
    return notices


def leave(loop: Loop) -> None:
    """Let all tasks and generators end now. Nothing that they wait for comes any more; those that go on are left."""
    _cancelled(loop)
    for generator in loop.unfinished():
        with contextlib.suppress(Exception):
            loop.create_task(generator.aclose())
    _cancelled(loop, at_first=False)


def _cancelled(loop: Loop, *, at_first: bool = True) -> None:
    for attempt in range(_CANCELLATIONS):
        for task in list(loop.tasks) if at_first or attempt else ():
            task.cancel()
        with contextlib.suppress(SystemExit, KeyboardInterrupt):  # they leave the loop; the rest is still ready
            loop.run_ready()
        if not loop.tasks:
            return


def abandon_tasks(loop: Loop) -> None:
    """Close what does not end."""
    for task in list(loop.tasks):
        task._log_destroy_pending = False  # type: ignore[attr-defined]
        coroutine = task.get_coro() if isinstance(task, asyncio.Task) else None
        if coroutine is not None:
            with contextlib.suppress(BaseException):
                coroutine.close()
    loop.tasks.clear()


def _sentences(tasks: Iterable[asyncio.Future[Any]]) -> list[str]:
    kinds = Counter(_what(task) for task in tasks)
    return [
        f"{what} was still running when the cell ended, and was cancelled. Await it in the cell that starts it."
        if times == 1
        else f"{times:,} tasks of {what} were still running when the cell ended, and were cancelled. "
        "Await them in the cell that starts them: await asyncio.gather(...)"
        for what, times in kinds.items()
    ]


def _what(task: asyncio.Future[Any]) -> str:
    coroutine = task.get_coro() if isinstance(task, asyncio.Task) else None
    if not inspect.iscoroutine(coroutine):
        return f"A task ({task!r})"
    if coroutine.cr_code is answer.__code__:
        call = inspect.getcoroutinelocals(coroutine).get("call")
        if found := re.match(r"<coroutine ([\w.]+)\(.*\) on line (\d+), ", repr(call), re.DOTALL):
            return f"{found[1]}() (line {found[2]})"
    return f"{coroutine.cr_code.co_qualname}() (line {coroutine.cr_code.co_firstlineno})"


def _closed(generators: Iterable[AsyncGenerator[Any, Any]]) -> list[str]:
    codes = Counter(generator.ag_code for generator in generators if inspect.isasyncgen(generator))
    return [
        f"The async generator {code.co_qualname}() (line {code.co_firstlineno}) was not finished when the cell ended, "
        "and was closed. Finish it in the cell that begins it."
        for code in codes
    ]
