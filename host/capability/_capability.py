"""Capabilities: classes whose public async methods agents can call.

Rules:

- A subclass of `Capability` is read when it is defined. What cannot be offered to an agent is refused then and there.
  Only an annotation in string form that names something defined later waits, until the first instance is made.
- A tool is a public method (no leading underscore) of a `Capability` class: instance method, async, every parameter
  and the return annotated. Class methods, static methods, properties and plain attributes are for the program, not
  for agents; so is `aclose`, and so is everything from parents that are not capabilities.
- A subclass inherits the tools of its parents and may override them; each class is read by itself.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import inspect
import keyword
import re
import sys
import types
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, Self

from guest_stdlib.declared import Declared
from host.capability._terms import Stated, Terms
from host.capability._tools import HANDLE, REPEATABLE, STARTS, Tool, UnknownName, tool_of
from host.context import Dialect
from host.context.dialects import dialect_of
from host.errors import CapabilityDefinitionError, field_names

__all__ = [
    "Capability",
    "Declaration",
    "check_name",
    "declaration_of",
    "declared",
    "delegates",
    "handle",
    "repeatable",
]

# Public names that every capability object has for the program's use, and words that mean something else in agent
# code.
_TAKEN: Final = {
    "aclose": "closes the capability",
    "blocking": "is how code that is not async calls a method",
    "context": "is the class's default choice",
    "dialect": "is the class's words for the choice",
    "errors": "lists the exceptions that the class raises",
    "name": "is the capability's name in agent code",
}
# Names that agent code already has, beside Python's own.
_RESERVED: Final = frozenset({"CapabilityError", "TimeLimit", "blocking", "context", "inherited"})


def check_name(name: str, what: str) -> None:
    """Refuse a name that agent code could not use: no identifier, a word of Python, or one that is in scope already."""
    if not name.isidentifier() or name.startswith("_"):
        raise CapabilityDefinitionError(f"{what}: {name!r} is no public Python name.")
    if keyword.iskeyword(name):
        raise CapabilityDefinitionError(f"{what}: `{name}` is a word of Python itself.")
    if hasattr(builtins, name):
        raise CapabilityDefinitionError(f"{what}: `{name}` would hide Python's own `{name}`.")
    if name in _RESERVED:
        raise CapabilityDefinitionError(f"{what}: `{name}` means something else in agent code.")


def repeatable[F: Callable[..., Awaitable[object]]](method: F) -> F:
    """Mark a method whose call does no harm when it is made twice.

    A session that was suspended while such a call was under way makes it again when it goes on; any other call is
    made at most once, and its answer is an error then.
    """
    setattr(method, REPEATABLE, True)
    return method


def delegates[F: Callable[..., Awaitable[object]]](
    *,
    dialect: str | Dialect | None = None,
    max_turns: int | None = None,
    max_tokens: int | None = None,
    **defaults: str | int,
) -> Callable[[F], F]:
    """Say on which terms a delegating method takes the conversation; it overrides what the class declares:

        @delegates(context="cold")
        async def look(self, query: str, *, inherited: Inherited) -> str: ...

        @delegates(dialect="window", context_turns=3, context_scope="agents", max_tokens=8_000)
        async def explore(self, instruction: str, *, inherited: Inherited) -> str: ...

    `dialect` is one of `host.context.DIALECTS` ("choice", "modes", "window", "isolation") or a `Dialect` of one's own,
    `defaults` are what its arguments are when a call leaves them out. `max_turns` bounds how many turns a call may ask
    for, `max_tokens` all that is passed.
    """
    stated = Stated(dialect=dialect, words=defaults, max_turns=max_turns, max_tokens=max_tokens)

    def mark(method: F) -> F:
        setattr(method, STARTS, stated)
        return method

    return mark


def handle[C: type](*, result: str) -> Callable[[C], C]:
    """Mark a dataclass whose values stand for something that goes on, such as a task that was started:

        @handle(result="result")
        @dataclass(frozen=True)
        class Task:
            id: str

        class Tasks(Capability):
            async def start(self, request: str, *, inherited: Inherited) -> Task: ...
            async def ask(self, task: Task, question: str) -> str: ...
            async def result(self, task: Task) -> str: ...

    In agent code each method that takes the handle first is a method of the handle: `await task.ask("...")` calls
    `ask(task, "...")`, and `await task` calls the one that `result` names. Code may keep handles, pass them on and
    make them up, so the method checks what it is given, as any argument.
    """

    def mark(kind: C) -> C:
        if "__dataclass_fields__" not in vars(kind):
            raise CapabilityDefinitionError(
                f"@handle: {kind.__name__} is no dataclass: write @handle above @dataclass, not below it."
            )
        setattr(kind, HANDLE, result)
        return kind

    return mark


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """What one capability class offers: its description, its tools by name in the order of their definition, its
    exceptions.
    """

    doc: str
    tools: Mapping[str, Tool]
    errors: tuple[type[Exception], ...]


class Capability:
    """Something that agents can use. Write a subclass; its annotated public async methods are the tools:

        class Weather(Capability):
            "The weather service."

            async def today(self, city: str) -> str:
                "Today's weather in a city."

            async def explain(self, question: str, *, inherited: Inherited) -> str:
                "Why the weather is as it is."

    A method with a keyword parameter annotated `Inherited` delegates: it is given the conversation so far, or as much
    of it as the call says: none where it says `context="cold"`. No outward face shows that parameter.

    Class attributes: `name` is what the object is called in agent code (else the class's name in snake_case; an
    instance may be given another one, `Weather(name="forecast")`), `errors` are the exceptions that its methods raise
    on purpose. `dialect` is in which words calls say how much of the conversation goes along ("choice": fork or cold;
    see `host.context.dialects`), and an attribute with the name of one of its arguments, such as `context = "cold"`, is
    what its delegating methods start from when a call does not say. `@delegates` says both for one method.

    Raises CapabilityDefinitionError, with the method and what to write, when the subclass cannot be offered to an
    agent.
    """

    name: str = ""
    errors: ClassVar[tuple[type[Exception], ...]] = ()
    dialect: ClassVar[str | Dialect] = "choice"
    context: ClassVar[str]

    _declaration: ClassVar[Declaration | None] = None
    _name_derived: ClassVar[bool] = False
    _stand_in: ClassVar[type | None] = None
    _names: ClassVar[Mapping[str, object]] = types.MappingProxyType({})

    def __new__(cls, *_arguments: object, **_keywords: object) -> Self:
        if cls is Capability:
            raise TypeError("Capability itself offers nothing: write a subclass with async methods.")
        declaration_of(cls)
        return super().__new__(cls)

    def __init__(self, *, name: str | None = None) -> None:
        if name is not None:
            check_name(name, f"a {type(self).__name__}'s name")
            self.name = name

    def __init_subclass__(cls, **keywords: object) -> None:
        super().__init_subclass__(**keywords)
        _name_class(cls)
        cls._names = _names_around(cls)
        cls._declaration = None
        with contextlib.suppress(UnknownName):  # a class defined further down, perhaps: an instance reads again
            cls._declaration = _read(cls)


def declaration_of(cls: type[Capability]) -> Declaration:
    """What a capability class offers. Raises CapabilityDefinitionError if it cannot be read."""
    declaration = cls.__dict__.get("_declaration")
    if declaration is None:
        try:
            declaration = cls._declaration = _read(cls)
        except UnknownName as error:
            raise CapabilityDefinitionError(str(error)) from error
    assert isinstance(declaration, Declaration)
    return declaration


def declared(capability: Capability) -> Declared:
    """A capability in the form that crosses to the guest."""
    declaration = declaration_of(capability.__class__)
    return Declared(
        name=capability.name, doc=declaration.doc, methods=tuple(tool.method for tool in declaration.tools.values())
    )


def _name_class(cls: type[Capability]) -> None:
    own = cls.__dict__.get("name")
    if own is None:
        stated = next(
            (p for p in cls.__mro__[1:] if p.__dict__.get("name") and not p.__dict__.get("_name_derived")), None
        )
        if stated is not None:
            return
        words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", cls.__name__.strip("_"))
        cls.name = words.lower()
        cls._name_derived = True
    elif not isinstance(own, str):
        raise CapabilityDefinitionError(f"{cls.__name__}.name is the capability's name in agent code, a string.")
    check_name(cls.name, f"{cls.__name__}: the capability's name")


def _read(cls: type[Capability]) -> Declaration:
    family = [parent for parent in cls.__mro__ if issubclass(parent, Capability) and parent is not Capability]
    tools: dict[str, Tool] = {}
    stated = _stated(cls)
    for parent in reversed(family):
        for name in vars(parent):
            if not name.startswith("_") and name not in tools:
                tool = _tool(cls, name, family, stated)
                if tool is not None:
                    tools[name] = tool
    doc = next((parent.__doc__ for parent in family if parent.__dict__.get("__doc__")), None)
    return Declaration(doc=inspect.cleandoc(doc).strip() if doc else "", tools=tools, errors=_errors(cls, family))


def _stated(cls: type[Capability]) -> Stated:
    """What the class declares for all its delegating methods."""
    words: dict[str, object] = {}
    own: object = cls.dialect
    dialect = Capability.dialect if callable(own) else own  # a method of that name is refused as a tool
    with contextlib.suppress(ValueError):  # of a dialect that there is not, which is refused below
        for name in dialect_of(dialect).defaults:
            value = None if hasattr(Capability, name) else getattr(cls, name, None)
            if value is not None and not callable(value):
                words[name] = value
    stated = Stated(dialect=dialect, words=words)
    Terms.of(cls.__name__, None, stated)
    return stated


def _tool(cls: type[Capability], name: str, family: list[type[Capability]], stated: Stated) -> Tool | None:
    """The tool behind a public name, None where the name is for the program."""
    where = f"{cls.__name__}.{name}"
    owner = next(parent for parent in cls.__mro__ if name in vars(parent))
    function = vars(owner)[name]
    method = isinstance(function, (types.FunctionType, functools.partialmethod)) or (
        callable(function) and hasattr(function, "__wrapped__")
    )
    if not method or name == "aclose" or isinstance(function, (classmethod, staticmethod)):
        return None
    if name in _TAKEN:
        raise CapabilityDefinitionError(f"{where}: a tool cannot be called `{name}`, which {_TAKEN[name]}.")
    if keyword.iskeyword(name):
        raise CapabilityDefinitionError(f"{where}: `{name}` is a word of Python itself and cannot name a tool.")
    if isinstance(function, functools.partialmethod):
        raise CapabilityDefinitionError(
            f"{where} is a partialmethod: write it as an async method with its own annotations."
        )
    texts = (vars(parent)[name].__doc__ for parent in family if name in vars(parent))
    doc = function.__doc__ or next((text for text in texts if text), None)
    names = owner.__dict__.get("_names", {})
    return tool_of(function, where=where, name=name, doc=doc, stated=stated, names=names)


def _errors(cls: type[Capability], family: list[type[Capability]]) -> tuple[type[Exception], ...]:
    """The exceptions of the class and its parents, its own first."""
    found: dict[type[Exception], None] = {}
    for parent in family:
        listed = parent.__dict__.get("errors", ())
        if not isinstance(listed, (tuple, list)):
            raise CapabilityDefinitionError(
                f"{cls.__name__}.errors is a tuple of exception classes: write `errors = (MyError,)`."
            )
        for error in listed:
            if not (isinstance(error, type) and issubclass(error, Exception)):
                raise CapabilityDefinitionError(
                    f"{cls.__name__}.errors holds {error!r}, which is no class of exceptions."
                )
            if error.__module__ != "builtins":
                check_name(error.__name__, f"{cls.__name__}.errors")
                if "fields" in field_names(error):
                    raise CapabilityDefinitionError(
                        f"{error.__name__}.fields: call the attribute otherwise; `fields` lists them all."
                    )
            found[error] = None
    return tuple(found)


def _names_around(cls: type[Capability]) -> dict[str, object]:
    """What annotations in string form may mean that module globals do not say: names of the class body and of the
    function around it. Only the names that occur in annotations are kept, so that nothing else of that function stays
    alive.
    """
    wanted: set[str] = set()
    for value in vars(cls).values():
        with contextlib.suppress(NameError):  # where annotations are evaluated late, none of them is a string
            for annotation in getattr(
                inspect.unwrap(value) if callable(value) else value, "__annotations__", {}
            ).values():
                if isinstance(annotation, str):
                    wanted |= _names_in(annotation)
    around = {name: value for name, value in _enclosing(cls).items() if name in wanted}
    # Methods are left out: in a class body that defines `date`, an annotation `date` means the type that it meant
    # above.
    body = {
        name: value for name, value in vars(cls).items() if name in wanted and not isinstance(value, types.FunctionType)
    }
    return around | body


def _names_in(annotation: str) -> set[str]:
    try:
        tree = ast.parse(annotation, mode="eval")
    except SyntaxError:
        return set()  # refused with a sentence when the annotation is evaluated
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value != annotation:
            names |= _names_in(node.value)
    return names


def _enclosing(cls: type) -> Mapping[str, object]:
    """The local names of the function whose code defines the class, empty for a class at module level."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__")
        if module == cls.__module__ != __name__ and frame.f_code.co_name not in ("__init_subclass__", "__new__"):
            return {} if frame.f_locals is frame.f_globals else frame.f_locals
        frame = frame.f_back
    return {}
