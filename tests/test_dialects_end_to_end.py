"""What each word passes on, from code in the real guest and by a model's JSON call alike."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest
import trio

from guest_stdlib.channel.events import Call
from host import Capability, ContextChoice, HostError, Inherited, open_host
from host.capability import Delegation
from host.context import COMPACT
from host.opening import Host
from host.session import HostSession
from sandbox.image import Image

from .dialect_scene import TOKEN, Scene, Team, history, part_of, texts

ALL = range(1, 5)


def by_code(name: str, **said: object) -> str:
    """The call, as code writes it."""
    arguments = ["'x'", *(f"{key}={value!r}" for key, value in said.items())]
    return f"await team.{name}({', '.join(arguments)})"


def request(name: str) -> str:
    """What the first argument of a tool is called."""
    return {"ask": "question", "branch": "instructions", "review": "work"}.get(name, "instruction")


async def both(image: Image, calls: list[tuple[str, dict[str, Any]]], *, exchanges: int = 4) -> list[list[str]]:
    """What each call passes on. Code and JSON agree, in what arrives and in what is recorded."""
    scene = Scene(exchanges=exchanges)
    async with (
        open_host(capabilities=[Team()], image=image) as host,
        host.session(inherited=history(exchanges)) as session,
    ):
        source = "[" + ", ".join(by_code(name, **said) for name, said in calls) + "]"
        outcome = await session.run(source)
        assert outcome.ok, outcome.error
        from_json = [await scene.by_tool(name, **{request(name): "x"}, **said) for name, said in calls]
        assert outcome.value == from_json
        assert [parts(each) for each in session.delegations] == [parts(each) for each in scene.delegations]
    return from_json


def parts(delegation: Delegation) -> tuple[object, ...]:
    return delegation.path, delegation.context, delegation.chooser, delegation.requested, delegation.choice


NINE = [*product(["none", "recent", "all"], ["conversation", "agents", "full"])]


async def test_r12_r13_r14_r17_the_nine_windows(image: Image) -> None:
    """The depth says which exchanges, the scope what of them; nothing is nothing in any scope."""
    calls: list[tuple[str, dict[str, Any]]] = [
        ("explore", {"context_depth": depth, "context_turns": 2, "context_scope": scope}) for depth, scope in NINE
    ]
    passed = await both(image, calls)
    which = {"none": range(0), "recent": range(3, 5), "all": ALL}
    assert passed == [part_of(which[depth], scope=scope) for depth, scope in NINE]


async def test_r12_a_window_left_out_is_the_words_of_the_last_five_exchanges(image: Image) -> None:
    """Each side by itself, too."""
    calls: list[tuple[str, dict[str, Any]]] = [
        ("explore", {}),
        ("explore", {"context_turns": 2}),
        ("explore", {"context_scope": "full"}),
        ("explore", {"context_depth": "all"}),
    ]
    assert await both(image, calls, exchanges=7) == [
        part_of(range(3, 8), scope="conversation"),
        part_of(range(6, 8), scope="conversation"),
        part_of(range(3, 8), scope="full"),
        part_of(range(1, 8), scope="conversation"),
    ]


async def test_r15_r16_turns_are_exchanges_and_bounded(image: Image) -> None:
    """Ten at most may be asked for; `all` is not bounded by that."""
    calls: list[tuple[str, dict[str, Any]]] = [
        ("explore", {"context_turns": 3, "context_scope": "full"}),
        ("explore", {"context_turns": 1_000}),
        ("explore", {"context_depth": "all", "context_turns": 1}),
    ]
    assert await both(image, calls, exchanges=13) == [
        part_of(range(11, 14), scope="full"),
        part_of(range(4, 14), scope="conversation"),
        part_of(range(1, 14), scope="conversation"),
    ]


async def test_r16_a_tool_may_bound_turns_and_tokens(image: Image) -> None:
    """Its own number of turns; and a cap on tokens that holds for `all`, and that the record tells of."""
    told: list[Delegation] = []
    async with open_host(capabilities=[Team()], image=image) as host, host.session(inherited=history()) as session:
        bounded = await session.run(
            "await team.tight('x', context_depth='recent', context_turns=4)", record=told.append
        )
        assert bounded.value == part_of(range(3, 5), scope="full")
        whole = await session.run("await team.tight('x')", record=told.append)
        assert whole.value == part_of(range(3, 5), scope="full")
    assert [(each.requested, str(each.choice)) for each in told] == [
        ("recent 4 turns (bounded to 2), full, at most 90 tokens",) * 2,
        (None, "fork, at most 90 tokens"),
    ]
    assert "over_budget" not in told[0].passed.as_plain()
    assert told[1].passed.as_plain()["over_budget"] == 12
    assert told[1].inherited.tokens <= 90


async def test_r18_turns_are_counted_on_the_history_as_it_is(image: Image) -> None:
    """Whatever the scope leaves of them."""
    passed = await both(
        image, [("explore", {"context_turns": 2, "context_scope": s}) for s in ("conversation", "full")]
    )
    assert [[text for text in each if text.startswith("question")] for each in passed] == [
        ["question 3", "question 4"]
    ] * 2


async def test_r11_r35_the_modes(image: Image) -> None:
    """Everything, everything without traffic but with what delegations brought, nothing; everything if left out."""
    calls: list[tuple[str, dict[str, Any]]] = [
        ("branch", {"context": "inherit"}),
        ("branch", {"context": "compact"}),
        ("branch", {"context": "none"}),
        ("branch", {}),
    ]
    assert await both(image, calls) == [
        part_of(ALL, scope="full"),
        part_of(ALL, scope="agents"),
        [],
        part_of(ALL, scope="full"),
    ]


async def test_r05_r19_isolation_is_the_same_choice_under_its_own_names(image: Image) -> None:
    """Forked is all of it, isolated nothing, which this tool declares as its default."""
    calls: list[tuple[str, dict[str, Any]]] = [("review", {"context": "forked"}), ("review", {"context": "isolated"})]
    assert await both(image, [*calls, ("review", {}), ("ask", {"context": "cold"}), ("ask", {})]) == [
        part_of(ALL, scope="full"),
        [],
        [],
        [],
        part_of(ALL, scope="full"),
    ]


async def test_r03_r80_the_record_has_the_words_the_choice_and_who_made_it() -> None:
    """Fork, when anything is passed on; and the words that could have been said."""
    scene = Scene()
    await scene.by_tool("branch", instructions="x", context="compact")
    await scene.by_tool("explore", instruction="x", context_turns=3, context_scope="agents")
    await scene.by_tool("explore", instruction="x", context_depth="none")
    await scene.by_tool("review", work="x")
    await scene.by_guest("branch", "x", context="none")
    assert scene.recorded == [
        ("fork", "call", "compact", "compact"),
        ("fork", "call", "recent 3 turns, agents", "recent 3 turns, agents"),
        ("cold", "call", "cold", "cold"),
        ("cold", "default", None, "cold"),
        ("cold", "call", "none", "cold"),
    ]
    assert [each.offered for each in scene.delegations[:2]] == [
        ("inherit", "compact", "none"),
        (
            "context_depth: none",
            "context_depth: recent",
            "context_depth: all",
            "context_turns: a number",
            "context_scope: conversation",
            "context_scope: agents",
            "context_scope: full",
        ),
    ]
    assert scene.delegations[0].choice == COMPACT
    assert json.dumps(scene.delegations[1].passed.as_plain())


# Who decides


@pytest.mark.parametrize(
    ("policy", "passed"), [("always", part_of(ALL, scope="full")), ("never", [])], ids=["always", "never"]
)
async def test_r07_a_policy_decides_over_every_dialect(policy: Any, passed: list[str]) -> None:
    """Always is the whole conversation, never is none of it, whatever was said and whatever the tool declares."""
    scene = Scene(policy=policy)
    assert await scene.by_tool("branch", instructions="x", context="none") == passed
    assert await scene.by_tool("branch", instructions="x", context="inherit") == passed
    assert await scene.by_tool("branch", instructions="x", context="warm") == passed
    assert await scene.by_guest("explore", "x", context_turns=1) == passed
    assert await scene.by_guest("review", "x") == passed
    assert {each.chooser for each in scene.delegations} == {"policy"}
    assert {each.offered for each in scene.delegations} == {()}


async def test_r07_always_keeps_a_tools_cap_on_tokens() -> None:
    """A policy decides what is chosen; it does not make a tool take what it never takes."""
    scene = Scene(policy="always")
    await scene.by_tool("tight", instruction="x")
    assert scene.recorded == [("fork", "policy", None, "fork, at most 90 tokens")]


async def test_r58_a_cold_run_is_cold_in_every_dialect() -> None:
    """It has nothing to pass on."""
    scene = Scene(cold=True)
    assert await scene.by_tool("branch", instructions="x", context="inherit") == []
    assert await scene.by_guest("explore", "x", context_depth="all") == []
    assert scene.recorded == [("cold", "run", "inherit", "cold"), ("cold", "run", "all, conversation", "cold")]


@pytest.mark.parametrize("policy", ["always", "never"])
async def test_r07_r08_code_under_a_policy_sees_no_choice_and_none_counts(image: Image, policy: Any) -> None:
    """In the real guest: the signature has no such argument, and a word that is said anyway changes nothing."""
    source = "import inspect\n[str(inspect.signature(team.branch)), await team.branch('x', context='none')]"
    async with (
        open_host(capabilities=[Team()], image=image, context_policy=policy) as host,
        host.session(inherited=history()) as session,
    ):
        outcome = await session.run(source)
    assert outcome.value == [
        "(instructions: str) -> list[str]",
        part_of(ALL, scope="full") if policy == "always" else [],
    ]


@pytest.mark.parametrize("policy", ["always", "never"])
async def test_r08_r92_a_session_under_a_policy_wakes_on_the_same_host(image: Image, policy: Any) -> None:
    """What it was opened with is what the host offers under that policy."""
    async with open_host(capabilities=[Team()], image=image, context_policy=policy) as host:
        async with host.session(inherited=history()) as session:
            await session.run("x = 1")
            data = await session.suspend()
        async with host.resume(data) as session:
            outcome = await session.run("len(await team.branch('x'))")
    assert outcome.value == (20 if policy == "always" else 0)


# What is wrong


@pytest.mark.parametrize(
    ("name", "said", "sentence"),
    [
        ("branch", {"context": "cold"}, '`context` is "inherit", "compact" or "none", not \'cold\''),
        ("branch", {"context": 7}, '`context` is "inherit", "compact" or "none", not 7'),
        ("branch", {"context_depth": "all"}, "there is no `context_depth`"),
        ("explore", {"context": "fork"}, "there is no `context`"),
        ("explore", {"context_turns": 0}, "`context_turns` is a whole number from 1 to 1,000, not 0"),
        ("explore", {"context_turns": "3"}, "`context_turns` is a whole number from 1 to 1,000, not '3'"),
        ("explore", {"context_turns": True}, "`context_turns` is a whole number from 1 to 1,000, not True"),
    ],
)
async def test_r11_a_wrong_word_in_json_is_refused_with_the_known_ones(
    name: str, said: dict[str, Any], sentence: str
) -> None:
    """In one sentence, with the arguments that there are."""
    scene = Scene()
    with pytest.raises(TypeError) as caught:
        await scene.by_tool(name, **{request(name): "x"}, **said)
    assert sentence in str(caught.value)
    assert str(caught.value).endswith(
        "It takes `instructions`, `context`."
        if name == "branch"
        else "It takes `instruction`, `context_depth`, `context_turns`, `context_scope`."
    )
    assert (scene.dispatch.rejected, scene.delegations) == (1, [])


async def test_null_in_json_is_an_argument_left_out() -> None:
    """Models write it for what they do not want to say."""
    scene = Scene()
    assert await scene.by_tool("branch", instructions="x", context=None) == part_of(ALL, scope="full")
    assert [each.chooser for each in scene.delegations] == ["default"]


@pytest.mark.parametrize(
    ("name", "said", "kind", "sentence"),
    [
        ("branch", {"context": "cold"}, ValueError, 'team.branch: context is "inherit", "compact" or "none", not \'cold\''),
        ("branch", {"context": 1}, ValueError, 'team.branch: context is "inherit", "compact" or "none", not 1'),
        ("branch", {"turns": 1}, TypeError, "team.branch: there is no 'turns'; what to pass on is said by context"),
        ("explore", {"context": "fork"}, TypeError, "team.explore: there is no 'context'; what to pass on is said by "),
        ("explore", {"context_turns": -(2**52)}, ValueError, "team.explore: context_turns is a whole number from 1 to"),
        ("count", {"context": "fork"}, TypeError, "team.count takes no `context`: it does not receive the conversation."),
    ],
)  # fmt: skip
async def test_r55_a_hostile_guests_choice_is_checked_again_on_the_host(
    name: str, said: dict[str, Any], kind: type[Exception], sentence: str
) -> None:
    """Whatever went around the guest's own checks: it is rejected and counted, and nothing runs."""
    scene = Scene()
    with pytest.raises(kind) as caught:
        await scene.by_guest(name, "x", **said)
    assert str(caught.value).startswith(sentence)
    assert (scene.dispatch.rejected, scene.delegations) == (1, [])


@pytest.mark.parametrize("name", ["context_depth", "context_turns", "context_scope", "context", "inherited"])
async def test_r55_the_choice_cannot_be_smuggled_in_among_the_arguments(name: str) -> None:
    """A method with ** would take it for its own."""

    class Loose(Capability):
        dialect = "window"

        async def ask(self, *, inherited: Inherited, **more: Any) -> list[str]:
            raise AssertionError(more)

    from host.capability import Dispatch

    dispatch = Dispatch([Loose()], inherited=history(), token=TOKEN)
    with pytest.raises(TypeError, match=f"loose.ask: got an unexpected keyword argument '{name}'"):
        await dispatch.invoke(Call(call=1, path="loose.ask", kwargs={name: "all"}, token=TOKEN))


async def test_r11_a_wrong_word_in_code_never_leaves_the_guest(image: Image) -> None:
    """The error is at the agent's own line, with what may be said."""
    async with open_host(capabilities=[Team()], image=image) as host, host.session(inherited=history()) as session:
        outcome = await session.run("x = 1\nawait team.branch('x', context='cold')")
        assert outcome.error is not None
        assert (outcome.error.type, outcome.error.line) == ("ValueError", 2)
        assert outcome.error.message == 'team.branch(): context is "inherit", "compact" or "none", not \'cold\'.'
        assert session.delegations == []


# Made again with another choice


async def waiting(host: Host, nursery: trio.Nursery, session: HostSession, source: str) -> None:
    nursery.start_soon(session.run, source)
    await session.held()


async def test_r82_r95_a_waiting_call_is_made_again_with_any_choice(image: Image) -> None:
    """One of another dialect than its own, too; asleep or awake."""
    recent = ContextChoice(turns=1, scope="full")
    async with (
        open_host(capabilities=[Team()], image=image) as host,
        host.session(inherited=history(), held=["team.branch"]) as session,
        trio.open_nursery() as nursery,
    ):
        await waiting(host, nursery, session, "await team.branch('x', context='none')")
        for choice, passed, words in (
            (recent, part_of(range(4, 5), scope="full"), "recent 1 turns, full"),
            (COMPACT, part_of(ALL, scope="agents"), "compact"),
            ("fork", part_of(ALL, scope="full"), "fork"),
        ):
            async with await session.fork(choices={"team.branch": choice}) as copy:  # type: ignore[dict-item]
                assert (await copy.finish()).value == passed
                [made] = copy.delegations
                assert (made.requested, made.chooser, made.rerun) == (words, "call", True)
        asleep = await (await session.fork(choices={"team.branch": recent})).suspend()
        with pytest.raises(HostError, match='context is "fork" or "cold", not \'inherit\''):
            await session.fork(choices={"team.branch": "inherit"})  # type: ignore[dict-item]
        nursery.cancel_scope.cancel()
    async with open_host(capabilities=[Team()], image=image) as host:
        async with host.resume(asleep) as session:
            assert (await session.finish()).value == part_of(range(4, 5), scope="full")
        async with host.resume(asleep, choices={"team.branch": COMPACT}) as session:
            assert (await session.finish()).value == part_of(ALL, scope="agents")


async def test_r58_a_rerun_of_a_cold_cell_can_choose_nothing_but_nothing(image: Image) -> None:
    """It has no conversation to pass a window of."""
    async with (
        open_host(capabilities=[Team()], image=image) as host,
        host.session(inherited=Inherited.cold(), held=["team.branch"]) as session,
        trio.open_nursery() as nursery,
    ):
        await waiting(host, nursery, session, "await team.branch('x')")
        with pytest.raises(HostError, match="cannot fork: this cell was started cold"):
            await session.fork(choices={"team.branch": ContextChoice()})
        async with await session.fork(choices={"team.branch": ContextChoice(depth="none")}) as copy:
            assert (await copy.finish()).value == []
        nursery.cancel_scope.cancel()


async def test_r49_what_is_forked_onward_is_what_was_chosen() -> None:
    """A child passes on no more than it was given."""
    onward: list[Inherited] = []

    class Middle(Capability):
        dialect = "window"

        async def ask(self, *, inherited: Inherited) -> None:
            onward.append(inherited)

    from host.capability import Dispatch

    first = Dispatch([Middle()], inherited=history())
    await first.invoke_tool("middle_ask", {"context_turns": 2})
    second = Dispatch([Middle()], inherited=onward[0])
    await second.invoke_tool("middle_ask", {"context_depth": "all", "context_scope": "full"})
    assert texts(onward[1]) == texts(onward[0]) == part_of(range(3, 5), scope="conversation")
    assert onward[1].left_out == onward[0].left_out
