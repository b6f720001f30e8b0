"""Who decides what a delegated call starts from, and how the choice is described to a model.

The order, strongest first: a run that was itself started cold has nothing to pass on (R58); the policy of the loop,
`always` or `never` (R7); what the call says; the tool's own default (R6). Under a policy that decides, the choice is
not offered (R8).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Literal

from guest_stdlib.declared import Context
from host.context import Inherited, Passed

__all__ = ["POLICIES", "Chooser", "Delegation", "Heritage", "Policy", "choice_text"]

Policy = Literal["model", "always", "never"]
Chooser = Literal["run", "policy", "call", "default"]

POLICIES: Final = ("model", "always", "never")


@dataclass(frozen=True, slots=True, kw_only=True)
class Delegation:
    """One delegated call, as it is recorded before it is made: which method, what it started from, who decided, what
    was passed.

    `requested` is what the call said, None where it said nothing. `chooser`: "run" (it was started cold), "policy"
    (of the loop), "call", or "default" (of the tool). `inherited` is the very value that the method received. `id` is
    new for each. `call` is the number of the call in its session, None for a call that came from no sandbox. `rerun`
    says that a waiting call was made with the choice of whoever repeats the run: `requested` is that choice then,
    and `chooser` is "call".
    """

    path: str
    context: Context
    chooser: Chooser
    requested: Context | None
    inherited: Inherited
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    call: int | None = None
    rerun: bool = False

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

    def pass_on(self, path: str, requested: Context | None, *, default: Context) -> Inherited:
        """What a call of `path` receives, recorded. LookupError where it would fork and there is no conversation at
        all.
        """
        return self.delegate(path, requested, default=default).inherited

    def delegate(
        self, path: str, requested: Context | None, *, default: Context, call: int | None = None, rerun: bool = False
    ) -> Delegation:
        """The same, with the whole record. The choice of a `rerun` counts whatever the policy."""
        snapshot = Inherited.cold() if self.cold else self.source() if callable(self.source) else self.source
        run_is_cold = snapshot is not None and snapshot.is_cold
        policy: Policy = "model" if rerun else self.policy
        context, chooser = _decide(requested, default=default, policy=policy, cold=run_is_cold)
        if context == "cold":
            snapshot = Inherited.cold()
        elif snapshot is None:
            raise LookupError(f'{path}: there is no conversation here that it could receive. Say context="cold".')
        delegation = Delegation(
            path=path,
            context=context,
            chooser=chooser,
            requested=requested,
            inherited=snapshot,
            call=call,
            rerun=rerun,
        )
        if self.record is not None:
            self.record(delegation)
        return delegation


def _decide(requested: Context | None, *, default: Context, policy: Policy, cold: bool) -> tuple[Context, Chooser]:
    if cold:
        return "cold", "run"
    if policy == "always":
        return "fork", "policy"
    if policy == "never":
        return "cold", "policy"
    if requested is not None:
        return requested, "call"
    return default, "default"


def choice_text(default: Context | None = None) -> str:
    """The description of the choice that a model reads, with the default if one is given."""
    text = (
        'What the work of the call starts from. "fork": this conversation up to now, for a request that leans on it,'
        ' on names, files, wishes or decisions that the request itself does not say. "cold": the request alone, for one'
        " that says everything, such as a simple lookup or a web search."
    )
    return text if default is None else f'{text} Left out: "{default}".'
