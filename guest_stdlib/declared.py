"""What a capability declares about itself: the one form from which proxies, checks, stubs and schemas are derived.

The host derives it from annotated classes; it crosses as plain data (`as_plain`, `from_plain`) and the guest's proxy
is made of it. Types are written as *shapes*, plain nested tuples or lists that both sides can check without the
classes:

    "any" "none" "bool" "int" "float" "str" "bytes" "datetime" "date" "time" "timedelta" "decimal" "uuid"
    ["list", shape]  ["tuple", shape, ...]  ["set", shape]  ["dict", key shape, value shape]
    ["union", shape, ...]  ["literal", value, ...]  ["record", name]  ["enum", name, member name, ...]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal, Self

__all__ = ["Context", "Declared", "DeclaredError", "DeclaredRecord", "Method", "Parameter", "Shape"]

type Shape = str | Sequence[object]
Context = Literal["fork", "cold"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter. `annotation` is its type as the agent reads it (`list[str] | None`), `default` its repr ("" if
    required).
    """

    name: str
    kind: Literal["positional_or_keyword", "keyword_only", "var_positional", "var_keyword"] = "positional_or_keyword"
    shape: Shape = "any"
    annotation: str = "Any"
    required: bool = True
    default: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """One method. `delegates` says that it takes the inherited conversation, and so has the choice `context=`, whose
    value when left out is `context`. `repeatable` says that calling it twice does no harm. `of` names the record whose
    method it is in agent code: its first parameter takes that record, and `task.ask(x)` is `tasks.ask(task, x)`.
    """

    name: str
    doc: str = ""
    parameters: tuple[Parameter, ...] = ()
    returns: str = "Any"
    delegates: bool = False
    context: Context = "fork"
    repeatable: bool = False
    of: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """One capability: the name it has in agent code, and its methods.

    With `anything` it accepts every method and argument unchecked, and may itself be called (a plain callback's name).
    """

    name: str
    doc: str = ""
    methods: tuple[Method, ...] = ()
    anything: bool = False

    def as_plain(self) -> dict[str, object]:
        """The form that crosses: dicts, lists, strings."""
        return asdict(self)

    @classmethod
    def from_plain(cls, plain: Mapping[str, object]) -> Self:
        """The inverse of `as_plain`. It trusts its input: the host sends it, the guest reads it."""
        fields = dict(plain)
        methods = tuple(
            Method(**{**method, "parameters": tuple(Parameter(**parameter) for parameter in method["parameters"])})
            for method in fields.pop("methods", ())  # type: ignore[attr-defined]
        )
        return cls(methods=methods, **fields)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredError:
    """An exception that capabilities raise: a name in scope for agent code, with plain attributes. It derives from
    Exception.
    """

    name: str
    doc: str = ""
    fields: tuple[str, ...] = ()

    def as_plain(self) -> dict[str, object]:
        """The form that crosses."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredRecord:
    """A dataclass that capabilities return or take: a name in scope, with the fields as attributes in order.

    With `result` it is a handle: the methods that say `of` it are its own, and awaiting it calls the one of this name.
    """

    name: str
    doc: str = ""
    fields: tuple[str, ...] = ()
    result: str = ""

    def as_plain(self) -> dict[str, object]:
        """The form that crosses."""
        return asdict(self)
