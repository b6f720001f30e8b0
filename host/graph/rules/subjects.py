"""What calls are about: whether two are the same, whether one draws on what another brought, and which files they
touch.

All of this is told from words, so it can be wrong. A call draws on a result if its arguments hold a word that tells
(`host.record.telling`) which stands in that result and was nowhere before it. A file is anything with a slash or an
ending in it. Whether a tool writes is told by its name alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Final

from host.conversation import Message, Text, ToolCall, ToolResult
from host.graph.run import Ask, Strand, Use
from host.record.telling import telling, words_of
from host.spelling import fold, spelled_words

__all__ = ["CONTROL", "draws_on", "files", "heard", "is_work", "same", "words_in", "writes"]

CONTROL: Final = frozenset({"fork", "start_task", "run_code"})
"""Tools by which a loop directs work, or whose arguments are a program: none of them is a piece of research."""

_PATH: Final = re.compile(r"(?<![\w@])(?:[\w.~-]*/)+[\w.-]*\w|(?<![\w@/.])[\w-]+\.[A-Za-z][A-Za-z0-9]{0,5}\b")
_ADDRESS: Final = re.compile(r"\w+://\S+|\S+@\S+")
_WRITING: Final = frozenset(
    """
    write writes save append create edit patch apply put update delete remove move copy rename insert store upload
    commit replace add set send post
    """.split()
)


def same(call: ToolCall) -> tuple[str, str]:
    """What two calls have in common if they are the same: the tool, and the arguments but for their spelling."""
    parsed = call.parsed
    if parsed is None:
        return call.name, fold(call.arguments.strip())
    asked = {name: value for name, value in parsed.items() if name != "context"}
    return call.name, fold(json.dumps(asked, sort_keys=True, ensure_ascii=False))


def is_work(use: Use) -> bool:
    """Whether a call is a piece of work, by the agent itself or by one call of another: no fork, no hand-off, nothing
    that steers.
    """
    name = use.call.name
    return (
        use.fork is None
        and use.handoff is None
        and name not in CONTROL
        and "__" not in name
        and not name.startswith(("transfer_to_", "transfer_back_to_"))
    )


def draws_on(use: Use, brought: AbstractSet[str], first_heard: Mapping[str, float], since: int) -> bool:
    """Whether a call holds a word that tells, was brought, and was heard first after the event `since`."""
    return any(word in brought and first_heard.get(word, since) > since for word in telling(_values(use.call)))


def heard(strand: Strand) -> Mapping[str, float]:
    """When a loop first heard each word: in a request, in its own reply, in the arguments of a call of its own, in a
    result. Each is the place of an event; a result's comes behind that of its call. Linear in what was said.
    """
    first: dict[str, float] = {}
    seen: set[str] = set()
    own = {use.call.id for use in strand.uses if use.ended is not None}  # their results are heard when they end
    system = ""

    def hear(text: str, at: float) -> None:
        for word in words_of(text):
            first.setdefault(word, at)

    hear(strand.loop.began.request, strand.at)
    for node in strand.nodes:
        match node:
            case Ask():
                request = None if node.asked is None else node.asked.request
                if request is not None:
                    if request.system != system:
                        system = request.system
                        hear(system, node.at)
                    for message in request.messages:
                        if message.id not in seen:
                            seen.add(message.id)
                            hear(_said_in(message, own), node.at)
                if node.replied is not None:
                    hear(node.replied.reply.text, node.at)
            case Use():
                hear(_values(node.call), node.at)
                if node.ended is not None:
                    hear(node.ended.text, node.at + 0.5)
            case _:
                pass
    return first


def words_in(call: ToolCall) -> frozenset[str]:
    """The words of a call: its tool's name and its arguments."""
    return words_of(f"{' '.join(spelled_words(call.name))}\n{_values(call)}")


def writes(call: ToolCall) -> bool:
    """Whether a tool writes, by its name."""
    return any(fold(word) in _WRITING for word in spelled_words(call.name))


def files(text: str) -> frozenset[str]:
    """The files that a text names, folded and without a leading "./" or "/"."""
    return frozenset(fold(found[0]).lstrip("./") for found in _PATH.finditer(_ADDRESS.sub(" ", text)))


def _said_in(message: Message, without: AbstractSet[str]) -> str:
    """The words of a message, results included, but for those of these calls."""
    words = []
    for part in message.parts:
        match part:
            case Text(text=text):
                words.append(text)
            case ToolCall():
                words.append(part.arguments)
            case ToolResult(call=call) if call not in without:
                words.append(part.text)
            case _:
                pass
    return "\n".join(words)


def _values(call: ToolCall) -> str:
    """The values in a call's arguments, or the arguments as they stand where they are no JSON."""
    parsed = call.parsed
    if parsed is None:
        return call.arguments
    found: list[str] = []
    waiting: list[object] = [parsed]
    while waiting:
        match waiting.pop():
            case Mapping() as inner:
                waiting += inner.values()
            case list() as inner:
                waiting += inner
            case None | bool():
                pass
            case value:
                found.append(str(value))
    return "\n".join(found)
