"""Conversations: an immutable tree of messages in no provider's form, the readers of every provider's form, and the
form that every provider accepts.
"""

from host.conversation.errors import ConversationError, UnknownMessage
from host.conversation.parts import (
    SHAPES,
    Elsewhere,
    Media,
    Message,
    Opaque,
    Part,
    Refusal,
    Role,
    Shape,
    Summary,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from host.conversation.tree import Conversation
from host.conversation.weight import estimated_tokens
from host.conversation.well_formed import STILL_RUNNING, well_formed

__all__ = [
    "SHAPES",
    "STILL_RUNNING",
    "Conversation",
    "ConversationError",
    "Elsewhere",
    "Media",
    "Message",
    "Opaque",
    "Part",
    "Refusal",
    "Role",
    "Shape",
    "Summary",
    "Text",
    "Thinking",
    "ToolCall",
    "ToolResult",
    "UnknownMessage",
    "estimated_tokens",
    "well_formed",
]
