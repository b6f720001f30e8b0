"""The numbers of the lexical model, in one place."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Weights"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """What each kind of evidence counts."""

    # How strongly one place of a conversation is bound to another.
    sentence: float = 0.88
    saying: float = 0.86
    turn: float = 0.41
    turn_back: float = 0.75
    turn_both: float = 0.62
    long: float = 0.23
    word: float = 0.7
    rarity: float = 0.15
    head: float = 0.1
    asides: float = 1.0
    end_beside_asides: float = 0.43
    aside: float = 0.38
    # What an occurrence counts.
    unknown: float = 0.87
    apart: float = 1.0
    further: float = 0.5
    prose: float = 0.44
    wish: float = 0.8
    question: float = 0.5
    done: float = 0.62
    oldest: float = 0.94
    ageing: float = 0.9
    corrects: float = 1.72
    taken_back: float = 0.2
    denial: float = 0.3
    # When a choice is made.
    clear: float = 0.15
    ratio: float = 1.63
    lone: float = 4.15
    ahead: float = 0.05
    least: float = 0.09
    telling: float = 0.09
