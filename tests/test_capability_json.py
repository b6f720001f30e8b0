"""Tools called by JSON: their schemas, and the way from what a model writes to a method's arguments."""

from __future__ import annotations

from collections.abc import Container
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from host.capability import Capability, Dispatch, schemas
from host.context import Inherited
from host.errors import CapabilityDefinitionError
from tests.capability_faces import Contact, Contacts, Kind, Outbox


def test_schemas_are_whole_json_schemas() -> None:
    """Types, defaults, descriptions and definitions are there, and no argument beyond the declared ones is allowed."""
    [find, _, compare, send] = schemas([Contacts(), Outbox()])
    assert find == {
        "name": "contacts_find",
        "description": "Contacts by name: \"Sarah\", or \\S+.\n\nBest first, and never '''three'''.",
        "input_schema": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "more": {"type": "array", "items": {"type": "integer"}},
                "kind": {"$ref": "#/$defs/Kind", "default": "person"},
                "limit": {"type": "integer", "default": 5},
            },
            "required": ["name"],
            "additionalProperties": {"type": "string"},
            "$defs": {"Kind": {"description": "What a contact is.", "enum": ["person", "company"], "type": "string"}},
        },
    }
    assert compare["input_schema"]["additionalProperties"] is False
    assert compare["input_schema"]["$defs"]["Contact"]["required"] == ["name"]
    assert send["input_schema"]["properties"]["subject"] == {"description": "One line.", "type": "string"}


async def test_a_call_written_as_json_reaches_the_method_with_real_values() -> None:
    """Dataclasses, enums, decimals and arguments by position are made from JSON."""
    taken: list[object] = []

    class Taker(Capability):
        async def take(self, to: Contact, price: Decimal, *more: Kind, day: date | None = None, **others: int) -> None:
            taken.extend([to, price, more, day, others])

    arguments = {
        "to": {"name": "Sarah", "kind": "company"},
        "price": "2.50",
        "more": ["person"],
        "day": "2026-01-02",
        "extra": 7,
    }
    await Dispatch([Taker()]).invoke_tool("taker_take", arguments)
    assert taken == [Contact("Sarah", Kind.COMPANY), Decimal("2.50"), (Kind.PERSON,), date(2026, 1, 2), {"extra": 7}]


async def test_json_that_does_not_fit_is_told_at_once_and_in_full() -> None:
    """One sentence names every fault and what the tool takes; nothing runs, and the call is counted as rejected."""
    dispatch = Dispatch([Contacts(), Outbox()])
    with pytest.raises(TypeError) as caught:
        await dispatch.invoke_tool("outbox_send", {"to": {"kind": "robot"}, "price": "much", "cc": "x"})
    assert str(caught.value) == (
        "outbox_send: `to.name`: field required; `to.kind`: input should be 'person' or 'company'; "
        "`price`: input should be a valid decimal; `subject` is missing; there is no `cc`. "
        "It takes `to`, `price`, `subject`."
    )
    assert dispatch.rejected == 1


async def test_an_unknown_tool_is_told_with_the_known_ones() -> None:
    """A model may name anything."""
    with pytest.raises(AttributeError) as caught:
        await Dispatch([Outbox()]).invoke_tool("outbox_sned", {})
    assert str(caught.value) == "There is no tool 'outbox_sned'. Known tools: outbox_send."


async def test_the_choice_written_as_json_is_checked_and_obeyed() -> None:
    """ "cold" gives a cold call; anything but the two words is refused; a tool without the choice has no such argument."""
    dispatch = Dispatch([Contacts()], inherited=Inherited.cold())
    asked = await dispatch.invoke_tool("contacts_ask", {"question": "who?", "context": "cold"})
    assert asked == Contact("who? False")
    with pytest.raises(TypeError, match='`context` is "fork" or "cold", not \'warm\''):
        await dispatch.invoke_tool("contacts_ask", {"question": "who?", "context": "warm"})
    with pytest.raises(TypeError, match="there is no `context`"):
        await Dispatch([Outbox()]).invoke_tool("outbox_send", {"to": {"name": "x"}, "subject": "", "context": "cold"})


async def test_r09_a_model_cannot_pass_the_private_channel() -> None:
    """Not even to a method that takes any keyword."""

    class Loose(Capability):
        async def ask(self, *, inherited: Inherited, **others: Any) -> str:
            return f"{others}"

    dispatch = Dispatch([Loose()], inherited=Inherited.cold())
    assert await dispatch.invoke_tool("loose_ask", {"a": 1}) == "{'a': 1}"
    with pytest.raises(TypeError, match="there is no `inherited`"):
        await dispatch.invoke_tool("loose_ask", {"inherited": "x"})


def test_a_type_without_json_schema_is_refused_where_a_schema_is_asked_for() -> None:
    """It may still cross to code: only the schema cannot be made."""

    class Giver(Capability):
        async def give(self, marks: Container[int]) -> None: ...

    with pytest.raises(
        CapabilityDefinitionError, match=r"^giver\.give: a type of its parameters cannot be read from JSON: "
    ):
        schemas([Giver()])
