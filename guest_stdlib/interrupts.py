"""How the host stops agent code: by an exception that the code may catch, at its own line or at its awaits.

Rules:

- A limit is `TimeLimit`, a BaseException, so that `except Exception` does not swallow it by accident. A cancellation is
  `asyncio.CancelledError`.
- Running code is interrupted by SIGINT, which the host trips at any bytecode. The exception is raised there only while
  the agent's own code runs: in the middle of ours it would leave the loop or the channel half done. What the agent's
  code called of ours (a print, a call) is let finish and then raises it; between the agent's turns the loop delivers.
- Waiting code gets the exception at every await, innermost first, so that structured code unwinds in its own order.
- Each stop is delivered anew. Code that swallows one goes on; ending that is the host's business.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Final, Literal

from guest_stdlib.calls import CallFuture
from guest_stdlib.cells import Sources
from guest_stdlib.channel.events import Cancel
from guest_stdlib.loop import DEADLOCK, Loop

__all__ = ["Interrupts", "TimeLimit", "raise_deadlock"]


# Code of ours that must not be left in the middle. The proxies' checks may: they hold nothing.
_CRITICAL: Final = tuple(
    f"guest_stdlib.{name}" for name in ("app", "calls", "channel", "console", "interrupts", "loop")
)


class TimeLimit(BaseException):
    """The time for this cell is used up. Code may clean up, then the cell ends."""


TimeLimit.__module__ = "__main__"  # tracebacks show it as what it is here, a name in scope


def _error(stop: Cancel) -> BaseException:
    """What a stop is raised as."""
    return asyncio.CancelledError(stop.message) if stop.reason == "cancelled" else TimeLimit(stop.message)


class Interrupts:
    """Takes the host's stops to the agent's code, for one session.

    `ask` asks the host why it interrupts. `borders` is the code of ours below which no agent code is in the middle of
    anything: the loop and the step. `running` says whether a cell runs.
    """

    def __init__(
        self,
        *,
        loop: Loop,
        sources: Sources,
        ask: Callable[[], Cancel],
        running: Callable[[], bool],
        borders: frozenset[CodeType],
    ) -> None:
        self._loop = loop
        self._sources = sources
        self._ask = ask
        self._running = running
        self._borders = borders | {Loop.run_ready.__code__, Interrupts._on_signal.__code__}
        self._unasked = False
        self._had: asyncio.Task[object] | None = None  # the task that an interrupt fell into
        self._overdue = False  # it had the stop, and not all others have had it yet
        self._previous: object = None
        self.stop: Cancel | None = None  # the latest stop of the running cell
        self.late = False  # an interrupt fell into what the agent's code had called of ours

    def install(self) -> None:
        """Listen. Signals reach only the main thread; the guest has no other."""
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.signal(signal.SIGINT, self._on_signal)

    def uninstall(self) -> None:
        """Put back what was before."""
        if callable(self._previous):
            signal.signal(signal.SIGINT, self._previous)

    def reset(self) -> None:
        """A cell begins or ended: what was on its way to the last one is void."""
        self.stop = self._had = None
        self.late = self._unasked = self._overdue = self._loop.interrupted = False

    def deliver(self, stop: Cancel) -> None:
        """Raise a stop at all awaits."""
        self.stop = stop
        self._overdue = False
        if stop.reason == "cancelled":
            _cancel(self._loop, stop.message)
        else:
            _raise_at_awaits(self._loop, lambda: _error(stop))

    def reached(self) -> None:
        """Deliver what an interrupt left to do, now that nothing of the loop is half done."""
        self._loop.interrupted = self.late = False
        if not self._running():
            return
        if self._unasked:
            self._unasked = False
            self.deliver(self._ask())
        else:
            self.deliver_overdue()

    def deliver_overdue(self) -> None:
        """Raise at all awaits what an interrupted task had, if that is still to be done.

        That task may clean up first, so those that might wait for it have to wait. Those that cannot have it at once.
        """
        if not self._overdue or self.stop is None:
            return
        if self._had is None or self._had.done():
            self.deliver(self.stop)
        else:
            stop = self.stop
            _raise_at_awaits(self._loop, lambda: _error(stop), spared=self._had)

    def _on_signal(self, _: int, frame: FrameType | None) -> None:
        if not self._running():
            return
        match self._where(frame):
            case "agent":
                self.catch_up()
            case "service":
                self.late = self._unasked = self._loop.interrupted = True
            case "between":
                self._unasked = self._loop.interrupted = True

    def catch_up(self) -> None:
        """Raise what an interrupt left to do, at the end of something that the agent's code called."""
        self.late = self._unasked = False
        self.stop = stop = self._ask()
        self._overdue = self._loop.interrupted = True
        self._had = asyncio.current_task(self._loop)
        if self._had is not None:
            self._had.add_done_callback(self._task_ended)
        raise _error(stop)

    def _task_ended(self, _: asyncio.Future[object]) -> None:
        if self._overdue:
            self._loop.interrupted = True

    def _where(self, frame: FrameType | None) -> Literal["agent", "service", "between"]:
        """What an interrupt would fall into: the agent's code, ours on its behalf, or ours between its turns."""
        service = False
        while frame is not None:
            if frame.f_code in self._borders:
                return "between"
            module = frame.f_globals.get("__name__")
            if module == "__main__" or frame.f_code.co_filename in self._sources:
                return "service" if service else "agent"
            service = service or (isinstance(module, str) and module.startswith(_CRITICAL))
            frame = frame.f_back
        return "between"


def raise_deadlock(loop: Loop) -> None:
    """End waits that nothing can end any more: a clear error at each await."""
    _raise_at_awaits(loop, lambda: RuntimeError(DEADLOCK))


def _cancel(loop: Loop, message: str) -> None:
    held = [task for _, task in loop.blocked]
    for task in list(loop.tasks):
        if task not in held:
            task.cancel(message)
    for waited, _ in loop.blocked:
        waited.cancel(message)


def _raise_at_awaits(
    loop: Loop, error: Callable[[], BaseException], *, spared: asyncio.Task[object] | None = None
) -> None:
    """Raise an error at the awaits of all tasks; with a task `spared`, only of those that cannot be waiting for it.

    A task that waits for another one gets it from there; one whose turn a blocking run holds up gets it from what that
    waits for. Where there is no future to put it into, the task is cancelled.
    """
    running = [spared, asyncio.current_task(loop), *(task for _, task in loop.blocked)]
    for task in reversed(list(loop.tasks)):
        if task.done() or task in running:
            continue
        waited = getattr(task, "_fut_waiter", None)
        if not isinstance(waited, asyncio.Future):
            task.cancel()
        elif waited.done():
            if waited.cancelled() or not isinstance(waited.exception(), type(error())):
                task.cancel()
        elif isinstance(waited, CallFuture) or not (spared or _joins(task)):
            _settle(waited, error())
    for waited, _ in loop.blocked:
        if not (spared or waited.done()):
            _settle(waited, error())


def _settle(waited: asyncio.Future[object], error: BaseException) -> None:
    if isinstance(waited, CallFuture):
        waited.give_up(error)
    elif not isinstance(waited, asyncio.Task):
        waited.set_exception(error)


def _group_codes() -> frozenset[CodeType]:
    methods = (getattr(asyncio.TaskGroup, name, None) for name in ("__aexit__", "_aexit"))
    return frozenset(method.__code__ for method in methods if method is not None)


_GROUP_WAITS: Final = _group_codes()


def _joins(task: asyncio.Future[object]) -> bool:
    """Whether a task waits for its task group, on a future of the group's own: the group's tasks come first."""
    waits: object = task.get_coro() if isinstance(task, asyncio.Task) else None
    code = None
    while hasattr(waits, "cr_code"):
        code = waits.cr_code
        waits = getattr(waits, "cr_await", None)
    return code in _GROUP_WAITS
