"""What all loops of one run share.

A run is a tree of loops. The first one makes it; whatever is started from within, through however many capabilities,
joins it (`place`): it spends from the same purse and tells the same observers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from itertools import count

import trio

from host.events import Event, Observe
from host.loop.agent import Agent
from host.loop.budget import Budget, Purse
from host.loop.crew import Crew
from host.loop.prepared import Prepared
from host.loop.rerun import BranchPoints
from sandbox.image import Image
from sandbox.workspace import Workspace

__all__ = ["Tree"]


class Tree:
    """One run: its purse, its observers, its crew, its sandbox image, its workspace, and the names of its loops."""

    def __init__(
        self,
        *,
        budget: Budget | None = None,
        observe: Observe | None = None,
        image: Image | str = "default",
        points: BranchPoints | None = None,
        crew: Crew | None = None,
        workspace: Workspace | None = None,
    ) -> None:
        self.purse = Purse(budget or Budget())
        self.image = image
        self.began = trio.current_time()
        self.points = points
        self.crew = crew or Crew()
        self.workspace = workspace
        heard = (None if points is None else points.observe, observe)
        self._observers = tuple(each for each in heard if each is not None)
        self._numbers = count(1)
        self._prepared: dict[tuple[int, bool], Prepared] = {}

    def now(self) -> float:
        """Seconds since the tree began."""
        return trio.current_time() - self.began

    def tell(self, event: Event) -> None:
        """Tell the observers."""
        for observe in self._observers:
            observe(event)

    def also(self, observe: Observe) -> Tree:
        """The same tree, with one more observer for what happens from here on down."""
        tree = copy(self)
        tree._observers = (*self._observers, observe)
        return tree

    def next_loop(self) -> str:
        """The id of one more loop."""
        return f"loop {next(self._numbers)}"

    def prepared(self, agent: Agent, fork_depth: int) -> Prepared:
        """What is derived from an agent so many forks deep: once in a run, however many loops it runs as."""
        may_fork = agent.forks is not None and fork_depth < self.crew.max_fork_depth
        found = self._prepared.get((id(agent), may_fork))
        if found is None:
            found = Prepared.of(agent, self.crew.with_(agent), may_fork=may_fork)
            self._prepared[id(agent), may_fork] = found
        return found

    @contextmanager
    def in_time(self) -> Iterator[None]:
        """Within this block the budget's wall time holds, counted from the tree's start. Raises BudgetSpent."""
        seconds = self.purse.budget.seconds
        if seconds is None:
            yield
            return
        with trio.CancelScope(deadline=self.began + seconds) as scope:
            yield
        if scope.cancelled_caught:
            raise self.purse.out_of_time()
