"""Models, behind one small port (`host.models.port`). The one that needs no key and no network is
`host.models.lexical`.
"""

from host.models.errors import ModelError, ModelRefused, ModelTimeout, ModelUnavailable
from host.models.port import Delta, Model, Reply, Request, Stop, Stream, ToolSpec, Usage

__all__ = [
    "Delta",
    "Model",
    "ModelError",
    "ModelRefused",
    "ModelTimeout",
    "ModelUnavailable",
    "Reply",
    "Request",
    "Stop",
    "Stream",
    "ToolSpec",
    "Usage",
]
