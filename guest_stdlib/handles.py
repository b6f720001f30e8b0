"""Handles: records that can be awaited, and have methods. `task = await tasks.start("x"); await task.ask("how far?")`.

Rules:

- A handle is a record in all else: its fields, ==, repr, copies. It can be kept, passed back, changed and made up: what
  crosses is its fields, and whether they mean anything is for the capability to say.
- A method of a handle is a method of the capability whose first argument is the handle. It looks and behaves as the
  proxies' own: checked at the agent's line, lazy, with `blocking`.
- Awaiting a handle calls the method that its declaration names, each time anew.
- Its methods cannot be changed, on the class or on one handle.
"""

from __future__ import annotations

import inspect
from collections.abc import Generator, Iterable, Mapping
from dataclasses import replace
from types import FunctionType, MethodType
from typing import Any, Final, Never, cast

from guest_stdlib.arguments import nearest
from guest_stdlib.declared import Declared, DeclaredRecord, Method
from guest_stdlib.methods import OF_A_NAME, OF_NOTHING, Crossing, functions, special
from guest_stdlib.records import Record, record_class

__all__ = ["handle_class", "methods_of"]

type Owned = tuple[str, Method]


def methods_of(record: DeclaredRecord, capabilities: Iterable[Declared]) -> tuple[Owned, ...]:
    """The methods of a handle, each with the name of its capability."""
    if not record.result:
        return ()
    return tuple((each.name, method) for each in capabilities for method in each.methods if method.of == record.name)


def handle_class(
    declared: DeclaredRecord, owned: Iterable[Owned], records: Mapping[str, type], crossing: Crossing
) -> type[Record]:
    """The class of a declared handle. `records` are the classes that arguments are checked against, once it is full."""
    members: dict[str, object] = {"__getattr__": _NO_SUCH_MEMBER}
    for capability, method in owned:
        own = replace(method, parameters=method.parameters[1:])
        path, wire = f"{declared.name}.{method.name}", f"{capability}.{method.name}"
        forms = functions(crossing, path, own, records, wire=wire)
        members[method.name] = _Member(*forms)
        if method.name == declared.result:
            members["__await__"] = _awaiting(forms[0])
    return record_class(declared, members, kind=_Handle)


def _awaiting(call: FunctionType) -> FunctionType:
    def awaiting(handle: object) -> Generator[Any, None, object]:
        return cast("Generator[Any, None, object]", call(handle).__await__())

    return special("__await__", awaiting, OF_NOTHING)


class _Handle(type):
    """The type of the handles' types, which cannot be changed."""

    def __setattr__(cls, name: str, value: object) -> None:
        raise AttributeError(f"{cls.__name__}.{name} cannot be set: {cls.__name__} is a capability's.")

    def __delattr__(cls, name: str) -> None:
        raise AttributeError(f"{cls.__name__}.{name} cannot be deleted: {cls.__name__} is a capability's.")


class _Member:
    """One method. It binds as functions do; what it gives has its `blocking` form beside it, bound as well."""

    __slots__ = ("_blocking", "_call")

    def __init__(self, call: FunctionType, blocking: FunctionType) -> None:
        self._call, self._blocking = call, blocking
        vars(call)["blocking"] = blocking

    def __get__(self, handle: object, kind: type | None = None) -> object:
        call = self._call
        if handle is None:
            return call
        bound = FunctionType(call.__code__, call.__globals__, call.__name__, call.__defaults__, call.__closure__)
        bound.__qualname__, bound.__module__, bound.__doc__ = call.__qualname__, call.__module__, call.__doc__
        bound.__annotations__ = call.__annotations__
        vars(bound).update(vars(call), blocking=MethodType(self._blocking, handle))
        return MethodType(bound, handle)

    def __set__(self, handle: object, value: object) -> Never:
        raise AttributeError(f"{self._call.__qualname__} cannot be set: it is a method.")

    def __delete__(self, handle: object) -> Never:
        raise AttributeError(f"{self._call.__qualname__} cannot be deleted: it is a method.")


def _no_such_member(handle: object, name: str) -> Never:
    kind = type(handle)
    if name.startswith("_"):
        raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}", name=name, obj=handle)
    fields = list(getattr(kind, "__match_args__", ()))
    methods = [each for each, member in vars(kind).items() if isinstance(member, _Member)]
    close = nearest(name, [*fields, *methods])
    meant = f" Did you mean {close[0]!r}?" if close else ""
    known = [*fields, *(f"{each}{inspect.signature(getattr(handle, each))}" for each in methods)]
    # An empty name keeps CPython from adding a suggestion of its own to the traceback.
    raise AttributeError(
        f"{kind.__name__} has no {name!r}.{meant} It has: {', '.join(known)}. It can be awaited.", name=""
    )


_NO_SUCH_MEMBER: Final = special("__getattr__", _no_such_member, OF_A_NAME)
