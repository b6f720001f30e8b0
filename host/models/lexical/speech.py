"""What the lexical model knows of how people ask for something: words and turns of phrase, of no matter in particular.

English, with the commonest of German and French. Words are folded, as `language.terms` gives them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

__all__ = [
    "BACKGROUND",
    "COLD",
    "CONDITION",
    "DESTINATION",
    "ENDS_PHRASE",
    "HANDING",
    "KINDS",
    "LOOKING",
    "MESSAGE",
    "ORDINALS",
    "POINTING_ALONE",
    "POLITE",
    "POSSESSIVE",
    "PROGRESS",
    "QUESTION",
    "RECIPIENT",
    "STEER",
    "TELLING",
    "WANTING",
]

# Someone may say these before they say what is to be done, and it is still to be done.
POLITE: Final = frozenset(
    """
    please now then ok okay yes yeah so and just also hey hi hello kindly can could would will you should go ahead
    lovely fine good great thanks thank perfect right well sure once more again bitte dann jetzt kannst konntest
    konnen konnten du sie mal und also gut danke schon alors et peux pourrais pouvez tu vous merci bien puis maintenant
    """.split()
)
WANTING: Final = re.compile(
    r"^\W*(?:i (?:want|need|would like|d like)|i'd like|let us|let's|ich will,? dass|je veux que) (?:you to )?",
    re.IGNORECASE,
)
# To do these is to look something up: that is what is done with every question anyway.
LOOKING: Final = frozenset(
    """
    ask find finds search look show list get give tell check see pick choose want know need remember finde suche zeig
    zeige nenne sag such trouve cherche montre donne dis
    """.split()
)
# To do these is to hand something to someone.
HANDING: Final = frozenset(
    """
    send mail email forward hand deliver bring pass submit share give write schick schicke schicken sende senden gib
    leite bringe maile maile schreib schreibe envoie envoyer envoyez donne transmets ecris
    """.split()
)
TELLING: Final = frozenset({"tell", "inform", "let", "sag", "sage", "dis"})
QUESTION: Final = frozenset(
    """
    who whom whose what which where when how why is are was were does did do has have had wer wen wem wessen was welche
    welcher welches wo wann wie warum ist sind hat qui que quel quelle quels quelles ou quand comment est
    """.split()
)
# A name of a parameter by which something reaches someone.
RECIPIENT: Final = frozenset(
    "to recipient recipients receiver addressee for whom target destination an empfanger destinataire".split()
)
DESTINATION: Final = re.compile(r"^(?:to|for|an|f[uü]r|à|au|pour)$", re.IGNORECASE)
# What follows is no longer part of what a thing or a person is called.
ENDS_PHRASE: Final = frozenset(
    """
    that with because since please today tomorrow tonight now saying and then but as by via dass mit weil bitte heute
    morgen jetzt und aber que avec parce maintenant
    """.split()
)
MESSAGE: Final = re.compile(
    r"\b(?:that|saying|with the (?:words|text|message)|dass|que)\b:?\s+(?P<said>.+)|:\s*(?P<colon>\S.*)"
    r"|[\"\u201c\u201e\u00ab](?P<quoted>[^\"\u201c\u201d\u00bb]+)",
    re.IGNORECASE | re.DOTALL,
)
CONDITION: Final = re.compile(
    r"\b(?:if|once|when(?:ever)?|as soon as|unless|until|after|wenn|sobald|falls|nachdem|erst|si|des que|quand)\b.*",
    re.IGNORECASE | re.DOTALL,
)
BACKGROUND: Final = re.compile(
    r"[,;:]?\s*\b(?:in (?:the )?background|as a (?:background )?task|in a task|(?:please )?start a task"
    r"(?: (?:to|that|which|for))?|meanwhile|on the side|im hintergrund|als aufgabe|nebenher|en arri[eè]re-plan"
    r"|en t[aâ]che de fond)\b[,;:]?",
    re.IGNORECASE,
)
COLD: Final = re.compile(r"[,;:]?\s*\b(?:cold|from scratch|as a second opinion|second opinion)\b", re.IGNORECASE)
POSSESSIVE: Final[Mapping[str, str]] = dict(
    [
        *{"her": "her", "him": "his", "them": "their", "it": "its", "they": "their"}.items(),
        *{"sie": "ihre", "ihr": "ihre", "ihm": "seine", "ihn": "seine", "ihnen": "ihre", "lui": "son"}.items(),
    ]
)
# These alone name nothing.
POINTING_ALONE: Final = frozenset(
    "it this that them these those her him es das dies diese ihn le la les ca cela".split()
)
# What people call a kind of text, and how such a text looks.
KINDS: Final[tuple[tuple[frozenset[str], re.Pattern[str]], ...]] = (
    (frozenset("address adress email mail e-mail adresse courriel".split()), re.compile(r"[^\s@]+@[^\s@]+")),
    (frozenset("phone telephone number telefon nummer numero".split()), re.compile(r"\+?\d[\d\s()./-]{4,}")),
    (frozenset("path file where datei pfad fichier chemin".split()), re.compile(r"\S+/\S+|[^\s/]+\.\w{1,5}")),
    (frozenset("link url website page lien".split()), re.compile(r"https?://\S+")),
)
ORDINALS: Final[Mapping[str, int]] = dict(
    [
        *{"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "last": -1}.items(),
        *{"erste": 1, "ersten": 1, "zweite": 2, "zweiten": 2, "dritte": 3, "dritten": 3, "letzte": -1}.items(),
        *{"premier": 1, "premiere": 1, "deuxieme": 2, "troisieme": 3, "dernier": -1, "derniere": -1}.items(),
    ]
)
# How people say what a steering tool does, by the verb that its name begins with.
STEER: Final[Mapping[str, frozenset[str]]] = {
    "stop": frozenset("stop cancel end abort kill quit beende stoppe brich arrete annule".split()),
    "pause": frozenset("pause hold halt suspend pausiere halte suspends".split()),
    "resume": frozenset("resume continue unpause proceed weiter reprends continue".split()),
    "interject": frozenset("tell say interject add mention sag sage dis".split()),
    "ask": frozenset("ask frag frage demande".split()),
}
PROGRESS: Final = re.compile(
    r"\b(?:how far|status|progress|done so far|are you (?:doing|at)|what have you|is it (?:done|doing)|getting on"
    r"|wie weit|stand der|ou en)\b",
    re.IGNORECASE,
)
