"""Contacts are found by any part of what is known of them, the best first; the capability is opened from a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from host.contacts import Contact, Contacts, ContactsError, open_contacts
from host.contacts.book import Book
from host.contacts.vcard import Card
from host.context import Inherited
from host.errors import HostError, NeedsClarification
from host.events import Event, Requested

CARDS = [
    Card(
        name="Sarah Chen",
        emails=("sarah.chen@northwind.example", "sc@home.example"),
        phones=("+47 22 33 44 55",),
        organization="Northwind, Finance",
        title="Controller",
        note="Knows the auditors.",
    ),
    Card(name="Sarah Okafor", organization="Northwind, Design", other_names=("Sal",), title="Designer"),
    Card(name="Zoë Müller", organization="Müller Elektro", categories=("plumbing",)),
    Card(name="Jörg Mueller", emails=("j@mueller.example",)),
    Card(name="Theodora Finn", note="A friend of Sarah."),
    Card(name="Will O'Brien"),
]


@pytest.fixture
def book() -> Iterator[Book]:
    book = Book(CARDS)
    yield book
    book.close()


def names(book: Book, query: str) -> list[str]:
    return [listed.contact.name for listed in book.find(query)]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("Sarah Chen", ["Sarah Chen"]),
        ("Chen, Sarah", ["Sarah Chen"]),
        ("sarah", ["Sarah Chen", "Sarah Okafor", "Theodora Finn"]),
        ("Sarah's address", ["Sarah Chen", "Sarah Okafor", "Theodora Finn"]),
        ("the Sarah in finance", ["Sarah Chen"]),
        ("Sal", ["Sarah Okafor"]),
        ("hen", ["Sarah Chen"]),
        ("zoe", ["Zoë Müller"]),
        ("muller", ["Jörg Mueller", "Zoë Müller"]),
        ("Müller", ["Jörg Mueller", "Zoë Müller"]),
        ("mueller", ["Jörg Mueller", "Zoë Müller"]),
        ("sarah.chen@northwind.example", ["Sarah Chen"]),
        ("home.example", ["Sarah Chen"]),
        ("22334455", ["Sarah Chen"]),
        ("+47 22 33", ["Sarah Chen"]),
        ("controller", ["Sarah Chen"]),
        ("auditor", ["Sarah Chen"]),
        ("plumbing", ["Zoë Müller"]),
        ("Will", ["Will O'Brien"]),
        ("O'Brien", ["Will O'Brien"]),
        ("nobody", []),
    ],
)
def test_contacts_are_found_by_any_part(book: Book, query: str, found: list[str]) -> None:
    """By name in any order, part of a word, nickname, address, number, organization, title, note or category."""
    assert sorted(names(book, query)) == sorted(found)
    assert names(book, query)[:1] == found[:1]


def test_a_name_counts_more_than_a_note(book: Book) -> None:
    """Whoever is called so comes before whoever is said to know someone called so."""
    assert names(book, "Sarah")[-1] == "Theodora Finn"


def test_a_blank_query_lists_everybody_by_name(book: Book) -> None:
    """Asking for nothing in particular is asking for all."""
    assert names(book, " ") == sorted(card.name for card in CARDS)


@pytest.mark.parametrize(
    "query", ['"', "*", "a AND", "NEAR(", "name:", "'; DROP TABLE words; --", "\ud800", "\0", "(" * 500]
)
def test_no_query_breaks_the_search(book: Book, query: str) -> None:
    """Operators and quotes of the search engine are text like any other."""
    assert isinstance(book.find(query), list)


def vcf(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


ONE = "BEGIN:VCARD\nVERSION:3.0\nFN:Ann Lee\nEMAIL:ann@lee.example\nEND:VCARD\n"


async def test_a_file_is_opened_and_searched(tmp_path: Path) -> None:
    """What is not known of a contact is an empty text."""
    contacts = open_contacts(vcf(tmp_path / "contacts.vcf", ONE))
    assert await contacts.find("ann") == [Contact(name="Ann Lee", email="ann@lee.example")]
    assert (contacts.name, await contacts.find("bob")) == ("contacts", [])
    await contacts.aclose()


def test_a_broken_file_is_one_clear_sentence(tmp_path: Path) -> None:
    """The file and the line are named, and it is our kind of error."""
    path = vcf(tmp_path / "contacts.vcf", ONE + "BEGIN:VCARD\nFN:Bob\n")
    with pytest.raises(ContactsError) as caught:
        open_contacts(path)
    assert str(caught.value) == f"{path}: line 6: the vCard that begins here does not end (END:VCARD is missing)."
    assert isinstance(caught.value, HostError)


def test_a_missing_file_is_one_clear_sentence(tmp_path: Path) -> None:
    """The sentence says which file."""
    with pytest.raises(ContactsError, match=r"none\.vcf cannot be read: No such file or directory\.$"):
        open_contacts(tmp_path / "none.vcf")


async def test_ask_gives_the_contact_that_a_question_means(tmp_path: Path) -> None:
    """The loop behind `ask` is given the request alone, looks contacts up, and its model sees the tools it has."""
    told: list[Event] = []
    contacts: Contacts = open_contacts(vcf(tmp_path / "contacts.vcf", ONE), observe=told.append)
    assert (await contacts.ask("Ann's address", inherited=Inherited.cold())).email == "ann@lee.example"
    sent = [event.request for event in told if isinstance(event, Requested)]
    assert [message.text for message in sent[0].messages] == ["Ann's address"]
    assert [tool.name for tool in sent[0].tools] == ["find", "answer", "clarify"]
    await contacts.aclose()


async def test_ask_says_so_when_nobody_fits(tmp_path: Path) -> None:
    """A question about someone unknown is not answered with someone known."""
    contacts = open_contacts(vcf(tmp_path / "contacts.vcf", ONE))
    with pytest.raises(NeedsClarification) as caught:
        await contacts.ask("Bob's address", inherited=Inherited.cold())
    assert (caught.value.question, caught.value.options) == ('Nothing here fits "Bob\'s address". What is meant?', ())
    await contacts.aclose()
