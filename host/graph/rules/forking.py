"""Forks that should have been made otherwise: a sequence, a trifle, or a long history paid once per branch.

A branch depends on a sibling if a sentence of its instructions names the sibling and says that something of it is
needed (English words: "after", "result" and their like, or "from" and "use" right before the name), unless the sentence
sets a border ("leave", "not"). It also does if it reads a file that a sibling writes, by the calls of both or by its
instructions; not if the caller had seen that file before it forked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from host.graph.rules.case import Case
from host.graph.rules.finding import Finding, Price, Rule
from host.graph.rules.pricing import dearer, history_of, kept_of, wasted
from host.graph.rules.subjects import files, is_work, writes
from host.graph.run import Branch, Fork, Run, Strand, Use
from host.record.cost import Work, cost_of
from host.spelling import fold, words

__all__ = ["FORK_SEQUENCE", "FORK_TRIFLE", "FORK_UNCACHED", "fork_sequence", "fork_trifle", "fork_uncached"]

FORK_SEQUENCE: Final = Rule(
    id="fork.sequence",
    severity="error",
    title="a sequence was forked",
    sign="a branch's instructions name a sibling's result, or it reads a file that a sibling writes",
)
FORK_TRIFLE: Final = Rule(
    id="fork.trifle",
    severity="warning",
    title="a delegation that cost more than it saved",
    sign="a fork of one branch, which made one or two calls",
)
FORK_UNCACHED: Final = Rule(
    id="fork.uncached",
    severity="warning",
    title="a long history paid uncached, once for each branch",
    sign="a wide fork to another agent under inherit, with a long history",
)
_SENTENCE: Final = re.compile(r"(?<=[.!?;])\s+|\n+")
_NEEDS: Final = frozenset(
    """
    after once wait waits waiting result results output outputs finding findings finished finishes returned returns
    based builds
    """.split()
)
_TAKES: Final = frozenset("from use uses using read reads take takes what".split())
_BETWEEN: Final = frozenset("the of branch".split())
_BORDER: Final = frozenset("not leave leaves dont never without except skip ignore avoid outside belongs".split())


def fork_sequence(case: Case) -> Iterator[Finding]:
    """`fork.sequence`."""
    for strand, use, fork in case.run.forks():
        before = _seen_before(strand, use)
        for branch in fork.branches:
            for sibling in fork.branches:
                if sibling is branch:
                    continue
                why = _needs(case.run, branch, sibling, before)
                if why is not None:
                    yield case.finding(
                        FORK_SEQUENCE,
                        strand,
                        use,
                        f"branch {branch.name} {why}, and branches run at once and see nothing of each other",
                        fix=f"the instructions of {use.agent}: steps that need one another stay with it",
                        expect=f"{sibling.name}, then {branch.name}, in the conversation of {use.agent}",
                        price=wasted(case.run, branch),
                    )
                    break


def _needs(run: Run, branch: Branch, sibling: Branch, before: frozenset[str]) -> str | None:
    if _names(branch.instructions, sibling.name):
        return f"is told to use what its sibling {sibling.name} brings"
    written = _written(run, sibling) - before
    read = _read(run, branch) | (files(branch.instructions) - _written(run, branch))
    if shared := sorted(written & read):
        return f"needs {shared[0]}, which its sibling {sibling.name} writes"
    return None


def _names(instructions: str, name: str) -> bool:
    """Whether a sentence says that something of the sibling of this name is needed: a word of need stands somewhere in
    it, or one of taking right before the name.
    """
    wanted = [fold(word) for word in words(name)]
    for sentence in _SENTENCE.split(instructions) if wanted else ():
        said = [fold(word).replace("'", "") for word in words(sentence)]
        if _BORDER.intersection(said):
            continue
        for place in range(len(said) - len(wanted) + 1):
            if said[place : place + len(wanted)] == wanted:
                before = [word for word in said[:place] if word not in _BETWEEN]
                rest = {*said[:place], *said[place + len(wanted) :]}
                if rest & _NEEDS or (before and before[-1] in _TAKES):
                    return True
    return False


def _written(run: Run, branch: Branch) -> frozenset[str]:
    uses = [use for strand in run.below(branch.loop) for use in strand.uses if writes(use.call)]
    return frozenset().union(*[files(use.call.arguments) for use in uses])


def _read(run: Run, branch: Branch) -> frozenset[str]:
    uses = [use for strand in run.below(branch.loop) for use in strand.uses if is_work(use)]
    return frozenset().union(*[files(use.call.arguments) for use in uses if not writes(use.call)])


def _seen_before(strand: Strand, fork: Use) -> frozenset[str]:
    """The files that the caller's own calls had shown it."""
    earlier = [use for use in strand.uses if use.at < fork.at and use.ended is not None]
    return frozenset().union(
        *[files(f"{use.call.arguments}\n{use.ended.text}") for use in earlier if use.ended is not None]
    )


def fork_trifle(case: Case) -> Iterator[Finding]:
    """`fork.trifle`."""
    for strand, use, fork in case.run.forks():
        if len(fork.branches) != 1 or fork.joined is None:
            continue
        (branch,) = fork.branches
        strands = case.run.below(branch.loop)
        calls = sum(each.loop.calls for each in strands)
        if 1 <= calls <= case.bounds.trifle:
            yield case.finding(
                FORK_TRIFLE,
                strand,
                use,
                f"the only branch, {branch.name}, made {calls} call{'' if calls == 1 else 's'}",
                fix=f"the instructions of {use.agent}: what takes a call or two is no work to hand on",
                expect=f"the call{'' if calls == 1 else 's'} made by {use.agent} itself",
                price=dearer(case.run, strand, use, fork, case.rates),
            )


def fork_uncached(case: Case) -> Iterator[Finding]:
    """`fork.uncached`."""
    for strand, use, fork in case.run.forks():
        others = [branch for branch in fork.branches if branch.agent != use.agent]
        history = history_of(strand, use)
        missed = [branch for branch in others if not _hit(case.run, branch, history)]
        if fork.mode != "inherit" or len(missed) < case.bounds.wide or history < case.bounds.long:
            continue
        agents = ", ".join(sorted({branch.agent for branch in missed}))
        yield case.finding(
            FORK_UNCACHED,
            strand,
            use,
            f"{len(missed)} branches on {agents} were each sent {history:,} tokens of history, of which no cache of"
            f" {use.agent} can serve anything",
            fix=f"the instructions of {use.agent}: `compact` or `none` for work on another agent",
            expect="fork (compact context) or fork (none context)",
            price=_uncached(case, strand, use, fork, len(missed)),
        )


def _hit(run: Run, branch: Branch, history: int) -> bool:
    """Whether a provider reported that most of the history came from a cache after all."""
    child = run.strands.get(branch.loop or "")
    first = None if child is None else child.first
    cached = None if first is None or first.replied is None else first.replied.reply.usage.cached
    return cached is not None and cached * 2 >= history


def _uncached(case: Case, strand: Strand, use: Use, fork: Fork, branches: int) -> Price:
    history = history_of(strand, use)
    work = Work(
        history=history,
        task=max(len(branch.instructions) // 4 for branch in fork.branches),
        kept=min(kept_of(strand, use), history),
        kept_start=0,
        children=branches,
    )
    prices, pace = case.rates.prices, case.rates.pace
    inherit = cost_of("quoted", work, prices=prices, pace=pace)
    compact = cost_of("compact", work, prices=prices, pace=pace)
    cold = cost_of("brief", work, prices=prices, pace=pace)
    spared = f"compact would have spared {inherit.fresh - compact.fresh:,} of them"
    return Price(
        tokens=inherit.fresh - cold.fresh,
        fresh=inherit.price - cold.price,
        basis=f"the history, once for each branch; {spared}",
    )
