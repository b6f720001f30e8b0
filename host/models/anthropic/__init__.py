"""Claude models, through Anthropic's SDK. `Anthropic` is the model; what it sends is decided in `rendering`."""

from host.models.anthropic.model import Anthropic

__all__ = ["Anthropic"]
