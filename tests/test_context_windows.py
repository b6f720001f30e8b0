"""How much of a history a choice passes on: turns, content, tokens, each by its own rule and whatever the others say."""

import json
import re
from itertools import product
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from host.context import COMPACT, FORK, ContextChoice, Inherited, Layer, Sent, read_section, render, start
from host.context.choice import Depth, Scope
from host.conversation import (
    Conversation,
    Elsewhere,
    Media,
    Message,
    Part,
    Summary,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from host.models.port import Request

DELEGATING = frozenset({"start_task", "fork"})


def call(id: str, name: str = "look") -> ToolCall:
    return ToolCall(id=id, name=name, arguments="{}")


def answer(id: str, text: str, *, role: str = "tool", name: str | None = None) -> Message:
    return Message(role=role, parts=(ToolResult(call=id, parts=(Text(text=text),), name=name),))


def exchange(conversation: Conversation, number: int) -> Conversation:
    """A question, a look-up, a delegation, and the answer: six messages."""
    return (
        conversation.user(f"question {number}")
        .assistant([Text(text=f"looking {number}"), call(f"a{number}")])
        .append(answer(f"a{number}", f"seen {number}"))
        .assistant([call(f"b{number}", "start_task")])
        .append(answer(f"b{number}", f"brought {number}"))
        .assistant(f"answer {number}")
    )


def talk(exchanges: int = 4) -> Conversation:
    conversation = Conversation()
    for number in range(1, exchanges + 1):
        conversation = exchange(conversation, number)
    return conversation


def passed(conversation: Conversation, **choice: Any) -> Inherited:
    layer = Layer(conversation=conversation, delegating=DELEGATING)
    return Inherited(layers=(layer,), choice=FORK).choose(ContextChoice(**choice))


def words(inherited: Inherited) -> list[str]:
    """All texts that are passed on, results' too, in order."""
    return [
        text.text
        for layer in inherited.layers
        for message in layer.passed()
        for part in message.parts
        for text in (part.parts if isinstance(part, ToolResult) else [part])
        if isinstance(text, Text)
    ]


SAID = {number: [f"question {number}", f"looking {number}", f"answer {number}"] for number in range(1, 30)}


def test_r12_the_window_has_these_defaults() -> None:
    """The recent five turns, of the conversation; ten turns may be asked for."""
    choice = ContextChoice()
    assert (choice.depth, choice.turns, choice.scope, choice.max_turns) == ("recent", 5, "conversation", 10)
    assert str(choice) == "recent 5 turns, conversation"


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"max_turns": 0}, "max_turns is a positive number of exchanges, not 0"),
        ({"max_tokens": 0}, "max_tokens is a positive number of tokens or None, not 0"),
        ({"max_tokens": True}, "max_tokens is a positive number of tokens or None, not True"),
    ],
)
def test_a_bound_that_means_nothing_cannot_be_made(fields: dict[str, Any], sentence: str) -> None:
    """A choice is valid once it exists."""
    with pytest.raises(ValueError, match=re.escape(sentence)):
        ContextChoice(**fields)


@pytest.mark.parametrize(("depth", "scope"), [*product(get_args(Depth), get_args(Scope))])
def test_r13_depth_and_scope_are_independent(depth: Depth, scope: Scope) -> None:
    """In all nine combinations the depth says which exchanges, and the scope what of them."""
    exchanges = {"none": [], "recent": [3, 4], "all": [1, 2, 3, 4]}[depth]
    expected = []
    for number in exchanges:
        question, looking, answered = SAID[number]
        expected += [question, looking]
        expected += [f"seen {number}"] * (scope == "full")
        expected += [f"brought {number}"] * (scope in ("agents", "full"))
        expected.append(answered)
    inherited = passed(talk(), depth=depth, turns=2, scope=scope)
    assert words(inherited) == expected
    assert inherited.is_cold == (depth == "none")
    section = read_section(render(inherited))
    assert ([entry.text for entry in section.entries if entry.deed != "calls"] if section else []) == expected


def test_r14_none_passes_nothing_whatever_the_scope_and_all_everything_whatever_the_turns() -> None:
    """The depth decides."""
    for scope in get_args(Scope):
        assert passed(talk(), depth="none", scope=scope) == Inherited.cold()
    for turns in (1, 100):
        whole = passed(talk(), depth="all", scope="full", turns=turns, max_turns=1)
        assert whole.layers[0].conversation == talk_of(whole)
        assert len(whole.layers[0].conversation) == 24


def talk_of(inherited: Inherited) -> Conversation:
    return inherited.layers[0].conversation


def test_r15_turns_are_exchanges_however_many_calls_lie_between() -> None:
    """The last three turns are three exchanges from the person's message to the answer."""
    for turns in (1, 2, 3):
        inherited = passed(talk(), depth="recent", turns=turns, scope="full")
        assert len(talk_of(inherited)) == 6 * turns
        assert words(inherited)[0] == f"question {5 - turns}"
    assert words(passed(talk(), turns=3)) == [*SAID[2], *SAID[3], *SAID[4]]


def test_r15_a_users_message_of_results_alone_is_no_turn() -> None:
    """As Anthropic writes them; one with words beside the results is."""
    asked = Conversation.of("one").assistant([call("a")]).append(answer("a", "seen", role="user")).assistant("done")
    conversation = asked.user("two").assistant([call("b")]).append(answer("b", "seen", role="user")).assistant("done")
    assert words(passed(conversation, turns=2)) == ["one", "done", "two", "done"]
    assert words(passed(conversation, turns=1)) == ["two", "done"]
    mixed = Message(role="user", parts=(*answer("b", "seen").parts, Text(text="and?")))
    interrupted = asked.user("two").assistant([call("b")]).append(mixed).assistant("done")
    assert words(passed(interrupted, turns=1)) == ["and?", "done"]


def test_r15_what_a_person_says_in_several_messages_is_one_turn() -> None:
    """An exchange begins where someone else spoke before; blank messages begin none."""
    conversation = Conversation.of("one", "and one more").assistant("done").user("  ").assistant("?").user("two")
    assert words(passed(conversation, turns=2)) == ["one", "and one more", "done", "  ", "?", "two"]
    assert words(passed(conversation, turns=1)) == ["two"]


def test_r15_the_turns_of_a_tree_are_one_sequence() -> None:
    """An agent's work is the exchange of whoever gave it; the recent ones are the last, across layers."""
    tree = Inherited.of(talk(2)).extend(Conversation.of("work").assistant("working"), agent="a")
    recent = tree.choose(ContextChoice(turns=2))
    assert words(recent) == [*SAID[2], "work", "working"]
    assert words(tree.choose(ContextChoice(turns=1))) == ["work", "working"]
    assert len(tree.choose(ContextChoice(turns=1)).layers) == 2


def test_r16_max_turns_bounds_a_requested_number_of_turns_and_not_all() -> None:
    """Ten by default; the record says so."""
    asked = passed(talk(15), turns=12, scope="full")
    assert len(talk_of(asked)) == 60
    assert asked.record().as_plain()["choice"] == "recent 12 turns (bounded to 10), full"
    assert len(talk_of(passed(talk(15), turns=12, max_turns=2, scope="full"))) == 12
    assert len(talk_of(passed(talk(15), depth="all", scope="full", max_turns=2))) == 90


def test_r16_a_token_cap_cuts_all_and_says_so_in_the_record() -> None:
    """The oldest exchanges go; how many messages did not fit stands there."""
    whole = passed(talk(), depth="all", scope="full")
    capped = passed(talk(), depth="all", scope="full", max_tokens=whole.tokens - 1)
    assert words(capped)[0] == "question 2"
    assert capped.tokens < whole.tokens
    plain = capped.record().as_plain()
    assert plain["choice"] == f"fork, at most {whole.tokens - 1} tokens"
    assert (plain["left_out"], plain["over_budget"]) == ([6], 6)
    assert json.loads(json.dumps(plain)) == plain
    fits = passed(talk(), depth="all", scope="full", max_tokens=whole.tokens)
    assert len(talk_of(fits)) == 24
    assert "over_budget" not in fits.record().as_plain()


def test_r16_a_cap_below_one_exchange_keeps_the_newest_of_it_and_never_parts_a_call_from_its_result() -> None:
    """Down to nothing, which the child is told."""
    whole = passed(talk(1), depth="all", scope="full")
    for tokens in range(1, whole.tokens):
        kept = list(talk_of(passed(talk(1), depth="all", scope="full", max_tokens=tokens)))
        assert sum(len(message.text) for message in kept) < 4 * tokens
        assert not kept or kept[0].role != "tool"
    nothing = passed(talk(1), depth="all", scope="full", max_tokens=1)
    assert nothing.nothing == "Everything in the parent conversation was left out by the choice of how much to pass on."
    assert "There is nothing to inherit. Everything in the parent conversation was left out" in render(nothing)


def test_r17_scope_conversation_is_what_user_and_assistant_said() -> None:
    """With what they showed; no system messages, calls, results, reasoning, or words of anyone else."""
    image = Media(kind="image", media_type="image/png")
    conversation = (
        Conversation()
        .say("system", "Be kind.")
        .user([Text(text="look at"), image])
        .assistant([Thinking(text="hm"), Text(text="I look."), call("a"), call("b", "start_task")])
        .append(answer("a", "seen"))
        .append(answer("b", "brought"))
        .say("critic", "Hm.")
        .say("developer", "Be brief.")
    )
    kept = list(talk_of(passed(conversation, depth="all")))
    assert [message.parts for message in kept] == [(Text(text="look at"), image), (Text(text="I look."),)]
    assert [message.id for message in kept] == [conversation.messages[1].id, conversation.messages[2].id]


def test_r17_scope_agents_adds_the_results_of_delegations() -> None:
    """Wherever they stand: late, in a user's message, under an id used again; which tool it was is still told."""
    conversation = (
        Conversation.of("go")
        .assistant([call("a", "start_task"), call("b")])
        .append(answer("b", "seen"))
        .user("meanwhile")
        .append(answer("a", "brought late", role="user"))
        .assistant([call("a")])
        .append(answer("a", "seen again"))
        .append(answer("", "by name", name="fork"))
        .append(answer("nobody", "lost"))
    )
    inherited = passed(conversation, depth="all", scope="agents")
    assert words(inherited) == ["go", "meanwhile", "brought late", "by name"]
    section = read_section(render(inherited))
    assert section is not None
    told = [(entry.speaker, entry.name, entry.text) for entry in section.entries[2:]]
    assert told == [("outer tool", "start_task", "brought late"), ("outer tool", "fork", "by name")]


def test_r17_a_summary_in_place_of_words_counts_as_words() -> None:
    """In every scope, as does the note that history is held elsewhere."""
    conversation = Conversation().say("system", [Summary(text="They chose a hall.")])
    conversation = conversation.say("assistant", [Elsewhere(reference="r")])
    for scope in get_args(Scope):
        assert len(talk_of(passed(conversation, depth="all", scope=scope))) == 2


def test_what_was_changed_has_no_original_any_more() -> None:
    """A message that lost a part cannot be sent as the provider wrote it; one that lost nothing can."""
    reply = Message(role="assistant", parts=(Text(text="x"), call("a")), shape="openai-chat", original=b"{}")
    plain = Message(role="assistant", parts=(Text(text="y"),), shape="openai-chat", original=b"{}")
    first, second = talk_of(passed(Conversation.of(reply, plain), depth="all"))
    assert (first.original, first.id) == (None, reply.id)
    assert second is plain


def test_r35_compact_is_all_that_was_said_without_calls_results_and_recalls() -> None:
    """The results of earlier forks stay."""
    conversation = (
        Conversation.of("go")
        .say("system", "Recalled: Ida lives in Bergen.")
        .assistant([Text(text="I look."), call("a")])
        .append(answer("a", "seen"))
        .assistant([call("f", "fork")])
        .append(answer("f", "### hall (ok)\nThe large one."))
        .assistant("The large one.")
    )
    inherited = passed(conversation, depth="all", scope="agents")
    assert inherited.choice == COMPACT
    assert words(inherited) == ["go", "I look.", "### hall (ok)\nThe large one.", "The large one."]
    assert not any(message.calls for message in talk_of(inherited))


def test_r52_middle_layers_are_elided_visibly_with_counts() -> None:
    """The upper of them first; root and last layer stay, and each layer keeps its place and its number."""
    tree = Inherited.of(talk(1))
    for number in range(2, 6):
        tree = tree.extend(Conversation.of(f"work {number}").assistant("long " * 50), agent=f"agent {number}")
    elided = tree.choose(ContextChoice(depth="all", scope="full", max_tokens=tree.tokens - 100))
    section = read_section(render(elided))
    assert section is not None
    assert section.layers == (
        "the conversation with the outer user, 6 messages",
        'the work of "agent 2", below message 1.6, 0 messages, 2 left out',
        'the work of "agent 3", below message 1.6, 0 messages, 2 left out',
        'the work of "agent 4", below message 1.6, 2 messages',
        'the work of "agent 5", below message 4.2, 2 messages',
    )
    assert "Part of its history follows" in section.explanation
    assert "whole" not in section.explanation
    assert elided.record().as_plain()["left_out"] == [0, 2, 2, 0, 0]
    assert {entry.depth for entry in section.entries} == {1, 4, 5}


def test_what_a_windowed_child_passes_on_is_what_it_got() -> None:
    """Though it forks everything onward, nothing that was left out for it comes back, and the child is told so."""
    onward = passed(talk(), turns=1).extend(Conversation.of("work"), agent="a")
    assert words(onward) == [*SAID[4], "work"]
    section = read_section(render(onward))
    assert section is not None
    assert "Part of its history follows" in section.explanation
    assert section.layers == (
        "the conversation with the outer user, 3 messages, 21 left out",
        'the work of "a", below message 1.3, 1 message',
    )


def test_r38_a_window_is_quoted_even_to_the_same_agent() -> None:
    """Nothing can be left out of a replay; one under a cap that cut nothing is whole."""
    request = Request(system="You plan.", messages=tuple(talk()))
    sent = Sent(agent="planner", model="m", request=request)
    tree = Inherited.cold().extend(talk().assistant([call("c")]), agent="planner", sent=sent)
    given: dict[str, Any] = {
        "instructions": "You plan.",
        "tools": (),
        "agent": "planner",
        "model": "m",
        "request": "go",
    }
    for choice, rendering in (
        (FORK, "replayed"),
        (ContextChoice(), "quoted"),
        (COMPACT, "quoted"),
        (ContextChoice(depth="all", scope="full", max_tokens=50), "quoted"),
        (ContextChoice(depth="all", scope="full", max_tokens=50_000), "replayed"),
    ):
        assert start(inherited=tree.choose(choice), **given).rendering == rendering


@pytest.mark.parametrize(
    "conversation",
    [
        Conversation.of().assistant("first").user("x").assistant("y"),
        Conversation().say("system", "Be kind."),
        Conversation.of().append(answer("a", "result first")),
        Conversation(),
    ],
    ids=["starts on an assistant", "only a system message", "starts on a result", "nothing"],
)
def test_shape_03_histories_without_a_turn_or_that_start_in_the_middle(conversation: Conversation) -> None:
    """Where there are fewer turns than were asked for, all there is is passed; where there are enough, what stands
    before the first of them is not.
    """
    assert len(talk_of(passed(conversation, turns=2, scope="full"))) == len(conversation)
    one = list(talk_of(passed(conversation, turns=1, scope="full")))
    assert [message.text for message in one] == (
        ["x", "y"] if len(conversation) == 3 else [m.text for m in conversation]
    )


def test_shape_03_a_window_never_cuts_a_call_from_its_result_nor_starts_on_an_assistant() -> None:
    """Since exchanges begin with what a person says."""
    for turns in range(1, 5):
        kept = list(talk_of(passed(talk(), turns=turns, scope="full")))
        assert kept[0].role == "user"
        made = {part.id for message in kept for part in message.calls}
        assert {part.call for message in kept for part in message.parts if isinstance(part, ToolResult)} == made


NAMES = st.sampled_from(["look", "start_task"])
IDS = st.sampled_from(["a", "b", ""])
PARTS: st.SearchStrategy[Part] = (
    st.builds(Text, text=st.sampled_from(["", "x"]))
    | st.builds(Thinking, text=st.just("hm"))
    | st.builds(ToolCall, id=IDS, name=NAMES)
    | st.builds(ToolResult, call=IDS, name=st.none() | NAMES, parts=st.just((Text(text="r"),)))
)
MESSAGES = st.builds(
    Message,
    role=st.sampled_from(["system", "user", "user", "assistant", "tool"]),
    parts=st.lists(PARTS, max_size=3).map(tuple),
    volatile=st.sampled_from([False, False, False, True]),
)
TREES = st.lists(st.lists(MESSAGES, max_size=8), min_size=1, max_size=4)
CHOICES = st.builds(
    ContextChoice,
    depth=st.sampled_from(["recent", "all"]),
    turns=st.integers(1, 4),
    scope=st.sampled_from(get_args(Scope)),
    max_turns=st.integers(1, 4),
    max_tokens=st.none() | st.integers(1, 40),
)


def grown(layers: list[list[Message]]) -> Inherited:
    inherited = Inherited.cold()
    for number, said in enumerate(layers):
        inherited = inherited.extend(
            Conversation().extend(said), agent=f"agent {number}" if number else None, delegating=DELEGATING
        )
    return inherited


def ids(inherited: Inherited) -> list[tuple[int, str]]:
    return [(depth, message.id) for depth, layer in enumerate(inherited.layers) for message in layer.passed()]


@given(layers=TREES, turns=st.integers(1, 4), scope=st.sampled_from(get_args(Scope)))
@settings(max_examples=300, deadline=None)
def test_r18_filtering_and_trimming_commute(layers: list[list[Message]], turns: int, scope: Scope) -> None:
    """What passes both is what passes each: no filter changes which turns are the last."""
    tree = grown(layers)
    both = ids(tree.choose(ContextChoice(depth="recent", turns=turns, scope=scope)))
    trimmed = set(ids(tree.choose(ContextChoice(depth="recent", turns=turns, scope="full"))))
    content = ids(tree.choose(ContextChoice(depth="all", scope=scope)))
    assert both == [each for each in content if each in trimmed]


@given(layers=TREES, choice=CHOICES)
@settings(max_examples=300, deadline=None)
def test_a_window_is_a_part_in_order_that_counts_what_is_missing_and_stays_as_it_is(
    layers: list[list[Message]], choice: ContextChoice
) -> None:
    """Nothing is added or moved; the cap is kept; cutting again changes nothing; and it can be told."""
    tree = grown(layers)
    cut = tree.choose(choice)
    remaining = iter(ids(tree))
    assert all(each in remaining for each in ids(cut))
    assert cut.left_out == len(ids(tree)) - len(ids(cut))
    assert choice.max_tokens is None or cut.tokens <= choice.max_tokens
    assert cut.choose(choice) == cut
    assert [layer.end for layer in cut.layers] == [layer.end for layer in tree.layers]
    section = read_section(render(cut))
    assert section is not None
    assert len(section.layers) in (0, len(layers))
