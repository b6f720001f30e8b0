"""The samples that come along: invented conversations, contacts and files, and agent code that needs them.

Each is a world of its own. `board` and `clinic` are resolved by one and the same code, though nothing in the one
occurs in the other: the code asks for "the report" and for "Sarah's address", and what that means is in the
conversation alone. `renovation` has code of its own, which asks for "the offer" and for "Tom", and a conversation in
which a decision was taken back.

Between them they show three shapes of conversation (OpenAI chat, Anthropic, OpenAI Responses), vCard 3.0 and 4.0, and
Markdown, text, CSV, HTML and PDF.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["SAMPLES", "Sample"]

_HERE: Final = Path(__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One sample: what it is about in a sentence, and where its parts are."""

    name: str
    about: str
    code: Path
    thread: Path
    contacts: Path
    files: Path


def _sample(name: str, code: str, about: str) -> Sample:
    here = _HERE / name
    return Sample(
        name=name,
        about=about,
        code=_HERE / "code" / code,
        thread=here / "thread.json",
        contacts=here / "contacts.vcf",
        files=here / "files",
    )


SAMPLES: Final = {
    sample.name: sample
    for sample in (
        _sample(
            "board",
            "send_report.py",
            "A bike-sharing company: a board deck, a weekly metrics report, and two Sarahs, one of whom waits.",
        ),
        _sample(
            "clinic",
            "send_report.py",
            "A veterinarian's blood report and X-ray report; a surgeon called Sarah and an owner called Sarah.",
        ),
        _sample(
            "renovation",
            "accept_offer.py",
            "A house is rebuilt: four offers, two craftsmen called Tom, and a decision that was taken back.",
        ),
    )
}
