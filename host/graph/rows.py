"""The graph of a run as rows, from top to bottom, each with its depth: what the text and the page both show.

Below a loop stand its requests, below a request the calls that its reply made, below a call what it started: branches
and their join, or the loops of other agents. Rows are made one by one, and nothing recurses, so depth is no matter.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from host.events import Delegated, Delivered, Steered, TaskChanged, TurnEnded
from host.graph.run import Ask, Branch, Fork, Note, Run, Strand, Use, name_of
from host.models.port import Usage

__all__ = ["Kind", "Row", "choice_words", "counted", "rows", "shortened", "spoken_seconds", "tokens"]

Kind = Literal["loop", "request", "call", "fork", "join", "handoff", "note"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row. `name` identifies it and `parent` the row above it; `label` and `text` say what it is, `facts` what is
    to be known about it, `state` how it ended ("" where that needs no word). `agent` is there where the row is the
    first one that this agent owns. `start` and `seconds` are nan where they are not known.
    """

    name: str
    parent: str | None
    depth: int
    kind: Kind
    label: str
    text: str = ""
    facts: tuple[str, ...] = ()
    state: str = ""
    agent: str | None = None
    start: float = math.nan
    seconds: float = math.nan
    slowest: bool = False
    about: Strand | Ask | Use | Note | Fork | None = None


_STOPS: Final[Mapping[str, str]] = {"length": "cut off", "refusal": "declined"}

type _Work = tuple[Strand, Branch | None, int, str | None] | Row


def rows(run: Run) -> Iterator[Row]:
    """All rows."""
    waiting: list[_Work] = [(strand, None, 0, None) for strand in reversed(run.roots)]
    while waiting:
        here = waiting.pop()
        if isinstance(here, Row):
            yield here
            continue
        waiting += reversed(list(_rows_of(run, *here)))


def _rows_of(run: Run, strand: Strand, branch: Branch | None, depth: int, parent: str | None) -> Iterator[_Work]:
    yield _loop_row(strand, branch, depth, parent)
    by_delegation: dict[str, list[Strand]] = {}
    rest = {loop.id for loop in strand.loop.children}
    for loop in strand.loop.children:
        by_delegation.setdefault(loop.began.delegation or "", []).append(run.strands[loop.id])
    owner, request = None, (strand.id, depth, 0)
    for node in strand.nodes:
        first = node.agent != owner
        owner = node.agent
        agent = node.agent if first else None
        match node:
            case Ask():
                request = (name_of(strand.id, node), depth + 1, node.number)
                yield _ask_row(strand, node, depth + 1, agent)
            case Use():
                above, level, _ = request if node.number in (0, request[2]) else (strand.id, depth, 0)
                name = name_of(strand.id, node)
                yield _use_row(strand, node, level + 1, above, agent)
                for one in node.fork.branches if node.fork is not None else ():
                    if one.loop is not None:
                        rest.discard(one.loop)
                        yield run.strands[one.loop], one, level + 2, name
                    else:
                        yield _missing_row(node, one, level + 2, name)
                if node.fork is not None and node.fork.joined is not None:
                    yield _join_row(node, node.fork, level + 2, name)
                for inner in node.inside:
                    rest.discard(inner)
                    yield run.strands[inner], None, level + 2, name
                for choice in node.started:
                    for child in by_delegation.get(choice.id, ()):
                        rest.discard(child.id)
                        yield child, None, level + 2, name
            case Note():
                yield _note_row(strand, node, depth + 1, agent)
                if isinstance(node.event, Delegated):
                    for child in by_delegation.get(node.event.id, ()):
                        rest.discard(child.id)
                        yield child, None, depth + 2, name_of(strand.id, node)
    for other in strand.loop.children:
        if other.id in rest:
            yield run.strands[other.id], None, depth + 1, strand.id


def _loop_row(strand: Strand, branch: Branch | None, depth: int, parent: str | None) -> Row:
    loop, began = strand.loop, strand.loop.began
    label = f"branch {branch.name}" if branch is not None else began.kind
    agents = " → ".join(strand.agents)
    facts = [agents]
    if branch is None and (words := choice_words(strand)):
        facts.append(words)
    facts.append(counted(len(loop.requests) or len(loop.replies), "request"))
    if loop.calls:
        facts.append(counted(loop.calls, "call"))
    if said := tokens(loop.usage):
        facts.append(said)
    state = branch.status if branch is not None else "running" if loop.ended is None else loop.ended.how
    if loop.is_idle:
        state += ", no work done"
    return Row(
        name=strand.id,
        parent=parent,
        depth=depth,
        kind="loop",
        label=label,
        text=began.request,
        facts=tuple(facts),
        state=state,
        start=strand.start,
        seconds=math.nan if loop.seconds is None else loop.seconds,
        slowest=branch is not None and branch.slowest,
        about=strand,
    )


def _ask_row(strand: Strand, ask: Ask, depth: int, agent: str | None) -> Row:
    reply = None if ask.replied is None else ask.replied.reply
    facts = [] if reply is None else [said for said in (tokens(reply.usage),) if said]
    return Row(
        name=name_of(strand.id, ask),
        parent=strand.id,
        depth=depth,
        kind="request",
        label=f"request {ask.number}",
        text="" if reply is None else reply.text,
        facts=tuple(facts),
        state="unanswered" if reply is None else _STOPS.get(reply.stop, ""),
        agent=agent,
        start=ask.start,
        seconds=ask.seconds,
        about=ask,
    )


def _use_row(strand: Strand, use: Use, depth: int, parent: str, agent: str | None) -> Row:
    kind: Kind = "call"
    label, text = use.call.name, use.call.arguments
    if use.fork is not None:
        kind, label = "fork", f"fork ({use.fork.mode} context)"
        text = ", ".join(branch.name for branch in use.fork.branches)
    elif use.handoff is not None:
        kind, label = "handoff", f"hand-off {use.handoff.source} → {use.handoff.target}"
        text = use.handoff.reason or ""
    return Row(
        name=name_of(strand.id, use),
        parent=parent,
        depth=depth,
        kind=kind,
        label=label,
        text=text,
        state=_state(use),
        agent=agent,
        start=use.start,
        seconds=use.seconds,
        about=use,
    )


def _state(use: Use) -> str:
    if use.ended is None:
        return "" if use.handoff is not None else "running"
    return "failed" if use.ended.failed else ""


def _missing_row(use: Use, branch: Branch, depth: int, parent: str) -> Row:
    """A branch whose loop is not in the record."""
    return Row(
        name=f"{parent}.{branch.name}",
        parent=parent,
        depth=depth,
        kind="loop",
        label=f"branch {branch.name}",
        text=branch.instructions,
        facts=(branch.agent,),
        state=branch.status,
        start=use.start,
        seconds=branch.seconds,
        slowest=branch.slowest,
        about=use,
    )


def _join_row(use: Use, fork: Fork, depth: int, parent: str) -> Row:
    assert fork.joined is not None
    return Row(
        name=f"{parent}.join",
        parent=parent,
        depth=depth,
        kind="join",
        label="join",
        text=", ".join(f"{branch.name}={branch.status}" for branch in fork.branches),
        start=use.start + fork.joined.seconds,
        seconds=math.nan,
        facts=(f"after {spoken_seconds(fork.joined.seconds)}",) if not math.isnan(fork.joined.seconds) else (),
        about=fork,
    )


def _note_row(strand: Strand, note: Note, depth: int, agent: str | None) -> Row:
    state = ""
    match note.event:
        case Steered(means=means, text=text):
            label = f"steered: {means}"
        case Delivered(ids=ids, tokens=size):
            label, text = "news", f"{counted(len(ids), 'message')}, about {size:,} tokens"
        case TaskChanged(task=task, state=now):
            label, text, state = "task", task, now
        case TurnEnded(text=text, how=state):
            label = "turn ended"
        case Delegated(path=path, context=context, chooser=chooser):
            label, text = path, f"{context} by {chooser}"
    return Row(
        name=name_of(strand.id, note),
        parent=strand.id,
        depth=depth,
        kind="note",
        label=label,
        text=text,
        state=state,
        agent=agent,
        start=note.start,
        about=note,
    )


def choice_words(strand: Strand) -> str:
    """How a delegated loop began, in words; "" where no delegation started it."""
    if strand.choice is None:
        return ""
    rendering = strand.loop.began.rendering
    return f"{strand.choice.context}{f', {rendering}' if rendering != 'none' else ''} by {strand.choice.chooser}"


def tokens(usage: Usage) -> str:
    """Tokens in words. The cache is named only where a provider reported on it; "" where nothing was counted."""
    if not usage.total and usage.cached is None:
        return ""
    cached = "" if usage.cached is None else f" ({usage.cached:,} cached)"
    return f"{usage.input:,} in{cached}, {usage.output:,} out"


def counted(number: int, what: str) -> str:
    """A number of things."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def spoken_seconds(seconds: float) -> str:
    """Seconds in words; "" where they are not known."""
    if math.isnan(seconds):
        return ""
    return f"{seconds:,.1f} s" if seconds < 100 else f"{seconds:,.0f} s"


def shortened(text: str, most: int) -> str:
    """A text on one line, cut."""
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
