"""On which terms a tool takes the conversation: in which dialect a call says how much, what that is where it says
nothing (R6), and how much is passed at most.

What a tool declares for itself counts before what its class declares. The class's words are of the class's dialect, so
they say nothing for a tool that speaks another one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, Self

from guest_stdlib.declared import Context, Option, Words
from host.context import DIALECTS, FORK, ContextChoice, Dialect
from host.context.dialects import dialect_of
from host.errors import CapabilityDefinitionError

__all__ = ["PLAIN", "Chosen", "Stated", "Terms"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A choice that somebody made, and how it was said: the word, or the choice in words where there are several."""

    choice: ContextChoice
    said: str

    @classmethod
    def of(cls, choice: ContextChoice | Context) -> Self:
        """A choice that stands for itself. Raises ValueError for a word other than "fork" and "cold"."""
        if not isinstance(choice, ContextChoice):
            choice = ContextChoice.parse(choice)
        return cls(choice=choice, said=str(choice))


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """What a class or a tool declares, as it was written: nothing of it is checked yet."""

    dialect: object = None
    words: Mapping[str, object] = field(default_factory=dict)
    max_turns: int | None = None
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The terms of one tool. `defaults` are words for all arguments of the dialect, `default` is what they mean.

    `max_turns` and `max_tokens` bound what is passed as in `ContextChoice`; None leaves that to the dialect. `whole` is
    all that the tool ever takes, `options` are the arguments as they are declared to callers, and `offered` all that a
    call may say, with the argument's name before each where there are several.
    """

    dialect: Dialect
    defaults: Words
    max_turns: int | None = None
    max_tokens: int | None = None
    whole: ContextChoice = field(init=False)
    default: ContextChoice = field(init=False)
    options: tuple[Option, ...] = field(init=False)
    offered: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "whole", self._bounded(FORK))
        object.__setattr__(self, "default", self._bounded(self.dialect.means(**self.defaults)))
        options = (
            Option(
                name=argument.name,
                words=argument.words,
                least=argument.least,
                most=argument.most,
                default=self.defaults[argument.name],
            )
            for argument in self.dialect.arguments
        )
        object.__setattr__(self, "options", tuple(options))
        object.__setattr__(self, "offered", tuple(self._sayings()))

    @classmethod
    def of(cls, where: str, own: Stated | None, of_class: Stated) -> Self:
        """The terms of the tool at `where`, or of a class. Raises CapabilityDefinitionError for what means nothing."""
        try:
            dialect = dialect_of(of_class.dialect)
            words = dialect.checked(of_class.words)
        except (TypeError, ValueError) as error:
            raise CapabilityDefinitionError(f"{where.partition('.')[0]}.{error}.") from error
        own = own or of_class
        try:
            if own.dialect is not None and (spoken := dialect_of(own.dialect)) is not dialect:
                dialect, words = spoken, {}
            return cls(
                dialect=dialect,
                defaults={**dialect.defaults, **words, **dialect.checked(own.words)},
                max_turns=own.max_turns,
                max_tokens=own.max_tokens,
            )
        except (TypeError, ValueError) as error:
            raise CapabilityDefinitionError(f"{where}: @delegates: {error}.") from error

    def read(self, said: Mapping[str, object]) -> Chosen | None:
        """The choice that a call's words mean, None where it has none. Raises TypeError for a word that has no place
        here, ValueError for one that is not known, with those that are.
        """
        if not said:
            return None
        words = {**self.defaults, **self.dialect.checked(said)}
        choice = self._bounded(self.dialect.means(**words))
        only = next(iter(words.values())) if len(words) == 1 else choice
        return Chosen(choice=choice, said=str(only))

    def text(self, name: str) -> str:
        """What an argument means, and what leaving it out means here."""
        argument = next(argument for argument in self.dialect.arguments if argument.name == name)
        return argument.text(self.defaults[name])

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the arguments."""
        return tuple(option.name for option in self.options)

    @property
    def saying_nothing(self) -> str | None:
        """How a call says that nothing is passed on: `context="cold"`. None where it cannot."""
        for option in self.options:
            for word in option.words:
                if self.dialect.means(**{**self.defaults, option.name: word}).is_cold:
                    return f'{option.name}="{word}"'
        return None

    def _sayings(self) -> Iterator[str]:
        several = len(self.options) > 1
        for option in self.options:
            for word in option.words or ("a number",):
                yield f"{option.name}: {word}" if several else word

    def _bounded(self, choice: ContextChoice) -> ContextChoice:
        if choice.is_cold:
            return choice
        if self.max_turns is not None:
            choice = replace(choice, max_turns=self.max_turns)
        return choice if self.max_tokens is None else replace(choice, max_tokens=self.max_tokens)


def _plain(default: Context) -> Terms:
    return Terms(dialect=DIALECTS["choice"], defaults={"context": default})


PLAIN: Final[Mapping[Context, Terms]] = MappingProxyType({"fork": _plain("fork"), "cold": _plain("cold")})
"""The terms of what is no capability's tool, such as starting a task."""
