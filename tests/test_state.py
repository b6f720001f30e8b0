"""R94: a session that starts from the state of another one, taken at the very call: its names, and none of its authority."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
import trio

from host import Capability, Conversation, HostError, HostSession, Inherited, Limits, open_host
from host.capability import handle
from sandbox.image import Image
from sandbox.moment import Moment


@dataclass(frozen=True)
class Note:
    """What somebody wrote."""

    text: str


@handle(result="result")
@dataclass(frozen=True)
class Task:
    """A task that was started."""

    id: str


class Desk(Capability):
    """The caller's: its `start` takes the state of the session in which it is called."""

    def __init__(self) -> None:
        super().__init__()
        self.session: HostSession | None = None
        self.moments: list[Moment] = []
        self.calls: list[str] = []
        self.taken = trio.Event()
        self.go = trio.Event()

    async def start(self, request: str) -> str:
        """Starts a child, and waits."""
        assert self.session is not None
        self.moments.append(await self.session.state())
        self.calls.append(request)
        self.taken.set()
        await self.go.wait()
        return "started"

    async def note(self, text: str, *, inherited: Inherited) -> Note:
        """Delegates."""
        self.calls.append(text)
        return Note(text=text)

    async def open(self) -> Task:
        """Gives a handle."""
        return Task(id="t1")

    async def result(self, task: Task) -> str:
        """What came of it."""
        self.calls.append(task.id)
        return "done"


class Shelf(Capability):
    """The child's."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Inherited] = []

    async def put(self, thing: str, *, inherited: Inherited) -> str:
        """Delegates."""
        self.seen.append(inherited)
        return f"{thing} is on the shelf"


type Opened = Callable[..., Awaitable[HostSession]]


@asynccontextmanager
async def child_of(
    image: Image, source: str, *, before: str = "", capabilities: tuple[Capability, ...] = (), **options: object
) -> AsyncIterator[tuple[HostSession, Desk]]:
    """A session that starts from the state of one whose cell `source` waits in `desk.start`. That one goes on until the
    block ends, and must end well.
    """
    desk = Desk()
    policy = options.pop("policy", "open")
    async with (
        open_host(capabilities=[desk], image=image, policy=policy) as parent,  # type: ignore[arg-type]
        open_host(capabilities=capabilities or [Shelf()], image=image, policy=policy, **options) as host,  # type: ignore[arg-type]
        parent.session(inherited=Conversation.of("the caller's own words")) as session,
        trio.open_nursery() as nursery,
    ):
        desk.session = session
        if before:
            assert (await session.run(before)).ok

        @nursery.start_soon
        async def run() -> None:
            outcome = await session.run(source)
            assert outcome.ok, outcome

        await desk.taken.wait()
        async with host.session(state=desk.moments[0], inherited=Conversation.of("the child's own words")) as child:
            yield child, desk
        desk.go.set()


async def value(session: HostSession, source: str) -> object:
    outcome = await session.run(source)
    assert outcome.error is None, outcome
    return outcome.value


async def refusal(session: HostSession, source: str) -> tuple[str, str]:
    outcome = await session.run(source)
    assert outcome.error is not None
    return outcome.error.type, outcome.error.message


async def test_r94_it_has_the_names_and_values_at_the_call(image: Image) -> None:
    """Those of earlier cells, and those that the running cell had set; none that came later."""
    source = "x.append(2)\ny = {'now': x}\nawait desk.start('start')\nx.append(3)\nz = 1"
    async with child_of(image, source, before="x = [1]\ndef total(): return sum(x)") as (child, desk):
        assert await value(child, "[x, y, total()]") == [[1, 2], {"now": [1, 2]}, 3]
        assert (await refusal(child, "z"))[0] == "NameError"
        await child.run("x.append('child')")
        desk.go.set()
        assert desk.session is not None
    assert len(desk.calls) == 1


async def test_r94_neither_sees_the_others_later_changes(image: Image) -> None:
    """And several can start from one state."""
    source = "x = []\nawait desk.start('start')\nassert x == []\n'end'"
    async with child_of(image, source) as (child, _):
        await child.run("x.append(1)")


async def test_r94_the_cell_is_unwound_unseen(image: Image) -> None:
    """Its `finally` runs, prints into nowhere, calls nothing, and changes no name."""
    source = """
log = []
async def careful(name):
    try:
        await desk.start(name)
    finally:
        log.append(name)
        print("cleaning up")
        try:
            await desk.note("from finally")
        except BaseException as error:
            log.append(type(error).__name__)
try:
    await careful("start")
except BaseException:
    caught = True
"""
    async with child_of(image, source) as (child, desk):
        outcome = await child.run("print('mine')\n[log, 'caught' in globals()]")
        assert outcome.value == [["start", "CancelledError"], False]
        assert (outcome.stdout, outcome.notices) == ("mine\n", ())
        assert desk.calls == ["start"]
        assert child.delegations == []


async def test_r94_code_that_waits_on_in_its_finally_is_ended_all_the_same(image: Image) -> None:
    """Sleeps, tasks, async generators, and what swallows each cancellation."""
    source = """
import asyncio
async def stubborn():
    while True:
        try:
            await asyncio.sleep(3600)
        except BaseException:
            pass
async def numbers():
    try:
        yield 1
        yield 2
    finally:
        await asyncio.sleep(1)
task = asyncio.create_task(stubborn())
generator = numbers()
await anext(generator)
try:
    await desk.start('start')
finally:
    task.cancel()
"""
    desk = Desk()
    async with (
        open_host(capabilities=[desk], image=image) as parent,
        open_host(capabilities=[Shelf()], image=image) as host,
        parent.session() as session,
        trio.open_nursery() as nursery,
    ):
        desk.session = session
        nursery.start_soon(session.run, source)
        await desk.taken.wait()
        async with host.session(state=desk.moments[0]) as child:
            assert await value(child, "await shelf.put('a')") == "a is on the shelf"
            assert await value(child, "import asyncio\nawait asyncio.sleep(0, 'slept')") == "slept"
        nursery.cancel_scope.cancel()


async def test_r94_it_has_the_childs_capabilities(image: Image) -> None:
    """Under their names, with the child's own conversation; the caller's are gone."""
    shelf = Shelf()
    async with child_of(image, "shelf = 'hidden'\nawait desk.start('start')", capabilities=(shelf,)) as (child, _):
        assert await value(child, "await shelf.put('a')") == "a is on the shelf"
        assert [layer.conversation.told for layer in shelf.seen[0].layers] == [True]
        assert "child's own words" in shelf.seen[0].layers[0].conversation.messages[0].text
        assert (await refusal(child, "desk"))[0] == "NameError"
        assert await value(child, "sorted(name for name in ('desk', 'shelf', 'Note') if name in globals())") == [
            "Note",
            "shelf",
        ]


GONE = "`desk` belongs to the code that this interpreter was copied from, and did not come along."


@pytest.mark.parametrize(
    "use",
    [
        "await kept.note('x')",
        "kept.note.blocking('x')",
        "await method('x')",
        "await partial()",
        "await pending",
        "await task",
        "await task.result()",
        "await boxed[0][0].note('x')",
        "await helper()",
        "import asyncio\nawait asyncio.gather(kept.note('x'))",
        "import pickle\nawait pickle.loads(pickle.dumps(method)).__self__.note('x')",
    ],
)
async def test_r94_nothing_that_code_kept_of_the_callers_authority_works(image: Image, use: str) -> None:
    """A proxy, its method, a partial, a pending call, a handle, and whatever holds one."""
    before = """
import functools
kept = desk
method = desk.note
partial = functools.partial(desk.note, 'x', context='fork')
task = await desk.open()
boxed = [(desk,)]
async def helper(it=desk): return await it.note('x')
"""
    async with child_of(
        image, "pending = desk.note('x')\nawait desk.start('start')\npending.close()", before=before
    ) as (
        child,
        desk,
    ):
        outcome = await child.run(use)
        assert outcome.error is not None
        if "pickle" in use:
            assert outcome.error.type in ("PicklingError", "AttributeError", "PermissionError")
        else:
            assert (outcome.error.type, GONE in outcome.error.message) == ("PermissionError", True), outcome.error
            assert outcome.error.hint is None
        assert outcome.usage.calls == 0
        assert desk.calls == ["start"]


async def test_r94_the_host_refuses_what_goes_around_the_guests_own_checks(image: Image) -> None:
    """A call below the proxies: the caller's path is not there, and its token opens nothing."""
    source = """
import sys
frame = sys._getframe()
while type(frame.f_locals.get("self")).__name__ != "Guest":
    frame = frame.f_back
guest = frame.f_locals["self"]
token = guest._token
await desk.start('start')"""
    async with child_of(image, source) as (child, desk):
        assert await refusal(child, "await guest.calls.start('desk.note', ('x',), {}, {}, token)") == (
            "AttributeError",
            "There is no tool at str ('desk.note').",
        )
        assert await refusal(child, "await guest.calls.start('shelf.put', ('x',), {}, {}, token)") == (
            "PermissionError",
            "shelf.put: this call does not come from this run's branch point.",
        )
        assert await value(child, "guest._token != token")
        assert desk.calls == ["start"]


async def test_r94_what_both_have_is_the_childs(image: Image) -> None:
    """A kept proxy of a capability that the child has too calls the child's, and records keep their class."""
    own = Desk()
    source = "kept = desk\nnote = await desk.note('a')\nawait desk.start('start')"
    async with child_of(image, source, capabilities=(own,)) as (child, desk):
        assert await value(child, "[await kept.note('b'), isinstance(note, Note), await desk.note('c')]") == [
            Note(text="b"),
            True,
            Note(text="c"),
        ]
        assert own.calls == ["b", "c"]
        assert desk.calls == ["a", "start"]


async def test_r94_its_limits_are_the_childs(image: Image) -> None:
    """In time, calls and output, from its first cell on."""
    limits = Limits(calls=1, output_bytes=10, cpu_seconds=0.2, grace_seconds=0.2)
    async with child_of(image, "await desk.start('start')", limits=limits) as (child, _):
        outcome = await child.run("await shelf.put('a')\nawait shelf.put('b')")
        assert outcome.error is not None
        assert outcome.error.kind == "limit"
        outcome = await child.run("while True: pass")
        assert outcome.error is not None
        assert outcome.error.kind == "limit"


async def test_r94_a_child_that_is_stopped_is_as_before_the_cell(image: Image) -> None:
    """Its checkpoints are its own."""
    limits = Limits(cpu_seconds=0.2, grace_seconds=0.2)
    async with child_of(image, "x = 1\nawait desk.start('start')", limits=limits) as (child, _):
        outcome = await child.run(
            "x = 2\nwhile True:\n    try:\n        while True: pass\n    except BaseException: pass"
        )
        assert outcome.session == "restored"
        assert await value(child, "[x, await shelf.put('a')]") == [1, "a is on the shelf"]


async def test_r94_it_is_a_session_like_any_other(image: Image) -> None:
    """It can be copied, put to sleep, and be the state of a further one."""
    shelf = Shelf()
    async with (
        open_host(capabilities=[shelf], image=image) as host,
        child_of(image, "x = 1\nawait desk.start('start')", capabilities=(shelf,)) as (child, _),
    ):
        async with await child.fork() as copy:
            assert await value(copy, "[x, await shelf.put('a')]") == [1, "a is on the shelf"]
        async with host.session(state=await child.state()) as further:
            assert await value(further, "[x, await shelf.put('b')]") == [1, "b is on the shelf"]
        data = await child.suspend()
        async with host.resume(data) as woken:
            assert await value(woken, "[x, await shelf.put('c')]") == [1, "c is on the shelf"]


async def test_r94_under_the_restricted_policy(image: Image) -> None:
    """The same, if both are."""
    source = "kept = desk\nx = 1\ndef twice(): return x * 2\nawait desk.start('start')"
    async with child_of(image, source, policy="restricted") as (child, desk):
        assert await value(child, "[twice(), await shelf.put('a')]") == [2, "a is on the shelf"]
        assert (await refusal(child, "await kept.note('x')"))[0] == "PermissionError"
        assert (await refusal(child, "import os"))[0] == "PolicyViolation"
        assert (await refusal(child, "twice.__globals__"))[0] == "PolicyViolation"
        assert desk.calls == ["start"]


class TestRefused:
    async def test_a_caller_in_a_blocking_call(self, image: Image) -> None:
        """It holds a native stack."""
        desk = Desk()
        async with open_host(capabilities=[desk], image=image) as host, host.session() as session:
            desk.session = session
            outcome = await session.run("desk.start.blocking('start')")
        assert outcome.error is not None
        assert "SessionBusy: the session is in a blocking call" in outcome.error.message

    async def test_a_host_of_another_policy(self, image: Image) -> None:
        """Code that was compiled without guards does not get any."""
        async with (
            open_host(image=image) as one,
            open_host(image=image, policy="restricted") as other,
            one.session() as session,
        ):
            await session.run("x = 1")
            state = await session.state()
            with pytest.raises(HostError, match='this state is one of policy "open", and this host has "restricted"'):
                async with other.session(state=state):
                    pass

    async def test_a_state_that_is_larger_than_the_limits(self, image: Image) -> None:
        """The child's count."""
        async with open_host(image=image) as one, one.session() as session:
            await session.run("x = bytearray(100 << 20)")
            state = await session.state()
            async with open_host(image=image, limits=Limits(memory_bytes=64 << 20)) as other:
                with pytest.raises(HostError, match=r"it has \d+ MiB of memory, and 64 MiB are allowed"):
                    async with other.session(state=state):
                        pass

    async def test_a_cell_that_does_not_end(self, image: Image) -> None:
        """It is stopped by the child's limits, in time."""
        limits = Limits(cpu_seconds=0.2, grace_seconds=0.2)
        source = "try:\n    await desk.start('start')\nfinally:\n    while not done: pass"
        with pytest.raises(ExceptionGroup) as group:
            async with child_of(image, source, before="done = False", limits=limits):
                pass
        (error,) = group.value.exceptions
        assert isinstance(error, HostError)
        assert "the cell in the middle of which it stood does not end" in str(error)

    async def test_a_guest_that_makes_a_call_while_it_is_opened(self, image: Image) -> None:
        """Below all checks of its own: it breaks the protocol, and nothing of it is delivered."""
        source = """
import sys
from guest_stdlib.channel.turns import Phase
frame = sys._getframe()
while type(frame.f_locals.get("self")).__name__ != "Guest":
    frame = frame.f_back
guest, frame = frame.f_locals["self"], None
try:
    await desk.start('start')
finally:
    if guest.calls.closed:
        guest.calls.closed = False
        guest._channel._ledger.phase = Phase.RUNNING
        guest.calls.start('shelf.put', ('x',), {}, {}, guest._token)
"""
        shelf = Shelf()
        with pytest.raises(ExceptionGroup) as group:
            async with child_of(image, source, capabilities=(shelf,)):
                pass
        (error,) = group.value.exceptions
        assert isinstance(error, HostError)
        assert "the guest sent Call while the guest opens the session" in str(error)
        assert shelf.seen == []
