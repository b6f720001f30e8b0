r"""The names of the tools that steer running tasks, which are passed on to no child: they exist for their loop alone.

Where history mentions one, in a call, in code or in words, what is passed on says that there was such a tool, and not
which. Only whole names count: `stop_search__1` is no part of `stop_search__12`. A name may stand behind an escape, as
in code that was written as JSON ("\nstop_search__1()").
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from host.context.layer import Layer
from host.conversation import Message, Opaque, Part, Refusal, Summary, Text, ToolCall, ToolResult

__all__ = ["Steering", "steering_of"]

_WORD: Final = re.compile(r"[A-Za-z0-9_]+")
_UNICODE: Final = re.compile(r"u[0-9a-fA-F]{4}")
_MARK: Final = "__"
_ESCAPED: Final = frozenset("abfnrtv")  # the letters that an escape may end with, in code that was written as JSON


def steering_of(layers: Iterable[Layer]) -> Steering:
    """The steering tools of all layers."""
    return Steering(name for layer in layers for name in layer.steering)


class Steering:
    """The names of steering tools, and what stands in their place.

    Looking for them costs the same for one name as for a thousand: words are looked up, and a text that lacks what all
    names have in common is not looked through at all.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names = frozenset(name for name in names if name)
        self._mark = _MARK if all(_MARK in name for name in self._names) else ""
        plain = all(_WORD.fullmatch(name) for name in self._names)
        self._words = _WORD if plain else re.compile(r"[^\s\"'`(){}\[\],;:\\]+")

    def neutral(self, text: str) -> str:
        """The text without the names: "stop_search__1" becomes "stop (a steering tool)"."""
        if not self._names or self._mark not in text:
            return text
        return self._words.sub(self._said, text)

    def _said(self, found: re.Match[str]) -> str:
        word, before = found[0], found.string[found.start() - 1 : found.start()]
        if word in self._names:
            return _neutral(word)
        start = 0
        if before == "\\":
            start = 5 if _UNICODE.match(word) else 1 if word[0] in _ESCAPED else 0
        core = word[start:].strip("_")  # it may stand between marks of emphasis
        if core not in self._names:
            return word
        at = word.index(core, start)
        return f"{word[:at]}{_neutral(core)}{word[at + len(core) :]}"

    def without(self, message: Message) -> Message:
        """The message without the names, for a child that goes on from it; the same one if it has none.

        A call keeps a name that a tool may have: "stop_search__1" becomes "stop".
        """
        if not self.mentioned([message]):
            return message
        return replace(message, parts=tuple([self._part(part) for part in message.parts]), original=None)

    def _part(self, part: Part) -> Part:
        match part:
            case Text(text=text) | Refusal(text=text):
                return replace(part, text=self.neutral(text))
            case Summary(text=str() as text):
                return Summary(text=self.neutral(text))
            case Opaque(json=text):
                return replace(part, json=self.neutral(text))
            case ToolCall():
                steers = self.neutral(part.name) != part.name
                name = part.name.partition("_")[0] if steers else part.name
                return replace(part, name=name, arguments=self.neutral(part.arguments))
            case ToolResult():
                inner = tuple([self._part(each) for each in part.parts])
                return replace(part, name=self.neutral(part.name) if part.name else part.name, parts=inner)
            case _:
                return part

    def mentioned(self, messages: Iterable[Message]) -> bool:
        """Whether one of the names stands anywhere in the messages."""
        if not self._names:
            return False
        texts = (text for message in messages for part in message.parts for text in _texts(part))
        return any(self.neutral(text) != text for text in texts)


def _neutral(name: str) -> str:
    return f"{name.partition('_')[0]} (a steering tool)"


def _texts(part: Part) -> Iterator[str]:
    match part:
        case Text(text=text) | Refusal(text=text) | Summary(text=str() as text) | Opaque(json=text):
            yield text
        case ToolCall():
            yield part.name
            yield part.arguments
        case ToolResult():
            yield part.name or ""
            for inner in part.parts:
                yield from _texts(inner)
        case _:
            pass
