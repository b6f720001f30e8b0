"""What the branches of a fork came to: work done twice, failures, and one that all others wait for.

Two calls are the same if tool and arguments are (`subjects.same`). A call about a file that a branch has written is no
repetition: files are how branches hand over more than an answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Final

from host.graph.rules.case import Case
from host.graph.rules.finding import Finding, Price, Rule
from host.graph.rules.pricing import repeated, wasted
from host.graph.rules.subjects import files, is_work, same, writes
from host.graph.run import Branch, Run, Use

__all__ = [
    "BRANCH_FAILED",
    "BRANCH_OVERLAP",
    "BRANCH_UNEVEN",
    "JOIN_REPEATED",
    "branch_failed",
    "branch_overlap",
    "branch_uneven",
    "join_repeated",
]

JOIN_REPEATED: Final = Rule(
    id="join.repeated",
    severity="warning",
    title="a branch was not told what to return",
    sign="after the join, the caller repeats calls that a branch had made",
)
BRANCH_FAILED: Final = Rule(
    id="branch.failed",
    severity="error",
    title="an assignment that lacked a fact which the branch could not ask for",
    sign="a branch that is not ok",
)
BRANCH_UNEVEN: Final = Rule(
    id="branch.uneven",
    severity="note",
    title="an uneven division",
    sign="the slowest branch is far behind its siblings",
)
BRANCH_OVERLAP: Final = Rule(
    id="branch.overlap",
    severity="warning",
    title="an overlap that was paid for twice",
    sign="two branches made the same calls on the same subjects",
)


def join_repeated(case: Case) -> Iterator[Finding]:
    """`join.repeated`."""
    for strand, use, fork in case.run.forks():
        if fork.joined is None or fork.joined_at is None:
            continue
        made: dict[tuple[str, str], Branch] = {}
        written: set[str] = set()
        for branch in fork.branches:
            for each in _work(case.run, branch):
                made.setdefault(same(each.call), branch)
                written |= files(each.call.arguments) if writes(each.call) else set()
        again = [
            each
            for each in strand.uses
            if each.at > fork.joined_at
            and is_work(each)
            and same(each.call) in made
            and not files(each.call.arguments) & written
        ]
        if again:
            names = sorted({made[same(each.call)].name for each in again})
            yield case.finding(
                JOIN_REPEATED,
                strand,
                again[0],
                f"after the join {again[0].agent} repeated {_counted(len(again), 'call')} that {_branches(names)} had"
                f" made: {', '.join(sorted({each.call.name for each in again}))}",
                fix=f"the instructions of {use.agent}: say what each branch must return",
                expect="no such call after the join",
                price=repeated(again, [strand]),
            )


def branch_failed(case: Case) -> Iterator[Finding]:
    """`branch.failed`."""
    for strand, use, fork in case.run.forks():
        for branch in fork.branches:
            if branch.status not in ("ok", "running"):
                said = " ".join(branch.text.split())
                yield case.finding(
                    BRANCH_FAILED,
                    strand,
                    use,
                    f"branch {branch.name} ended as {branch.status}"
                    + (f": {said[:120]}{'…' if len(said) > 120 else ''}" if said else ""),
                    fix=f"the instructions of {use.agent}: write into the assignment what the branch cannot ask for",
                    expect=f"branch {branch.name} ok",
                    price=wasted(case.run, branch),
                )


def branch_uneven(case: Case) -> Iterator[Finding]:
    """`branch.uneven`."""
    for strand, use, fork in case.run.forks():
        ordered = sorted(fork.branches, key=lambda branch: -branch.seconds)
        if len(ordered) < 2 or any(math.isnan(branch.seconds) for branch in ordered):
            continue
        slowest, following = ordered[:2]
        behind = slowest.seconds - following.seconds
        if slowest.seconds >= case.bounds.uneven * following.seconds and behind >= case.bounds.apart:
            yield case.finding(
                BRANCH_UNEVEN,
                strand,
                use,
                f"branch {slowest.name} took {slowest.seconds:,.1f} s, its siblings at most {following.seconds:,.1f} s",
                fix=f"the instructions of {use.agent}: split the part of {slowest.name}",
                expect="branches that take about as long as each other",
                price=Price(seconds=behind, basis="for which only the slowest branch was at work"),
            )


def branch_overlap(case: Case) -> Iterator[Finding]:
    """`branch.overlap`."""
    for strand, use, fork in case.run.forks():
        calls = {branch.name: _calls(case.run, branch) for branch in fork.branches}
        for one, other in combinations(fork.branches, 2):
            mine, theirs = calls[one.name], calls[other.name]
            both = mine.keys() & theirs.keys()
            if len(both) < case.bounds.shared or 2 * len(both) < min(len(mine), len(theirs)):
                continue
            twice = [theirs[each] for each in sorted(both)]
            yield case.finding(
                BRANCH_OVERLAP,
                strand,
                use,
                f"branches {one.name} and {other.name} made {len(both)} calls both alike, of"
                f" {len(mine)} and {len(theirs)}",
                fix=f"the instructions of {use.agent}: divide by subject",
                expect="branches that share no subject",
                price=repeated(twice, case.run.below(other.loop)),
            )


def _work(run: Run, branch: Branch) -> Iterator[Use]:
    for strand in run.below(branch.loop):
        yield from (use for use in strand.uses if is_work(use))


def _calls(run: Run, branch: Branch) -> Mapping[tuple[str, str], Use]:
    return {same(use.call): use for use in _work(run, branch)}


def _branches(names: list[str]) -> str:
    return f"branch{'' if len(names) == 1 else 'es'} {', '.join(names)}"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
