"""The calls that the guest has made and the host has not answered yet.

Rules:

- Numbers are unique and grow over the whole session. A call is in flight from its start to its answer, or until the
  guest gives it up: then it says so (`Abandon`), and an answer that was already under way is ignored.
- A call is encoded where it is written, so that what cannot be sent is an error at the agent's own line.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final, Never

from guest_stdlib.channel.errors import TooLarge, Unsendable
from guest_stdlib.channel.events import Abandon, Call, Failure, Return, Throw
from guest_stdlib.declared import Words

__all__ = ["CallFuture", "Calls", "TooManyCalls"]


class TooManyCalls(RuntimeError):
    """The cell has made as many calls as it may. Agent code may catch it; left alone it ends the cell as a limit."""

    failure_kind: Final = "limit"


TooManyCalls.__module__ = "builtins"  # tracebacks show it by its name alone


class CallFuture(asyncio.Future[Any]):
    """The answer of one call. Cancelling it gives the call up."""

    calls: Calls
    number: int

    def cancel(self, msg: Any | None = None) -> bool:
        """Give the call up: CancelledError at its await."""
        if not super().cancel(msg):
            return False
        self.calls.abandon(self.number)
        return True

    def give_up(self, error: BaseException) -> None:
        """Give the call up: `error` at its await."""
        self.set_exception(error)
        self.calls.abandon(self.number)


class Calls:
    """All calls of one session. `send` takes the events to the host with the next frame."""

    def __init__(self, *, send: Callable[[Call | Abandon], None], failure: Callable[[Failure], BaseException]) -> None:
        self._send = send
        self._failure = failure
        self._number = 0
        self.loop: asyncio.AbstractEventLoop | None = None
        self.in_flight: dict[int, CallFuture] = {}
        self.limit = sys.maxsize  # calls of one cell, refused ones included
        self.closed = False  # a cell is being left, from which nothing may be called any more
        self.made = 0
        self.fresh = 0  # made since the guest last rested
        self.latest = ""

    def start(
        self,
        path: str,
        args: tuple[object, ...],
        kwargs: Mapping[str, object],
        context: Words,
        token: str | None,
    ) -> CallFuture:
        """Make a call. What cannot be sent raises here, and so does a call beyond the limit."""
        if self.closed:
            raise asyncio.CancelledError("the cell is over")
        self.made += 1
        if self.made > self.limit:
            self._too_many()
        number = self._number + 1
        try:
            self._send(Call(call=number, path=path, args=args, kwargs=kwargs, context=context, token=token))
        except TooLarge as problem:
            raise ValueError(f"{path}: {problem}") from None
        except Unsendable as problem:
            raise TypeError(f"{path}: {problem}") from None
        self._number = number
        future = CallFuture(loop=self.loop)
        future.calls = self
        future.number = number
        self.in_flight[number] = future
        self.fresh += 1
        self.latest = path
        return future

    def count(self) -> None:
        """One more call of the running cell, made or refused."""
        self.made += 1
        if self.made > self.limit:
            self._too_many()

    def _too_many(self) -> Never:
        raise TooManyCalls(f"This cell has made {self.limit:,} calls, and that is the limit.")

    def new_cell(self) -> None:
        """Count anew."""
        self.made = self.fresh = 0

    def settle(self, event: Return | Throw) -> None:
        """Take an answer. One that nobody waits for any more is dropped."""
        future = self.in_flight.pop(event.call, None)
        if future is None or future.done():
            return
        if isinstance(event, Return):
            future.set_result(event.value)
        else:
            future.set_exception(self._failure(event.failure))

    def abandon(self, number: int) -> None:
        """Tell the host that a call's answer is not needed."""
        if self.in_flight.pop(number, None) is not None:
            self._send(Abandon(call=number))
