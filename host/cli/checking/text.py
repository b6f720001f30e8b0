"""Findings for people: each with its line and a caret below the place, in color on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click
from rich.cells import cell_len

from host.agents import Checked, Finding, Span
from host.agents.findings import flat, place

__all__ = ["as_text"]

_COLORS: Final = {"error": "red", "warning": "yellow"}
_WIDEST: Final = 120  # of a line that is shown whole
_AROUND: Final = 50


def as_text(checked: Checked, done: tuple[str, ...], *, color: bool) -> str:
    """All findings, and a last line that sums up. `done` is what was mended."""
    lines = [_styled("fixed", color, fg="green", bold=True) + f": {flat(each)}" for each in done]
    shown = _Lines(checked)
    for found in checked.findings:
        lines += _finding(found, shown, color=color)
    lines.append(_summary(checked))
    return "\n".join(lines)


def _finding(found: Finding, shown: _Lines, *, color: bool) -> Iterator[str]:
    fg = _COLORS[found.severity]
    severity = _styled(found.severity, color, fg=fg, bold=True)
    rule = _styled(f"[{found.rule}]", color, dim=True)
    yield f"{_styled(flat(place(found)), color, bold=True)}: {severity}: {found.message} {rule}"
    if found.span is not None and (line := shown.of(found.file, found.span)) is not None:
        text, before, width = line
        margin = f"{found.span.line:>5} | "
        yield f"{_styled(margin, color, dim=True)}{text}"
        gap = _styled(f"{'| ':>{len(margin)}}", color, dim=True)
        yield f"{gap}{' ' * before}{_styled('^' * width, color, fg=fg, bold=True)}"
    if found.help:
        yield f"  {_styled('help', color, fg='cyan', bold=True)}: {found.help}"


class _Lines:
    """The lines of the file that was checked, as they can be shown."""

    def __init__(self, checked: Checked) -> None:
        self._file = checked.file
        self._lines = checked.lines

    def of(self, file: Path, span: Span) -> tuple[str, int, int] | None:
        """A line, how many columns of a terminal lie before the span, and how many it takes."""
        if file != self._file or span.line > len(self._lines):
            return None
        line = "".join(each if each.isprintable() else " " for each in self._lines[span.line - 1])
        start, end = span.column - 1, max(span.end_column - 1, span.column)
        if len(line) > _WIDEST:
            cut = max(0, start - _AROUND)
            line, start, end = line[cut : cut + _WIDEST], start - cut, min(end - cut, _WIDEST)
        return line.rstrip(), cell_len(line[:start]), max(1, cell_len(line[start:end]))


def _summary(checked: Checked) -> str:
    if not checked.findings:
        assert checked.project is not None
        agents = len(checked.project.settings.agents)
        return f"{flat(str(checked.file))} is fine: {_number(agents, 'agent')}, beginning with {checked.project.start}."
    counts = ((checked.errors, "error"), (checked.warnings, "warning"))
    text = " and ".join(_number(number, word) for number, word in counts if number)
    fixable = sum(found.fixable for found in checked.findings)
    return f"{text}.{f' branchpoint check --fix mends {fixable} of them.' if fixable else ''}"


def _number(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _styled(text: str, color: bool, *, fg: str | None = None, bold: bool | None = None, dim: bool | None = None) -> str:
    return click.style(text, fg=fg, bold=bold, dim=dim) if color else text
