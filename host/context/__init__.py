"""What a child gets of its caller's conversation: the choice, the tree that is passed on, its renderings, and what was
given to whom.
"""

from host.context.branches import branch_start
from host.context.choice import COLD, COMPACT, FORK, ContextChoice
from host.context.continued import render_update
from host.context.dialects import DIALECTS, Argument, Dialect, spoken
from host.context.inherited import Inherited, Passed
from host.context.layer import Layer, Sent
from host.context.ledger import Received, Update
from host.context.loaded import without_loaded
from host.context.quoted import render
from host.context.section import Entry, Section, read_section, read_sections
from host.context.start import Rendering, Start, prefix_hash, start
from host.context.stored import tree_from_plain, tree_to_plain

__all__ = [
    "COLD",
    "COMPACT",
    "DIALECTS",
    "FORK",
    "Argument",
    "ContextChoice",
    "Dialect",
    "Entry",
    "Inherited",
    "Layer",
    "Passed",
    "Received",
    "Rendering",
    "Section",
    "Sent",
    "Start",
    "Update",
    "branch_start",
    "prefix_hash",
    "read_section",
    "read_sections",
    "render",
    "render_update",
    "spoken",
    "start",
    "tree_from_plain",
    "tree_to_plain",
    "without_loaded",
]
