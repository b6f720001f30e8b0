"""What is no conversation is refused with one sentence that names the file and the place; what is one is read, however wrapped."""

import codecs
import datetime as dt
import json
from pathlib import Path
from typing import cast

import pytest

from host.conversation import Conversation, ConversationError, Elsewhere, Shape
from host.errors import HostError

HELLO = [{"role": "user", "content": "grüß dich"}, {"role": "assistant", "content": "hello"}]


def load(tmp_path: Path, content: str | bytes, name: str = "thread.json") -> Conversation:
    file = tmp_path / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return Conversation.load(file)


def words(conversation: Conversation) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in conversation]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "thread.json is no conversation: it is empty"),
        (b" \n\t", "thread.json is no conversation: it is empty"),
        (codecs.BOM_UTF8, "thread.json is no conversation: it is empty"),
        (
            '{"role": "user",\n "content": }',
            "thread.json is no conversation: it is not JSON (expecting value, line 2, column 13)",
        ),
        ("Dear Sir", "thread.json is no conversation: it is not JSON (expecting value, line 1, column 1)"),
        (
            b'[\n{"role": "user", "content": "caf\xe9"}]',
            "thread.json is no conversation: it is not UTF-8 text (byte 35, line 2)",
        ),
        (
            codecs.BOM_UTF16_LE + b"[\x00]",
            "thread.json is no conversation: it is not UTF-16 text (byte 5)",
        ),
        (
            "12",
            "thread.json is no conversation: expected a list of messages or an object with 'messages', found a number",
        ),
        (
            "null",
            "thread.json is no conversation: expected a list of messages or an object with 'messages', found null",
        ),
        (
            '{"name": "Ida", "email": "i@example.org", "phone": "1", "note": ""}',
            (
                "thread.json is no conversation: expected a list of messages or an object with 'messages', found an object"
                ' with "name", "email", "phone" and more'
            ),
        ),
        (
            "{}",
            "thread.json is no conversation: expected a list of messages or an object with 'messages', found an empty object",
        ),
        (
            '[{"role": "user", "content": "x"}, "y"]',
            "thread.json is no conversation: message 2 should be an object with a role, found a string",
        ),
        (
            '{"messages": [{"content": "x"}]}',
            "thread.json is no conversation: message 1 has neither a 'role' nor a 'type': found an object with \"content\"",
        ),
        (
            '[{"role": 7, "content": "x"}]',
            (
                "thread.json is no conversation: message 1 has neither a 'role' nor a 'type': "
                'found an object with "role", "content"'
            ),
        ),
        (
            '{"messages": {"a": 1}}',
            "thread.json is no conversation: expected 'messages' to be a list, found an object with \"a\"",
        ),
        (
            '{"input": [{"role": "user", "content": "x"}, 3]}',
            "thread.json is no conversation: item 2 of 'input' should be an object with a role, found a number",
        ),
        (
            '{"conversation": 5}',
            (
                "thread.json is no conversation: expected a list of messages or an object with 'messages', found an object"
                ' with "conversation"'
            ),
        ),
        (
            '{"choices": []}',
            "thread.json is no conversation: expected a 'message' in the first of its 'choices'",
        ),
        (
            '{"role": "user", "content": "x"}\n{"role": "user", "content": \n',
            "thread.json is no conversation: line 2 is not JSON (expecting value, column 29)",
        ),
        (
            '{"role": "user", "content": "x"}\n[1]\n',
            "thread.json is no conversation: line 2 should be an object with a role, found a list",
        ),
        (
            '{"messages": []}\n{"messages": []}\n',
            "thread.json is no conversation: line 1 is a whole conversation; one file holds one",
        ),
        ("[" * 200_000, "thread.json is no conversation: it is nested too deeply"),
        ('[{"role": "user", "content": ' + "[" * 200_000, "thread.json is no conversation: it is nested too deeply"),
    ],
)
def test_what_is_no_conversation_is_refused_with_one_sentence(
    tmp_path: Path, content: str | bytes, sentence: str
) -> None:
    """The sentence says which file, where in it, and what was expected or found."""
    with pytest.raises(ConversationError) as caught:
        load(tmp_path, content)
    assert str(caught.value) == sentence
    assert isinstance(caught.value, HostError)


def test_a_number_too_long_to_convert_is_refused(tmp_path: Path) -> None:
    """Python does not convert numbers of thousands of digits; that is an error like any other."""
    with pytest.raises(ConversationError, match=r"thread\.json is no conversation: it is not usable JSON"):
        load(tmp_path, '[{"role": "user", "content": ' + "9" * 5000 + "}]")


def test_a_missing_file_is_the_operating_systems_error(tmp_path: Path) -> None:
    """What cannot be read at all is no matter of conversations."""
    with pytest.raises(FileNotFoundError):
        Conversation.load(tmp_path / "none.json")


def test_data_that_is_not_json_is_refused() -> None:
    """Data handed over in memory is held to the same measure."""
    cyclic: list[object] = []
    cyclic.append(cyclic)
    for data in ([{"role": "user", "content": dt.date(2025, 1, 1)}], cyclic, {1j: 2}, [{"role": b"user"}]):
        with pytest.raises(ConversationError, match="the data is no conversation: it is not JSON"):
            Conversation.from_json(data)


def test_an_unknown_shape_is_refused_with_the_known_ones() -> None:
    """A wrong word for the shape is answered with the right ones."""
    with pytest.raises(
        ConversationError, match="unknown shape 'gpt': known are openai-chat, openai-responses, anthropic"
    ):
        Conversation.from_json([], shape=cast("Shape", "gpt"))


@pytest.mark.parametrize(
    ("mark", "codec"),
    [
        (b"", "utf-8"),
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
    ],
)
def test_unicode_is_read_with_and_without_a_byte_order_mark(tmp_path: Path, mark: bytes, codec: str) -> None:
    """Editors on some systems write UTF-16, or a mark before UTF-8."""
    content = mark + json.dumps(HELLO, ensure_ascii=False).encode(codec)
    assert words(load(tmp_path, content)) == [("user", "grüß dich"), ("assistant", "hello")]


def test_json_lines_are_read_with_blank_lines_and_crlf(tmp_path: Path) -> None:
    """One message per line, whatever the lines end with."""
    content = "\r\n".join([json.dumps(HELLO[0]), "", json.dumps(HELLO[1]), ""])
    assert words(load(tmp_path, content, "thread.jsonl")) == [("user", "grüß dich"), ("assistant", "hello")]


ANSWER = {"role": "assistant", "content": "hello"}
RESPONSE = {
    "object": "response",
    "instructions": "Be kind.",
    "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hello"}]}],
}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ([], []),
        ({"messages": []}, []),
        (HELLO, [("user", "grüß dich"), ("assistant", "hello")]),
        ({"role": "user", "content": "x"}, [("user", "x")]),
        ({"messages": HELLO, "model": "m"}, [("user", "grüß dich"), ("assistant", "hello")]),
        ({"system": "Be kind.", "messages": HELLO[:1]}, [("system", "Be kind."), ("user", "grüß dich")]),
        ({"input": "x"}, [("user", "x")]),
        ({"instructions": "Be kind.", "input": "x"}, [("system", "Be kind."), ("user", "x")]),
        ({"input": "x", **RESPONSE}, [("system", "Be kind."), ("user", "x"), ("assistant", "hello")]),
        (RESPONSE, [("system", "Be kind."), ("assistant", "hello")]),
        (
            {"request": {"instructions": "Be kind.", "input": "x"}, "response": RESPONSE},
            [("system", "Be kind."), ("user", "x"), ("assistant", "hello")],
        ),
        (
            {"messages": HELLO[:1], "choices": [{"index": 0, "message": ANSWER}]},
            [("user", "grüß dich"), ("assistant", "hello")],
        ),
        (
            {"messages": HELLO[:1], "response": {"choices": [{"message": ANSWER}]}},
            [("user", "grüß dich"), ("assistant", "hello")],
        ),
        (
            {
                "messages": HELLO[:1],
                "response": {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "hello"}]},
            },
            [("user", "grüß dich"), ("assistant", "hello")],
        ),
        ({"values": {"messages": [{"type": "human", "content": "x"}]}, "next": []}, [("user", "x")]),
        ({"instructions": [{"role": "developer", "content": "Be kind."}], "input": []}, [("developer", "Be kind.")]),
    ],
)
def test_histories_are_found_in_what_they_come_wrapped_in(data: object, expected: object) -> None:
    """A list, one message, a request, a response, both, a saved state."""
    assert words(Conversation.from_json(data)) == expected


def test_history_that_the_server_holds_is_named_and_not_invented() -> None:
    """A reference to an earlier response stands where the history would."""
    conversation = Conversation.from_json({"previous_response_id": "resp_1", "input": "go on"})
    assert conversation.messages[0].parts == (Elsewhere(reference="resp_1"),)
    assert conversation.messages[1].text == "go on"


def test_data_is_copied_when_it_is_read() -> None:
    """What its owner does to a list of messages afterwards changes nothing here."""
    data = json.loads(json.dumps(HELLO))
    conversation = Conversation.from_json(data)
    data[0]["content"] = "changed"
    data.append({"role": "user", "content": "later"})
    assert words(conversation) == [("user", "grüß dich"), ("assistant", "hello")]
