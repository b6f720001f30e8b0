"""The methods of proxies and of handles, as functions: both forms, sealed, and described as an object's own are.

Rules:

- A method checks its arguments at the agent's own line and gives a `PendingCall`. Its `blocking` form is the same call
  for code that cannot await: it returns the answer.
- What crosses is reached only through sealed functions, one for each method: whoever digs one out has in hand what the
  method offers anyway. Closures can be looked into, and what they hold of the runtime is sealed.
"""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable, Mapping
from inspect import Parameter, Signature
from types import FunctionType
from typing import Any, Final, cast

from guest_stdlib.arguments import Arguments, in_order
from guest_stdlib.declared import Method, Words
from guest_stdlib.declared import Parameter as Declaration
from guest_stdlib.pending import Bridge, PendingCall, Start, Target
from guest_stdlib.shapes import got

__all__ = [
    "COROUTINE_MARK",
    "OF_A_NAME",
    "OF_NOTHING",
    "Crossing",
    "LateSignature",
    "described",
    "functions",
    "sealed",
    "special",
]

_KINDS: Final = {
    "positional_or_keyword": Parameter.POSITIONAL_OR_KEYWORD,
    "keyword_only": Parameter.KEYWORD_ONLY,
    "var_positional": Parameter.VAR_POSITIONAL,
    "var_keyword": Parameter.VAR_KEYWORD,
}

# What `inspect.iscoroutinefunction` looks for in a callable that is no function.
COROUTINE_MARK: Final = vars(inspect.markcoroutinefunction(lambda: None))

# Sealing


def sealed[**P, R](function: Callable[P, R]) -> Callable[P, R]:
    """`function` as a callable that shows nothing of what it holds.

    A cache of size nothing is the one callable of the standard library that is written in C, binds like a method, and
    has no attribute that leads to what it calls: no closure, no globals, no `__wrapped__` once that is taken away.
    """
    wrapper = functools.lru_cache(maxsize=0)(function)
    vars(wrapper).clear()
    return cast("Callable[P, R]", wrapper)


class Crossing:
    """What calls need of the bridge, sealed. It lives while the proxies are built, and nothing of theirs refers to
    it.
    """

    def __init__(self, bridge: Bridge) -> None:
        self.begin = bridge.start
        self.unawaited = bridge.unawaited
        self.block = sealed(bridge.block)
        self.rejected = sealed(bridge.rejected)

    def start(self, path: str, *, delegates: bool) -> Start:
        """The one call that agent code could make of it: this method's."""
        begin = self.begin

        def start(args: tuple[object, ...], kwargs: dict[str, object], context: Words) -> Any:
            return begin(path, args, kwargs, context=context, delegates=delegates)

        return sealed(start)


# Methods


def _calling(
    crossing: Crossing, path: str, method: Method, records: Mapping[str, type]
) -> tuple[FunctionType, FunctionType]:
    """A method's two forms, awaited and blocking, as functions whose first argument is the proxy."""
    take = Arguments(path, method, records).take
    start = crossing.start(path, delegates=method.delegates)
    target = Target(path=path, start=start, unawaited=crossing.unawaited)
    rejected = crossing.rejected

    def call(_proxy: object, /, *args: object, **kwargs: object) -> PendingCall:
        try:
            context = take(args, kwargs)
        except (TypeError, ValueError) as refusal:
            rejected()
            raise refusal.with_traceback(None) from None  # it is raised at the agent's line, not somewhere below
        return PendingCall(target, args, kwargs, context)

    return cast(FunctionType, call), _blocking(crossing, call)


def _calling_of(
    crossing: Crossing, path: str, method: Method, records: Mapping[str, type], *, wire: str
) -> tuple[FunctionType, FunctionType]:
    """The same for a method of a handle: the handle is the first argument of what crosses, under the path `wire`."""
    take = Arguments(path, method, records).take
    start = crossing.start(wire, delegates=method.delegates)
    target = Target(path=path, start=start, unawaited=crossing.unawaited, own=1)
    rejected, kind = crossing.rejected, method.of

    def call(handle: object, /, *args: object, **kwargs: object) -> PendingCall:
        try:
            if all(each.__name__ != kind for each in type(handle).__mro__):
                raise TypeError(f"{path}() is a method of {kind}, and this is none: {got(handle)}.")  # noqa: TRY301
            context = take(args, kwargs)
        except (TypeError, ValueError) as refusal:
            rejected()
            raise refusal.with_traceback(None) from None
        return PendingCall(target, (handle, *args), kwargs, context)

    return cast(FunctionType, call), _blocking(crossing, call)


def _blocking(crossing: Crossing, call: Callable[..., PendingCall]) -> FunctionType:
    block = crossing.block

    def blocking(owner: object, /, *args: object, **kwargs: object) -> object:
        waiting = call(owner, *args, **kwargs)
        try:
            return block(waiting)
        except Exception as error:
            raise error.with_traceback(None)  # noqa: B904  the error itself, without the runtime's frames

    return cast(FunctionType, blocking)


def described(function: FunctionType, path: str, doc: str, signature: Signature) -> FunctionType:
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


class LateSignature(Signature):
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


def functions(
    crossing: Crossing, path: str, method: Method, records: Mapping[str, type], *, wire: str = ""
) -> tuple[FunctionType, FunctionType]:
    """The two forms of a declared method, shown as `path`. With `wire`, the path under which it crosses, it is a
    handle's, and `method` is without the parameter that takes the handle.
    """
    if wire:
        call, blocking = _calling_of(crossing, path, method, records, wire=wire)
    else:
        call, blocking = _calling(crossing, path, method, records)
    signature = LateSignature(method, unbound=True)
    annotations = {each.name: each.annotation for each in in_order(method)}
    call.__annotations__ = blocking.__annotations__ = {**annotations, "return": method.returns}
    vars(call).update(COROUTINE_MARK)
    described(call, path, method.doc, signature)
    described(blocking, f"{path}.blocking", f"{path} for code that cannot await: returns the answer.", signature)
    return call, blocking


# What every object has


def special(name: str, function: Callable[..., object], signature: Signature) -> FunctionType:
    """A method of the language's own, such as `__repr__`."""
    return described(cast(FunctionType, function), name, "", signature)


_SELF: Final = Parameter("self", Parameter.POSITIONAL_ONLY)
OF_NOTHING: Final = Signature([_SELF])
OF_A_NAME: Final = Signature([_SELF, Parameter("name", Parameter.POSITIONAL_ONLY)])
