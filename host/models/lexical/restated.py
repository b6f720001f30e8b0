"""A history without what only states the request once more, and without what was only asked.

A request that comes out of a conversation has as a rule just been said there: "send the plan to Ann", says someone, and
the agent asks for "the plan". That saying tells nothing about which plan is meant; what was spoken of before it does.
So the calls at the end of a history, one of which made the request, and the sayings before them that have no word
beyond theirs, are left out.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from host.context import Entry
from host.models.lexical.language import ASKING, TRANSFER, is_function_word, stem, terms
from host.models.lexical.speech import BACKGROUND
from host.models.lexical.turns import chosen, options_in, own_words

__all__ = ["without_questions", "without_restatements"]

_SPEAKERS: Final = ("outer user", "outer caller")
_CHOICES: Final = frozenset({"fork", "cold"})


def without_restatements(entries: Sequence[Entry]) -> list[Entry]:
    """The entries that were there before the request was. All of them, if nothing states it."""
    end = len(entries)
    asked: set[str] = set()
    while end and entries[end - 1].deed == "calls":
        end -= 1
        asked |= _words(_values(entries[end].text))
    restated = False
    while asked and end:
        entry = entries[end - 1]
        if entry.deed == "calls" and restated:
            words = _words(_values(entry.text))
        elif entry.deed == "said" and entry.speaker.startswith(_SPEAKERS):
            words = _words(BACKGROUND.sub(" ", own_words(entry.text)))
        else:
            break
        if not words or not words <= asked:
            break
        restated = True
        end -= 1
    return list(entries[:end] if restated else entries)


def without_questions(entries: Sequence[Entry]) -> list[Entry]:
    """The entries without what was only asked: a question of the agent's that lists what may be meant is no evidence
    for any of it, least of all for the one that it names last, and neither is a call that failed for that reason. Where
    the next thing said chooses one of them, that one stands in place of the question.
    """
    kept: list[Entry] = []
    for at, entry in enumerate(entries):
        if entry.deed == "fails" and entry.text.startswith("NeedsClarification"):
            continue
        options = options_in(entry.text) if entry.deed == "said" and not entry.speaker.startswith(_SPEAKERS) else []
        if not options or "?" not in entry.text:
            kept.append(entry)
            continue
        reply = next((each for each in entries[at + 1 :] if each.deed == "said"), None)
        meant = chosen(reply.text, options) if reply is not None and reply.speaker.startswith(_SPEAKERS) else []
        if len(meant) == 1:
            kept.append(replace(entry, text=meant[0]))
    return kept


def _words(text: str) -> set[str]:
    """The words that tell what is spoken of."""
    return {
        stem(word)
        for word in terms(text)
        if not is_function_word(word) and word not in ASKING and word not in TRANSFER and word not in _CHOICES
    }


def _values(arguments: str) -> str:
    """The texts among a call's arguments, without the parameters' names."""
    try:
        given = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    return " ".join(str(value) for value in given.values()) if isinstance(given, dict) else arguments
