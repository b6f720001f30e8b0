"""Spellings: when two words that look different are the same word to whoever searches.

Contacts, files and the lexical model all compare words, and must agree on it. Rules:

- Case and diacritics do not count ("Zoë" is "zoe"), nor do ligatures and letters with a stroke ("Łódź" is "lodz").
- German writes ä as ae as well as a, Danish å as aa: `spellings` gives both, so that "Mueller" finds "Müller".
- A name written in one piece (camelCase, snake_case, kebab-case, dots) is the words it was made of.
- Function words (the, of, who; der, wer; le, qui) carry no meaning of their own in a search. English, German and
  French.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

__all__ = [
    "FUNCTION_WORDS",
    "all_spellings",
    "bare_word",
    "content_words",
    "fold",
    "spelled_words",
    "spellings",
    "words",
]

_WORD: Final = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
# Between a small letter and a capital, between capitals and a word that follows them, between letters and digits.
_SEAM: Final = re.compile(
    r"(?<=[^\W\d_A-Z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[^\W\d_]{3})(?=\d)|(?<=\d)(?=[^\W\d_]{3})"
)
_LETTERS: Final = str.maketrans(
    {"ø": "o", "đ": "d", "ð": "d", "ł": "l", "ħ": "h", "æ": "ae", "œ": "oe", "þ": "th", "\u0131": "i", "ŀ": "l"}
)
_DIGRAPHS: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe"})

# Folded, without apostrophes. Words that are also common names or things (will, may, an) are here too: whoever uses
# the list keeps the words if nothing else is left.
FUNCTION_WORDS: Final = frozenset(
    """
    a about above after again ago all almost already also although always am an and another any anybody anyone
    anything are around as at away back be became because been before being between both but by can cannot
    cant come could couldnt did didnt do does doesnt doing done dont down during each either else even ever
    every everyone everything few for from get gets getting give given go goes going gone got had has have
    havent having he hed hell her here hers herself hes hi him himself his how however i id if ill im in into
    is isnt it its itself ive just keep kept kind know known last later least less let lets like likely little
    look looks made make many may maybe me mean means might mine more most much must my myself near need needs
    neither never new next no nobody none nor not nothing now of off often oh ok okay old on once one ones
    only onto or other others otherwise our ours ourselves out over own per perhaps please put quite rather
    really right said same say says see seem seems seen several shall she shed should so some somebody someone
    something sometimes soon still such take tell than thank thanks that thats the their theirs them
    themselves then there therefore these they theyre thing things think this those though through thus till
    to together too toward under unless until up upon us use used uses using usually very via want wants was
    wasnt way we well were werent weve what whatever whats when where wherever whether which while who whoever
    whole whom whose why will wish with within without wont would wouldnt yes yet you youd youre your yours
    yourself aber alle allem allen aller alles als also am an andere anderen auch auf aus bei beim bereits bis
    bitte da dabei dafur dagegen daher damit danach dann daran darauf darin darum das dass davon dazu dein
    deine dem den denn der deren des dessen die dies diese diesem diesen dieser dieses doch dort du durch ein
    eine einem einen einer eines er es etwas euch euer fur ganz gegen gerade habe haben hat hatte hier hin ich
    ihm ihn ihnen ihr ihre ihrem ihren ihrer im immer in ins ist ja jede jedem jeden jeder jedes jetzt kann
    kein keine keinen keiner konnen man mehr mein meine meinem meinen meiner mich mir mit mochte muss nach
    nein nicht nichts noch nun nur ob oder ohne schon sehr sein seine seinem seinen seiner sich sie sind so
    soll sollen sollte um und uns unser unsere unter viel vom von vor war waren warum was wegen weil welche
    welchem welchen welcher welches wem wen wenn wer werde werden wessen wie wieder wir wird wo wurde wurden
    zu zum zur zwischen uber ai au aucun aussi autre autres aux avec avez avoir bien car ce cela celle celles
    celui ces cet cette ceux chez comme comment dans de deja depuis des deux donc du elle elles en encore
    entre est et etait ete etes etre eu fait faut ici il ils j jai je l la le les leur leurs lui ma mais me
    meme mes moi mon ne ni nos notre nous on ont ou par parce pas pendant peut peux plus pour pourquoi qu
    quand que quel quelle quelles quels qui quoi sa sans se sera ses si son sont sous sur ta te tes toi ton
    tous tout toute toutes tres tu un une vers voici vos votre vous y
""".split()
)
# French drops a vowel before another one: "l'adresse", "d'Anna".
_ELIDED: Final = re.compile(r"^(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu)['\u2019](?=\w{2})", re.IGNORECASE)
_OWNED: Final = re.compile(r"['\u2019](?:s|S)?$")


def fold(text: str) -> str:
    """The text in small letters without diacritics, ligatures or strokes. Applying it twice changes nothing."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    bare = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
    return unicodedata.normalize("NFC", bare.translate(_LETTERS)).casefold()


def spellings(word: str) -> tuple[str, ...]:
    """The folded forms under which a word may be written, the plain one first: "Müller" gives "muller", "mueller"."""
    plain = fold(word)
    if word.isascii():
        return (plain,)
    digraphs = fold(unicodedata.normalize("NFC", word).casefold().translate(_DIGRAPHS))
    return (plain,) if digraphs == plain else (plain, digraphs)


def all_spellings(word: str) -> tuple[str, ...]:
    """The forms under which a word may be looked for: its `spellings`, and "mueller" also as "muller"."""
    forms = spellings(word)
    undone = forms[-1].replace("ae", "a").replace("oe", "o").replace("ue", "u")
    return tuple(dict.fromkeys((*forms, undone)))


def words(text: str) -> list[str]:
    """The words of a text as they are written, in order: runs of letters and digits, an apostrophe within them kept."""
    return _WORD.findall(text if text.isascii() else unicodedata.normalize("NFC", text))


def spelled_words(name: str) -> list[str]:
    """The words that a name in one piece was made of: "WeeklyMetrics_2025-w19.md" gives Weekly Metrics 2025 w19 md."""
    return [part for word in words(name) for part in _SEAM.split(word) if part]


def bare_word(word: str) -> str:
    """A word without a possessive ending, and without what French puts before it: "Anna" for "Anna's" and "d'Anna"."""
    return _ELIDED.sub("", _OWNED.sub("", word))


def content_words(text: str) -> list[str]:
    """The words that carry a meaning, in order, as they are written: no function words, no possessive endings, no
    repeats.

    If all words are function words, all of them: someone may be called Will.
    """
    bare = [bare_word(word) for word in words(text)]
    once = list({fold(word): word for word in reversed(bare)}.items())[::-1]
    telling = [word for folded, word in once if len(folded) > 1 or folded.isdigit()]
    telling = [word for word in telling if fold(word).replace("'", "").replace("\u2019", "") not in FUNCTION_WORDS]
    return telling or [word for _, word in once]
