"""Arguments that a model wrote for a tool: JSON text in, checked values out, or sentences that the model can act on.

The schemas are the plain ones that tools are described by: an object with named properties, each of one type
("string", "integer", "number", "boolean", or "array" of one of these), with `enum`, `minimum`, `maximum` and
`default` where they apply.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Final

from host.loop.agent import ToolError

__all__ = ["checked", "parsed", "short"]

_MOST: Final = 5  # unknown arguments that are named
_LONGEST: Final = 80  # characters of a name


def checked(tool: str, schema: Mapping[str, object], text: str) -> dict[str, object]:
    """The arguments in `text` for a tool with this schema, defaults filled in.

    Raises ToolError, which says everything that is wrong with them at once.
    """
    given = parsed(tool, text)
    properties = schema.get("properties")
    required = schema.get("required")
    assert isinstance(properties, Mapping)
    assert required is None or isinstance(required, list | tuple)
    wrong: list[str] = []
    unknown = [name for name in given if name not in properties]
    for name in map(short, unknown[:_MOST]):
        near = get_close_matches(name, properties, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else f" It takes: {', '.join(properties)}."
        wrong.append(f"{tool} has no argument {name!r}.{hint}")
    if len(unknown) > _MOST:
        wrong.append(f"And {len(unknown) - _MOST:,} more that it has not.")
    values: dict[str, object] = {}
    for name, described in properties.items():
        if name in given:
            problem = _problem(given[name], described)
            if problem is not None:
                wrong.append(f"{name!r} must be {problem}, not {_shown(given[name])}.")
            values[name] = given[name]
        elif name in (required or ()):
            wrong.append(f"{tool} needs the argument {name!r}.")
        elif "default" in described:
            values[name] = described["default"]
    if wrong:
        raise ToolError(" ".join(wrong))
    return values


def short(name: str) -> str:
    """A name as it may stand in a sentence, whatever a model made of it."""
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def parsed(tool: str, text: str) -> dict[str, object]:
    """The JSON object in `text`; empty for blank text and null. Raises ToolError for anything else."""
    if not text.strip():
        return {}
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ToolError(f"The arguments of {tool} are not valid JSON ({error}). Send one JSON object.") from error
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise ToolError(f"The arguments of {tool} must be one JSON object, not {_shown(given)}.")
    return given


def _problem(value: object, described: Mapping[str, object]) -> str | None:
    """What the value should have been; None if it is right."""
    match described.get("type"):
        case "string" if not isinstance(value, str):
            return "a string"
        case "integer" if not isinstance(value, int) or isinstance(value, bool):
            return "an integer"
        case "number" if not isinstance(value, int | float) or isinstance(value, bool):
            return "a number"
        case "boolean" if not isinstance(value, bool):
            return "true or false"
        case "array":
            items = described.get("items")
            of = items if isinstance(items, Mapping) else {}
            if not isinstance(value, list) or any(_problem(each, of) is not None for each in value):
                return f"a list of {of.get('type', 'value')}s"
    enum = described.get("enum")
    if isinstance(enum, list | tuple) and value not in enum:
        return f"one of {', '.join(map(repr, enum))}"
    low, high = described.get("minimum"), described.get("maximum")
    if isinstance(value, int | float) and isinstance(low, int | float) and value < low:
        return f"at least {low}"
    if isinstance(value, int | float) and isinstance(high, int | float) and value > high:
        return f"at most {high}"
    return None


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:79]}…"
