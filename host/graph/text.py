"""The graph of a run as text, for a terminal or a file. The same events give the same text.

A line says what a row is, whose it is (`@agent` at the first row that an agent owns), what was asked or said, what it
used, how long it took, and how it ended. The lines at the end sum up: who ended as whom, the branches of each join, the
tools with how often they were called, and the tokens in all.
"""

from __future__ import annotations

from collections.abc import Iterator

from host.graph.rows import Row, counted, rows, shortened, spoken_seconds, tokens
from host.graph.run import Run

__all__ = ["render_text"]


def render_text(run: Run, *, most: int = 60) -> str:
    """The run as text; "" for no loops. `most` bounds how many characters of what was asked or said are shown."""
    if not run.strands:
        return ""
    return "\n".join([*_tree(list(rows(run)), most), "", *_sums(run)])


def _tree(all_rows: list[Row], most: int) -> Iterator[str]:
    """The rows with the rails that show what hangs below what."""
    last = [False] * len(all_rows)  # whether no sibling follows
    open_depths: set[int] = set()
    for place in range(len(all_rows) - 1, -1, -1):
        depth = all_rows[place].depth
        last[place] = depth not in open_depths
        open_depths = {each for each in open_depths if each < depth} | {depth}
    rails: list[str] = []
    for row, is_last in zip(all_rows, last, strict=True):
        del rails[max(row.depth - 1, 0) :]
        head = "".join(rails)
        if row.depth:
            head += "└─ " if is_last else "├─ "
            rails.append("   " if is_last else "│  ")
        yield head + _line(row, most)


def _line(row: Row, most: int) -> str:
    label = row.label if row.agent is None else f"{row.label} @{row.agent}"
    said = shortened(row.text, most)
    head = f"{label}: {said}" if said and row.kind != "loop" else label
    facts = [head, *row.facts]
    if seconds := spoken_seconds(row.seconds):
        facts.append(seconds)
    if row.slowest:
        facts.append("slowest")
    line = " · ".join(facts)
    return f"{line}: {row.state}" if row.kind == "loop" else f"{line} · {row.state}" if row.state else line


def _sums(run: Run) -> Iterator[str]:
    for strand in run.strands.values():
        if len(strand.agents) > 1:
            yield f"agent: {strand.agents[-1]} · started as {strand.agents[0]} ({strand.id})"
    for strand, use, fork in run.forks():
        waited = ", ".join(f"{branch.name}={branch.status}" for branch in fork.branches)
        seconds = spoken_seconds(use.seconds)
        yield f"branches: {waited} · fork by {use.agent} ({strand.id}){f' · {seconds}' if seconds else ''}"
    if run.tools:
        yield f"tools: {', '.join(f'{name} \u00d7{count}' for name, count in run.tools.items())}"
    said = [counted(len(run.strands), "loop"), tokens(run.loops.total) or "no tokens counted"]
    if seconds := spoken_seconds(run.seconds):
        said.append(seconds)
    yield f"in all: {' · '.join(said)}"
