"""What can be wrong with a conversation. One root, so that a command can turn all of it into one sentence."""

from __future__ import annotations

from host.errors import HostError

__all__ = ["ConversationError", "UnknownMessage"]


class ConversationError(HostError, ValueError):
    """The input is no conversation, or an operation on one names what it does not hold.

    The message is one sentence that names the file and the place and says what was expected. Show it to whoever
    supplied the input; trying again does not help.
    """


class UnknownMessage(ConversationError, LookupError):
    """No message of this conversation has that id: it may lie on another branch, or have been edited away."""
