"""What a cell passes on, where that is not the session's own; and a waiting call made again with the other choice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import pytest
import trio

from host import Capability, Conversation, HostError, Inherited, open_host
from host.capability import Delegation, Dispatch, repeatable
from host.context import COLD
from host.opening import Host
from host.session import HostSession, Origin
from sandbox import SessionBusy, SuspendedError
from sandbox.image import Image

from .capability_scene import TOKEN, Notes, call

OWN = Conversation.of("the session's own words")
CELL = Conversation.of("the session's own words", "and what was said since")
STARTED_BY: ContextVar[str | None] = ContextVar("who started it", default=None)


class Desk(Capability):
    """Keeps what it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, int, str | None]] = []

    async def ask(self, question: str, *, inherited: Inherited) -> str:
        """Delegates."""
        await trio.lowlevel.checkpoint()
        messages = sum(len(layer.conversation) for layer in inherited.layers)
        self.seen.append((question, messages, STARTED_BY.get()))
        return f"{question}: {messages}"

    async def count(self, text: str) -> int:
        """Does not delegate."""
        self.seen.append((text, -1, STARTED_BY.get()))
        return len(text)

    @repeatable
    async def look(self, text: str, *, inherited: Inherited) -> str:
        """Delegates, and may be called twice."""
        return await self.ask(text, inherited=inherited)


@pytest.fixture
def desk() -> Desk:
    return Desk()


async def test_r04_r39_each_cell_forks_the_tree_that_it_was_given(image: Image, desk: Desk) -> None:
    """A conversation grows between cells; a cell without a tree has the session's."""
    told: list[Delegation] = []
    async with open_host(capabilities=[desk], image=image) as host, host.session(inherited=OWN) as session:
        await session.run("await desk.ask('a')")
        await session.run("await desk.ask('b')\nawait desk.count('b')", inherited=CELL, record=told.append)
        await session.run("await desk.ask('c')", inherited=Inherited.of(CELL))
        await session.run("await desk.ask('d')")
        assert [each.path for each in session.delegations] == ["desk.ask"] * 4
        assert told == session.delegations[1:2]
    assert [seen[:2] for seen in desk.seen] == [("a", 1), ("b", 2), ("b", -1), ("c", 2), ("d", 1)]


async def test_r58_a_cell_that_was_started_cold_makes_cold_calls_only(image: Image, desk: Desk) -> None:
    """Whatever the code says; the next cell is as it was."""
    async with open_host(capabilities=[desk], image=image) as host, host.session(inherited=OWN) as session:
        await session.run("await desk.ask('a', context='fork')", inherited=Inherited.cold())
        await session.run("await desk.ask('b')")
        assert [(each.context, each.chooser) for each in session.delegations] == [("cold", "run"), ("fork", "default")]
    assert [seen[1] for seen in desk.seen] == [0, 1]


async def test_r80_each_delegation_has_an_id_and_the_number_of_its_call(image: Image, desk: Desk) -> None:
    """New for each, in the order of the calls."""
    async with open_host(capabilities=[desk], image=image) as host, host.session(inherited=OWN) as session:
        await session.run("await desk.count('x')\nawait desk.ask('a')\nawait desk.ask('b')")
        assert [each.call for each in session.delegations] == [2, 3]
        assert len({each.id for each in session.delegations}) == 2
        assert not any(each.rerun for each in session.delegations)


async def test_a_refused_run_leaves_the_running_cells_tree_alone(image: Image, desk: Desk) -> None:
    """One cell runs at a time."""
    async with (
        open_host(capabilities=[desk], image=image) as host,
        host.session(inherited=OWN, held=["desk.count"]) as session,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(lambda: session.run("await desk.count('x')\nawait desk.ask('a')", inherited=CELL))
        await session.held()
        with pytest.raises(SessionBusy):
            await session.run("1", inherited=Inherited.cold())
        assert session.origin.tree == Inherited.of(CELL)
        async with await session.fork() as copy:
            with pytest.raises(SessionBusy):
                await copy.run("1", inherited=Inherited.cold())
            assert (await copy.finish()).value == "a: 2"
            assert (await copy.run("await desk.ask('b')")).value == "b: 1"
        nursery.cancel_scope.cancel()


async def test_r91_r92_the_cells_tree_goes_along_into_copies_and_to_sleep(image: Image, desk: Desk) -> None:
    """A call that a copy makes, or a woken session, forks what the cell was given."""
    async with open_host(capabilities=[desk], image=image) as host:
        data = b""
        async with host.session(inherited=OWN, held=["desk.ask"]) as session, trio.open_nursery() as nursery:
            nursery.start_soon(lambda: session.run("await desk.ask('a')", inherited=CELL))
            await session.held()
            async with await session.fork() as copy:
                assert (await copy.finish()).value == "a: 2"
                assert (await copy.run("await desk.ask('b')")).value == "b: 1"
            async with await session.fork(inherited=Conversation.of("1", "2", "3")) as copy:
                assert (await copy.finish()).value == "a: 3"
            data = await session.suspend()
        async with host.resume(data) as session:
            assert (await session.finish()).value == "a: 2"
            assert (await session.run("await desk.ask('b')")).value == "b: 1"


@pytest.mark.parametrize(
    "change",
    [
        {"cell": 7},
        {"cell": {}},
        {"calls": 7},
        {"calls": [[1, "cold"]]},
        {"calls": [[1, {"depth": "warm"}]]},
        {"calls": [[1]]},
    ],
)
def test_r92_crafted_origins(change: dict[str, object]) -> None:
    """They are refused, whatever is wrong with them."""
    good = Origin(inherited=Inherited.of(OWN), cell=Inherited.of(CELL), choices={1: COLD})
    assert Origin.from_plain(good.to_plain()) == good
    with pytest.raises(SuspendedError, match="its conversation"):
        Origin.from_plain(good.to_plain() | change)


# What is entered around a method


def around(entered: list[tuple[str | None, str]]) -> Callable[[Delegation | None, str], object]:
    @contextmanager
    def enter(delegation: Delegation | None, path: str) -> Iterator[None]:
        entered.append((delegation.id if delegation else None, path))
        reset = STARTED_BY.set(delegation.id if delegation else path)
        try:
            yield
        finally:
            STARTED_BY.reset(reset)

    return enter


async def test_a_method_knows_by_what_is_entered_around_it_who_started_it(image: Image, desk: Desk) -> None:
    """Each call its own, also when several are made at once, and nothing is left behind."""
    entered: list[tuple[str | None, str]] = []
    source = "import asyncio\nawait asyncio.gather(desk.ask('a'), desk.ask('b'), desk.count('c'))\nawait desk.ask('d')"
    async with open_host(capabilities=[desk], image=image) as host, host.session(inherited=OWN) as session:
        assert (await session.run(source, around=around(entered))).ok  # type: ignore[arg-type]
        ids = {each.id for each in session.delegations}
        await session.run("await desk.ask('e')")
    assert {seen[2] for seen in desk.seen[:4]} == {*ids, "desk.count"}
    assert desk.seen[4][2] is None
    assert sorted(path for _, path in entered) == ["desk.ask", "desk.ask", "desk.ask", "desk.count"]
    assert STARTED_BY.get() is None


async def test_what_is_told_and_entered_belongs_to_the_cell_that_goes_on(image: Image, desk: Desk) -> None:
    """A copy has none of the caller's: `finish` is given its own."""
    entered: list[tuple[str | None, str]] = []
    told: list[Delegation] = []
    async with (
        open_host(capabilities=[desk], image=image) as host,
        host.session(inherited=OWN, held=["desk.ask"]) as session,
        trio.open_nursery() as nursery,
    ):
        await waiting(host, nursery, session, "await desk.ask('a')")
        async with await session.fork() as copy:
            await copy.finish(record=told.append, around=around(entered))  # type: ignore[arg-type]
            assert told == copy.delegations
            assert entered == [(told[0].id, "desk.ask")]
        nursery.cancel_scope.cancel()


async def test_a_call_that_is_refused_enters_nothing() -> None:
    """Neither does one that a model wrote badly; one that is made does, with the delegation that was recorded."""
    entered: list[tuple[str | None, str]] = []
    made: list[Delegation] = []
    dispatch = Dispatch(
        [Notes()],
        inherited=Inherited.of(OWN),
        token=TOKEN,
        record=made.append,
        around=around(entered),  # type: ignore[arg-type]
    )
    for bad in (call("notes.ask", "x", token="forged"), call("notes.ask", 7, token=TOKEN), call("notes.no")):
        with pytest.raises((TypeError, PermissionError, AttributeError)):
            await dispatch.invoke(bad)
    assert entered == []
    await dispatch.invoke(call("notes.ask", "x", token=TOKEN))
    await dispatch.invoke_tool("notes_add", {"text": "x"})
    await dispatch.invoke_tool("notes_ask", {"question": "x"})
    assert entered == [(made[0].id, "notes.ask"), (None, "notes.add"), (made[1].id, "notes.ask")]
    assert [each.call for each in made] == [1, None]


# The other choice

SOURCE = "x = ['before']\nimport asyncio\nsaid = await asyncio.gather(desk.ask('a'), desk.ask('b', context='cold'))\n[x, said]"


async def waiting(host: Host, nursery: trio.Nursery, session: HostSession, source: str = SOURCE) -> None:
    nursery.start_soon(session.run, source)
    await session.held()


async def test_r82_r95_a_copy_makes_a_waiting_call_with_the_other_choice(image: Image, desk: Desk) -> None:
    """From the interpreter as it stood at that call: the same names, and another start for the child."""
    async with (
        open_host(capabilities=[desk], image=image) as host,
        host.session(inherited=OWN, held=["desk.ask"]) as session,
        trio.open_nursery() as nursery,
    ):
        await waiting(host, nursery, session)
        first, second = (each.call.call for each in session.pending)
        results = {}
        for name, choices in {
            "as it was": {},
            "the first cold": {first: "cold"},
            "both swapped": {first: "cold", second: "fork"},
            "all cold": {"desk.ask": "cold"},
            "all but one cold": {"desk.ask": "cold", second: "fork"},
        }.items():
            async with await session.fork(choices=choices) as copy:  # type: ignore[arg-type]
                outcome = await copy.finish()
                assert outcome.value[0] == ["before"]
                results[name] = outcome.value[1]
                chosen = {
                    each.call: (each.requested, each.context, each.chooser, each.rerun) for each in copy.delegations
                }
            if name == "both swapped":
                assert chosen == {first: ("cold", "cold", "call", True), second: ("fork", "fork", "call", True)}
        assert chosen[second] == ("fork", "fork", "call", True)
        assert results == {
            "as it was": ["a: 1", "b: 0"],
            "the first cold": ["a: 0", "b: 0"],
            "both swapped": ["a: 0", "b: 1"],
            "all cold": ["a: 0", "b: 0"],
            "all but one cold": ["a: 0", "b: 1"],
        }
        nursery.cancel_scope.cancel()


async def test_r95_the_choice_is_for_the_waiting_call_alone(image: Image, desk: Desk) -> None:
    """Later calls of the same path choose for themselves."""
    async with (
        open_host(capabilities=[desk], image=image) as host,
        host.session(inherited=OWN, held=["desk.ask"]) as session,
        trio.open_nursery() as nursery,
    ):
        await waiting(host, nursery, session, "[await desk.ask('a'), await desk.ask('b')]")
        async with await session.fork(choices={"desk.ask": "cold"}) as copy:
            assert (await copy.finish()).value == ["a: 0", "b: 1"]
            assert (await copy.run("await desk.ask('c')")).value == "c: 1"
        nursery.cancel_scope.cancel()


async def test_r95_from_stored_bytes(image: Image, desk: Desk) -> None:
    """A copy that was put to sleep with or without a choice; it is made when the session wakes."""
    async with open_host(capabilities=[desk], image=image) as host:
        async with host.session(inherited=OWN, held=["desk.ask"]) as session, trio.open_nursery() as nursery:
            await waiting(host, nursery, session)
            plain = await (await session.fork()).suspend()
            chosen = await (await session.fork(choices={"desk.ask": "cold"})).suspend()
            nursery.cancel_scope.cancel()
        for data, choices, said in (
            (plain, {}, ["a: 1", "b: 0"]),
            (plain, {"desk.ask": "fork"}, ["a: 1", "b: 1"]),
            (chosen, {}, ["a: 0", "b: 0"]),
            (chosen, {1: "fork"}, ["a: 1", "b: 0"]),
        ):
            async with host.resume(data, choices=choices) as session:  # type: ignore[arg-type]
                assert (await session.finish()).value == [["before"], said]


async def test_r07_the_choice_of_a_rerun_counts_over_the_loops_policy(image: Image, desk: Desk) -> None:
    """It is the one who measures that asks for it."""
    async with (
        open_host(capabilities=[desk], image=image, context_policy="never") as host,
        host.session(inherited=OWN, held=["desk.ask"]) as session,
        trio.open_nursery() as nursery,
    ):
        await waiting(host, nursery, session, "await desk.ask('a')")
        async with await session.fork(choices={"desk.ask": "fork"}) as copy:
            assert (await copy.finish()).value == "a: 1"
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("choices", "said"),
    [
        ({"desk.look": "cold"}, r"no call 'desk.look' waits here; those that do: desk.ask \(1\), desk.count \(2\)"),
        ({9: "cold"}, "no call 9 waits here"),
        ({"desk.count": "cold"}, "desk.count does not delegate"),
        ({"desk.ask": "warm"}, 'context is "fork" or "cold", not .warm.'),
    ],
)
async def test_choices_that_cannot_be_made(
    image: Image, desk: Desk, choices: dict[int | str, object], said: str
) -> None:
    """Each with what is wrong; no copy is left open."""
    async with (
        open_host(capabilities=[desk], image=image) as host,
        host.session(inherited=OWN, held=["desk.ask", "desk.count"]) as session,
        trio.open_nursery() as nursery,
    ):
        await waiting(host, nursery, session, "import asyncio\nawait asyncio.gather(desk.ask('a'), desk.count('b'))")
        with pytest.raises(HostError, match=said):
            await session.fork(choices=choices)  # type: ignore[arg-type]
        nursery.cancel_scope.cancel()


async def test_r58_a_cold_cell_has_nothing_to_fork(image: Image, desk: Desk) -> None:
    """A rerun cannot give it what it never had; with a conversation of its own it can."""
    async with (
        open_host(capabilities=[desk], image=image) as host,
        host.session(inherited=Inherited.cold(), held=["desk.ask"]) as session,
        trio.open_nursery() as nursery,
    ):
        await waiting(host, nursery, session, "await desk.ask('a')")
        with pytest.raises(HostError, match="cannot fork: this cell was started cold"):
            await session.fork(choices={1: "fork"})
        async with await session.fork(inherited=OWN, choices={1: "fork"}) as copy:
            assert (await copy.finish()).value == "a: 1"
        nursery.cancel_scope.cancel()


async def test_r92_a_call_that_was_under_way_is_not_made_again_for_a_choice(image: Image, desk: Desk) -> None:
    """Unless it is declared repeatable."""
    blocked = trio.Event()

    class Slow(Desk):
        name = "desk"

        async def ask(self, question: str, *, inherited: Inherited) -> str:
            blocked.set()
            await trio.sleep_forever()
            raise AssertionError

        @repeatable
        async def look(self, text: str, *, inherited: Inherited) -> str:
            blocked.set()
            await trio.sleep_forever()
            raise AssertionError

    for method in ("ask", "look"):
        blocked = trio.Event()
        async with open_host(capabilities=[Slow()], image=image) as host:
            async with host.session(inherited=OWN) as session, trio.open_nursery() as nursery:
                nursery.start_soon(session.run, f"await desk.{method}('a')")
                await blocked.wait()
                data = await session.suspend()
            if method == "ask":
                with pytest.raises(HostError, match="was under way when the session was put to sleep"):
                    async with host.resume(data, choices={"desk.ask": "cold"}):
                        pass
            else:
                async with host.resume(data, choices={"desk.look": "cold"}) as session:
                    assert session.origin.choices == {1: COLD}
