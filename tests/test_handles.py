"""Handles: records that agent code awaits and whose methods it calls, from their declaration to the real guest."""

from __future__ import annotations

import dataclasses
import inspect
import pydoc
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import trio

from guest_stdlib.declared import Declared, DeclaredRecord, Method
from host.capability import Capability, Table, describe, handle
from host.context import Inherited
from host.conversation import Conversation
from host.errors import CapabilityDefinitionError
from host.opening import open_host
from sandbox.image import Image

from .proxy_session import CONTEXT, Made, Session, parameter

THREAD = Conversation.of("The word is heron.")


@handle(result="result")
@dataclass(frozen=True)
class Task:
    """A task that was started."""

    id: str
    label: str


class UnknownTask(Exception):
    """There is no such task."""


class Tasks(Capability):
    """Tasks that go on by themselves."""

    errors = (UnknownTask,)

    def __init__(self) -> None:
        super().__init__()
        self.started: list[str] = []
        self.asked: list[tuple[Task, str, int]] = []
        self.waiting = trio.Event()

    async def start(self, request: str) -> Task:
        """Start one."""
        self.started.append(request)
        return Task(id=f"t{len(self.started)}", label=request)

    async def ask(self, task: Task, question: str, *, inherited: Inherited) -> str:
        """Ask how it goes."""
        self._known(task)
        self.asked.append((task, question, len(inherited.layers)))
        return f"{task.label}: {question}"

    async def result(self, task: Task) -> str:
        """What came of it."""
        self._known(task)
        self.waiting.set()
        return f"{task.label} is done"

    async def compare(self, tasks: list[Task]) -> list[str]:
        """Takes handles, and is no method of theirs."""
        return [self._known(task).label for task in tasks]

    def _known(self, task: Task) -> Task:
        if task.id not in {f"t{number + 1}" for number in range(len(self.started))}:
            raise UnknownTask(f"There is no task {task.id!r}.")
        return task


# In the guest, against a plain function

TASKS = Declared(
    name="tasks",
    methods=(
        Method(name="start", parameters=(parameter("request"),), returns="Task"),
        Method(
            name="ask",
            doc="Ask how it goes.",
            parameters=(parameter("task", "Task", shape=["record", "Task"]), parameter("question")),
            returns="str",
            choice=(CONTEXT,),
            of="Task",
        ),
        Method(
            name="result",
            parameters=(parameter("task", "Task", shape=["record", "Task"]),),
            returns="str",
            of="Task",
        ),
    ),
)
TASK = DeclaredRecord(name="Task", doc="A task.", fields=("id", "label"), result="result")


@pytest.fixture
def session() -> Session:
    session = Session(TASKS, records=(TASK,))
    session.run("task = Task('t1', 'look')")
    return session


def crossed(session: Session) -> list[tuple[Any, ...]]:
    return [(made.path, *[getattr(value, "id", value) for value in made.args]) for made in session.made]


def test_a_method_of_a_handle_is_the_capabilitys_with_the_handle_first(session: Session) -> None:
    """Keywords and the choice of context go along."""
    session.run("await task.ask('how far?')\nawait task.ask(question='again', context='cold')")
    assert crossed(session) == [("tasks.ask", "t1", "how far?"), ("tasks.ask", "t1")]
    assert session.made[1] == Made(
        path="tasks.ask",
        args=session.made[1].args,
        kwargs={"question": "again"},
        context={"context": "cold"},
        delegates=True,
    )


def test_awaiting_a_handle_calls_the_method_that_its_mark_names(session: Session) -> None:
    """Each time anew, and in gather and wait_for as well."""
    session.run("import asyncio\nawait task\nawait task\nother = Task('t2', '')")
    session.run("await asyncio.gather(task, other)\nawait asyncio.wait_for(other, 5)")
    assert crossed(session) == [("tasks.result", each) for each in ("t1", "t1", "t1", "t2", "t2")]
    assert 2 in session.rounds


def test_nothing_crosses_before_a_call_is_awaited(session: Session) -> None:
    """And a forgotten await is told with the corrected line."""
    session.run("pending = task.ask('how far?')")
    assert session.made == []
    assert session.unawaited.sentences() == [
        "Task.ask(...) on line 1 was never awaited, so it was not made. Write: pending = await task.ask('how far?')"
    ]
    error = session.fail("task.result().upper()")
    assert str(error) == "Task.result() on line 1 was not awaited. Write: (await task.result()).upper()"


def test_the_blocking_form(session: Session) -> None:
    """For code that cannot await."""
    assert session.run("[each.ask.blocking('x')[:9] for each in (task, Task('t2', ''))]") == ["tasks.ask"] * 2
    assert crossed(session) == [("tasks.ask", "t1", "x"), ("tasks.ask", "t2", "x")]


def test_comprehensions_and_containers(session: Session) -> None:
    """A handle is a value like any other."""
    session.run("kept = {task: [task]}\n[await each.result() for row in kept.values() for each in row]")
    assert crossed(session) == [("tasks.result", "t1")]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (
            "task.ask()",
            ("Task.ask() is missing 1 required argument: 'question'. Signature: "
            "Task.ask(question: str, *, context: Literal['fork', 'cold'] = 'fork') -> str"),
        ),
        (
            "task.ask(7)",
            ("Task.ask(): question: expected str, got int (7). Signature: "
            "Task.ask(question: str, *, context: Literal['fork', 'cold'] = 'fork') -> str"),
        ),
        (
            "task.result(task=task)",
            "Task.result() got an unexpected keyword argument 'task'. Signature: Task.result() -> str",
        ),
        ("Task.ask('x', 'y')", "Task.ask() is a method of Task, and this is none: str ('x')."),
        ("task.ask('<question>')", None),
        ("task.progress", "Task has no 'progress'. It has: id, label, ask(question: str, *, context: Literal['fork', 'cold'] = 'fork') -> str, result() -> str. It can be awaited."),
        ("task.asks", None),
        ("task.ask = print", "Task.ask cannot be set: it is a method."),
        ("del task.ask", "Task.ask cannot be deleted: it is a method."),
        ("Task.ask = print", "Task.ask cannot be set: Task is a capability's."),
        ("tasks.ask(task, 'x')", "tasks has no method 'ask': it is one of Task. Write: await task.ask(...)"),
    ],
)  # fmt: skip
def test_mistakes_are_told_as_those_with_any_proxy(session: Session, source: str, said: str | None) -> None:
    """At the agent's line; nothing crosses."""
    error = session.fail(source)
    assert isinstance(error, (TypeError, ValueError, AttributeError))
    if said is not None:
        assert str(error) == said
    assert session.made == []


def test_a_handle_is_no_coroutine(session: Session) -> None:
    """As any object that can be awaited is none; the hint says what to do with it."""
    hint = "A Task goes on by itself and needs no task. Await it, alone or in await asyncio.gather(...)."
    assert session.hint("import asyncio\nasyncio.create_task(task)") == hint


def test_a_handle_looks_like_an_object(session: Session) -> None:
    """Fields, repr, dir, help, signatures, equality, copies."""
    task: Any = session.names["task"]
    assert repr(task) == "Task(id='t1', label='look')"
    assert [name for name in dir(task) if not name.startswith("_")] == ["ask", "id", "label", "result"]
    assert "ask" not in dir(session.names["tasks"])
    assert inspect.ismethod(task.ask)
    assert inspect.iscoroutinefunction(task.ask)
    assert str(inspect.signature(task.ask)) == "(question: str, *, context: Literal['fork', 'cold'] = 'fork') -> str"
    assert repr(task.ask) == "<bound method Task.ask of Task(id='t1', label='look')>"
    assert str(inspect.signature(task.ask.blocking)) == str(inspect.signature(task.ask))  # type: ignore[attr-defined]
    assert dataclasses.asdict(task) == {"id": "t1", "label": "look"}
    assert dataclasses.replace(task, id="t2") != task
    assert inspect.isawaitable(task)
    text = pydoc.plain(pydoc.render_doc(session.names["Task"]))
    assert "A task." in text
    assert "Ask how it goes." in text


def test_nothing_of_the_runtime_hangs_on_a_handle(session: Session) -> None:
    """What a method holds is sealed, as with the proxies."""
    task: Any = session.names["task"]
    call = task.ask.__func__
    held = [cell.cell_contents for cell in call.__closure__]
    assert not any(value is session or getattr(value, "__self__", None) is session for value in held)


# On the host


def test_the_stub_shows_the_methods_on_the_handle() -> None:
    """And not on the capability; awaiting is `__await__`."""
    text = describe([Tasks()])
    assert (
        '''
@dataclass
class Task:
    """A task that was started."""
    id: str
    label: str
    async def ask(self, question: str, *, context: Literal["fork", "cold"] = "fork") -> str:
        """Ask how it goes."""
    def __await__(self) -> Generator[Any, Any, str]:
        """What came of it."""

class Tasks:
    """Tasks that go on by themselves."""
    # May raise UnknownTask.
    async def start(self, request: str) -> Task:
        """Start one."""
    async def compare(self, tasks: list[Task]) -> list[str]:
        """Takes handles, and is no method of theirs."""

tasks: Tasks
'''
        in text
    )


def test_the_stub_is_one_for_type_checkers(tmp_path: Path) -> None:
    """Code written against it checks, and wrong code does not."""
    code = describe([Tasks()]) + (
        "\nasync def main() -> None:\n    task = await tasks.start('x')\n    text: str = await task\n"
        "    text = await task.ask('y', context='cold')\n    wrong: int = await task\n"
    )
    file = tmp_path / "stub.py"
    file.write_text(code)
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--allow-empty-bodies", "--cache-dir", str(tmp_path / "cache"), str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    faults = [line for line in checked.stdout.splitlines() if ": error: " in line]
    assert len(faults) == 1, checked.stdout
    assert "Incompatible types in assignment" in faults[0]


class Without(Capability):
    async def start(self) -> Task:
        return Task(id="1", label="")


class Needs(Capability):
    async def result(self, task: Task, more: str) -> str:
        return more


@handle(result="result")
@dataclass
class Clash:
    stop: bool


class Clashes(Capability):
    async def result(self, it: Clash) -> str:
        return ""

    async def stop(self, it: Clash) -> None:
        """A field is called so, too."""


class Others(Capability):
    async def ask(self, task: Task) -> str:
        return ""


@pytest.mark.parametrize(
    ("capabilities", "said"),
    [
        ([Without()], "no capability here has `async def result(self, task: Task)`"),
        ([Needs()], "needs.result: awaiting a Task calls it, so the handle is all that it may require"),
        ([Clashes()], "clashes.stop: `stop` is a field of the handle Clash, too"),
        ([Tasks(), Others()], "the handle Task would be one of tasks and of others"),
    ],
    ids=["no result", "result takes more", "field and method", "two owners"],
)
def test_handles_that_cannot_be_offered(capabilities: list[Capability], said: str) -> None:
    """Each with what is wrong."""
    with pytest.raises(CapabilityDefinitionError, match=said.replace("(", r"\(").replace(")", r"\)")):
        Table(capabilities)


def test_the_mark_is_for_dataclasses() -> None:
    """It stands above theirs."""
    with pytest.raises(CapabilityDefinitionError, match="Plain is no dataclass: write @handle above @dataclass"):

        @handle(result="result")
        class Plain:
            pass


# Through the real guest


async def test_handles_work_in_the_guest(image: Image) -> None:
    """Started, asked, gathered, listed, awaited on the last line; the conversation goes along where it should."""
    tasks = Tasks()
    source = """
import asyncio
first, second = await tasks.start("a"), await tasks.start("b")
said = [await task.ask("how far?") for task in (first, second)] + [first.ask.blocking("?", context="cold")]
said += await asyncio.gather(first, second)
[said, await tasks.compare([first, second]), await first, first]"""
    async with open_host(capabilities=[tasks], image=image) as host, host.session(inherited=THREAD) as session:
        outcome = await session.run(source)
    assert outcome.error is None
    assert outcome.value == [
        ["a: how far?", "b: how far?", "a: ?", "a is done", "b is done"],
        ["a", "b"],
        "a is done",
        Task(id="t1", label="a"),
    ]
    assert [asked[1:] for asked in tasks.asked] == [("how far?", 1), ("how far?", 1), ("?", 0)]


async def test_handles_work_under_the_restricted_policy(image: Image) -> None:
    """The same."""
    source = "task = await tasks.start('a')\n[await task, await task.ask('b'), task.ask.blocking('c'), task.label]"
    async with open_host(capabilities=[Tasks()], image=image, policy="restricted") as host, host.session() as session:
        outcome = await session.run(source)
    assert outcome.value == ["a is done", "a: b", "a: c", "a"], outcome


async def test_a_handle_that_code_made_up_is_an_argument_to_be_checked(image: Image) -> None:
    """The capability tells by what it knows, whatever the handle says."""
    async with open_host(capabilities=[Tasks()], image=image) as host, host.session() as session:
        await session.run("task = await tasks.start('a')")
        for forged in ("await Task('t9', 'a')", "task.id = 't9'\nawait task.ask('x')"):
            outcome = await session.run(forged)
            assert outcome.error is not None
            assert (outcome.error.type, outcome.error.message) == ("UnknownTask", "There is no task 't9'.")
        outcome = await session.run("task.id = 7\nawait task")
        assert outcome.error is not None
        assert outcome.error.type == "TypeError"
        assert outcome.usage.rejected_calls == 1


async def test_r91_r92_a_handle_survives_copies_and_sleep(image: Image) -> None:
    """Kept in a list of its session, and in the middle of being awaited."""
    tasks = Tasks()
    async with open_host(capabilities=[tasks], image=image) as host:
        data = b""
        async with host.session(held=["tasks.result"]) as session:
            await session.run("kept = [await tasks.start('a')]")
            async with trio.open_nursery() as nursery:
                nursery.start_soon(session.run, "await kept[0]")
                await session.held()
                async with await session.fork() as copy:
                    assert (await copy.finish()).value == "a is done"
                    assert (await copy.run("await kept[0].ask('x')")).value == "a: x"
                data = await session.suspend()
        async with host.resume(data) as session:
            assert (await session.finish()).value == "a is done"
            assert (await session.run("await kept[0]")).value == "a is done"
