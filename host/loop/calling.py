"""The calls of one reply: all at once, each with its result, whatever the model wrote.

- Calls are begun one after another in the order in which the model wrote them, before any of them waits: what a call
  cuts or steers it cuts or steers then. What waits is waited for all at once.
- A call that was not made has failed, and says why in words that the model can act on.
- A fault (an exception that is no `ToolError`) ends all of them: what is not the model's doing is not told to it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

import trio

from host.conversation import Text, ToolCall, ToolResult
from host.events import CallBegan, CallEnded, Observe
from host.loop.agent import ToolError
from host.loop.offers import Offer
from host.loop.results import rendered
from host.models.port import Reply

__all__ = ["PENDING", "Made", "current_call", "make_all"]

PENDING: Final = "It is under way. The result comes by itself when it is there."
"""What a call gives whose result is still to come: nothing is put into the conversation for it now."""

_CUT: Final = " Your reply was cut off at its length limit, which may be why: write less in one call."
_CALL: Final[ContextVar[str | None]] = ContextVar("the model's call that is being made", default=None)


def current_call() -> str | None:
    """The id of the model's call in whose course this runs."""
    return _CALL.get()


class Made:
    """What came of one call. Until it has run, it has failed."""

    def __init__(self, call: ToolCall) -> None:
        self.call = call
        self.value: object = "The call did not run."
        self.failed = True
        self.ends = False

    @property
    def text(self) -> str:
        """The result as the model reads it."""
        return rendered(self.value)

    def result(self) -> ToolResult:
        """The result as it stands in the conversation."""
        return ToolResult(call=self.call.id, parts=(Text(text=self.text),), is_error=self.failed, name=self.call.name)


@contextmanager
def _within(call: ToolCall) -> Iterator[None]:
    reset = _CALL.set(call.id)
    try:
        yield
    finally:
        _CALL.reset(reset)


async def _failing(error: Exception) -> object:
    raise error


async def make_all(
    loop: str, reply: Reply, offers: Mapping[str, Offer], *, unknown: Callable[[str], str], tell: Observe
) -> list[Made]:
    """Make all calls of a reply. `unknown` says what to answer to a call of a tool that is not there."""
    made = [Made(call) for call in reply.calls]
    cut = reply.stop == "length"
    faults: list[Exception] = []

    def begin(one: Made) -> Awaitable[object]:
        tell(CallBegan(loop=loop, call=one.call))
        offer = offers.get(one.call.name)
        with _within(one.call):
            try:
                return _failing(ToolError(unknown(one.call.name))) if offer is None else offer.call(one.call.arguments)
            except Exception as error:  # told, or raised, where it is waited for
                return _failing(error)

    async def finish(one: Made, begun: Awaitable[object]) -> None:
        with _within(one.call):
            try:
                one.value = await begun
            except ToolError as error:
                one.value = f"{error}{_CUT}" if cut else str(error)
            else:
                one.failed = False
                one.ends = offers[one.call.name].terminal
        seconds = trio.current_time() - began
        tell(CallEnded(loop=loop, call=one.call, text=one.text, failed=one.failed, seconds=seconds))

    async def noting_faults(one: Made, begun: Awaitable[object]) -> None:
        try:
            await finish(one, begun)
        except Exception as fault:
            faults.append(fault)
            nursery.cancel_scope.cancel()

    began = trio.current_time()
    if len(made) == 1:
        await finish(made[0], begin(made[0]))
        return made
    async with trio.open_nursery() as nursery:
        for one in made:
            nursery.start_soon(noting_faults, one, begin(one))
    if faults:
        raise faults[0]
    return made
