"""Tasks: loops that run beside the loop that started them, and can be steered while they do.

Rules:

- A task is cut loose when it is started: a fork has the history up to that call, a cold one has the request. What the
  caller says later reaches a fork only when it is steered (or follows), and then only what is new to it; a cold task
  gets the steering words and never any history.
- A question does not disturb the task: a fresh loop answers it, from the whole history as it stands now and from what
  the task has done so far. An interjection is read by the task itself, at its next boundary.
- A task ends in exactly one way: finished, failed or stopped. Its result goes to whoever started it, tied to the call
  that did.
- Tasks live in the nursery of the loop that started them, and end with it.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Generator
from dataclasses import replace
from typing import Any, Final

import trio

from guest_stdlib.declared import Context
from host.capability import Delegation, Heritage
from host.context import Inherited
from host.conversation import Message, Text, ToolResult
from host.errors import HostError
from host.events import State, Steered, Steering, TaskChanged
from host.loop.agent import Ended, TaskEnded, TaskFailed
from host.loop.calling import current_call
from host.loop.inbox import Item, said
from host.loop.loop import Loop
from host.loop.results import rendered
from sandbox.moment import Moment

__all__ = ["Task", "Tasks"]

_LONGEST_SLUG: Final = 32
_OVER: Final = ("finished", "failed", "stopped")


class Task:
    """One task, as whoever started it holds it. `label` names it among its siblings: "count_the_boats__1".

    Await it, or `result`, for its answer. The steering methods raise `TaskEnded` once it is over.
    """

    def __init__(self, tasks: Tasks, loop: Loop, *, request: str, number: int, call: str | None) -> None:
        self.label = f"{_slug(request)}__{number}"
        self.request = request
        self.call = call
        self.loop = loop
        self.state: State = "running"
        self.handed_over = False  # its result went to code that awaited it
        self.awaiting = 0  # how many wait for it at this moment
        self._stopping = False
        self._tasks = tasks
        self._scope = trio.CancelScope()
        self._over = trio.Event()
        self._answer = ""

    @property
    def is_over(self) -> bool:
        """Whether it has finished, failed or was stopped."""
        return self.state in _OVER

    @property
    def is_stopping(self) -> bool:
        """Whether it was told to end, and has not yet."""
        return self._stopping and not self.is_over

    @property
    def is_cold(self) -> bool:
        """Whether it was started cold."""
        return self.loop.is_cold

    async def result(self) -> str:
        """Its answer, when it is there. Raises TaskFailed if it fails or is stopped."""
        self.awaiting += 1
        try:
            await self._over.wait()
            self.handed_over = True
        finally:
            self.awaiting -= 1
            self._tasks.tell_unclaimed()  # whoever gave up waiting does not get it
        if self.state != "finished":
            raise TaskFailed(self._answer)
        return self._answer

    def __await__(self) -> Generator[Any, Any, str]:
        return self.result().__await__()

    async def ask(self, question: str) -> str:
        """Ask about it. A fresh loop answers, which has the whole history and what the task has done so far."""
        self._steered("ask", question)
        return await self._tasks.question(self, question)

    def interject(self, text: str) -> None:
        """Say something to it. It reads that at its next boundary, after what is new in the caller's conversation."""
        self._steered("interject", text)
        self.loop.inbox.post(Item(message=said(text), above=self._tasks.loop.snapshot(current_call())))

    def pause(self) -> None:
        """Let it hold at its next boundary."""
        self._steered("pause")
        self.loop.inbox.pause(True)
        self._become("paused")

    def resume(self) -> None:
        """Let it go on."""
        self._steered("resume")
        self.loop.inbox.pause(False)
        self._become("running")

    def stop(self) -> None:
        """End it now."""
        self._steered("stop")
        self._stopping = self.loop.stopped = True
        self._scope.cancel()

    def _steered(self, means: Steering, text: str = "") -> None:
        if self.is_over or self._stopping:
            raise TaskEnded(self._tasks.over(self))
        self.loop.tree.tell(Steered(task=self.label, loop=self.loop.id, means=means, text=text))

    def _become(self, state: State) -> None:
        if state != self.state:
            self.state = state
            self.loop.tree.tell(TaskChanged(task=self.label, loop=self.loop.id, state=state))
            self._tasks.loop.inbox.stir()

    async def run(self, run: Callable[[Loop], Awaitable[Ended]]) -> None:
        """Be at work until it ends in one way. Only the nursery of its caller's loop calls this."""
        self.loop.tree.tell(TaskChanged(task=self.label, loop=self.loop.id, state="running"))
        how: State = "stopped"
        self._answer = "It was stopped before it came to a result."
        try:
            with self._scope:
                try:
                    ended = await run(self.loop)
                except Exception as error:
                    how, self._answer = "failed", f"{type(error).__name__}: {error}"
                else:
                    how, self._answer = "finished", rendered(ended.value)
        finally:  # also where it ends with the loop that started it
            self._become(how)
            self._over.set()
            self._tasks.ended(self, self._report(how))

    def _report(self, how: State) -> str:
        """The result as its caller reads it: whose it is, how it ended, and whether it did anything at all."""
        idle = how == "finished" and not self.loop.worked and self.loop.has_tools
        note = " It answered without using any of its tools." if idle else ""
        if how == "finished" and not self._answer.strip():
            note = " It ended without doing any work: its answer is empty."
        ended = "been stopped" if how == "stopped" else how
        # One that code started is told in a user's message, where nothing that it says may pass for the person's words.
        answer = self._answer if self.call is not None else "\n".join(f"> {line}" for line in self._answer.splitlines())
        return f"The task {self.label} has {ended}.{note}\n\n{answer}".strip()


class Tasks:
    """The tasks of one loop: starts them, knows them, and takes their results home."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self.all: list[Task] = []
        self.nursery: trio.Nursery | None = None
        self.earlier = 0  # the highest number that a task of an earlier conversation had
        self._unclaimed: list[tuple[Task, str]] = []

    @property
    def running(self) -> tuple[Task, ...]:
        """Those that are not over, paused ones included."""
        return tuple(task for task in self.all if not task.is_over)

    def start(self, request: str, *, context: Context | None = None, call: str | None = None) -> Task:
        """Start a task. The history is cut now. `call` is the id of the model's call that starts it.

        Raises BudgetSpent.
        """
        delegation = self._delegation(context, call)
        return self.launch(request, inherited=delegation.inherited, delegation=delegation.id, call=call)

    def launch(
        self,
        request: str,
        *,
        inherited: Inherited,
        delegation: str | None,
        call: str | None,
        state: Moment | None = None,
    ) -> Task:
        """Start a task from what it inherits, where that has been decided and told already. Its code starts from the
        interpreter `state`, if one is given.
        """
        if self.nursery is None:
            raise RuntimeError("tasks are started while their loop runs")
        starts = self.loop.agent
        if starts.tasks is None:
            raise HostError(f"the agent {starts.name!r} starts no tasks: give it `tasks`")
        loop = self.loop.launch.make(
            starts if starts.tasks == "self" else starts.tasks,
            self.loop.tree,
            kind="task",
            request=request,
            inherited=inherited,
            depth=self.loop.depth + 1,
            parent=self.loop.id,
            delegation=delegation,
            upstream=(lambda: self.loop.snapshot(None)) if self.loop.agent.follow else None,
            fork_depth=self.loop.fork_depth,
        )
        loop.code.state = state
        task = Task(self, loop, request=request, number=self.earlier + len(self.all) + 1, call=call)
        self.all.append(task)
        self.nursery.start_soon(task.run, self.loop.launch.run)
        return task

    async def moment(self) -> Moment:
        """The interpreter of the caller's code as it stands in the middle of the call that asks for this."""
        session = self.loop.code.session
        assert session is not None  # the call comes from it
        return await session.state()

    def find(self, label: str) -> Task | None:
        """The task of this label."""
        return next((task for task in self.all if task.label == label), None)

    def _delegation(self, context: Context | None, call: str | None) -> Delegation:
        """Who decides what a task starts from, and what that is; told before the task begins."""
        made: list[Delegation] = []
        heritage = Heritage(
            source=lambda: self.loop.snapshot(call), policy=self.loop.agent.context_policy, record=made.append
        )
        heritage.pass_on("start_task", context, default="fork")
        self.loop.delegated(made[0], call)
        return made[0]

    async def question(self, task: Task, question: str) -> str:
        """Answer a question about a task from a fresh loop."""
        known = task.loop
        inherited = Inherited.cold() if task.is_cold else self.loop.snapshot(current_call())
        steering = known.company.ever if known.company is not None else frozenset[str]()
        inherited = inherited.extend(known.conversation, agent=known.agent.name, steering=steering)
        layers = (*inherited.layers[:-1], replace(inherited.layers[-1], below=known.exchange.below))
        loop = self.loop.launch.make(
            known.agent,
            known.tree,
            kind="question",
            request=question,
            inherited=replace(inherited, layers=layers),
            depth=self.loop.depth + 1,
            parent=self.loop.id,
            rendering="quoted",
            fork_depth=self.loop.fork_depth,
        )
        ended = await self.loop.launch.run(loop)
        return rendered(ended.value)

    def ended(self, task: Task, report: str) -> None:
        """Bring a task's result home: as the result of the call that started it, or as a notice."""
        if task.call is not None:
            part = ToolResult(
                call=task.call, name="start_task", parts=(Text(text=report),), is_error=task.state != "finished"
            )
            self.loop.inbox.post(Item(message=Message(role="tool", parts=(part,))))
        else:
            self._unclaimed.append((task, report))
            self.tell_unclaimed()

    def tell_unclaimed(self) -> None:
        """Bring home the results of tasks that were not started by a call of the model, and that nobody awaited. While
        code runs, or somebody waits for one, it may still be awaited.
        """
        if self.loop.code.busy:
            return
        unclaimed, self._unclaimed = self._unclaimed, []
        for task, report in unclaimed:
            if task.awaiting:
                self._unclaimed.append((task, report))
            elif not task.handed_over:
                self.loop.inbox.post(Item(message=said(f"[notice] {report}")))

    def over(self, task: Task) -> str:
        """What to say to someone who steers a task that is over."""
        others = ", ".join(other.label for other in self.running if not other.is_stopping) or "nothing"
        if not task.is_over and not task.is_stopping:
            return f"The task {task.label} runs, and its tools are there from your next reply on."
        how = {"finished": "has finished", "failed": "has failed", "stopped": "was stopped"}.get(task.state)
        return f"The task {task.label} {how or 'is being stopped'}, so it cannot be steered. Still running: {others}."


def _slug(request: str) -> str:
    words = re.findall(r"[a-z0-9]+", request.lower())
    slug = ""
    for word in words:
        if len(slug) + len(word) + 1 > _LONGEST_SLUG:
            break
        slug = f"{slug}_{word}" if slug else word
    return slug or (words[0][:_LONGEST_SLUG] if words else "task")
