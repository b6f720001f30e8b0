"""What `--fix` mends: misspelt keys in agents.yaml, and the files that the project owns.

Rules:

- In agents.yaml only the letters of a key change, where exactly one key can have been meant. Everything else stays to
  the byte: comments, quotes, spaces, line ends.
- A generated file is written again, or written where it is missing. A file that does not say that it was generated is
  somebody's, and stays.
- A file is replaced whole or not at all, and keeps its permissions. Through a link it is the file that is written.
"""

from __future__ import annotations

import codecs
import os
import tempfile
from pathlib import Path

from host.agents.findings import Finding
from host.agents.guidance import generated
from host.agents.project import Checked, check
from host.agents.source import Document
from host.errors import HostError

__all__ = ["fix"]


def fix(checked: Checked) -> tuple[Checked, tuple[str, ...]]:
    """Mend what can be mended. Gives what is found afterwards, and a sentence for each thing that was done. Raises
    OSError where a file cannot be written, and HostError where agents.yaml has changed since it was checked.
    """
    done: list[str] = []
    fixable = [found for found in checked.findings if found.fix is not None]
    if fixable:
        _replace(checked.file, _mended(checked, fixable))
        done += [_said(found) for found in fixable]
        checked = check(checked.file, provided=checked.provided)
    owned = [found.file for found in checked.findings if found.owned]
    for file in owned:
        done.append(f"{file} was written{' again' if file.exists() else ''}.")
        _replace(file, generated().encode())
    if owned:
        checked = check(checked.file, provided=checked.provided)
    return checked, tuple(done)


def _said(found: Finding) -> str:
    assert found.fix is not None
    assert found.span is not None
    return f"{found.file}:{found.span.line}: {found.fix.old} is {found.fix.new} now."


def _mended(checked: Checked, findings: list[Finding]) -> bytes:
    """The file's content with these fixes, the last one first, so that places stay true."""
    content = checked.file.read_bytes()
    document = Document.read(content)
    text = document.text
    if text != checked.text:
        raise HostError(f"{checked.file} was changed while it was checked, so nothing was mended")
    for found in sorted(findings, key=lambda each: -_offset(document, each)):
        assert found.fix is not None
        start = _offset(document, found)
        text = text[:start] + found.fix.new + text[start + len(found.fix.old) :]
    mark = codecs.BOM_UTF8 if content.startswith(codecs.BOM_UTF8) else b""
    return mark + text.encode()


def _offset(document: Document, found: Finding) -> int:
    assert found.span is not None
    return document.offset(found.span)


def _replace(file: Path, content: bytes) -> None:
    file = file.resolve()
    mode = file.stat().st_mode if file.exists() else None
    descriptor, partial = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    try:
        with os.fdopen(descriptor, "wb") as opened:
            opened.write(content)
        Path(partial).chmod(0o644 if mode is None else mode & 0o7777)
        Path(partial).replace(file)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise
