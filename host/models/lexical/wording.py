"""The sentences in which the lexical model speaks. What a tool said is passed on as it said it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from host.context import Section
from host.models.lexical.found import Found, found_in, wanted_fields
from host.models.lexical.kit import Kit
from host.models.lexical.language import terms

__all__ = [
    "Clarification",
    "described",
    "done",
    "failed",
    "honest",
    "noted",
    "progress",
    "question",
    "read_clarification",
    "told",
]

_CLARIFICATION: Final = re.compile(
    r"NeedsClarification: (?P<question>.*?)(?: Options: (?P<options>.*?)\.?)?\s*", re.DOTALL
)
_SHORT: Final = 120
_LONGEST: Final = 4_000
_STEPS: Final = 8
# Fields that tell a person little, unless they are asked for.
_LEFT_OUT: Final = frozenset({"snippet", "modified", "id", "excerpt"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Clarification:
    """What a tool asks back, and between which options. `key` is the tool and the question that it was asked."""

    question: str
    options: Sequence[str] = ()
    key: tuple[str, str] = ("", "")


def read_clarification(text: str) -> Clarification | None:
    """What a failed call asks back; None if it failed for another reason."""
    found = _CLARIFICATION.fullmatch(text)
    if found is None:
        return None
    options = [option.strip() for option in (found["options"] or "").split("; ") if option.strip()]
    return Clarification(question=found["question"].strip(), options=options)


def question(clarification: Clarification) -> str:
    """A question with its options, by number."""
    options = [f"{number}. {option}" for number, option in enumerate(clarification.options, 1)]
    return "\n".join([clarification.question, *options])


def described(found: Found, asked: Sequence[str]) -> str:
    """What was found, in a sentence: the fields that were asked for, or what it is."""
    if not found.fields:
        return _cut(found.text, _LONGEST)
    names = [name for name in wanted_fields(found, asked) if found.fields[name] != found.called]
    if names:
        said = " and ".join(f"the {_plain(name)} of {found.called} is {found.fields[name]}" for name in names[:3])
        return f"{said[0].upper()}{said[1:]}."
    rest = [
        f"{_plain(name)} {value}"
        for name, value in found.fields.items()
        if value != found.called and name not in _LEFT_OUT and len(value) <= _SHORT
    ]
    return f"{found.called}: {', '.join(rest)}." if rest else f"{found.called}."


def done(tool: str, arguments: Mapping[str, object], result: str) -> str:
    """That a deed was done, with what; or what it gave, if that is a text."""
    found = found_in(result)
    given = ", ".join(f"{name} {_shown(value)}" for name, value in arguments.items())
    if not found.fields and found.text.strip() not in ("", "null") and found.text == result:
        return f"{tool} ({given}) says:\n{_cut(result, _LONGEST)}"
    return f"Done by {tool}: {given}."


def failed(tool: str, text: str) -> str:
    """That a call failed, and why."""
    return f"{tool} did not work. {text.strip()}"


def told(text: str) -> str:
    """What a steering tool says."""
    return _cut(text, _LONGEST)


def noted(*, first: bool) -> str:
    """That something was taken note of; the first time, what that means."""
    if not first:
        return "Noted."
    return "Noted. I am no language model: what you tell me I only compare by its words with what you ask for next."


def honest(tools: Kit) -> str:
    """What this model is, and what it can do here."""
    can = []
    if tools.asks:
        can.append(f"look things up ({', '.join(ask.spec.name for ask in tools.asks)})")
    deeds = [deed.spec.name for deed in tools.deeds if tools.akin(deed) is None]
    if deeds:
        can.append(f"do what you tell me by its name ({', '.join(deeds)})")
    if tools.start is not None:
        can.append("start a task \u201cin the background\u201d")
    most = f"{', '.join(can[:-1])} and {can[-1]}" if len(can) > 1 else "".join(can)
    return f"I am no language model: I compare words. I can {most}." if can else _NOTHING


_NOTHING: Final = "I can only look things up and choose among them, and no tool is on offer for that."


def progress(section: Section | None) -> str:
    """What the last layer of a history has done so far."""
    entries = section.entries if section is not None else ()
    depth = max((entry.depth for entry in entries), default=0)
    steps = []
    for entry in entries:
        if entry.depth == depth and entry.deed in ("calls", "answers", "fails"):
            verb = {"calls": "called", "answers": "got", "fails": "failed with"}[entry.deed]
            name = f" {entry.name}" if entry.deed == "calls" else ""
            steps.append(f"{verb}{name} {_cut(' '.join(entry.text.split()), _SHORT)}")
    if not steps:
        return "Nothing has been done yet."
    return "So far: " + "; ".join(steps[-_STEPS:]) + "."


def _plain(name: str) -> str:
    return " ".join(terms(name)) or name


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_shown, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}\u2026"
