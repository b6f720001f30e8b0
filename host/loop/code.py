"""`run_code`: the model writes Python, it runs in the loop's own sandbox session, and the outcome comes back in words.

Rules:

- A loop has one session, opened when it first runs code. Names live on from cell to cell for as long as the loop does.
- Cells run one after another in the order of the calls, also when a model asks for several at once: they share names.
- What a cell's calls pass on is cut when the model's call is made. Run with `context="cold"`, nothing is passed on.
- The outcome is text made for models: what was printed, the value, the error at the model's own line with a hint; of
  long text head and tail, with what is left out counted.
"""

from __future__ import annotations

import pprint
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, Final

import trio

from host.capability import Capability, Delegation
from host.capability._dispatch import Around, Before
from host.context import ContextChoice, Inherited
from host.loop.agent import Agent
from host.opening import Host, open_host
from host.session import HostSession, OnOutput
from sandbox import Outcome
from sandbox.image import Image
from sandbox.moment import Moment
from sandbox.workspace import Workspace

__all__ = ["Code", "Listening", "Queued", "shown"]

_MOST: Final = 20_000  # characters of a value, an output, or a traceback; about 5,000 tokens each


class Queued:
    """The place of one cell in the row: it waits for the one before it."""

    def __init__(self, before: trio.Event | None) -> None:
        self._before = before
        self.over = trio.Event()

    async def turn(self) -> None:
        """Come back when the cell before is over."""
        if self._before is not None:
            await self._before.wait()


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """What is told, and what is done, in the course of one cell; see `HostSession.run`."""

    record: Callable[[Delegation], None]
    around: Around
    before: Before | None
    on_output: OnOutput

    def as_options(self) -> dict[str, Any]:
        """As keyword arguments."""
        return {"record": self.record, "around": self.around, "before": self.before, "on_output": self.on_output}


class Code:
    """The sandbox session of one loop. It is opened when it is first needed; `aclose` gives it back.

    `extra` is in scope for its code beside the agent's capabilities; `state` is an interpreter to start from in place
    of a fresh one, settled before the first cell.
    """

    def __init__(
        self,
        agent: Agent,
        image: Image | str,
        extra: tuple[Capability, ...] = (),
        *,
        workspace: Workspace | None = None,
    ) -> None:
        self._agent = agent
        self._workspace = workspace
        self._capabilities = (*agent.capabilities, *extra)
        self.state: Moment | None = None
        self._image = image
        self._stack = AsyncExitStack()
        self._last: trio.Event | None = None
        self._session: HostSession | None = None

    async def run(self, source: str, inherited: Inherited, place: Queued, listening: Listening) -> Outcome:
        """Run one cell, whose delegating calls fork `inherited`, when its turn has come."""
        try:
            await place.turn()
            session = self._session or await self._open()
            return await session.run(source, inherited=inherited, **listening.as_options())
        finally:
            place.over.set()

    async def wake(self, data: bytes, choices: Mapping[int | str, ContextChoice], listening: Listening) -> Outcome:
        """Go on from a session that was put to sleep in the middle of a cell, making its waiting calls by these
        choices, and finish that cell.
        """
        host = await self._open_host()
        self._session = await self._stack.enter_async_context(host.resume(data, choices=choices))
        return await self._session.finish(**listening.as_options())

    def queue(self) -> Queued:
        """Take the next place in the row of cells. Whoever took one must `run`."""
        place = Queued(before=self._last)
        self._last = place.over
        return place

    @property
    def busy(self) -> bool:
        """Whether a cell runs or waits its turn."""
        return self._last is not None and not self._last.is_set()

    @property
    def session(self) -> HostSession | None:
        """The session, if one was opened."""
        return self._session

    async def _open(self) -> HostSession:
        host = await self._open_host()
        self._session = await self._stack.enter_async_context(host.session(state=self.state))
        return self._session

    async def _open_host(self) -> Host:
        agent = self._agent
        return await self._stack.enter_async_context(
            open_host(
                capabilities=self._capabilities,
                policy=agent.policy,
                context_policy=agent.context_policy,
                limits=agent.limits,
                image=self._image,
                workspace=self._workspace,
            )
        )

    async def aclose(self) -> None:
        """Close the session, if there is one."""
        await self._stack.aclose()
        self._session = None


def shown(outcome: Outcome) -> str:
    """An outcome in words for a model."""
    blocks: list[str] = []
    for name, text in (("stdout", outcome.stdout), ("stderr", outcome.stderr)):
        if text.strip():
            blocks.append(f"{name}:\n{_cut(text.rstrip())}")
    error = outcome.error
    if error is None and outcome.value is not None:
        blocks.append(f"value:\n{_cut(pprint.pformat(outcome.value, width=100, sort_dicts=False))}")
    if error is not None:
        blocks.append(f"error ({error.kind}):\n{_cut(error.traceback.rstrip() or f'{error.type}: {error.message}')}")
        if error.hint:
            blocks.append(f"hint: {error.hint}")
    if outcome.session == "restored":
        blocks.append("Your names are as they were before this code.")
    elif outcome.session == "lost":
        blocks.append("Your names are lost: the next code starts anew.")
    blocks += outcome.notices
    return "\n".join(blocks) or "It ran, printed nothing, and its last line has no value."


def _cut(text: str) -> str:
    if len(text) <= _MOST:
        return text
    head, tail = _MOST * 3 // 4, _MOST // 4
    return f"{text[:head]}\n[{len(text) - head - tail:,} characters are left out here]\n{text[-tail:]}"
