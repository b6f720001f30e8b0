"""Several capabilities together: what is in scope for agent code, and under which names.

Rules:

- Every name is unique: capabilities, exceptions and records share agent code's scope, and tools share the list that a
  model sees. Two classes under one name are refused; the same class twice is one name.
- `NeedsClarification` is always in scope. It is described where something delegates, or where a class declares it.
- A handle belongs to the one capability whose methods take it first; among them is the one that awaiting it calls.
- The order is the caller's order of capabilities, then the order of definition; nothing depends on hashes.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Final

from guest_stdlib.annotations import records_in
from guest_stdlib.declared import Declared, DeclaredError, DeclaredRecord
from host.capability._capability import Capability, check_name, declaration_of, declared
from host.capability._choosing import Policy
from host.capability._docs import summary
from host.capability._local import real
from host.capability._settling import Settling
from host.capability._tools import Tool, result_of
from host.errors import CapabilityDefinitionError, NeedsClarification, field_names

__all__ = ["Offered", "Table"]

# What providers accept as the name of a tool.
_TOOL_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """One tool of one capability object.

    `path` is how code calls it ("contacts.ask"), `tool_name` how a model does ("contacts_ask").
    """

    path: str
    tool_name: str
    capability: Capability
    tool: Tool


class Table:
    """The capabilities that one loop offers.

    `declared`, `declared_errors`, `declared_records` and `records` are what a sandbox is opened with. Raises
    CapabilityDefinitionError when two things would have one name.
    """

    def __init__(self, capabilities: Iterable[Capability]) -> None:
        given: tuple[object, ...] = tuple(capabilities)
        for capability in given:
            if not isinstance(capability, Capability):
                kind = "the class" if isinstance(capability, type) else "the object"
                hint = f": write {capability.__name__}()" if isinstance(capability, type) else ""
                raise CapabilityDefinitionError(f"{kind} {capability!r} is no capability{hint}.")
        self.capabilities = tuple(real(capability) for capability in given if isinstance(capability, Capability))
        self._scope: dict[str, object] = {}
        self.errors: dict[str, type[Exception]] = {}
        self.records: dict[str, type] = {}
        self.by_path: dict[str, Offered] = {}
        self.by_tool_name: dict[str, Offered] = {}
        self._add_error(NeedsClarification)
        for capability in self.capabilities:
            check_name(capability.name, f"the name of a {capability.__class__.__name__}")
            self._take(capability.name, capability)
        for capability in self.capabilities:
            for error in declaration_of(capability.__class__).errors:
                if error.__module__ != "builtins":
                    self._add_error(error)
            for tool in declaration_of(capability.__class__).tools.values():
                self._add_tool(capability, tool)
        for record in self.records.values():
            if result_of(record):
                self._check_handle(record)

    @functools.cached_property
    def declared(self) -> tuple[Declared, ...]:
        """The capabilities in the form that crosses."""
        return tuple(declared(capability) for capability in self.capabilities)

    def declared_under(self, policy: Policy) -> tuple[Declared, ...]:
        """The same for a run under this policy: where it decides, no choice is offered (R8)."""
        return self.declared if policy == "model" else self._without_choice

    @functools.cached_property
    def _without_choice(self) -> tuple[Declared, ...]:
        return tuple(
            replace(each, methods=tuple(replace(method, offered=False) for method in each.methods))
            for each in self.declared
        )

    @functools.cached_property
    def declared_errors(self) -> tuple[DeclaredError, ...]:
        """The exceptions in scope, in the form that crosses."""
        return tuple(
            DeclaredError(name=name, doc=summary(error), fields=field_names(error))
            for name, error in self.errors.items()
        )

    @functools.cached_property
    def declared_records(self) -> tuple[DeclaredRecord, ...]:
        """The dataclasses in scope, in the form that crosses."""
        return tuple(
            DeclaredRecord(
                name=name,
                doc=summary(record),
                fields=tuple(field.name for field in fields(record)),
                result=result_of(record),
            )
            for name, record in self.records.items()
            if is_dataclass(record)
        )

    @functools.cached_property
    def settling(self) -> Settling:
        """What checks and rebuilds the arguments of calls from a guest."""
        return Settling(self.records)

    @property
    def described_errors(self) -> tuple[type[Exception], ...]:
        """The exceptions that a model is told of."""
        stated = any(NeedsClarification in declaration_of(c.__class__).errors for c in self.capabilities)
        if stated or any(offered.tool.hidden is not None for offered in self):
            return tuple(self.errors.values())
        return tuple(error for error in self.errors.values() if error is not NeedsClarification)

    def handled(self, record: type) -> tuple[Offered, ...]:
        """The tools that are methods of a handle; none for any other record."""
        return tuple(offered for offered in self if offered.tool.method.of == record.__name__ and result_of(record))

    def __iter__(self) -> Iterator[Offered]:
        return iter(self.by_path.values())

    def _add_tool(self, capability: Capability, tool: Tool) -> None:
        path = f"{capability.name}.{tool.method.name}"
        offered = Offered(path=path, tool_name=path.replace(".", "_"), capability=capability, tool=tool)
        if _TOOL_NAME.fullmatch(offered.tool_name) is None:
            raise CapabilityDefinitionError(
                f"{path}: a model would call it `{offered.tool_name}`, "
                "and providers take 64 ASCII letters, digits and _ at most."
            )
        other = self.by_tool_name.setdefault(offered.tool_name, offered)
        if other is not offered:
            raise CapabilityDefinitionError(
                f"{path} and {other.path} would both be the tool `{offered.tool_name}` to a model."
            )
        self.by_path[path] = offered
        for annotation in (*tool.types.values(), tool.returns):
            for record in records_in(annotation).values():
                self._add_record(record)

    def _check_handle(self, record: type) -> None:
        name, result, owned = record.__name__, result_of(record), self.handled(record)
        holders = list(dict.fromkeys(offered.capability.name for offered in owned))
        if len(holders) > 1:
            raise CapabilityDefinitionError(
                f"the handle {name} would be one of {' and of '.join(holders)}: its methods are of one capability."
            )
        awaited = next((offered for offered in owned if offered.tool.method.name == result), None)
        if awaited is None:
            raise CapabilityDefinitionError(
                f"the handle {name} says that awaiting it calls `{result}`, and no capability here has "
                f"`async def {result}(self, {name.lower()}: {name})`."
            )
        if any(parameter.required for parameter in awaited.tool.method.parameters[1:]):
            raise CapabilityDefinitionError(
                f"{awaited.path}: awaiting a {name} calls it, so the handle is all that it may require."
            )
        assert is_dataclass(record)
        taken = {field.name for field in fields(record)}
        for offered in owned:
            if offered.tool.method.name in taken:
                raise CapabilityDefinitionError(
                    f"{offered.path}: `{offered.tool.method.name}` is a field of the handle {name}, too. Rename one."
                )

    def _add_error(self, error: type[Exception]) -> None:
        self._take(error.__name__, error)
        self.errors[error.__name__] = error

    def _add_record(self, record: type) -> None:
        check_name(record.__name__, f"the record {record.__qualname__}")
        self._take(record.__name__, record)
        self.records[record.__name__] = record

    def _take(self, name: str, holder: object) -> None:
        other = self._scope.setdefault(name, holder)
        if other is not holder:
            raise CapabilityDefinitionError(
                f"`{name}` would be two things in agent code: {_kind(other)} and {_kind(holder)}."
            )


def _kind(holder: object) -> str:
    if isinstance(holder, Capability):
        return f"the capability {holder.__class__.__qualname__}"
    assert isinstance(holder, type)
    what = "exception" if issubclass(holder, Exception) else "record"
    return f"the {what} {holder.__module__}.{holder.__qualname__}"
