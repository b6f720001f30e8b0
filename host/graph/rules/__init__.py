"""The rules by which a recorded run is judged: did work go where it should, by the cheapest way that suffices?

    for finding in lint(record.events):
        print(finding.message, finding.fix)

There are thirteen findings. Each names the place in the run, where the fix goes, what the next run should show instead,
and what it cost. They are told from signs, and signs can mislead: which, each rule's file says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from host.events import Event
from host.graph.reading import read_run
from host.graph.rules.case import Bounds, Case
from host.graph.rules.fanning import (
    DELEGATION_MISSED,
    FANOUT_MISSED,
    FANOUT_UNAVAILABLE,
    delegation_missed,
    fanout,
)
from host.graph.rules.finding import Finding, Price, Rule, Severity
from host.graph.rules.forking import (
    FORK_SEQUENCE,
    FORK_TRIFLE,
    FORK_UNCACHED,
    fork_sequence,
    fork_trifle,
    fork_uncached,
)
from host.graph.rules.handing import (
    HANDOFF_EARLY,
    HANDOFF_FOR_ANSWER,
    HANDOFF_LOOP,
    handoff_early,
    handoff_for_answer,
    handoff_loop,
)
from host.graph.rules.joining import (
    BRANCH_FAILED,
    BRANCH_OVERLAP,
    BRANCH_UNEVEN,
    JOIN_REPEATED,
    branch_failed,
    branch_overlap,
    branch_uneven,
    join_repeated,
)
from host.graph.rules.pricing import Rates

__all__ = ["RULES", "Bounds", "Finding", "Price", "Rates", "Rule", "Severity", "lint"]

RULES: Final[tuple[Rule, ...]] = (
    FANOUT_MISSED,
    FANOUT_UNAVAILABLE,
    FORK_SEQUENCE,
    FORK_TRIFLE,
    JOIN_REPEATED,
    BRANCH_FAILED,
    BRANCH_UNEVEN,
    BRANCH_OVERLAP,
    FORK_UNCACHED,
    HANDOFF_EARLY,
    HANDOFF_LOOP,
    HANDOFF_FOR_ANSWER,
    DELEGATION_MISSED,
)
_FINDERS: Final[tuple[Callable[[Case], Iterator[Finding]], ...]] = (
    fanout,
    fork_sequence,
    fork_trifle,
    join_repeated,
    branch_failed,
    branch_uneven,
    branch_overlap,
    fork_uncached,
    handoff_early,
    handoff_loop,
    handoff_for_answer,
    delegation_missed,
)


def lint(
    events: Iterable[Event],
    *,
    rates: Rates | None = None,
    bounds: Bounds | None = None,
    agents: Mapping[str, str] | None = None,
    unknown: frozenset[str] = frozenset(),
    offers: Mapping[str, tuple[str, ...]] | None = None,
) -> tuple[Finding, ...]:
    """What is to be said about a run, in the order in which it happened.

    `rates` and `bounds` replace the assumptions about prices and about what is much. `agents` describes agents by name
    that were there beside those that the run's tools name. `unknown` names what the record does not say, as a trace of
    others may not, and `offers` the tools of agents whose requests are not in it (`host.record.foreign.Trace`).
    """
    case = Case(
        run=read_run(events),
        rates=rates or Rates(),
        bounds=bounds or Bounds(),
        agents=agents or {},
        unknown=unknown,
        offers=offers or {},
    )
    order = {rule.id: number for number, rule in enumerate(RULES)}
    found = [finding for find in _FINDERS for finding in find(case)]
    return tuple(sorted(found, key=lambda finding: (finding.at, order[finding.rule.id])))
