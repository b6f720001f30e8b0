"""Words that look different are the same word to whoever searches, and names are the words that they were made of."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from host.spelling import all_spellings, content_words, fold, spelled_words, spellings, words


@pytest.mark.parametrize(
    ("word", "folded"),
    [("Zoë", "zoe"), ("ŁÓDŹ", "lodz"), ("Straße", "strasse"), ("Ærø", "aero"), ("İzmir", "izmir"), ("ﬁn", "fin")],
)
def test_case_diacritics_and_ligatures_do_not_count(word: str, folded: str) -> None:
    """Nor do letters with a stroke."""
    assert fold(word) == folded


def test_umlauts_may_be_written_in_two_ways() -> None:
    """As the bare vowel and as two letters, and what is written with two letters may be looked for with one."""
    assert spellings("Müller") == ("muller", "mueller")
    assert spellings("Ångström") == ("angstrom", "aangstroem")
    assert spellings("Mueller") == ("mueller",)
    assert all_spellings("Mueller") == ("mueller", "muller")


def test_decomposed_letters_are_letters() -> None:
    """Some systems store ü as u and a mark."""
    assert words("Mu\u0308ller ist da") == ["Müller", "ist", "da"]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("WeeklyMetrics_2025-w19.md", ["Weekly", "Metrics", "2025", "w19", "md"]),
        ("HTMLReport.html", ["HTML", "Report", "html"]),
        ("reports/Q3-board_deck (final).PDF", ["reports", "Q3", "board", "deck", "final", "PDF"]),
        ("invoice2025", ["invoice", "2025"]),
    ],
)
def test_names_in_one_piece_are_taken_apart(name: str, found: list[str]) -> None:
    """At capitals, digits and marks."""
    assert spelled_words(name) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("What is Sarah's e-mail address?", ["Sarah", "mail", "address"]),
        ("der Bericht von Katrin", ["Bericht", "Katrin"]),
        ("l'adresse d'Élodie", ["adresse", "Élodie"]),
        ("Will", ["Will"]),
        ("the the THE", ["the"]),
        ("O'Brien's", ["O'Brien"]),
        ("", []),
    ],
)
def test_content_words_carry_the_meaning(text: str, found: list[str]) -> None:
    """Function words count only if there is nothing else."""
    assert content_words(text) == found


@settings(max_examples=200)
@given(st.text())
def test_folding_twice_changes_nothing(text: str) -> None:
    """Any text can be folded, and taken apart."""
    assert fold(fold(text)) == fold(text)
    for word in words(text):
        assert word
        assert all_spellings(word)[0] == fold(word)
    spelled_words(text)
    content_words(text)
