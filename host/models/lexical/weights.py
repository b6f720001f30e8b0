"""The numbers of the lexical model, in one place. They were fitted by random search on invented conversations.

Those conversations are in tests/data/lexical_worlds.json. A right answer counted 1, a wrong one -2.5, asking back 0.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Weights"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """What each kind of evidence counts. Focus is from 0 to 1, the evidence for a record about as much."""

    # How much focus goes from one place of a conversation to another.
    sentence: float = 0.94  # from a clause to the rest of its sentence
    saying: float = 0.7  # from a sentence to the rest of its saying
    long: float = 0.12  # less to each sentence of a saying that has many, by this power of their number
    turn: float = 0.37  # from a saying to the next or the last one, if it takes up something else
    turn_both: float = 0.79  # if it takes up something else and also points back
    turn_back: float = 0.74  # if it takes up nothing else
    word: float = 0.68  # from a clause to others that share a word which is in no further sentence
    rarity: float = 0.55  # less for a word that is in many, by this power of its rarity
    aside: float = 0.3  # to a sentence that says it is beside the matter
    # Where focus comes from, beside the end of the conversation (1).
    head: float = 0.16  # clauses with the words that name what is asked for
    wanted: float = 0.3  # what someone wants, where something is to be given
    asides: float = 0.3  # the request's other words
    end_beside_asides: float = 0.1  # the end, where the request has such words
    # What an occurrence counts.
    prose: float = 0.37  # a word from a record's longer texts
    question: float = 0.5  # what is only asked
    done: float = 0.3  # what is over and done with
    wish: float = 0.43  # more, where someone wants something that is to be given
    corrects: float = 1.66  # a correction
    taken_back: float = 0.2  # what was said before a correction
    denial: float = 0.92  # taken off for what is denied
    further: float = 0.43  # each further word of a record, against the one before it
    # When a choice is made.
    clear: float = 0.15  # this far ahead is enough, by request and history together
    ahead: float = 0.06  # this far is enough with `ratio` times the other's evidence
    ratio: float = 1.3
    least: float = 0.08  # this far is enough with `lone` times the other's evidence
    lone: float = 4.24
    telling: float = 0.09  # the evidence that there must be, where the request alone names nothing
