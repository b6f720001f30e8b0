"""Words that tell: those by which one can see that a text draws on another one.

Everybody says "the" and "done". That a child says "Okafor", "48,200" or "reports/q3.md" says something: it has that
from somewhere. Two strengths:

- *strong*: a number of two digits or more; an address, a path, an identifier (what is written in one piece with "@",
  "/", "_", a dot or digits in it); a name, that is, a word that is written with a capital letter where no sentence
  begins, or that begins one and is followed by such a word.
- *weak*: any other word of six letters or more that is neither a function word nor one of everyday dealings. One of
  them is chance, two together are not.

Words are compared as `host.spelling` folds them and without their plural, so "Müllers" is "muller". What this misses:
names at the beginning of a sentence that stand alone, short words, and that everything has another word that means it.
German writes every noun with a capital letter, so there every noun is a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from host.models.lexical.language import COMMON, is_function_word, stem
from host.spelling import bare_word, fold, spelled_words

__all__ = ["ENOUGH", "STRONG", "WEAK", "telling", "words_of"]

STRONG: Final = 2
WEAK: Final = 1
ENOUGH: Final = 2
"""How many points it takes to tell."""

# What stands between blanks, quotes, brackets and commas; an apostrophe within a word and a comma within a number stay.
_PIECE: Final = re.compile(
    r"""
    [^\s"'`<>(){}\[\]|=;,\u2019\u201c-\u201e]+
    (?: (?<=\w)['\u2019]\w+ | (?<=\d),\d{3}\b )*
    """,
    re.VERBOSE,
)
_ENDS: Final = ".:!?-\u2013\u2014\u2026*"
_IDENTIFIER: Final = re.compile(r"[@/\\_]|\w\.\w|\d[^\W\d_]|[^\W\d_]-?\d")
_NUMBER: Final = re.compile(r"[-+]?\d[\d.,:-]*\d%?|\d{2,}")
_SENTENCE_END: Final = re.compile(r"[.!?:]$")
_SHORTEST: Final = 6
_SHORTEST_NAME: Final = 2


def telling(text: str) -> dict[str, int]:
    """The words of a text that tell, folded, each with its strength. Linear in the text."""
    found: dict[str, int] = {}
    for key, strength in _keys(text):
        if strength > found.get(key, 0):
            found[key] = strength
    return found


def words_of(text: str) -> frozenset[str]:
    """All words of a text, in the form in which `telling` gives them."""
    return frozenset(key for key, _ in _keys(text))


def _keys(text: str) -> Iterator[tuple[str, int]]:
    begins = True
    end = 0
    before: list[str] = []  # a capital word that begins a sentence: a name if another one follows it
    for match in _PIECE.finditer(text):
        begins = begins or "\n" in text[end : match.start()]
        end = match.end()
        piece = match[0].strip(_ENDS)
        if not piece:
            continue
        named = before
        before = []
        if _NUMBER.fullmatch(piece):
            yield piece.replace(",", "").rstrip("%"), STRONG
        elif _IDENTIFIER.search(piece):
            yield from _identifier(piece)
        else:
            for word in spelled_words(piece):
                key = _key(word)
                if not key:
                    continue
                name = word[0].isupper() and len(word) >= _SHORTEST_NAME and not _says_nothing(key)
                if name and not begins:
                    yield from ((each, STRONG) for each in named)
                    yield key, STRONG
                else:
                    yield key, WEAK if len(word) >= _SHORTEST and not _says_nothing(key) else 0
                if name and begins:
                    before = [key]
                begins = False
        begins = _SENTENCE_END.search(match[0]) is not None


def _identifier(piece: str) -> Iterator[tuple[str, int]]:
    """An identifier as a whole, what stands behind its last slash, and, telling nothing by themselves, its words."""
    whole = fold(piece)
    yield whole, STRONG
    last = re.split(r"[/\\]", whole)[-1]
    if len(last) >= _SHORTEST_NAME and last != whole:
        yield last, STRONG if _IDENTIFIER.search(last) else 0
    for word in spelled_words(piece):
        if key := _key(word):
            yield key, 0


def _key(word: str) -> str:
    return stem(fold(bare_word(word)))


def _says_nothing(key: str) -> bool:
    return is_function_word(key) or key in COMMON
