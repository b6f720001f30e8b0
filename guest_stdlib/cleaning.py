"""What models put around code, taken off: fences, prompts, indentation, tabs, line ends, a byte order mark.

Rules:

- Only what cannot be Python is taken off: code that parses as it stands is run as it stands.
- No line is added or removed, so that line numbers stay the agent's own. What was cut from the front of a line is
  remembered, so that columns stay its own too.
- What is left out of a run (the output in a pasted session) is said.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

__all__ = ["Cleaned", "Read", "clean", "read"]

_INFO: Final = r"\s*([A-Za-z][\w+.#-]*)?\s*(\{[^`]*\}|(\w+=\S+\s*)+)?\s*"
_FENCE: Final = re.compile(rf"\s*```+{_INFO}")
_TILDE_FENCE: Final = re.compile(rf"\s*~~~+{_INFO}")
_FENCE_END: Final = re.compile(r"\s*```+\s*")
_TILDE_FENCE_END: Final = re.compile(r"\s*~~~+\s*")
_FENCED_LINE: Final = re.compile(r"\s*(```+)([^`]+)\1\s*")
_PROMPT: Final = re.compile(r"\s*(?:>>>(?: |$)|In \[\d+\]:(?: |$))")
_CONTINUED: Final = re.compile(r"\s*\.\.\.(?::? |:?$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaned:
    """A cell's code. `cut[n]` is the number of characters that were cut from the front of line n, counted from 0."""

    text: str
    cut: tuple[int, ...] = ()
    notices: tuple[str, ...] = ()

    def column(self, line: int | None, column: int | None) -> int | None:
        """A column of the code as a column of what the agent sent, both counted from 1."""
        if line is None or column is None:
            return None
        return column + (self.cut[line - 1] if 0 < line <= len(self.cut) else 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A cell that was read: its tree, or the error that says why it is no Python."""

    cleaned: Cleaned
    tree: ast.Module | None = None
    error: SyntaxError | None = None


def read(source: str, filename: str, flags: int) -> Read:
    """Parse a cell. Another reading than the first is taken only if the first fails on its indentation."""
    failed: Read | None = None
    for cleaned in clean(source):
        try:
            return Read(cleaned=cleaned, tree=_parse(cleaned.text, filename, flags))
        except SyntaxError as error:
            failed = failed or Read(cleaned=cleaned, error=error)
            if not isinstance(error, IndentationError):
                break
    assert failed is not None
    return failed


def _parse(text: str, filename: str, flags: int) -> ast.Module:
    try:
        tree = compile(text, filename, "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True)
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        column = error.start - (text.rfind("\n", 0, error.start) + 1) + 1
        shown = text.split("\n")[line - 1].encode("ascii", "backslashreplace").decode()
        message = f"half a surrogate pair (U+{ord(text[error.start]):04X}) is no character; write it as an escape"
        raise SyntaxError(message, (filename, line, column, shown)) from None
    except MemoryError:  # the parser's own word for it; it comes without a position
        raise SyntaxError("the code is nested too deeply", (filename, 1, 1, text.split("\n", 1)[0])) from None
    assert isinstance(tree, ast.Module)
    return tree


def clean(source: str) -> Iterator[Cleaned]:
    """Readings of a cell, the likeliest first."""
    lines = _Lines(source.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    lines.take_fence()
    lines.take_prompts()
    lines.take_indentation()
    yield lines.cleaned()
    if (moved := lines.with_rest_moved()) is not None:
        yield moved.cleaned()
    if any("\t" in line for line in lines.lines):
        yield lines.with_tabs_as(4).cleaned()
        yield lines.with_tabs_as(8).cleaned()


class _Lines:
    """The lines of a cell while they are cleaned."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.cut = [0] * len(lines)
        self.notices: list[str] = []

    def cleaned(self) -> Cleaned:
        cut = tuple(self.cut) if any(self.cut) else ()
        return Cleaned(text="\n".join(self.lines), cut=cut, notices=tuple(self.notices))

    def _copy(self) -> _Lines:
        copied = _Lines(self.lines[:])
        copied.cut, copied.notices = self.cut[:], self.notices[:]
        return copied

    def _written(self) -> list[int]:
        return [number for number, line in enumerate(self.lines) if line.strip()]

    def _code(self) -> list[int]:
        return [number for number in self._written() if not self.lines[number].lstrip().startswith("#")]

    def _indent(self, number: int) -> str:
        line = self.lines[number]
        return line[: len(line) - len(line.lstrip())]

    def _cut_front(self, number: int, length: int) -> None:
        self.lines[number] = self.lines[number][length:]
        self.cut[number] += length

    def take_fence(self) -> None:
        """A fence is no Python at the start or the end of a cell, except that tildes are operators: those need both."""
        written = self._written()
        if not written:
            return
        first, last = written[0], written[-1]
        if first == last and (whole := _FENCED_LINE.fullmatch(self.lines[first])):
            self.lines[first] = whole[2]
            self.cut[first] = whole.start(2)
            return
        if _FENCE.fullmatch(self.lines[first]):
            self.lines[first] = ""
        elif _TILDE_FENCE.fullmatch(self.lines[first]) and _TILDE_FENCE_END.fullmatch(self.lines[last]):
            self.lines[first] = self.lines[last] = ""
        if _FENCE_END.fullmatch(self.lines[last]):
            self.lines[last] = ""

    def take_prompts(self) -> None:
        """In a pasted session, only what follows a prompt is code."""
        written = self._written()
        if not written:
            return
        if not _PROMPT.match(self.lines[written[0]]):
            if _PROMPT.fullmatch(self.lines[written[-1]]):
                self.lines[written[-1]] = ""
            return
        prompted = [
            (number, _PROMPT.match(self.lines[number]) or _CONTINUED.match(self.lines[number])) for number in written
        ]
        output = [number for number, prompt in prompted if prompt is None]
        for number, prompt in prompted:
            if prompt is not None:
                self._cut_front(number, prompt.end())
        if output and len(output) < len(written) - 1:  # with a prompt on the first line only, the rest is the code
            for number in output:
                self.lines[number] = ""
            look, were = ("Line {} looks", "was") if len(output) == 1 else ("Lines {} look", "were")
            numbers = ", ".join(str(number + 1) for number in output)
            self.notices.append(f"{look.format(numbers)} like printed output, not code, and {were} not run.")

    def take_indentation(self) -> None:
        """A cell whose first statement is indented was cut out of a block."""
        code = self._code()
        indent = self._indent(code[0]) if code else ""
        if indent:
            for number in self._written():
                if self.lines[number].startswith(indent):
                    self._cut_front(number, len(indent))

    def with_rest_moved(self) -> _Lines | None:
        """An indented cell whose first line lost its indentation, as `strip` would take it."""
        code = self._code()
        indent = min((self._indent(number) for number in code[1:]), key=len, default="")
        if not indent:
            return None
        moved = self._copy()
        for number in self._written():
            if self.lines[number].startswith(indent):
                moved._cut_front(number, len(indent))
        return moved

    def with_tabs_as(self, width: int) -> _Lines:
        """Tabs in the indentation as spaces."""
        spaced = self._copy()
        for number in self._written():
            indent = self._indent(number)
            spaces = indent.expandtabs(width)
            spaced.lines[number] = spaces + self.lines[number][len(indent) :]
            spaced.cut[number] += len(indent) - len(spaces)
        return spaced
