"""A callback for sandbox tests that is its own record: it answers by path, and can be told to wait."""

from __future__ import annotations

from collections.abc import Callable

import trio

from sandbox import Call


class Answers:
    """Answers calls: `lookup` gives its first argument back, `fail` raises, `slow` waits until `go` is set, and others can be given."""

    def __init__(self, **others: Callable[[Call], object]) -> None:
        self.calls: list[Call] = []
        self.cancelled: list[str] = []
        self.go = trio.Event()
        self.started = trio.Event()
        self._others = others

    @property
    def paths(self) -> list[str]:
        return [call.path for call in self.calls]

    async def __call__(self, call: Call) -> object:
        self.calls.append(call)
        name = call.path.partition(".")[0]
        if name in self._others:
            return self._others[name](call)
        match name:
            case "fail":
                raise ValueError(*call.args)
            case "slow":
                self.started.set()
                try:
                    await self.go.wait()
                except trio.Cancelled:
                    self.cancelled.append(call.path)
                    raise
        return call.args[0] if call.args else None


NAMES = ("lookup", "fail", "slow")
