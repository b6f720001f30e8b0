"""Projects for tests: agents.yaml in a folder, and what is found in it, in words."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

from host.agents import Checked, Finding, check


def write(folder: Path, text: str, **files: str) -> Path:
    """agents.yaml, with files beside it: `clerk_md` is clerk.md."""
    for name, content in files.items():
        (folder / name.replace("_", ".")).write_text(content)
    file = folder / "agents.yaml"
    file.write_text(dedent(text).lstrip("\n"))
    return file


def checked(folder: Path, text: str, **files: str) -> Checked:
    """What is found in this text."""
    return check(write(folder, text, **files))


def in_words(found: Finding) -> str:
    """LINE:COLUMN MESSAGE HELP, without the line for what is about a file as a whole."""
    at = "" if found.span is None else f"{found.span.line}:{found.span.column} "
    return f"{at}{found.message} {found.help}".rstrip()


def told(rule: str, folder: Path, text: str, **files: str) -> list[str]:
    """What this rule, and no other, says about a text. Its severity has to be the one of the rule's name: `!` before it
    for an error, `?` for a warning.
    """
    severity = {"!": "error", "?": "warning"}[rule[0]]
    found = [each for each in checked(folder, text, **files).findings if each.rule == rule[1:]]
    assert {each.severity for each in found} <= {severity}
    return [in_words(each) for each in found]
