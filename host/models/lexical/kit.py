"""The tools of a conversation by what they are for. Read from their names, descriptions and schemas alone.

- A tool *asks* if it needs exactly one text and hands the question on: it offers the choice of context, or is called
  "ask".
- `start_task`, `run_code`, `fork` and the tools that steer a task ("stop_LABEL") are known by their names.
- Every other tool is a *deed*, named by a verb. What a parameter stands for is said by its name, by its schema, and by
  the part of the tool's description that mentions it in backticks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from host.models.lexical.language import alike, is_function_word, stem, terms
from host.models.lexical.speech import RECIPIENT, STEER
from host.models.port import ToolSpec

__all__ = ["Ask", "Deed", "Kit", "Slot", "kit"]

_OWN: Final = ("start_task", "run_code", "fork", "answer", "clarify")
_FAMILY: Final = 0.4  # what a word counts that only other tools of the same capability use


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A tool that answers questions. `words` are those in which it speaks of itself, with what each counts."""

    spec: ToolSpec
    parameter: str
    words: Mapping[str, float]
    offers_cold: bool

    def fits(self, words: Iterable[str]) -> float:
        """How well these stems fit what the tool says of itself."""
        return sum(max((weight * alike(word, own) for own, weight in self.words.items()), default=0) for word in words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A parameter of a deed. `words` say what it stands for; `many` that it takes a list, `free` that it takes text."""

    name: str
    required: bool
    words: frozenset[str]
    many: bool
    free: bool

    @property
    def is_recipient(self) -> bool:
        """Whether it is by its name for whom something is done."""
        return not RECIPIENT.isdisjoint(terms(self.name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """A tool that does something. `verbs` are the words of its name, `words` those of its description."""

    spec: ToolSpec
    verbs: frozenset[str]
    words: frozenset[str]
    slots: tuple[Slot, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit:
    """All tools of a conversation. `steering` has, by the label of a running task, its tools by their verb."""

    asks: tuple[Ask, ...]
    deeds: tuple[Deed, ...]
    start: ToolSpec | None
    steering: Mapping[str, Mapping[str, ToolSpec]]

    def fitting(self, words: Sequence[str]) -> tuple[Ask, ...]:
        """The asking tools that fit these stems best; all of them where none fits better than the others."""
        fits = [ask.fits(words) for ask in self.asks]
        best = max(fits, default=0)
        return tuple(ask for ask, fit in zip(self.asks, fits, strict=True) if fit == best)

    def akin(self, deed: Deed) -> Ask | None:
        """The asking tool of the same capability."""
        family = _family(deed.spec)
        return next((ask for ask in self.asks if family and _family(ask.spec) == family), None)

    def for_slot(self, slot: Slot, deed: Deed) -> tuple[Ask, str] | None:
        """The asking tool that speaks of what a parameter stands for, and the word that says so.

        Where none does, that of the same capability, for a parameter that the deed cannot do without.
        """
        common = frozenset.intersection(*[frozenset(ask.words) for ask in self.asks]) if len(self.asks) > 1 else ()
        best: tuple[float, int, str] = (0.0, 0, "")
        for at, ask in enumerate(self.asks):
            for word in sorted(slot.words):
                weight = max((weight * alike(word, own) for own, weight in ask.words.items()), default=0)
                if word not in common and weight > best[0] and weight > _FAMILY:
                    best = (weight, at, word)
        if best[0]:
            return self.asks[best[1]], best[2]
        akin = self.akin(deed)
        return (akin, slot.name) if akin is not None and slot.required else None


def kit(tools: Sequence[ToolSpec]) -> Kit:
    """What the tools are for."""
    steering = _steering(tools)
    steers = {spec.name for each in steering.values() for spec in each.values()}
    start = next((tool for tool in tools if tool.name == "start_task"), None)
    rest = [tool for tool in tools if tool.name not in _OWN and tool.name not in steers]
    asking = [tool for tool in rest if _asks(tool)]
    return Kit(
        asks=tuple(_ask(tool, tools) for tool in asking),
        deeds=tuple(_deed(tool) for tool in rest if tool not in asking and properties(tool)),
        start=start,
        steering=steering,
    )


def properties(tool: ToolSpec) -> Mapping[str, object]:
    """The tool's parameters by name."""
    found = tool.parameters.get("properties")
    return found if isinstance(found, Mapping) else {}


def _required(tool: ToolSpec) -> list[str]:
    found = tool.parameters.get("required")
    return [str(name) for name in found] if isinstance(found, list | tuple) else []


def _needs_one_text(tool: ToolSpec) -> bool:
    required = _required(tool)
    return len(required) == 1 and _type(properties(tool).get(required[0])) == "string"


def _asks(tool: ToolSpec) -> bool:
    return _needs_one_text(tool) and (_offers_cold(tool) or terms(tool.name)[-1:] == ["ask"])


def _offers_cold(tool: ToolSpec) -> bool:
    choice = properties(tool).get("context")
    enum = choice.get("enum") if isinstance(choice, Mapping) else None
    return isinstance(enum, list | tuple) and "cold" in enum


def _type(described: object) -> str:
    return str(described.get("type", "")) if isinstance(described, Mapping) else ""


def _steering(tools: Sequence[ToolSpec]) -> dict[str, dict[str, ToolSpec]]:
    """By label. A task has all of the verbs, so a tool that merely begins with one is none of these."""
    found: dict[str, dict[str, ToolSpec]] = {}
    for tool in tools:
        verb, _, label = tool.name.partition("_")
        if verb in STEER and label:
            found.setdefault(label, {})[verb] = tool
    return {label: verbs for label, verbs in found.items() if len(verbs) == len(STEER)}


def _ask(tool: ToolSpec, tools: Sequence[ToolSpec]) -> Ask:
    family = _family(tool)
    akin = [other for other in tools if family and other.name.startswith(f"{family}_")]
    words = {word: _FAMILY for other in akin for word in _spoken(other)}
    words |= dict.fromkeys(_spoken(tool), 1.0)
    return Ask(spec=tool, parameter=_required(tool)[0], words=words, offers_cold=_offers_cold(tool))


def _family(tool: ToolSpec) -> str:
    return tool.name.rpartition("_")[0]


def _deed(tool: ToolSpec) -> Deed:
    required = _required(tool)
    slots = [
        Slot(
            name=name,
            required=name in required,
            words=frozenset(_stems(" ".join([name, _described(described), _about(name, tool.description)]))),
            many="array" in _types(described),
            free=bool({"string", "array", ""} & _types(described)),
        )
        for name, described in properties(tool).items()
        if name != "context"
    ]
    return Deed(
        spec=tool,
        verbs=frozenset(word for word in terms(tool.name) if not is_function_word(word)),
        words=frozenset(_stems(_without_errors(tool.description))),
        slots=tuple(slots),
    )


def _types(described: object) -> set[str]:
    """The types that a parameter takes."""
    if not isinstance(described, Mapping):
        return {""}
    either = described.get("anyOf")
    return {_type(each) for each in either} if isinstance(either, list | tuple) else {_type(described)}


def _described(described: object) -> str:
    return str(described.get("description", "")) if isinstance(described, Mapping) else ""


def _about(name: str, description: str) -> str:
    """The parts of a description that mention a parameter."""
    parts = re.split(r"[.;\n](?:\s|$)", description)
    return " ".join(part for part in parts if f"`{name}`" in part)


def _spoken(tool: ToolSpec) -> set[str]:
    described = [f"{name} {_described(each)}" for name, each in properties(tool).items() if name != "context"]
    return set(_stems(" ".join([tool.name, _without_errors(tool.description), *described])))


def _without_errors(description: str) -> str:
    """A description without what it says of failing: those words are of another matter."""
    return re.sub(r"\bRaises\b[^.]*\.", "", description)


def _stems(text: str) -> list[str]:
    return [stem(word) for word in terms(text) if not is_function_word(word)]
