"""vCard files (2.1, 3.0 and 4.0) into plain cards.

vobject takes the head of a content line apart: group, name, parameters. The rest is done here, since its reader of
whole cards loses data or hangs on files that exist (seen with 0.9.9):

- It cuts a text at the first comma that nobody escaped ("NOTE:tea, no sugar"), which many programs write. Here a text
  is unescaped and kept whole.
- Its line numbers count from 0 or from 1, and drift at blank lines. Here lines are counted as an editor counts them.
- Its line pattern takes exponential time on a long parameter list with a mistake in it. A linear check comes first.
- It knows no version 4.0: preferences as PREF=1, types as one quoted list, tel: and mailto: addresses.
- It does not recognise `encoding=quoted-printable` in small letters, nor a file with a byte order mark.

All or nothing: a file with one broken line raises `VCardError` with the line's number, and gives no cards.
"""

from __future__ import annotations

import quopri
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from vobject import base as vobject

__all__ = ["Card", "VCardError", "read_cards"]

VERSIONS: Final = ("2.1", "3.0", "4.0")

# A content line up to its value. Every quantifier that could be shared out in two ways is possessive: linear time.
_HEADER: Final = re.compile(
    r'(?:[\w-]++\.)?+[\w-]++(?:;[\w-]++(?:=(?:"[^"\n]*+"|[^";:,\n]*+)(?:,(?:"[^"\n]*+"|[^";:,\n]*+))*+)?+)*+:',
    re.ASCII,
)
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_SOFT_BREAK: Final = re.compile(r"^[^:]*quoted-printable[^:]*:.*=$", re.IGNORECASE | re.DOTALL)
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_UNESCAPED_COMMA: Final = re.compile(r"(?<!\\),")
_QUOTED_PRINTABLE: Final = re.compile(r"[;=]\s*quoted-printable\b", re.IGNORECASE)


class VCardError(ValueError):
    """A file is no vCard file, or a line in it is broken. The message is a clause that follows the file's name."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(f"line {line}: {message}" if line else message)
        self.line = line


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One card, its texts unescaped. Of several e-mail addresses or numbers the preferred one comes first."""

    name: str
    other_names: tuple[str, ...] = ()
    emails: tuple[str, ...] = ()
    phones: tuple[str, ...] = ()
    organization: str = ""
    title: str = ""
    note: str = ""
    categories: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Property:
    """One content line. `value` is still escaped, `types` are in small letters, `preference` is 1 (most) to 101."""

    name: str
    value: str
    types: frozenset[str]
    preference: int


def read_cards(data: bytes) -> list[Card]:
    """All cards of people and organizations in a file, in order. Groups (lists of members) are left out.

    Raises VCardError for anything that is not a whole, well-formed vCard file.
    """
    cards: list[Card] = []
    properties: list[_Property] = []
    opened: list[int] = []  # the lines on which the cards around this place begin: a card may contain one (AGENT)
    any_card = False
    for number, line in _logical_lines(_decoded(data)):
        name, found = _parsed(line, number)
        if name == "BEGIN":
            if found.value.strip().upper() != "VCARD":
                raise VCardError(f"a vCard was expected to begin, not {found.value.strip()[:40]!r}.", number)
            opened.append(number)
            any_card = True
        elif not opened:
            raise VCardError("there is text outside of a vCard (BEGIN:VCARD is missing).", number)
        elif name == "END":
            if found.value.strip().upper() != "VCARD":
                raise VCardError(f"the vCard that begins on line {opened[-1]} ends as something else.", number)
            begin = opened.pop()
            if not opened:
                card = _card(properties, begin)
                if card is not None:
                    cards.append(card)
                properties = []
        elif len(opened) == 1:
            if name == "VERSION" and found.value.strip() not in VERSIONS:
                raise VCardError(
                    f"vCard version {found.value.strip()[:20]!r} is not known, only {', '.join(VERSIONS)}.", number
                )
            properties.append(found)
    if opened:
        raise VCardError("the vCard that begins here does not end (END:VCARD is missing).", opened[0])
    if not any_card:
        raise VCardError("it holds no vCard.")
    return cards


def _decoded(data: bytes) -> str:
    """The text of the file. Bytes that are not UTF-8 stay as lone surrogates: version 2.1 names a charset per line."""
    for mark, encoding in ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if data.startswith(mark):
            try:
                return data.decode(encoding)
            except UnicodeDecodeError:
                break
    text = data.decode("utf-8-sig", "surrogateescape")
    if "\0" in text:
        raise VCardError("it is not a text file.", text[: text.index("\0")].count("\n") + 1)
    return text


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """The content lines with the number of the line on which each begins: folded lines and soft line breaks joined."""
    parts: list[str] = []
    begin = 0
    soft = False
    for number, whole in enumerate(_LINE_END.split(text), 1):
        line = whole.removeprefix("\ufeff")  # files that were joined carry their byte order marks along
        if soft:
            parts[-1] = parts[-1][:-1]
            parts.append(line)
        elif line[:1] in (" ", "\t") and parts:
            parts.append(line[1:])
        else:
            if parts:
                yield begin, "".join(parts)
            parts = [line] if line.strip() else []
            begin = number
            soft = False
        soft = line.endswith("=") and bool(parts) and (soft or _SOFT_BREAK.match("".join(parts)) is not None)
    if parts:
        yield begin, "".join(parts)


def _parsed(line: str, number: int) -> tuple[str, _Property]:
    """A line's upper-case name, and what it says."""
    header = _HEADER.match(line)
    if header is None:
        shown = line if len(line) <= 60 else f"{line[:60]}…"
        raise VCardError(f"this is not a vCard property: {shown.encode(errors='replace').decode()!r}.", number)
    try:
        # Without its value: what vobject does to a value depends on how the encoding is spelled.
        parsed = vobject.textLineToContentLine(header[0], number)
    except (vobject.VObjectError, UnicodeError, LookupError) as error:
        raise VCardError(f"its parameters cannot be read ({error}).", number) from error
    encoded = _QUOTED_PRINTABLE.search(header[0]) is not None
    value = _value(line[header.end() :], encoded, parsed.params.get("CHARSET", []), number)
    marks = [part for key in ("TYPE", "PREF") for value in parsed.params.get(key, []) for part in value.split(",")]
    types = frozenset(mark.strip().lower() for mark in [*marks, *parsed.singletonparams])
    ranks = [int(mark) for mark in parsed.params.get("PREF", []) if mark.isascii() and mark.isdigit()]
    preference = min(ranks) if ranks else 1 if "pref" in types else 101
    return parsed.name.upper(), _Property(name=parsed.name.upper(), value=value, types=types, preference=preference)


def _value(value: str, encoded: bool, charsets: Sequence[str], number: int) -> str:
    """A value as text: quoted-printable undone, bytes that are not UTF-8 read in the charset that the line names."""
    plain = value.encode("utf-8", "surrogateescape")
    charset = charsets[0] if charsets else "utf-8"
    try:
        return quopri.decodestring(plain).decode(charset) if encoded else plain.decode()
    except (UnicodeError, LookupError):
        pass
    try:
        return plain.decode(charset) if charsets and not encoded else plain.decode("ascii")
    except (UnicodeError, LookupError) as error:
        raise VCardError(f"its text cannot be read as {charset[:40]!r}.", number) from error


def _card(properties: Sequence[_Property], begin: int) -> Card | None:
    """The card made of these lines; None for a group."""
    by_name: dict[str, list[_Property]] = {}
    for each in properties:
        by_name.setdefault(each.name, []).append(each)
    for kept in by_name.values():
        kept.sort(key=lambda each: each.preference)  # stable: the file's order among equals

    def texts(*names: str) -> list[str]:
        found = [_text(each.value).strip() for name in names for each in by_name.get(name, ())]
        return [text for text in dict.fromkeys(found) if text]

    if any(text.lower() == "group" for text in texts("KIND", "X-ADDRESSBOOKSERVER-KIND")):
        return None
    organizations = [", ".join(part for part in _fields(each.value) if part) for each in by_name.get("ORG", ())]
    emails = [_bare(text, "mailto:") for text in texts("EMAIL")]
    nicknames = [part for each in by_name.get("NICKNAME", ()) for part in _listed(each.value)]
    composed = [_composed(_fields(each.value, lists=True)) for each in by_name.get("N", ())]
    names = [*texts("FN"), *composed, *nicknames, *organizations, *emails]
    name = next((each for each in names if each), None)
    if name is None:
        raise VCardError("the vCard that begins here has no name.", begin)
    others = [each for each in (*texts("FN"), *composed) if each and each != name]
    return Card(
        name=" ".join(name.split()),
        other_names=tuple(dict.fromkeys((*nicknames, *others))),
        emails=tuple(emails),
        phones=tuple(_phones(by_name.get("TEL", ()))),
        organization=next((each for each in organizations if each), ""),
        title=next(iter(texts("TITLE", "ROLE")), ""),
        note="\n".join(texts("NOTE")),
        categories=tuple(part for each in by_name.get("CATEGORIES", ()) for part in _listed(each.value)),
    )


def _phones(lines: Sequence[_Property]) -> list[str]:
    """Numbers, the preferred one first, then mobile ones; a number that only takes faxes comes last."""

    def order(line: _Property) -> tuple[bool, int, bool]:
        fax = "fax" in line.types and not line.types & {"voice", "cell"}
        return fax, line.preference, "cell" not in line.types

    return [
        number
        for line in sorted(lines, key=order)
        if (number := _bare(_text(line.value).strip(), "tel:").replace(";ext=", " ext. ").split(";")[0])
    ]


def _bare(address: str, scheme: str) -> str:
    """An address without its URI scheme."""
    return unquote(address[len(scheme) :]) if address.lower().startswith(scheme) else address


def _text(value: str) -> str:
    """A value without its escapes."""
    return _ESCAPED.sub(lambda escape: "\n" if escape[1] in "nN" else escape[1], value)


def _fields(value: str, *, lists: bool = False) -> list[str]:
    """The parts of a structured value. With `lists`, each part is a list, whose members are joined by blanks."""
    parts = re.split(r"(?<!\\)((?:\\\\)*);", value)
    whole = [parts[index] + (parts[index + 1] if index + 1 < len(parts) else "") for index in range(0, len(parts), 2)]
    return [" ".join(_text(_UNESCAPED_COMMA.sub(" ", part) if lists else part).split()) for part in whole]


def _listed(value: str) -> list[str]:
    """The parts of a value that is a list."""
    return [text for part in _UNESCAPED_COMMA.split(value) if (text := _text(part).strip())]


def _composed(parts: Sequence[str]) -> str:
    """A name from its structured form: family, given, additional, prefixes, suffixes."""
    family, given, additional, prefix, suffix = (*parts, "", "", "", "", "")[:5]
    return " ".join(part for part in (prefix, given, additional, family, suffix) if part)
