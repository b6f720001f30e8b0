"""A conversation with a person: one loop that stays, turn after turn, with its tasks beside it.

Rules:

- What is said while a turn is under way enters it at its next boundary; it is not lost and starts no second turn.
- A task's result is answered by a turn of its own, without anybody asking: the conversation hears it when it is there.
- A turn can be interrupted. What was said stays, calls that were given up say so, and the tasks go on.
- A turn that fails (no reply from the model, the turns or the budget used up) leaves the conversation whole; the next
  thing said goes on from there.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio

from host.context import Inherited
from host.conversation import Conversation
from host.errors import HostError
from host.events import How, LoopEnded, Observe, TurnEnded
from host.loop.agent import Agent
from host.loop.budget import Budget
from host.loop.crew import Crew
from host.loop.inbox import Item, said
from host.loop.loop import Loop
from host.loop.rerun import BranchPoints
from host.loop.results import rendered
from host.loop.running import make
from host.loop.steering import Steering
from host.loop.tasks import Tasks
from host.loop.tree import Tree
from host.models.port import Usage
from sandbox.image import Image
from sandbox.workspace import Workspace

__all__ = ["Dialogue", "TurnInterrupted", "open_dialogue"]

_GIVEN_UP = "The person interrupted this before it was done. It may have had effects already."
_FAILED = "This was given up, because the turn failed. It may have had effects already."


class TurnInterrupted(HostError):
    """The turn was interrupted before it came to an answer."""


class Dialogue:
    """A conversation that goes on. Use `open_dialogue`."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._one_at_a_time = trio.Lock()
        self._scope: trio.CancelScope | None = None
        self._ended: str | Exception = ""  # by what the last turn did
        self._quiet = trio.Event()

    @property
    def conversation(self) -> Conversation:
        """All that was said so far: an immutable value."""
        return self._loop.conversation

    @property
    def tasks(self) -> Tasks:
        """The tasks of this conversation. Raises HostError if its agent starts none."""
        company = self._loop.company
        if not isinstance(company, Steering):
            raise HostError(f"the agent {self._loop.agent.name!r} starts no tasks: give it `tasks`")
        return company.tasks

    @property
    def usage(self) -> Usage:
        """What the conversation's own requests cost, without that of tasks."""
        return self._loop.usage

    @property
    def is_busy(self) -> bool:
        """Whether a turn is under way."""
        return self._scope is not None

    async def say(self, text: str) -> str:
        """Say something, and get the answer of the turn that heard it.

        Raises TurnInterrupted, and what a turn fails by: NoAnswer, BudgetSpent, ModelError, or a tool's fault.
        """
        item = Item(message=said(text))
        self._loop.inbox.post(item)
        async with self._one_at_a_time:
            if item in self._loop.inbox:
                await self._turn()
            if isinstance(self._ended, Exception):
                raise self._ended
            return self._ended

    def interrupt(self) -> bool:
        """End the turn that is under way; whether there was one."""
        if self._scope is None:
            return False
        self._scope.cancel()
        return True

    async def settled(self) -> None:
        """Come back when no task runs, and every result has been answered."""
        while self._loop.inbox or self.is_busy or (self._loop.company is not None and self._loop.company.busy):
            self._quiet = trio.Event()
            await self._quiet.wait()

    def end(self) -> None:
        """Tell that the conversation is over."""
        loop, tree = self._loop, self._loop.tree
        text = self._ended if isinstance(self._ended, str) else f"{type(self._ended).__name__}: {self._ended}"
        tree.tell(
            LoopEnded(
                loop=loop.id,
                how="answered" if isinstance(self._ended, str) else "failed",
                text=text,
                turns=loop.turns,
                usage=loop.usage,
                seconds=tree.now(),
                at=tree.now(),
            )
        )

    async def _attend(self) -> None:
        """Answer what enters without anybody asking."""
        while True:
            await self._loop.inbox.filled()
            async with self._one_at_a_time:
                if self._loop.inbox:
                    await self._turn()

    async def _turn(self) -> None:
        """One turn. It raises nothing: how it ended is kept for whoever spoke, and told."""
        turns, used = self._loop.turns, self._loop.usage
        how: How = "failed"
        try:
            with trio.CancelScope() as self._scope:
                ended = await self._loop.answer()
                how, self._ended = "answered", rendered(ended.value)
            if self._scope.cancelled_caught:
                self._loop.break_off(_GIVEN_UP)
                how, self._ended = "cancelled", TurnInterrupted("The turn was interrupted before it came to an answer.")
        except Exception as error:
            self._loop.break_off(_FAILED)
            self._ended = error
        finally:
            self._scope = None
            self._quiet.set()
        text = self._ended if isinstance(self._ended, str) else f"{type(self._ended).__name__}: {self._ended}"
        turns, usage = self._loop.turns - turns, self._loop.usage - used
        tree = self._loop.tree
        tree.tell(TurnEnded(loop=self._loop.id, how=how, text=text, turns=turns, usage=usage, at=tree.now()))


@asynccontextmanager
async def open_dialogue(
    agent: Agent,
    *,
    conversation: Conversation | None = None,
    inherited: Inherited | None = None,
    budget: Budget | None = None,
    observe: Observe | None = None,
    image: Image | str = "default",
    points: BranchPoints | None = None,
    crew: Crew | None = None,
    workspace: Workspace | None = None,
) -> AsyncIterator[Dialogue]:
    """A conversation with an agent, from the start or on from `conversation`. Its tasks end with the block.

    `inherited` is for a conversation that itself stands below others. `observe` is told all events of the tree, and
    `points` keeps its branch points; `crew` are the agents that it can be handed to or branch into; `workspace` holds
    the files that the code of all of them shares.
    Raises BudgetSpent in the block when the budget's time is over.
    """
    tree = Tree(budget=budget, observe=observe, image=image, points=points, crew=crew, workspace=workspace)
    loop = make(
        agent,
        tree,
        kind="conversation",
        request="",
        inherited=inherited or Inherited.cold(),
        conversation=conversation,
    )
    dialogue = Dialogue(loop)
    fault: Exception | None = None
    try:
        with tree.in_time():
            async with trio.open_nursery() as nursery:
                if isinstance(loop.company, Steering):
                    loop.company.tasks.nursery = nursery
                nursery.start_soon(dialogue._attend)
                try:
                    yield dialogue
                except Exception as error:
                    fault = error
                nursery.cancel_scope.cancel()
        if fault is not None:
            raise fault
    finally:
        with trio.CancelScope(shield=True):
            await loop.aclose()
        dialogue.end()
