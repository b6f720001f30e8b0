"""Models by name, as a command line or a configuration writes them: a kind, and behind a colon the provider's name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from host.models.port import Model

__all__ = ["FORMS", "model"]

FORMS: Final = ("lexical", "openai:NAME", "openai-responses:NAME", "anthropic:NAME")


def model(spec: str, *, base_url: str | None = None) -> Model:
    """The model of this name, such as "openai:gpt-5". `base_url` is the server that it is on, if not the provider's.

    Keys come from the environment (OPENAI_API_KEY, ANTHROPIC_API_KEY). An SDK is imported when one of its models is
    asked for. Raises ValueError for a name that is none, and ModelRefused where there is no usable key.
    """
    kind, colon, name = spec.partition(":")
    if spec == "lexical":
        if base_url is not None:
            raise ValueError("lexical runs here, on no server: leave out the base URL")
        return _lexical()
    make = _MAKERS.get(kind)
    if make is None or not colon or not name.strip():
        raise ValueError(f"{spec!r} names no model; write one of {', '.join(FORMS)}")
    return make(name.strip(), base_url)


def _lexical() -> Model:
    from host.models.lexical import Lexical

    return Lexical()


def _openai(name: str, base_url: str | None) -> Model:
    from host.models.openai import OpenAIChat

    return OpenAIChat(name, base_url=base_url)


def _responses(name: str, base_url: str | None) -> Model:
    from host.models.openai import OpenAIResponses

    return OpenAIResponses(name, base_url=base_url)


def _anthropic(name: str, base_url: str | None) -> Model:
    from host.models.anthropic import Anthropic

    return Anthropic(name, base_url=base_url)


_MAKERS: Final[Mapping[str, Callable[[str, str | None], Model]]] = {
    "openai": _openai,
    "openai-responses": _responses,
    "anthropic": _anthropic,
}
