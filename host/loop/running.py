"""Loops are made and run here, and nowhere else: a place in the tree, what it starts from, its tasks, its end.

Rules:

- To make a loop is to cut what it inherits: it happens at once, before anything is awaited. To run it may wait.
- A loop that is started from within another, through however many capabilities, joins its tree. One that is started
  from nowhere is the first of a tree of its own.
- What a loop ended by is told in one `LoopEnded`, whatever happened.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Literal

import trio

from host.context import ContextChoice, Inherited, start
from host.conversation import Conversation
from host.errors import NeedsClarification
from host.events import How, Kind, LoopBegan, LoopEnded, Observe
from host.loop.agent import Agent, Ended
from host.loop.budget import Budget
from host.loop.crew import Crew
from host.loop.forking import Begin
from host.loop.loop import Loop
from host.loop.place import place
from host.loop.rerun import BranchPoint, BranchPoints
from host.loop.results import rendered
from host.loop.steering import Steering
from host.loop.tasks import Tasks
from host.loop.tree import Tree
from sandbox.image import Image
from sandbox.workspace import Workspace

__all__ = ["make", "run", "run_again", "run_agent"]


async def run_agent(
    agent: Agent,
    request: str,
    inherited: Inherited,
    *,
    observe: Observe | None = None,
    budget: Budget | None = None,
    image: Image | str = "default",
    points: BranchPoints | None = None,
    crew: Crew | None = None,
    workspace: Workspace | None = None,
) -> Ended:
    """Run an agent on a request until it answers.

    Within a call of a capability that a loop makes, it joins the loop's tree. `budget`, `image`, `crew` (who can be
    handed to, or be a branch), `workspace` (the files that its code has) and `points` (which keeps branch points) are
    for the first loop of a tree; `observe` is
    told of what happens from here on down. Raises NoAnswer if the turns are used up, BudgetSpent if the tree's budget
    is, and what the model raises; a tool's faults pass through.
    """
    at = place()
    if at is not None:
        tree = at.tree if observe is None else at.tree.also(observe)
        loop = make(
            agent,
            tree,
            kind="call",
            request=request,
            inherited=inherited,
            depth=at.depth,
            parent=at.parent,
            delegation=at.delegation,
            fork_depth=at.fork_depth,
        )
        return await run(loop)
    tree = Tree(budget=budget, observe=observe, image=image, points=points, crew=crew, workspace=workspace)
    with tree.in_time():
        return await run(make(agent, tree, kind="call", request=request, inherited=inherited))


def make(
    agent: Agent,
    tree: Tree,
    *,
    kind: Kind,
    request: str,
    inherited: Inherited,
    depth: int = 0,
    parent: str | None = None,
    delegation: str | None = None,
    rendering: Literal["auto", "quoted", "replayed"] = "auto",
    upstream: Callable[[], Inherited] | None = None,
    conversation: Conversation | None = None,
    begin: Begin | None = None,
    branch: str | None = None,
    fork_depth: int = 0,
) -> Loop:
    """A loop that is ready to run. What it inherits is cut by now. Raises BudgetSpent.

    `upstream` gives the caller's tree as it stands: a loop that has it follows its caller. A `conversation` is what
    the first loop of a tree goes on with; it has no request. `begin` says what it starts from in another way than a
    child's; `branch` and `fork_depth` are those of a fork's branch.
    """
    if depth:
        tree.purse.start_child(depth)
    launch = _Launch()
    loop = Loop(
        agent,
        tree,
        kind=kind,
        inherited=inherited,
        depth=depth,
        upstream=upstream,
        conversation=conversation,
        fork_depth=fork_depth,
        launch=launch,
    )
    if any(each.tasks is not None for each in (agent, *tree.crew.agents.values())):
        loop.company = Steering(Tasks(loop), loop.conversation)
    begun = None
    if kind != "conversation":
        instructions = tree.prepared(agent, fork_depth).instructions
        tools = tuple(offer.spec for offer in loop.offers)
        if begin is not None:
            begun = begin(instructions=instructions, tools=tools, agent=agent)
        else:
            begun = start(
                instructions=instructions,
                tools=tools,
                agent=agent.name,
                model=agent.model.name,
                request=request,
                inherited=inherited,
                rendering=rendering,
                assignment=delegation,
            )
        loop.exchange.begin(begun)
    tree.tell(
        LoopBegan(
            loop=loop.id,
            agent=agent.name,
            model=agent.model.name,
            kind=kind,
            depth=depth,
            request=request,
            parent=parent,
            delegation=delegation,
            rendering="none" if begun is None else begun.rendering,
            prefix=None if begun is None else begun.prefix,
            branch=branch,
            at=tree.now(),
        )
    )
    return loop


async def run_again(point: BranchPoint, choice: ContextChoice, *, observe: Observe) -> tuple[str, float]:
    """Make the call of a branch point anew with this choice, in a tree of its own, and go on to the loop's answer:
    that, and in how many seconds.
    """
    agent, grounds = point.agent, point.grounds
    if agent.context_policy != "model":
        agent = replace(agent, context_policy="model")  # this time somebody does choose
    tree = Tree(
        budget=grounds.budget, observe=observe, image=grounds.image, crew=grounds.crew, workspace=grounds.workspace
    )
    loop = make(agent, tree, kind="conversation", request="", inherited=Inherited.cold(), fork_depth=point.fork_depth)
    loop.kind = "call"  # it ends with an answer, and not before its tasks have
    loop.exchange = point.exchange.copy()
    with tree.in_time():
        ended = await run(loop, first=lambda: loop.make_again(point, choice))
    return rendered(ended.value), tree.now()


async def run(loop: Loop, *, first: Callable[[], Awaitable[None]] | None = None) -> Ended:
    """Run a loop to its answer, and close it. Its tasks end with it. `first` is what it begins with."""
    began = trio.current_time()
    how: How = "cancelled"
    text = ""
    ended: Ended | None = None
    fault: Exception | None = None
    try:
        async with trio.open_nursery() as nursery:
            if isinstance(loop.company, Steering):
                loop.company.tasks.nursery = nursery
            try:
                if first is not None:
                    await first()
                ended = await loop.answer()
            except Exception as error:
                fault = error
            nursery.cancel_scope.cancel()
        if ended is None:
            assert fault is not None
            how, text = "failed", f"{type(fault).__name__}: {fault}"
            raise fault
        how = "asked back" if isinstance(ended.value, NeedsClarification) else "answered"
        text = rendered(ended.value)
        return ended
    finally:
        with trio.CancelScope(shield=True):
            await loop.aclose()
        loop.tree.tell(
            LoopEnded(
                loop=loop.id,
                how="stopped" if how == "cancelled" and loop.stopped else how,
                text=text,
                turns=loop.turns,
                usage=loop.usage,
                seconds=trio.current_time() - began,
                at=loop.tree.now(),
            )
        )


class _Launch:
    """How tasks have their loops made and run."""

    make = staticmethod(make)
    run = staticmethod(run)
