"""Models, behind one small port (`host.models.port`). The one that needs no key and no network is
`host.models.lexical`.
"""

from host.models.port import Message, Model, Reply, Request, ToolCall, ToolSpec, Usage

__all__ = ["Message", "Model", "Reply", "Request", "ToolCall", "ToolSpec", "Usage"]
