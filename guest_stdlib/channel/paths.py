"""Where in a value something is, as a sentence names it: `args[0]["rows"][17]`."""

from __future__ import annotations

from typing import Any, Final

from guest_stdlib.channel.errors import TooLarge

__all__ = ["heavy", "step", "too_large"]

_SHOWN: Final = 40


def step(key: object) -> str:
    """How a path goes into a dict: `["rows"]`, shortened if long."""
    if type(key) is str:
        return f'["{key}"]' if len(key) <= _SHOWN else f'["{key[:_SHOWN]}..."]'
    if key is None or type(key) in (bool, float) or (type(key) is int and key.bit_length() <= _SHOWN):
        return f"[{key}]"
    return f"[<{type(key).__name__}>]"


def heavy(value: Any, least: int) -> tuple[str, int] | None:
    """The path to the first string, bytes or integer of at least that many bytes, and how many it has."""
    kind = type(value)
    size = 0
    if kind is str:
        size = len(value.encode("utf-8", "surrogatepass"))
    elif kind is bytes:
        size = len(value)
    elif kind is int:
        size = value.bit_length() // 8
    elif kind in (dict, list, tuple):
        for key, part in value.items() if kind is dict else enumerate(value):
            if (found := heavy(part, least)) is not None:
                return step(key) + found[0], found[1]
    return ("", size) if size >= least else None


def too_large(value: object, size: int, most: int) -> TooLarge:
    """The error for a value that takes `size` bytes: it names the first large part, or else the whole."""
    path, size = heavy(value, most // 2) or ("", size)
    problem = TooLarge(f"has {size:,} bytes, and {most:,} may cross at once")
    if path:
        problem.within(path)
    return problem
