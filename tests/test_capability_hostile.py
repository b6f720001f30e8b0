"""Calls from a hostile guest: one defect per test, each rejected, counted, and nothing of the capability runs."""

from __future__ import annotations

from typing import Any, cast

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from guest_stdlib.channel.events import Call
from guest_stdlib.channel.values import Member, Record
from host.capability import Crossed, Delegation, Dispatch, Policy
from host.context import Inherited
from host.conversation import Conversation
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

    async def refusal(self, call: Call, kind: type[Exception]) -> str:
        """The sentence with which a call is rejected: counted, crossing as it is, and nothing of the capability ran."""
        with pytest.raises(Crossed) as caught:
            await self.dispatch.answer(call)
        failure = caught.value.failure
        assert failure.type == kind.__name__
        assert self.dispatch.rejected == 1
        assert self.notes.seen == []
        assert self.delegations == []
        return failure.message


def hashable(value: object) -> bool:
    """Whether a value can be a key."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


@pytest.mark.parametrize(
    "path",
    [
        "notes",
        "notes.",
        "notes.nothing",
        "notes._secret",
        "notes.opened",
        "notes.seen",
        "notes.errors",
        "notes.__class__",
        "notes.add.__call__",
        "other.add",
        "",
        ".",
        "notes.add\0",
    ],
)
async def test_a_path_that_is_no_declared_tool_is_rejected(path: str) -> None:
    """Private methods, attributes, class methods and paths through them are as unknown as any other."""
    assert await Scene().refusal(call(path), AttributeError) == f"There is no tool at str ({path!r})."


@pytest.mark.parametrize("path", [7, None, ["notes.add"], b"notes.add"])
async def test_a_path_that_is_no_text_is_rejected(path: object) -> None:
    """Also one that cannot be looked up."""
    assert (await Scene().refusal(call(cast("str", path)), AttributeError)).startswith("There is no tool at ")


async def test_a_long_path_is_rejected_in_a_short_sentence() -> None:
    """What a guest writes does not fill the host's messages."""
    assert len(await Scene().refusal(call("x" * 1_000_000), AttributeError)) < 200


async def test_r55_a_delegating_call_without_the_token_is_rejected() -> None:
    """Only the proxy of this run has it."""
    assert await Scene().refusal(call("notes.ask", "who?"), PermissionError) == (
        "notes.ask: this call does not come from this run's branch point."
    )


@pytest.mark.parametrize("token", ["", "b" * 22, "a" * 21, "a" * 23, "ä" * 22, "\ud800", 7, b"a" * 22])
async def test_r55_a_forged_token_is_rejected(token: object) -> None:
    """However near it comes, and whatever it is made of."""
    assert await Scene().refusal(call("notes.ask", "who?", token=token), PermissionError) == (
        "notes.ask: this call does not come from this run's branch point."
    )


async def test_r55_a_cold_call_needs_the_token_too() -> None:
    """Every delegating call does."""
    await Scene().refusal(call("notes.ask", "who?", context="cold"), PermissionError)


async def test_a_token_where_none_was_given_out_is_rejected() -> None:
    """A run without branch point knows no token."""
    await Scene(token=None).refusal(call("notes.ask", "who?", token=TOKEN), PermissionError)


async def test_a_token_on_a_call_that_does_not_delegate_is_rejected() -> None:
    """The proxy adds it to none of these."""
    assert await Scene().refusal(call("notes.add", "a", token=TOKEN), PermissionError) == (
        "notes.add does not receive the conversation, so nothing names a branch point."
    )


async def test_a_choice_on_a_call_that_does_not_delegate_is_rejected() -> None:
    """There is nothing to choose."""
    assert await Scene().refusal(call("notes.add", "a", context="cold"), TypeError) == (
        "notes.add takes no `context`: it does not receive the conversation."
    )


@pytest.mark.parametrize("name", ["inherited", "context"])
async def test_r55_code_cannot_pass_the_conversation_itself(name: str) -> None:
    """Not as an argument of its name, nor through a method that takes any keyword."""
    for path in ("notes.ask", "notes.loose"):
        hostile = Call(call=1, path=path, kwargs={name: "mine"}, token=TOKEN)
        message = await Scene().refusal(hostile, TypeError)
        assert message == f"{path}: got an unexpected keyword argument {name!r}"


async def test_a_missing_argument_is_rejected() -> None:
    """Named."""
    assert await Scene().refusal(call("notes.add"), TypeError) == "notes.add: missing a required argument: 'text'"


async def test_too_many_arguments_are_rejected() -> None:
    """The hidden parameter is no place for one more."""
    message = await Scene().refusal(call("notes.ask", "a", "b", token=TOKEN), TypeError)
    assert message == "notes.ask: too many positional arguments"


async def test_an_unknown_argument_is_rejected() -> None:
    """Named."""
    message = await Scene().refusal(call("notes.keep", [], other=1), TypeError)
    assert message == "notes.keep: got an unexpected keyword argument 'other'"


async def test_an_argument_given_twice_is_rejected() -> None:
    """By position and by name."""
    message = await Scene().refusal(call("notes.ask", "a", question="b", token=TOKEN), TypeError)
    assert message == "notes.ask: multiple values for argument 'question'"


async def test_a_keyword_that_is_no_text_is_rejected() -> None:
    """A guest may send any key."""
    hostile = Call(call=1, path="notes.add", args=("a",), kwargs=cast("Any", {7: 1}))
    assert await Scene().refusal(hostile, TypeError) == "notes.add: keywords must be strings"


@pytest.mark.parametrize(("args", "kwargs"), [(7, {}), (None, {}), ((), 7), ((), None), ("text", {})])
async def test_arguments_that_are_no_arguments_are_rejected(args: object, kwargs: object) -> None:
    """A guest may send anything in their place."""
    hostile = Call(call=1, path="notes.add", args=cast("Any", args), kwargs=cast("Any", kwargs))
    assert await Scene().refusal(hostile, TypeError) == "notes.add: the arguments are no arguments."


async def test_an_argument_of_the_wrong_type_is_rejected() -> None:
    """With what it should be and what it is."""
    assert await Scene().refusal(call("notes.add", 7), TypeError) == "notes.add: `text` must be str, not int (7)"


async def test_a_wrong_extra_argument_is_rejected() -> None:
    """Each of `*tags` and `**marks` is checked."""
    assert await Scene().refusal(call("notes.add", "a", "b", 7), TypeError) == (
        "notes.add: `tags` must be str, not int (7)"
    )
    assert await Scene().refusal(call("notes.add", "a", x="y"), TypeError) == (
        "notes.add: `x` must be int, not str ('y')"
    )


async def test_a_record_with_a_wrong_field_is_rejected() -> None:
    """The class of a record that came from a guest proves nothing about its fields."""
    message = await Scene().refusal(call("notes.keep", [Note("ok"), Note(cast("str", 7))]), TypeError)
    assert message == "notes.keep: `notes[1].text` must be str, not int (7)"


async def test_a_record_that_its_class_would_not_make_is_rejected() -> None:
    """It is made anew, so what its class checks holds."""
    forged = object.__new__(Note)
    object.__setattr__(forged, "text", "")
    object.__setattr__(forged, "level", Level.LOW)
    message = await Scene().refusal(call("notes.keep", forged), TypeError)
    assert message == (
        "notes.keep: `notes` must be a Note that its class accepts, not ValueError: a note says something"
    )


async def test_a_record_that_lacks_a_field_is_rejected() -> None:
    """A guest may leave out what a dataclass cannot."""
    forged = object.__new__(Note)
    object.__setattr__(forged, "level", Level.LOW)
    message = await Scene().refusal(call("notes.keep", [forged]), TypeError)
    assert message == "notes.keep: `notes[0].text` must be str, not nothing"


async def test_an_enum_member_and_a_record_that_were_never_rebuilt_are_rebuilt_or_rejected() -> None:
    """The channel's stand-ins for classes that an end does not know never reach a method."""
    scene = Scene()
    await scene.dispatch.answer(call("notes.add", "a", level=Member(type_name="Level", name="HIGH")))
    await scene.dispatch.answer(call("notes.keep", Record(type_name="Note", fields={"text": "x", "level": "LOW"})))
    assert scene.notes.seen == [("a", (), Level.HIGH, {}), Note("x")]
    message = await Scene().refusal(call("notes.add", "a", level=Member(type_name="Other", name="HIGH")), TypeError)
    assert message.startswith("notes.add: `level` must be Level (one of 'LOW', 'HIGH'), not Member (")
    record = Record(type_name="Note", fields={}, problem="it lacks its text")
    message = await Scene().refusal(call("notes.keep", [record]), TypeError)
    assert "it lacks its text" in message


async def test_a_record_of_another_class_is_rejected() -> None:
    """Known by class, not by name."""
    other = type("Note", (), {"text": "x", "level": Level.LOW})()
    assert (await Scene().refusal(call("notes.keep", other), TypeError)).startswith("notes.keep: `notes` must be ")


async def test_rejections_are_counted() -> None:
    """Each one, so that a limit on calls can count them."""
    scene = Scene()
    for _ in range(3):
        with pytest.raises(Crossed):
            await scene.dispatch.answer(call("notes.nothing"))
    await scene.dispatch.answer(call("notes.add", "a"))
    assert scene.dispatch.rejected == 3


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.builds(Member, type_name=st.sampled_from(["Level", "x"]), name=st.sampled_from(["LOW", "x"]))
    | st.builds(Note, text=st.text(min_size=1)),
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner)
        | st.dictionaries(st.text(), inner)
        | st.builds(Record, type_name=st.sampled_from(["Note", "x"]), fields=st.dictionaries(st.text(), inner))
    ),
    max_leaves=8,
)
PATHS = st.sampled_from(["notes.add", "notes.keep", "notes.ask", "notes.look", "notes.loose", "notes._secret"])


@given(
    path=PATHS | ANYTHING,
    args=st.lists(ANYTHING, max_size=3) | ANYTHING,
    kwargs=st.dictionaries(
        st.sampled_from(["text", "notes", "question", "inherited", "context"]) | ANYTHING.filter(hashable), ANYTHING
    )
    | ANYTHING,
    context=st.dictionaries(st.sampled_from(["context", "turns"]), st.sampled_from(["fork", "cold", "warm", 7])),
    token=st.sampled_from([TOKEN, None]) | ANYTHING,
)
@settings(max_examples=200, deadline=None)
def test_whatever_a_guest_sends_is_made_or_rejected(
    path: Any, args: Any, kwargs: Any, context: Any, token: Any
) -> None:
    """A call that is made has arguments as declared and, if it delegates, the token; any other is one that may cross."""
    scene = Scene()
    hostile = Call(call=1, path=path, args=args, kwargs=kwargs, context=context, token=token)
    kind = None
    try:
        trio.run(scene.dispatch.answer, hostile)
    except Crossed as crossed:
        kind = crossed.failure.type
    if kind is not None:
        assert kind in ("AttributeError", "TypeError", "ValueError", "PermissionError")
        assert scene.dispatch.rejected == 1
        assert scene.notes.seen == []
        return
    [seen] = scene.notes.seen
    match path:
        case "notes.add":
            text, tags, level, marks = cast("Any", seen)
            assert all(isinstance(each, str) for each in (text, *tags))
            assert isinstance(level, Level)
            assert all(type(each) is int for each in marks.values())
        case "notes.keep":
            notes = [seen] if isinstance(seen, Note) else cast("Any", seen)
            assert [(type(note), type(note.text), type(note.level)) for note in notes] == [(Note, str, Level)] * len(
                notes
            )
        case _:
            assert path in ("notes.ask", "notes.look", "notes.loose")
            assert token == TOKEN
            assert len(scene.delegations) == 1
