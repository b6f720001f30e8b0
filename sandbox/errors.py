"""Errors that callers of `sandbox` can meet. Blame is in the type; each docstring says what the caller does next.

What a script does wrong is never an exception here: it is `Outcome.error`.
"""

from __future__ import annotations

from guest_stdlib.channel.events import Failure

__all__ = [
    "CallRejected",
    "EngineError",
    "GuestCrashed",
    "GuestStopped",
    "MomentError",
    "SandboxError",
    "SessionBusy",
    "SessionClosed",
    "SuspendedError",
]


class SandboxError(Exception):
    """The root of all errors raised by `sandbox`."""


class EngineError(SandboxError):
    """Wasmtime refused something that should work (no memory for another instance). Try with less, or report it."""


class SessionClosed(SandboxError):
    """The session was closed, suspended or lost; open another one."""


class SessionBusy(SandboxError):
    """The session runs a cell, or its guest holds a native stack in a blocking call. Wait for the cell to end, or use
    `await`.
    """


class SuspendedError(SandboxError):
    """These bytes are no suspended session that can be resumed here: damaged, of another image or version, or not
    ours.
    """


class MomentError(SandboxError):
    """No session can start from this moment of another one: start a fresh one, or one with wider limits."""


class GuestStopped(SandboxError):
    """Internal: the host stopped the guest (a hard limit). `Session` turns it into an outcome."""


class GuestCrashed(SandboxError):
    """Internal: the guest trapped or broke the protocol. `Session` turns it into an outcome."""


class CallRejected(SandboxError):
    """Raised by a call's callback to refuse the call: it counts as rejected, and `failure` is what the script's
    `except` sees.
    """

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure
