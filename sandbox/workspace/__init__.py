"""Files that sessions share, below /workspace: a folder of the host from which no name leads out, with limits."""

from .files import Files
from .limits import WorkspaceLimits
from .shared import Workspace, WorkspaceFull
from .tree import Count

__all__ = ["Count", "Files", "Workspace", "WorkspaceFull", "WorkspaceLimits"]
