"""What a record writes once and then only refers to: messages, histories, long texts, tools.

A run repeats itself: every request holds all messages of the one before, every delegation the whole history above it,
and a quoted child's instructions hold that history again as text. Written as they stand, a thousand turns would make a
file a thousand times the size of the conversation. So a record has four tables, and both ends of the file keep them
alike: what is new is defined in the entry that first needs it, whatever else refers to it.

- *Messages* go by their id. Should a message come again under its id with other content (a replay takes a call out), it
  is written as a further version and referred to as [id, version].
- *Points* are branch points: each is the point before it and one more message; point 0 is the empty history. A history
  of any length is one number. They are the same tree that `Conversation` is, and messages in requests share it.
- *Texts* longer than LONG are cut into blocks of lines, and blocks into blocks of blocks, at places that the content
  itself decides. A long text that comes again with something put in or taken out costs what changed, wherever that is.
- *Tools* are numbered.

Definitions stand in the entry that needs them, so a line that is lost at the end of a file takes nothing else with it.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from host.conversation import Conversation, Message
from host.models.port import ToolSpec

__all__ = ["LONG", "Damaged", "Known", "Written", "bytes_from", "bytes_to"]

LONG: Final = 512  # characters; a shorter text stands where it is used
_LINES: Final = 8  # in a block, on average
_BLOCKS: Final = 16  # in a block of blocks, on average
_MOST: Final = 8  # times the average, where the content decides nothing
_DEEPEST: Final = 24
_LARGEST: Final = 1 << 30  # characters of one text
_BACK: Final = 64  # messages from the end in which to look for a history that was sent before
_FORM: Final = Conversation().to_plain()["format"]


class Damaged(Exception):
    """An entry is not what this format says; the message is the end of a sentence."""


class Written:
    """The tables of whoever writes. Every method gives the JSON that refers to its argument; `news` what is to be
    defined before it.
    """

    def __init__(self) -> None:
        self._messages: dict[str, list[tuple[Message, int]]] = {}
        self._count = 0
        self._points: dict[tuple[int, int], int] = {}
        self._at: dict[Conversation, int] = {Conversation(): 0}
        self._sent: dict[str, tuple[tuple[Message, ...], int]] = {}
        self._texts: dict[str, int] = {}
        self._blocks: dict[str | tuple[int, ...], int] = {}
        self._tools: dict[str, int] = {}
        self._specs: dict[int, tuple[ToolSpec, int]] = {}
        self._news: dict[str, list[object]] = {}

    def news(self) -> dict[str, list[object]]:
        """The definitions since the last time, by table."""
        news, self._news = self._news, {}
        return news

    def text(self, text: str) -> object:
        """A text: itself, or a reference where it is long."""
        if len(text) < LONG:
            return text
        number = self._texts.get(text)
        if number is None:
            number = self._texts[text] = self._long(text)
        return {"text": number}

    def _long(self, text: str) -> int:
        lines = text.split("\n")
        whole = [f"{line}\n" for line in lines[:-1]]
        whole += lines[-1:] if lines[-1] else []
        numbers = [self._block("".join(block)) for block in _cut(whole, map(_of_text, whole), _LINES)]
        while len(numbers) > 1:
            numbers = [self._block(tuple(block)) for block in _cut(numbers, map(_of_number, numbers), _BLOCKS)]
        return numbers[0]

    def _block(self, block: str | tuple[int, ...]) -> int:
        if isinstance(block, tuple) and len(block) == 1:
            return block[0]
        number = self._blocks.get(block)
        if number is None:
            number = self._blocks[block] = len(self._blocks)
            self._define("texts", block if isinstance(block, str) else list(block))
        return number

    def tool(self, spec: ToolSpec) -> int:
        """A tool's number."""
        seen = self._specs.get(id(spec))
        if seen is not None and seen[0] is spec:
            return seen[1]
        fields = [spec.name, spec.description, _plain_json(spec.parameters)]
        key = json.dumps(fields)
        number = self._tools.get(key)
        if number is None:
            number = self._tools[key] = len(self._tools)
            self._define("tools", fields)
        self._specs[id(spec)] = (spec, number)
        return number

    def conversation(self, conversation: Conversation) -> int:
        """The number of a branch point. Costs what is new above it."""
        new: list[Conversation] = []
        point: Conversation = conversation
        while (number := self._at.get(point)) is None:
            new.append(point)
            assert point.parent is not None
            point = point.parent
        for each in reversed(new):
            assert each.last is not None
            number = self._at[each] = self._point(number, each.last)
        return number

    def messages(self, messages: tuple[Message, ...]) -> int:
        """The number of the branch point that has exactly these messages. Costs what is new since a request that it
        continues.
        """
        begun, number = 0, 0
        for length in range(len(messages), max(0, len(messages) - _BACK), -1):
            known = self._sent.get(messages[length - 1].id)
            if known is not None and len(known[0]) == length and known[0] == messages[:length]:
                begun, number = length, known[1]
                break
        for message in messages[begun:]:
            number = self._point(number, message)
        if messages:
            self._sent[messages[-1].id] = (messages, number)
        return number

    def _point(self, before: int, message: Message) -> int:
        message_number, reference = self._message(message)
        key = (before, message_number)
        number = self._points.get(key)
        if number is None:
            number = self._points[key] = len(self._points) + 1
            runs = self._news.setdefault("points", [])
            if runs and before == number - 1:
                _list(runs[-1]).append(reference)
            else:
                runs.append([before, reference])
        return number

    def _message(self, message: Message) -> tuple[int, object]:
        versions = self._messages.setdefault(message.id, [])
        for version, (seen, number) in enumerate(versions, start=1):
            if seen is message or seen == message:
                return number, self._reference(message.id, version)
        self._count += 1
        versions.append((message, self._count))
        (fields,) = _list(Conversation.of(message).to_plain()["messages"])
        self._define("messages", self._jsonable(fields))
        return self._count, self._reference(message.id, len(versions))

    @staticmethod
    def _reference(id: str, version: int) -> object:
        return id if version == 1 else [id, version]

    def parts(self, message: Message) -> object:
        """The parts of a message that is in no history, as JSON."""
        (fields,) = _list(Conversation.of(message).to_plain()["messages"])
        return self._jsonable(_list(fields)[-1])

    def _jsonable(self, plain: object) -> object:
        """The plain form of a conversation, which may hold bytes, as JSON."""
        match plain:
            case str():
                return self.text(plain)
            case bytes():
                return bytes_to(plain)
            case list():
                return [self._jsonable(each) for each in plain]
            case _:
                return plain

    def _define(self, table: str, definition: object) -> None:
        self._news.setdefault(table, []).append(definition)


class Known:
    """The tables of whoever reads. Every method gives what a reference stands for, and raises `Damaged` for what no
    `Written` wrote.
    """

    def __init__(self) -> None:
        self._messages: dict[str, list[Message]] = {}
        self._points: list[Conversation] = [Conversation()]
        self._histories: dict[int, tuple[Message, ...]] = {0: ()}
        self._blocks: list[str | tuple[int, ...]] = []
        self._measures: list[tuple[int, int]] = []
        self._texts: dict[int, str] = {}
        self._tools: list[ToolSpec] = []

    def learn(self, news: Mapping[str, object]) -> None:
        """Take in the definitions of an entry."""
        for block in _list(news.get("texts", [])):
            self._learn_block(block)
        for fields in _list(news.get("messages", [])):
            self._learn_message(fields)
        for run in _list(news.get("points", [])):
            self._learn_points(_list(run))
        for fields in _list(news.get("tools", [])):
            match fields:
                case [str(name), str(description), dict(parameters)]:
                    self._tools.append(ToolSpec(name=name, description=description, parameters=parameters))
                case _:
                    raise Damaged("a tool should be its name, description and parameters")

    def _learn_block(self, block: object) -> None:
        if isinstance(block, str):
            self._blocks.append(block)
            self._measures.append((len(block), 0))
            return
        numbers = tuple([_number(each, len(self._blocks), "text") for each in _list(block)])
        size = sum(self._measures[number][0] for number in numbers)
        depth = 1 + max((self._measures[number][1] for number in numbers), default=0)
        if size > _LARGEST or depth > _DEEPEST:
            raise Damaged("a text is too large to be one of ours")
        self._blocks.append(numbers)
        self._measures.append((size, depth))

    def _learn_message(self, fields: object) -> None:
        plain = self._plain(fields, _DEEPEST)
        (message,) = Conversation.from_plain({"format": _FORM, "messages": [plain]}).messages
        self._messages.setdefault(message.id, []).append(message)

    def _learn_points(self, run: list[object]) -> None:
        if len(run) < 2:
            raise Damaged("a run of points should be a point and messages")
        point = self._points[_number(run[0], len(self._points), "point")]
        for reference in run[1:]:
            point = point.append(self._message(reference))
            self._points.append(point)

    def _message(self, reference: object) -> Message:
        match reference:
            case str(id):
                version = 1
            case [str(id), int(version)]:
                pass
            case _:
                raise Damaged("a message should be referred to by its id")
        versions = self._messages.get(id, [])
        if not 1 <= version <= len(versions):
            raise Damaged(f"the message {id!r} is referred to and nowhere defined")
        return versions[version - 1]

    def _plain(self, json: object, deepest: int) -> object:
        """The plain form of a conversation, out of its JSON."""
        match json:
            case {"text": _}:
                return self.text(json)
            case dict():
                return bytes_from(json)
            case list() if deepest > 0:
                return [self._plain(each, deepest - 1) for each in json]
            case list():
                raise Damaged("a message is nested too deeply")
            case _:
                return json

    def text(self, reference: object) -> str:
        """The text that a reference stands for."""
        match reference:
            case str():
                return reference
            case {"text": number, **rest} if not rest:
                number = _number(number, len(self._blocks), "text")
            case _:
                raise Damaged("there should be a text")
        if number not in self._texts:
            self._texts[number] = "".join(self._leaves(number))
        return self._texts[number]

    def _leaves(self, number: int) -> Iterator[str]:
        block = self._blocks[number]
        if isinstance(block, str):
            yield block
        else:
            for each in block:
                yield from self._leaves(each)

    def tool(self, reference: object) -> ToolSpec:
        """The tool with a number."""
        return self._tools[_number(reference, len(self._tools), "tool")]

    def conversation(self, reference: object) -> Conversation:
        """The branch point with a number."""
        return self._points[_number(reference, len(self._points), "point")]

    def messages(self, reference: object) -> tuple[Message, ...]:
        """The messages of a branch point. Those of a point above it that was asked for before are used again."""
        number = _number(reference, len(self._points), "point")
        history = self._histories.get(number)
        if history is None:
            history = self._histories[number] = self._points[number].messages
        return history

    def parts(self, json: object) -> Message:
        """A message in no history, with the parts that `Written.parts` wrote."""
        fields = ["parts", "assistant", None, None, False, None, self._plain(json, _DEEPEST)]
        (message,) = Conversation.from_plain({"format": _FORM, "messages": [fields]}).messages
        return message


def bytes_to(content: bytes) -> dict[str, object]:
    """Bytes as JSON, readable where they are text."""
    try:
        return {"utf8": content.decode("utf-8", "surrogatepass")}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode("ascii")}


def bytes_from(json: object) -> bytes:
    """The bytes that `bytes_to` wrote. Raises `Damaged`."""
    match json:
        case {"utf8": str(text), **rest} if not rest:
            return text.encode("utf-8", "surrogatepass")
        case {"base64": str(text), **rest} if not rest:
            try:
                return base64.b64decode(text, validate=True)
            except ValueError:
                pass
    raise Damaged("there should be bytes")


def _cut[T](items: Sequence[T], marks: Iterable[int], average: int) -> Iterator[list[T]]:
    """The items in groups of at least two. What a group's last item is decides that it ends there, so equal stretches
    of two sequences are cut alike.
    """
    group: list[T] = []
    for item, mark in zip(items, marks, strict=True):
        group.append(item)
        if len(group) > 1 and (mark % average == 0 or len(group) >= average * _MOST):
            yield group
            group = []
    if group:
        yield group


def _of_text(line: str) -> int:
    return zlib.crc32(line.encode("utf-8", "surrogatepass"))


def _of_number(number: int) -> int:
    return number * 2_654_435_761 >> 12


def _plain_json(value: object) -> object:
    """A JSON schema, in whatever mappings and sequences it came, as dicts and lists."""
    match value:
        case Mapping():
            return {str(key): _plain_json(each) for key, each in value.items()}
        case list() | tuple():
            return [_plain_json(each) for each in value]
        case None | bool() | int() | float() | str():
            return value
        case _:
            return repr(value)


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise Damaged("there should be a list")
    return value


def _number(value: object, end: int, what: str) -> int:
    if type(value) is not int or not 0 <= value < end:
        raise Damaged(f"the {what} {value!r} is referred to and nowhere defined")
    return value
