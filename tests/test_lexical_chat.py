"""The lexical model in a conversation: it asks the tools that fit, does what it is told, asks back, and says what it is.

The tools are invented ones, and so is what they know: all that the model has is what they say of themselves.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.context import Inherited, read_section, render
from host.conversation import Conversation, Message, Text, ToolCall, ToolResult
from host.models.lexical import Lexical
from host.models.lexical.restated import without_questions
from host.models.port import Delta, Request
from tests.lexical_chat import CREW, TEXT, TOOLS, VAULT, Chat, Failed, knowing, running, tool, torn

# Looking up


async def test_it_asks_the_tool_that_fits_the_words() -> None:
    """By what the tool says of itself; the field that was asked for is the answer."""
    chat = Chat(knowing)
    assert await chat.say("What is the pager of Nils?") == "The pager of Nils Aho is P-311."
    assert chat.calls == [("crew_ask", {"question": "What is the pager of Nils?"})]


async def test_it_asks_all_of_them_where_none_fits_better() -> None:
    """And tells of each what it found."""
    chat = Chat(knowing)
    answer = await chat.say("Brandt?")
    assert sorted(chat.names) == ["crew_ask", "vault_ask"]
    assert answer.splitlines() == [
        "Dusk over Fen: slot B7, painter Ilse Brandt.",
        "Nils Aho: pager P-311, depot North quay.",
    ]


async def test_a_request_that_names_everything_starts_cold() -> None:
    """A whole name and what is wanted of it; half a name leans on the conversation."""
    chat = Chat(knowing)
    await chat.say("What is the pager of Nils Aho?")
    await chat.say("What is Nils's pager?")
    assert [arguments.get("context") for _, arguments in chat.calls] == ["cold", None]


async def test_where_the_choice_is_not_offered_it_is_not_made() -> None:
    """The policy of the loop decides then, and a tool that asks is known by its name."""
    plain = tool("crew_ask", CREW.description, "question", question=TEXT)
    chat = Chat(knowing, [plain])
    assert await chat.say("What is the pager of Nils Aho?") == "The pager of Nils Aho is P-311."
    assert chat.calls == [("crew_ask", {"question": "What is the pager of Nils Aho?"})]


async def test_an_answer_in_words_is_passed_on_in_words() -> None:
    """Not every tool gives records."""
    chat = Chat(lambda *_: "He is at sea until Monday.")
    assert await chat.say("Where is the courier?") == "He is at sea until Monday."


async def test_a_failure_is_told() -> None:
    """As the tool said it."""

    def broken(name: str, arguments: dict[str, str]) -> object:
        raise Failed("NoAnswer: The crew agent did not answer.")

    answer = await Chat(broken).say("Which courier is it?")
    assert answer == "crew_ask did not work. NoAnswer: The crew agent did not answer."


async def test_a_statement_is_taken_note_of() -> None:
    """Nothing is looked up for it, and what that is worth is said once."""
    chat = Chat(knowing)
    first = await chat.say("Nils comes on Friday and takes the fen picture along.")
    assert first.startswith("Noted. I am no language model")
    assert await chat.say("He is going to bring his own crate this time.") == "Noted."
    assert chat.calls == []


# Asking back


async def test_a_question_of_a_tool_is_passed_on_with_its_options() -> None:
    """By number."""
    answer = await Chat(torn).say("What is the pager of Aho?")
    assert answer.splitlines() == [
        'Which one is meant by "What is the pager of Aho?"?',
        "1. Nils Aho (North quay)",
        "2. Otto Aho (South quay)",
    ]


@pytest.mark.parametrize(
    "reply", ["2", "number 2", "the second one", "Otto", "the one at the south quay", "the last one"]
)
async def test_the_next_thing_said_chooses_an_option(reply: str) -> None:
    """By number, place or words; the chosen one is asked for by its whole name, cold."""
    chat = Chat(torn)
    await chat.say("What is the pager of Aho?")
    assert await chat.say(reply) == "The pager of Otto Aho is P-400."
    assert chat.calls[-1] == ("crew_ask", {"question": "Otto Aho (South quay)", "context": "cold"})


async def test_what_chooses_none_is_something_new() -> None:
    """The question is given up."""
    chat = Chat(torn)
    await chat.say("What is the pager of Aho?")
    assert await chat.say("Who painted the portrait?") == "The painter of Dusk over Fen is Ilse Brandt."


async def test_an_order_is_carried_out_once_its_question_is_answered() -> None:
    """What was found before is not asked for again."""
    chat = Chat(torn)
    assert "Which one is meant" in await chat.say("Deliver the portrait to Aho")
    assert "van_deliver" not in chat.names
    await chat.say("Otto")
    assert chat.names.count("vault_ask") == 1
    assert chat.calls[-1] == ("van_deliver", {"to": "P-400", "label": "Dusk over Fen", "crates": ["B7"]})


# Doing


@pytest.mark.parametrize(
    "order",
    [
        "Deliver the portrait to Nils",
        "deliver the portrait to Nils.",
        "Please deliver the portrait to Nils now",
        "Could you deliver the portrait to Nils?",
        "I want you to deliver the portrait to Nils",
        "Bring Nils the portrait",
        "Send Nils the portrait",
        "Take a breath, and then deliver the portrait to Nils",
    ],
)
async def test_an_order_is_understood_by_the_words_of_the_tool(order: str) -> None:
    """Its parameters are filled from what the asking tools find, by what each says that it stands for."""
    chat = Chat(knowing)
    answer = await chat.say(order)
    assert sorted(chat.calls[:-1], key=str) == [
        ("crew_ask", {"question": "Nils's pager"}),
        ("vault_ask", {"question": "the portrait"}),
    ]
    assert chat.calls[-1][0] == "van_deliver"
    assert chat.calls[-1][1]["to"] == "P-311"
    assert chat.calls[-1][1]["crates"] == ["B7"]
    assert answer.startswith("Done by van_deliver: to P-311, ")


@pytest.mark.parametrize(
    "said",
    [
        "Do not deliver the portrait to Nils",
        "Nils asked me to deliver the portrait to him some time",
        "I will deliver the portrait to Nils myself",
        "Did you deliver the portrait to Nils?",
        "Never deliver the portrait to Nils",
        "Deliver the portrait to Nils once he has paid",
        "If Nils pays, deliver the portrait to him",
    ],
)
async def test_what_is_no_order_does_nothing(said: str) -> None:
    """Neither a statement, a question nor a denial; and of a condition it says that it cannot judge it."""
    chat = Chat(knowing)
    await chat.say(said)
    assert "van_deliver" not in chat.names


async def test_a_condition_is_not_judged() -> None:
    """It says so, and does nothing."""
    answer = await Chat(knowing).say("Deliver the portrait to Nils once he has paid")
    assert answer.startswith("I cannot judge conditions (\u201conce he has paid\u201d), so I did nothing yet.")


async def test_a_message_goes_along() -> None:
    """What stands behind "that" or a colon, in the parameter for a text."""
    chat = Chat(knowing)
    await chat.say("Deliver the portrait to Nils with the words: handle with care")
    assert chat.calls[-1][1]["note"] == "handle with care"


async def test_a_value_that_stands_in_the_order_is_taken_from_there() -> None:
    """An address is an address, whoever it belongs to."""
    mail = tool("post_send", "Send a letter. `to` is an address.", "to", "title", to=TEXT, title=TEXT)
    chat = Chat(knowing, [VAULT, CREW, mail])
    await chat.say("Send greetings to ann@fen.example")
    assert chat.calls == [("post_send", {"to": "ann@fen.example", "title": "greetings"})]


async def test_what_is_missing_is_asked_for() -> None:
    """Nothing is made up."""
    answer = await Chat(knowing).say("Deliver the portrait")
    assert answer == "For van_deliver I also need `to`. Say it all in one sentence."


async def test_a_deed_that_fails_is_told_and_not_repeated() -> None:
    """As the tool said it."""

    def stuck(name: str, arguments: dict[str, str]) -> object:
        if name == "van_deliver":
            raise Failed("LookupError: The van is out.")
        return knowing(name, arguments)

    chat = Chat(stuck)
    answer = await chat.say("Deliver the portrait to Nils")
    assert answer == "van_deliver did not work. LookupError: The van is out."
    assert chat.names.count("van_deliver") == 1


async def test_what_is_said_meanwhile_is_heard_and_no_deed_is_done_twice() -> None:
    """What was found before it is asked again, since it may have changed what is meant."""
    chat = Chat(knowing)
    chat.messages.append(Message(role="user", parts=(Text(text="Deliver the portrait to Nils"),)))
    for entering in ("I mean the other portrait.", "What is the depot of Nils?"):
        reply = await Lexical().reply(Request(system="", messages=tuple(chat.messages), tools=TOOLS))
        chat.messages.append(reply.message())
        chat.play(reply)
        chat.messages.append(Message(role="user", parts=(Text(text=entering),)))
    answer = await chat.go_on()
    assert "Done by van_deliver" in answer
    assert "The depot of Nils Aho is North quay." in answer
    assert chat.names.count("van_deliver") == 1


async def test_what_an_earlier_conversation_left_undone_is_not_done_unasked() -> None:
    """It may have been meant for someone else."""
    chat = Chat(knowing)
    chat.messages.append(Message(role="user", parts=(Text(text="Deliver the portrait to Nils."),)))
    await chat.say("Who painted it?")
    assert "van_deliver" not in chat.names


async def test_an_order_that_was_interrupted_is_not_taken_up_again() -> None:
    """The person wants it no more, unless they say it again."""
    chat = Chat(knowing)
    chat.messages.append(Message(role="user", parts=(Text(text="Deliver the portrait to Nils"),)))
    reply = await Lexical().reply(Request(system="", messages=tuple(chat.messages), tools=TOOLS))
    given_up = [ToolResult(call=call.id, parts=(Text(text="Interrupted."),), is_error=True) for call in reply.calls]
    chat.messages += [reply.message(), Message(role="tool", parts=tuple(given_up))]
    assert await chat.say("Who painted the portrait?") == "The painter of Dusk over Fen is Ilse Brandt."
    assert "van_deliver" not in chat.names


# What it is


async def test_it_says_what_it_is_where_it_finds_nothing() -> None:
    """And what it can do with the tools that it has."""

    def empty(name: str, arguments: dict[str, str]) -> object:
        raise Failed(f'NeedsClarification: Nothing here fits "{arguments["question"]}". What is meant?')

    answer = await Chat(empty).say("sing!")
    assert answer == (
        'Nothing here fits "sing!". What is meant? I am no language model: I compare words. I can look things up'
        " (vault_ask, crew_ask), do what you tell me by its name (van_deliver) and start a task \u201cin the"
        " background\u201d."
    )


async def test_words_are_streamed_one_by_one() -> None:
    """Joined, they are the reply."""
    pieces: list[Delta] = []
    messages = (Message(role="user", parts=(Text(text="In the background, find it"),)),)
    request = Request(system="", messages=messages, tools=TOOLS)
    first = await Lexical().reply(request, stream=pieces.append)
    assert (pieces, len(first.calls)) == ([], 1)
    reply = await Lexical().reply(
        Request(system="", messages=(*messages, first.message()), tools=TOOLS), stream=pieces.append
    )
    assert "".join(piece.text for piece in pieces) == reply.text
    assert len(pieces) == len(reply.text.split())
    assert {piece.kind for piece in pieces} == {"text"}


_part = st.one_of(
    st.text(max_size=40).map(lambda text: Text(text=text)),
    st.builds(
        ToolCall, id=st.sampled_from("ab"), name=st.sampled_from(["crew_ask", "x"]), arguments=st.text(max_size=9)
    ),
    st.builds(
        ToolResult,
        call=st.sampled_from("abc"),
        parts=st.tuples(st.text(max_size=30).map(lambda text: Text(text=text))),
        is_error=st.booleans(),
    ),
)
_message = st.builds(
    Message,
    role=st.sampled_from(["user", "assistant", "tool", "system"]),
    parts=st.lists(_part, max_size=3).map(tuple),
)
_said = st.lists(
    st.sampled_from("deliver the portrait to Nils and stop task 1 that : if in background , ?".split()), max_size=9
)


@given(before=st.lists(_message, max_size=6), said=_said.map(" ".join) | st.text(max_size=50))
async def test_no_conversation_breaks_it(before: list[Message], said: str) -> None:
    """Whatever was said, there is a reply, and it is the same each time."""
    messages = (*before, Message(role="user", parts=(Text(text=said),)))
    request = Request(system="", messages=messages, tools=(*TOOLS, *running("a__1")))
    reply = await Lexical().reply(request)
    assert reply == await Lexical().reply(request)
    assert reply.calls or reply.text


@pytest.mark.parametrize("said", ["thanks", "Hello!", "ok", "what can you do?"])
async def test_courtesy_is_looked_up_nowhere(said: str) -> None:
    """It names nothing; the model says what it is and what it can do."""
    chat = Chat(knowing)
    assert (await chat.say(said)).startswith("I am no language model")
    assert chat.calls == []


async def test_what_was_only_asked_is_no_evidence() -> None:
    """A question that lists who may be meant decides nothing, and least of all for the one that it names last."""
    asked = Conversation.of("Which pager?").assistant("Which one is meant?\n1. Nils Aho (North)\n2. Otto Aho (South)")
    section = read_section(render(Inherited.of(asked.user("Something else."))))
    chosen = read_section(render(Inherited.of(asked.user("1"))))
    assert section is not None
    assert chosen is not None
    assert [entry.text for entry in without_questions(section.entries)] == ["Which pager?", "Something else."]
    assert [entry.text for entry in without_questions(chosen.entries)] == ["Which pager?", "Nils Aho (North)", "1"]
