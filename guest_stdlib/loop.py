"""asyncio without I/O: it runs until every coroutine waits on the host or on a timer, and then says so.

Rules:

- There is one loop. It is the running loop for the whole session, so asyncio works at top level, in plain code and in
  async code.
- Nothing here waits by itself. `run_ready` returns when nothing can go on; whoever called it asks the host. Only
  `run_until_complete`, which must not return before its awaitable is done, asks through `wait`, on the native stack.
- Order is first in, first out, so the same code on the same answers runs in the same order.
- The clock is a call to the host: it is read only while timers exist.
- Code that polls (`while not done: await asyncio.sleep(0)`) never comes to rest. After some passes the host is let in
  all the same, if calls are on their way.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import contextvars
import heapq
import math
import sys
import time
import weakref
from asyncio.tasks import _swap_current_task  # type: ignore[attr-defined]
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Sized
from typing import Any, Final

from guest_stdlib.pending import PendingCall
from guest_stdlib.refusals import refuse

__all__ = ["DEADLOCK", "Loop", "TooManyTasks", "answer"]

type ExceptionContext = dict[str, Any]
type ExceptionHandler = Callable[[asyncio.AbstractEventLoop, ExceptionContext], object]
type TaskFactory = Callable[..., asyncio.Future[Any]]

DEADLOCK: Final = "This waits for something that will never come: no call is on its way, and no timer is set."

_PASSES: Final = 100  # how often the ready queue is gone through before the host is let in
_NESTED: Final = 40  # each level of blocking inside blocking costs native stack


class TooManyTasks(RuntimeError):
    """More tasks are alive than the session allows. Agent code may catch it; left alone it ends the cell as a limit."""

    failure_kind: Final = "limit"


TooManyTasks.__module__ = "builtins"  # tracebacks show it by its name alone


def _make_task(loop: asyncio.AbstractEventLoop, coro: Any, **options: Any) -> asyncio.Task[Any]:
    return asyncio.Task(coro, loop=loop, **options)


async def answer(call: Awaitable[Any]) -> Any:
    """A call as a coroutine proper: tasks run those faster, and ask them questions that a call takes for a misuse."""
    return await call


class Loop(asyncio.AbstractEventLoop):
    """The guest's event loop.

    `wait` sends what the guest has to say and takes the host's answer (events, or nothing when a timer is due), on the
    native stack. `in_flight` holds the calls that the host still owes answers to. `reached` is called at a point where
    nothing of the loop is half done, after `interrupted` was set.
    """

    def __init__(
        self,
        *,
        wait: Callable[[], None],
        in_flight: Sized,
        reached: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._wait = wait
        self._in_flight = in_flight
        self._reached = reached
        self.time = clock  # type: ignore[method-assign]
        self._ready: collections.deque[asyncio.Handle] = collections.deque()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._timers_cancelled = 0
        self._order = 0
        self._factory: TaskFactory | None = None
        self._handler: ExceptionHandler | None = None
        self._stopped: list[asyncio.Future[None]] = []
        self._previous_hooks = sys.get_asyncgen_hooks()
        # Alive, oldest first. Held here, so that none is lost to the collector.
        self.tasks: dict[asyncio.Future[Any], None] = {}
        # What blocking runs wait for, outermost first, each with the task whose turn it holds up.
        self.blocked: list[tuple[asyncio.Future[Any], asyncio.Task[Any] | None]] = []
        self.closing: set[asyncio.Future[Any]] = set()  # tasks that close generators which the collector found
        self.generators: weakref.WeakSet[AsyncGenerator[Any, Any]] = weakref.WeakSet()
        self.task_limit = sys.maxsize
        self.interrupted = False
        self.report: Callable[[ExceptionContext], None] = lambda _: None
        self.adopt: Callable[[PendingCall], None] = lambda _: None  # a task will see to this call

    # Running

    def run_ready(self, until: asyncio.Future[Any] | None = None) -> None:
        """Run callbacks until nothing can go on, or `until` is done.

        SystemExit and KeyboardInterrupt from a callback leave it, as they leave CPython's loop; the rest stays ready.
        """
        ready = self._ready
        handle: asyncio.Handle | None
        passes = 0
        while True:
            if self.interrupted:
                self._reached()
            if self._timers:
                self._take_due()
            if not ready:
                if self.interrupted:
                    continue
                return
            for _ in range(len(ready)):
                if self.interrupted or not ready:  # nothing goes on before an interrupt; a blocking run ran the others
                    break
                handle = ready.popleft()
                if not handle._cancelled:
                    handle._run()
            handle = None  # an exception that is kept keeps this frame, which would keep the task
            if until is not None and until.done():
                return
            passes += 1
            if passes >= _PASSES and self._in_flight:
                return

    def wake(self) -> float | None:
        """Seconds until something here can go on by itself, None if only the host can make it go on."""
        if self._ready:
            return 0.0
        timers = self._timers
        while timers and timers[0][2]._cancelled:
            heapq.heappop(timers)
            self._timers_cancelled -= 1
        return max(0.0, timers[0][0] - self.time()) if timers else None

    def stuck(self) -> bool:
        """Whether nothing can ever go on again here."""
        return not self._in_flight and self.wake() is None

    def run_until_complete[T](self, future: Generator[Any, None, T] | Awaitable[T]) -> T:
        """Run on the native stack until `future` is done; also inside a running task, whose turn it then still is."""
        if len(self.blocked) >= _NESTED:
            if asyncio.iscoroutine(future):
                future.close()
            raise RuntimeError(f"{_NESTED} blocking runs are nested here; make the functions async, and await them")
        ours = not asyncio.isfuture(future)
        waited: asyncio.Future[T] = asyncio.ensure_future(future, loop=self)  # type: ignore[arg-type]
        self.blocked.append((waited, _swap_current_task(self, None)))
        try:
            self.run_ready(waited)
            while not waited.done():
                if self.stuck():
                    raise RuntimeError(DEADLOCK)  # noqa: TRY301  # it is raised at the agent's line, like any other
                self._wait()
                self.run_ready(waited)
        except BaseException:
            if ours:
                waited.cancel()
            raise
        finally:
            _swap_current_task(self, self.blocked.pop()[1])
        return waited.result()

    def run_forever(self) -> None:
        """Run until `stop` is called."""
        stopped: asyncio.Future[None] = self.create_future()
        self._stopped.append(stopped)
        self.run_until_complete(stopped)

    def stop(self) -> None:
        """End the innermost `run_forever`."""
        if self._stopped:
            stopped = self._stopped.pop()
            if not stopped.done():
                stopped.set_result(None)

    def is_running(self) -> bool:
        """Always: it is the session's loop."""
        return True

    def is_closed(self) -> bool:
        """Never: `close` in agent code closes nothing."""
        return False

    def close(self) -> None:
        """Nothing: the loop belongs to the session."""

    async def shutdown_asyncgens(self) -> None:
        """Close all async generators that were begun and not finished."""
        generators = self.unfinished()
        closed = await asyncio.gather(*(generator.aclose() for generator in generators), return_exceptions=True)
        for error in closed:
            if isinstance(error, BaseException):
                self.call_exception_handler({"message": "Closing an async generator failed", "exception": error})

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:  # noqa: ASYNC109  # asyncio's own
        """Nothing: there is none."""

    def unfinished(self) -> list[AsyncGenerator[Any, Any]]:
        """The async generators that were begun and stand somewhere in their middle."""
        return [generator for generator in self.generators if getattr(generator, "ag_frame", None) is not None]

    def forget(self) -> None:
        """Drop all callbacks and timers: a cell ended."""
        self._ready.clear()
        self._timers.clear()
        self._timers_cancelled = 0

    def install(self) -> None:
        """Make this the running loop of the interpreter."""
        asyncio._set_running_loop(self)
        sys.set_asyncgen_hooks(firstiter=self.generators.add, finalizer=self._close_generator)

    def uninstall(self) -> None:
        """Put back what was before."""
        asyncio._set_running_loop(None)
        sys.set_asyncgen_hooks(*self._previous_hooks)

    def _close_generator(self, generator: AsyncGenerator[Any, Any]) -> None:
        self.generators.discard(generator)
        self.closing.add(task := self.create_task(generator.aclose()))
        task.add_done_callback(self.closing.discard)

    # Callbacks and timers

    def call_soon[*Ts](
        self, callback: Callable[[*Ts], object], *args: *Ts, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        """Run a callback in the next pass."""
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    call_soon_threadsafe = call_soon

    def call_later[*Ts](
        self, delay: float, callback: Callable[[*Ts], object], *args: *Ts, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        """Run a callback after `delay` seconds."""
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at[*Ts](
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        """Run a callback at a time of `time()`."""
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        if when < math.inf:  # what never happens is no timer
            self._order += 1
            heapq.heappush(self._timers, (when, self._order, handle))
        return handle

    def time(self) -> float:
        """The monotonic clock, in seconds."""
        return time.monotonic()

    def _take_due(self) -> None:
        timers, now = self._timers, None
        while timers:
            when, _, handle = timers[0]
            if handle._cancelled:
                self._timers_cancelled -= 1
            else:
                if now is None:
                    now = self.time()
                if when > now:
                    return
                self._ready.append(handle)
            heapq.heappop(timers)

    def _timer_handle_cancelled(self, _: asyncio.TimerHandle) -> None:
        # A timeout that was not needed stays in the heap until it is due: many short calls under long ones pile up.
        self._timers_cancelled += 1
        if self._timers_cancelled > 100 and self._timers_cancelled * 2 > len(self._timers):
            self._timers = [timer for timer in self._timers if not timer[2]._cancelled]
            heapq.heapify(self._timers)
            self._timers_cancelled = 0

    # Futures and tasks

    def create_future(self) -> asyncio.Future[Any]:
        """A future of this loop."""
        return asyncio.Future(loop=self)

    def create_task[T](self, coro: Generator[Any, None, T] | Coroutine[Any, Any, T], **options: Any) -> asyncio.Task[T]:
        """A task of this loop. Raises `TooManyTasks` beyond `task_limit`."""
        alive = len(self.tasks)
        if alive >= self.task_limit:
            with contextlib.suppress(AttributeError):
                coro.close()
            raise TooManyTasks(f"{alive:,} tasks are alive, and the limit is {self.task_limit:,}. Start fewer at once.")
        if type(coro) is PendingCall:
            self.adopt(coro)
            coro = answer(coro)
        make = self._factory or _make_task
        task: asyncio.Task[T] = make(self, coro, **options)  # type: ignore[assignment]
        if not task.done():
            self.tasks[task] = None
            task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Future[Any]) -> None:
        self.tasks.pop(task, None)

    def set_task_factory(self, factory: TaskFactory | None) -> None:
        """Let `factory` make the tasks."""
        self._factory = factory

    def get_task_factory(self) -> TaskFactory | None:
        """What makes the tasks, None for asyncio.Task."""
        return self._factory

    # Errors that nobody awaits

    def call_exception_handler(self, context: ExceptionContext) -> None:
        """Report an error that reached no await, to the agent's handler or to `report`."""
        if self._handler is None:
            self.report(context)
            return
        try:
            self._handler(self, context)
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:
            self.report({"message": "Unhandled error in exception handler", "exception": error})

    def default_exception_handler(self, context: ExceptionContext) -> None:
        """Report an error that reached no await."""
        self.report(context)

    def set_exception_handler(self, handler: ExceptionHandler | None) -> None:
        """Let `handler` report errors that reached no await."""
        self._handler = handler

    def get_exception_handler(self) -> ExceptionHandler | None:
        """What reports errors that reached no await, None for the session's own report."""
        return self._handler

    def get_debug(self) -> bool:
        """Never: asyncio's debug mode costs a stack walk for each callback."""
        return False

    def set_debug(self, enabled: bool) -> None:
        """Nothing."""


refuse(Loop)
