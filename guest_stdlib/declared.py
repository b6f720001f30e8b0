"""What a capability declares about itself: the one form from which proxies, checks, stubs and schemas are derived.

The host derives it from annotated classes; it crosses as plain data (`as_plain`, `from_plain`) and the guest's proxy
is made of it. Types are written as *shapes*, plain nested tuples or lists that both sides can check without the
classes:

    "any" "none" "bool" "int" "float" "str" "bytes" "datetime" "date" "time" "timedelta" "decimal" "uuid"
    ["list", shape]  ["tuple", shape, ...]  ["set", shape]  ["dict", key shape, value shape]
    ["union", shape, ...]  ["literal", value, ...]  ["record", name]  ["enum", name, member name, ...]

The choice of how much of the conversation a call takes along has arguments of its own, `Option`s. What they mean is
the host's business; here they are names with what may be said for each.
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any, Final, Literal, Self

__all__ = [
    "UNSAID",
    "Context",
    "Declared",
    "DeclaredError",
    "DeclaredRecord",
    "Method",
    "Option",
    "Parameter",
    "Shape",
    "Words",
]

type Shape = str | Sequence[object]
Context = Literal["fork", "cold"]

type Words = Mapping[str, str | int]
"""What a call said for its choice of context: words and whole numbers by the names of `Option`s."""

UNSAID: Final[Words] = MappingProxyType({})
"""What a call said that did not choose."""

_SHORT: Final = reprlib.Repr(maxstring=60, maxother=60)
_BITS: Final = 64  # an integer of too many digits has no text at all


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
class Option:
    """One argument of the choice of context: one of the `words`, or where there are none a whole number from `least` to
    `most`. `default` is what it is when left out.
    """

    name: str
    words: tuple[str, ...] = ()
    least: int = 1
    most: int = 1_000
    default: str | int = ""

    @property
    def annotation(self) -> str:
        """The type as code is shown it: `Literal['fork', 'cold']`."""
        return f"Literal[{', '.join(map(repr, self.words))}]" if self.words else "int"

    @property
    def expected(self) -> str:
        """What may be said, as a sentence goes on: `"fork" or "cold"`."""
        if not self.words:
            return f"a whole number from {self.least:,} to {self.most:,}"
        *first, last = [f'"{word}"' for word in self.words]
        return f"{', '.join(first)} or {last}" if first else last

    def taken(self, said: object) -> str | int | None:
        """What was said, exactly one of what may be; None for anything else."""
        if self.words:
            return next((word for word in self.words if word == said), None) if isinstance(said, str) else None
        return said if type(said) is int and self.least <= said <= self.most else None

    def refusal(self, said: object) -> str:
        """The end of a sentence that begins with the name, for what `taken` refuses."""
        huge = isinstance(said, int) and said.bit_length() > _BITS
        return f"is {self.expected}, not {'a number so large' if huge else _SHORT.repr(said)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """One method. `repeatable` says that calling it twice does no harm. `of` names the record whose method it is in
    agent code: its first parameter takes that record, and `task.ask(x)` is `tasks.ask(task, x)`.

    `choice` are the arguments by which a call says how much of the conversation it takes along: only a method that
    takes it has some. Where a policy decides they are not `offered`: nothing shows them, and nothing said counts.
    """

    name: str
    doc: str = ""
    parameters: tuple[Parameter, ...] = ()
    returns: str = "Any"
    choice: tuple[Option, ...] = ()
    offered: bool = True
    repeatable: bool = False
    of: str = ""

    @property
    def delegates(self) -> bool:
        """Whether it takes the inherited conversation."""
        return bool(self.choice)


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
        methods = tuple(_method(method) for method in fields.pop("methods", ()))  # type: ignore[attr-defined]
        return cls(methods=methods, **fields)  # type: ignore[arg-type]


def _method(plain: Mapping[str, Any]) -> Method:
    parameters = tuple(Parameter(**parameter) for parameter in plain["parameters"])
    choice = tuple(Option(**{**option, "words": tuple(option["words"])}) for option in plain["choice"])
    return Method(**{**plain, "parameters": parameters, "choice": choice})


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
