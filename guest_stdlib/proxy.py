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

import ast
import functools
import inspect
from collections.abc import Callable, Mapping
from inspect import Parameter, Signature
from types import FunctionType, MethodType
from typing import Any, Final, Never, cast

from guest_stdlib.arguments import Arguments, in_order, nearest
from guest_stdlib.channel.events import Open
from guest_stdlib.declared import Context, Declared, DeclaredError, DeclaredRecord, Method
from guest_stdlib.declared import Parameter as Declaration
from guest_stdlib.exceptions import CapabilityError, error_class
from guest_stdlib.pending import Bridge, PendingCall, Start, Target
from guest_stdlib.records import record_class

__all__ = ["build", "capabilities"]

_KINDS: Final = {
    "positional_or_keyword": Parameter.POSITIONAL_OR_KEYWORD,
    "keyword_only": Parameter.KEYWORD_ONLY,
    "var_positional": Parameter.VAR_POSITIONAL,
    "var_keyword": Parameter.VAR_KEYWORD,
}

# What `inspect.iscoroutinefunction` looks for in a callable that is no function.
_COROUTINE_MARK: Final = vars(inspect.markcoroutinefunction(lambda: None))


def build(open_event: Open, bridge: Bridge) -> dict[str, object]:
    """The names to put in scope: one proxy for each capability, the classes of declared errors and records,
    CapabilityError.
    """
    records = {
        plain.name: record_class(plain) for plain in (DeclaredRecord(**_fields(item)) for item in open_event.records)
    }
    errors = {
        plain.name: error_class(plain) for plain in (DeclaredError(**_fields(item)) for item in open_event.errors)
    }
    crossing = _Crossing(bridge)
    proxies = {declared.name: _proxy(declared, records, crossing) for declared in capabilities(open_event)}
    return {"CapabilityError": CapabilityError, **records, **errors, **proxies}


def capabilities(open_event: Open) -> tuple[Declared, ...]:
    """The capabilities that a session was opened with."""
    return tuple(Declared.from_plain(plain) for plain in open_event.capabilities)


def _fields(plain: Mapping[str, object]) -> dict[str, Any]:
    return {**plain, "fields": tuple(plain.get("fields", ()))}  # type: ignore[arg-type]


# Sealing


def _sealed[**P, R](function: Callable[P, R]) -> Callable[P, R]:
    """`function` as a callable that shows nothing of what it holds.

    A cache of size nothing is the one callable of the standard library that is written in C, binds like a method, and
    has no attribute that leads to what it calls: no closure, no globals, no `__wrapped__` once that is taken away.
    """
    wrapper = functools.lru_cache(maxsize=0)(function)
    vars(wrapper).clear()
    return cast("Callable[P, R]", wrapper)


class _Crossing:
    """What calls need of the bridge, sealed. It lives while the proxies are built, and nothing of theirs refers to
    it.
    """

    def __init__(self, bridge: Bridge) -> None:
        self.begin = bridge.start
        self.unawaited = bridge.unawaited
        self.block = _sealed(bridge.block)
        self.rejected = _sealed(bridge.rejected)

    def start(self, path: str, *, delegates: bool) -> Start:
        """The one call that agent code could make of it: this method's."""
        begin = self.begin

        def start(args: tuple[object, ...], kwargs: dict[str, object], context: Context | None) -> Any:
            return begin(path, args, kwargs, context=context, delegates=delegates)

        return _sealed(start)


# Methods


def _calling(
    crossing: _Crossing, path: str, method: Method, records: Mapping[str, type]
) -> tuple[FunctionType, FunctionType]:
    """A method's two forms, awaited and blocking, as functions whose first argument is the proxy.

    Their closures can be looked into: what they hold of the runtime is sealed.
    """
    take = Arguments(path, method, records).take
    start = crossing.start(path, delegates=method.delegates)
    target = Target(path=path, start=start, unawaited=crossing.unawaited)
    block, rejected = crossing.block, crossing.rejected

    def call(_proxy: object, /, *args: object, **kwargs: object) -> PendingCall:
        try:
            context = take(args, kwargs)
        except (TypeError, ValueError) as refusal:
            rejected()
            raise refusal.with_traceback(None) from None  # it is raised at the agent's line, not somewhere below
        return PendingCall(target, args, kwargs, context)

    def blocking(_proxy: object, /, *args: object, **kwargs: object) -> object:
        waiting = call(_proxy, *args, **kwargs)
        try:
            return block(waiting)
        except Exception as error:
            raise error.with_traceback(None)  # noqa: B904  the error itself, without the runtime's frames

    return cast(FunctionType, call), cast(FunctionType, blocking)


def _described(function: FunctionType, path: str, doc: str, signature: Signature) -> FunctionType:
    """A function as `help` and `inspect` show the agent's own: no word of where it was written."""
    function.__name__ = path.rpartition(".")[2]
    function.__qualname__ = path
    function.__module__ = "__main__"
    function.__doc__ = doc or None
    vars(function)["__signature__"] = signature
    return function


class _Text(str):
    """Source text that shows without quotes, where signatures show a repr."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class _Signature(Signature):
    """The signature of a method, made when it is first looked at: most sessions look at none, and all would pay."""

    __slots__ = ("_made", "_method", "_unbound")

    def __init__(self, method: Method, *, unbound: bool) -> None:
        self._method = method
        self._unbound = unbound
        self._made: Signature | None = None

    def _real(self) -> Signature:
        if self._made is None:
            parameters = [_parameter(declaration) for declaration in in_order(self._method)]
            if self._unbound:
                parameters.insert(0, Parameter("self", Parameter.POSITIONAL_OR_KEYWORD))
            self._made = Signature(parameters, return_annotation=_Text(self._method.returns))
        return self._made

    @property
    def _parameters(self) -> Mapping[str, Parameter]:
        return self._real().parameters

    @property
    def _return_annotation(self) -> object:
        return self._real().return_annotation

    def replace(self, **changes: Any) -> Any:
        """A plain signature with these changes."""
        return self._real().replace(**changes)

    __replace__ = replace


def _parameter(declaration: Declaration) -> Parameter:
    required = declaration.required or declaration.kind in ("var_positional", "var_keyword")
    return Parameter(
        declaration.name,
        _KINDS[declaration.kind],
        default=Parameter.empty if required else _default(declaration.default),
        annotation=_Text(declaration.annotation),
    )


def _default(text: str) -> object:
    """The default itself where its text is a literal, else a stand-in that shows as it was written."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return _Text(text)


def _function(
    crossing: _Crossing, path: str, method: Method, records: Mapping[str, type]
) -> tuple[FunctionType, FunctionType]:
    """The two forms of a declared method."""
    call, blocking = _calling(crossing, path, method, records)
    signature = _Signature(method, unbound=True)
    annotations = {each.name: each.annotation for each in in_order(method)}
    call.__annotations__ = blocking.__annotations__ = {**annotations, "return": method.returns}
    vars(call).update(_COROUTINE_MARK)
    _described(call, path, method.doc, signature)
    _described(blocking, f"{path}.blocking", f"{path} for code that cannot await: returns the answer.", signature)
    return call, blocking


# The proxies


class _Capability(type):
    """The type of the proxies' types, which cannot be changed."""

    def __setattr__(cls, name: str, value: object) -> None:
        raise AttributeError(f"{cls.__name__}.{name} cannot be set: {cls.__name__} is a capability.")

    def __delattr__(cls, name: str) -> None:
        raise AttributeError(f"{cls.__name__}.{name} cannot be deleted: {cls.__name__} is a capability.")


def _proxy(declared: Declared, records: Mapping[str, type], crossing: _Crossing) -> object:
    """The proxy of one capability."""
    functions = {
        method.name: _function(crossing, f"{declared.name}.{method.name}", method, records)
        for method in declared.methods
    }
    members: dict[str, object] = {name: call for name, (call, _) in functions.items()}
    members["__doc__"] = declared.doc or None
    members |= _anything(declared.name, records, crossing) if declared.anything else {"__getattr__": _NO_SUCH_METHOD}
    proxy = _instance(declared.name, members)
    for call, blocking in functions.values():
        vars(call)["blocking"] = MethodType(blocking, proxy)
    return proxy


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


def _special(name: str, function: Callable[..., object], signature: Signature) -> FunctionType:
    return _described(cast(FunctionType, function), name, "", signature)


_SELF: Final = Parameter("self", Parameter.POSITIONAL_ONLY)
_OF_NOTHING: Final = Signature([_SELF])
_OF_A_NAME: Final = Signature([_SELF, Parameter("name", Parameter.POSITIONAL_ONLY)])

_SPECIAL: Final = {
    "__repr__": _special("__repr__", _shown, _OF_NOTHING),
    "__reduce__": _special("__reduce__", _reduced, _OF_NOTHING),
}
_NO_SUCH_METHOD: Final = _special("__getattr__", _no_such_method, _OF_A_NAME)

_ANY: Final = Method(
    name="",
    parameters=(
        Declaration(name="args", kind="var_positional", required=False),
        Declaration(name="kwargs", kind="var_keyword", required=False),
    ),
)


def _anything(path: str, records: Mapping[str, type], crossing: _Crossing) -> dict[str, object]:
    """The members of a proxy that may be called, and has every method: `lookup(1)`, `lookup.by.name("x")`."""
    call, blocking = _function(crossing, path, _ANY, records)
    inner: dict[str, object] = {}

    def below(name: str) -> object:
        if name not in inner:
            inner[name] = _instance(f"{path}.{name}", _anything(f"{path}.{name}", records, crossing))
        return inner[name]

    sealed_below = _sealed(below)

    def reach(_self: object, name: str) -> object:
        if name.startswith("_"):
            raise AttributeError(f"{path!r} object has no attribute {name!r}")
        return sealed_below(name)

    return {
        "__call__": call,
        "__getattr__": _special("__getattr__", reach, _OF_A_NAME),
        "__signature__": _Signature(_ANY, unbound=False),
        "blocking": blocking,
        **_COROUTINE_MARK,
    }
