"""The capability `contacts`: a vCard file that agents can search, and ask about.

`find` is plain. `ask` delegates: a loop of its own looks contacts up and says which one is meant, or that this is open.
The loop sees the question, and the conversation that came with the call; it sees contacts only through its tool.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from host.capability import Capability, repeatable
from host.contacts.book import Book, Contact, Listed
from host.contacts.vcard import VCardError, read_cards
from host.context import Inherited
from host.errors import HostError, NeedsClarification
from host.loop import Agent, NoAnswer, Observe, ToolError, choose, chooser, lookup
from host.models.lexical import Lexical
from host.models.port import Model

__all__ = ["Contacts", "ContactsError", "open_contacts"]


class ContactsError(HostError, ValueError):
    """A contacts file cannot be used. The message names the file and, where one is at fault, the line."""


def open_contacts(vcf: Path, *, model: Model | None = None, observe: Observe | None = None) -> Contacts:
    """The contacts of a vCard file (2.1, 3.0 or 4.0). Reads all of it, or raises ContactsError and has read none.

    `model` thinks for `ask` (the lexical model, if none is given); `observe` is told what its loops do.
    """
    try:
        cards = read_cards(vcf.read_bytes())
    except VCardError as error:
        raise ContactsError(f"{vcf}: {error}") from error
    except OSError as error:
        raise ContactsError(f"{vcf} cannot be read: {error.strerror or error}.") from error
    return Contacts(Book(cards), model=model or Lexical(), observe=observe)


class Contacts(Capability):
    """The people and organizations that the person knows."""

    name = "contacts"
    errors = (NeedsClarification, NoAnswer)

    def __init__(self, book: Book, *, model: Model, observe: Observe | None = None) -> None:
        super().__init__()
        self._book = book
        self._agent = _agent(book, model)
        self._observe = observe

    @repeatable
    async def find(self, name: str) -> list[Contact]:
        """The contacts that fit best, the best first, by any part of name, nickname, address, organization, title or
        note.

        An empty list if none fits; all contacts if the text is blank.
        """
        return [listed.contact for listed in self._book.find(name)]

    @repeatable
    async def ask(self, question: str, *, inherited: Inherited) -> Contact:
        """The one contact that a question means, such as "Sarah's address".

        Raises NeedsClarification if the question leaves it open.
        """
        return await choose(self._agent, Contact, question, inherited, observe=self._observe)

    async def aclose(self) -> None:
        """Give the memory back."""
        self._book.close()


def _agent(book: Book, model: Model) -> Agent:
    async def find(arguments: Mapping[str, object]) -> object:
        return [_shown(listed) for listed in book.find(str(arguments["text"]))]

    async def pick(key: object) -> Contact:
        listed = book.get(key) if isinstance(key, int) else None
        if listed is None:
            raise ToolError(f"There is no contact with the id {key}. Use an id from a result of `find`.")
        return listed.contact

    return chooser(
        name="contacts",
        about="You look after a person's contacts.",
        model=model,
        lookups=[
            lookup(
                "find",
                "Find contacts by any part of a name, nickname, e-mail address, organization, title or note."
                " Gives the contacts that fit best, with their phone number and what else is known.",
                {"text": {"type": "string", "description": "Part of a name, or a word or two about the contact."}},
                find,
                required=["text"],
            )
        ],
        key="id",
        described={"type": "integer", "description": "The contact's id."},
        pick=pick,
    )


def _shown(listed: Listed) -> dict[str, object]:
    """A contact as the loop sees it: with its id, and without what is not known."""
    contact = listed.contact
    fields = {
        "id": listed.id,
        "name": contact.name,
        "also_called": list(listed.other_names),
        "organization": contact.organization,
        "title": contact.title,
        "email": contact.email,
        "other_emails": list(listed.other_emails),
        "phone": contact.phone,
        "categories": list(listed.categories),
        "note": contact.note,
    }
    return {name: value for name, value in fields.items() if value}
