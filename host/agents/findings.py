"""Findings: what is wrong with a project, where, and what to write instead.

Rules:

- Every finding belongs to a rule, which has an id that stays, and one severity. Errors keep a project from loading;
  warnings do not.
- A place is a file, a line and a column, both from 1, the column in characters; the end is behind the last one. A
  finding about a file as a whole has no span.
- The message says what is the matter, the help what to write. Both are sentences, and neither is needed to read the
  other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Final, Literal

from host.errors import HostError

__all__ = [
    "Finding",
    "Fix",
    "KeyPath",
    "ProjectError",
    "Severity",
    "Span",
    "dotted",
    "flat",
    "nearest",
    "only_near",
    "place",
]

type KeyPath = tuple[str | int, ...]
Severity = Literal["error", "warning"]

_ALIKE: Final = 0.7  # of 1, where two spellings may be meant for each other
_CLEARLY: Final = 0.1  # by how much the best one has to lead, to be taken without asking


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Where something stands in a text: lines and columns from 1, the end exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """A change that is safe to make by itself: what stands at the finding's span becomes `new`."""

    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong. `key` is the path of keys to it, as in "agents.desk.handoffs[0]", empty where no key is
    meant. `--fix` mends it if it has a `fix`, or is about a file that is `owned`: generated, and written again.
    """

    rule: str
    severity: Severity
    message: str
    file: Path
    span: Span | None = None
    key: str = ""
    help: str = ""
    fix: Fix | None = None
    owned: bool = False

    @property
    def fixable(self) -> bool:
        """Whether `--fix` mends it."""
        return self.owned or self.fix is not None

    def __str__(self) -> str:
        help_ = f" {self.help}" if self.help else ""
        return f"{place(self)}: {self.severity}: {self.message}{help_} [{self.rule}]"


class ProjectError(HostError):
    """A project cannot be loaded. The message has a line for each error, with file, line, column and rule;
    `findings` are all that was found, warnings too.
    """

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__("\n".join(str(found) for found in self.findings if found.severity == "error"))


def place(finding: Finding) -> str:
    """FILE:LINE:COLUMN, as editors read it."""
    span = finding.span
    return str(finding.file) if span is None else f"{finding.file}:{span.line}:{span.column}"


def dotted(path: KeyPath) -> str:
    """A path of keys as people write it."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def flat(text: str) -> str:
    """A text on one line: what cannot be printed is written as an escape."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def nearest(word: str, known: Iterable[str]) -> list[str]:
    """The known words that may have been meant, the most alike first, three at most. Case and separators count
    little.
    """
    ranked = [(score, each) for score, each in _ranked(word, known) if score >= _ALIKE]
    return [each for _, each in ranked[:3]]


def only_near(word: str, known: Iterable[str]) -> str | None:
    """The one word that must have been meant; None where there is none, or where it could be another one."""
    ranked = _ranked(word, known)[:2]
    if not ranked or ranked[0][0] < _ALIKE:
        return None
    return ranked[0][1] if len(ranked) == 1 or ranked[0][0] - ranked[1][0] >= _CLEARLY else None


def _ranked(word: str, known: Iterable[str]) -> list[tuple[float, str]]:
    wanted = _bare(word)
    alike = [(SequenceMatcher(None, wanted, _bare(each)).ratio(), each) for each in dict.fromkeys(known)]
    return sorted(alike, key=lambda pair: (-pair[0], pair[1]))


def _bare(word: str) -> str:
    return word.casefold().replace("_", "").replace("-", "").replace(" ", "")
