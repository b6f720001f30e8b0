"""A call that the agent's code has written but not awaited yet, and what the proxies need from the runtime.

Rules:

- A `PendingCall` is a coroutine in all that asyncio does with one (await, gather, tasks, timeouts), and lazy like
  one: nothing crosses before it is first awaited.
- Every other use of it is a forgotten `await`, and raises at once with the corrected line. Only `repr` and `hash`
  never raise: tracebacks, debuggers and sets use them.
- The token of the branch point never passes through here. The proxy says only whether a method delegates, and what
  the code chose; the runtime adds the token below `Bridge.start`.
"""

from __future__ import annotations

import asyncio
import reprlib
import sys
from collections.abc import Awaitable, Callable, Coroutine, Generator
from dataclasses import dataclass
from types import CodeType, TracebackType
from typing import Any, Never, Protocol

from guest_stdlib import corrections, expressions
from guest_stdlib.declared import Words

__all__ = ["Bridge", "PendingCall", "Start", "Target", "Unawaited", "refuse"]

type Start = Callable[[tuple[object, ...], dict[str, object], Words], asyncio.Future[object]]


class Bridge(Protocol):
    """What the proxies need from the runtime, which implements it.

    `proxy.build` hands parts of it to the proxies in a form that agent code cannot look into; it is never an
    attribute of theirs.
    """

    @property
    def unawaited(self) -> Unawaited:
        """The calls written in the running cell and not yet awaited: one `Unawaited()` for the whole session.

        The runtime clears it before each cell; at the cell's end its `sentences()` become notices.
        """

    def start(
        self,
        path: str,
        args: tuple[object, ...],
        kwargs: dict[str, object],
        *,
        context: Words,
        delegates: bool,
    ) -> asyncio.Future[object]:
        """Send a `Call` with the next step's output and return the future of its answer.

        `context` is what the code said for its choice, nothing where it made none. Where `delegates` is true the
        runtime adds the token of this run's branch point to the call. Cancelling the future sends `Abandon`. A `Throw`
        becomes the exception that `exceptions.failure_to_exception` makes of it.
        """

    def block(self, awaitable: Awaitable[object]) -> object:
        """Run the loop on the native stack until `awaitable` is done; return its result or raise its exception."""

    def rejected(self) -> None:
        """Count a call that was refused before it crossed."""


class Unawaited:
    """The calls that were written and not awaited, in the order in which they were written.

    A call enters itself, and leaves when it is awaited, or closed by whoever owns it.
    """

    __slots__ = ("_calls",)

    def __init__(self) -> None:
        self._calls: dict[PendingCall, None] = {}

    def __len__(self) -> int:
        return len(self._calls)

    def discard(self, call: PendingCall) -> None:
        """Forget a call: somebody else sees to it now."""
        self._calls.pop(call, None)

    def told(self, call: PendingCall) -> None:
        """Forget a call and all others that the same place in the code has made: what is wrong there was said."""
        same = [other for other in self._calls if other._code is call._code and other._instruction == call._instruction]
        for other in same:
            del self._calls[other]

    def clear(self) -> None:
        """Forget all: a new cell begins."""
        self._calls.clear()

    def beside(self, call: PendingCall) -> list[int]:
        """The instructions of the same code that made other calls still unawaited: one line may have several."""
        return [other._instruction for other in self._calls if other._code is call._code and other is not call]

    def sentences(self) -> list[str]:
        """One sentence for each place in the code, naming call and line, with the corrected line."""
        places: dict[tuple[CodeType, int], list[PendingCall]] = {}
        for call in self._calls:
            places.setdefault((call._code, call._instruction), []).append(call)
        said: dict[tuple[str, str], int] = {}
        for calls in places.values():
            key = _said(calls[0]), _advice(calls[0])
            said[key] = said.get(key, 0) + len(calls)
        return [_never_awaited(name, advice, times) for (name, advice), times in said.items()]


def _never_awaited(name: str, advice: str, times: int) -> str:
    if times == 1:
        return f"{name} was never awaited, so it was not made. {advice}"
    return f"{name} was never awaited, {times} times, so these calls were not made. {advice}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a call is made of, the same for all calls of one method: its path as it is shown, and what makes one. `own`
    of its arguments, the first ones, are the object that has the method.
    """

    path: str
    start: Start
    unawaited: Unawaited
    own: int = 0


class PendingCall(Coroutine[Any, Any, object]):
    """One call of a capability's method, checked but not made: what calling an `async def` function gives.

    To agent code its type is called `coroutine`, so that CPython's own messages about it read as they always do. It
    has no public attribute that an answer could have: `contacts.ask(...).name` must be refused, never answered.
    """

    __slots__ = ("_args", "_code", "_context", "_instruction", "_iterator", "_kwargs", "_made", "_target")

    def __init__(self, target: Target, args: tuple[object, ...], kwargs: dict[str, object], context: Words) -> None:
        self._target = target
        self._args = args
        self._kwargs = kwargs
        self._context = context
        self._made = False
        self._iterator: Generator[Any, None, object] | None = None
        frame = sys._getframe(2)
        if frame.f_globals.get("__name__") != "__main__":
            frame = expressions.agent_frame(3)
        self._code: CodeType = frame.f_code
        self._instruction: int = frame.f_lasti
        target.unawaited._calls[self] = None

    # As a coroutine

    def __await__(self) -> Generator[Any, None, object]:
        if self._made:
            raise RuntimeError("cannot reuse already awaited coroutine")
        self._made = True
        self._target.unawaited._calls.pop(self, None)
        try:
            future = self._target.start(self._args, self._kwargs, self._context)
        except BaseException as error:
            # Frames below hold the runtime; what agent code catches must not lead there.
            raise error.with_traceback(None) from None
        return future.__await__()

    def send(self, value: object) -> Any:
        """Make the call on first use, then go on waiting for its answer, as a coroutine does."""
        if self._iterator is None:
            self._iterator = self.__await__()
        try:
            return self._iterator.send(value)  # type: ignore[arg-type]
        except BaseException:
            self._iterator = None
            raise

    def throw(
        self,
        typ: type[BaseException] | BaseException,
        val: BaseException | object = None,
        tb: TracebackType | None = None,
    ) -> Any:
        """Raise at the point where the call waits. A call that was not made yet is then never made."""
        error = typ if isinstance(typ, BaseException) else val if isinstance(val, BaseException) else typ()
        if tb is not None:
            error = error.with_traceback(tb)
        if self._iterator is None:
            self.close()
            raise error
        try:
            return self._iterator.throw(error)
        except BaseException:
            self._iterator = None
            raise

    def close(self) -> None:
        """Give the call up. One that was not made yet is never made."""
        self._made = True
        self._target.unawaited._calls.pop(self, None)
        if self._iterator is not None:
            iterator, self._iterator = self._iterator, None
            iterator.close()

    # As a text

    def __repr__(self) -> str:
        arguments = [reprlib.repr(argument) for argument in self._args[self._target.own :]]
        arguments += [f"{name}={reprlib.repr(argument)}" for name, argument in self._kwargs.items()]
        state = "awaited" if self._made else "not awaited"
        return f"<coroutine {self._target.path}({', '.join(arguments)}) on line {_line(self)}, {state}>"

    def awaited_for_you(self) -> str:
        """The notice for a call on the last line of a cell, which the runtime awaits. Ask for it before that."""
        return f"{_said(self)} was awaited for you. {_advice(self)}"

    # As anything else: a forgotten await

    def _misused(self, *_: object) -> Never:
        refuse(self)

    def __getattr__(self, name: str) -> Never:
        # inspect, asyncio, copy and abc probe for these, and take an AttributeError for the answer.
        if name.startswith(("__", "cr_", "gi_", "ag_", "_asyncio", "_is_coroutine")):
            raise AttributeError(f"'coroutine' object has no attribute {name!r}")
        refuse(self)

    __hash__ = object.__hash__
    __str__ = __format__ = __bytes__ = _misused
    __bool__ = __len__ = __iter__ = __aiter__ = __reversed__ = __contains__ = _misused
    __getitem__ = __setitem__ = __delitem__ = _misused
    __enter__ = __aenter__ = _misused
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _misused
    __int__ = __float__ = __complex__ = __index__ = __round__ = __abs__ = __neg__ = __pos__ = __invert__ = _misused
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _misused
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __divmod__ = __rdivmod__ = __pow__ = __rpow__ = _misused
    __matmul__ = __rmatmul__ = __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _misused
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _misused

    def __reduce_ex__(self, protocol: object) -> Never:
        raise TypeError("cannot pickle 'coroutine' object")


PendingCall.__name__ = PendingCall.__qualname__ = "coroutine"


def refuse(call: PendingCall) -> Never:
    """Raise the TypeError for a call that was used as if it were its answer. No notice tells the same again."""
    if call._made:
        keep = f"answer = await {call._target.path}(...)"
        raise TypeError(f"{_said(call)} is the call, not its answer. Keep what await gives: {keep}")
    said = f"{_said(call)} was not awaited. {_advice(call)}"
    call._target.unawaited.told(call)
    raise TypeError(said)


def _said(call: PendingCall) -> str:
    written = len(call._args) > call._target.own or call._kwargs
    return f"{call._target.path}({'...' if written else ''}) on line {_line(call)}"


def _line(call: PendingCall) -> int:
    return expressions.line(call._code, call._instruction)


def _advice(call: PendingCall) -> str:
    target = call._target
    return corrections.advice(target.path, call._code, call._instruction, target.unawaited.beside(call))
