"""A conversation as the lexical model takes part in it: what is asked of it now, and what it did about that so far.

- A turn begins with what was said and ends with an answer in words. What is said before it ended belongs to it.
- A result that does not stand behind its call is news: a task has come to its end. A notice in brackets is, too.
- Where a task begins in the middle of what its caller had said, all before that is the caller's.
- A failed result that names no tool is that of a call that was given up: what was wanted is wanted no more.
- A turn that ended in a question of ours, with options, is not over if what is said next chooses one of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from host.conversation import STILL_RUNNING, Message, Text, ToolResult
from host.models.lexical.language import alike, is_function_word, stem, terms
from host.models.lexical.speech import ORDINALS

__all__ = ["Outcome", "Saying", "Turn", "chosen", "options_in", "own_words", "turns"]

# How the assignment of a task begins that goes on from its caller's own messages (`host.context.start`).
_BEGINS: Final = "Here your own work begins."
_OPTION: Final = re.compile(r"^ *(\d+)\. (.+)$", re.MULTILINE)
_NUMBER: Final = re.compile(r"\W*(?:(?:number|option|no|nr|nummer|numero)\W*)?(\d{1,2})\W*", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a call. `text` is None where no result has come (yet)."""

    text: str | None = None
    failed: bool = False


@dataclass(slots=True, kw_only=True)
class Saying:
    """Something that was said to us, and whether we did anything between it and the next."""

    text: str
    worked_at: bool = False


@dataclass(slots=True, kw_only=True)
class Turn:
    """One turn. `outcomes` are by tool and arguments; those in `old` came before the last saying. `reports` are news
    of tasks; `answer` is None while the turn goes on.
    """

    sayings: list[Saying] = field(default_factory=list)
    outcomes: dict[tuple[str, str], Outcome] = field(default_factory=dict)
    old: set[tuple[str, str]] = field(default_factory=set)
    reports: list[str] = field(default_factory=list)
    answer: str | None = None


def turns(messages: Iterable[Message]) -> list[Turn]:
    """The turns in order; the last one is under way. There is at least one."""
    found = [Turn()]
    behind: dict[str, tuple[str, str]] = {}  # the calls whose results may stand here
    for message in messages:
        if found[-1].answer is not None:
            found.append(Turn())
        turn = found[-1]
        for part in message.parts:
            if isinstance(part, ToolResult):
                _take(part, behind, turn)
        text = message.text.strip()
        if message.role == "user" and text.startswith(_BEGINS):
            found = [Turn(sayings=[Saying(text=own_words(text))])]
        elif message.role == "user" and text.startswith("[") and text.endswith("]"):
            turn.reports.append(text[1:-1])
        elif message.role == "user" and text:
            turn.sayings.append(Saying(text=text))
            turn.old = set(turn.outcomes)
        elif message.role == "assistant":
            behind = {call.id: (call.name, call.arguments) for call in message.calls}
            for call in behind.values():
                turn.outcomes[call] = Outcome()
                turn.old.discard(call)
            if behind and turn.sayings:
                turn.sayings[-1].worked_at = True
            elif text and not behind:
                turn.answer = text
    if found[-1].answer is not None:
        found.append(Turn())
    return found


def own_words(text: str) -> str:
    """An assignment without the words that our loops put before it."""
    return text.partition("\n\n")[2] if text.startswith(_BEGINS) else text


def _take(result: ToolResult, behind: Mapping[str, tuple[str, str]], turn: Turn) -> None:
    text = "\n".join(each.text for each in result.parts if isinstance(each, Text))
    call = behind.get(result.call)
    if call is not None and call in turn.outcomes and turn.outcomes[call].text is None:
        if text != STILL_RUNNING:
            turn.outcomes[call] = Outcome(text=text, failed=result.is_error)
            if result.is_error and result.name is None:
                turn.answer = ""
    elif text.strip():
        turn.reports.append(text)


def options_in(text: str) -> list[str]:
    """The options that a question of ours offered, in order."""
    return [found[2].strip() for found in _OPTION.finditer(text)]


def chosen(said: str, options: Sequence[str]) -> list[str]:
    """Which of the options is chosen by what was said: by number, or by words. More than one if it fits several."""
    number = _NUMBER.fullmatch(said)
    if number is not None:
        at = int(number[1])
        return [options[at - 1]] if 1 <= at <= len(options) else []
    words = terms(said)
    telling = [stem(word) for word in words if not is_function_word(word) and word not in ORDINALS]
    worth = [_worth(telling, option) for option in options]
    best = max(worth, default=0.0)
    if best > 0:
        return [option for option, each in zip(options, worth, strict=True) if each == best]
    place = next((ORDINALS[word] for word in words if word in ORDINALS), 0)
    if place and abs(place) <= len(options):
        return [options[place - 1 if place > 0 else place]]
    return []


def _worth(words: Sequence[str], option: str) -> float:
    own = {stem(word) for word in terms(option)}
    return sum(max((alike(word, each) for each in own), default=0.0) for word in words)
