"""Who decides what a delegated call starts from, and how the choice is described to a model.

The order, strongest first: a run that was itself started cold has nothing to pass on (R58); the policy of the loop,
`always` or `never` (R7); what the call says; the tool's own default (R6). Under a policy that decides, the choice is
not offered (R8). `always` passes on all that the tool ever takes, so a bound on its tokens holds there too.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Literal

from guest_stdlib.declared import Context
from host.capability._terms import PLAIN, Chosen, Terms
from host.context import COLD, DIALECTS, ContextChoice, Inherited, Passed

__all__ = ["POLICIES", "Chooser", "Delegation", "Heritage", "Policy", "choice_text"]

Policy = Literal["model", "always", "never"]
Chooser = Literal["run", "policy", "call", "default"]

POLICIES: Final = ("model", "always", "never")


@dataclass(frozen=True, slots=True, kw_only=True)
class Delegation:
    """One delegated call, as it is recorded before it is made: which method, what it started from, who decided, what
    was passed.

    `context` is "cold" where nothing is passed on, else "fork"; `choice` says how much. `requested` is what the call
    said, in the words of the tool's dialect ("inherit", "recent 3 turns, agents"), None where it said nothing, and
    `offered` are the words that it could say. `chooser`: "run" (it was started cold), "policy" (of the loop), "call",
    or "default" (of the tool). `inherited` is the very value that the method received. `id` is new for each. `call` is
    the number of the call in its session, None for a call that came from no sandbox. `rerun` says that a waiting call
    was made with the choice of whoever repeats the run: `requested` is that choice then, and `chooser` is "call".
    """

    path: str
    context: Context
    chooser: Chooser
    requested: str | None
    inherited: Inherited
    offered: tuple[str, ...] = ()
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    call: int | None = None
    rerun: bool = False

    @property
    def choice(self) -> ContextChoice:
        """How much was passed on."""
        return self.inherited.choice

    @property
    def passed(self) -> Passed:
        """The record of what was passed: ids, sizes, and why nothing if a fork had nothing to inherit."""
        return self.inherited.record(chooser=self.chooser)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heritage:
    """What the delegating calls of one run pass on, and by which rule.

    `source` is the tree as it stands, or a function that gives it: each call takes its own snapshot, at once. None is
    for a run without a conversation, where only a cold call is possible. `cold` says that the run itself was started
    cold. `record` is told of each delegation, before it is made.
    """

    source: Inherited | Callable[[], Inherited] | None
    policy: Policy = "model"
    cold: bool = False
    record: Callable[[Delegation], None] | None = None

    def __post_init__(self) -> None:
        if self.policy not in POLICIES:
            raise ValueError(f"policy is one of {', '.join(POLICIES)}, not {self.policy!r}")

    def pass_on(self, path: str, requested: ContextChoice | Context | None, *, default: Context) -> Inherited:
        """What a call of `path` receives, recorded, for what is no capability's tool. LookupError where it would fork
        and there is no conversation at all.
        """
        chosen = None if requested is None else Chosen.of(requested)
        return self.delegate(path, chosen, terms=PLAIN[default]).inherited

    def delegate(
        self, path: str, chosen: Chosen | None, *, terms: Terms, call: int | None = None, rerun: bool = False
    ) -> Delegation:
        """The same, on the terms of a tool and with the whole record. The choice of a `rerun` counts whatever the
        policy.
        """
        snapshot = Inherited.cold() if self.cold else self.source() if callable(self.source) else self.source
        run_is_cold = snapshot is not None and snapshot.is_cold
        policy: Policy = "model" if rerun else self.policy
        choice, chooser = _decide(chosen, terms=terms, policy=policy, cold=run_is_cold)
        if choice.is_cold:
            inherited = Inherited.cold()
        elif snapshot is None:
            advice = f" Say {terms.saying_nothing}." if terms.saying_nothing else ""
            raise LookupError(f"{path}: there is no conversation here that it could receive.{advice}")
        else:
            inherited = snapshot if snapshot.choice == choice else snapshot.choose(choice)
        delegation = Delegation(
            path=path,
            context="cold" if choice.is_cold else "fork",
            chooser=chooser,
            requested=None if chosen is None else chosen.said,
            inherited=inherited,
            offered=terms.offered if self.policy == "model" else (),
            call=call,
            rerun=rerun,
        )
        if self.record is not None:
            self.record(delegation)
        return delegation


def _decide(chosen: Chosen | None, *, terms: Terms, policy: Policy, cold: bool) -> tuple[ContextChoice, Chooser]:
    if cold:
        return COLD, "run"
    if policy == "always":
        return terms.whole, "policy"
    if policy == "never":
        return COLD, "policy"
    if chosen is not None:
        return chosen.choice, "call"
    return terms.default, "default"


def choice_text(default: Context | None = None) -> str:
    """The description of the choice between fork and cold that a model reads, with the default if one is given."""
    return DIALECTS["choice"].arguments[0].text(default)
