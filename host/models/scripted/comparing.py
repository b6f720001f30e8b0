"""Whether two requests are the same to a provider, and if not, where they first differ.

What a provider would see counts: the system, each message's role, author and parts, the tools, the tail. Ids of
messages and the form in which they came in differ from run to run, and do not.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Final

from host.conversation import Message
from host.models.port import Request

__all__ = ["ScriptMismatch", "difference", "sight"]

_AROUND: Final = 60


class ScriptMismatch(AssertionError):
    """A scripted model was asked what was not written down for it. The message shows what was, and the difference."""


def sight(request: Request) -> str:
    """All that a provider sees of a request, as text: equal for two requests that look the same to it."""
    return "\n".join([f"{place}: {shown}" for place, shown in _lines(request)])


def difference(recorded: Request, asked: Request) -> str | None:
    """The first difference, as a few lines that name its place and show both sides; None if there is none."""
    before = dict(_lines(recorded))
    now = dict(_lines(asked))
    for place in [*now, *[place for place in before if place not in now]]:
        if before.get(place) != now.get(place):
            return f"{place} differs\n{_sides(before.get(place), now.get(place))}"
    return None


def _lines(request: Request) -> Iterator[tuple[str, str]]:
    """Each place of a request and what stands there."""
    yield "the system", json.dumps(request.system)
    for number, message in enumerate(request.messages, start=1):
        yield from _message(f"message {number}", message)
    for number, tool in enumerate(request.tools, start=1):
        described = {"name": tool.name, "description": tool.description, "parameters": _plain(tool.parameters)}
        yield f"tool {number}", json.dumps(described)
    yield "the tail", json.dumps(request.tail)


def _message(place: str, message: Message) -> Iterator[tuple[str, str]]:
    yield f"the role of {place}", json.dumps([message.role, message.name])
    for number, part in enumerate(message.parts, start=1):
        yield f"part {number} of {place}", f"{type(part).__name__} {json.dumps(_plain(asdict(part)))}"


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return value


def _sides(before: str | None, now: str | None) -> str:
    """Both sides, from a little before the first character that differs."""
    first = next(
        (at for at, (one, other) in enumerate(zip(before or "", now or "", strict=False)) if one != other), None
    )
    if first is None:
        first = min(len(before or ""), len(now or ""))
    return f"  recorded: {_around(before, first)}\n  asked:    {_around(now, first)}"


def _around(side: str | None, first: int) -> str:
    if side is None:
        return "nothing"
    start = max(0, first - _AROUND // 2)
    shown = side[start : first + _AROUND]
    return f"{'…' if start else ''}{shown}{'…' if first + _AROUND < len(side) else ''}"
