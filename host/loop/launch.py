"""How loops are made and run, as those need it that start some: `running` does it, and knows all the rooms."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol

from host.events import LoopEnded
from host.loop.agent import Ended
from host.models.port import Usage

if TYPE_CHECKING:
    from host.loop.loop import Loop

__all__ = ["Arm", "Launch"]


class Launch(Protocol):
    """Makes loops and runs them."""

    @property
    def make(self) -> Callable[..., Loop]:
        """Make a loop, ready to run; see `running.make`."""
        ...

    @property
    def run(self) -> Callable[[Loop], Awaitable[Ended]]:
        """Run it to its answer."""
        ...


class Arm:
    """A branch that is ready to run."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop

    @property
    def id(self) -> str:
        """Its loop's name in the run."""
        return self._loop.id

    async def run(self) -> Ended:
        """Run it to its answer."""
        return await self._loop.launch.run(self._loop)

    def abandon(self) -> None:
        """Tell that it will not run."""
        tree = self._loop.tree
        tree.tell(LoopEnded(loop=self.id, how="cancelled", text="", turns=0, usage=Usage(), seconds=0.0, at=tree.now()))
