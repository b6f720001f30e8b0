"""What a file says: its title and its text, from plain text, Markdown, HTML and PDF.

Rules:

- The kind is told by the name's ending, and checked by reading. A file of another ending is text if its bytes are.
- `Unreadable` says in a short phrase why a file has no text: it is binary, too large, locked, damaged, or says nothing.
- Reading never raises anything else, whatever a file holds: the libraries' own exceptions end here.
- A title is what the file calls itself: the title element or first heading, the PDF's own title, the first line of a
  text; else the words of its name.
"""

from __future__ import annotations

import io
import logging
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from bs4 import BeautifulSoup
from pypdf import PdfReader

from host.spelling import spelled_words

__all__ = ["LARGEST_PDF", "LARGEST_TEXT", "Text", "Unreadable", "read_text"]

LARGEST_TEXT: Final = 8 << 20  # bytes
LARGEST_PDF: Final = 64 << 20  # bytes; most of a PDF is pictures
LONGEST_TITLE: Final = 200

_HTML: Final = frozenset({".html", ".htm", ".xhtml"})
_MARKDOWN: Final = frozenset({".md", ".markdown", ".mdown", ".mkd"})
# Where a text begins with what it is called, as people write them. The first line of other kinds is data.
_PROSE: Final = frozenset({"", ".txt", ".text", ".rst", ".adoc", ".org"})
_MARKS: Final = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_CONTROL: Final = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_HEADING: Final = re.compile(r"^ {0,3}#{1,3}[ \t]+(.+?)[ \t]*#*[ \t]*$", re.MULTILINE)
_UNDERLINED: Final = re.compile(r"^(\S.*)\n(?:=+|-{3,})[ \t]*$", re.MULTILINE)
_FRONT_TITLE: Final = re.compile(r"\A---\n(?:.*\n)*?title:[ \t]*(.+)\n(?:.*\n)*?---\n")
_BLANKS: Final = re.compile(r"[^\S\n]+")
_EMPTY_LINES: Final = re.compile(r"\n{3,}")

# Damaged files make pypdf warn about each oddity. What matters is whether there is text.
logging.getLogger("pypdf").addHandler(logging.NullHandler())


class Unreadable(Exception):
    """A file has no text to read. The message is a short phrase that says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """What a file calls itself, and what it says."""

    title: str
    body: str


def read_text(place: Path) -> Text:
    """The title and text of a file. Raises Unreadable if it has none."""
    ending = place.suffix.lower()
    try:
        size = place.stat().st_size
        if size > (LARGEST_PDF if ending == ".pdf" else LARGEST_TEXT):
            raise Unreadable(f"it is too large ({size / (1 << 20):.0f} MB)")
        data = place.read_bytes()
    except OSError:
        raise Unreadable("it cannot be read") from None
    if ending == ".pdf" or data.startswith(b"%PDF-"):
        text = _pdf(data)
    elif ending in _HTML:
        text = _html(data)
    else:
        body = _plain(data)
        called = _heading(body) if ending in _MARKDOWN else _first_line(body) if ending in _PROSE else ""
        text = Text(title=called, body=body)
    if not text.body.strip():
        raise Unreadable("it holds no text")
    title = " ".join(text.title.split())[:LONGEST_TITLE] or _named(place.name)
    return Text(title=title, body=text.body)


def _plain(data: bytes) -> str:
    """The text of bytes that are text in UTF-8 or UTF-16, or, failing that, in the Western European code page."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            try:
                return _lines(data.decode(encoding))
            except UnicodeDecodeError:
                raise Unreadable("it is binary") from None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode("cp1252", "replace")
        if text.count("\ufffd") * 50 > len(text):
            raise Unreadable("it is binary") from None
    if _CONTROL.search(text):
        raise Unreadable("it is binary")
    return _lines(text)


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _html(data: bytes) -> Text:
    if b"\0" in data and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise Unreadable("it is binary")
    try:
        page = BeautifulSoup(data, "html.parser")
        heading = page.title or page.h1
        title = heading.get_text(" ", strip=True) if heading is not None else ""
        for hidden in page.find_all(["script", "style", "template", "noscript", "title", "svg"]):
            hidden.decompose()
        body = page.get_text("\n", strip=True)
    except (ValueError, AssertionError, RecursionError, LookupError):
        raise Unreadable("its HTML is damaged") from None
    return Text(title=title, body=body)


def _pdf(data: bytes) -> Text:
    # pypdf meets damaged files with exceptions of many kinds, also with those of the codecs and of struct.
    title: object = None
    pages: list[str] = []
    try:
        reader = PdfReader(io.BytesIO(data))
        locked = bool(reader.is_encrypted and not reader.decrypt(""))
        if not locked:
            pages = [page.extract_text() for page in reader.pages]
            title = reader.metadata.title if reader.metadata is not None else None
    except Exception:
        raise Unreadable("its PDF is damaged") from None
    if locked:
        raise Unreadable("it is locked by a password")
    body = _EMPTY_LINES.sub("\n\n", _BLANKS.sub(" ", _lines("\n\n".join(pages)))).strip()
    body = _CONTROL.sub("", body.encode("utf-8", "replace").decode())
    return Text(title=str(title or "") or _first_line(body), body=body)


def _heading(body: str) -> str:
    """What a Markdown text calls itself."""
    if (front := _FRONT_TITLE.match(body[:4000])) is not None:
        return front[1].strip().strip("\"'")
    begin = body[:20_000]
    found = [match for pattern in (_HEADING, _UNDERLINED) if (match := pattern.search(begin)) is not None]
    return min(found, key=lambda match: match.start())[1] if found else _first_line(body)


def _first_line(body: str) -> str:
    """The first line that says something, if it is short enough to be a title."""
    line = next((line.strip() for line in body[:4000].split("\n") if line.strip()), "")
    return line if len(line) <= 100 and any(letter.isalpha() for letter in line) else ""


def _named(name: str) -> str:
    return " ".join(spelled_words(PurePosixPath(name).stem)) or name
