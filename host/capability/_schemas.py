"""Tool definitions for models that call tools by JSON, and the way back from the JSON that they send.

Derived from the same declaration as everything else. Types are pydantic's to describe and to read, so a dataclass, an
Enum or a datetime is as good in JSON as in code. Pydantic is imported when the first schema is made: code that only
runs sandboxes does not pay for it.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from guest_stdlib.declared import Option
from host.capability._capability import Capability
from host.capability._choosing import Policy
from host.capability._table import Offered, Table
from host.capability._terms import Terms
from host.errors import CapabilityDefinitionError

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = ["ToolArguments", "schemas"]

_KINDS: Final = inspect.Parameter


def schemas(capabilities: Iterable[Capability], *, policy: Policy = "model") -> list[dict[str, Any]]:
    """One definition per tool, in order: {"name": "contacts_ask", "description": ..., "input_schema": JSON schema}.

    A tool that delegates has the arguments of its dialect too (`context`, say), each with its default and when to
    choose what; under a policy that decides it has not. Raises CapabilityDefinitionError for a type that JSON cannot
    express.
    """
    return [_definition(offered, policy) for offered in Table(capabilities)]


def _definition(offered: Offered, policy: Policy) -> dict[str, Any]:
    tool = offered.tool
    adapters = _adapters(offered)
    try:
        made, shared = _type_adapter().json_schemas(
            [(name, "validation", adapter) for name, adapter in adapters.items()], ref_template="#/$defs/{model}"
        )
    except Exception as error:
        raise CapabilityDefinitionError(
            f"{offered.path}: a type of its parameters has no JSON schema: {error}"
        ) from error
    properties: dict[str, Any] = {}
    required: list[str] = []
    others: object = False
    for parameter in tool.signature.parameters.values():
        described = _untitled(made[parameter.name, "validation"])
        if parameter.kind is _KINDS.VAR_KEYWORD:
            others = described
        elif parameter.kind is _KINDS.VAR_POSITIONAL:
            properties[parameter.name] = {"type": "array", "items": described}
        else:
            properties[parameter.name] = described
            if parameter.default is _KINDS.empty:
                required.append(parameter.name)
            else:
                described |= _default(adapters[parameter.name], parameter.default)
    if tool.terms is not None and policy == "model":
        properties |= {option.name: _option(option, tool.terms) for option in tool.terms.options}
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    schema["additionalProperties"] = others
    if "$defs" in shared:
        schema["$defs"] = _untitled(shared["$defs"])
    return {"name": offered.tool_name, "description": tool.method.doc, "input_schema": schema}


def _option(option: Option, terms: Terms) -> dict[str, Any]:
    kind: dict[str, Any] = (
        {"type": "string", "enum": [*option.words]}
        if option.words
        else {"type": "integer", "minimum": option.least, "maximum": option.most}
    )
    return {**kind, "default": option.default, "description": terms.text(option.name)}


class ToolArguments:
    """Reads the arguments of tools that were called by JSON, under a policy. It keeps what it made of each tool's
    types.
    """

    def __init__(self, policy: Policy = "model") -> None:
        self._offers_choice = policy == "model"
        self._adapters: dict[str, dict[str, TypeAdapter[Any]]] = {}

    def read(
        self, offered: Offered, arguments: Mapping[str, object]
    ) -> tuple[tuple[object, ...], dict[str, object], dict[str, object]]:
        """Positional arguments, keyword arguments and what was said for the choice of context. TypeError says all that
        is wrong in one sentence each.
        """
        adapters = self._adapters.setdefault(offered.path, _adapters(offered))
        given = dict(arguments)
        wrong: list[str] = []
        said = self._said(offered, given, wrong)
        args: list[object] = []
        kwargs: dict[str, object] = {}
        for parameter in offered.tool.signature.parameters.values():
            name, adapter = parameter.name, adapters[parameter.name]
            if parameter.kind is _KINDS.VAR_KEYWORD:
                kwargs |= {
                    key: _read(adapter, value, key, wrong) for key, value in given.items() if key != offered.tool.hidden
                }
                given = {key: value for key, value in given.items() if key == offered.tool.hidden}
            elif name not in given:
                if parameter.default is _KINDS.empty and parameter.kind is not _KINDS.VAR_POSITIONAL:
                    wrong.append(f"`{name}` is missing")
            elif parameter.kind is _KINDS.VAR_POSITIONAL:
                values = given.pop(name)
                if isinstance(values, list):
                    args += [_read(adapter, value, name, wrong) for value in values]
                else:
                    wrong.append(f"`{name}` is a list")
            else:
                kwargs[name] = _read(adapter, given.pop(name), name, wrong)
        wrong += [f"there is no `{name}`" for name in given]
        if wrong:
            raise TypeError(f"{offered.tool_name}: {'; '.join(wrong)}. It takes {self._takes(offered)}.")
        return _positional_first(offered, args, kwargs), kwargs, said

    def _said(self, offered: Offered, given: dict[str, object], wrong: list[str]) -> dict[str, object]:
        """Take out what was said for the choice. Models write null for what they leave out."""
        found: dict[str, object] = {}
        for option in offered.tool.method.choice:
            word = given.pop(option.name, None)
            if word is None:
                continue
            taken = option.taken(word)
            if taken is not None:
                found[option.name] = taken
            elif self._offers_choice:  # else the policy decides, whatever is said
                wrong.append(f"`{option.name}` {option.refusal(word)}")
        return found

    def _takes(self, offered: Offered) -> str:
        tool = offered.tool
        names = (tool.outward_signature if self._offers_choice else tool.signature).parameters
        return ", ".join(f"`{name}`" for name in names) or "no arguments"


def _positional_first(offered: Offered, args: list[object], kwargs: dict[str, object]) -> tuple[object, ...]:
    """The arguments before `*args` must go by position once there are any in it."""
    if not args:
        return ()
    before: list[object] = []
    for parameter in offered.tool.signature.parameters.values():
        if parameter.kind is not _KINDS.POSITIONAL_OR_KEYWORD:
            break
        before.append(kwargs.pop(parameter.name, parameter.default))
    return (*before, *args)


def _read(adapter: TypeAdapter[Any], value: object, name: str, wrong: list[str]) -> object:
    from pydantic import ValidationError

    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        for fault in error.errors(include_url=False, include_context=False, include_input=False):
            place = "".join(f".{part}" if isinstance(part, str) else f"[{part}]" for part in fault["loc"])
            wrong.append(f"`{name}{place}`: {fault['msg'][0].lower()}{fault['msg'][1:]}")
        return None


def _adapters(offered: Offered) -> dict[str, TypeAdapter[Any]]:
    adapter = _type_adapter()
    try:
        return {name: adapter(cast("Any", annotation)) for name, annotation in offered.tool.types.items()}
    except Exception as error:
        raise CapabilityDefinitionError(
            f"{offered.path}: a type of its parameters cannot be read from JSON: {error}"
        ) from error


def _type_adapter() -> type[TypeAdapter[Any]]:
    from pydantic import TypeAdapter

    return TypeAdapter


def _default(adapter: TypeAdapter[Any], value: object) -> dict[str, object]:
    try:
        return {"default": adapter.dump_python(value, mode="json", warnings="error")}
    except Exception:
        return {}  # a default that JSON cannot say; leaving the argument out still means it


def _untitled(schema: Any) -> Any:
    """The schema without pydantic's titles, which repeat names. A property that is called "title" stays."""
    if isinstance(schema, list):
        return [_untitled(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: part for key, part in schema.items() if not (key == "title" and isinstance(part, str))}
    return {key: _untitled_under(key, part) for key, part in kept.items()}


def _untitled_under(key: str, part: Any) -> Any:
    if key in ("properties", "$defs"):
        return {name: _untitled(inner) for name, inner in part.items()}
    return part if key in ("default", "enum", "const", "examples") else _untitled(part)
