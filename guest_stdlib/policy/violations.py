"""What a rejection is.

Rules:

- A *violation* is found in a cell's source before anything runs. All violations of a cell are reported at once, in
  the order of the source.
- A *refusal* happens while code runs, where only the value in hand shows what is meant. The refused operation has had
  no effect.
- Both carry `failure_kind = "policy"`, so that the runtime can tell them from the script's own exceptions without
  importing more.
- Each sentence says what was found and what to write instead: it is all that a model has to learn from.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

__all__ = ["PolicyRefusal", "PolicyViolation", "Violation"]

_SHOWN: Final = 20  # a cell of another language altogether breaks a rule on each line


class Violation(NamedTuple):
    """One broken rule. `line` and `column` count from 1, the column in characters."""

    line: int
    column: int
    message: str
    instead: str

    def __str__(self) -> str:
        return f"Line {self.line}, column {self.column}: {self.message} {self.instead}"


class PolicyViolation(SyntaxError):
    """A cell was rejected before it ran. Change the lines that `violations` names, and run it again.

    `msg` is the first violation as a sentence; `lineno`, `offset` and `text` are its place. `str()` gives all of them.
    """

    failure_kind: Final = "policy"

    def __init__(self, violations: Iterable[Violation], *, source: str, filename: str) -> None:
        self.violations = tuple(sorted(violations))
        first = self.violations[0]
        lines = source.split("\n")
        text = lines[first.line - 1] + "\n" if 0 < first.line <= len(lines) else None
        super().__init__(str(first), (filename, first.line, first.column, text))

    def __str__(self) -> str:
        lines = [str(violation) for violation in self.violations[:_SHOWN]]
        if (more := len(self.violations) - _SHOWN) > 0:
            lines.append(f"And {more} more like these.")
        return "\n".join(lines)


# Tracebacks show them by their bare names: the modules are no concern of who reads them.
PolicyViolation.__module__ = "builtins"


class PolicyRefusal(Exception):
    """An operation that the policy does not allow, refused while the code runs. Write what the message says instead.

    It is no AttributeError or ImportError on purpose: code that expects those must not take a refusal for an absence.
    """

    failure_kind: Final = "policy"


PolicyRefusal.__module__ = "builtins"
