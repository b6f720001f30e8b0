"""The book of contacts: cards in SQLite, found by any part of what they say.

How `Book.find` looks, and in which order it answers:

- Each word of the query is looked for in every field: as a word, as the beginning of one, or, from three letters on,
  inside one. Case, diacritics and function words do not count; "Mueller" finds "Müller".
- Contacts that match more of the words win over all that match fewer, and only the former are given: "Sarah finance"
  means one person, not every Sarah.
- Among these, a match in the name counts most, then other names and addresses, organization and title, and last the
  note; a whole word counts more than a beginning, and that more than the inside of a word.

The database lives in memory: the file is the truth, and reading it again takes 0.2 ms a card. FTS5 answers for whole
words and beginnings; folded text answers for the insides of words and for telephone numbers.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from host.contacts.vcard import Card
from host.spelling import all_spellings, content_words, fold, spellings, words

__all__ = ["Book", "Contact", "Listed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contact:
    """One contact. What is not known is an empty string; of several addresses or numbers this is the preferred one."""

    name: str
    email: str = ""
    phone: str = ""
    organization: str = ""
    title: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A contact in the book, with its number there and what else its card says: nicknames, further addresses,
    categories.
    """

    id: int
    contact: Contact
    other_names: tuple[str, ...] = ()
    other_emails: tuple[str, ...] = ()
    other_phones: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()


_SCHEMA: Final = """
    CREATE VIRTUAL TABLE words USING fts5(name, other, work, rest, tokenize = 'unicode61', prefix = '1 2 3');
    CREATE TABLE folded (id INTEGER PRIMARY KEY, text TEXT NOT NULL, digits TEXT NOT NULL);
"""
# By field: what a whole word, a beginning and an inside of a word are worth there.
_WORTH: Final = {"name": (100, 60, 20), "other": (70, 40, 12), "work": (50, 30, 8), "rest": (20, 12, 3)}
_SHORTEST_INSIDE: Final = 3
_SHORTEST_NUMBER: Final = 5
_NO_DIGIT: Final = re.compile(r"\D+")


class Book:
    """Contacts that can be searched. Close it when done."""

    def __init__(self, cards: Sequence[Card]) -> None:
        self._listed = {number: _listed(number, card) for number, card in enumerate(cards, 1)}
        self._fields = {listed.id: _fields(listed) for listed in self._listed.values()}
        # Only ever used by one thread at a time, but not always by the one that read the file.
        self._database = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        self._database.executescript(_SCHEMA)
        self._database.execute("BEGIN")
        for listed in self._listed.values():
            fields = {name: " ".join(found) for name, found in self._fields[listed.id].items()}
            self._database.execute(
                "INSERT INTO words (rowid, name, other, work, rest) VALUES (?, ?, ?, ?, ?)",
                (listed.id, *(fields[name] for name in _WORTH)),
            )
            phones = " ".join(_NO_DIGIT.sub("", each) for each in (listed.contact.phone, *listed.other_phones))
            self._database.execute(
                "INSERT INTO folded VALUES (?, ?, ?)", (listed.id, " ".join(fields.values()), phones)
            )
        self._database.execute("COMMIT")

    def __len__(self) -> int:
        return len(self._listed)

    def get(self, number: int) -> Listed | None:
        """The contact with this number."""
        return self._listed.get(number)

    def find(self, query: str) -> list[Listed]:
        """The contacts that match best, the best first; all of them, by name, if the query is blank."""
        asked = [spellings(word) for word in content_words(query)]
        if not asked:
            return sorted(self._listed.values(), key=lambda each: (fold(each.contact.name), each.id))
        number = _NO_DIGIT.sub("", query)
        if len(number) >= _SHORTEST_NUMBER and not any(letter.isalpha() for letter in query):
            found = self._database.execute("SELECT id FROM folded WHERE instr(digits, ?) ORDER BY id", (number,))
            return [self._listed[each] for (each,) in found]
        worth = {each: self._worth(each, asked) for each in self._reached(asked)}
        most = max((matched for matched, _, _ in worth.values()), default=0)
        best = [each for each, (matched, _, _) in worth.items() if matched == most]
        exact = " ".join(fold(word) for word in words(query))

        def order(each: int) -> tuple[bool, int, int, str, int]:
            _, total, length = worth[each]
            name = fold(self._listed[each].contact.name)
            return name != exact, -total, length, name, each

        return [self._listed[each] for each in sorted(best, key=order)]

    def close(self) -> None:
        """Give the memory back."""
        self._database.close()

    def _reached(self, asked: Sequence[tuple[str, ...]]) -> list[int]:
        """The numbers of all contacts that match any of the words in any way."""
        every = [spelling for each in asked for spelling in each]
        # FTS5 reads what stands in double quotes as a word, whatever it is; words of ours contain none.
        expression = " OR ".join(f'"{word}"*' for word in every)
        found = {row for (row,) in self._database.execute("SELECT rowid FROM words WHERE words MATCH ?", (expression,))}
        for word in every:
            if len(word) >= _SHORTEST_INSIDE:
                inside = self._database.execute("SELECT id FROM folded WHERE instr(text, ?)", (word,))
                found.update(row for (row,) in inside)
        return sorted(found)

    def _worth(self, number: int, asked: Sequence[tuple[str, ...]]) -> tuple[int, int, int]:
        """How many of the words a contact matches, how well, and how many words its name has."""
        fields = self._fields[number]
        best = [max(_match(fields, spelling) for spelling in spelled) for spelled in asked]
        return sum(each > 0 for each in best), sum(best), len(words(self._listed[number].contact.name))


def _match(fields: dict[str, list[str]], word: str) -> int:
    """What the best match of a folded word in these fields is worth; 0 if there is none."""
    best = 0
    for field, (whole, beginning, inside) in _WORTH.items():
        for each in fields[field]:
            if each == word:
                best = max(best, whole)
            elif each.startswith(word):
                best = max(best, beginning)
            elif len(word) >= _SHORTEST_INSIDE and word in each:
                best = max(best, inside)
    return best


def _listed(number: int, card: Card) -> Listed:
    return Listed(
        id=number,
        contact=Contact(
            name=card.name,
            email=next(iter(card.emails), ""),
            phone=next(iter(card.phones), ""),
            organization=card.organization,
            title=card.title,
            note=card.note,
        ),
        other_names=card.other_names,
        other_emails=card.emails[1:],
        other_phones=card.phones[1:],
        categories=card.categories,
    )


def _fields(listed: Listed) -> dict[str, list[str]]:
    """The words of each field in all their spellings, folded."""
    contact = listed.contact
    texts = {
        "name": (contact.name,),
        "other": (*listed.other_names, contact.email, *listed.other_emails),
        "work": (contact.organization, contact.title),
        "rest": (contact.note, *listed.categories),
    }
    return {
        field: [spelling for text in found for word in words(text) for spelling in all_spellings(word)]
        for field, found in texts.items()
    }
