"""The lexical model in a conversation: it looks up what is asked about, does what it is told, and says what came of it.

Each reply is worked out anew from the messages. What is wanted is pursued as if every tool had answered already; a tool
whose answer is not there yet is called, and the next reply starts over with what it said. So nothing is kept between
requests, calls that do not need each other are made at once, and no deed is done twice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from host.context import read_section
from host.conversation import ToolCall
from host.models.lexical.found import Found, found_in, value_for
from host.models.lexical.kit import Ask, Kit, Slot, kit
from host.models.lexical.language import COMMON, is_function_word, stem, terms
from host.models.lexical.speech import KINDS, POINTING_ALONE, POSSESSIVE
from host.models.lexical.turns import Outcome, Turn, chosen, options_in, turns
from host.models.lexical.wishes import Do, Know, Look, Progress, Start, Steer, Unclear, Wish, wishes
from host.models.lexical.wording import (
    Clarification,
    described,
    done,
    failed,
    honest,
    noted,
    progress,
    question,
    read_clarification,
    told,
)
from host.models.port import Reply, Request
from host.spelling import bare_word, content_words, words

__all__ = ["can_talk", "talk"]

_LONGEST_OWNED: Final = 3  # words of a name that still takes "'s"


def can_talk(tools: Kit) -> bool:
    """Whether the tools are those of a conversation."""
    hands_on = any(slot.is_recipient for deed in tools.deeds for slot in deed.slots)
    return bool(tools.asks or tools.start or hands_on)


def talk(request: Request) -> Reply:
    """The next reply of a conversation: calls, or an answer."""
    tools = kit(request.tools)
    section = read_section(request.system)
    past = turns(request.messages)
    pursuit = _taken_up(past, tools, inherits=section is not None)
    said = list(past[-1].reports)
    for wish in pursuit.wishes:
        text = pursuit.pursue(wish)
        if isinstance(wish, Progress):
            text = progress(section)
        elif isinstance(wish, Know):
            text = noted(first=not any(noted(first=True) == turn.answer for turn in past))
        if text and text not in said:
            said.append(text)
    if pursuit.wanted:
        rounds = sum(bool(message.calls) for message in request.messages)
        calls = [
            ToolCall(id=f"call_{rounds + 1}_{number}", name=name, arguments=arguments)
            for number, (name, arguments) in enumerate(pursuit.wanted, 1)
        ]
        return Reply.of("", *calls)
    return Reply.of("\n\n".join(said) or honest(tools))


def _taken_up(past: Sequence[Turn], tools: Kit, *, inherits: bool) -> _Pursuit:
    """What is to be pursued now, and what is known for it."""
    pursuit = _Pursuit(tools=tools)
    for turn in past:
        pursuit = pursuit.next(turn, tools, inherits=inherits)
    return pursuit


@dataclass(slots=True, kw_only=True)
class _Pursuit:
    """What is wanted, and what came of the calls for it. `settled` are questions that an option has answered since;
    `narrowed` are the options left of the question that is open. `wanted` are the calls to make.
    """

    tools: Kit
    wishes: list[Wish] = field(default_factory=list)
    outcomes: dict[tuple[str, str], Outcome] = field(default_factory=dict)
    settled: dict[tuple[str, str], str] = field(default_factory=dict)
    narrowed: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    wanted: list[tuple[str, str]] = field(default_factory=list)
    open: tuple[str, str] | None = None
    answer: str | None = None

    # -- from turn to turn

    def next(self, turn: Turn, tools: Kit, *, inherits: bool) -> _Pursuit:
        """What is pursued in the turn after this one."""
        following = self._answered(turn) or _Pursuit(tools=tools, wishes=_wanted(turn, tools, inherits=inherits))
        deeds = {deed.spec.name for deed in tools.deeds}
        following.outcomes |= {
            call: outcome for call, outcome in turn.outcomes.items() if call not in turn.old or call[0] in deeds
        }
        if turn.answer is not None:
            following.answer = turn.answer
            for wish in following.wishes:
                following.pursue(wish)
            following.wanted.clear()
        return following

    def _answered(self, turn: Turn) -> _Pursuit | None:
        """The same gone on with, if the turn begins with an answer to its question."""
        options = options_in(self.answer or "")
        if self.open is None or not options or not turn.sayings:
            return None
        reply = turn.sayings[0].text
        if "?" in reply or any(isinstance(wish, Do | Start | Steer | Unclear) for wish in wishes(reply, self.tools)):
            return None
        meant = chosen(reply, options)
        if not meant or (len(meant) == len(options) > 1):
            return None
        settled, narrowed = dict(self.settled), dict(self.narrowed)
        if len(meant) == 1:
            settled[self.open] = meant[0]
        else:
            narrowed[self.open] = meant
        return _Pursuit(
            tools=self.tools, wishes=self.wishes, outcomes=dict(self.outcomes), settled=settled, narrowed=narrowed
        )

    # -- calls

    def _call(self, name: str, arguments: Mapping[str, object]) -> Outcome | None:
        """What came of a call; None if it is still to be made."""
        key = (name, json.dumps(arguments, ensure_ascii=False))
        outcome = self.outcomes.get(key)
        if outcome is None and key not in self.wanted:
            self.wanted.append(key)
        return outcome

    def _ask(self, ask: Ask, text: str) -> Found | Clarification | str | None:
        """What an asking tool says: what it found, what it asks back, or why it failed. None if it is to be asked."""
        key = (ask.spec.name, text)
        if key in self.settled:
            text = self.settled[key]
        arguments: dict[str, object] = {ask.parameter: text}
        if ask.offers_cold and (key in self.settled or _says_everything(text, ask)):
            arguments["context"] = "cold"
        outcome = self._call(ask.spec.name, arguments)
        if outcome is None or outcome.text is None:
            return None
        if not outcome.failed:
            return found_in(outcome.text)
        clarification = read_clarification(outcome.text)
        if clarification is None:
            return failed(ask.spec.name, outcome.text)
        return Clarification(
            question=clarification.question, options=self.narrowed.get(key, clarification.options), key=key
        )

    def _asked_back(self, clarification: Clarification) -> str:
        if clarification.options and self.open is None:
            self.open = clarification.key
        return question(clarification)

    # -- wishes

    def pursue(self, wish: Wish) -> str | None:
        """Go after something as far as is known; what to say of it, once it is there."""
        match wish:
            case Look():
                return self._look(wish.text)
            case Do():
                return self._do(wish)
            case Start():
                return self._start(wish)
            case Steer():
                return self._steer(wish)
            case Unclear():
                return (
                    f"I cannot judge conditions (\u201c{wish.condition}\u201d), so I did nothing yet."
                    f" Tell me to {wish.verb} it when the time has come."
                )
        return None

    def _look(self, text: str) -> str | None:
        asked = _stems(text)
        if not self.tools.asks or not asked:
            return honest(self.tools)
        answers = [self._ask(ask, text) for ask in self.tools.fitting(asked)]
        if any(answer is None for answer in answers):
            return None
        found = [answer for answer in answers if isinstance(answer, Found)]
        if found:
            return "\n".join(dict.fromkeys(described(each, asked) for each in found))
        open_ = [answer for answer in answers if isinstance(answer, Clarification)]
        if open_:
            best = max(open_, key=lambda each: bool(each.options))
            return self._asked_back(best) if best.options else f"{best.question} {honest(self.tools)}"
        return "\n".join(answer for answer in answers if isinstance(answer, str))

    def _do(self, wish: Do) -> str | None:
        gathered = self._gathered(wish)
        if not isinstance(gathered, dict):
            return gathered
        outcome = self._call(wish.deed.spec.name, gathered)
        if outcome is None:
            return None
        if outcome.text is None:
            return f"{wish.deed.spec.name} is under way."
        if outcome.failed:
            return failed(wish.deed.spec.name, outcome.text)
        return done(wish.deed.spec.name, gathered, outcome.text)

    def _gathered(self, wish: Do) -> dict[str, object] | str | None:
        """The arguments of a deed; or what is to be said first; or None while something is to be found out."""
        places = _places(wish, self.tools)
        thing: Found | None = None
        values: dict[str, object] = {}
        answers: list[tuple[Slot, Found | Clarification | str | None]] = []
        for slot, (ask, text) in places.items():
            direct = _as_it_is(slot, text)
            answers.append((slot, Found(text=direct, fields={}) if direct else self._ask(ask, text)))
        if any(answer is None for _, answer in answers):
            return None
        for slot, answer in answers:
            if isinstance(answer, Clarification):
                return self._asked_back(answer)
            if not isinstance(answer, Found):
                return answer
            value = value_for(slot, answer)
            if value is None:
                return (
                    f"I found {answer.called}, but nothing of it that {wish.deed.spec.name} could take as {slot.name}."
                )
            values[slot.name] = [value] if slot.many else value
            thing = thing if slot.is_recipient else answer
        for slot in wish.deed.slots:
            if slot.name not in values and (text := _words_for(slot, wish, thing)):
                values[slot.name] = text
        missing = [slot.name for slot in wish.deed.slots if slot.required and slot.name not in values]
        if missing:
            names = " and ".join(f"`{name}`" for name in missing)
            return f"For {wish.deed.spec.name} I also need {names}. Say it all in one sentence."
        return {slot.name: values[slot.name] for slot in wish.deed.slots if slot.name in values}

    def _start(self, wish: Start) -> str | None:
        assert self.tools.start is not None
        arguments: dict[str, object] = {"request": wish.request}
        offered = self.tools.start.parameters.get("properties")
        if isinstance(offered, Mapping) and "context" in offered:
            arguments["context"] = "cold" if wish.cold else "fork"
        outcome = self._call("start_task", arguments)
        if outcome is None:
            return None
        if outcome.text is None:
            return f"I have started a task for that: \u201c{wish.request}\u201d. Its result comes here by itself."
        return failed("start_task", outcome.text) if outcome.failed else outcome.text

    def _steer(self, wish: Steer) -> str | None:
        if not wish.label:
            return f"Which task is meant: {', '.join(self.tools.steering)}?"
        spec = self.tools.steering[wish.label][wish.means]
        names = spec.parameters.get("properties")
        arguments = dict.fromkeys(names, wish.text) if isinstance(names, Mapping) else {}
        outcome = self._call(spec.name, arguments)
        if outcome is None or outcome.text is None:
            return None
        return failed(spec.name, outcome.text) if outcome.failed else told(outcome.text)


def _wanted(turn: Turn, tools: Kit, *, inherits: bool) -> list[Wish]:
    """What is wanted in a turn: by the last saying, and by those before it that we were at work on or that ask.

    What was told to be done earlier and never begun may have been meant for someone else.
    """
    found: list[Wish] = []
    for saying in turn.sayings[:-1]:
        each = wishes(saying.text, tools, inherits=inherits)
        if saying.worked_at:
            found += [wish for wish in each if isinstance(wish, Do | Look)]
        elif "?" in saying.text:
            found += [wish for wish in each if isinstance(wish, Look)]
    if turn.sayings:
        last = wishes(turn.sayings[-1].text, tools, inherits=inherits)
        found += [wish for wish in last if not (found and isinstance(wish, Know))]
    found = [wish for wish in found if not (isinstance(wish, Look) and _is_courtesy(wish.text))]
    return [wish for at, wish in enumerate(found) if wish not in found[:at]]


def _is_courtesy(text: str) -> bool:
    """Whether nothing is named that could be looked up: thanks, a greeting, a question about what can be done."""
    said = [word for word in terms(text) if word not in ("ok", "okay")]
    return all(word in COMMON or is_function_word(word) for word in said) and not any(
        word in POINTING_ALONE or word in POSSESSIVE for word in said
    )


def _places(wish: Do, tools: Kit) -> dict[Slot, tuple[Ask, str]]:
    """Which parameter is to be found out by asking whom, and for which words."""
    asking = [(slot, hit) for slot in wish.deed.slots if (hit := tools.for_slot(slot, wish.deed)) is not None]
    places: dict[Slot, tuple[Ask, str]] = {}
    if wish.whom:
        recipients = [(slot, hit) for slot, hit in asking if slot.is_recipient]
        for slot, (ask, word) in recipients[:1]:
            places[slot] = (ask, _of(wish.whom, word))
    if wish.what:
        rest = [(slot, hit) for slot, hit in asking if slot not in places and not slot.is_recipient]
        for slot, (ask, word) in rest[:1]:
            places[slot] = (ask, _thing(wish.what, word))
    return places


def _of(whom: str, word: str) -> str:
    """A question for something of someone's, such as "Ann's address"."""
    if whom.lower() in POSSESSIVE:
        return f"{POSSESSIVE[whom.lower()]} {word}"
    return f"{whom}'s {word}" if len(whom.split()) <= _LONGEST_OWNED else f"the {word} of {whom}"


def _thing(what: str, word: str) -> str:
    return f"the {word}" if what.lower() in POINTING_ALONE else what


def _as_it_is(slot: Slot, text: str) -> str:
    """The part of a phrase that can be taken as it stands: an address, a path."""
    for names, shape in KINDS:
        if not slot.words.isdisjoint(names):
            for word in _pieces(text):
                if shape.fullmatch(word):
                    return word
    return ""


def _pieces(text: str) -> list[str]:
    """The pieces of a phrase, without possessive endings."""
    return [word.removesuffix("'s").strip(".,;:") for word in text.split()]


_MESSAGE: Final = frozenset({"body", "text", "message", "content", "note", "words"})
_TITLE: Final = frozenset({"subject", "title", "label", "headline", "about", "topic", "name", "betreff"})


def _words_for(slot: Slot, wish: Do, thing: Found | None) -> str:
    """The words for a parameter that nothing is looked up for."""
    names = frozenset(terms(slot.name))
    if slot.is_recipient:  # no tool speaks of it, so it is what it is called
        return _as_it_is(slot, wish.whom) or wish.whom
    if not slot.free or slot.many:
        return ""
    if not _MESSAGE.isdisjoint(names):
        return wish.message or (wish.what if slot.required and thing is None else "")
    if not _TITLE.isdisjoint(names):
        return thing.called if thing is not None else wish.what or wish.message
    return wish.what if slot.required and thing is None else ""


def _says_everything(text: str, ask: Ask) -> bool:
    """Whether a question names all that it is about: a name of two words or more, and nothing that points back."""
    if any(word in POSSESSIVE or word in POINTING_ALONE for word in terms(text)):
        return False
    telling = content_words(text)
    # How a sentence begins says nothing: its first word is written large whatever it is.
    names = [at > 0 and word[:1].isupper() and word in telling for at, word in enumerate(map(bare_word, words(text)))]
    named = any(one and two for one, two in pairwise(names))
    kind = any(ask.words.get(stem(word)) == 1.0 for word in terms(text))
    return named and kind


def _stems(text: str) -> list[str]:
    return [stem(word) for each in content_words(text) for word in terms(each)]
