"""What a loop offers its model, as one list: tools of the agent, of its capabilities, and those that come and go.

An offer takes the arguments as the model wrote them. It raises `ToolError` for what the model did wrong; what a
capability raises becomes one here, in the words that agent code would read.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final

from guest_stdlib.channel import Failure
from host.capability import Dispatch
from host.errors import CapabilityError
from host.loop.agent import Tool, ToolError
from host.loop.arguments import checked, parsed
from host.models.port import ToolSpec

__all__ = ["Offer", "of_capabilities", "of_tool", "ready", "said"]

_LOG: Final = logging.getLogger("branchpoint.capability")


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One tool as a loop runs it: `call` is given the JSON text that the model wrote.

    What must happen in the order of the calls, before anything waits, happens when `call` is called.
    """

    spec: ToolSpec
    call: Callable[[str], Awaitable[object]]
    terminal: bool = False


def of_tool(tool: Tool, within: Callable[[], AbstractContextManager[None]]) -> Offer:
    """A tool whose arguments are checked against its schema, and which is run within that."""

    async def call(text: str) -> object:
        with within():
            return await tool.run(checked(tool.spec.name, tool.spec.parameters, text))

    return Offer(spec=tool.spec, call=call, terminal=tool.terminal)


def of_capabilities(dispatch: Dispatch, specs: Iterable[ToolSpec]) -> Iterator[Offer]:
    """The tools of all capabilities of a table. Their arguments are checked by the dispatch."""
    for spec in specs:
        yield Offer(spec=spec, call=_calling(dispatch, spec.name))


def _calling(dispatch: Dispatch, name: str) -> Callable[[str], Awaitable[object]]:
    def call(text: str) -> Awaitable[object]:
        return finish(dispatch.invoke_tool(name, parsed(name, text)))

    async def finish(begun: Awaitable[object]) -> object:
        try:
            return await begun
        except Exception as error:
            failure = dispatch.failure(error)
            if failure.type == "CapabilityError" and not isinstance(error, CapabilityError):
                _LOG.warning("%s failed with an exception that it does not declare", name, exc_info=error)
            raise ToolError(said(failure)) from error

    return call


async def ready(value: object) -> object:
    """What a call gives that is done when it is begun."""
    return value


def said(failure: Failure) -> str:
    """A failure as a model reads it."""
    return f"{failure.type}: {failure.message}" if failure.message else failure.type
