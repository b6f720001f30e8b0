"""The words by which tools offer the choice of context: dialects of one value, `ContextChoice`.

A tool that takes the conversation has arguments for how much of it a call passes on. Which arguments these are is its
dialect; whatever is said in any of them becomes a `ContextChoice`, and nothing behind that knows the words. The four
here are `choice` (fork or cold), `modes` (inherit, compact or none), `window` (its three sides, each by itself) and
`isolation` (forked or isolated).

A new one is a few lines: one more `spoken` or `Dialect`. It need not stand in this file. Wherever a dialect is named a
`Dialect` of one's own will do, so that no list must be added to, and no two programs can get in each other's way:

    BRIEFED = spoken("briefed", {"all": FORK, "talk": ContextChoice(depth="all"), "nothing": COLD}, says="what ...")

    class Desk(Capability):
        dialect = BRIEFED

- Each argument has a default of the dialect's own. A tool may declare others (R6), and who calls may leave any out.
- A word that is none of an argument's is refused with the list of those that are (R11).
- `says` is read by models. It tells when to pass what, and goes on a sentence that begins with the argument's name.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType
from typing import Final

from guest_stdlib.declared import Option, Words
from host.context.choice import COLD, COMPACT, FORK, ContextChoice

__all__ = ["DIALECTS", "Argument", "Dialect", "dialect_of", "spoken"]

_WORD: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument(Option):
    """One argument of a dialect: an `Option` and what it means, for models."""

    says: str = ""

    def __post_init__(self) -> None:
        if not self.name.isidentifier() or self.name.startswith("_") or keyword.iskeyword(self.name):
            raise ValueError(f"{self.name!r} is no name for an argument")
        for word in self.words:
            if _WORD.fullmatch(word) is None:
                raise ValueError(f"{self.name}: {word!r} is no word that a call could say")
        if self.taken(self.default) is None:
            raise ValueError(f"the default of {self.name} {self.refusal(self.default)}")

    def text(self, default: str | int | None = None) -> str:
        """What it means, and what leaving it out means, if that is given."""
        text = f"{self.says[:1].upper()}{self.says[1:]}"
        if default is None:
            return text
        return f"{text} Left out: {f'"{default}"' if self.words else default}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """A way to say how much of a conversation is passed on. `means` makes the choice of all arguments, by name.

    One that cannot be spoken cannot be made: without arguments, with two of one name, or if some words mean nothing.
    """

    name: str
    arguments: tuple[Argument, ...]
    means: Callable[..., ContextChoice]

    def __post_init__(self) -> None:
        names = [argument.name for argument in self.arguments]
        if not names or len(set(names)) < len(names):
            raise ValueError(f"the dialect {self.name!r} has arguments, each with a name of its own")
        for words in self._sayings(1):
            if not isinstance(self.means(**words), ContextChoice):
                raise TypeError(f"the dialect {self.name!r} makes no ContextChoice of {words}")

    @property
    def defaults(self) -> dict[str, str | int]:
        """What is said where nothing is."""
        return {argument.name: argument.default for argument in self.arguments}

    def checked(self, said: Mapping[str, object]) -> Words:
        """What was said, each part exactly one of what may be.

        Raises TypeError for a name that is no argument's, ValueError for a word that is not known, with those that are.
        """
        known = {argument.name: argument for argument in self.arguments}
        words: dict[str, str | int] = {}
        for name, word in said.items():
            if name not in known:
                raise TypeError(f"there is no {name!r}; what to pass on is said by {', '.join(known)}")
            taken = known[name].taken(word)
            if taken is None:
                raise ValueError(f"{name} {known[name].refusal(word)}")
            words[name] = taken
        return words

    def parse(self, said: object) -> ContextChoice:
        """The choice that was meant: by arguments, or by a word where there is one argument. Raises as `checked`."""
        if not isinstance(said, Mapping):
            if len(self.arguments) > 1:
                raise ValueError(f"{self.name} has more than one argument: {', '.join(self.defaults)}")
            said = {self.arguments[0].name: said}
        return self.means(**{**self.defaults, **self.checked(said)})

    def say(self, choice: ContextChoice) -> Words | None:
        """What to say for a choice: the words that mean it, or None where this dialect has none."""
        return next((words for words in self._sayings(choice.turns) if _same(self.means(**words), choice)), None)

    def _sayings(self, number: int) -> Iterator[Words]:
        """All that can be said; where that is a number, only this one, or the default where it is out of bounds."""
        known = [
            argument.words or ((number if argument.taken(number) else argument.default),) for argument in self.arguments
        ]
        for words in product(*known):
            yield dict(zip(self.defaults, words, strict=True))


def _same(one: ContextChoice, other: ContextChoice) -> bool:
    """Whether two choices ask for the same, whatever bounds a tool sets."""
    turns = one.turns if one.depth == "recent" else other.turns
    return one.depth == other.depth and (one.is_cold or (one.scope == other.scope and turns == other.turns))


def spoken(
    name: str,
    words: Mapping[str, ContextChoice],
    *,
    says: str,
    argument: str = "context",
    default: str | None = None,
) -> Dialect:
    """A dialect of one argument with these words. Left out it is the first of them, or `default`."""
    meant = MappingProxyType(dict(words))
    if not meant:
        raise ValueError(f"the dialect {name!r} has no words")
    only = Argument(name=argument, words=tuple(meant), default=default or next(iter(meant)), says=says)
    return Dialect(name=name, arguments=(only,), means=lambda **said: meant[said[argument]])


def dialect_of(named: object) -> Dialect:
    """The dialect of this name, or the given one itself. Raises ValueError with the known names."""
    if isinstance(named, Dialect):
        return named
    if isinstance(named, str) and named in DIALECTS:
        return DIALECTS[named]
    raise ValueError(f"dialect is {', '.join(map(repr, DIALECTS))} or a Dialect, not {named!r}")


# The dialects

_ALONE: Final = "the request alone, for one that says everything, such as a simple lookup or a web search"

_CHOICE: Final = spoken(
    "choice",
    {"fork": FORK, "cold": COLD},
    says=(
        'what the work of the call starts from. "fork": this conversation up to now, for a request that leans on it,'
        ' on names, files, wishes or decisions that the request itself does not say. "cold": the request alone, for one'
        " that says everything, such as a simple lookup or a web search."
    ),
)
_MODES: Final = spoken(
    "modes",
    {"inherit": FORK, "compact": COMPACT, "none": COLD},
    says=(
        'how much of this conversation the work of the call goes on from. "inherit": all of it, for work that cannot be'
        ' understood without the calls and results in it. "compact": what was said and what delegations brought,'
        " without other calls and results, for work that needs the plan and the decisions and not the way to them."
        f' "none": {_ALONE}.'
    ),
)
_WINDOW: Final = Dialect(
    name="window",
    arguments=(
        Argument(
            name="context_depth",
            words=("none", "recent", "all"),
            default="recent",
            says=(
                'how far back into this conversation the work of the call can see. "recent": its last exchanges, for'
                ' work that follows from what was just said. "all": to its beginning, for work that leans on names,'
                f' files, wishes or decisions from early on. "none": {_ALONE}.'
            ),
        ),
        Argument(
            name="context_turns",
            default=5,
            says=(
                'how many exchanges "recent" means. One goes from what a person says to the answer, whatever lies'
                " between. The tool may pass on fewer."
            ),
        ),
        Argument(
            name="context_scope",
            words=("conversation", "agents", "full"),
            default="conversation",
            says=(
                'what of it goes along. "conversation": the words of user and assistant. "agents": also what'
                ' delegations brought, for work that builds on them. "full": also the results of all other calls, for'
                " work that would otherwise read or search the same again."
            ),
        ),
    ),
    means=lambda context_depth, context_turns, context_scope: ContextChoice(
        depth=context_depth, turns=context_turns, scope=context_scope
    ),
)
_ISOLATION: Final = spoken(
    "isolation",
    {"forked": FORK, "isolated": COLD},
    says=(
        'whether the work of the call knows this conversation. "forked": it does, for a worker that carries on from it'
        ' and would otherwise gather the same again. "isolated": it knows the request alone, for a review or second'
        " opinion that must not be led by what was thought here, and for a request that says everything."
    ),
)

DIALECTS: Final[Mapping[str, Dialect]] = MappingProxyType(
    {dialect.name: dialect for dialect in (_CHOICE, _MODES, _WINDOW, _ISOLATION)}
)
