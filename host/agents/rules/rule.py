"""What a rule is: an id, a severity, a sentence about what it finds, and the function that looks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from host.agents.findings import KeyPath, Severity

if TYPE_CHECKING:
    from host.agents.project import Project

__all__ = ["Remark", "Rule", "called", "listed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """What a rule found: a path of keys, and whether the key or its value is meant. With `file` it is about that file
    beside agents.yaml, as a whole; `owned` says that `--fix` may write it.
    """

    path: KeyPath
    message: str
    help: str
    key: bool = False
    file: Path | None = None
    owned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule. `check` is None for what is found while the file is read, before there is a project to look at."""

    id: str
    severity: Severity
    title: str
    check: Callable[[Project], Iterator[Remark]] | None = None


def called(name: str, known: list[str]) -> str:
    """What to write in place of a name that nothing has."""
    return f"Write {' or '.join(known)}." if known else f"Declare {name} under agents, or take it out."


def listed(names: list[str]) -> str:
    """Names in a sentence."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
