"""Docstrings as agents read them: cleaned, and without the parameter that carries the inherited conversation.

That parameter is in no outward face (R9). A docstring in one of the common forms (Google, Sphinx, NumPy) loses the
entry that documents it, and a section heading that is left with nothing below it goes too. What still speaks of the
parameter as code is the author's to rewrite: `speaks_of` finds it, and the declaration is refused.
"""

from __future__ import annotations

import inspect
import re

__all__ = ["outward_doc", "speaks_of", "summary"]

_HEADING = re.compile(r"(?:(?:Keyword |Other )?(?:Args|Arguments|Parameters)|Keyword arguments):?", re.IGNORECASE)


def outward_doc(doc: str | None, hidden: str | None = None) -> str:
    """The docstring, dedented and stripped, without what documents the parameter `hidden`."""
    if not doc:
        return ""
    lines = inspect.cleandoc(doc).split("\n")
    if hidden is not None:
        lines = _without_empty_sections(_without_entry(lines, re.escape(hidden)))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def summary(cls: type) -> str:
    """The first paragraph of a class's own docstring, on one line; "" if it has none.

    What `dataclass` writes itself, where there is none, is none.
    """
    first = " ".join(outward_doc(cls.__dict__.get("__doc__")).partition("\n\n")[0].split())
    return "" if first.startswith(f"{cls.__name__}(") else first


def speaks_of(doc: str, hidden: str) -> str | None:
    """The words by which a docstring still names the hidden parameter or its type, or None if it does not."""
    name = re.escape(hidden)
    found = re.search(rf"`+{name}`+|\b{name}\s?=|\bInherited\b", doc)
    return None if found is None else found[0]


def _without_entry(lines: list[str], name: str) -> list[str]:
    entry = re.compile(
        rf"\s*(?:{name}\s*(?:\([^)]*\))?\s*:|:(?:param|parameter|arg|argument|key|keyword|type)\s(?:.*\s)?{name}:)"
    )
    kept: list[str] = []
    depth: int | None = None  # the indentation of the entry that is being left out
    for line in lines:
        indented = len(line) - len(line.lstrip())
        if depth is not None and line.strip() and indented > depth:
            continue
        depth = indented if entry.match(line) else None
        if depth is None:
            kept.append(line)
    return kept


def _without_empty_sections(lines: list[str]) -> list[str]:
    kept: list[str] = []
    index = 0
    while index < len(lines):
        heading = _HEADING.fullmatch(lines[index].strip()) is not None
        after = index + 1
        if heading and after < len(lines) and re.fullmatch(r"\s*-{3,}", lines[after]):
            after += 1
        if heading and (after == index + 1) and not lines[index].rstrip().endswith(":"):
            heading = False  # a sentence that happens to be the word alone
        body = lines[after] if after < len(lines) else ""
        if heading and not body.strip():
            index = after
            continue
        kept.append(lines[index])
        index += 1
    return kept
