"""Calls that are made on the host: the conversation is put in here, and what comes back is looked at."""

from __future__ import annotations

import logging
from typing import Any, cast

import pytest
import trio
from trio.testing import Sequencer

from guest_stdlib.channel.events import Failure
from host.capability import Capability, Crossed, Delegation, Dispatch, Policy
from host.context import Inherited
from host.conversation import Conversation
from host.errors import CapabilityError, NeedsClarification
from tests.capability_scene import TOKEN, Level, Note, Notes, call


class Scene:
    """A dispatch over `Notes`, with a conversation of one message, and the record of its delegations."""

    def __init__(self, *, policy: Policy = "model", cold: bool = False, token: str | None = TOKEN) -> None:
        self.notes = Notes()
        self.inherited = Inherited.of(Conversation.of("Sarah in finance asked for the metrics."))
        self.delegations: list[Delegation] = []
        self.dispatch = Dispatch(
            [self.notes],
            inherited=self.inherited,
            token=token,
            policy=policy,
            cold=cold,
            record=self.delegations.append,
        )


# Calls that are made


async def test_a_call_reaches_its_method_and_gives_its_answer() -> None:
    """Arguments by position, by name and beyond the named ones arrive as they were given."""
    scene = Scene()
    assert await scene.dispatch.answer(call("notes.add", "a", "b", "c", level=Level.HIGH, x=1)) == "a"
    assert scene.notes.seen == [("a", ("b", "c"), Level.HIGH, {"x": 1})]
    assert scene.dispatch.rejected == 0


async def test_an_enum_given_by_its_members_name_arrives_as_the_member() -> None:
    """In an argument, and in a field of a record."""
    scene = Scene()
    await scene.dispatch.answer(call("notes.add", "a", level="HIGH"))
    await scene.dispatch.answer(call("notes.keep", (Note("x", cast("Level", "HIGH")),)))
    assert scene.notes.seen == [("a", (), Level.HIGH, {}), (Note("x", Level.HIGH),)]


async def test_a_method_may_use_all_of_trio() -> None:
    """It runs in the caller's task: nurseries, time-outs and cancellation are trio's own."""

    class Slow(Capability):
        async def both(self) -> list[str]:
            found: list[str] = []

            async def one(name: str, delay: float) -> None:
                await trio.sleep(delay)
                found.append(name)

            async with trio.open_nursery() as nursery:
                nursery.start_soon(one, "late", 0.0)
                nursery.start_soon(one, "early", 0.0)
            return sorted(found)

        async def forever(self) -> None:
            await trio.sleep_forever()

    dispatch = Dispatch([Slow()])
    assert await dispatch.answer(call("slow.both")) == ["early", "late"]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(dispatch.answer, call("slow.forever"))
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert nursery.cancel_scope.cancelled_caught


# The conversation


async def test_r53_the_inherited_conversation_travels_with_a_call_that_code_writes_as_usual() -> None:
    """The call names no conversation, and the method receives it."""
    scene = Scene()
    assert await scene.dispatch.answer(call("notes.ask", "who?", token=TOKEN)) == "who?: 1"
    assert scene.notes.seen == [scene.inherited]


async def test_r54_it_is_added_to_every_call_that_accepts_it_and_to_none_that_does_not() -> None:
    """Whatever its parameter is called."""
    scene = Scene()
    await scene.dispatch.answer(call("notes.ask", "who?", token=TOKEN))
    await scene.dispatch.answer(call("notes.look", context="fork", token=TOKEN))
    await scene.dispatch.answer(call("notes.add", "a"))
    assert scene.notes.seen == [scene.inherited, scene.inherited, ("a", (), Level.LOW, {})]
    assert [delegation.path for delegation in scene.delegations] == ["notes.ask", "notes.look"]


async def test_r05_a_cold_call_receives_nothing_of_the_conversation() -> None:
    """Not one byte."""
    scene = Scene()
    await scene.dispatch.answer(call("notes.ask", "who?", context="cold", token=TOKEN))
    assert scene.notes.seen == [Inherited.cold()]


async def test_r03_the_choice_is_per_call() -> None:
    """The same tool called twice, once forked and once cold, starts in two ways."""
    scene = Scene()
    async with trio.open_nursery() as nursery:
        for context in ("fork", "cold"):
            nursery.start_soon(scene.dispatch.answer, call("notes.ask", "who?", context=context, token=TOKEN))
    assert [(d.context, d.chooser) for d in scene.delegations] == [("fork", "call"), ("cold", "call")]
    assert {bool(given) for given in scene.notes.seen} == {True, False}


async def test_r06_a_call_that_does_not_choose_gets_the_tools_own_default() -> None:
    """`ask` forks, `look` is declared cold."""
    scene = Scene()
    await scene.dispatch.answer(call("notes.ask", "who?", token=TOKEN))
    await scene.dispatch.answer(call("notes.look", token=TOKEN))
    assert [(d.context, d.chooser, d.requested) for d in scene.delegations] == [
        ("fork", "default", None),
        ("cold", "default", None),
    ]


async def test_r07_the_policy_decides_over_the_head_of_the_call() -> None:
    """Under `model` the call decides; `always` forks though it says cold; `never` is cold though it says fork."""
    decided: dict[str, list[tuple[str, str]]] = {}
    for policy in ("model", "always", "never"):
        scene = Scene(policy=policy)
        await scene.dispatch.answer(call("notes.ask", "who?", context="cold", token=TOKEN))
        await scene.dispatch.answer(call("notes.ask", "who?", context="fork", token=TOKEN))
        await scene.dispatch.answer(call("notes.look", token=TOKEN))
        decided[policy] = [(d.context, d.chooser) for d in scene.delegations]
    assert decided == {
        "model": [("cold", "call"), ("fork", "call"), ("cold", "default")],
        "always": [("fork", "policy")] * 3,
        "never": [("cold", "policy")] * 3,
    }


async def test_an_unknown_policy_is_refused() -> None:
    """With the known ones."""
    with pytest.raises(ValueError, match=r"^policy is one of model, always, never, not 'sometimes'$"):
        Dispatch([], policy=cast("Any", "sometimes"))


async def test_r58_a_run_that_was_started_cold_makes_cold_calls() -> None:
    """Whatever the call or the policy says; and likewise where what the run itself inherited is cold."""
    for policy in ("model", "always"):
        scene = Scene(cold=True, policy=policy)
        await scene.dispatch.answer(call("notes.ask", "who?", context="fork", token=TOKEN))
        assert scene.notes.seen == [Inherited.cold()]
        assert [(d.context, d.chooser) for d in scene.delegations] == [("cold", "run")]
    notes = Notes()
    await Dispatch([notes], inherited=Inherited.cold()).answer(call("notes.ask", "who?", context="fork"))
    assert notes.seen == [Inherited.cold()]


async def test_r39_the_conversation_is_cut_when_the_call_is_taken() -> None:
    """What is said between the call and the start of the work does not reach it."""
    now = Conversation.of("first")
    notes = Notes()
    dispatch = Dispatch([notes], inherited=lambda: Inherited.of(now))
    taken = dispatch.answer(call("notes.ask", "who?"))
    now = now.user("second")
    await taken
    await dispatch.answer(call("notes.ask", "who?"))
    assert notes.seen == [Inherited.of(Conversation.of(*now.messages[:1])), Inherited.of(now)]


async def test_r57_two_runs_at_once_never_see_each_others_conversation() -> None:
    """Their calls cross in time, and each method receives its own run's tree."""
    order = Sequencer()
    seen: dict[str, list[str | None]] = {"left": [], "right": []}

    class Slow(Capability):
        async def ask(self, who: str, *, inherited: Inherited) -> None:
            async with order(0 if who == "left" else 1):
                pass
            async with order(3 if who == "left" else 2):
                seen[who].append(inherited.layers[0].conversation.id)

    slow = Slow()
    conversations = {who: Conversation.of(who) for who in seen}
    async with trio.open_nursery() as nursery:
        for who, conversation in conversations.items():
            dispatch = Dispatch([slow], inherited=Inherited.of(conversation), token=who)
            nursery.start_soon(dispatch.answer, call("slow.ask", who, token=who))
    assert seen == {who: [conversation.id] for who, conversation in conversations.items()}


async def test_each_delegation_is_recorded_before_it_is_made_with_what_was_passed() -> None:
    """Path, choice, chooser, what the call said, and the ids of the messages passed."""
    scene = Scene()
    await scene.dispatch.answer(call("notes.ask", "who?", context="fork", token=TOKEN))
    [delegation] = scene.delegations
    assert (delegation.path, delegation.context, delegation.chooser, delegation.requested) == (
        "notes.ask",
        "fork",
        "call",
        "fork",
    )
    assert delegation.inherited is scene.inherited
    assert delegation.passed.ids == ((scene.inherited.layers[0].conversation.id,),)
    assert delegation.passed.chooser == "call"


async def test_a_delegation_that_fails_is_recorded_too() -> None:
    """It was given the conversation."""

    class Failing(Capability):
        async def ask(self, *, inherited: Inherited) -> None:
            raise ValueError("no")

    delegations: list[Delegation] = []
    dispatch = Dispatch([Failing()], inherited=Inherited.of(Conversation.of("x")), record=delegations.append)
    with pytest.raises(Crossed):
        await dispatch.answer(call("failing.ask"))
    assert [delegation.context for delegation in delegations] == ["fork"]


async def test_r46_a_fork_of_a_conversation_that_says_nothing_is_a_fork_and_the_record_says_so() -> None:
    """It is never silently empty."""
    delegations: list[Delegation] = []
    notes = Notes()
    dispatch = Dispatch([notes], inherited=Inherited.of(Conversation()), record=delegations.append)
    await dispatch.answer(call("notes.ask", "who?"))
    assert [d.context for d in delegations] == ["fork"]
    assert delegations[0].passed.as_plain()["nothing"] == "The parent conversation has no messages yet."


async def test_a_run_without_any_conversation_makes_cold_calls_only() -> None:
    """A fork would have nothing to fork from, and says so."""
    notes = Notes()
    dispatch = Dispatch([notes])
    await dispatch.answer(call("notes.ask", "who?", context="cold"))
    await dispatch.answer(call("notes.look"))
    with pytest.raises(Crossed) as caught:
        await dispatch.answer(call("notes.ask", "who?"))
    assert caught.value.failure.type == "LookupError"
    assert caught.value.failure.message == (
        'notes.ask: there is no conversation here that it could receive. Say context="cold".'
    )
    assert notes.seen == [Inherited.cold(), Inherited.cold()]


# What comes back


@pytest.mark.parametrize("value", ["text", None, [1, "2"], {1: 2}, [*range(40), "x"]])
async def test_an_answer_of_another_type_than_declared_is_a_fault_of_the_capability(
    value: object, caplog: pytest.LogCaptureFixture
) -> None:
    """The host's log says what came back; the caller gets an exception, never the value."""
    with pytest.raises(Crossed) as caught:
        await Scene().dispatch.answer(call("notes.wrong", value))
    assert caught.value.failure == Failure(
        kind="script",
        type="CapabilityError",
        message=(
            f"notes.wrong gave a {type(value).__name__} that is no list[int]: "
            "a fault of the capability, not of this call."
        ),
        fields={"type": "CapabilityError"},
    )
    assert "notes.wrong is declared to give list[int], but " in caplog.text


async def test_a_large_answer_is_looked_at_and_not_walked_through() -> None:
    """Its first items are checked; a loose check costs the same for ten rows and for a million."""
    rows: list[object] = [*range(1000), "x"]
    assert await Scene().dispatch.answer(call("notes.wrong", rows)) is rows


async def test_an_exception_that_nobody_declared_is_logged_in_full(caplog: pytest.LogCaptureFixture) -> None:
    """The host keeps the traceback that the guest never sees."""

    class DriverError(Exception):
        pass

    class Store(Capability):
        async def read(self) -> str:
            raise DriverError("broken at /var/lib/store/data.db")

    with caplog.at_level(logging.WARNING), pytest.raises(Crossed) as caught:
        await Dispatch([Store()]).answer(call("store.read"))
    assert caught.value.failure.message == "DriverError: broken at data.db"
    assert "store.read failed with an exception that it does not declare" in caplog.text
    assert "/var/lib/store/data.db" in caplog.text


async def test_invoke_raises_what_the_method_raised() -> None:
    """For callers on the host, who may catch it by its class."""

    class Asking(Capability):
        async def ask(self) -> str:
            raise NeedsClarification("Which Sarah?", ["Chen", "Novak"])

        async def fail(self) -> str:
            raise CapabilityError("closed")

    dispatch = Dispatch([Asking()])
    with pytest.raises(NeedsClarification) as caught:
        await dispatch.invoke(call("asking.ask"))
    assert caught.value.options == ("Chen", "Novak")
    assert dispatch.failure(caught.value) == Failure(
        kind="script",
        type="NeedsClarification",
        message="Which Sarah? Options: Chen; Novak.",
        fields={"question": "Which Sarah?", "options": ("Chen", "Novak")},
    )
    with pytest.raises(CapabilityError, match="closed"):
        await dispatch.invoke(call("asking.fail"))
