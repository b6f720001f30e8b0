"""How much of a conversation a child gets: one value, whatever words it was chosen in.

`ContextChoice` has three independent sides: how deep (`none`, the `recent` turns, `all`), how many turns `recent`
means, and which content (`conversation`: the words of user and assistant; `agents`: results of delegations too;
`full`: every result). The words that tools offer are dialects of it and live here: "fork" is all of everything, "cold"
is nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

__all__ = ["COLD", "FORK", "ContextChoice"]

Depth = Literal["none", "recent", "all"]
Scope = Literal["conversation", "agents", "full"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextChoice:
    """What a child is to inherit. `turns` counts exchanges, from a person's message to the answer, for `recent`."""

    depth: Depth = "recent"
    turns: int = 5
    scope: Scope = "conversation"

    def __post_init__(self) -> None:
        if self.depth not in get_args(Depth):
            raise ValueError(f"depth is one of {', '.join(get_args(Depth))}, not {self.depth!r}")
        if self.scope not in get_args(Scope):
            raise ValueError(f"scope is one of {', '.join(get_args(Scope))}, not {self.scope!r}")
        if type(self.turns) is not int or self.turns < 1:
            raise ValueError(f"turns is a positive number of exchanges, not {self.turns!r}")

    @classmethod
    def parse(cls, said: str) -> ContextChoice:
        """The choice that a tool's word stands for. Raises ValueError with the list of known words."""
        try:
            return _WORDS[said]
        except (KeyError, TypeError):
            known = " or ".join(f'"{word}"' for word in _WORDS)
            raise ValueError(f"context is {known}, not {said!r}") from None

    @property
    def is_cold(self) -> bool:
        """Whether nothing is passed, whatever turns and scope say."""
        return self.depth == "none"

    @property
    def is_whole(self) -> bool:
        """Whether everything is passed."""
        return self.depth == "all" and self.scope == "full"

    def __str__(self) -> str:
        word = next((word for word, choice in _WORDS.items() if choice == self), None)
        turns = f" {self.turns} turns" if self.depth == "recent" else ""
        return word or f"{self.depth}{turns}, {self.scope}"


FORK: Final = ContextChoice(depth="all", scope="full")
COLD: Final = ContextChoice(depth="none", scope="full")
_WORDS: Final[Mapping[str, ContextChoice]] = {"fork": FORK, "cold": COLD}
