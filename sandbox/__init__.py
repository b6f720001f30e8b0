"""Full CPython in Wasmtime, as a value: run cells, answer their calls, copy, suspend, resume, roll back.

Knows frames, time and memory. Knows no agent, no model and no conversation.
"""

from guest_stdlib.channel import Call

from .errors import (
    CallRejected,
    EngineError,
    SandboxError,
    SessionBusy,
    SessionClosed,
    SuspendedError,
)
from .limits import Limits
from .opening import open_sandbox, read_suspended, resume_sandbox
from .outcome import Failure, Outcome, Usage
from .resting import PendingCall
from .session import Session
from .workspace import Workspace, WorkspaceLimits

__all__ = [
    "Call",
    "CallRejected",
    "EngineError",
    "Failure",
    "Limits",
    "Outcome",
    "PendingCall",
    "SandboxError",
    "Session",
    "SessionBusy",
    "SessionClosed",
    "SuspendedError",
    "Usage",
    "Workspace",
    "WorkspaceLimits",
    "open_sandbox",
    "read_suspended",
    "resume_sandbox",
]
