"""What a child starts from: cold, quoted, or replayed so that a provider's cache has most of it already."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from host.context import COLD, Inherited, Sent, Start, prefix_hash, read_section, render, start
from host.conversation import (
    STILL_RUNNING,
    Conversation,
    Message,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    well_formed,
)
from host.models.port import Request, ToolSpec
from tests.provider_rules import problems

NONCE = "n0nce4tests"
INSTRUCTIONS = "You are the planner."
TOOLS = (
    ToolSpec(name="start_task", description="Starts a task.", parameters={"type": "object", "properties": {"a": {}}}),
    ToolSpec(name="look", description="Looks.", parameters={"type": "object"}),
)


def call(id: str, name: str = "start_task") -> ToolCall:
    return ToolCall(id=id, name=name, arguments='{"request": "Write it."}')


def result(id: str, text: str) -> Message:
    return Message(role="tool", parts=(ToolResult(call=id, parts=(Text(text=text),)),))


def before() -> Conversation:
    """A conversation up to the caller's last request."""
    asked = Conversation.of("Plan the tour.").assistant([Text(text="I look."), call("c1", "look")])
    return asked.append(result("c1", "three halls")).assistant("Which?").user("The largest.")


def inherited(
    sent: Conversation,
    *replied: Message,
    system: str = INSTRUCTIONS,
    steering: frozenset[str] = frozenset(),
    **fields: Any,
) -> Inherited:
    """What a caller passes on that has sent a conversation, and then was answered."""
    request = Request(system=system, messages=tuple(sent), tools=TOOLS)
    said = Sent(**{"agent": "planner", "model": "m", "request": request, "call": "c2", **fields})
    return Inherited.cold().extend(sent.extend(replied), agent="planner", sent=said, steering=steering)


def replied(*parts: Part) -> Message:
    return Message(role="assistant", parts=parts)


def begun(tree: Inherited, **fields: Any) -> Start:
    given = {"instructions": INSTRUCTIONS, "tools": TOOLS, "agent": "planner", "model": "m", "request": "Write it."}
    return start(inherited=tree, nonce=NONCE, **{**given, **fields})


def last(begun: Start) -> Message:
    (own,) = begun.own
    return own


def test_r05_a_cold_child_starts_from_its_instructions_and_the_request() -> None:
    """Not one byte of the caller's, even where all of it could be replayed."""
    for rendering in ("auto", "quoted", "replayed"):
        cold = begun(Inherited.of(before(), choice=COLD), rendering=rendering)
        assert (cold.system, [(m.role, m.text) for m in cold.messages]) == (INSTRUCTIONS, [("user", "Write it.")])
        assert (cold.rendering, cold.prefix, cold.shared) == ("none", None, 0)


def test_r20_a_quoted_child_starts_from_its_instructions_with_the_section_and_the_request() -> None:
    """The section stands behind the instructions, and no turn of the caller's is one of the child's."""
    tree = inherited(before(), replied(call("c2")))
    quoted = begun(tree, rendering="quoted")
    assert quoted.system == f"{INSTRUCTIONS}\n\n{render(tree, nonce=NONCE)}"
    assert [(m.role, m.text) for m in quoted.messages] == [("user", "Write it.")]
    assert (quoted.rendering, quoted.prefix, quoted.shared) == ("quoted", None, 0)


def test_r31_the_callers_messages_are_copied_without_the_starting_call_and_the_assignment_follows() -> None:
    """The very objects; a message that was nothing but the call goes with it."""
    sent = before()
    replayed = begun(inherited(sent, replied(call("c2"))), assignment="t_1")
    assert all(copied is given for copied, given in zip(replayed.messages, sent, strict=False))
    assert len(replayed.messages) == len(sent) + 1
    assert (replayed.system, replayed.rendering, replayed.shared) == (INSTRUCTIONS, "replayed", len(sent))
    own = last(replayed)
    assert own.role == "user"
    assert own.text.startswith("Here your own work begins. It was split off from the conversation above")
    assert "Keep to this part; whoever asked for it keeps the rest. This is assignment t_1." in own.text
    assert own.text.endswith("\n\nWrite it.")


@pytest.mark.parametrize(
    ("reply", "since", "kept"),
    [
        ((Text(text="I start."), call("c2")), (), [("assistant", (Text(text="I start."),))]),
        ((Thinking(text="hm", signature="s"), call("c2")), (), []),
        (
            (call("c2"), call("c3", "look")),
            (),
            [
                ("assistant", (call("c3", "look"),)),
                ("tool", (ToolResult(call="c3", parts=(Text(text=STILL_RUNNING),)),)),
            ],
        ),
        (
            (call("c3", "look"), call("c2")),
            (result("c3", "seen"),),
            [("assistant", (call("c3", "look"),)), ("tool", result("c3", "seen").parts)],
        ),
        (
            (call("c1"), call("c2")),
            (),
            [
                ("assistant", (replace(call("c1"), id="c1_2"),)),
                ("tool", (ToolResult(call="c1_2", parts=(Text(text=STILL_RUNNING),)),)),
            ],
        ),
        ((call("c2"), call("c2")), (), [("assistant", (call("c2"),)), ("tool", None)]),
    ],
    ids=["with text", "with reasoning", "a sibling undone", "a sibling done", "two delegations", "one id for both"],
)
def test_r31_whatever_stands_beside_the_starting_call_the_result_is_valid(
    reply: tuple[Part, ...], since: tuple[Message, ...], kept: list[Any]
) -> None:
    """Text and sibling calls stay, reasoning about nothing but the call does not, and a sibling has a result."""
    sent = before()
    replayed = begun(inherited(sent, replied(*reply), *since))
    made = well_formed(replayed.messages)
    assert problems(made) == []
    between = [(message.role, message.parts) for message in made[len(sent) : -1]]
    assert len(between) == len(kept)
    for (role, parts), (expected_role, expected_parts) in zip(between, kept, strict=True):
        assert role == expected_role
        assert expected_parts is None or parts == expected_parts
    assert replayed.rendering == "replayed"


def test_r31_reasoning_about_nothing_but_the_call_is_not_replayed() -> None:
    """It would belong to no message any more."""
    sent = before()
    replayed = begun(inherited(sent, replied(Thinking(text="hm", signature="s"), call("c2"))))
    assert replayed.messages[:-1] == tuple(sent)


def test_r31_a_message_without_its_call_is_not_sent_as_the_provider_wrote_it() -> None:
    """What stays of it has no original; the caller's own message is as it was."""
    reply = Message(role="assistant", parts=(Text(text="x"), call("c2")), shape="anthropic", original=b"{}")
    replayed = begun(inherited(before(), reply))
    assert (replayed.messages[-2].original, reply.original) == (None, b"{}")


def test_r31_a_message_that_is_true_only_now_is_not_replayed() -> None:
    """A list of running work between the request and the call stays behind."""
    work = Message(role="user", parts=(Text(text="Running: nothing."),), volatile=True)
    replayed = begun(inherited(before(), work, replied(Text(text="x"), call("c2"))))
    assert "Running" not in "".join(message.text for message in replayed.messages)


def test_r32_the_shared_prefix_is_what_the_caller_sent_and_its_hash_is_recorded() -> None:
    """The hash of the caller's request is that of the child's first messages under the same system text and tools."""
    tree = inherited(before(), replied(Text(text="I start."), call("c2")))
    sent = tree.layers[-1].sent
    assert sent is not None
    replayed = begun(tree)
    repeated = Request(system=replayed.system, messages=replayed.messages[: replayed.sent], tools=TOOLS)
    assert replayed.prefix == prefix_hash(sent.request) == prefix_hash(repeated)
    assert well_formed(replayed.messages)[: len(well_formed(sent.request.messages))] == well_formed(
        sent.request.messages
    )


def test_r32_the_hash_is_of_all_that_a_provider_caches_and_of_nothing_else() -> None:
    """Tools, their order, the system text and each message count; the tail and the ids of messages do not."""
    request = Request(system="s", messages=tuple(before()), tools=TOOLS, tail="now")
    one, *others = [
        prefix_hash(each)
        for each in (
            request,
            replace(request, system="t"),
            replace(request, tools=TOOLS[::-1]),
            replace(request, tools=(*TOOLS[:1], replace(TOOLS[1], description="x"))),
            replace(request, messages=request.messages[:-1]),
            replace(request, messages=(*request.messages[:-1], Message(role="user", parts=(Text(text="\ud800"),)))),
        )
    ]
    assert len({one, *others}) == 6
    renamed = tuple(replace(message, id=f"other{number}") for number, message in enumerate(request.messages))
    assert one == prefix_hash(replace(request, tail="then")) == prefix_hash(replace(request, messages=renamed))
    assert len(one) == 64


def test_r32_a_result_that_came_while_the_request_was_on_its_way_does_not_change_the_prefix() -> None:
    """The request said that the call is still running; so does the replay, and the result follows as a notice."""
    sent = Conversation.of("Go.").assistant([call("c1")])
    tree = inherited(sent, result("c1", "done"), replied(Text(text="I start."), call("c2")))
    replayed = begun(tree)
    made = well_formed(replayed.messages)
    assert problems(made) == []
    assert made[:3] == well_formed(sent)
    assert made[3].text == '[notice] The result of "start_task" (call "c1"):\n> done'
    assert replayed.rendering == "replayed"


@pytest.mark.parametrize(
    "other",
    [
        {"agent": "reviewer"},
        {"model": "n"},
        {"tools": TOOLS[:1]},
        {"tools": TOOLS[::-1]},
        {"instructions": "You are the reviewer."},
    ],
    ids=["agent", "model", "fewer tools", "order of tools", "instructions"],
)
def test_r38_another_agent_model_or_tools_are_quoted_to(other: dict[str, Any]) -> None:
    """Also where a replay was asked for; no shared prefix is claimed."""
    tree = inherited(before(), replied(call("c2")))
    assert begun(tree).rendering == "replayed"
    for rendering in ("auto", "replayed"):
        quoted = begun(tree, rendering=rendering, **other)
        assert (quoted.rendering, quoted.prefix, quoted.shared) == ("quoted", None, 0)
        assert read_section(quoted.system) is not None


def test_r38_a_schema_with_its_keys_in_another_order_is_other_bytes() -> None:
    """Equal values that are written differently share no prefix; equal ones of another kind of mapping do."""
    schema = TOOLS[0].parameters
    turned = replace(TOOLS[0], parameters=dict(reversed(list(schema.items()))))
    tree = inherited(before(), replied(call("c2")))
    assert turned == TOOLS[0]
    assert begun(tree, tools=(turned, TOOLS[1])).rendering == "quoted"
    assert begun(tree, tools=(replace(TOOLS[0], parameters=dict(schema)), TOOLS[1])).rendering == "replayed"


def test_r38_a_conversation_that_no_loop_of_ours_sent_is_quoted() -> None:
    """There is nothing to share."""
    assert begun(Inherited.of(before()), rendering="replayed").rendering == "quoted"


def test_r46_a_fork_that_has_nothing_to_inherit_says_so_in_any_rendering() -> None:
    """It is quoted, since only a section can say so."""
    for rendering in ("auto", "quoted", "replayed"):
        empty = begun(inherited(Conversation()), rendering=rendering)
        assert empty.rendering == "quoted"
        assert "There is nothing to inherit." in empty.system


def test_r49_a_child_of_a_replayed_child_shares_what_that_one_sent() -> None:
    """Its caller's own exchange starts at the assignment, and all that was replayed stands before it."""
    first = begun(inherited(before(), replied(call("c2"))))
    own = Conversation().extend(first.own)
    request = Request(system=first.system, messages=first.messages, tools=TOOLS)
    said = Sent(agent="planner", model="m", request=request, call="d1")
    tree = inherited(before(), replied(call("c2"))).extend(
        own.assistant([Text(text="Deeper."), call("d1")]), agent="planner", sent=said
    )
    second = begun(tree, request="Deeper still.")
    assert second.messages[: len(first.messages)] == first.messages
    assert [message.text for message in second.messages[len(first.messages) : -1]] == ["Deeper."]
    assert last(second).text.endswith("Deeper still.")
    assert second.prefix == prefix_hash(request)


def test_r31_a_history_that_was_compacted_since_it_was_sent_replays_what_was_sent() -> None:
    """The caller's request is repeated, and only what it has said since follows."""
    sent = before()
    request = Request(system=INSTRUCTIONS, messages=tuple(sent), tools=TOOLS)
    compacted = Conversation.of("Summary.").extend(sent.messages[-1:]).assistant([Text(text="So."), call("c2")])
    said = Sent(agent="planner", model="m", request=request, call="c2")
    replayed = begun(Inherited.cold().extend(compacted, agent="planner", sent=said))
    assert [message.text for message in replayed.messages[:-1]] == [*[m.text for m in sent], "So."]
    rewritten = Conversation.of("Summary.").assistant([Text(text="So."), call("c2")])
    replayed = begun(Inherited.cold().extend(rewritten, agent="planner", sent=said))
    assert [message.text for message in replayed.messages[:-1]] == [*[m.text for m in sent], "So."]


STEERING = frozenset({"stop_search_the_web__1", "ask_search_the_web__1"})


def test_r28_no_steering_tools_name_occurs_in_a_quotation() -> None:
    """In a call, its arguments, code, words and results, the tool is spoken of neutrally; other names stay."""
    said = (
        replied(
            Text(text="I use stop_search_the_web__1, not nonstop_search_the_web__1 or stop_search_the_web__12."),
            ToolCall(id="s", name="stop_search_the_web__1", arguments='{"code": "x\\nask_search_the_web__1()"}'),
        ),
        Message(
            role="tool",
            parts=(
                ToolResult(
                    call="s", name="stop_search_the_web__1", parts=(Text(text="stop_\x1b[0msearch_the_web__1"),)
                ),
            ),
        ),
    )
    tree = inherited(before(), *said, steering=STEERING).extend(
        Conversation.of("ask_search_the_web__1?"), agent="stop_search_the_web__1"
    )
    quoted = begun(tree)
    section = read_section(quoted.system)
    assert section is not None
    told = [(entry.deed, entry.name, entry.text) for entry in section.entries[-4:]]
    assert told == [
        (
            "said",
            None,
            "I use stop (a steering tool), not nonstop_search_the_web__1 or stop_search_the_web__12.",
        ),
        ("calls", "stop (a steering tool)", '{"code": "x\\nask (a steering tool)()"}'),
        ("answers", "stop (a steering tool)", "stop (a steering tool)"),
        ("said", None, "ask (a steering tool)?"),
    ]
    assert section.layers[1] == 'the work of "stop (a steering tool)", below message 1.7, 1 message'


def test_r28_history_that_names_a_steering_tool_is_not_replayed() -> None:
    """A replay cannot rename anything; a caller that has such tools and never used them is replayed."""
    used = replied(ToolCall(id="s", name="stop_search_the_web__1"))
    assert begun(inherited(before().append(used), replied(call("c2")), steering=STEERING)).rendering == "quoted"
    assert begun(inherited(before(), used, replied(call("c2")), steering=STEERING)).rendering == "quoted"
    assert begun(inherited(before(), replied(call("c2")), steering=STEERING)).rendering == "replayed"


PARTS: st.SearchStrategy[Part] = (
    st.builds(Text, text=st.sampled_from(["", "x"]))
    | st.builds(Thinking, text=st.just("hm"))
    | st.builds(ToolCall, id=st.sampled_from(["a", "b", "c2"]), name=st.just("look"))
    | st.builds(ToolResult, call=st.sampled_from(["a", "b", "c2"]))
)
MESSAGES = st.builds(
    Message,
    role=st.sampled_from(["user", "assistant", "tool", "system"]),
    parts=st.lists(PARTS, max_size=3).map(tuple),
    volatile=st.sampled_from([False, False, False, True]),
)


@given(sent=st.lists(MESSAGES, min_size=1, max_size=6), since=st.lists(MESSAGES, max_size=5))
@settings(max_examples=300, deadline=None)
def test_r32_any_replay_is_valid_and_begins_with_what_was_sent(sent: list[Message], since: list[Message]) -> None:
    """Whatever the caller's history is, and whatever came after it was sent."""
    tree = inherited(Conversation().extend(sent), *since)
    replayed = begun(tree, rendering="replayed")
    made = well_formed(replayed.messages)
    assert problems(made) == []
    if replayed.rendering == "replayed":
        as_sent = well_formed(sent)
        assert made[: len(as_sent)] == as_sent
        assert made[-1] is last(replayed)
