"""What can be wrong with a record."""

from __future__ import annotations

from host.errors import HostError

__all__ = ["RecordError"]


class RecordError(HostError, ValueError):
    """The file is no record of a run, or is damaged, or cannot be written.

    The message is one sentence that names the file and the line and says what was expected. Show it to whoever supplied
    the file; trying again does not help.
    """
