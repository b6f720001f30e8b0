"""The choice of context at the agent's own line: what proxies show, take and refuse, in each dialect."""

from __future__ import annotations

import inspect
import pydoc
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from guest_stdlib.declared import Declared
from host.capability import declared
from tests.dialect_scene import Team
from tests.proxy_session import Session, shown

EXPLORE = (
    "(instruction: str, *, context_depth: Literal['none', 'recent', 'all'] = 'recent', context_turns: int = 5, "
    "context_scope: Literal['conversation', 'agents', 'full'] = 'conversation') -> list[str]"
)
BRANCH = "(instructions: str, *, context: Literal['inherit', 'compact', 'none'] = 'inherit') -> list[str]"
TEAM = declared(Team())


@pytest.fixture
def session() -> Iterator[Session]:
    session = Session(TEAM)
    yield session
    session.close()


def decided(team: Declared) -> Declared:
    """The team, as a run under a policy that decides has it."""
    return replace(team, methods=tuple(replace(method, offered=False) for method in team.methods))


def test_r01_signature_and_help_show_the_arguments_of_the_dialect(session: Session) -> None:
    """Each tool its own, with its own defaults."""
    team: Any = session.scope["team"]
    assert str(inspect.signature(team.explore)) == EXPLORE
    assert str(inspect.signature(team.branch)) == BRANCH
    assert inspect.signature(team.tight).parameters["context_depth"].default == "all"
    assert inspect.signature(team.explore).parameters["context_turns"].default == 5
    whole = pydoc.plain(pydoc.render_doc(type(team)))
    unwrapped = "".join(whole.replace("|", "").split())
    for name, signature in (("branch", BRANCH), ("explore", EXPLORE)):
        assert f"async{name}(self,{''.join(signature[1:].split())}" in unwrapped


def test_r55_what_was_said_crosses_beside_the_arguments(session: Session) -> None:
    """By name, only what was said, and nothing where nothing was."""
    session.run(
        "await team.branch('x', context='compact')\n"
        "await team.explore('x', context_turns=3, context_scope='agents')\n"
        "await team.explore(instruction='x')\n"
        "team.review.blocking('x', context='forked')"
    )
    assert [(made.context, made.kwargs, made.delegates) for made in session.made] == [
        ({"context": "compact"}, {}, True),
        ({"context_turns": 3, "context_scope": "agents"}, {}, True),
        ({}, {"instruction": "x"}, True),
        ({"context": "forked"}, {}, True),
    ]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("team.branch('x', context='cold')", "ValueError: team.branch(): context is \"inherit\", \"compact\" or \"none\", not 'cold'."),
        ("team.branch('x', context=None)", 'ValueError: team.branch(): context is "inherit", "compact" or "none", not None.'),
        ("team.review('x', context='fork')", "ValueError: team.review(): context is \"forked\" or \"isolated\", not 'fork'."),
        (
            "team.explore('x', context_depth='last')",
            "ValueError: team.explore(): context_depth is \"none\", \"recent\" or \"all\", not 'last'.",
        ),
        (
            "team.explore('x', context_turns=0)",
            "ValueError: team.explore(): context_turns is a whole number from 1 to 1,000, not 0.",
        ),
        (
            "team.explore('x', context_turns='3')",
            "ValueError: team.explore(): context_turns is a whole number from 1 to 1,000, not '3'.",
        ),
        (
            "team.explore('x', context_turns=10**5000)",
            "ValueError: team.explore(): context_turns is a whole number from 1 to 1,000, not a number so large.",
        ),
        (
            "team.explore('x', context='fork')",
            f"TypeError: team.explore() got an unexpected keyword argument 'context'. How much of the conversation goes along is said by 'context_depth', 'context_turns' and 'context_scope'. Signature: team.explore{EXPLORE}",
        ),
        (
            "team.branch('x', context_depth='all')",
            f"TypeError: team.branch() got an unexpected keyword argument 'context_depth'. Did you mean 'context'? Signature: team.branch{BRANCH}",
        ),
        (
            "team.branch('x', 'compact')",
            f"TypeError: team.branch() takes 1 positional argument but 2 were given. To be given by name: context. Signature: team.branch{BRANCH}",
        ),
        (
            "team.explore()",
            f"TypeError: team.explore() is missing 1 required argument: 'instruction'. Signature: team.explore{EXPLORE}",
        ),
        (
            "team.count('x', context='cold')",
            "TypeError: team.count() got an unexpected keyword argument 'context'. It does not delegate, so there is no context to choose. Signature: team.count(text: str) -> int",
        ),
    ],
)  # fmt: skip
def test_r11_a_wrong_choice_is_refused_at_the_line_with_what_may_be_said(
    session: Session, call: str, message: str
) -> None:
    """Before anything crosses."""
    assert shown(session.fail(f"await {call}")) == message
    assert session.made == []
    assert session.refused == 1


def test_r11_a_call_in_place_of_a_word_is_a_forgotten_await(session: Session) -> None:
    """It says so, as everywhere."""
    error = session.fail("await team.branch('x', context=team.count('y'))")
    assert str(error).startswith("team.count(...) on line 1 was not awaited.")
    assert session.made == []


def test_r08_under_a_policy_that_decides_nothing_offers_the_choice() -> None:
    """No signature, no help, and no sentence about a wrong call."""
    session = Session(decided(TEAM))
    team: Any = session.scope["team"]
    assert str(inspect.signature(team.explore)) == "(instruction: str) -> list[str]"
    assert "context" not in pydoc.plain(pydoc.render_doc(type(team)))
    assert shown(session.fail("team.explore('x', 'y')")) == (
        "TypeError: team.explore() takes 1 positional argument but 2 were given. "
        "Signature: team.explore(instruction: str) -> list[str]"
    )
    session.close()


def test_r07_under_a_policy_that_decides_what_is_said_does_no_harm() -> None:
    """Code that has learned the words elsewhere runs as it is: the policy decides, whatever is said."""
    session = Session(decided(TEAM))
    session.run("await team.branch('x', context='none')\nawait team.branch('x', context='warm')")
    assert [made.context for made in session.made] == [{"context": "none"}, {}]
    session.close()
