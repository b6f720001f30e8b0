"""The graph of a run as JSON data, for other programs. Texts that were sent or answered are left out, for they are as
long as the conversations; what a number does not say is null.
"""

from __future__ import annotations

import math

from host.graph.rows import Kind, rows
from host.graph.run import Ask, Branch, Fork, Note, Run, Strand, Use, name_of
from host.models.port import Usage
from host.record.runs import delegations

__all__ = ["as_plain"]


def as_plain(run: Run) -> dict[str, object]:
    """The run: its loops in order with their nodes, its delegations, its tools, and the sums."""
    kinds: dict[str, Kind] = {row.name: row.kind for row in rows(run)}
    return {
        "seconds": _number(run.seconds),
        "usage": _usage(run.loops.total),
        "tools": dict(run.tools),
        "loops": [_loop(strand, kinds) for strand in run.strands.values()],
        "delegations": [each.as_plain() for each in delegations(run.events)],
    }


def _loop(strand: Strand, kinds: dict[str, Kind]) -> dict[str, object]:
    loop, began = strand.loop, strand.loop.began
    return {
        "id": strand.id,
        "kind": began.kind,
        "agent": strand.agents[-1],
        "started_as": strand.agents[0],
        "agents": list(strand.agents),
        "model": began.model,
        "depth": began.depth,
        "parent": began.parent,
        "delegation": began.delegation,
        "branch": began.branch,
        "rendering": began.rendering,
        "prefix": began.prefix,
        "how": None if loop.ended is None else loop.ended.how,
        "idle": loop.is_idle,
        "start": _number(strand.start),
        "seconds": _number(math.nan if loop.seconds is None else loop.seconds),
        "usage": _usage(loop.usage),
        "usage_below": _usage(loop.below),
        "tools": dict(strand.tools),
        "nodes": [_node(strand, node, kinds) for node in strand.nodes],
    }


def _node(strand: Strand, node: Ask | Use | Note, kinds: dict[str, Kind]) -> dict[str, object]:
    name = name_of(strand.id, node)
    plain: dict[str, object] = {
        "name": name,
        "kind": kinds[name],
        "agent": node.agent,
        "turn": node.turn,
        "event": node.at,
        "start": _number(node.start),
    }
    match node:
        case Ask(replied=replied):
            calls = () if replied is None else replied.reply.calls
            return plain | {
                "number": node.number,
                "seconds": _number(node.seconds),
                "messages": None if node.asked is None else len(node.asked.request.messages),
                "tools": None if node.tools is None else list(node.tools),
                "stop": None if replied is None else replied.reply.stop,
                "calls": [call.name for call in calls],
                "usage": None if replied is None else _usage(replied.reply.usage),
            }
        case Use(ended=ended, handoff=handoff, fork=fork):
            plain |= {
                "tool": node.call.name,
                "call": node.call.id,
                "request": node.number or None,
                "seconds": _number(node.seconds),
                "failed": None if ended is None else ended.failed,
            }
            if handoff is not None:
                plain["handoff"] = {"from": handoff.source, "to": handoff.target, "reason": handoff.reason}
            if fork is not None:
                plain["fork"] = _fork(fork)
            if node.started:
                plain["delegations"] = [choice.id for choice in node.started]
            return plain
        case Note(event=event):
            return plain | {"event_kind": type(event).__name__}


def _fork(fork: Fork) -> dict[str, object]:
    return {
        "context": fork.mode,
        "branches": [_branch(branch) for branch in fork.branches],
        "joined": fork.joined is not None,
        "seconds": None if fork.joined is None else _number(fork.joined.seconds),
    }


def _branch(branch: Branch) -> dict[str, object]:
    return {
        "name": branch.name,
        "agent": branch.agent,
        "loop": branch.loop,
        "status": branch.status,
        "seconds": _number(branch.seconds),
        "slowest": branch.slowest,
    }


def _usage(usage: Usage) -> dict[str, int | None]:
    return {"input": usage.input, "output": usage.output, "cached": usage.cached, "written": usage.written}


def _number(number: float) -> float | None:
    return round(number, 3) if math.isfinite(number) else None
