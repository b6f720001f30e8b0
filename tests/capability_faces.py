"""Capabilities of which the outward faces are looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Annotated, NotRequired, TypedDict

from pydantic import Field

from host.capability import Capability, delegates, repeatable
from host.context import Inherited
from host.errors import CapabilityError, NeedsClarification


class Kind(Enum):
    """What a contact is."""

    PERSON = "person"
    COMPANY = "company"


@dataclass(frozen=True)
class Contact:
    """One contact.

    Of the person's address book.
    """

    name: str
    kind: Kind = Kind.PERSON
    born: date | None = None


class Row(TypedDict):
    id: int
    note: NotRequired[str]


class QuotaSpent(CapabilityError):
    """No calls are left."""

    remaining: int


class Contacts(Capability):
    """The person's contacts."""

    errors = (NeedsClarification, QuotaSpent, ValueError)

    async def find(
        self, name: str, *more: int, kind: Kind = Kind.PERSON, limit: int = 5, **others: str
    ) -> list[Contact]:
        r"""Contacts by name: "Sarah", or \S+.

        Best first, and never '''three'''.
        """
        return [Contact(name=name)]

    async def ask(self, question: str, *, inherited: Inherited) -> Contact:
        """Who is meant.

        Args:
            question: what is asked, in words.
            inherited: the conversation so far,
                cut at the call.
        """
        return Contact(name=f"{question} {bool(inherited)}")

    @delegates(context="cold")
    async def compare(self, contacts: Sequence[Contact], *, history: Inherited) -> list[Row]:
        """Compare contacts.

        :param contacts: the contacts
        :param history: what was said
        """
        return []


class Outbox(Capability):
    """Where mail is put."""

    @repeatable
    async def send(
        self, to: Contact, price: Decimal = Decimal("1.5"), *, subject: Annotated[str, Field(description="One line.")]
    ) -> None:
        """Put a mail in the box."""
