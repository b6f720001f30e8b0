"""What a session's code finds in scope, and under which policy it is compiled.

Rules:

- The namespace is that of a real module `__main__`: dataclasses, pickle and typing look there for the agent's classes.
- What the host declared comes once, at `open`. Code may overwrite the names; the runtime goes by what it was given.
- A session that is opened anew has the names that it had, but those of the earlier capabilities. What code kept of them
  (proxies, methods, calls) stays what it is and refuses: it was somebody else's. The host would refuse it as well.
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
        self._known = proxy.Known()
        self._capabilities: tuple[Declared, ...] = ()
        self.gone: frozenset[str] = frozenset()  # names of capabilities that there were before it was opened anew

    def open(self, event: Open, bridge: Bridge) -> None:
        """Put in scope what the host declares."""
        random.seed(event.seed if event.seed is not None else os.urandom(32))
        anew, before, earlier = bool(self._declared), self._declared, self._names()
        self._capabilities = proxy.capabilities(event)
        self._declared = proxy.build(event, bridge, self._known)
        if anew:
            for name in earlier:  # classes of records and errors stay: they are no authority, and functions use them
                if self.namespace.get(name) is before[name]:
                    del self.namespace[name]
            self.gone = (self.gone | earlier) - self._names()
        elif event.policy == "restricted":
            from guest_stdlib.policy import restricted

            self.namespace.update(restricted.namespace())
            self._cells.policy = functools.partial(restricted.compile_cell, scope=self.namespace.keys())
        else:
            self.namespace["__builtins__"] = builtins
            self.namespace["exit"] = self.namespace["quit"] = _leave
        self.namespace.update(self._declared)
        self.namespace["TimeLimit"] = TimeLimit

    def _names(self) -> frozenset[str]:
        return frozenset(declared.name for declared in self._capabilities)

    def refuse_gone(self, path: str) -> None:
        """Raise PermissionError if this is the path of a capability that is gone."""
        name = path.partition(".")[0]
        if name in self.gone:
            here = ", ".join(sorted(self._names())) or "none"
            raise PermissionError(
                f"{path}: `{name}` belongs to the code that this interpreter was copied from, and did not come along. "
                f"Capabilities here: {here}."
            )

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
