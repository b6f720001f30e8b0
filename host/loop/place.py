"""Where in the tree of loops the running code stands.

It is carried by the context of the task (`contextvars`), set around each call of a capability that a loop makes. So a
capability needs to know nothing of it, and two runs at once never meet.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from host.loop.tree import Tree

__all__ = ["Place", "place", "standing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a loop is started: by the loop `parent`, `depth` layers and `fork_depth` forks below the
    first, in the delegation of that id.
    """

    tree: Tree
    parent: str
    depth: int
    fork_depth: int = 0
    delegation: str | None = None


_PLACE: Final[ContextVar[Place | None]] = ContextVar("place in the tree of loops", default=None)


def place() -> Place | None:
    """Where the running code stands; None outside of every loop."""
    return _PLACE.get()


@contextmanager
def standing(at: Place) -> Iterator[None]:
    """Within this block, what is started is started from there."""
    reset = _PLACE.set(at)
    try:
        yield
    finally:
        _PLACE.reset(reset)
