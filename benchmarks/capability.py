"""What the measured code calls: a plain callback for sandboxes, a capability for hosts. Both answer at once."""

from __future__ import annotations

from benchmarks.work import Arrivals
from host import Capability, Inherited
from sandbox import Call

__all__ = ["Desk", "lookup"]


async def lookup(call: Call) -> object:
    """Give the first argument back."""
    return call.args[0]


class Desk(Capability):
    """Answers at once."""

    name = "desk"

    def __init__(self, arrivals: Arrivals | None = None) -> None:
        super().__init__()
        self._arrivals = arrivals or Arrivals()

    async def lookup(self, number: int) -> int:
        """Gives the number back."""
        self._arrivals.arrived()
        return number

    async def ask(self, question: str, *, inherited: Inherited) -> str:
        """Delegates, to nobody: the question is the answer."""
        del inherited
        self._arrivals.arrived()
        return question
