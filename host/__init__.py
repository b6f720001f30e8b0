"""Capabilities, conversations, and what a subtask is given of them: the face of the library."""

from host.capability import Capability, delegates, inheriting, repeatable
from host.context import ContextChoice, Inherited
from host.conversation import Conversation, ConversationError
from host.errors import CapabilityDefinitionError, CapabilityError, HostError, NeedsClarification
from host.opening import Host, open_host
from host.session import HostSession
from sandbox import Limits, Outcome, Usage

__all__ = [
    "Capability",
    "CapabilityDefinitionError",
    "CapabilityError",
    "ContextChoice",
    "Conversation",
    "ConversationError",
    "Host",
    "HostError",
    "HostSession",
    "Inherited",
    "Limits",
    "NeedsClarification",
    "Outcome",
    "Usage",
    "delegates",
    "inheriting",
    "open_host",
    "repeatable",
]
