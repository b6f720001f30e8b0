"""`asyncio.run` and its relatives where a loop already runs: they work, on the native stack.

Scripts that models write end in `asyncio.run(main())`, at top level or inside async code. CPython refuses that while
a loop runs, and here one always does. So these names run their coroutine on the session's loop and block until it is
done. What was started within ends with it, as under CPython: its tasks are told by the context that they inherit.
"""

from __future__ import annotations

import asyncio
import asyncio.events
import asyncio.runners
import contextvars
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from types import TracebackType
from typing import Any, Final, Self

from guest_stdlib.loop import Loop

__all__ = ["Runner", "install", "new_event_loop", "run", "uninstall"]

_RUNNER: Final[contextvars.ContextVar[object]] = contextvars.ContextVar("runner")


class Runner:
    """asyncio.Runner on the session's loop. `debug` and `loop_factory` are taken and change nothing."""

    def __init__(self, *, debug: bool | None = None, loop_factory: Callable[[], object] | None = None) -> None:
        del debug, loop_factory
        self._context: contextvars.Context | None = None
        self._closed = False

    def __enter__(self) -> Self:
        self._own_context()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def get_loop(self) -> Loop:
        """The session's loop."""
        self._own_context()
        return _session_loop()

    def run[T](self, coro: Coroutine[Any, Any, T] | Awaitable[T], *, context: contextvars.Context | None = None) -> T:
        """Run a coroutine to its end and return its result."""
        own = self._own_context()
        loop = _session_loop()
        task: asyncio.Task[T] = loop.create_task(_coroutine(coro), context=context or own)
        return loop.run_until_complete(task)

    def close(self) -> None:
        """End the tasks that were started within."""
        if self._closed:
            return
        self._closed = True
        loop = _session_loop()
        left = [
            task
            for task in loop.tasks
            if isinstance(task, asyncio.Task) and not task.done() and task.get_context().get(_RUNNER) is self
        ]
        if not left:
            return
        for task in left:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        for task in left:
            if not task.cancelled() and (error := task.exception()) is not None:
                message = "unhandled exception during asyncio.run() shutdown"
                loop.call_exception_handler({"message": message, "exception": error, "task": task})

    def _own_context(self) -> contextvars.Context:
        if self._closed:
            raise RuntimeError("Runner is closed")
        if self._context is None:
            self._context = contextvars.copy_context()
            self._context.run(_RUNNER.set, self)
        return self._context


def run[T](
    main: Coroutine[Any, Any, T] | Awaitable[T],
    *,
    debug: bool | None = None,
    loop_factory: Callable[[], object] | None = None,
) -> T:
    """Run a coroutine to its end and return its result."""
    with Runner(debug=debug, loop_factory=loop_factory) as runner:
        return runner.run(main)


def new_event_loop() -> Loop:
    """The session's loop: there is one."""
    return _session_loop()


def _set_event_loop(_: object) -> None:
    """Nothing: the session's loop stays."""


def _session_loop() -> Loop:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, Loop)
    return loop


def _coroutine(main: object) -> Coroutine[Any, Any, Any]:
    if asyncio.iscoroutine(main):
        return main
    if inspect.isawaitable(main):
        return _awaiting(main)
    name = getattr(main, "__name__", None)
    meant = f": write asyncio.run({name}())" if inspect.iscoroutinefunction(main) and name else ""
    raise TypeError(f"asyncio.run takes a coroutine, not {type(main).__name__}{meant}")


async def _awaiting[T](awaitable: Awaitable[T]) -> T:
    return await awaitable


_MODULES: Final[tuple[Any, ...]] = (asyncio, asyncio.runners, asyncio.events)
_OURS: Final = {"run": run, "Runner": Runner, "new_event_loop": new_event_loop, "set_event_loop": _set_event_loop}
_THEIRS: Final = [(module, name, vars(module)[name]) for module in _MODULES for name in _OURS if name in vars(module)]


def install() -> None:
    """Put these in asyncio's place."""
    for module, name, _ in _THEIRS:
        setattr(module, name, _OURS[name])


def uninstall() -> None:
    """Put asyncio's own back."""
    for module, name, theirs in _THEIRS:
        setattr(module, name, theirs)
