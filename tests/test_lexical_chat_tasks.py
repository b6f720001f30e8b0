"""Tasks in a conversation with the lexical model: started, steered and reported by words."""

from __future__ import annotations

import pytest

from host.context import Inherited, render
from host.conversation import Conversation, Message, Text, ToolCall, ToolResult
from tests.lexical_chat import TOOLS, Chat, knowing, running


@pytest.mark.parametrize(
    "order",
    [
        "In the background, deliver the portrait to Nils",
        "Deliver the portrait to Nils in the background.",
        "Start a task to deliver the portrait to Nils",
        "deliver the portrait to Nils as a task",
    ],
)
async def test_what_is_to_be_done_in_the_background_becomes_a_task(order: str) -> None:
    """A fork, whose request says no more of a background: or it would start one, too."""
    chat = Chat(knowing)
    answer = await chat.say(order)
    assert chat.calls == [("start_task", {"request": "Deliver the portrait to Nils", "context": "fork"})]
    assert answer.startswith("I have started a task for that: \u201cDeliver the portrait to Nils\u201d.")


async def test_a_second_opinion_starts_cold() -> None:
    """So that it will be one."""
    chat = Chat(knowing)
    await chat.say("In the background, find the portrait as a second opinion")
    assert chat.calls == [("start_task", {"request": "Find the portrait", "context": "cold"})]


async def test_the_result_of_a_task_is_reported_when_it_comes() -> None:
    """As a late result of the call that started it, or as a notice."""
    chat = Chat(knowing)
    await chat.say("In the background, find the portrait")
    (call,) = chat.messages[1].calls
    late = ToolResult(call=call.id, name="start_task", parts=(Text(text="The task x__1 has finished.\n\nB7"),))
    chat.messages.append(Message(role="tool", parts=(late,)))
    assert await chat.go_on() == "The task x__1 has finished.\n\nB7"
    chat.messages.append(Message(role="user", parts=(Text(text="[The task y__2 has failed.\n\nNo.]"),)))
    assert await chat.go_on() == "The task y__2 has failed.\n\nNo."
    assert chat.names == ["start_task"]


@pytest.mark.parametrize(
    ("said", "name", "arguments"),
    [
        ("stop the task", "stop_find_the_portrait__1", {}),
        ("Stop it", "stop_find_the_portrait__1", {}),
        ("please pause the portrait task", "pause_find_the_portrait__1", {}),
        ("go on with the task", "resume_find_the_portrait__1", {}),
        ("How far is the task?", "ask_find_the_portrait__1", {"question": "How far is the task?"}),
        ("tell the task that it is the small one", "interject_find_the_portrait__1", {"text": "it is the small one"}),
    ],
)
async def test_a_running_task_is_steered_by_words(said: str, name: str, arguments: dict[str, str]) -> None:
    """By the verb that the tool's name begins with, and its commonest other words."""
    chat = Chat(lambda *_: "Done so.", [*TOOLS, *running("find_the_portrait__1")])
    assert await chat.say(said) == "Done so."
    assert chat.calls == [(name, arguments)]


async def test_which_task_is_meant_is_asked_where_it_cannot_be_told() -> None:
    """Its label, or its number, tells it."""
    chat = Chat(lambda *_: "Stopped.", [*TOOLS, *running("find_the_portrait__1", "count_the_crates__2")])
    assert await chat.say("stop the task") == "Which task is meant: find_the_portrait__1, count_the_crates__2?"
    assert await chat.say("stop the crates task") == "Stopped."
    assert await chat.say("stop task 1") == "Stopped."
    assert chat.names == ["stop_count_the_crates__2", "stop_find_the_portrait__1"]


async def test_a_task_that_goes_on_from_its_callers_messages_knows_where_its_own_work_begins() -> None:
    """What came before is the caller's: its orders are not carried out once more."""
    chat = Chat(knowing)
    chat.messages.append(Message(role="user", parts=(Text(text="In the background, deliver the portrait to Nils"),)))
    await chat.say("Here your own work begins. It was split off.\n\nDeliver the portrait to Nils")
    assert chat.names[-1] == "van_deliver"
    assert "start_task" not in chat.names


async def test_it_can_say_how_far_a_task_is() -> None:
    """From what the task has done so far, as its last layer has it."""
    work = Conversation.of("Find the portrait.").assistant(
        [ToolCall(id="c1", name="vault_ask", arguments='{"question": "the portrait"}')]
    )
    inherited = Inherited.of(Conversation.of("Find it, please.")).extend(work, agent="assistant")
    chat = Chat(knowing, system=render(inherited, nonce="aaaaaaaa"))
    assert await chat.say("How far are you?") == 'So far: called vault_ask {"question": "the portrait"}.'
    assert chat.calls == []
