"""Work that was done one piece after the other and could have been done at once, and work that a specialist was there
for.

A series is a row of replies of one agent, in one turn, each with exactly one call that is work, in which no call draws
on what an earlier one of the row brought. It is a list of like parts if enough of its calls are of one tool, each with
arguments of its own; not if that tool takes a list itself, for then the list should go into one call.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from typing import Final

from host.graph.rules.case import FORK, Case, fork_agents, forking, specialists
from host.graph.rules.finding import Finding, Rule
from host.graph.rules.pricing import repeated, serial
from host.graph.rules.subjects import draws_on, heard, is_work, same, words_in
from host.graph.run import Strand, Use
from host.models.lexical.language import COMMON
from host.record.telling import words_of
from host.spelling import FUNCTION_WORDS

__all__ = ["DELEGATION_MISSED", "FANOUT_MISSED", "FANOUT_UNAVAILABLE", "delegation_missed", "fanout"]

FANOUT_MISSED: Final = Rule(
    id="fanout.missed",
    severity="warning",
    title="a missed fan-out",
    sign="calls in series, none of which uses an earlier result, by an agent that could fork",
)
FANOUT_UNAVAILABLE: Final = Rule(
    id="fanout.unavailable",
    severity="warning",
    title="a missed fan-out, by an agent that cannot fork",
    sign="calls in series, none of which uses an earlier result, by an agent without the tool to fork",
)
DELEGATION_MISSED: Final = Rule(
    id="delegation.missed",
    severity="note",
    title="a specialist's job done by another agent",
    sign="several calls in the field of a specialist who could have been given the work, and never was",
)
_SHORTEST: Final = 4


def fanout(case: Case) -> Iterator[Finding]:
    """`fanout.missed` and `fanout.unavailable`."""
    for strand in case.run.strands.values():
        for row in _rows(strand):
            uses = _alike(row)
            ask = case.asked(strand, row[0])
            tools = case.tools(ask)
            if len(uses) < case.bounds.series or _takes_a_list(tools, uses[0]):
                continue
            agent, tool = uses[0].agent, uses[0].call.name
            message = (
                f"{agent} called {tool} {len(uses)} times in a row, and no call needed what an earlier one brought"
            )
            can = tools is None or FORK in tools
            if tools is None:
                fix = f"the instructions of {agent}, or its declaration if it cannot fork: the record does not say"
            elif can:
                fix = f"the instructions of {agent}: say in its own terms what to fork over"
            else:
                fix = f"the declaration of {agent}: let it fork"
            yield case.finding(
                FANOUT_MISSED if can else FANOUT_UNAVAILABLE,
                strand,
                uses[0],
                message,
                fix=fix,
                expect=f"one fork with a branch for each of the {len(uses)} parts",
                price=serial(uses, strand, case.rates),
                causes=forking(case, ask),
            )


def _rows(strand: Strand) -> Iterator[list[Use]]:
    """The series of a loop, each as long as it goes."""
    row: list[Use] = []
    brought: set[str] = set()
    first_heard = heard(strand)
    for _, group in groupby(strand.uses, key=lambda use: (use.number, 0 if use.number else use.at)):
        uses = list(group)
        single = uses[0] if len(uses) == 1 and is_work(uses[0]) else None
        if row and (
            single is None
            or (single.agent, single.turn) != (row[0].agent, row[0].turn)
            or draws_on(single, brought, first_heard, row[0].at)
        ):
            yield row
            row, brought = [], set()
        if single is not None:
            row.append(single)
            if single.ended is not None:  # what it asked for comes back in the result: that brings nothing
                brought |= words_of(single.ended.text) - words_in(single.call)
    if row:
        yield row


def _alike(row: list[Use]) -> list[Use]:
    """The calls in a row of the tool that it called most, each subject once, failed ones left out."""
    by_tool: dict[str, dict[tuple[str, str], Use]] = {}
    for use in row:
        if use.ended is None or not use.ended.failed:
            by_tool.setdefault(use.call.name, {}).setdefault(same(use.call), use)
    return max((list(uses.values()) for uses in by_tool.values()), key=len, default=[])


def _takes_a_list(tools: object, use: Use) -> bool:
    tool = tools.get(use.call.name) if isinstance(tools, dict) else None
    properties = tool.parameters.get("properties") if tool is not None else None
    return isinstance(properties, dict) and any(
        isinstance(each, dict) and each.get("type") == "array" for each in properties.values()
    )


def delegation_missed(case: Case) -> Iterator[Finding]:
    """`delegation.missed`."""
    ran = {branch.agent for _, _, fork in case.run.forks() for branch in fork.branches}
    ran |= {agent for strand in case.run.strands.values() for agent in strand.agents}
    for strand in case.run.strands.values():
        for name, description in specialists(case, strand).items():
            if name in ran:
                continue
            field = _field(description, name)
            inside = [(use, words_in(use.call) & field) for use in strand.uses if is_work(use)]
            inside = [(use, words) for use, words in inside if words]
            shared = frozenset().union(*[words for _, words in inside])
            if len(inside) < 2 or len(shared) < 2:
                continue
            use = inside[0][0]
            yield case.finding(
                DELEGATION_MISSED,
                strand,
                use,
                f"{use.agent} made {len(inside)} calls in the field of {name} ({', '.join(sorted(shared))}), who was"
                " there for it and got nothing to do",
                fix=f"the instructions of {use.agent}: say when to give work to {name}",
                expect=f"a fork or a hand-off to {name}",
                price=replace(
                    repeated([each for each, _ in inside], [strand]),
                    basis=f"what it brought into the conversation of {use.agent}",
                ),
                causes=_reachable(case, strand, use, name),
            )


def _field(description: str, name: str) -> frozenset[str]:
    """The words that say what an agent is for."""
    said = words_of(f"{description}\n{name.replace('_', ' ')}")
    return frozenset(
        word for word in said if len(word) >= _SHORTEST and word not in FUNCTION_WORDS and word not in COMMON
    )


def _reachable(case: Case, strand: Strand, use: Use, name: str) -> Iterator[str]:
    tools = case.tools(case.asked(strand, use))
    if tools is None:
        yield "the record does not say which tools were on offer"
        return
    if f"transfer_to_{name}" in tools:
        yield f"a hand-off to {name} was on offer"
    if FORK in tools:
        agents = fork_agents(tools[FORK])
        known = not agents or name in agents
        yield f"{name} was {'' if known else 'not '}among the agents that a branch may run"
    if f"transfer_to_{name}" not in tools and FORK not in tools:
        yield f"no tool of that request leads to {name}"
