"""Calls that come from a guest or a model, made on the host.

The guest is hostile until checked. Its proxy refuses wrong calls with good messages at the agent's own line; whatever
reaches this file may have been written by anyone, so everything is checked again: that the path is a declared tool
and nothing else, that the arguments bind and have the declared shapes, that the choice of context is offered, and
that a delegating call bears the token of this run's branch point. A call that fails any of this is *rejected*: it is
counted, and nothing of the capability runs.

The conversation is put in here, and only here. It is cut when the call is taken, before anything is awaited (R39).

What a call gives back is checked loosely against the return annotation: a wrong one is a fault of the capability,
which is logged, and an error for the caller, never a value of a type that the stub does not promise.
"""

from __future__ import annotations

import hmac
import inspect
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from types import MappingProxyType
from typing import Any, Final, cast

from guest_stdlib import shapes
from guest_stdlib.channel.events import Call, Failure
from guest_stdlib.declared import Shape
from guest_stdlib.shapes import ShapeError
from host.capability._capability import Capability
from host.capability._choosing import Delegation, Heritage, Policy
from host.capability._crossing import Crossed, failure_of
from host.capability._schemas import ToolArguments
from host.capability._table import Offered, Table
from host.capability._terms import Chosen
from host.capability._tools import CHOICE
from host.context import ContextChoice, Inherited
from host.errors import CapabilityError

__all__ = ["Around", "Before", "Dispatch"]

type Around = Callable[[Delegation | None, str], AbstractContextManager[None]]
type Before = Callable[[Delegation], Awaitable[None]]

_LOG: Final = logging.getLogger("branchpoint.capability")
# How many items of a result's outermost list or dict are checked: enough to see a wrong type, and no cost for a large
# one.
_LOOKED_AT: Final = 50


class _Rejected(Exception):
    """Internal: a call that is not made. `error` is what its caller is told."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class Dispatch:
    """Makes the calls of one run. `rejected` counts those that it refused.

    `inherited` is the run's tree as it stands, or a function that gives it at each call; None where the run has no
    conversation. `token` is the one that delegating calls must bear, None where the sandbox was opened without.
    `policy` and `cold` decide over the head of the call. `record` is told of each delegation before it is made; a
    list's `append` will do. `around` gives what is entered around each method, on the task that runs it: it is told of
    the delegation, None where the method does not delegate, and of the path. `before` is awaited before a delegating
    method is called. `choices` are made in place of what the calls of these numbers say, by who repeats a run.
    """

    def __init__(
        self,
        capabilities: Iterable[Capability] | Table,
        *,
        inherited: Inherited | Callable[[], Inherited] | None = None,
        token: str | None = None,
        policy: Policy = "model",
        cold: bool = False,
        record: Callable[[Delegation], None] | None = None,
        around: Around | None = None,
        before: Before | None = None,
        choices: Mapping[int, ContextChoice] = MappingProxyType({}),
    ) -> None:
        self.table = capabilities if isinstance(capabilities, Table) else Table(capabilities)
        self.rejected = 0
        self._heritage = Heritage(source=inherited, policy=policy, cold=cold, record=record)
        self._token = token
        self._around = around
        self._before = before
        self._choices = choices
        self._json = ToolArguments(policy)

    @inspect.markcoroutinefunction
    def answer(self, call: Call) -> Coroutine[Any, Any, object]:
        """Answer a guest's call: `invoke`, with its exceptions replaced by what may cross. It is for `open_sandbox`.

        The snapshot of the conversation is taken when this is called, not when it is awaited.
        """
        return self._crossing(call.path, self._made(lambda: self._prepare(call)))

    @inspect.markcoroutinefunction
    def invoke(self, call: Call) -> Coroutine[Any, Any, object]:
        """Make a guest's call. What it raises is not fit to cross: it is what the method raised, or a rejection.

        Rejections: AttributeError (no such tool), TypeError (arguments, or a choice that the tool has not), ValueError
        (a word for the choice that it has not), PermissionError (the token). LookupError says that a fork was asked for
        in a run that has no conversation.
        """
        return self._made(lambda: self._prepare(call))()

    @inspect.markcoroutinefunction
    def invoke_tool(self, name: str, arguments: Mapping[str, object]) -> Coroutine[Any, Any, object]:
        """Make a call that a model wrote as JSON: `name` and `arguments` as in `schemas`.

        It needs no token, since a loop on the host makes it. Otherwise as `invoke`.
        """
        return self._made(lambda: self._prepare_tool(name, arguments))()

    def failure(self, error: Exception) -> Failure:
        """What agent code, or a model, is told of an exception that a call raised."""
        return failure_of(error, tuple(self.table.errors.values()))

    async def _crossing(self, path: str, make: Callable[[], Coroutine[Any, Any, object]]) -> object:
        try:
            return await make()
        except Exception as error:
            failure = self.failure(error)
            if failure.type == "CapabilityError" and not isinstance(error, CapabilityError):
                _LOG.warning("%s failed with an exception that it does not declare", path, exc_info=error)
            raise Crossed(failure) from error

    def _made(
        self, prepare: Callable[[], Callable[[], Coroutine[Any, Any, object]]]
    ) -> Callable[[], Coroutine[Any, Any, object]]:
        """Prepare now, so that the conversation is cut now, and give what makes the call, or raises what is to be
        raised.

        A call that is given up before it is made leaves no coroutine behind.
        """
        try:
            return prepare()
        except _Rejected as rejected:
            self.rejected += 1
            return partial(_raising, rejected.error)
        except Exception as error:
            return partial(_raising, error)

    def _prepare(self, call: Call) -> Callable[[], Coroutine[Any, Any, object]]:
        path: object = call.path
        offered = self.table.by_path.get(path) if isinstance(path, str) else None
        if offered is None:
            raise _Rejected(AttributeError(f"There is no tool at {shapes.got(path)}."))
        if offered.tool.hidden is not None:
            if not _same(call.token, self._token):
                raise _Rejected(
                    PermissionError(f"{offered.path}: this call does not come from this run's branch point.")
                )
        elif call.context:
            said = "`, `".join(call.context)
            raise _Rejected(TypeError(f"{offered.path} takes no `{said}`: it does not receive the conversation."))
        elif call.token is not None:
            raise _Rejected(
                PermissionError(f"{offered.path} does not receive the conversation, so nothing names a branch point.")
            )
        args, kwargs = cast("object", call.args), cast("object", call.kwargs)
        if not isinstance(args, tuple | list) or not isinstance(kwargs, Mapping):
            raise _Rejected(TypeError(f"{offered.path}: the arguments are no arguments."))
        again = self._choices.get(call.call) if offered.tool.hidden is not None else None
        chosen = self._chosen(offered, call.context) if again is None else Chosen.of(again)
        return self._ready(offered, tuple(args), dict(kwargs), chosen, call=call.call, rerun=again is not None)

    def _prepare_tool(self, name: str, arguments: Mapping[str, object]) -> Callable[[], Coroutine[Any, Any, object]]:
        offered = self.table.by_tool_name.get(name)
        if offered is None:
            known = ", ".join(self.table.by_tool_name) or "none"
            raise _Rejected(AttributeError(f"There is no tool {name!r}. Known tools: {known}."))
        try:
            args, kwargs, said = self._json.read(offered, arguments)
        except TypeError as error:
            raise _Rejected(error) from error
        return self._ready(offered, args, kwargs, self._chosen(offered, said))

    def _chosen(self, offered: Offered, said: Mapping[str, object]) -> Chosen | None:
        """What the words of a call mean to this tool."""
        terms = offered.tool.terms
        if terms is None or not said:
            return None
        try:
            return terms.read(said)
        except (TypeError, ValueError) as error:
            raise _Rejected(type(error)(f"{offered.path}: {error}")) from None

    def _ready(
        self,
        offered: Offered,
        args: tuple[object, ...],
        kwargs: dict[str, object],
        chosen: Chosen | None,
        *,
        call: int | None = None,
        rerun: bool = False,
    ) -> Callable[[], Coroutine[Any, Any, object]]:
        tool = offered.tool
        args, kwargs = self._arguments(offered, args, kwargs)
        delegation = None
        if tool.hidden is not None and tool.terms is not None:
            delegation = self._heritage.delegate(offered.path, chosen, terms=tool.terms, call=call, rerun=rerun)
            kwargs[tool.hidden] = delegation.inherited
        return lambda: self._call(offered, args, kwargs, delegation)

    def _arguments(
        self, offered: Offered, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> tuple[tuple[object, ...], dict[str, object]]:
        """The arguments bound, checked and rebuilt."""
        tool = offered.tool
        apart = (tool.hidden, CHOICE, *(option.name for option in tool.method.choice))
        for name in kwargs:
            if not isinstance(name, str):
                raise _Rejected(TypeError(f"{offered.path}: keywords must be strings"))
            if name in apart:  # a method with ** would take them for its own
                raise _Rejected(TypeError(f"{offered.path}: got an unexpected keyword argument {name!r}"))
        try:
            bound = tool.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise _Rejected(TypeError(f"{offered.path}: {error}")) from None
        as_given = True
        for parameter in tool.method.parameters:
            if parameter.name in bound.arguments:
                value = bound.arguments[parameter.name]
                if parameter.kind == "var_positional":
                    settled: object = tuple(
                        self._settled(offered, parameter.name, item, parameter.shape) for item in value
                    )
                elif parameter.kind == "var_keyword":
                    settled = {
                        name: self._settled(offered, name, item, parameter.shape) for name, item in value.items()
                    }
                else:
                    settled = self._settled(offered, parameter.name, value, parameter.shape)
                if settled is not value:
                    bound.arguments[parameter.name] = settled
                    as_given = False
        return (args, kwargs) if as_given else (bound.args, dict(bound.kwargs))

    def _settled(self, offered: Offered, name: str, value: object, shape: Shape) -> object:
        try:
            return self.table.settling.settled(value, shape)
        except ShapeError as error:
            raise _Rejected(
                TypeError(f"{offered.path}: `{name}{error.path}` must be {error.expected}, not {error.got}")
            ) from None

    async def _call(
        self, offered: Offered, args: tuple[object, ...], kwargs: dict[str, object], delegation: Delegation | None
    ) -> object:
        method = getattr(offered.capability, offered.tool.method.name)
        if self._before is not None and delegation is not None:
            await self._before(delegation)
        with nullcontext() if self._around is None else self._around(delegation, offered.path):
            value: object = await method(*args, **kwargs)
        try:
            shapes.check(_beginning(value), offered.tool.returns_shape, records=self.table.records)
        except ShapeError as error:
            place = f"at {error.path} " if error.path else ""
            _LOG.error(
                "%s is declared to give %s, but %sgave %s", offered.path, offered.tool.method.returns, place, error.got
            )
            raise CapabilityError(
                f"{offered.path} gave a {type(value).__name__} that is no {offered.tool.method.returns}: "
                "a fault of the capability, not of this call."
            ) from error
        return value


async def _raising(error: Exception) -> object:
    raise error


def _same(given: object, expected: str | None) -> bool:
    """Whether two tokens are equal, in a time that does not tell how much of them is."""
    if given is None or expected is None:
        return given is expected
    return isinstance(given, str) and hmac.compare_digest(
        given.encode("utf-8", "surrogatepass"), expected.encode("utf-8", "surrogatepass")
    )


def _beginning(value: object) -> object:
    """A large list or dict as its first items."""
    if type(value) is list and len(value) > _LOOKED_AT:
        return value[:_LOOKED_AT]
    if type(value) is dict and len(value) > _LOOKED_AT:
        return {key: value[key] for key, _ in zip(value, range(_LOOKED_AT), strict=False)}
    return value
