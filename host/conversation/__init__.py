"""Conversations: an immutable tree of messages in no provider's form, and the readers of every provider's form."""

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

__all__ = [
    "SHAPES",
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
]
