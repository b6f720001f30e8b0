"""The samples: what agent code leaves open, the conversation settles; without it, the loops ask back and nothing
happens.

The code runs here in process, through the proxies that stand for capabilities there, so that what is shown is the loops
and not the sandbox.
"""

from __future__ import annotations

import ast
import inspect
import json
import mailbox
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from types import CodeType, FunctionType

import pytest

import host
from host.capability import context_local, inheriting
from host.contacts import Contacts, open_contacts
from host.contacts.vcard import read_cards
from host.context import Inherited
from host.conversation import Conversation
from host.errors import NeedsClarification
from host.outbox import Outbox
from host.samples import SAMPLES, Sample
from host.search import Search, open_search

type World = tuple[Contacts, Search, Path]


@asynccontextmanager
async def opened(sample: Sample, place: Path) -> AsyncIterator[World]:
    contacts = open_contacts(sample.contacts)
    search = open_search(sample.files, index=place / "index.sqlite3")
    try:
        yield contacts, search, place / "outbox"
    finally:
        await contacts.aclose()
        await search.aclose()


async def run(sample: Sample, world: World, inherited: Inherited) -> None:
    """Run a sample's code with the capabilities in scope, as the sandbox does."""
    contacts, search, outbox = world
    scope = {
        "contacts": context_local(contacts),
        "search": context_local(search),
        "outbox": context_local(Outbox(outbox, files=sample.files)),
    }
    code = compile(sample.code.read_text(), sample.code.name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    assert isinstance(code, CodeType)
    assert code.co_flags & inspect.CO_COROUTINE
    with inheriting(inherited):
        await FunctionType(code, scope)()


def mails(outbox: Path) -> list[EmailMessage]:
    if not outbox.exists():
        return []
    box = mailbox.Maildir(outbox, create=False)
    found = [message_from_bytes(box.get_bytes(key), policy=policy.default) for key in sorted(box.keys())]
    box.close()
    return found


SENT = {
    "board": ("sarah.chen@halden-bikes.example", "weekly-metrics-2025-w19.md"),
    "clinic": ("s.adeyemi@animal-hospital-lund.example", "xray-report-bruno.md"),
}


@pytest.mark.parametrize("name", sorted(SENT))
async def test_forked_the_right_file_goes_to_the_right_sarah(name: str, tmp_path: Path) -> None:
    """The same code in two worlds: what "the report" and "Sarah" mean is in the conversation alone."""
    sample = SAMPLES[name]
    async with opened(sample, tmp_path) as world:
        await run(sample, world, Inherited.of(Conversation.load(sample.thread)))
    (mail,) = mails(tmp_path / "outbox")
    (attached,) = mail.iter_attachments()
    assert (mail["To"].addresses[0].addr_spec, attached.get_filename()) == SENT[name]


@pytest.mark.parametrize("name", sorted(SENT))
async def test_cold_nothing_is_sent(name: str, tmp_path: Path) -> None:
    """The first question already cannot be told, and says between which."""
    sample = SAMPLES[name]
    async with opened(sample, tmp_path) as world:
        with pytest.raises(NeedsClarification) as caught:
            await run(sample, world, Inherited.cold())
    assert caught.value.question == 'Which one is meant by "the report"?'
    assert len(caught.value.options) > 2
    assert mails(tmp_path / "outbox") == []


@pytest.mark.parametrize("name", sorted(SENT))
async def test_cold_neither_sarah_is_taken(name: str, tmp_path: Path) -> None:
    """Each of the two is named as an option."""
    async with opened(SAMPLES[name], tmp_path) as (contacts, _, _):
        with pytest.raises(NeedsClarification) as caught:
            await contacts.ask("Sarah's address", inherited=Inherited.cold())
    assert len(caught.value.options) == 2
    assert all("Sarah" in option for option in caught.value.options)


def said_on(sample: Sample, *more: tuple[str, str]) -> Inherited:
    """A sample's conversation, gone on with what was said next: by whom, and what."""
    conversation = Conversation.load(sample.thread)
    for role, text in more:
        conversation = conversation.user(text) if role == "user" else conversation.assistant(text)
    return Inherited.of(conversation)


def rewritten(sample: Sample, *pairs: tuple[str, str]) -> Inherited:
    """A sample's conversation in which words have changed places."""
    text = sample.thread.read_text()
    for one, other in pairs:
        assert one in text
        text = text.replace(one, "\0").replace(other, one).replace("\0", other)
    return Inherited.of(Conversation.from_json(json.loads(text)))


async def test_who_asked_for_it_decides(tmp_path: Path) -> None:
    """If the two Sarahs change places in what was said, the other one is meant: no rule knows the sample."""
    sample = SAMPLES["board"]
    inherited = rewritten(sample, ("Sarah Chen in finance", "Sarah Lindqvist in design"))
    async with opened(sample, tmp_path) as (contacts, _, _):
        assert (await contacts.ask("Sarah's address", inherited=inherited)).name == "Sarah Lindqvist"


async def test_what_was_decided_decides(tmp_path: Path) -> None:
    """If oak was taken in the end and not beech, the offer in oak is meant."""
    sample = SAMPLES["renovation"]
    async with opened(sample, tmp_path) as (_, search, _):
        file = await search.ask("the offer", inherited=rewritten(sample, ("oak", "beech")))
    assert file.path == "offers/offer-kitchen-oak.md"


async def test_what_is_said_later_counts(tmp_path: Path) -> None:
    """The same questions, asked later in the same conversation, mean another report and another Sarah."""
    sample = SAMPLES["clinic"]
    inherited = said_on(
        sample,
        ("assistant", "It has gone out."),
        (
            "user",
            "Now Miso. Sarah Whitlock would like to read the blood values herself, so send her the report as well.",
        ),
    )
    async with opened(sample, tmp_path) as (contacts, search, _):
        assert (await contacts.ask("Sarah's address", inherited=inherited)).name == "Sarah Whitlock"
        file = await search.ask("the report", inherited=inherited)
    assert file.path == "laboratory/blood-report-miso-2025-05-12.txt"


async def test_another_matter_means_another_man(tmp_path: Path) -> None:
    """Once the roof's permit is there, the roofer and his offer are meant."""
    sample = SAMPLES["renovation"]
    inherited = said_on(
        sample,
        ("assistant", "I have written to him."),
        (
            "user",
            "The permit for the roof is here! So Tom Riedel can begin in July. Accept his offer for the roof as well.",
        ),
    )
    async with opened(sample, tmp_path) as (contacts, search, _):
        assert (await contacts.ask("Tom", inherited=inherited)).name == "Tom Riedel"
        assert (await search.ask("the offer", inherited=inherited)).path == "offers/offer-roof.md"


async def test_a_decision_that_was_taken_back_does_not_count(tmp_path: Path) -> None:
    """Oak was chosen first and beech in the end; the joiner made the kitchen's offers."""
    sample = SAMPLES["renovation"]
    inherited = Inherited.of(Conversation.load(sample.thread))
    async with opened(sample, tmp_path) as (contacts, search, _):
        assert (await search.ask("the offer", inherited=inherited)).path == "offers/offer-kitchen-beech.md"
        assert (await contacts.ask("Tom", inherited=inherited)).name == "Tom Hagen"
        for ask in (search.ask, contacts.ask):
            with pytest.raises(NeedsClarification):
                await _asked(ask, "the offer" if ask == search.ask else "Tom")


async def _asked(ask: Callable[..., Awaitable[object]], question: str) -> object:
    return await ask(question, inherited=Inherited.cold())


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=list(SAMPLES))
async def test_samples_are_whole(sample: Sample, tmp_path: Path) -> None:
    """Every file can be read, every contact can be written to, and the conversation is recognised."""
    async with opened(sample, tmp_path) as (contacts, search, _):
        assert search.indexed.left_out == ()
        assert search.indexed.added >= 12
        assert all(contact.email for contact in await contacts.find(""))
    assert len(read_cards(sample.contacts.read_bytes())) >= 8
    assert Conversation.load(sample.thread).length >= 10


def test_the_shapes_differ_between_the_samples() -> None:
    """Between them they show three shapes of conversation and both versions of vCard."""
    threads = {name: json.loads(sample.thread.read_text()) for name, sample in SAMPLES.items()}
    assert "tool_calls" in json.dumps(threads["board"])
    assert "tool_use" in json.dumps(threads["clinic"])
    assert "function_call_output" in json.dumps(threads["renovation"])
    for sample in SAMPLES.values():
        text = sample.contacts.read_text()
        assert "VERSION:3.0" in text
        assert "VERSION:4.0" in text


def test_no_rule_knows_a_sample() -> None:
    """No name and no subject of a sample occurs in the code that resolves it, or in what its tools say of themselves."""
    package = Path(host.__file__).parent
    files = [path for place in ("models", "loop") for path in (package / place).rglob("*.py")]
    known = set(re.findall(r"\w+", "\n".join(path.read_text() for path in files).lower()))
    assert not known & {
        "sarah",
        "chen",
        "lindqvist",
        "metrics",
        "halden",
        "adeyemi",
        "bruno",
        "hagen",
        "beech",
        "kitchen",
    }
