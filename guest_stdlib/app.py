"""The guest: everything that runs inside, behind one function. `step` takes a frame from the host and gives one back.

Rules:

- `step` never raises: an exception that escaped it would abort the interpreter. What nobody foresaw ends the running
  cell as a crash, with a sentence.
- A step runs until everything waits, then says what it wants. Code that blocks on its native stack does the same in
  `_exchange`: what a step would have returned goes out, what the next step would be given comes back.
- A cell owns its tasks. When its code has ended they are ended too, and only then is it `Done` or `Failed`: between
  cells nothing is pending.
- Whatever was printed is with the host before anything else is.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from asyncio.tasks import _swap_current_task  # type: ignore[attr-defined]
from collections.abc import Awaitable, Callable, Iterator
from types import ModuleType
from typing import Any, Final

from guest_stdlib import ending, failures, outcomes, runners
from guest_stdlib.calls import CallFuture, Calls
from guest_stdlib.channel.events import (
    NEED_DATA,
    Cancel,
    Failed,
    Failure,
    FailureKind,
    FromHost,
    Open,
    Output,
    Rest,
    Return,
    Run,
    Stream,
    Throw,
)
from guest_stdlib.channel.state import GuestChannel
from guest_stdlib.channel.turns import Via
from guest_stdlib.console import Console
from guest_stdlib.declared import Words
from guest_stdlib.files import Files
from guest_stdlib.interrupts import Interrupts, TimeLimit, raise_deadlock
from guest_stdlib.loop import Loop
from guest_stdlib.pending import PendingCall, Unawaited
from guest_stdlib.running import Running
from guest_stdlib.scope import Scope

__all__ = ["Guest"]

_FRAMES: Final = 500
_DEADLOCKS: Final = 1000  # a cell that goes on waiting for nothing after so many errors is given up


@contextlib.contextmanager
def _room_on_the_stack() -> Iterator[None]:
    """Let the agent's recursion limit be no reason to break off in the middle of a turn."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(limit + _FRAMES)
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


class Guest:
    """One guest: a session of cells in this interpreter. To the proxies it is their `Bridge`.

    `emit` takes frames of output while a cell runs. `exchange` takes what a step would return and gives what the next
    step would be given; neither may raise. `clock` is monotonic, in seconds. `files` is told whether there are any.
    """

    def __init__(
        self,
        *,
        emit: Callable[[bytes], None],
        exchange: Callable[[bytes], bytes],
        clock: Callable[[], float] = time.monotonic,
        files: Files | None = None,
    ) -> None:
        self._emit = emit
        self._files = files or Files()
        self._ask_host = exchange
        self._channel = GuestChannel()
        self._module = ModuleType("__main__")
        self._scope = Scope(vars(self._module))
        self._running: Running | None = None
        self._waited: asyncio.Future[Any] | None = None  # the task whose end the running cell needs next
        self._held: list[Output] = []  # written between cells: the next one begins with it
        self.unawaited = Unawaited()
        self.calls = Calls(send=self._channel.queue, failure=self._scope.exception)
        self.loop = Loop(  # type: ignore[abstract]  # the rest of its methods are put there by a loop, to refuse
            wait=self._wait, in_flight=self.calls.in_flight, reached=self._reached, clock=clock
        )
        self.loop.report = self._report
        self.calls.loop = self.loop
        self.loop.adopt = self.unawaited.discard
        self.interrupts = Interrupts(
            loop=self.loop,
            sources=self._scope.sources,
            ask=self._ask,
            running=lambda: self._running is not None,
            borders=frozenset((Guest.step.__code__, Guest._exchange.__code__)),
        )
        self.console = Console(self._output, self.interrupts)
        self._previous_main = sys.modules.get("__main__")
        sys.modules["__main__"] = self._module
        self.console.install()
        self.loop.install()
        runners.install()
        self.interrupts.install()

    def uninstall(self) -> None:
        """Give the interpreter back as it was, for whoever goes on after the guest: warming, and tests."""
        self.interrupts.uninstall()
        runners.uninstall()
        self.loop.uninstall()
        self.console.uninstall()
        if self._previous_main is not None:
            sys.modules["__main__"] = self._previous_main
        self._scope.sources.forget()

    # Turns

    def step(self, frame: bytes) -> bytes:
        """Take the host's events, run until everything waits, and say what is wanted."""
        try:
            self._take(frame)
            del frame  # an exception that the agent keeps keeps this frame too
            self._run()
            return self._rest(Via.STEP, self.loop.wake() if self._running else None)
        except BaseException as error:
            return self._crash(error)

    def _exchange(self, wake: float | None) -> None:
        """Say what is wanted and take the answer, on the native stack."""
        with _room_on_the_stack():
            self._take(self._ask_host(self._rest(Via.EXCHANGE, wake)))

    def _wait(self) -> None:
        self._exchange(self.loop.wake())

    def _rest(self, via: Via, wake: float | None) -> bytes:
        calls, running = self.calls, self._running
        if calls.fresh:
            if calls.fresh == 1 and running is not None and len(calls.in_flight) == 1:
                running.rounds[calls.latest] = running.rounds.get(calls.latest, 0) + 1
            calls.fresh = 0
        self.console.flush()
        return self._channel.send(Rest(wake=wake), via=via)

    def _take(self, frame: bytes) -> None:
        channel = self._channel
        channel.receive(frame)
        while (event := channel.next_event()) is not NEED_DATA:
            if type(event) is Return or type(event) is Throw:
                self.calls.settle(event)
            else:
                self._told(event)

    def _told(self, event: FromHost) -> None:
        match event:
            case Run():
                self._begin(event)
            case Cancel():
                if not self.loop.blocked:
                    self._run()  # answers that came before it are taken first
                if self._running is not None:
                    self.interrupts.deliver(event)
            case Open():
                self._open(event)
            case _:
                raise TypeError(f"{type(event).__name__} is settled elsewhere")

    def _ask(self) -> Cancel:
        """Ask the host why it interrupts."""
        with _room_on_the_stack():
            self.console.flush()
            self._channel.receive(self._ask_host(self._channel.ask()))
        event = self._channel.next_event()
        assert isinstance(event, Cancel)
        return event

    def _output(self, stream: Stream, text: str) -> None:
        output = Output(stream=stream, text=text)
        if self.calls.closed:
            return  # it was somebody else's
        if self._running is None:
            self._held.append(output)
        else:
            self._emit(self._channel.emit(output))

    # A session

    def _open(self, event: Open) -> None:
        if self._running is not None:
            self._leave()
        self._held.clear()
        self._files.open(workspace=event.workspace)
        self._scope.open(event, self)
        self._channel.know(self._scope.records())
        self._token = event.token
        self.loop.task_limit = event.limits.get("tasks", sys.maxsize)
        self.calls.limit = event.limits.get("calls", sys.maxsize)

    def _leave(self) -> None:
        """End a cell in whose middle this guest is, as a copy of one that goes on elsewhere.

        Its code may clean up, unseen, and can call nothing. The names are those that it had before.
        """
        names = dict(self._scope.namespace)
        self._running = self._waited = None  # so no interrupt is raised in it: the host stops a guest that goes on
        self.calls.in_flight.clear()
        self.calls.closed = True
        with contextlib.suppress(BaseException):  # no memory, say: it is over all the same
            ending.leave(self.loop)
        ending.abandon_tasks(self.loop)
        self.loop.forget()
        self.console.end_cell()
        self.calls.closed = False
        self._clear()
        self._scope.namespace.clear()
        self._scope.namespace.update(names)

    # A cell, from its beginning to its end

    def _begin(self, run: Run) -> None:
        scope = self._scope
        filename = scope.sources.name(run.name, run.cell)
        running = self._running = Running(run, filename)
        self.interrupts.reset()
        self.calls.new_cell()
        self.unawaited.clear()
        held, self._held = self._held, []
        for output in held:
            self._emit(self._channel.emit(output))
        try:
            running.cell = scope.compile(run, filename)
        except BaseException as error:
            running.error = error
            self._end([])
            return
        main = asyncio.Task(running.main(scope.namespace), loop=self.loop, name="cell")
        self.loop.tasks[main] = None
        self._waited = main

    def _run(self) -> None:
        """Run until everything waits; if the running cell's code ends meanwhile, end what it left, and the cell."""
        deadlocks = 0
        while self._waited is not None:
            waited = self._waited
            try:
                self.loop.run_ready(waited)
            except (SystemExit, KeyboardInterrupt) as error:  # from a task: asyncio ends the whole run with it
                if self._running is not None and waited in self.loop.tasks and not waited.done():
                    self._running.leaving = self._running.leaving or error
                    waited.cancel()
                continue
            if waited.done():
                self._ended(waited)
            elif self.loop.stuck() and deadlocks < _DEADLOCKS:
                deadlocks += 1
                raise_deadlock(self.loop)
            else:
                return

    def _ended(self, waited: asyncio.Future[Any]) -> None:
        loop = self.loop
        left: list[str] = []
        if loop.tasks.pop(waited, self) is self:  # not the cell's code, but the end of what it left
            left = waited.result()
        elif ending.anything_left(loop):
            self.interrupts.deliver_overdue()
            stopped = self.interrupts.stop is not None
            self._waited = asyncio.Task(ending.end(loop, stopped=stopped), loop=loop, name="end of the cell")
            return
        self._end(left)

    def _end(self, left: list[str]) -> None:
        running = self._running
        assert running is not None
        self._waited = None
        ending.abandon_tasks(self.loop)
        self.loop.forget()
        outcomes.tell(
            running,
            self._scope,
            self._channel.queue,
            unawaited=self.unawaited.sentences(),
            left=left,
            stop=self.interrupts.stop,
            limits=self._channel.limits,
        )
        self.console.end_cell()
        self._clear()

    def _clear(self) -> None:
        self._running = self._waited = None
        self.interrupts.reset()
        self.calls.in_flight.clear()  # the end of a cell ends its calls
        self.unawaited.clear()
        self.loop.blocked.clear()

    def _crash(self, error: BaseException) -> bytes:
        """End the cell after what nobody foresaw."""
        running = self._running
        try:
            _swap_current_task(self.loop, None)
            ending.abandon_tasks(self.loop)
            self.loop.forget()
            if running is not None and self._channel.cell is not None:
                kind: FailureKind = "limit" if isinstance(error, MemoryError) else "crash"
                message = f"The sandbox's own code failed: {type(error).__name__}: {error}"
                failure = Failure(kind=kind, type=type(error).__name__, message=failures.shortened(message, 1000))
                self._channel.queue(Failed(cell=running.number, failure=failure))
            self._clear()
            return self._channel.send(Rest())
        except BaseException:
            self._clear()
            return b""  # no frame: the host sees a broken peer

    # What the proxies need

    def start(
        self,
        path: str,
        args: tuple[object, ...],
        kwargs: dict[str, object],
        *,
        context: Words,
        delegates: bool,
    ) -> CallFuture:
        """Make a call: its answer, to be awaited."""
        if self._scope.gone:
            self._scope.refuse_gone(path)
        future = self.calls.start(path, args, kwargs, context, self._token if delegates else None)
        if self.interrupts.late:
            future.cancel()
            self.interrupts.catch_up()
        return future

    def block(self, awaitable: Awaitable[object]) -> object:
        """Wait on the native stack. While it waits for one call nothing else runs, as in plain code anywhere."""
        if not isinstance(awaitable, PendingCall):
            return self.loop.run_until_complete(awaitable)
        try:
            self._wait_for(awaitable.send(None))
            awaitable.send(None)
        except StopIteration as answer:
            return answer.value
        raise RuntimeError("a call waited twice")

    def _wait_for(self, future: CallFuture) -> None:
        future._asyncio_future_blocking = False  # it was yielded to us in place of a task
        blocked = self.loop.blocked
        blocked.append((future, asyncio.current_task(self.loop)))
        try:
            while not future.done():
                self._exchange(None)
                if self.loop.interrupted:
                    self.interrupts.reached()
        finally:
            blocked.pop()

    def rejected(self) -> None:
        """A call was refused before it crossed."""
        if self._running is not None:
            self._running.rejected += 1
        self.calls.count()

    # Reports

    def _reached(self) -> None:
        self.interrupts.reached()

    def _report(self, context: dict[str, Any]) -> None:
        """What asyncio logs: an exception that nobody awaited, mostly."""
        error = context.get("exception")
        silent = TimeLimit, asyncio.CancelledError, SystemExit, KeyboardInterrupt
        if isinstance(error, silent) or self.interrupts.stop is not None or self.calls.closed:
            return
        self.console.stderr.write(failures.logged(context, self._scope.sources))
