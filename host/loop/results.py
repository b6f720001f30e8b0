"""A tool's result as the model reads it: text as it is, anything else as JSON, and never more than a model can use.

A result that is too long is shortened as a whole number of items, with the count of those left out, and stays valid
JSON.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from datetime import date, datetime, time
from typing import Final

__all__ = ["LONGEST_RESULT", "rendered"]

LONGEST_RESULT: Final = 60_000  # characters; about 15,000 tokens


def rendered(value: object, longest: int = LONGEST_RESULT) -> str:
    """The text of a result, at most about `longest` characters."""
    if isinstance(value, str):
        if len(value) <= longest:
            return value
        return f"{value[:longest]}\n[{len(value) - longest} of {len(value)} characters are left out here.]"
    text = json.dumps(_plain(value), ensure_ascii=False)
    if len(text) <= longest:
        return text
    items = list(value) if isinstance(value, list | tuple) else None
    if items is None:
        return json.dumps({"too_long": f"{len(text)} characters", "begin": text[:longest]}, ensure_ascii=False)
    kept: list[str] = []
    size = 0
    for item in items:
        part = json.dumps(_plain(item), ensure_ascii=False)
        size += len(part) + 2
        if size > longest:
            break
        kept.append(part)
    left_out = len(items) - len(kept)
    note = json.dumps({"left_out": left_out, "of": len(items), "hint": "ask for fewer, or more exactly"})
    return f"[{', '.join([*kept, note])}]"


def _plain(value: object) -> object:
    """The value made of what JSON knows."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case datetime() | date() | time():
            return value.isoformat()
        case Mapping():
            return {str(key): _plain(each) for key, each in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_plain(each) for each in value]
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {each.name: _plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
        case _:
            return str(value)
