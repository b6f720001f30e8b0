"""A session of cells around the proxies, in the guest's own loop, with a bridge whose other end is a plain function."""

from __future__ import annotations

import ast
import asyncio
import builtins
import inspect
import linecache
import traceback
import types
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from guest_stdlib import proxy, suggestions
from guest_stdlib.channel.events import Failure, Open
from guest_stdlib.declared import UNSAID, Declared, DeclaredError, DeclaredRecord, Method, Option, Parameter, Words
from guest_stdlib.exceptions import failure_to_exception
from guest_stdlib.loop import Loop
from guest_stdlib.pending import Unawaited
from guest_stdlib.scene import Scene

TOKEN = "the token of the branch point"


def parameter(name: str, annotation: str = "str", *, shape: Any = "str", default: str = "", **more: Any) -> Parameter:
    return Parameter(name=name, annotation=annotation, shape=shape, required=not default, default=default, **more)


CONTEXT = Option(name="context", words=("fork", "cold"), default="fork")
CONTACTS = Declared(
    name="contacts",
    doc="The people that the user knows.",
    methods=(
        Method(name="find", doc="The contacts of that name.", parameters=(parameter("name"),), returns="list[Contact]"),
        Method(
            name="ask",
            doc="The one contact that a question is about.",
            parameters=(parameter("question"),),
            returns="Contact",
            choice=(CONTEXT,),
        ),
    ),
)
SEARCH = Declared(
    name="search",
    doc="The user's files.",
    methods=(
        Method(
            name="files",
            parameters=(parameter("query"), parameter("limit", "int", shape="int", default="10")),
            returns="list[File]",
        ),
        Method(name="read", parameters=(parameter("path"),), returns="str"),
    ),
)
OUTBOX = Declared(
    name="outbox",
    methods=(
        Method(
            name="send",
            parameters=(
                parameter("to", "str | list[str]", shape=["union", "str", ["list", "str"]]),
                parameter("subject"),
                parameter("body", default="''"),
                parameter("attach", "list[str]", shape=["list", "str"], default="()", kind="keyword_only"),
            ),
            returns="None",
        ),
    ),
)
LOOKUP = Declared(name="lookup", anything=True)
CONTACT = DeclaredRecord(name="Contact", doc="A person.", fields=("name", "email"))
UNCLEAR = DeclaredError(
    name="NeedsClarification", doc="The request can mean several things.", fields=("question", "options")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A call that crossed."""

    path: str
    args: tuple[object, ...] = ()
    kwargs: Mapping[str, object]
    context: Words = UNSAID
    delegates: bool = False


def echo(call: Made) -> object:
    """Answers each call with its path and arguments."""
    return f"{call.path}{call.args}"


class Session:
    """Runs cells. It is the bridge too; `answer` stands for the host: what it raises or a Failure that it returns is thrown."""

    def __init__(
        self,
        *capabilities: Declared,
        answer: Callable[[Made], object] = echo,
        errors: tuple[DeclaredError, ...] = (UNCLEAR,),
        records: tuple[DeclaredRecord, ...] = (CONTACT,),
    ) -> None:
        self.capabilities = capabilities or (CONTACTS, SEARCH, OUTBOX, LOOKUP)
        self.answer = answer
        self.made: list[Made] = []
        self.rounds: list[int] = []  # how many calls were answered together, each time that everything waited
        self.refused = 0
        self.given_up: list[str] = []
        self.unawaited = Unawaited()
        self.in_flight: dict[asyncio.Future[object], Made] = {}
        # The rest of its methods are put there by a loop, to refuse.
        self.loop = Loop(wait=self._settle, in_flight=self.in_flight, reached=lambda: None)  # type: ignore[abstract]
        self.number = 0
        opened = Open(
            token=TOKEN,
            capabilities=tuple(declared.as_plain() for declared in self.capabilities),
            errors=tuple(declared.as_plain() for declared in errors),
            records=tuple(declared.as_plain() for declared in records),
        )
        self.scope = proxy.build(opened, self)
        self.names: dict[str, Any] = {"__name__": "__main__", "__builtins__": builtins, **self.scope}

    # The bridge

    def start(
        self,
        path: str,
        args: tuple[object, ...],
        kwargs: dict[str, object],
        *,
        context: Words,
        delegates: bool,
    ) -> asyncio.Future[object]:
        future = self.loop.create_future()
        made = Made(path=path, args=args, kwargs=kwargs, context=context, delegates=delegates)
        self.made.append(made)
        self.in_flight[future] = made
        future.add_done_callback(self._done)
        return future

    def block(self, awaitable: Awaitable[object]) -> object:
        if asyncio._get_running_loop() is self.loop:
            return self.loop.run_until_complete(awaitable)
        self.loop.install()
        try:
            return self.loop.run_until_complete(awaitable)
        finally:
            self.loop.uninstall()

    def rejected(self) -> None:
        self.refused += 1

    def _done(self, future: asyncio.Future[object]) -> None:
        made = self.in_flight.pop(future, None)
        if future.cancelled() and made is not None:
            self.given_up.append(made.path)

    def _settle(self) -> None:
        waiting = list(self.in_flight.items())
        self.rounds.append(len(waiting))
        for future, made in waiting:
            self._answer(future, made)

    def _answer(self, future: asyncio.Future[object], made: Made) -> None:
        try:
            value = self.answer(made)
        except Exception as error:
            future.set_exception(error)
            return
        if isinstance(value, Failure):
            future.set_exception(failure_to_exception(value, self.scope))
        elif value is not NEVER:
            future.set_result(value)

    # Cells

    def run(self, source: str) -> Any:
        """The value of a cell. What it raises is raised."""
        self.unawaited.clear()
        self.number += 1
        name = f"<cell {self.number}>"
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        tree = ast.parse(source, name)
        last = tree.body[-1]
        if isinstance(last, ast.Expr):
            tree.body[-1] = ast.copy_location(ast.Assign([ast.Name("_", ast.Store())], last.value), last)
        code = compile(ast.fix_missing_locations(tree), name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        self.names["_"] = None
        self.loop.install()
        try:
            result = types.FunctionType(code, self.names)()
            if inspect.iscoroutine(result):
                self.loop.run_until_complete(result)
        finally:
            self.loop.uninstall()
        return self.names["_"]

    def fail(self, source: str) -> BaseException:
        """The exception that a cell ends with."""
        try:
            value = self.run(source)
        except BaseException as error:
            return error
        raise AssertionError(f"the cell gave {value!r}")

    def hint(self, source: str, **scene: Any) -> str | None:
        """The hint for the exception that a cell ends with."""
        error = self.fail(source)
        here = Scene(names=self.names, capabilities=self.capabilities, unawaited=self.unawaited.sentences())
        return suggestions.hint(error, replace(here, **scene))

    def close(self) -> None:
        for number in range(self.number):
            linecache.cache.pop(f"<cell {number + 1}>", None)


NEVER = object()
"""The answer that never comes."""


def shown(error: BaseException) -> str:
    """The last line of a traceback: type and message, and whatever CPython adds."""
    return "".join(traceback.format_exception(error)).splitlines()[-1]
