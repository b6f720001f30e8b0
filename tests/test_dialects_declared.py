"""Which dialect a tool speaks is declared; every outward face shows that dialect's own arguments and no others."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, cast

import pytest

from guest_stdlib.declared import Declared, Option
from host.capability import Capability, Policy, Table, context_local, declared, delegates, describe, inheriting, schemas
from host.context import COLD, DIALECTS, FORK, Argument, ContextChoice, Dialect, Inherited, spoken
from host.errors import CapabilityDefinitionError
from tests.dialect_scene import Team, history, part_of

MARKED = """\
# All this is in scope: import nothing, construct no capability. Await every method call.
# context= is what it knows.
# context_depth= is how far back into this conversation the work of the call can see. "recent": its
# last exchanges, for work that follows from what was just said. "all": to its beginning, for work
# that leans on names, files, wishes or decisions from early on. "none": the request alone, for one
# that says everything, such as a simple lookup or a web search.
# context_turns= is how many exchanges "recent" means. One goes from what a person says to the
# answer, whatever lies between. The tool may pass on fewer.
# context_scope= is what of it goes along. "conversation": the words of user and assistant.
# "agents": also what delegations brought, for work that builds on them. "full": also the results of
# all other calls, for work that would otherwise read or search the same again.
from typing import Literal
"""
BRIEFED = spoken("briefed", {"talk": ContextChoice(depth="all"), "nothing": COLD}, says="what it knows.")


class Desk(Capability):
    """Speaks a dialect of its own, but for one tool."""

    dialect = BRIEFED
    context = "nothing"

    async def ask(self, question: str, *, inherited: Inherited) -> str:
        """As the class says."""
        return question

    @delegates(context="talk", max_tokens=50)
    async def talk(self, question: str, *, inherited: Inherited) -> str:
        """With another default."""
        return question

    @delegates(dialect="window", context_turns=3)
    async def explore(self, *words: str, inherited: Inherited, **more: int) -> str:
        """In another dialect, where the class's default means nothing."""
        return str(words)


def choice_of(capability: Capability) -> dict[str, dict[str, object]]:
    """The arguments of each delegating method with their defaults."""
    return {
        method.name: {option.name: option.default for option in method.choice}
        for method in declared(capability).methods
        if method.choice
    }


def test_r06_r19_each_tool_declares_its_dialect_and_its_defaults() -> None:
    """The mark counts before the class, and the class before the dialect."""
    window = {"context_depth": "recent", "context_turns": 5, "context_scope": "conversation"}
    assert choice_of(Team()) == {
        "ask": {"context": "fork"},
        "branch": {"context": "inherit"},
        "explore": window,
        "review": {"context": "isolated"},
        "tight": {"context_depth": "all", "context_turns": 5, "context_scope": "full"},
    }
    assert choice_of(Desk()) == {
        "ask": {"context": "nothing"},
        "talk": {"context": "talk"},
        "explore": window | {"context_turns": 3},
    }


def test_r06_a_class_may_declare_all_sides_of_its_dialect() -> None:
    """Attributes with the names of the arguments; a subclass inherits and changes them, and a mark adds to them."""

    class Window(Capability):
        dialect = "window"
        context_depth = "all"

        async def one(self, *, inherited: Inherited) -> None: ...

    class Narrow(Window):
        context_scope = "full"

        @delegates(context_turns=2)
        async def two(self, *, inherited: Inherited) -> None: ...

    assert choice_of(Window())["one"] == {"context_depth": "all", "context_turns": 5, "context_scope": "conversation"}
    assert choice_of(Narrow()) == {
        "one": {"context_depth": "all", "context_turns": 5, "context_scope": "full"},
        "two": {"context_depth": "all", "context_turns": 2, "context_scope": "full"},
    }


def test_r06_a_classs_default_may_come_from_any_parent() -> None:
    """As attributes do; and a name that every capability has for something else is no default."""
    named = spoken("named", {"all": FORK, "nothing": COLD}, says="what it knows.", argument="name")

    class Alone:
        context = "isolated"

    class Review(Alone, Capability):
        dialect = "isolation"

        async def read(self, *, inherited: Inherited) -> None: ...

        @delegates(dialect=named, name="nothing")
        async def look(self, *, inherited: Inherited) -> None: ...

    class Named(Capability):
        dialect = named

        async def ask(self, *, inherited: Inherited) -> None: ...

    assert choice_of(Review()) == {"read": {"context": "isolated"}, "look": {"name": "nothing"}}
    assert choice_of(Named()) == {"ask": {"name": "all"}}


def marked(**stated: Any) -> Callable[[], object]:
    """A class whose one tool is marked so."""

    def define() -> object:
        class Desk(Capability):
            @delegates(**stated)
            async def ask(self, question: str, *, inherited: Inherited) -> str:
                return question

        return Desk

    return define


def of_class(**attributes: object) -> Callable[[], object]:
    """A class with these attributes, and no tool."""
    return lambda: type("Desk", (Capability,), attributes)


@pytest.mark.parametrize(
    ("define", "sentence"),
    [
        (marked(context="warm"), 'Desk.ask: @delegates: context is "fork" or "cold", not \'warm\'.'),
        (marked(dialect="modes", context="cold"), 'Desk.ask: @delegates: context is "inherit", "compact" or "none", not \'cold\'.'),
        (marked(dialect="window", context_turns=0), "Desk.ask: @delegates: context_turns is a whole number from 1 to 1,000, not 0."),
        (
            marked(dialect="window", context="fork"),
            "Desk.ask: @delegates: there is no 'context'; what to pass on is said by context_depth, context_turns, context_scope.",
        ),
        (marked(context_turns=3), "Desk.ask: @delegates: there is no 'context_turns'; what to pass on is said by context."),
        (
            marked(dialect="zen"),
            "Desk.ask: @delegates: dialect is 'choice', 'modes', 'window', 'isolation' or a Dialect, not 'zen'.",
        ),
        (marked(max_turns=0), "Desk.ask: @delegates: max_turns is a positive number of exchanges, not 0."),
        (marked(context="cold", max_tokens=-1), "Desk.ask: @delegates: max_tokens is a positive number of tokens or None, not -1."),
        (of_class(dialect="zen"), "Desk.dialect is 'choice', 'modes', 'window', 'isolation' or a Dialect, not 'zen'."),
        (of_class(dialect="modes", context="fork"), 'Desk.context is "inherit", "compact" or "none", not \'fork\'.'),
        (of_class(dialect="window", context_turns="3"), "Desk.context_turns is a whole number from 1 to 1,000, not '3'."),
    ],
)  # fmt: skip
def test_r06_a_default_that_means_nothing_is_refused_at_definition(define: Callable[[], object], sentence: str) -> None:
    """With the place, and what it may be."""
    with pytest.raises(CapabilityDefinitionError) as caught:
        define()
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("dialect", "name"),
    [("window", "context_turns"), ("window", "context"), ("choice", "context"), (BRIEFED, "context")],
)
def test_a_parameter_with_the_name_of_one_of_the_dialects_arguments_is_refused(dialect: Any, name: str) -> None:
    """It would be two things to a model. `context` is kept free in every dialect."""
    source = f"async def ask(self, {name}: str, *, inherited: Inherited) -> None: ..."
    scope: dict[str, Any] = {"Inherited": Inherited}
    exec(source, scope)
    with pytest.raises(CapabilityDefinitionError) as caught:
        type("Desk", (Capability,), {"dialect": dialect, "ask": scope["ask"]})
    assert str(caught.value) == (
        f"Desk.ask: no parameter can be called `{name}`, by which calls say how much of the conversation goes along."
    )


def test_a_method_that_does_not_delegate_may_use_the_other_names() -> None:
    """Nothing else has them there."""

    class Files(Capability):
        dialect = "window"

        async def lines(self, context_turns: int) -> int:
            return context_turns

    assert choice_of(Files()) == {}


# The faces


def test_r02_the_stub_explains_each_dialect_once_and_shows_its_arguments() -> None:
    """Above everything, and in the signatures, each with the tool's own defaults."""
    stub = describe([Desk(), Desk(name="other")])
    assert stub.startswith(MARKED)
    shown = [line.strip() for line in stub.splitlines() if "async def" in line]
    assert shown == [
        'async def ask(self, question: str, *, context: Literal["talk", "nothing"] = "nothing") -> str:',
        'async def talk(self, question: str, *, context: Literal["talk", "nothing"] = "talk") -> str:',
        (
            'async def explore(self, *words: str, context_depth: Literal["none", "recent", "all"] = "recent", '
            'context_turns: int = 3, context_scope: Literal["conversation", "agents", "full"] = "conversation", '
            "**more: int) -> str:"
        ),
    ]


def test_r19_a_type_checker_checks_code_against_the_words_of_each_tool(tmp_path: Path) -> None:
    """The stub is Python in every dialect."""
    (tmp_path / "scope.pyi").write_text(describe([Team()]))
    good = [
        "await team.ask('x', context='cold')",
        "await team.branch('x', context='compact')",
        "await team.explore('x', context_depth='all', context_turns=3, context_scope='agents')",
        "await team.review('x', context='forked')",
    ]
    bad = [
        "await team.ask('x', context='inherit')",
        "await team.branch('x', context='cold')",
        "await team.explore('x', context='cold')",
        "await team.explore('x', context_turns='3')",
        "await team.explore('x', context_scope='all')",
    ]
    for name, lines in (("good.py", good), ("bad.py", bad)):
        body = "".join(f"    {line}\n" for line in lines)
        (tmp_path / name).write_text(f"from scope import team\nasync def main() -> None:\n{body}")
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "good.py", "bad.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    errors = [line.split(":")[:2] for line in done.stdout.splitlines() if ": error:" in line]
    assert errors == [["bad.py", str(number)] for number in range(3, 8)]


def test_r01_r12_the_schema_has_the_arguments_of_the_dialect() -> None:
    """With their types, bounds, the tool's defaults, and when to pass what."""
    tools = {tool["name"]: tool["input_schema"]["properties"] for tool in schemas([Desk(), Team()])}
    assert {name: list(properties) for name, properties in tools.items()} == {
        "desk_ask": ["question", "context"],
        "desk_talk": ["question", "context"],
        "desk_explore": ["words", "context_depth", "context_turns", "context_scope"],
        "team_ask": ["question", "context"],
        "team_branch": ["instructions", "context"],
        "team_explore": ["instruction", "context_depth", "context_turns", "context_scope"],
        "team_review": ["work", "context"],
        "team_tight": ["instruction", "context_depth", "context_turns", "context_scope"],
        "team_count": ["text"],
    }
    explore = tools["desk_explore"]
    said = {argument.name: argument for argument in DIALECTS["window"].arguments}
    assert explore["context_depth"] == {
        "type": "string",
        "enum": ["none", "recent", "all"],
        "default": "recent",
        "description": said["context_depth"].text("recent"),
    }
    assert explore["context_turns"] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 1000,
        "default": 3,
        "description": said["context_turns"].text(3),
    }
    assert tools["team_tight"]["context_scope"]["default"] == "full"
    assert tools["team_branch"]["context"]["enum"] == ["inherit", "compact", "none"]
    assert tools["team_review"]["context"]["description"].endswith('Left out: "isolated".')
    assert tools["desk_ask"]["context"]["description"] == 'What it knows. Left out: "nothing".'


@pytest.mark.parametrize("policy", ["always", "never"])
def test_r08_under_a_policy_that_decides_no_face_offers_the_choice(policy: Policy) -> None:
    """Neither stub nor schema, nor what crosses to be made into proxies."""
    table = Table([Desk(), Team()])
    assert "context" not in describe(table.capabilities, policy=policy)
    assert "context" not in json.dumps(schemas(table.capabilities, policy=policy))
    offered = {method.offered for each in table.declared_under(policy) for method in each.methods}
    assert offered == {False}
    assert table.declared_under("model") is table.declared


def test_what_crosses_comes_out_as_it_was() -> None:
    """The arguments, words and bounds of all dialects."""
    for each in Table([Desk(), Team()]).declared_under("never"):
        assert Declared.from_plain(json.loads(json.dumps(each.as_plain()))) == each


def test_r09_the_crossing_form_names_no_hidden_parameter_and_no_explanation() -> None:
    """What calls may say crosses, and nothing of what it means."""
    plain = json.dumps(declared(Team()).as_plain())
    assert "inherited" not in plain
    assert "request alone" not in plain


# In process


async def test_r59_a_context_local_proxy_speaks_the_tools_dialect() -> None:
    """Its signature shows the arguments, and a call says them."""
    import inspect

    team = cast("Any", context_local(Team()))
    assert str(inspect.signature(team.branch)) == (
        "(instructions: str, *, context: Literal['inherit', 'compact', 'none'] = 'inherit') -> list[str]"
    )
    explore = inspect.signature(team.explore).parameters
    assert [(each.name, each.default, each.annotation) for each in list(explore.values())[1:]] == [
        ("context_depth", "recent", Literal["none", "recent", "all"]),
        ("context_turns", 5, int),
        ("context_scope", "conversation", Literal["conversation", "agents", "full"]),
    ]
    with inheriting(history()):
        assert await team.branch("x", context="compact") == part_of(range(1, 5), scope="agents")
        assert await team.explore("x", context_turns=1, context_scope="full") == part_of(range(4, 5), scope="full")
        assert await team.review("x") == []
        with pytest.raises(ValueError, match='context is "inherit", "compact" or "none", not \'cold\''):
            team.branch("x", context="cold")
        with pytest.raises(TypeError, match="unexpected keyword argument 'context'"):
            team.explore("x", context="cold")


@pytest.mark.parametrize(("name", "advice"), [("branch", 'context="none"'), ("explore", 'context_depth="none"')])
def test_r46_where_there_is_no_conversation_the_advice_is_in_the_tools_words(name: str, advice: str) -> None:
    """It can be acted on as it stands."""
    team = cast("Any", context_local(Team()))
    with pytest.raises(LookupError, match=f"team.{name}: there is no conversation here .* Say {advice}."):
        getattr(team, name)("x")


def test_a_dialect_without_a_word_for_nothing_advises_nothing() -> None:
    """There is nothing to say then."""
    all_or_all = Dialect(
        name="all", arguments=(Argument(name="how", words=("all",), default="all"),), means=lambda how: FORK
    )

    class Loud(Capability):
        dialect = all_or_all

        async def ask(self, *, inherited: Inherited) -> None: ...

    with pytest.raises(LookupError, match=r"no conversation here that it could receive\.$"):
        cast("Any", context_local(Loud())).ask()


def test_the_options_of_a_tool_are_its_dialects_arguments() -> None:
    """As plain options: what they mean stays on the host."""
    [method] = [method for method in declared(Team()).methods if method.name == "branch"]
    assert method.choice == (Option(name="context", words=("inherit", "compact", "none"), default="inherit"),)
    assert method.delegates
