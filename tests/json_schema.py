"""A validator for the JSON Schemas that tests meet. It knows the keywords that occur and refuses all others, so that
nothing passes because it was not understood.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_SAID = {"$schema", "$defs", "title", "description", "examples", "default"}  # they restrict nothing
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "null": (type(None),),
}


def failures(schema: Mapping[str, Any], value: object) -> list[str]:
    """What is wrong with a value, each with its path."""
    return list(_failures(schema, schema, value, "$"))


def _failures(root: Mapping[str, Any], schema: Mapping[str, Any], value: object, at: str) -> Iterator[str]:
    for keyword, said in schema.items():
        if keyword not in _SAID:
            yield from _keyword(root, schema, keyword, said, value, at)


def _keyword(
    root: Mapping[str, Any], schema: Mapping[str, Any], keyword: str, said: Any, value: Any, at: str
) -> Iterator[str]:
    ok = True
    match keyword:
        case "$ref":
            yield from _failures(root, root["$defs"][said.removeprefix("#/$defs/")], value, at)
        case "type":
            ok = any(_is(value, each) for each in ([said] if isinstance(said, str) else said))
        case "enum":
            ok = value in said
        case "const":
            ok = value == said
        case "pattern":
            ok = not isinstance(value, str) or re.search(said, value) is not None
        case "minimum":
            ok = not _is(value, "number") or value >= said
        case "maximum":
            ok = not _is(value, "number") or value <= said
        case "exclusiveMinimum":
            ok = not _is(value, "number") or value > said
        case "minItems":
            ok = not isinstance(value, list) or len(value) >= said
        case "uniqueItems":
            ok = not isinstance(value, list) or len({repr(each) for each in value}) == len(value)
        case "minProperties":
            ok = not isinstance(value, dict) or len(value) >= said
        case "required":
            ok = not isinstance(value, dict) or all(key in value for key in said)
        case "anyOf":
            ok = any(not list(_failures(root, each, value, at)) for each in said)
        case "oneOf":
            ok = sum(not list(_failures(root, each, value, at)) for each in said) == 1
        case "items":
            for number, each in enumerate(value if isinstance(value, list) else ()):
                yield from _failures(root, said, each, f"{at}[{number}]")
        case "properties":
            for key in said if isinstance(value, dict) else ():
                if key in value:
                    yield from _failures(root, said[key], value[key], f"{at}.{key}")
        case "additionalProperties":
            others = set(value) - set(schema.get("properties", ())) if isinstance(value, dict) else ()
            for key in sorted(others):
                if said is False:
                    yield f"{at}.{key}: additionalProperties"
                else:
                    yield from _failures(root, said, value[key], f"{at}.{key}")
        case "propertyNames":
            for key in value if isinstance(value, dict) else ():
                yield from _failures(root, said, key, f"{at}.{key}")
        case _:
            raise NotImplementedError(keyword)
    if not ok:
        yield f"{at}: {keyword}"


def _is(value: object, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES[kind])
