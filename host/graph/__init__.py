"""The graph of a run: which agent did what, what forked and joined, who inherited what; as text, as data, as a page."""

from host.graph.page import render_page
from host.graph.plain import as_plain
from host.graph.reading import read_run
from host.graph.run import Ask, Branch, Fork, Node, Note, Run, Strand, Use, name_of
from host.graph.text import render_text

__all__ = [
    "Ask",
    "Branch",
    "Fork",
    "Node",
    "Note",
    "Run",
    "Strand",
    "Use",
    "as_plain",
    "name_of",
    "read_run",
    "render_page",
    "render_text",
]
