"""What someone wants who says something: read from the words alone, with the tools that there are.

A saying is searched for what is told to be done: a verb of a tool at the beginning of a sentence, or behind "and", with
nothing but courtesy before it. What names the thing and the one it goes to is taken out as it was said; what is meant
by that is for the asking tools to find out. Otherwise a question, or a few words, is something to look up, and a longer
statement is something to know.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from host.models.lexical.kit import Deed, Kit
from host.models.lexical.language import DENIAL, is_function_word, stem, terms
from host.models.lexical.speech import (
    BACKGROUND,
    COLD,
    CONDITION,
    DESTINATION,
    ENDS_PHRASE,
    HANDING,
    LOOKING,
    MESSAGE,
    POLITE,
    PROGRESS,
    QUESTION,
    STEER,
    TELLING,
    WANTING,
)
from host.spelling import fold

__all__ = ["Do", "Know", "Look", "Progress", "Start", "Steer", "Unclear", "Wish", "wishes"]

_SHORT: Final = 4  # words; so few are a name to look up rather than something to know
_WORD: Final = re.compile(r"[^\W_]+(?:['\u2019.@+/_-]+[^\W_]+)*|[,;:]")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_TASK: Final = frozenset({"task", "tasks", "aufgabe", "tache"})
_DETERMINERS: Final = frozenset(
    {
        "the",
        "a",
        "an",
        "my",
        "our",
        "this",
        "that",
        "these",
        "those",
        "it",
        "them",
        "all",
        "den",
        "die",
        "das",
        "le",
        "la",
        "les",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Something is to be looked up."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Do:
    """A deed. `what` names the thing and `whom` who it goes to, both as they were said; `message` is what to say."""

    deed: Deed
    what: str = ""
    whom: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """A task is to be started."""

    request: str
    cold: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Steer:
    """A task is to be steered. `label` is empty if it cannot be told which one."""

    means: str
    label: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """It is asked how far the work is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Know:
    """Something is told that one should know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unclear:
    """It is understood what is wanted, but not under which condition."""

    condition: str
    verb: str


type Wish = Look | Do | Start | Steer | Progress | Know | Unclear


def wishes(text: str, kit: Kit, *, inherits: bool = False) -> list[Wish]:
    """What is wanted. `inherits` says that there is a history which may hold work to be asked about."""
    steer = _steer(text, kit)
    if steer is not None:
        return [steer]
    if inherits and not kit.steering and PROGRESS.search(text) is not None:
        return [Progress()]
    if kit.start is not None and BACKGROUND.search(text) is not None:
        request = BACKGROUND.sub(" ", text)
        cold = COLD.search(request) is not None
        request = " ".join((COLD.sub(" ", request) if cold else request).split()).strip(" ,;:.")
        if request:
            return [Start(request=f"{request[0].upper()}{request[1:]}", cold=cold)]
    found: list[Wish] = list(_deeds(text, kit))
    if found:
        return found
    if _asks(text):
        return [Look(text=text)]
    return [Know()]


def _asks(text: str) -> bool:
    """Whether something is asked for, in a question, an order to look it up, or a few words that name it."""
    if "?" in text:
        return True
    for sentence in _SENTENCE.split(text):
        words = [word for word in terms(sentence) if word not in POLITE]
        if words and (words[0] in QUESTION or words[0] in LOOKING):
            return True
    return len(terms(text)) <= _SHORT


# What is to be done


@dataclass(frozen=True, slots=True, kw_only=True)
class _Order:
    """A verb of a deed where an order stands, and all that follows it in its sentence."""

    deed: Deed
    verb: str
    rest: Sequence[str]
    text: str


def _deeds(text: str, kit: Kit) -> Iterator[Do | Unclear]:
    for sentence in _SENTENCE.split(text):
        for order in _orders(sentence, kit):
            found = MESSAGE.search(order.text)
            said = sentence if found is None else sentence[: sentence.find(found[0])]
            condition = CONDITION.search(said)
            if condition is not None:
                yield Unclear(condition=condition[0].partition(",")[0].strip(" .!?"), verb=order.verb)
                continue
            what, whom = _phrases(order.rest)
            message = next((each.strip() for each in found.groups() if each), "") if found else ""
            if order.verb in TELLING and not message:
                continue
            yield Do(deed=order.deed, what=what, whom=whom, message=message)


def _orders(sentence: str, kit: Kit) -> list[_Order]:
    """The orders in a sentence."""
    words = list(_WORD.finditer(WANTING.sub("", sentence)))
    told = [fold(word[0]).replace("'", "").replace("\u2019", "") for word in words]
    found: list[tuple[int, Deed]] = []
    open_to_orders, asks_to = True, False
    for at, word in enumerate(told):
        if not open_to_orders:
            open_to_orders = word in ("and", "then", "und", "et", ",", ";", "puis", "dann") and not asks_to
            continue
        if word in DENIAL or word in ("never", "nie", "jamais"):
            open_to_orders = False
        elif (deed := _deed(word, told[at + 1 :], kit)) is not None:
            found.append((at, deed))
            open_to_orders = False
        elif word not in POLITE and word not in (",", ";"):
            open_to_orders = False
    orders = []
    subject = WANTING.sub("", sentence)
    for number, (at, deed) in enumerate(found):
        end = found[number + 1][0] if number + 1 < len(found) else len(words)
        rest = [word[0] for word in words[at + 1 : end]]
        begin = words[at].end()
        stop = words[end].start() if end < len(words) else len(subject)
        orders.append(_Order(deed=deed, verb=told[at], rest=rest, text=subject[begin:stop]))
    return orders


def _deed(word: str, following: Sequence[str], kit: Kit) -> Deed | None:
    """The deed that a verb orders: by its own name, by its description, or because both hand something on."""
    if word in LOOKING and word not in TELLING and word != "give":
        return None
    if word in (*TELLING, "give") and following[:1] and following[0] in ("me", "us", "mir", "uns", "moi", "nous"):
        return None
    root = stem(word)
    named = [deed for deed in kit.deeds if word in deed.verbs or root in {stem(verb) for verb in deed.verbs}]
    handing = word in HANDING or word in TELLING
    if not named and handing:
        named = [deed for deed in kit.deeds if not HANDING.isdisjoint(deed.verbs) and _has_whom(deed)]
    if not named and not is_function_word(word):
        named = [deed for deed in kit.deeds if root in deed.words and _has_whom(deed) and handing]
    return named[0] if named else None


def _has_whom(deed: Deed) -> bool:
    return any(slot.is_recipient for slot in deed.slots)


def _phrases(rest: Sequence[str]) -> tuple[str, str]:
    """What names the thing, and what names who it goes to, in the words behind the verb."""
    what: list[str] = []
    whom: list[str] = []
    here = what
    markers = [fold(word) for word in rest[:-1] if DESTINATION.match(word)]
    marker = next((word for word in markers if word != "for"), markers[0] if markers else "")
    for at, word in enumerate(rest):
        folded = fold(word)
        if marker and folded == marker and DESTINATION.match(word) and at + 1 < len(rest):
            if here is whom:
                break
            here = whom
        elif folded in ENDS_PHRASE or word in (":", ";"):
            if here or folded in ("that", "saying", ":", "dass", "que"):
                break
        elif word == ",":
            break
        else:
            here.append(word)
    if what and not whom:
        split = _dative(what)
        what, whom = what[split:], what[:split]
    return " ".join(what), " ".join(whom)


def _dative(words: Sequence[str]) -> int:
    """How many of the words before the thing name who it goes to: "send Ann the plan", "send him the plan"."""
    first = fold(words[0])
    if first in ("him", "her", "them", "me", "us", "ihm", "ihr", "ihnen", "lui", "leur"):
        return 1
    at = next((at for at, word in enumerate(words) if at and fold(word) in _DETERMINERS), 0)
    named = all(word[:1].isupper() for word in words[: at or len(words)])
    return at if at and named else len(words) if named and not at else 0


# Running tasks


def _steer(text: str, kit: Kit) -> Steer | None:
    """How a running task is to be steered; None if none is."""
    if not kit.steering:
        return None
    words = [word for word in terms(text) if word not in POLITE or word == "go"]
    if not words:
        return None
    of_task = not _TASK.isdisjoint(words)
    labels = _labels(words, kit)
    if of_task and ("?" in text or words[0] in QUESTION):
        return Steer(means="ask", label=_one(labels), text=text)
    means = next((means for means, verbs in STEER.items() if words[0] in verbs), None)
    if words[:2] == ["go", "on"]:
        means = "resume"
    if means is None:
        return None
    named = of_task or any(_mentions(words, label) for label in labels)
    alone = len(words) <= 2 and all(is_function_word(word) or word in STEER[means] for word in words)
    if means in ("ask", "interject"):
        if not of_task:
            return None
        rest = re.sub(r"^.*?\btasks?\b[\w ]*?\d*\b[,:]?\s*(?:that\s+)?", "", text, count=1, flags=re.IGNORECASE)
        return Steer(means=means, label=_one(labels), text=rest.strip() or text)
    return Steer(means=means, label=_one(labels), text="") if named or alone else None


def _labels(words: Sequence[str], kit: Kit) -> list[str]:
    """The tasks that may be meant: by number, or by the most words of their label."""
    numbers = [label for label in kit.steering if label.rpartition("__")[2] in words]
    if numbers:
        return numbers
    worth = {
        label: sum(word in label.split("_") for word in words if not is_function_word(word)) for label in kit.steering
    }
    best = max(worth.values())
    return [label for label, each in worth.items() if each == best]


def _mentions(words: Sequence[str], label: str) -> bool:
    return any(word in label.split("_") for word in words if not is_function_word(word))


def _one(labels: Sequence[str]) -> str:
    return labels[0] if len(labels) == 1 else ""
