"""What models are shown of capabilities: the stub, and the choice of context in stub and schema."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Generic, TypeVar

import pytest

from host.capability import Capability, declared, describe, schemas
from tests.capability_faces import Contact, Contacts, Outbox

T = TypeVar("T")


@dataclass
class Page(Generic[T]):  # noqa: UP046  Python 3.12 cannot resolve the newer form where annotations are strings
    items: list[T]
    next: int | None


STUB = '''\
# All this is in scope: import nothing, construct no capability. Await every method call.
# context= is what the work of the call starts from. "fork": this conversation up to now, for a
# request that leans on it, on names, files, wishes or decisions that the request itself does not
# say. "cold": the request alone, for one that says everything, such as a simple lookup or a web
# search.
import datetime
import decimal
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Literal, NotRequired, TypedDict

class Row(TypedDict):  # a plain dict; this name is not in scope
    id: int
    note: NotRequired[str]

class CapabilityError(Exception):
    """A capability could not do what was asked. `type` is the name of the original exception's class."""
    type: str

class NeedsClarification(Exception):
    """The request leaves open what is meant. Ask again with a request that says it; `options` are the candidates, if known."""
    question: str
    options: tuple[str, ...]

class QuotaSpent(Exception):
    """No calls are left."""
    remaining: int

class Kind(Enum):  # not in scope: write a member's name as text
    """What a contact is."""
    PERSON = 'person'
    COMPANY = 'company'

@dataclass
class Contact:
    """One contact."""
    name: str
    kind: Kind
    born: datetime.date | None

class Contacts:
    """The person's contacts."""
    # May raise NeedsClarification, QuotaSpent, ValueError.
    async def find(self, name: str, *more: int, kind: Kind | str = 'PERSON', limit: int = 5, **others: str) -> list[Contact]:
        """Contacts by name: "Sarah", or \\\\S+.

        Best first, and never \\'\\'\\'three\\'\\'\\'.
        """
    async def ask(self, question: str, *, context: Literal["fork", "cold"] = "fork") -> Contact:
        """Who is meant.

        Args:
            question: what is asked, in words.
        """
    async def compare(self, contacts: Sequence[Contact], *, context: Literal["fork", "cold"] = "cold") -> list[Row]:
        """Compare contacts.

        :param contacts: the contacts
        """

contacts: Contacts

class Outbox:
    """Where mail is put."""
    async def send(self, to: Contact, price: decimal.Decimal = decimal.Decimal('1.5'), *, subject: str) -> None:
        """Put a mail in the box."""

outbox: Outbox
'''.replace("\\'", "'")


# The stub


def test_the_stub_shows_all_that_is_in_scope_and_nothing_else() -> None:
    """Signatures, docstrings, the choice, exceptions and records: the whole text, as a model reads it."""
    assert describe([Contacts(), Outbox()]) == STUB


def test_the_stub_parses() -> None:
    """It is Python."""
    ast.parse(describe([Contacts(), Outbox()]))


def test_a_type_checker_takes_the_stub_and_checks_code_against_it(tmp_path: Path) -> None:
    """Correct code passes against the stub, and each kind of mistake is found."""
    (tmp_path / "scope.pyi").write_text(describe([Contacts(), Outbox()]))
    (tmp_path / "good.py").write_text(
        "from scope import *\n"
        "from scope import contacts, outbox\n"
        "async def main() -> None:\n"
        "    found = await contacts.find('Sarah', 1, 2, limit=3, kind='COMPANY')\n"
        "    asked = await contacts.ask('who?', context='cold')\n"
        "    rows = await contacts.compare((asked, *found))\n"
        "    await outbox.send(Contact(name='S', kind=found[0].kind, born=None), subject=str(rows[0]['id']))\n"
        "    try:\n"
        "        await contacts.ask('who?')\n"
        "    except NeedsClarification as error:\n"
        "        print(error.options[0].upper())\n"
    )
    (tmp_path / "bad.py").write_text(
        "from scope import contacts, outbox\n"
        "async def main() -> None:\n"
        "    await contacts.find(7)\n"
        "    await contacts.find('x', limit='3')\n"
        "    await contacts.ask('who?', context='warm')\n"
        "    await contacts.ask('who?', inherited=None)\n"
        "    await outbox.send('me', subject='x')\n"
    )

    def checked(name: str) -> list[str]:
        command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), name]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        return [line for line in done.stdout.splitlines() if ": error:" in line]

    assert checked("good.py") == []
    assert [line.split(":")[1] for line in checked("bad.py")] == ["3", "4", "5", "6", "7"]


def test_the_stub_is_the_same_each_time() -> None:
    """Byte for byte, so that a prefix cache holds; and in the caller's order of capabilities."""
    assert describe([Contacts(), Outbox()]) == describe([Contacts(), Outbox()])
    text = describe([Outbox(), Contacts()])
    assert text.index("outbox: Outbox") < text.index("contacts: Contacts")


def test_two_objects_of_one_class_share_its_stub() -> None:
    """The class is shown once, and each object by its name."""
    text = describe([Outbox(), Outbox(name="drafts")])
    assert text.count("class Outbox:") == 1
    assert "outbox: Outbox\n\ndrafts: Outbox\n" in text


def test_a_class_whose_name_is_a_records_is_shown_under_a_longer_one() -> None:
    """Names in scope keep their meaning: the class of a capability is not in scope, so it gives way."""

    class Holder(Capability):
        async def give(self) -> Contact:
            return Contact(name="x")

    Holder.__name__ = "Contact"
    text = describe([Holder()])
    assert "class ContactCapability:" in text
    assert "holder: ContactCapability" in text


def test_a_stub_without_delegation_is_plain() -> None:
    """Where nothing delegates, neither the choice nor NeedsClarification is mentioned."""
    text = describe([Outbox()])
    assert "context" not in text
    assert "NeedsClarification" not in text


def test_odd_declarations_make_valid_stubs() -> None:
    """Generic records, records and enums without members, control characters and quotes in docstrings."""

    @dataclass
    class Empty:
        pass

    class Nothing(Enum):
        pass

    class Odd(Capability):
        async def give(self, empty: Empty, nothing: Nothing | None = None) -> Page[Empty]:
            raise NotImplementedError

        async def end(self) -> None: ...

        end.__doc__ = 'Ends with NUL \0, with a backslash \\ and a "quote"'

    text = describe([Odd()])
    tree = ast.parse(text)
    assert "class Page[T]:\n    items: list[T]\n    next: int | None" in text
    assert "-> Page[Empty]: ..." in text
    [odd] = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Odd"]
    [end] = [node for node in odd.body if isinstance(node, ast.AsyncFunctionDef) and node.name == "end"]
    assert ast.get_docstring(end) == 'Ends with NUL \0, with a backslash \\ and a "quote"'


# The choice


def test_r01_every_delegating_tool_has_the_choice_in_its_schema_and_no_other_has() -> None:
    """One more property, `context`, for tools that can take the conversation; stub and declaration agree."""
    offered = {
        tool["name"]: "context" in tool["input_schema"]["properties"] for tool in schemas([Contacts(), Outbox()])
    }
    assert offered == {"contacts_find": False, "contacts_ask": True, "contacts_compare": True, "outbox_send": False}
    assert {m.name: m.delegates for m in declared(Contacts()).methods} == {"find": False, "ask": True, "compare": True}
    assert describe([Contacts(), Outbox()]).count('context: Literal["fork", "cold"]') == 2


def test_r02_the_description_of_the_choice_says_when_to_pass_the_history_and_when_not() -> None:
    """Fork for a request that leans on the conversation; cold where it says everything: a simple lookup, a web search."""
    [_, ask, compare] = schemas([Contacts()])
    assert ask["input_schema"]["properties"]["context"] == {
        "type": "string",
        "enum": ["fork", "cold"],
        "default": "fork",
        "description": (
            'What the work of the call starts from. "fork": this conversation up to now, for a request that leans on it,'
            ' on names, files, wishes or decisions that the request itself does not say. "cold": the request alone, for'
            ' one that says everything, such as a simple lookup or a web search. Left out: "fork".'
        ),
    }
    assert compare["input_schema"]["properties"]["context"]["description"].endswith('Left out: "cold".')
    heading = " ".join(describe([Contacts()]).replace("\n# ", " ").split())
    assert "such as a simple lookup or a web search" in heading


def test_r06_every_tool_shows_its_own_default() -> None:
    """In schema and stub: "fork" unless the tool declares otherwise."""
    defaults = [tool["input_schema"]["properties"].get("context", {}).get("default") for tool in schemas([Contacts()])]
    assert defaults == [None, "fork", "cold"]


@pytest.mark.parametrize("policy", ["always", "never"])
def test_r08_under_always_and_never_the_choice_is_not_offered(policy: Any) -> None:
    """Neither schema nor stub mentions it."""
    assert all("context" not in tool["input_schema"]["properties"] for tool in schemas([Contacts()], policy=policy))
    assert "context" not in describe([Contacts()], policy=policy)


def test_r09_the_private_channel_is_on_no_outward_face() -> None:
    """No schema, stub, declaration or docstring names the parameter or its type, whatever the parameter is called."""
    faces = [
        describe([Contacts(), Outbox()]),
        json.dumps(schemas([Contacts(), Outbox()])),
        json.dumps(declared(Contacts()).as_plain()),
    ]
    for face in faces:
        assert "nherited" not in face
        assert "history" not in face
        assert "cut at the call" not in face
