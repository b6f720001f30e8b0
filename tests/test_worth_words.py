"""Words that tell, and how strongly."""

from __future__ import annotations

import pytest

from host.record.telling import STRONG, WEAK, telling, words_of


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("we met Okafor", {"okafor": STRONG}),
        ("Okafor wants it", {"okafor": WEAK}),
        ("Anne wants it", {}),
        ("Sarah Okafor wants it", {"sarah": STRONG, "okafor": STRONG}),
        ("it is done. Metrics come", {"metric": WEAK}),
        ("give it to Müllers", {"muller": STRONG}),
        ("about 48,200 or 7", {"48200": STRONG}),
        ("at 3.5%", {"3.5": STRONG}),
        ("see reports/q3.md.", {"reports/q3.md": STRONG, "q3.md": STRONG}),
        ("to a.chen@example.org!", {"a.chen@example.org": STRONG}),
        ("call start_task", {"start_task": STRONG}),
        ("the comparison", {"comparison": WEAK}),
        ("the report is ready, thanks", {"report": WEAK}),
        ("We should send it tomorrow, because everybody waits", {}),
        ("we wait for Monday", {}),
        ("", {}),
    ],
)
def test_r82_what_tells(text: str, told: dict[str, int]) -> None:
    """Numbers, addresses, paths, identifiers, names; other long words weakly; everyday words not at all."""
    assert {word: strength for word, strength in telling(text).items() if strength} == told


def test_r82_a_word_is_the_same_word_in_another_writing() -> None:
    """Case, accents, plural, possessive."""
    assert words_of("Müllers") == words_of("muller's")
    assert words_of("Reports") == words_of("report")
    assert words_of("start_task") >= words_of("start task")
