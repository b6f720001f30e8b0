"""The numbers of the lexical model, in one place."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Weights"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """What each kind of evidence counts."""

    # How strongly one place of a conversation is bound to another.
    sentence: float = 0.75
    saying: float = 0.7
    turn: float = 0.5
    turn_back: float = 0.8
    turn_both: float = 0.6
    long: float = 0.3
    word: float = 0.85
    rarity: float = 0.5
    head: float = 0.4
    asides: float = 1.0
    end_beside_asides: float = 0.5
    aside: float = 0.35
    # What an occurrence counts.
    unknown: float = 0.6
    apart: float = 0.9
    sure: float = 0.9
    prose: float = 0.55
    wish: float = 0.3
    question: float = 0.8
    done: float = 0.5
    oldest: float = 0.6
    ageing: float = 0.85
    corrects: float = 1.2
    taken_back: float = 0.45
    denial: float = 1.0
    # When a choice is made.
    clear: float = 0.25
    ratio: float = 1.6
    lone: float = 3.0
    ahead: float = 0.09
    least: float = 0.05
    telling: float = 0.1
