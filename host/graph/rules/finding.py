"""What a rule finds in a run: where, what is wrong with it, where the fix goes, what the next run should show, and what
it cost.

Severities: an *error* puts the run's result in doubt, a *warning* means that more was paid than needed, and a *note* is
worth a look: its sign is weak, or what it costs is small.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["NOTHING", "Finding", "Price", "Rule", "Severity"]

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One of the rules. `title` names the finding, `sign` says by what it is told."""

    id: str
    severity: Severity
    title: str
    sign: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a finding cost. `tokens` are those sent for nothing, `fresh` what they are worth in fresh input tokens, and
    `seconds` the time. None is what it did not cost or what is not known; `basis` says how it was reckoned.
    """

    tokens: int | None = None
    fresh: float | None = None
    seconds: float | None = None
    basis: str = ""

    def __str__(self) -> str:
        said = []
        if self.seconds is not None and not math.isnan(self.seconds):
            said.append(f"{self.seconds:,.1f} s")
        if self.tokens is not None:
            said.append(f"about {self.tokens:,} tokens")
        if self.fresh is not None and self.tokens is not None and round(self.fresh) != self.tokens:
            said.append(f"worth {self.fresh:,.0f} fresh ones")
        priced = ", ".join(said) or "not known"
        return f"{priced} ({self.basis})" if self.basis else priced


NOTHING: Final = Price()


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One finding. `at` is the place of the event that it is about among the run's, from 0, and `node` names the same
    place as the graph does. `causes` are the cheap causes that the record shows or rules out.
    """

    rule: Rule
    loop: str
    agent: str
    at: int
    node: str
    message: str
    fix: str
    expect: str
    price: Price = NOTHING
    causes: tuple[str, ...] = ()
