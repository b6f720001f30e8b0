"""What the lexical model knows of language: when two words are one, where a clause ends, and a few words that turn a
meaning.

All of it is about English, German and French in general. Nothing here is about people, files, or any other kind of
record.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from host.spelling import FUNCTION_WORDS, bare_word, fold, spelled_words, words

__all__ = [
    "ABOUT",
    "ASIDE",
    "ASKING",
    "COMMON",
    "CORRECTION",
    "DENIAL",
    "DONE",
    "INSTEAD_OF",
    "POINTING",
    "REFUSAL",
    "REJECTED",
    "TRANSFER",
    "WISH",
    "alike",
    "is_function_word",
    "sentences",
    "stem",
    "terms",
]

# A word or phrase of these takes back what was said before; "no" does at the beginning.
CORRECTION: Final = re.compile(
    r"""
    ^\W*(?:no|nope|nein|non)\b[,.:!\ ]
    | \b(?:actually | correction | i\ mean | i\ meant | instead | sorry | scratch\ that | wrong | mistake
    | changed\ my\ mind | change\ of\ plan | on\ second\ thought | forget | rather
    | eigentlich | doch\ nicht | ich\ meine | ich\ meinte | entschuldigung | korrektur | falsch | stattdessen
    | en\ fait | pardon | plutot | je\ voulais\ dire | erreur | finalement)\b
    """,
    re.VERBOSE,
)
# After one of these, the very next thing is what is not meant: "not the blue one", "not for Ann".
DENIAL: Final = frozenset({
    *("not", "nor", "isnt", "arent", "wasnt", "werent", "dont", "doesnt", "didnt"),
    *("nicht", "kein", "keine", "keinen", "keinem", "keiner", "nie", "pas", "ni", "jamais"),
})  # fmt: skip
INSTEAD_OF: Final = re.compile(
    r"""
    \b(?:instead\ of | rather\ than | other\ than | apart\ from | except(?:\ for)? | unlike
    | anstatt | anstelle | statt | ausser | au\ lieu\ de | plutot\ que | sauf | hormis)\b
    """,
    re.VERBOSE,
)
# What a sentence with one of these says is beside the matter, for now.
ASIDE: Final = re.compile(
    r"""
    ^\W*(?:also|oh|and\ another|ausserdem|aussi)\b | \b(?:by\ the\ way | btw | incidentally | can\ wait | later |
    another\ time | unrelated | separately | ubrigens | nebenbei | kann\ warten | hat\ zeit | spater | egal | au\ fait
    | d'ailleurs | peut\ attendre | plus\ tard | aucun\ rapport)\b
    """,
    re.VERBOSE,
)
# What a sentence with one of these speaks of is over and done with.
DONE: Final = re.compile(
    r"""
    \balready\ (?:\w+\
    )?(?:sent|mailed|delivered|done|finished|gave|given|got|gotten|has|have|had|received|went|gone|paid|signed)\b |
    \b(?:sent|mailed|delivered|done|finished|gave|got|has|have|received|went|paid|signed|did)\b[^.]*\balready\b |
    \b(?:no\ longer | out\ of\ the\ way | done\ with | over\ and\ done | erledigt | bereits | nicht\ mehr | deja | ne\
    \w+\ plus)\b
    """,
    re.VERBOSE,
)
# What a sentence with one of these names is not wanted any more.
REJECTED: Final = re.compile(
    r"""
    \b(?:forget | outdated | obsolete | ignore | drop | scrap | cancel(?:led)? | discard | out\ of\ date | never\ mind
    | vergiss | veraltet | verwerfen | ignorier\w* | oublie\w* | perimee?s? | obsoletes? | annulee?s?)\b
    """,
    re.VERBOSE,
)
# How someone says no to a question, or yes, at the beginning of an answer.
REFUSAL: Final = re.compile(r"^\W*(?:no|nope|neither|none|nein|weder|keiner|keine|non|aucun|ni)\b")
# Someone is to be given something.
TRANSFER: Final = frozenset(
    """
    send sends sending mail mails mailing email forward forwards forwarding give gives giving hand hands handing
    deliver delivers bring brings pass passes submit submits share shares goes get gets attach schick schicke schicken
    schickt sende senden sendet gib geben gibt leite weiterleiten bring bringe bringen maile mailen envoie envoyer
    envoyez envoies donne donner donnez transmets transmettre transfere transferer remets remettre
    """.split()
)
# These stand for something that was named before.
POINTING: Final = frozenset({
    *("it", "its", "this", "these", "those", "them", "they", "their", "him", "her", "he", "she", "one", "ones", "same"),
    *("es", "ihn", "ihm", "ihr", "sie", "ihnen", "dies", "diese", "diesen", "dieses", "damit", "davon", "darum"),
    *("lui", "leur", "elle", "celui", "celle", "ceux", "celles", "ca", "cela", "ceci"),
})  # fmt: skip
# Someone wants a thing, or is to be given it: someone else than those who speak with each other.
WISH: Final = re.compile(
    r"""
    (?<!\bi\ )(?<!\bwe\ )(?<!\byou\ )(?<!\bich\ )(?<!\bwir\ )(?<!\bdu\ )(?<!\bje\ )(?<!\bnous\ )(?<!\bd\ )
    \b(?:ask(?:s|ed|ing)?\ (?:\w+\ ){0,2}for | request(?:s|ed|ing)? | want(?:s|ed)? | need(?:s|ed)? | order(?:s|ed)? |
    wait(?:s|ed|ing)?\ (?:for|on) | expect(?:s|ed|ing)? | would\ (?:also\ )?like | should\ (?:get|have|receive) |
    goes?\ to | bat | bittet | gebeten | braucht | brauchte | wollte | mochte | wartet\ auf | wunscht | benotigt |
    angefordert | bestellt | demandee?s? | veut | voulait | attend | souhaite | besoin)\b
    """,
    re.VERBOSE,
)

# What people do with things, and with each other, when they speak of them: it tells nothing about which one is meant.
ASKING: Final = frozenset(
    """
    ask asks asked asking mention mentions mentioned discuss discussed discussing talk talked talking speak speaks
    spoke spoken tell tells told find finds found finding look looked looking search searched pick choose chosen open
    send sends sent sending give gives gave write writes wrote written refer refers referred belong belongs concern
    concerns concerned called named finden suchen senden sende schicken schicke geben sprechen besprochen erwahnt
    gefragt bat meinen gemeint heisst trouver chercher envoyer envoie donner parle parler demande demander mentionne
    appele nomme
    """.split()
)
# Words of dealings, time and courtesy: that two sayings share one of these does not make them speak of one matter.
COMMON: Final = ASKING | frozenset(
    """
    mail mails mailed mailing email emails called calling phone phoned rang ring write read reads reading put puts
    add adds added show shows showed shown forward deliver delivered bring brings brought check checks checked
    remind confirm confirmed start starts started begin begins begun stop wait waits waiting talk meet help helps
    helped finish finished ready done leave keep day days week weeks month months year years hour hours minute
    minutes today tomorrow yesterday tonight morning noon afternoon evening night monday tuesday wednesday thursday
    friday saturday sunday january february march april june july august september october november december time
    times good great fine lovely nice perfect wonderful sure right wrong true well better best bad new old first
    second third next long short big small large little early late soon hello hi dear thank thanks welcome sorry
    please yes everybody somebody two three four five six seven eight nine ten eleven twelve anrufen rufen antwort
    antworten lesen legen zeigen drucken bringen bestellen prufen fertig heute morgen gestern abend woche wochen
    monat jahr montag dienstag mittwoch donnerstag freitag samstag sonntag uhr zeit gut prima schon danke gerne neu
    alt gross klein zwei drei vier funf appeler appel lire mettre montrer imprimer commander finir fini pret aujourd
    hui demain hier matin soir semaine mois annee lundi mardi mercredi jeudi vendredi samedi dimanche heure temps
    bon bonne bien merci nouveau nouvelle vieux grand petit deux trois quatre cinq
    """.split()
)
# What follows is what a thing says, and not what it is called.
ABOUT: Final = re.compile(
    r"""
    \b(?:about | regarding | concerning | mention(?:s|ing)? | contain(?:s|ing)? | say(?:s|ing)? | with
    | uber | betreffend | mit | concernant | sujet | avec)\b
    | \w\W+(?:that | which | who | whose | where | qui)\b
    """,
    re.VERBOSE,
)

_SENTENCE_END: Final = re.compile(
    r"(?<=[.!?\u2026])[\"')\]\u00bb\u201c\u201d]*\s+|\n+|[{}\[\];|\u2022]+|\s[-\u2013\u2014]{1,2}\s"
)
_CLAUSE_END: Final = re.compile(
    r"""
    ( [:()!?"\u201c\u201d\u201e\u00ab\u00bb]+
    | \b(?:but|while|whereas|though|although|aber|sondern|wahrend|w\u00e4hrend|mais|tandis|alors)\b
    | [,]+ | \b(?:and|because|und|weil|et|car)\b )
    """,
    re.IGNORECASE | re.VERBOSE,
)
_WEAK_END: Final = frozenset({",", "and", "because", "und", "weil", "et", "car"})
_NAMED: Final = re.compile(r"\b[^\W\d_a-z]")
_ABBREVIATED: Final = re.compile(
    r"\b(?:dr|mr|mrs|ms|prof|st|jr|sr|vs|no|nr|hr|fr|mme|ca|z\.b|d\.h|e\.g|i\.e|[a-z])\.$", re.IGNORECASE
)
_SHORTEST_RELATED: Final = 5


def terms(text: str) -> list[str]:
    """The words of a text, folded, in order; names in one piece are taken apart, possessive endings are dropped."""
    return [term for word in words(text) for term in _terms(word)]


@lru_cache(maxsize=65_536)
def _terms(word: str) -> tuple[str, ...]:
    folded = (fold(bare_word(part)).replace("\u2019", "").replace("'", "") for part in spelled_words(word))
    return tuple(term for term in folded if term)


def is_function_word(word: str) -> bool:
    """Whether a folded word carries no meaning of its own. Single letters do not either; numbers do."""
    return word in FUNCTION_WORDS or (len(word) == 1 and not word.isdigit())


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """A folded word without its plural ending, and with ä, ö, ü spelled one way."""
    word = word.replace("ae", "a").replace("oe", "o").replace("ue", "u") if len(word) > 4 else word
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "xes", "sses", "zes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


@lru_cache(maxsize=262_144)
def alike(one: str, other: str) -> float:
    """How sure it is that two stems are one word: 1 the same, less for a compound or a shared root, 0 for strangers."""
    if one == other:
        return 1.0
    short, long = sorted((one, other), key=len)
    if len(short) < _SHORTEST_RELATED or not short.isalpha() or not long.isalpha():
        return 0.0
    if long.endswith(short) or long.startswith(short):
        return 0.7
    shared = next((at for at, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    return 0.6 if shared >= _SHORTEST_RELATED and shared * 10 >= len(long) * 6 else 0.0


def sentences(text: str) -> list[list[str]]:
    """A text as sentences, each as its clauses. A sentence ends at a line's end too, and at the marks of a list or of
    JSON.
    """
    found: list[list[str]] = []
    kept = ""
    for piece in _SENTENCE_END.split(text):
        whole = f"{kept} {piece}" if kept else piece
        if _ABBREVIATED.search(whole):
            kept = whole
            continue
        kept = ""
        clauses = _clauses(whole)
        if clauses:
            found.append(clauses)
    if kept:
        found.append([kept])
    return found


def _clauses(sentence: str) -> list[str]:
    """The clauses of a sentence. A comma or an "and" begins one only where someone or something is named behind it."""
    first, *rest = _CLAUSE_END.split(sentence)
    found = [first]
    for end, piece in zip(rest[::2], rest[1::2], strict=True):
        if end.strip().lower() in _WEAK_END and not _NAMED.search(piece):
            found[-1] += end + piece
        else:
            found.append(piece)
    return [clause for clause in found if clause.strip()]
