"""The words for the choice of context: whatever they are, one value stands behind them."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product
from typing import Any, cast

import pytest

from guest_stdlib.declared import Option
from host.context import COLD, COMPACT, DIALECTS, FORK, Argument, ContextChoice, Dialect, spoken

KNOWN = {
    "choice": '"fork" or "cold"',
    "modes": '"inherit", "compact" or "none"',
    "isolation": '"forked" or "isolated"',
}
WINDOW = DIALECTS["window"]


def test_r19_these_are_the_dialects() -> None:
    """And nobody can change the list for others."""
    assert list(DIALECTS) == ["choice", "modes", "window", "isolation"]
    with pytest.raises(TypeError):
        DIALECTS["mine"] = WINDOW  # type: ignore[index]


@pytest.mark.parametrize(("dialect", "known"), KNOWN.items())
@pytest.mark.parametrize("said", ["Inherit", "", "all", "recent", None, 1, True, []])
def test_r11_an_unknown_word_is_refused_with_the_list_of_known_ones(dialect: str, known: str, said: object) -> None:
    """In every dialect; another dialect's word is unknown, too."""
    with pytest.raises(ValueError, match=re.escape(f"context is {known}, not {said!r}")):
        ContextChoice.parse(said, dialect=dialect)


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"context_depth": "fork"}, 'context_depth is "none", "recent" or "all", not \'fork\''),
        ({"context_scope": None}, 'context_scope is "conversation", "agents" or "full", not None'),
        ({"context_turns": 0}, "context_turns is a whole number from 1 to 1,000, not 0"),
        ({"context_turns": 1_001}, "context_turns is a whole number from 1 to 1,000, not 1001"),
        ({"context_turns": True}, "context_turns is a whole number from 1 to 1,000, not True"),
        ({"context_turns": "3"}, "context_turns is a whole number from 1 to 1,000, not '3'"),
        ({"context_turns": 3.0}, "context_turns is a whole number from 1 to 1,000, not 3.0"),
        ({"context_turns": 10**5_000}, "context_turns is a whole number from 1 to 1,000, not a number so large"),
        ("recent", "window has more than one argument: context_depth, context_turns, context_scope"),
    ],
)
def test_r12_each_side_of_a_window_is_checked_by_itself(said: object, sentence: str) -> None:
    """With what may be said there."""
    with pytest.raises(ValueError, match=re.escape(sentence)):
        WINDOW.parse(said)


def test_r12_an_argument_that_the_dialect_has_not_is_refused() -> None:
    """With those that it has."""
    with pytest.raises(TypeError, match="there is no 'context'; what to pass on is said by context_depth, context_"):
        WINDOW.parse({"context": "fork"})


def test_r12_a_window_has_these_defaults() -> None:
    """The words of the last five exchanges."""
    assert WINDOW.defaults == {"context_depth": "recent", "context_turns": 5, "context_scope": "conversation"}
    assert WINDOW.parse({}) == ContextChoice() == ContextChoice(depth="recent", turns=5, scope="conversation")


@pytest.mark.parametrize(("depth", "scope"), [*product(["none", "recent", "all"], ["conversation", "agents", "full"])])
def test_r13_r19_all_nine_windows_are_choices(depth: Any, scope: Any) -> None:
    """Each side as it was said."""
    choice = WINDOW.parse({"context_depth": depth, "context_turns": 3, "context_scope": scope})
    assert choice == ContextChoice(depth=depth, turns=3, scope=scope)


def test_r11_the_modes_default_to_inherit() -> None:
    """As the other two default to passing the conversation on, unless a tool declares otherwise (R6)."""
    defaults = {name: dialect.defaults for name, dialect in DIALECTS.items() if name != "window"}
    assert defaults == {
        "choice": {"context": "fork"},
        "modes": {"context": "inherit"},
        "isolation": {"context": "forked"},
    }


def test_r19_all_words_stand_for_one_value() -> None:
    """Whatever the dialect, the same choice is the same value."""
    meant = {
        word: dialect.parse(word)
        for name, dialect in DIALECTS.items()
        if name in KNOWN
        for word in dialect.arguments[0].words
    }
    whole = WINDOW.parse({"context_depth": "all", "context_scope": "full"})
    agents = WINDOW.parse({"context_depth": "all", "context_scope": "agents"})
    nothing = WINDOW.parse({"context_depth": "none", "context_scope": "full"})
    assert meant["fork"] == meant["inherit"] == meant["forked"] == whole == FORK
    assert meant["cold"] == meant["none"] == meant["isolated"] == nothing == COLD
    assert meant["compact"] == agents == COMPACT


@pytest.mark.parametrize(
    ("dialect", "choice", "words"),
    [
        ("choice", FORK, {"context": "fork"}),
        ("choice", COMPACT, None),
        ("modes", ContextChoice(depth="none"), {"context": "none"}),
        ("modes", COMPACT, {"context": "compact"}),
        ("isolation", COLD, {"context": "isolated"}),
        ("window", COMPACT, {"context_depth": "all", "context_turns": 5, "context_scope": "agents"}),
        (
            "window",
            ContextChoice(turns=7, scope="full", max_turns=2),
            {"context_depth": "recent", "context_turns": 7, "context_scope": "full"},
        ),
        ("window", ContextChoice(turns=5_000), None),
    ],
)
def test_r19_a_choice_can_be_said_where_a_dialect_has_words_for_it(
    dialect: str, choice: ContextChoice, words: object
) -> None:
    """What one tool was told can be said to another; a dialect that is too poor says nothing."""
    said = DIALECTS[dialect].say(choice)
    assert said == words
    assert said is None or DIALECTS[dialect].say(DIALECTS[dialect].parse(said)) == words


def test_r02_every_dialect_says_when_to_pass_what() -> None:
    """Each word of each argument is explained, and what leaving it out means."""
    for dialect in DIALECTS.values():
        for argument in dialect.arguments:
            assert all(f'"{word}":' in argument.says for word in argument.words)
            assert argument.text(argument.default).startswith(argument.says[0].upper())
    alone = "the request alone, for one that says everything, such as a simple lookup or a web search."
    assert all(alone in DIALECTS[name].arguments[0].says for name in ("choice", "modes", "window"))
    assert DIALECTS["modes"].arguments[0].text("none").endswith(' Left out: "none".')
    assert WINDOW.arguments[1].text(3).endswith(" Left out: 3.")


# One of one's own

BRIEFED = spoken(
    "briefed",
    {"talk": ContextChoice(depth="all"), "last": ContextChoice(turns=1), "nothing": COLD},
    says="what it knows.",
)


def test_r19_a_new_dialect_is_a_few_lines() -> None:
    """It is a value: given where a dialect is named, it needs no place in a list."""
    assert ContextChoice.parse("last", dialect=BRIEFED) == ContextChoice(turns=1)
    assert BRIEFED.defaults == {"context": "talk"}
    assert BRIEFED.arguments[0].text() == "What it knows."


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: spoken("odd", {}, says=""), "the dialect 'odd' has no words"),
        (lambda: spoken("odd", {"a b": FORK}, says=""), "context: 'a b' is no word that a call could say"),
        (lambda: spoken("odd", {'"': FORK}, says=""), "is no word that a call could say"),
        (lambda: spoken("odd", {"all": FORK}, says="", default="none"), 'the default of context is "all", not'),
        (lambda: spoken("odd", {"all": FORK}, says="", argument="class"), "'class' is no name for an argument"),
        (lambda: spoken("odd", {"all": FORK}, says="", argument="_all"), "'_all' is no name for an argument"),
        (
            lambda: spoken("odd", {"none": COLD, "all": cast("Any", "fork")}, says=""),
            "the dialect 'odd' makes no ContextChoice of {'context': 'all'}",
        ),
        (lambda: Argument(name="turns", default=0), "the default of turns is a whole number from 1 to 1,000, not 0"),
        (lambda: Dialect(name="odd", arguments=(), means=lambda: FORK), "the dialect 'odd' has arguments"),
        (
            lambda: Dialect(name="odd", arguments=BRIEFED.arguments * 2, means=lambda context: FORK),
            "each with a name of its own",
        ),
        (lambda: ContextChoice.parse("x", dialect="tasks"), "dialect is 'choice', 'modes', 'window', 'isolation' or a"),
    ],
)
def test_a_dialect_that_cannot_be_spoken_is_refused(make: Callable[[], object], sentence: str) -> None:
    """When it is made, with what is wrong."""
    with pytest.raises((ValueError, TypeError), match=re.escape(sentence)):
        make()


class Loud(str):
    """Text of another class, equal to plain text."""

    __slots__ = ()


def test_what_was_said_is_taken_as_one_of_what_may_be_said() -> None:
    """Text of any class is the known word itself, and only a plain number is a number."""
    taken = Option(name="context", words=("fork", "cold"), default="fork").taken(Loud("cold"))
    assert (taken, type(taken)) == ("cold", str)
    assert [Option(name="n", default=1).taken(said) for said in (1, 1_000, 1_001, 0, True, "1", None)] == [
        1,
        1_000,
        None,
        None,
        None,
        None,
        None,
    ]
