"""Capabilities: one declaration, and everything that is derived from it.

A capability is a class with annotated async methods. From it come what the guest's proxies are made of (`Table`), the
stub text that a model is shown (`describe`), the JSON schemas of its tools (`schemas`), the checks and the making of
calls (`Dispatch`), and a proxy for code in process (`context_local`, `inheriting`). A method that takes `inherited:
Inherited` delegates: that parameter is on no outward face. The choice of how much of the conversation goes along is
there instead, in the words of the tool's dialect: `context`, unless it declares another.
"""

from host.capability._capability import Capability, declared, delegates, handle, repeatable
from host.capability._choosing import POLICIES, Chooser, Delegation, Heritage, Policy, choice_text
from host.capability._crossing import Crossed, failure_of
from host.capability._dispatch import Dispatch
from host.capability._local import context_local, inheriting
from host.capability._schemas import schemas
from host.capability._stubs import describe
from host.capability._table import Offered, Table
from host.capability._terms import Terms

__all__ = [
    "POLICIES",
    "Capability",
    "Chooser",
    "Crossed",
    "Delegation",
    "Dispatch",
    "Heritage",
    "Offered",
    "Policy",
    "Table",
    "Terms",
    "choice_text",
    "context_local",
    "declared",
    "delegates",
    "describe",
    "failure_of",
    "handle",
    "inheriting",
    "repeatable",
    "schemas",
]
