"""How much of a conversation a child gets: one value, whatever words it was chosen in.

`ContextChoice` has three independent sides: how deep (`none`, the `recent` turns, `all`), how many turns `recent`
means, and which content (`conversation`: the words of user and assistant; `agents`: results of delegations too;
`full`: every result). Beside them stand two bounds that belong to whoever offers the choice: how many turns may be
asked for, and how many tokens may be passed at all. `window` says what all of that means for a history.

The words that tools offer are dialects of it: see `dialects`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, get_args

if TYPE_CHECKING:
    from host.context.dialects import Dialect

__all__ = ["COLD", "COMPACT", "FORK", "ContextChoice", "Depth", "Scope"]

Depth = Literal["none", "recent", "all"]
Scope = Literal["conversation", "agents", "full"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextChoice:
    """What a child is to inherit. `turns` counts exchanges, from a person's message to the answer, for `recent`.

    `max_turns` bounds a requested number of turns, and not `all`; `max_tokens` bounds everything, None leaves it open.
    """

    depth: Depth = "recent"
    turns: int = 5
    scope: Scope = "conversation"
    max_turns: int = 10
    max_tokens: int | None = None

    def __post_init__(self) -> None:
        if self.depth not in get_args(Depth):
            raise ValueError(f"depth is one of {', '.join(get_args(Depth))}, not {self.depth!r}")
        if self.scope not in get_args(Scope):
            raise ValueError(f"scope is one of {', '.join(get_args(Scope))}, not {self.scope!r}")
        if type(self.turns) is not int or self.turns < 1:
            raise ValueError(f"turns is a positive number of exchanges, not {self.turns!r}")
        if type(self.max_turns) is not int or self.max_turns < 1:
            raise ValueError(f"max_turns is a positive number of exchanges, not {self.max_turns!r}")
        if self.max_tokens is not None and (type(self.max_tokens) is not int or self.max_tokens < 1):
            raise ValueError(f"max_tokens is a positive number of tokens or None, not {self.max_tokens!r}")

    @classmethod
    def parse(cls, said: object, *, dialect: str | Dialect = "choice") -> ContextChoice:
        """The choice that a tool's word means, or its arguments by name. Raises ValueError with the known words."""
        from host.context.dialects import dialect_of  # which are made of choices

        return dialect_of(dialect).parse(said)

    @property
    def is_cold(self) -> bool:
        """Whether nothing is passed, whatever turns and scope say."""
        return self.depth == "none"

    @property
    def is_whole(self) -> bool:
        """Whether everything is passed."""
        return self.depth == "all" and self.scope == "full" and self.max_tokens is None

    @property
    def exchanges(self) -> int | None:
        """How many turns are passed at most; None for as many as there are."""
        return min(self.turns, self.max_turns) if self.depth == "recent" else None

    def __str__(self) -> str:
        if self.is_cold:
            return "cold"
        bound = "" if self.max_tokens is None else f", at most {self.max_tokens} tokens"
        if self.depth == "all" and self.scope in _WHOLE:
            return f"{_WHOLE[self.scope]}{bound}"
        turns = "" if self.depth == "all" else f" {self.turns} turns"
        if self.exchanges not in (None, self.turns):
            turns += f" (bounded to {self.exchanges})"
        return f"{self.depth}{turns}, {self.scope}{bound}"


FORK: Final = ContextChoice(depth="all", scope="full")
COLD: Final = ContextChoice(depth="none", scope="full")
COMPACT: Final = ContextChoice(depth="all", scope="agents")

_WHOLE: Final[Mapping[Scope, str]] = {"full": "fork", "agents": "compact"}
