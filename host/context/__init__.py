"""What a child gets of its caller's conversation: the choice, the tree that is passed on, and its rendering."""

from host.context.choice import COLD, FORK, ContextChoice
from host.context.inherited import Inherited, Layer, Passed
from host.context.quoted import render
from host.context.section import Entry, Section, read_section

__all__ = [
    "COLD",
    "FORK",
    "ContextChoice",
    "Entry",
    "Inherited",
    "Layer",
    "Passed",
    "Section",
    "read_section",
    "render",
]
