"""The objects that stand for capabilities in agent code.

Rules:

- A proxy looks like the object that it stands for: its type has the capability's name; its methods are bound methods
  with real signatures, documentation and repr, and `inspect` takes them for coroutine functions.
- A method checks its arguments at the agent's own line and gives a `PendingCall`. `method.blocking(...)` is the same
  call for code that cannot await: it returns the answer.
- Nothing of the runtime hangs on a proxy. What crosses is reached only through sealed functions, one for each method:
  whoever digs one out has in hand what the method offers anyway. The token and the Open event are not even known
  here.
- A proxy cannot be changed: its attributes, and those of its type, refuse to be set.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import FunctionType, MethodType
from typing import Any, Final, Never

from guest_stdlib.arguments import nearest
from guest_stdlib.channel.events import Open
from guest_stdlib.declared import Declared, DeclaredError, DeclaredRecord, Method
from guest_stdlib.declared import Parameter as Declaration
from guest_stdlib.exceptions import CapabilityError, error_class
from guest_stdlib.handles import handle_class, methods_of
from guest_stdlib.methods import (
    COROUTINE_MARK,
    OF_A_NAME,
    OF_NOTHING,
    Crossing,
    LateSignature,
    functions,
    sealed,
    special,
)
from guest_stdlib.pending import Bridge
from guest_stdlib.records import record_class

__all__ = ["Known", "build", "capabilities"]


@dataclass(slots=True)
class Known:
    """The classes of a session's records by name, with what each was made of.

    It lasts as long as the session, and proxies look into it at each call. Where a session is opened anew, a record
    that is declared as it was keeps its class, so that values of it which code has kept are still its instances.
    """

    records: dict[str, type] = field(default_factory=dict)
    declared: dict[str, object] = field(default_factory=dict)


def build(open_event: Open, bridge: Bridge, known: Known | None = None) -> dict[str, object]:
    """The names to put in scope: one proxy for each capability, the classes of declared errors and records,
    CapabilityError. `known` is what the session had before it was opened anew.
    """
    known = known or Known()
    crossing = Crossing(bridge)
    declared = capabilities(open_event)
    before, made_of = dict(known.records), dict(known.declared)
    known.records.clear()
    known.declared.clear()
    for record in (DeclaredRecord(**_fields(item)) for item in open_event.records):
        owned = methods_of(record, declared)
        same = made_of.get(record.name) == (record, owned)
        known.declared[record.name] = (record, owned)
        known.records[record.name] = (
            before[record.name]
            if same
            else handle_class(record, owned, known.records, crossing)
            if record.result
            else record_class(record)
        )
    errors = {
        plain.name: error_class(plain) for plain in (DeclaredError(**_fields(item)) for item in open_event.errors)
    }
    proxies = {each.name: _proxy(each, known.records, crossing) for each in declared}
    return {"CapabilityError": CapabilityError, **known.records, **errors, **proxies}


def capabilities(open_event: Open) -> tuple[Declared, ...]:
    """The capabilities that a session was opened with."""
    return tuple(Declared.from_plain(plain) for plain in open_event.capabilities)


def _fields(plain: Mapping[str, object]) -> dict[str, Any]:
    return {**plain, "fields": tuple(plain.get("fields", ()))}  # type: ignore[arg-type]


# The proxies


class _Capability(type):
    """The type of the proxies' types, which cannot be changed."""

    def __setattr__(cls, name: str, value: object) -> None:
        raise AttributeError(f"{cls.__name__}.{name} cannot be set: {cls.__name__} is a capability.")

    def __delattr__(cls, name: str) -> None:
        raise AttributeError(f"{cls.__name__}.{name} cannot be deleted: {cls.__name__} is a capability.")


def _proxy(declared: Declared, records: Mapping[str, type], crossing: Crossing) -> object:
    """The proxy of one capability."""
    forms = {
        method.name: functions(crossing, f"{declared.name}.{method.name}", method, records)
        for method in declared.methods
        if not method.of
    }
    members: dict[str, object] = {name: call for name, (call, _) in forms.items()}
    members["__doc__"] = declared.doc or None
    members |= _anything(declared.name, records, crossing) if declared.anything else {"__getattr__": _missing(declared)}
    proxy = _instance(declared.name, members)
    for call, blocking in forms.values():
        vars(call)["blocking"] = MethodType(blocking, proxy)
    return proxy


def _missing(declared: Declared) -> FunctionType:
    """What a proxy says of a method that it has not; or that a handle has."""
    owners = {method.name: method.of for method in declared.methods if method.of}
    if not owners:
        return _NO_SUCH_METHOD

    def missing(proxy: object, name: str) -> Never:
        owner = owners.get(name)
        if owner is None:
            _no_such_method(proxy, name)
        write = f"await {owner.lower()}.{name}(...)"
        raise AttributeError(f"{declared.name} has no method {name!r}: it is one of {owner}. Write: {write}", name="")

    return special("__getattr__", missing, OF_A_NAME)


def _instance(path: str, members: Mapping[str, object]) -> object:
    kind = _Capability(path, (), {"__slots__": (), "__module__": "__main__", **_SPECIAL, **members})
    return kind()


def _methods(proxy: object) -> list[str]:
    return [name for name in vars(type(proxy)) if not name.startswith("_") and name != "blocking"]


def _shown(proxy: object) -> str:
    shown = _methods(proxy) or (["anything"] if callable(proxy) else ["no methods"])
    return f"<{type(proxy).__name__}: {', '.join(shown)}>"


def _reduced(proxy: object) -> str:
    return type(proxy).__name__  # a global name: copies and pickles of a proxy are the proxy itself


def _no_such_method(proxy: object, name: str) -> Never:
    own = type(proxy).__name__
    if name.startswith("_"):
        raise AttributeError(f"{own!r} object has no attribute {name!r}", name=name, obj=proxy)
    methods = _methods(proxy)
    close = nearest(name, methods)
    meant = f" Did you mean {close[0]!r}?" if close else ""
    known = ", ".join(f"{own}.{each}{inspect.signature(getattr(proxy, each))}" for each in methods)
    # An empty name keeps CPython from adding a suggestion of its own to the traceback.
    raise AttributeError(f"{own} has no method {name!r}.{meant} It has: {known or 'no methods'}.", name="")


_SPECIAL: Final = {
    "__repr__": special("__repr__", _shown, OF_NOTHING),
    "__reduce__": special("__reduce__", _reduced, OF_NOTHING),
}
_NO_SUCH_METHOD: Final = special("__getattr__", _no_such_method, OF_A_NAME)

_ANY: Final = Method(
    name="",
    parameters=(
        Declaration(name="args", kind="var_positional", required=False),
        Declaration(name="kwargs", kind="var_keyword", required=False),
    ),
)


def _anything(path: str, records: Mapping[str, type], crossing: Crossing) -> dict[str, object]:
    """The members of a proxy that may be called, and has every method: `lookup(1)`, `lookup.by.name("x")`."""
    call, blocking = functions(crossing, path, _ANY, records)
    inner: dict[str, object] = {}

    def below(name: str) -> object:
        if name not in inner:
            inner[name] = _instance(f"{path}.{name}", _anything(f"{path}.{name}", records, crossing))
        return inner[name]

    sealed_below = sealed(below)

    def reach(_self: object, name: str) -> object:
        if name.startswith("_"):
            raise AttributeError(f"{path!r} object has no attribute {name!r}")
        return sealed_below(name)

    return {
        "__call__": call,
        "__getattr__": special("__getattr__", reach, OF_A_NAME),
        "__signature__": LateSignature(_ANY, unbound=False),
        "blocking": blocking,
        **COROUTINE_MARK,
    }
