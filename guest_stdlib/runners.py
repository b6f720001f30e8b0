"""`asyncio.run` and its relatives where a loop already runs: they work, on the native stack.

Scripts that models write end in `asyncio.run(main())`, at top level or inside async code. CPython refuses that while
a loop runs, and here one always does. So these names run their coroutine on the session's loop and block until it is
done. What was started within ends with it, as under CPython: its tasks are told by the context that they inherit.
"""

from __future__ import annotations

import asyncio
import asyncio.events
import asyncio.runners
import builtins
import contextvars
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from types import TracebackType
from typing import Any, Final, Self

from guest_stdlib.loop import Loop
from guest_stdlib.unblocking import AT_TOP

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
        task: asyncio.Task[T] = self.start(_coroutine(coro), context)
        return _session_loop().run_until_complete(task)

    def start(self, coro: Coroutine[Any, Any, Any], context: contextvars.Context | None = None) -> asyncio.Task[Any]:
        """A task of this run."""
        own = self._own_context()
        return _session_loop().create_task(coro, context=context or own)

    def close(self) -> None:
        """End the tasks that were started within."""
        if not self._closed and self._left():
            _session_loop().run_until_complete(self.end())
        self._closed = True

    def _left(self) -> list[asyncio.Task[Any]]:
        return [
            task
            for task in _session_loop().tasks
            if isinstance(task, asyncio.Task) and not task.done() and task.get_context().get(_RUNNER) is self
        ]

    async def end(self) -> None:
        """End the tasks that were started within."""
        left, loop = self._left(), _session_loop()
        self._closed = True
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
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


async def _at_top(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """What stands in place of a call of `asyncio.run` where a cell may await: see unblocking.py."""
    if function is not run or len(args) != 1 or not options.keys() <= {"debug", "loop_factory"}:
        return function(*args, **options)
    runner = Runner(**options)
    try:
        result, leaving = await runner.start(_caught(_coroutine(args[0])))
    finally:
        await runner.end()
    if leaving is not None:
        raise leaving
    return result


async def _caught(main: Coroutine[Any, Any, Any]) -> tuple[Any, BaseException | None]:
    try:
        return await main, None
    except (SystemExit, KeyboardInterrupt) as leaving:  # as an exception of a task it would leave the loop
        return None, leaving


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
    setattr(builtins, AT_TOP, _at_top)
    for module, name, _ in _THEIRS:
        setattr(module, name, _OURS[name])


def uninstall() -> None:
    """Put asyncio's own back."""
    vars(builtins).pop(AT_TOP, None)
    for module, name, theirs in _THEIRS:
        setattr(module, name, theirs)
