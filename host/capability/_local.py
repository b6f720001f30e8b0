"""Capabilities for code that runs in process: a proxy around the real object that adds the inherited conversation
(R59).

    contacts = context_local(Contacts(...))
    with inheriting(conversation):
        await contacts.ask("Sarah's address?")

Rules:

- Which conversation is inherited belongs to the context in which the call is written (`contextvars`), so to the task:
  two tasks with different histories never see each other's (R57), and tasks that they start inherit from them.
- The conversation is cut at the call, not at the await.
- The proxy is the object in all else. It is an instance of the object's class and shares its attributes, in both
  directions; methods that do not delegate are the object's own. A delegating method has the signature that agents
  see.
- This is for trusted callers. It keeps code from passing on a history of its own by mistake; it is no wall.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, cast

from host.capability._capability import Capability, declaration_of
from host.capability._choosing import Delegation, Heritage, Policy
from host.capability._tools import Tool
from host.context import Inherited
from host.conversation import Conversation

__all__ = ["context_local", "inheriting", "real"]

_HERITAGE: Final[ContextVar[Heritage]] = ContextVar("inherited conversation")
_NONE: Final = Heritage(source=None)


@contextmanager
def inheriting(
    inherited: Inherited | Conversation | Callable[[], Inherited],
    *,
    policy: Policy = "model",
    cold: bool = False,
    record: Callable[[Delegation], None] | None = None,
) -> Iterator[None]:
    """Within this block, delegating calls of `context_local` capabilities receive this conversation.

    A function is asked at each call, so a growing conversation is cut where it stands then. `policy`, `cold` and
    `record` are those of `Dispatch`. Blocks nest; the innermost counts.
    """
    source = Inherited.of(inherited) if isinstance(inherited, Conversation) else inherited
    reset = _HERITAGE.set(Heritage(source=source, policy=policy, cold=cold, record=record))
    try:
        yield
    finally:
        _HERITAGE.reset(reset)


def context_local[C: Capability](capability: C) -> C:
    """A proxy that stands for `capability`, and passes on what is inherited where a call is made.

    Outside of any `inheriting` block a delegating call raises LookupError, unless it starts cold. A type checker sees
    the class's own signature: give the hidden parameter a default, and calls check as they are written here.
    """
    capability = real(capability)
    cls = capability.__class__
    if "_stand_in" not in cls.__dict__:
        cls._stand_in = _local_class(cls)
    assert cls._stand_in is not None
    proxy: object = object.__new__(cls._stand_in)
    object.__getattribute__(proxy, "__dict__")["target"] = capability
    return cast("C", proxy)


def real[C: Capability](capability: C) -> C:
    """The object behind a proxy; any other object is itself."""
    return cast("C", _target(capability)) if issubclass(type(capability), _Local) else capability


def _target(proxy: object) -> object:
    return object.__getattribute__(proxy, "__dict__")["target"]


class _Local:
    """What makes an instance of a derived class stand for an instance of the class."""

    def __init_subclass__(cls) -> None:
        """Nothing: a class made here is no new capability, so no hook of the real class hears of it."""

    def __getattribute__(self, name: str) -> Any:
        if name in type(self).__dict__["_delegating"]:
            return types.MethodType(type(self).__dict__[name], self)
        return getattr(_target(self), name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(_target(self), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(_target(self), name)

    def __dir__(self) -> Iterable[str]:
        return dir(_target(self))

    def __repr__(self) -> str:
        return repr(_target(self))

    def __str__(self) -> str:
        return str(_target(self))

    def __format__(self, spec: str) -> str:
        return format(_target(self), spec)

    def __eq__(self, other: object) -> bool:
        return _target(self) == (_target(other) if issubclass(type(other), _Local) else other)

    def __hash__(self) -> int:
        return hash(_target(self))

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _target(self).__reduce_ex__(protocol)


def _local_class(cls: type[Capability]) -> type:
    """A subclass whose instances stand for instances of `cls`, and whose delegating methods look as agents see them."""
    delegating = {name: tool for name, tool in declaration_of(cls).tools.items() if tool.hidden is not None}
    members: dict[str, object] = {name: _method(cls, name, tool) for name, tool in delegating.items()}
    members |= {
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__doc__": cls.__doc__,
        "_delegating": frozenset(delegating),
    }
    return types.new_class(cls.__name__, (_Local, cls), exec_body=lambda namespace: namespace.update(members))


def _method(cls: type[Capability], name: str, tool: Tool) -> Callable[..., Coroutine[Any, Any, object]]:
    """The outward method: without the hidden parameter, with the choice, and with nothing that leads to the inward
    one.
    """
    hidden, terms = tool.hidden, tool.terms
    assert hidden is not None
    assert terms is not None
    inward = getattr(cls, name)

    @inspect.markcoroutinefunction
    def outward(self: Capability, /, *args: object, **kwargs: object) -> Coroutine[Any, Any, object]:
        target = _target(self)
        if hidden in kwargs:
            raise TypeError(f"{inward.__qualname__}() got an unexpected keyword argument {hidden!r}")
        chosen = terms.read({name: kwargs.pop(name) for name in terms.names if name in kwargs})
        method = getattr(target, name)
        try:
            tool.signature.bind(*args, **kwargs)
        except TypeError:
            method(
                *args, **kwargs, **{hidden: Inherited.cold()}
            ).close()  # raises the same, in the interpreter's own words
            raise
        path = f"{cast('Capability', target).name}.{name}"
        delegation = _HERITAGE.get(_NONE).delegate(path, chosen, terms=terms)
        return cast("Coroutine[Any, Any, object]", method(*args, **kwargs, **{hidden: delegation.inherited}))

    for attribute in ("__module__", "__name__", "__qualname__", "__type_params__"):
        setattr(outward, attribute, getattr(inward, attribute))
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    seen = tool.outward_signature
    outward.__signature__ = seen.replace(parameters=[own, *seen.parameters.values()])  # type: ignore[attr-defined]
    outward.__annotations__ = {parameter.name: parameter.annotation for parameter in seen.parameters.values()} | {
        "return": tool.returns
    }
    outward.__doc__ = tool.method.doc or None
    return outward
