"""Budgets belong to the tree: whatever a run starts, at any depth, spends from the same purse.

Rules:

- A budget is checked before something is started (a request, a child), and counted when it has happened. So it may be
  overrun by what is under way, never by something new.
- Tokens are those that providers report. Where one reports none, the estimate of what was sent and said counts, so
  that no model is free.
- What is spent is an error in words: a child's caller reads it like any failed call, and can answer with what it has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from host.conversation import estimated_tokens
from host.errors import CapabilityError
from host.models.port import Reply, Request

__all__ = ["Budget", "BudgetSpent", "Purse"]


class BudgetSpent(CapabilityError):
    """The run has used up what it may use. Answer with what is there; nothing new can be started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What one tree may use. None is no bound. `depth` counts layers below the first loop, `children` all loops below
    it, `seconds` is wall time from the first loop's start.
    """

    tokens: int | None = 5_000_000
    model_calls: int | None = 1_000
    children: int | None = 500
    depth: int | None = 8
    seconds: float | None = None

    def __post_init__(self) -> None:
        for name in ("tokens", "model_calls", "children", "depth", "seconds"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or value < 0):
                raise ValueError(f"a budget's {name} is a number from 0, or None for no bound, not {value!r}")


class Purse:
    """What is left of a budget. One per tree."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.tokens = 0
        self.model_calls = 0
        self.children = 0

    def ask(self) -> None:
        """One more request to a model is about to be sent. Raises BudgetSpent."""
        self._check("tokens", self.tokens, self.budget.tokens)
        self._check("requests to models", self.model_calls, self.budget.model_calls)
        self.model_calls += 1

    def spend(self, request: Request, reply: Reply) -> None:
        """Count what a reply cost."""
        self.tokens += reply.usage.total or _estimate(request, reply)

    def start_child(self, depth: int) -> None:
        """One more loop is about to start, `depth` layers below the first. Raises BudgetSpent."""
        most = self.budget.depth
        if most is not None and depth > most:
            raise BudgetSpent(
                f"This would be layer {depth} below the first, and the run may have {most}. Do this part yourself."
            )
        self._check("subtasks", self.children, self.budget.children)
        self.children += 1

    def _check(self, what: str, used: float, most: float | None) -> None:
        if most is not None and used >= most:
            raise BudgetSpent(f"The budget of this run is spent: {used:,} of {most:,} {what}. {_THEN}")

    def out_of_time(self) -> BudgetSpent:
        """The error for a run whose time is over."""
        return BudgetSpent(f"The time of this run is over: {self.budget.seconds:g} seconds. {_THEN}")


_THEN: Final = "Nothing new can be started: answer with what there is."
_MESSAGE: Final = 4  # tokens of a message's frame


def _estimate(request: Request, reply: Reply) -> int:
    said = sum(_MESSAGE + estimated_tokens(message.text) for message in request.messages)
    return estimated_tokens(request.system) + said + estimated_tokens(reply.text) + len(reply.calls) * _MESSAGE
