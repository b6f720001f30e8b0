"""What can go wrong between us and a model. Adapters translate the exceptions of their SDK into these, by a table.

No message holds a key, a header or a body that the provider did not write for people to read.
"""

from __future__ import annotations

from host.errors import HostError

__all__ = ["ModelError", "ModelRefused", "ModelTimeout", "ModelUnavailable"]


class ModelError(HostError):
    """A model gave no reply. The message says which model and why. `model` is its name, `status` the HTTP status."""

    def __init__(self, message: str, *, model: str = "", status: int | None = None) -> None:
        super().__init__(message)
        self.model = model
        self.status = status


class ModelUnavailable(ModelError):
    """The provider could not be reached, or was overloaded, also after retries. Try again later."""


class ModelTimeout(ModelUnavailable):
    """The provider did not answer in time, also after retries."""


class ModelRefused(ModelError):
    """The provider refused the request (key, model name, size, form). Asking again as it is will not help."""
