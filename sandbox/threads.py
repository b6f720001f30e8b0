"""The line between trio and the thread on which a guest runs.

Guests run on threads of our own: their stacks must be larger than the guest's, and none may be the main thread, on
which Python could raise KeyboardInterrupt in the middle of a host function. As many guests run at once as there are
cores. A guest that waits in a blocking call keeps its thread (its native stack is there), but gives its place back
meanwhile, or a guest whose call needs another guest would wait forever.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import outcome
import trio

from .engine import GUEST_STACK

__all__ = ["Answered", "Asked", "Line", "on_guest_thread"]

STACK: Final = GUEST_STACK + (16 << 20)
IDLE_SECONDS: Final = 10.0
MOMENT: Final = 0.0003  # seconds
FAIR: Final = 0.002  # seconds

_places: trio.lowlevel.RunVar[trio.CapacityLimiter] = trio.lowlevel.RunVar("branchpoint_places")
_idle: list[_Worker] = []
_starting = threading.Lock()


class _Worker:
    """A thread that does one job after another and goes away when there has been none for a while."""

    def __init__(self) -> None:
        self._wake = _closed_lock()
        self._job: Callable[[], None] | None = None
        with _starting:  # the stack size is a setting of the whole process
            before = threading.stack_size(STACK)
            try:
                threading.Thread(target=self._work, name="branchpoint-guest", daemon=True).start()
            finally:
                threading.stack_size(before)

    def _work(self) -> None:
        while True:
            if not self._wake.acquire(timeout=IDLE_SECONDS):
                try:
                    _idle.remove(self)
                except ValueError:  # taken in this very moment: the job is coming
                    continue
                return
            job, self._job = self._job, None
            if job is not None:
                job()
            del job

    def do(self, job: Callable[[], None]) -> None:
        self._job = job
        self._wake.release()


def _places_here() -> trio.CapacityLimiter:
    try:
        return _places.get()
    except LookupError:
        limiter = trio.CapacityLimiter(
            len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        )
        _places.set(limiter)
        return limiter


@dataclass(frozen=True, slots=True)
class Answered[Result]:
    """The job is over."""

    result: outcome.Maybe[Result]


@dataclass(frozen=True, slots=True)
class Asked[Question]:
    """The job waits, on its thread, for `Line.answer`."""

    question: Question


class Line[Result, Question, Reply]:
    """One guest's line. From trio: `run` a job, `answer` its question, and hear what comes next. From the job: `ask`.

    Most jobs are over in less time than it takes trio to go to sleep and be woken. So trio first waits for a moment
    (`MOMENT`) on the spot, and only then lets its other tasks run. It never goes on like that for long (`FAIR`).

    A KeyboardInterrupt must not come in between: it would leave a guest running that everybody takes for stopped.
    """

    def __init__(self) -> None:
        self._task: trio.lowlevel.Task | None = None
        self._token: trio.lowlevel.TrioToken | None = None
        self._reply: Reply | None = None
        self._replied = _closed_lock()
        self._change = threading.Lock()
        self._said: Answered[Result] | Asked[Question] | None = None
        self._quick = _closed_lock()  # opened when something was said while trio waited on the spot
        self._asleep = False
        self._yielded = 0.0
        self._soon: deque[Callable[[], object]] = deque()
        self.asking = False

    # From trio

    @trio.lowlevel.enable_ki_protection
    async def run(
        self, job: Callable[[], Result], *, on_cancel: Callable[[], None]
    ) -> Answered[Result] | Asked[Question]:
        """Run `job` on a guest thread until it ends or asks. A cancellation only calls `on_cancel`: the job must end by
        itself.
        """
        self._token = trio.lowlevel.current_trio_token()
        await self._take_place()

        def work() -> None:
            result = outcome.capture(job)
            _idle.append(worker)
            self._post(Answered(result))

        try:
            worker = _idle.pop() if _idle else _Worker()
            worker.do(work)
        except BaseException:
            _places_here().release_on_behalf_of(self)
            raise
        return await self._hear(on_cancel)

    @trio.lowlevel.enable_ki_protection
    async def answer(self, reply: Reply, *, on_cancel: Callable[[], None]) -> Answered[Result] | Asked[Question]:
        """Answer the job's question; it goes on."""
        await self._take_place()
        self.asking = False
        self._reply = reply
        self._replied.release()
        return await self._hear(on_cancel)

    async def _take_place(self) -> None:
        places = _places_here()
        try:
            places.acquire_on_behalf_of_nowait(self)
        except trio.WouldBlock:
            with trio.CancelScope(shield=True):  # a wait for other guests' steps, each of which is bounded by limits
                await places.acquire_on_behalf_of(self)

    async def _hear(self, on_cancel: Callable[[], None]) -> Answered[Result] | Asked[Question]:
        try:
            said = self._heard_at_once() or await self._heard_later(on_cancel)
        finally:
            _places_here().release_on_behalf_of(self)
        self.asking = isinstance(said, Asked)
        self._run_soon()
        if (now := time.perf_counter()) - self._yielded > FAIR:
            self._yielded = now
            await trio.lowlevel.cancel_shielded_checkpoint()
        return said

    def _heard_at_once(self) -> Answered[Result] | Asked[Question] | None:
        if not self._quick.acquire(timeout=MOMENT):
            with self._change:
                if self._said is None:
                    self._asleep = True
                    return None
            self._quick.acquire()  # it was said between the two: the lock is open
        said, self._said = self._said, None
        return said

    async def _heard_later(self, on_cancel: Callable[[], None]) -> Answered[Result] | Asked[Question]:
        def abort(_raise: object) -> trio.lowlevel.Abort:
            on_cancel()
            return trio.lowlevel.Abort.FAILED

        self._task = trio.lowlevel.current_task()
        self._yielded = time.perf_counter()
        said: Answered[Result] | Asked[Question] = await trio.lowlevel.wait_task_rescheduled(abort)
        return said

    def _wake(self) -> None:
        """Something was said while trio slept."""
        self._run_soon()
        task, self._task = self._task, None
        said, self._said, self._asleep = self._said, None, False
        if task is not None:
            trio.lowlevel.reschedule(task, outcome.Value(said))

    def _run_soon(self) -> None:
        while self._soon:
            self._soon.popleft()()

    # From the job's thread

    def ask(self, question: Question) -> Reply | None:
        """Wait, on this thread, for trio's answer."""
        self._post(Asked(question))
        self._replied.acquire()
        reply, self._reply = self._reply, None
        return reply

    def call_soon(self, function: Callable[[], object]) -> None:
        """Have trio call this, in order with everything else that comes over the line."""
        self._soon.append(function)
        if self._token is not None:
            self._token.run_sync_soon(self._run_soon)

    def _post(self, said: Answered[Result] | Asked[Question]) -> None:
        with self._change:
            self._said = said
            if not self._asleep:
                self._quick.release()
                return
        if self._token is not None:
            with contextlib.suppress(trio.RunFinishedError):  # the run is gone, and with it whoever waited
                self._token.run_sync_soon(self._wake)


def _closed_lock() -> threading.Lock:
    lock = threading.Lock()
    lock.acquire()
    return lock


async def on_guest_thread[Made](job: Callable[[], Made]) -> Made:
    """Do a short job that enters a guest, such as starting one. It cannot be cancelled."""
    line: Line[Made, None, None] = Line()
    said = await line.run(job, on_cancel=lambda: None)
    if isinstance(said, Asked):
        raise TypeError("a short job asks nothing")
    return said.result.unwrap()
