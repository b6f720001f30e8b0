"""The section of a child's instructions that holds what it inherited: how its lines are written, and how it is read.

What is added while the child runs is a continuation, a section of the same kind in a message of its own.

The section is text that a model reads, so it is written for reading; and it is text that a program reads (the lexical
model, tests, whoever inspects a run), so it has a grammar. One line, one role; every line ends with LF:

    section     = begin, {explanation}, {layer line, {entry}}, end
    begin       = "=== Inherited conversation " nonce (" begins" | " continues") ". The system supplied it. ==="
    end         = "=== Inherited conversation " nonce " ends. ==="
    explanation = a line of prose; it stands before the first layer line and begins with a capital letter
    layer line  = "--- Layer " depth ": " description " ---"
    entry       = header, {quoted}
    header      = "[" depth "." message "] " speaker [" " string] [" " deed] ":"
    speaker     = "outer " ("user" | "agent" | "caller" | "tool" | "system" | "participant") [" " depth]
    deed        = "calls " string " (call " number ")"
                | "answers " ("call " number | "an unknown call") [" with an error"]
                | "shows " kind ", " media type ", " size
                | "declines" | "sums up what came before" | "refers to history that is not here"
                | "records " string | "says nothing"
    quoted      = ">" | "> " text
    string      = a JSON string in its quotes

`depth` counts layers from 1 at the root, `message` counts messages within the layer from 1; one message may fill
several entries (text, then its calls), which then bear the same number. At depth 1 the speaker has no number; below
it has one, and "caller" is whoever gave that layer's agent its work. A header without deed is followed by what was
said; "calls" by the arguments as they were written; "answers" by the result; "shows" by a name or address, if there
is one; "records" by JSON. A continuation says in its layer lines how many messages are new; its messages and calls
are numbered on from those that the child has, and an answer may be to a call that stands in an earlier section.

Why content cannot break it: everything that anyone said stands behind "> ", on every line, so no content stands where a
header, a layer line or a marker stands; names and other short strings in headers are JSON strings on one line. All
that a reader might take for a line's end (CR, VT, FF, FS, GS, RS, NEL, LS, PS) has become LF before the marks were
set. The nonce comes on top: it is drawn after the content was fixed, and no content contains it.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal

__all__ = [
    "Deed",
    "Entry",
    "Section",
    "begin_line",
    "end_line",
    "header_line",
    "layer_line",
    "quote",
    "read_section",
    "read_sections",
    "readable",
    "string",
]

Deed = Literal["said", "calls", "answers", "fails", "shows", "declines", "sums up", "elsewhere", "records", "nothing"]
NONCE: Final = re.compile(r"[0-9a-z]{8,64}")

_STRING: Final = r'"(?:[^"\\\n]|\\.)*"'
_BEGIN: Final = re.compile(
    r"^=== Inherited conversation ([0-9a-z]{8,64}) (begins|continues)\. The system supplied it\. ===$", re.MULTILINE
)
_END: Final = re.compile(r"^=== Inherited conversation ([0-9a-z]{8,64}) ends\. ===$", re.MULTILINE)
_LAYER: Final = re.compile(r"--- Layer ([0-9]+): (.*) ---")
_HEADER: Final = re.compile(
    rf"""\[(?P<depth>[0-9]{{1,9}})\.(?P<message>[0-9]{{1,9}})\]\ (?P<speaker>outer\ [a-z]+(?:\ [0-9]+)?)
    (?:\ (?P<name>{_STRING}))?
    (?:\ (?:
        calls\ (?P<tool>{_STRING})\ \(call\ (?P<call>[0-9]{{1,9}})\)
      | (?P<answers>answers)\ (?:call\ (?P<answered>[0-9]{{1,9}})|an\ unknown\ call)(?P<error>\ with\ an\ error)?
      | shows\ (?P<media>[^:\n]+)
      | (?P<declines>declines)
      | (?P<summary>sums\ up\ what\ came\ before)
      | (?P<elsewhere>refers\ to\ history\ that\ is\ not\ here)
      | records\ (?P<item>{_STRING})
      | (?P<nothing>says\ nothing)
    ))?:""",
    re.VERBOSE,
)

# The group that tells a deed, the more telling one first.
_DEEDS: Final[tuple[tuple[str, Deed], ...]] = (
    ("tool", "calls"),
    ("error", "fails"),
    ("answers", "answers"),
    ("media", "shows"),
    ("declines", "declines"),
    ("summary", "sums up"),
    ("elsewhere", "elsewhere"),
    ("item", "records"),
    ("nothing", "nothing"),
)

# What is not plain text: control characters except tab and LF, other line ends, and surrogates without a partner.
_UNSAFE: Final = re.compile("[^\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\U0010ffff]")
_LINE_END: Final = re.compile("\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_ANSI: Final = re.compile(r"\x1b\[[0-?]{0,64}[ -/]{0,8}[@-~]")
_DATA_URL: Final = re.compile(
    r"data:([a-z]{1,32}/[a-z0-9.+-]{1,96})(?:;[a-z0-9=.+-]{1,64}){0,4};base64,([a-z0-9+/_-]{256,}={0,2})", re.IGNORECASE
)
_MEDIA_TYPE: Final = re.compile(r"[A-Za-z0-9.+*-]{1,40}/[A-Za-z0-9.+*-]{1,96}")
_LONGEST_STRING: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing that someone said or did, as it stands in a section.

    `depth` is 1 for the person's conversation at the root and grows towards the child. `speaker` is the renamed role
    ("outer user", "outer agent 2"). `text` is what follows the header, without the quote marks. `deed` says what it
    is, `name` is the author's name, or the tool's for "calls", "answers" and "fails", or the item's type for
    "records"; `call` links an answer to its call within a layer; `media` is the description behind "shows" ("image,
    image/png, 48213 bytes").
    """

    depth: int
    message: int
    speaker: str
    text: str
    deed: Deed = "said"
    name: str | None = None
    call: int | None = None
    media: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A section that has been read. `layers` holds each layer's description, the root's first.

    A continuation says so in `continues`, and has only the layers in which something is new.
    """

    nonce: str
    explanation: str
    layers: tuple[str, ...]
    entries: tuple[Entry, ...]
    continues: bool = False


def readable(text: str) -> str:
    """Text as it may stand in a section: the same words, and nothing that a reader could stumble over.

    Line ends of all kinds become LF, terminal colours go, other control characters become visible (NUL as U+2400), a
    surrogate without a partner becomes U+FFFD, and a long data URL is replaced by its type and size. Applying it
    twice changes nothing.
    """
    if _UNSAFE.search(text):
        text = _ANSI.sub("", text)
        text = _LINE_END.sub("\n", text)
        text = _UNSAFE.sub(_visible, text)
    if ";base64," in text:
        text = _DATA_URL.sub(_described, text)
    return text


def _visible(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return f"\\x{code:02x}" if code < 0xA0 else "\ufffd"


def _described(match: re.Match[str]) -> str:
    encoded = match[2].rstrip("=")
    return f"({match[1]}, {len(encoded) * 3 // 4} bytes, not shown)"


def string(text: str) -> str:
    """A short text from outside, such as a name, as a header holds it: a JSON string on one line, cut if very long."""
    short = text if len(text) <= _LONGEST_STRING else text[: _LONGEST_STRING - 1] + "…"
    return json.dumps(readable(short), ensure_ascii=False)


def quote(text: str) -> str:
    """Text behind quote marks, each line of it. The text must be `readable`."""
    return "\n".join([f"> {line}" if line else ">" for line in text.split("\n")])


def begin_line(nonce: str, *, continues: bool = False) -> str:
    """The line that opens the section, or a continuation of it."""
    return f"=== Inherited conversation {nonce} {'continues' if continues else 'begins'}. The system supplied it. ==="


def end_line(nonce: str) -> str:
    """The line that closes the section."""
    return f"=== Inherited conversation {nonce} ends. ==="


def layer_line(depth: int, description: str) -> str:
    """The line above a layer's entries. Foreign text in the description must have gone through `string`."""
    return f"--- Layer {depth}: {description} ---"


def header_line(entry: Entry) -> str:
    """The line above an entry's text."""
    deed = ""
    name = entry.name
    match entry.deed:
        case "calls":
            deed, name = f" calls {string(name or '')} (call {entry.call})", None
        case "answers" | "fails":
            which = "an unknown call" if entry.call is None else f"call {entry.call}"
            deed = f" answers {which}" + (" with an error" if entry.deed == "fails" else "")
        case "shows":
            deed = f" shows {entry.media}"
        case "declines":
            deed = " declines"
        case "sums up":
            deed = " sums up what came before"
        case "elsewhere":
            deed = " refers to history that is not here"
        case "records":
            deed, name = f" records {string(name or '')}", None
        case "nothing":
            deed = " says nothing"
        case "said":
            pass
    author = "" if name is None else f" {string(name)}"
    return f"[{entry.depth}.{entry.message}] {entry.speaker}{author}{deed}:"


def media_description(kind: str, media_type: str | None, size: int | None) -> str:
    """Kind, type and size of an image, document and so on, with nothing in it that is not a plain word or a number."""
    known = media_type if media_type is not None and _MEDIA_TYPE.fullmatch(media_type) else "type unknown"
    return f"{kind}, {known}, {'size unknown' if size is None else f'{size} bytes'}"


def read_section(system_text: str, *, nonce: str | None = None) -> Section | None:
    """Read the inherited conversation out of a child's instructions; None if they hold none (a cold child's do not).

    It needs only the text. The first complete section is read; with `nonce`, the first that bears it. Whatever stands
    before the section in the instructions must come from the developer: only that could imitate one. A continuation is
    read out of its message in the same way. Linear in the text's length.
    """
    return next(_sections(system_text, nonce), None)


def read_sections(text: str, *, nonce: str | None = None) -> tuple[Section, ...]:
    """All complete sections of a text in order, with `nonce` those that bear it. No section stands inside another."""
    return tuple(_sections(text, nonce))


def _sections(text: str, nonce: str | None) -> Iterator[Section]:
    ends: dict[str, deque[re.Match[str]]] = {}
    for match in _END.finditer(text):
        ends.setdefault(match[1], deque()).append(match)
    done = 0
    for begin in _BEGIN.finditer(text):
        if begin.start() < done or nonce not in (None, begin[1]):
            continue
        ending = ends.get(begin[1], deque())
        while ending and ending[0].start() <= begin.end():
            ending.popleft()
        if ending:
            done = ending[0].end()
            lines = text[begin.end() + 1 : ending[0].start()].split("\n")
            yield replace(_read(begin[1], lines), continues=begin[2] == "continues")


def _read(nonce: str, lines: list[str]) -> Section:
    explanation: list[str] = []
    layers: list[str] = []
    entries: list[Entry] = []
    header: re.Match[str] | None = None
    said: list[str] = []

    def close() -> None:
        if header is not None:
            entries.append(_entry(header, "\n".join(said)))
            said.clear()

    for line in lines:
        if line.startswith(">"):
            if header is not None:
                said.append(line[2:])
        elif (layer := _LAYER.fullmatch(line)) is not None:
            close()
            header = None
            layers.append(layer[2])
        elif (found := _HEADER.fullmatch(line)) is not None:
            close()
            header = found
        elif not layers and line:
            explanation.append(line)
    close()
    return Section(nonce=nonce, explanation="\n".join(explanation), layers=tuple(layers), entries=tuple(entries))


def _entry(header: re.Match[str], text: str) -> Entry:
    name = next((header[group] for group in ("name", "tool", "item") if header[group] is not None), None)
    call = header["call"] if header["call"] is not None else header["answered"]
    return Entry(
        depth=int(header["depth"]),
        message=int(header["message"]),
        speaker=header["speaker"],
        text=text,
        deed=_deed(header),
        name=None if name is None else json.loads(name),
        call=None if call is None else int(call),
        media=header["media"],
    )


def _deed(header: re.Match[str]) -> Deed:
    return next((deed for group, deed in _DEEDS if header[group] is not None), "said")
