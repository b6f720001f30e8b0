"""What a session's code finds in scope, and under which policy it is compiled.

Rules:

- The namespace is that of a real module `__main__`: dataclasses, pickle and typing look there for the agent's classes.
- What the host declared comes once, at `open`. Code may overwrite the names; the runtime goes by what it was given.
- Random numbers start from a seed of the session's own: the generator's state in the image is the same for all.
"""

from __future__ import annotations

import builtins
import functools
import os
import random
from collections.abc import Sequence
from typing import NoReturn

from guest_stdlib import proxy, suggestions
from guest_stdlib.cells import Cell, Cells, Sources
from guest_stdlib.channel.events import Failure, Open, Run
from guest_stdlib.declared import Declared
from guest_stdlib.exceptions import failure_to_exception
from guest_stdlib.interrupts import TimeLimit
from guest_stdlib.pending import Bridge
from guest_stdlib.records import Record
from guest_stdlib.scene import Scene

__all__ = ["Scope"]


class Scope:
    """The namespace of a session's cells. `sources` are those of all cells that were compiled."""

    def __init__(self, namespace: dict[str, object]) -> None:
        self.namespace = namespace
        self.sources = Sources()
        self._cells = Cells(self.sources)
        self._declared: dict[str, object] = {}
        self._capabilities: tuple[Declared, ...] = ()

    def open(self, event: Open, bridge: Bridge) -> None:
        """Put in scope what the host declares."""
        random.seed(event.seed if event.seed is not None else os.urandom(32))
        self._capabilities = proxy.capabilities(event)
        self._declared = proxy.build(event, bridge)
        if event.policy == "restricted":
            from guest_stdlib.policy import restricted

            self.namespace.update(restricted.namespace())
            self._cells.policy = functools.partial(restricted.compile_cell, scope=self.namespace.keys())
        else:
            self.namespace["__builtins__"] = builtins
            self.namespace["exit"] = self.namespace["quit"] = _leave
        self.namespace.update(self._declared)
        self.namespace["TimeLimit"] = TimeLimit

    def compile(self, run: Run, filename: str) -> Cell:
        """A cell, ready to run. Raises what its author did wrong; nothing has run then."""
        return self._cells.compile(run.source, filename)

    def records(self) -> dict[str, type]:
        """The classes to rebuild when values arrive, by name."""
        return {
            name: declared
            for name, declared in self._declared.items()
            if isinstance(declared, type) and issubclass(declared, Record)
        }

    def exception(self, failure: Failure) -> BaseException:
        """What a failed call raises."""
        error = failure_to_exception(failure, self._declared)
        if failure.kind != "script":
            error.failure_kind = failure.kind  # type: ignore[attr-defined]
        return error

    def hint(self, error: BaseException, notice: str | None, unawaited: Sequence[str]) -> str | None:
        """What to write instead, where that is known."""
        scene = Scene(names=self.namespace, capabilities=self._capabilities, notice=notice, unawaited=tuple(unawaited))
        return suggestions.hint(error, scene)


def _leave(code: object = None) -> NoReturn:
    """End the cell."""
    raise SystemExit(code)


_leave.__name__ = _leave.__qualname__ = "exit"
