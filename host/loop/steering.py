"""The tools by which a model starts and steers tasks. The fixed one is always the same; the others come and go.

A steering tool is named after its task ("stop_count_the_boats__1"), so that a model cannot mistake one task for
another, and exists only while the task does.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Final

from guest_stdlib.declared import Context
from host.capability import Capability, choice_text
from host.context import Inherited
from host.conversation import Conversation
from host.errors import CapabilityError
from host.loop.agent import ToolError
from host.loop.arguments import checked, parsed
from host.loop.calling import PENDING, current_call
from host.loop.in_code import InCode
from host.loop.inbox import Item
from host.loop.offers import Offer, ready
from host.loop.tasks import Task, Tasks
from host.models.port import ToolSpec

__all__ = ["Steering", "starting", "steering"]

_NAME: Final = re.compile(r"(?:ask|interject|pause|resume|stop)_[a-z0-9_]+__([0-9]{1,9})")
MEANS: Final = ("ask", "interject", "pause", "resume", "stop")
_SAID: Final[Mapping[str, tuple[str, str | None]]] = {
    "ask": ("Ask about the task {label}. A fresh look at its work answers; the task goes on undisturbed.", "question"),
    "interject": ("Say something to the task {label}. With it goes what is new here, if the task forked.", "text"),
    "pause": ("Let the task {label} hold before its next step.", None),
    "resume": ("Let the task {label} go on.", None),
    "stop": ("End the task {label} now, without a result.", None),
}


class Steering:
    """The tasks of a loop, as the loop and its model see them."""

    def __init__(self, tasks: Tasks, earlier: Conversation) -> None:
        """`earlier` is what was said before: the tasks of that conversation are gone, and their names are not used
        again.
        """
        self.tasks = tasks
        found = [_NAME.fullmatch(call.name) for message in earlier for call in message.calls]
        self._earlier = frozenset(name[0] for name in found if name is not None)
        tasks.earlier = max((int(name[1]) for name in found if name is not None), default=0)

    def fixed(self) -> Iterator[Offer]:
        """The tool that starts one."""
        yield starting(self.tasks)

    def steering(self) -> Iterator[Offer]:
        """The tools that exist while tasks run."""
        for task in self.tasks.running:
            yield from steering(task)

    @property
    def ever(self) -> frozenset[str]:
        """The names of all steering tools there have been."""
        return self._earlier | {f"{means}_{task.label}" for task in self.tasks.all for means in MEANS}

    def gone(self, tool: str) -> str | None:
        """What to say of a steering tool that is no more; None if it never was one."""
        means, _, label = tool.partition("_")
        task = self.tasks.find(label)
        return None if task is None or means not in MEANS else self.tasks.over(task)

    @property
    def busy(self) -> bool:
        """Whether results are still to come."""
        return bool(self.tasks.running)

    @property
    def held_up(self) -> str | None:
        """What to say where no result will come by itself, since all tasks are paused; None where one may."""
        paused = [task.label for task in self.tasks.running if task.state == "paused"]
        if not paused or len(paused) < len(self.tasks.running):
            return None
        return f"Paused, and so without a result: {', '.join(paused)}. Resume or stop them, or answer without them."

    def started_by(self, call: str) -> bool:
        """Whether a task was started by this call, so that its result is still to come."""
        return any(task.call == call for task in self.tasks.all)

    def view(self) -> str:
        """What runs now, in words; "" where nothing does."""
        lines = [f"- {task.label} ({task.state}): {_short(task.request)}" for task in self.tasks.running]
        return "\n".join(["Tasks that run now:", *lines]) if lines else ""

    def pass_on(self, above: Inherited) -> None:
        """What came from above goes on to those that forked; `Received` sees to it that nobody gets a thing twice."""
        for task in self.tasks.running:
            if not task.is_cold:
                task.loop.inbox.post(Item(above=above))

    def in_code(self) -> tuple[Capability, ...]:
        """Tasks as awaitable objects."""
        return (InCode(self.tasks),)

    def no_code_runs(self) -> None:
        """Results that no code has awaited are told."""
        self.tasks.tell_unclaimed()


def _short(text: str, most: int = 200) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= most else f"{flat[: most - 1]}…"


def starting(tasks: Tasks) -> Offer:
    """`start_task`."""
    offers_choice = tasks.loop.agent.context_policy == "model"
    spec = _START if offers_choice else _START_WITHOUT_CHOICE

    def call(text: str) -> Awaitable[object]:
        given = parsed(spec.name, text)
        context: Context | None = None
        if offers_choice:
            given = checked(spec.name, spec.parameters, text)
            context = given.get("context")  # type: ignore[assignment]
        else:
            given.pop("context", None)  # the loop's policy decides, whatever is said
        request = given.get("request")
        if not isinstance(request, str) or not request.strip():
            raise ToolError("start_task needs the argument 'request': what is to be done, in words.")
        try:
            tasks.start(request, context=context, call=current_call())
        except CapabilityError as error:
            raise ToolError(str(error)) from error
        return ready(PENDING)

    return Offer(spec=spec, call=call)


def _start(properties: Mapping[str, object]) -> ToolSpec:
    return ToolSpec(
        name="start_task",
        description=(
            "Start a task beside this conversation: an agent works on the request by itself, with the same kind of"
            " tools. The call comes back at once; the result comes here by itself when it is there. While it runs,"
            f" tools named after it steer it.{_WHEN if 'context' in properties else ''}"
        ),
        parameters={"type": "object", "properties": properties, "required": ["request"]},
    )


_WHEN: Final = (
    " Work that continues this conversation should fork; a second opinion, or a request that says everything, should"
    " start cold."
)


_REQUEST: Final[Mapping[str, object]] = {
    "request": {"type": "string", "description": "What is to be done, and what the result should be."}
}
_START_WITHOUT_CHOICE: Final = _start(_REQUEST)
_START: Final = _start(
    {
        **_REQUEST,
        "context": {
            "type": "string",
            "enum": ["fork", "cold"],
            "description": choice_text("fork"),
        },
    }
)


def steering(task: Task) -> Iterator[Offer]:
    """The tools that steer one running task."""
    for means in MEANS:
        description, argument = _SAID[means]
        properties = {} if argument is None else {argument: {"type": "string"}}
        spec = ToolSpec(
            name=f"{means}_{task.label}",
            description=description.format(label=task.label),
            parameters={"type": "object", "properties": properties, "required": list(properties)},
        )
        yield Offer(spec=spec, call=_steer(task, means, spec))


def _steer(task: Task, means: str, spec: ToolSpec) -> Callable[[str], Awaitable[object]]:
    def call(text: str) -> Awaitable[object]:
        given = [str(value) for value in checked(spec.name, spec.parameters, text).values()]
        if means == "pause" and task.state == "paused":
            raise ToolError(f"The task {task.label} is paused already.")
        if means == "resume" and task.state == "running":
            raise ToolError(f"The task {task.label} is not paused.")
        try:
            if means == "ask":
                return _asked(task, *given)
            getattr(task, means)(*given)
        except CapabilityError as error:
            raise ToolError(str(error)) from error
        return ready(_DONE[means].format(label=task.label))

    return call


async def _asked(task: Task, question: str) -> object:
    try:
        return await task.ask(question)
    except CapabilityError as error:
        raise ToolError(str(error)) from error


_DONE: Final = {
    "interject": "Told. The task {label} reads it before its next step.",
    "pause": "The task {label} holds before its next step.",
    "resume": "The task {label} goes on.",
    "stop": "The task {label} is being stopped.",
}
