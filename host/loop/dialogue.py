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
from dataclasses import dataclass, field

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


@dataclass(slots=True, kw_only=True, eq=False)
class _Speaker:
    """Somebody who said something and waits for the answer of the turn that hears it."""

    item: Item
    answered: trio.Event = field(default_factory=trio.Event)
    outcome: str | Exception = ""


class Dialogue:
    """A conversation that goes on. Use `open_dialogue`."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._speakers: list[_Speaker] = []
        self._over = False
        self._scope: trio.CancelScope | None = None
        self._ended: str | Exception = ""  # by what the last turn did

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
        """Say something, and get the answer of the turn that heard it. To cancel this interrupts that turn, unless it
        heard somebody else, too.

        Raises TurnInterrupted, and what a turn fails by: NoAnswer, BudgetSpent, ModelError, or a tool's fault.
        HostError once the conversation is over.
        """
        if self._over:
            raise HostError("the conversation is over")
        speaker = _Speaker(item=Item(message=said(text)))
        self._speakers.append(speaker)
        self._loop.inbox.post(speaker.item)
        try:
            await speaker.answered.wait()
        except trio.Cancelled:
            self._speakers.remove(speaker)
            if self._heard(speaker) and not any(self._heard(other) for other in self._speakers):
                self.interrupt()
            raise
        if isinstance(speaker.outcome, Exception):
            raise speaker.outcome
        return speaker.outcome

    def _heard(self, speaker: _Speaker) -> bool:
        return speaker.item not in self._loop.inbox

    def interrupt(self) -> bool:
        """End the turn that is under way; whether there was one."""
        if self._scope is None:
            return False
        self._scope.cancel()
        return True

    async def settled(self) -> None:
        """Come back when no task runs, and every result has been answered."""
        company = self._loop.company
        await self._loop.inbox.until(
            lambda: not (self._loop.inbox or self.is_busy or (company is not None and company.busy))
        )

    def end(self) -> None:
        """Tell that the conversation is over, and everybody who still waits for an answer."""
        self._over = True
        self._answer_all(HostError("the conversation ended before this was answered"), unheard=True)
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
        """Answer whatever enters: what somebody says, and results that come by themselves."""
        while True:
            await self._loop.inbox.filled()
            await self._turn()

    async def _turn(self) -> None:
        """One turn. It raises nothing: how it ended goes to whom it heard, and is told."""
        turns, used = self._loop.turns, self._loop.usage
        how: How = "cancelled"
        ended: str | Exception = TurnInterrupted("The turn was interrupted before it came to an answer.")
        try:
            with trio.CancelScope() as self._scope:
                how, ended = "answered", rendered((await self._loop.answer()).value)
            if self._scope.cancelled_caught:
                self._loop.break_off(_GIVEN_UP)
        except Exception as error:
            how, ended = "failed", error
            self._loop.break_off(_FAILED)
        except trio.Cancelled:
            self._loop.break_off(_GIVEN_UP)
            raise
        finally:
            self._scope = None
        self._ended = ended
        self._answer_all(ended)
        text = ended if isinstance(ended, str) else f"{type(ended).__name__}: {ended}"
        turns, usage = self._loop.turns - turns, self._loop.usage - used
        tree = self._loop.tree
        tree.tell(TurnEnded(loop=self._loop.id, how=how, text=text, turns=turns, usage=usage, at=tree.now()))
        self._loop.inbox.stir()

    def _answer_all(self, outcome: str | Exception, *, unheard: bool = False) -> None:
        """Give this to everybody who was heard, and, with `unheard`, to those who were not."""
        waiting, self._speakers = self._speakers, []
        for speaker in waiting:
            if unheard or self._heard(speaker):
                speaker.outcome = outcome
                speaker.answered.set()
            else:
                self._speakers.append(speaker)


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
