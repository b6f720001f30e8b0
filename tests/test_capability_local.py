"""Capabilities for trusted code in process: a context-local proxy around the real object adds what is inherited."""

from __future__ import annotations

import copy
import inspect
import pydoc
from typing import Any, Literal, Self, cast

import pytest
import trio
from trio.testing import Sequencer

from host.capability import (
    Capability,
    Delegation,
    Dispatch,
    Table,
    context_local,
    declared,
    delegates,
    describe,
    inheriting,
)
from host.context import Inherited
from host.conversation import Conversation
from host.errors import NeedsClarification


class Contacts(Capability):
    """The person's contacts."""

    errors = (NeedsClarification,)

    def __init__(self, names: list[str]) -> None:
        super().__init__()
        self.names = names
        self.received: list[Inherited] = []

    def __len__(self) -> int:
        return len(self.names)

    async def __aenter__(self) -> Self:
        self.entered = True
        return self

    async def __aexit__(self, *_: object) -> None:
        self.entered = False

    async def find(self, name: str) -> list[str]:
        """Contacts by name."""
        return [known for known in self.names if name in known]

    async def ask(self, question: str, *, limit: int = 1, inherited: Inherited) -> str:
        """Who is meant."""
        self.received.append(inherited)
        if not inherited:
            raise NeedsClarification("Which Sarah?", self.names)
        return f"{question} {limit}"

    @delegates(context="cold")
    async def look(self, *, inherited: Inherited, **where: str) -> str:
        """Look it up."""
        self.received.append(inherited)
        return f"{where}"

    async def both(self, *, inherited: Inherited) -> str:
        """Uses another method of its own."""
        return await self.ask("inner", inherited=inherited)


COLD = Inherited.cold()
SAID = Conversation.of("Sarah Chen in finance asked for the metrics.")


def real_and_proxy() -> tuple[Contacts, Contacts]:
    """A capability and what stands for it."""
    real = Contacts(["Sarah Chen", "Sarah Novak"])
    return real, context_local(real)


def ask(contacts: Contacts, *args: Any, **kwargs: Any) -> Any:
    """Call `ask` as callers of the proxy do: without the parameter that its class requires."""
    return cast("Any", contacts).ask(*args, **kwargs)


async def test_r59_code_in_process_calls_as_usual_and_the_conversation_travels_along() -> None:
    """Within the block every delegating call receives it."""
    real, contacts = real_and_proxy()
    with inheriting(SAID):
        assert await ask(contacts, "who?", limit=2) == "who? 2"
        assert await cast("Any", contacts).both() == "inner 1"
    assert real.received == [Inherited.of(SAID), Inherited.of(SAID)]


async def test_r59_context_cold_starts_from_the_request_alone() -> None:
    """And what the method then raises is its own exception."""
    real, contacts = real_and_proxy()
    with inheriting(SAID), pytest.raises(NeedsClarification) as caught:
        await ask(contacts, "who?", context="cold")
    assert caught.value.options == ("Sarah Chen", "Sarah Novak")
    assert real.received == [Inherited.cold()]


async def test_r06_the_tools_own_default_counts_in_process_too() -> None:
    """`look` is declared cold, unless the call says fork."""
    real, contacts = real_and_proxy()
    with inheriting(SAID):
        assert await cast("Any", contacts).look(city="Oslo") == "{'city': 'Oslo'}"
        await cast("Any", contacts).look(context="fork")
    assert real.received == [Inherited.cold(), Inherited.of(SAID)]


async def test_r07_r58_policy_and_a_cold_run_decide_in_process_too() -> None:
    """In the same order as for code in a sandbox; each delegation is recorded with its chooser."""
    _, contacts = real_and_proxy()
    delegations: list[Delegation] = []
    look = cast("Any", contacts).look
    with inheriting(SAID, policy="always", record=delegations.append):
        await look(context="cold")
    with inheriting(SAID, policy="never", record=delegations.append):
        await look(context="fork")
    with inheriting(SAID, cold=True, record=delegations.append):
        await look(context="fork")
    assert [(d.path, d.context, d.chooser) for d in delegations] == [
        ("contacts.look", "fork", "policy"),
        ("contacts.look", "cold", "policy"),
        ("contacts.look", "cold", "run"),
    ]


async def test_r57_two_tasks_at_once_never_see_each_others_conversation() -> None:
    """Each task's block is its own, also while both are inside, and their children inherit from them."""
    real, contacts = real_and_proxy()
    order = Sequencer()
    conversations = {"left": Conversation.of("left"), "right": Conversation.of("right")}
    received: dict[str, Inherited] = {}

    async def child(who: str) -> None:
        await ask(contacts, who)
        received[who] = real.received[-1]

    async def run(who: str, first: int) -> None:
        async with order(first):
            pass
        with inheriting(conversations[who]):
            async with order(first + 2), trio.open_nursery() as nursery:
                nursery.start_soon(child, who)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run, "left", 0)
        nursery.start_soon(run, "right", 1)
    assert received == {who: Inherited.of(conversation) for who, conversation in conversations.items()}


async def test_r39_the_conversation_is_cut_at_the_call() -> None:
    """Not at the await, and not where the block began."""
    real, contacts = real_and_proxy()
    now = SAID
    with inheriting(lambda: Inherited.of(now)):
        now = now.user("And Novak is in design.")
        at_the_call = now
        call = ask(contacts, "who?")
        now = now.user("Later.")
        await call
    assert real.received == [Inherited.of(at_the_call)]


async def test_a_default_of_the_hidden_parameter_is_never_used() -> None:
    """It is there for type checkers: the call below checks, and receives the conversation all the same."""

    class Search(Capability):
        async def ask(self, question: str, *, inherited: Inherited = COLD) -> bool:
            return bool(inherited)

    search = context_local(Search())
    with inheriting(SAID):
        assert await search.ask("who?")
    assert "inherited" not in str(inspect.signature(search.ask))


async def test_blocks_nest_and_end() -> None:
    """The innermost counts; after it the outer one does again."""
    real, contacts = real_and_proxy()
    inner = Conversation.of("inner")
    with inheriting(SAID):
        with inheriting(inner):
            await ask(contacts, "a")
        await ask(contacts, "b")
    assert real.received == [Inherited.of(inner), Inherited.of(SAID)]


async def test_outside_of_any_block_a_fork_is_an_error_and_a_cold_call_is_none() -> None:
    """A fork of nothing is never silently empty."""
    real, contacts = real_and_proxy()
    with pytest.raises(LookupError) as caught:
        await ask(contacts, "who?")
    assert str(caught.value) == (
        'contacts.ask: there is no conversation here that it could receive. Say context="cold".'
    )
    await cast("Any", contacts).look()
    assert real.received == [Inherited.cold()]


async def test_r55_callers_cannot_pass_the_conversation_themselves() -> None:
    """Not even to a method that takes any keyword."""
    real, contacts = real_and_proxy()
    with inheriting(SAID):
        with pytest.raises(TypeError) as caught:
            await contacts.ask("who?", inherited=Inherited.cold())
        assert str(caught.value) == "Contacts.ask() got an unexpected keyword argument 'inherited'"
        with pytest.raises(TypeError):
            await contacts.look(inherited=Inherited.cold())
    assert real.received == []


async def test_a_wrong_choice_is_an_error() -> None:
    """Only the two words are known."""
    _, contacts = real_and_proxy()
    with inheriting(SAID), pytest.raises(ValueError, match=r"^context is .fork. or .cold., not 'warm'$"):
        await ask(contacts, "who?", context="warm")


async def test_wrong_arguments_raise_what_the_method_itself_would() -> None:
    """In the interpreter's own words, and without being recorded as a delegation."""
    real, contacts = real_and_proxy()
    delegations: list[Delegation] = []
    with inheriting(SAID, record=delegations.append):
        for args, kwargs in [((), {}), (("a", "b"), {}), (("a",), {"other": 1})]:
            with pytest.raises(TypeError) as expected:
                ask(real, *args, **kwargs, inherited=Inherited.cold())
            with pytest.raises(TypeError) as caught:
                ask(contacts, *args, **kwargs)
            assert str(caught.value) == str(expected.value)
    assert delegations == []


def test_r59_the_proxy_is_the_object_in_all_else() -> None:
    """Class, attributes in both directions, dir, repr, length, equality, hash, copies."""
    real, contacts = real_and_proxy()
    assert isinstance(contacts, Contacts)
    assert contacts.__class__ is Contacts
    assert contacts.names is real.names
    contacts.names = ["x"]
    assert real.names == ["x"]
    del contacts.names
    assert not hasattr(real, "names")
    real.names = ["y", "z"]
    assert (len(contacts), repr(contacts), str(contacts), f"{contacts}") == (2, repr(real), str(real), f"{real}")
    assert dir(contacts) == dir(real)
    assert vars(contacts) == vars(real)
    assert contacts == real
    assert real == contacts
    assert contacts == context_local(real)
    assert hash(contacts) == hash(real)
    assert {contacts, real} == {real}
    assert contacts.find == real.find
    assert contacts.name == "contacts"
    with pytest.raises(AttributeError, match="'Contacts' object has no attribute 'nothing'"):
        contacts.nothing  # type: ignore[attr-defined]  # noqa: B018
    assert type(copy.copy(contacts)) is Contacts


async def test_r59_the_objects_own_protocols_work_through_the_proxy() -> None:
    """`async with` and what it sets reach the object."""
    real, contacts = real_and_proxy()
    async with contacts:
        assert real.entered
    assert not real.entered


def test_r59_r09_signatures_and_help_show_the_choice_and_not_the_private_channel() -> None:
    """What `inspect` and `help` tell is what agents are told."""
    _, contacts = real_and_proxy()
    assert str(inspect.signature(contacts.ask)) == (
        "(question: str, *, limit: int = 1, context: Literal['fork', 'cold'] = 'fork') -> str"
    )
    assert str(inspect.signature(contacts.look)) == (
        "(*, context: Literal['fork', 'cold'] = 'cold', **where: str) -> str"
    )
    assert contacts.ask.__annotations__ == {
        "question": str,
        "limit": int,
        "context": Literal["fork", "cold"],
        "return": str,
    }
    assert (contacts.ask.__name__, contacts.ask.__qualname__, contacts.ask.__doc__) == (
        "ask",
        "Contacts.ask",
        "Who is meant.",
    )
    assert inspect.iscoroutinefunction(contacts.ask)
    assert not hasattr(contacts.ask, "__wrapped__")
    text = pydoc.plain(pydoc.render_doc(contacts))
    assert text.startswith("Python Library Documentation: Contacts in module ")
    signature = "(self, question: str, *, limit: int = 1, context: Literal['fork', 'cold'] = 'fork') -> str"
    assert f"async ask{signature}".replace(" ", "") in "".join(text.replace("|", "").split())
    assert "The person's contacts." in text
    assert "inherited:" not in text


def test_r59_methods_that_do_not_delegate_are_the_objects_own() -> None:
    """Nothing stands between."""
    real, contacts = real_and_proxy()
    assert contacts.find.__self__ is real  # type: ignore[attr-defined]


def test_a_proxy_is_declared_and_described_as_its_object_is() -> None:
    """A host may be opened with it; a proxy of a proxy is a proxy of the object."""
    real, contacts = real_and_proxy()
    assert declared(contacts) == declared(real)
    assert describe([contacts]) == describe([real])
    assert Table([contacts]).capabilities[0] is real
    assert context_local(contacts) == contacts
    assert type(context_local(contacts)).__mro__ == type(contacts).__mro__


async def test_a_dispatch_calls_the_object_behind_a_proxy() -> None:
    """Its own snapshot counts there, not the block's."""
    from guest_stdlib.channel.events import Call

    real, contacts = real_and_proxy()
    other = Inherited.of(Conversation.of("other"))
    with inheriting(SAID):
        await Dispatch([contacts], inherited=other).answer(Call(call=1, path="contacts.ask", args=("who?",)))
    assert real.received == [other]


def test_no_hook_of_the_class_hears_of_its_proxies() -> None:
    """A class that registers its subclasses registers no proxy."""
    registered: list[str] = []

    class Registering(Capability):
        def __init_subclass__(cls, **keywords: Any) -> None:
            super().__init_subclass__(**keywords)
            registered.append(cls.__name__)

    class Registered(Registering):
        async def ask(self, *, inherited: Inherited) -> None: ...

    context_local(Registered())
    assert registered == ["Registered"]
