"""Many invented worlds: how often the lexical model is right, asks back, and is wrong.

The worlds are in data/lexical_worlds.json: records of people, files or other things, conversations, and for each
question which record a person would say is meant (null where a person could not tell). The numbers of
`lexical.weights` were fitted on those of the first set. Those of the set "unseen" were written afterwards and nothing
was fitted on them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal, TypedDict

from host.contacts import Contacts
from host.contacts.book import Book
from host.contacts.vcard import Card
from host.context import Inherited
from host.errors import NeedsClarification
from host.loop import choose
from host.models.lexical import Lexical
from host.search import open_search
from host.spelling import fold
from tests.lexical_world import agent, talk

type Ask = Callable[[str, Inherited], Awaitable[str]]


class Case(TypedDict):
    """One question: in which conversation (None: cold), and which record is meant (None: cannot be told)."""

    asked: str
    said: str | None
    meant: str | None


class World(TypedDict):
    """Records of one kind, and conversations about them by name."""

    set: Literal["fitted", "unseen"]
    name: str
    kind: Literal["people", "files", "things"]
    people: list[list[str]]
    files: dict[str, str]
    things: list[dict[str, object]]
    talks: dict[str, list[str]]
    cases: list[Case]


WORLDS: list[World] = json.loads((Path(__file__).parent / "data" / "lexical_worlds.json").read_text())


@asynccontextmanager
async def opened(world: World, place: Path) -> AsyncIterator[Ask]:
    """What the world's questions are asked of: contacts, files, or an agent for other things."""
    if world["kind"] == "people":
        contacts = Contacts(Book([_card(*row) for row in world["people"]]), model=Lexical())

        async def ask(question: str, inherited: Inherited) -> str:
            return (await contacts.ask(question, inherited=inherited)).name

        yield ask
        await contacts.aclose()
    elif world["kind"] == "files":
        folder = place / world["name"]
        for path, text in world["files"].items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        search = open_search(folder, index=place / f"{world['name']}.sqlite3")

        async def ask(question: str, inherited: Inherited) -> str:
            return (await search.ask(question, inherited=inherited)).path

        yield ask
        await search.aclose()
    else:
        chooser = agent(world["things"])

        async def ask(question: str, inherited: Inherited) -> str:
            return await choose(chooser, str, question, inherited)

        yield ask


def _card(name: str, organization: str = "", title: str = "", note: str = "") -> Card:
    address = fold(name).replace(" ", ".").replace("'", "")
    return Card(name=name, organization=organization, title=title, note=note, emails=(f"{address}@mail.example",))


async def outcomes(which: str, place: Path) -> Counter[str]:
    """How the questions of a set end: right, asked back though it can be told, or wrong."""
    counts: Counter[str] = Counter()
    for world in WORLDS:
        if world["set"] != which:
            continue
        async with opened(world, place) as ask:
            for case in world["cases"]:
                inherited = Inherited.cold() if case["said"] is None else talk(*world["talks"][case["said"]])
                try:
                    got: str | None = await ask(case["asked"], inherited)
                except NeedsClarification:
                    got = None
                counts["right" if got == case["meant"] else "asked back" if got is None else "wrong"] += 1
                if case["said"] is None and got != case["meant"]:
                    counts["wrong when cold" if got else "asked back when cold"] += 1
    return counts


async def test_the_worlds_it_was_fitted_on_are_mostly_resolved(tmp_path: Path) -> None:
    """Where it is not right it asks back, as a rule; and without a history it never guesses."""
    counts = await outcomes("fitted", tmp_path)
    assert counts["right"] >= 0.85 * sum(counts[each] for each in ("right", "asked back", "wrong"))
    assert counts["wrong"] <= 0.05 * counts["right"]
    assert counts["wrong when cold"] == 0
    assert counts["asked back when cold"] == 0


async def test_the_worlds_it_has_not_seen_are_mostly_resolved(tmp_path: Path) -> None:
    """What it does where nothing was fitted."""
    counts = await outcomes("unseen", tmp_path)
    assert counts["right"] >= 0.75 * sum(counts[each] for each in ("right", "asked back", "wrong"))
    assert counts["wrong"] <= 0.1 * counts["right"]
    assert counts["wrong when cold"] == 0
