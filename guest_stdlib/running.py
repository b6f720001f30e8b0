"""The cell that runs: its code, its value or its error, and what there is to say about it.

Rules:

- A coroutine as the last value was meant to be awaited: it is, and that is said. So is a task.
- Leaving with `sys.exit()` is an end like any other; leaving with a reason is a failure that names it.
- Notices are sentences for whoever wrote the code. Each says what happened and what to write.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
from collections.abc import Awaitable, Sequence
from typing import Final, cast

from guest_stdlib import rounds
from guest_stdlib.cells import Cell
from guest_stdlib.channel.events import Run
from guest_stdlib.failures import shortened
from guest_stdlib.pending import PendingCall

__all__ = ["Running", "left_normally"]

_TEXT: Final = 200  # characters of the agent's code in a sentence
_NOTICES: Final = 20


class Running:
    """The state of one cell from its `Run` to its `Done` or `Failed`."""

    def __init__(self, run: Run, filename: str) -> None:
        self.number = run.cell
        self.filename = filename
        self.notice = run.notice
        self.cell: Cell | None = None
        self.value: object = None
        self.error: BaseException | None = None
        self.said: list[str] = []
        self.rejected = 0
        self.rounds: dict[str, int] = {}  # by path: how often one call was all that there was to wait for
        self.leaving: BaseException | None = None  # SystemExit from one of its tasks

    async def main(self, namespace: dict[str, object]) -> None:
        """Run the code. What it raises is kept, not raised."""
        assert self.cell is not None
        try:
            value = await self.cell.run(namespace)
            if self.cell.target is None and _unawaited(value):
                self.said.append(_awaited(value, self.cell))
                value = await cast(Awaitable[object], value)
            self.value = value
        except BaseException as error:
            self.error = self.leaving or error

    def notices(self, unawaited: Sequence[str], left: Sequence[str]) -> tuple[str, ...]:
        """Everything to say at the end. `unawaited` are the calls never awaited, `left` what was still running."""
        cell = self.cell
        said = [*(cell.notices if cell else ()), *self.said]
        if cell is not None and cell.target is not None and self.error is None and self.value is not None:
            said.append(f"The cell ends with an assignment; its value is that of `{shortened(cell.target, _TEXT)}`.")
        said += [*unawaited, *left]
        if cell is not None and sum(self.rounds.values()) >= rounds.FEWEST:
            said += rounds.sentences(cell.tree(), self.rounds)
        if len(said) > _NOTICES:
            said[_NOTICES:] = [f"There are {len(said) - _NOTICES:,} more notices like these."]
        return tuple(said)


def left_normally(error: BaseException | None) -> bool:
    """Whether `sys.exit` was called without a reason."""
    return isinstance(error, SystemExit) and (error.code is None or error.code == 0)


def _unawaited(value: object) -> bool:
    return (
        isinstance(value, PendingCall) or inspect.iscoroutine(value) or (asyncio.isfuture(value) and not value.done())
    )


def _awaited(value: object, cell: Cell) -> str:
    if isinstance(value, PendingCall):
        return value.awaited_for_you()
    last = cell.tree().body[-1]
    text = shortened(ast.unparse(last), _TEXT)
    return f"{text} on line {last.lineno} was awaited for you. Write: await {text}"
