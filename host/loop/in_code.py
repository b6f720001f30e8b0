"""Tasks in sandboxed code: `tasks.start` gives an object that can be steered, and awaited for the task's result.

    task = await tasks.start("find the train times")
    await task.interject("in the morning, please")
    times = await task

The object is a name and nothing else. What code does with it is checked here like any argument: code can make one up,
and then it names no task. What a task that is started from code inherits is what the code's own calls pass on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from host.capability import Capability, handle
from host.context import Inherited
from host.errors import CapabilityError
from host.loop.agent import TaskEnded, TaskFailed
from host.loop.budget import BudgetSpent
from host.loop.place import place
from sandbox.moment import Moment

__all__ = ["InCode", "Task"]


@handle(result="result")
@dataclass(frozen=True)
class Task:
    """A task that was started. Await it for its result; or steer it while it runs."""

    label: str


class _Started(Protocol):
    """A task, as its methods are called here."""

    label: str

    async def result(self) -> str: ...
    async def ask(self, question: str) -> str: ...
    def interject(self, text: str) -> None: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def stop(self) -> None: ...


class _Starts(Protocol):
    """The tasks of a loop, as they are started and found here."""

    def launch(
        self,
        request: str,
        *,
        inherited: Inherited,
        delegation: str | None,
        call: str | None,
        state: Moment | None,
    ) -> _Started: ...
    async def moment(self) -> Moment: ...
    def find(self, label: str) -> _Started | None: ...


class InCode(Capability):
    """Tasks that run beside this code. Their results come here where they are awaited."""

    name = "tasks"
    errors = (TaskEnded, TaskFailed, BudgetSpent)

    def __init__(self, tasks: _Starts | None = None) -> None:
        """Without `tasks` it can only be described."""
        super().__init__()
        self._tasks = tasks

    async def start(self, request: str, *, state: bool = False, inherited: Inherited) -> Task:
        """Start a task. It works by itself; await what this gives for the result.

        With `state` its own code finds the names and values that this code has now, as a copy.
        """
        at = place()
        assert self._tasks is not None
        moment = await self._tasks.moment() if state else None
        started = self._tasks.launch(
            request, inherited=inherited, delegation=None if at is None else at.delegation, call=None, state=moment
        )
        return Task(label=started.label)

    async def result(self, task: Task) -> str:
        """Wait for the result. Raises TaskFailed if there will be none."""
        return await self._found(task).result()

    async def ask(self, task: Task, question: str) -> str:
        """Ask about the task. A fresh look at its work answers; the task goes on undisturbed."""
        return await self._found(task).ask(question)

    async def interject(self, task: Task, text: str) -> None:
        """Say something to the task. With it goes what is new in the conversation, if the task forked."""
        self._found(task).interject(text)

    async def pause(self, task: Task) -> None:
        """Let the task hold before its next step."""
        self._found(task).pause()

    async def resume(self, task: Task) -> None:
        """Let the task go on."""
        self._found(task).resume()

    async def stop(self, task: Task) -> None:
        """End the task now, without a result."""
        self._found(task).stop()

    def _found(self, task: Task) -> _Started:
        assert self._tasks is not None
        found = self._tasks.find(task.label)
        if found is None:
            raise CapabilityError(f"There is no task {task.label!r} here.")
        return found
