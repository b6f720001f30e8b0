"""A run as plain text: its loops, each indented below the one that started it, one line each.

A line says what the loop is and whose, how it began (the choice, the rendering, by whose choice), its requests and
calls, its own tokens, how long it took, and how it ended. The cache is named only where a provider reported on it. The
same events give the same text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from host.events import Delegated, Event
from host.models.port import Usage
from host.record.runs import Loop, loops

__all__ = ["render_graph"]


def render_graph(events: Iterable[Event]) -> str:
    """The run as text, with a last line for the total. "" for no loops."""
    events = tuple(events)
    run = loops(events)
    chosen = {event.id: event for event in events if isinstance(event, Delegated)}
    lines: list[str] = []
    waiting = [(loop, 0) for loop in reversed(run.roots)]
    while waiting:
        loop, depth = waiting.pop()
        lines.append(f"{'  ' * depth}{_line(loop, chosen)}")
        waiting += [(child, depth + 1) for child in reversed(loop.children)]
    if len(run.by_id) > 1:
        lines.append(f"in all: {_tokens(run.total)}")
    return "\n".join(lines)


def _line(loop: Loop, chosen: Mapping[str, Delegated]) -> str:
    began = loop.began
    facts = [f"{began.kind} {began.agent}"]
    choice = chosen.get(began.delegation or "")
    if choice is not None:
        rendering = f", {began.rendering}" if began.rendering != "none" else ""
        facts.append(f"{choice.context}{rendering} by {choice.chooser}")
    facts.append(_counted(len(loop.requests), "request"))
    if loop.calls:
        facts.append(_counted(loop.calls, "call"))
    facts.append(_tokens(loop.usage))
    if loop.seconds is not None:
        facts.append(f"{loop.seconds:.1f} s")
    how = "running" if loop.ended is None else loop.ended.how
    return f"{' · '.join(facts)}: {how}{' with no work done' if loop.is_idle else ''}"


def _tokens(usage: Usage) -> str:
    cached = "" if usage.cached is None else f" ({usage.cached:,} cached)"
    return f"{usage.input:,} in{cached}, {usage.output:,} out"


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
