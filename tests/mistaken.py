"""Capabilities for the tests of usual mistakes, and a look at what an agent reads of a failure."""

from __future__ import annotations

from dataclasses import dataclass

from host import Capability, Conversation, Inherited, NeedsClarification, Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Contact:
    """One contact."""

    name: str
    email: str


ANN = Contact(name="Ann", email="ann@x.example")


class Contacts(Capability):
    """The contacts."""

    errors = (NeedsClarification,)

    async def find(self, name: str, limit: int = 10) -> list[Contact]:
        """Contacts by name."""
        return [ANN]

    async def ask(self, question: str, *, inherited: Inherited) -> Contact:
        """The one contact that is meant."""
        if "Sarah" in question:
            raise NeedsClarification("Which Sarah?", ("Chen", "Okafor"))
        return ANN


class Files(Capability):
    """Documents."""

    async def read(self, path: str) -> str:
        """The text of a document."""
        if path != "plan.md":
            raise FileNotFoundError(f"There is no file {path!r} here.")
        return "The plan."


class Outbox(Capability):
    """Mail."""

    async def send(self, to: str, subject: str, *, urgent: bool = False) -> str:
        """Put a mail into the outbox."""
        return f"to {to}"


CAPABILITIES = (Contacts(), Files(), Outbox())
THREAD = Conversation.of("Ann asked for the plan.")


def failed(outcome: Outcome, kind: str, message: str, *, hint: str | None = None, of: str = "script") -> None:
    """Check what an agent reads of a failure."""
    assert outcome.error is not None
    error = outcome.error
    assert (error.kind, error.type, error.message, error.hint) == (of, kind, message, hint)
