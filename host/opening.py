"""`open_host`: capabilities, an image and limits, from which sessions are opened, each with what it inherits."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Literal

import trio

from guest_stdlib.declared import Context
from host.capability import Capability, Policy, Table, describe, schemas
from host.context import ContextChoice, Inherited
from host.conversation import Conversation
from host.errors import HostError
from host.session import HostSession, Origin, as_inherited
from sandbox import Limits, Session, SuspendedError, read_suspended
from sandbox.errors import MomentError
from sandbox.guest import Template
from sandbox.image import Image
from sandbox.moment import Moment
from sandbox.opening import load_template, template_of
from sandbox.pool import Spares
from sandbox.settings import Settings
from sandbox.workspace import Workspace

__all__ = ["Host", "open_host"]


class Host:
    """What code may call, and where it runs. Use `open_host`."""

    def __init__(
        self,
        table: Table,
        template: Template,
        *,
        policy: Literal["open", "restricted"],
        context_policy: Policy,
        limits: Limits,
        workspace: Workspace | None = None,
    ) -> None:
        self._table, self._template = table, template
        self._policy, self._context_policy, self._limits = policy, context_policy, limits
        self._workspace = workspace
        self._spares: Spares[HostSession] | None = None

    def describe(self) -> str:
        """The stub text that a model is shown: signatures, docstrings, the choice of context, errors. Valid Python."""
        return describe(self._table.capabilities, policy=self._context_policy)

    def schemas(self) -> list[dict[str, Any]]:
        """The same as JSON schemas of tools: a list of {name, description, input_schema}."""
        return schemas(self._table.capabilities, policy=self._context_policy)

    @asynccontextmanager
    async def session(
        self,
        *,
        inherited: Conversation | Inherited | None = None,
        seed: int | None = None,
        held: Collection[str] = (),
        rollback: bool = True,
        state: Moment | None = None,
    ) -> AsyncIterator[HostSession]:
        """A fresh interpreter, closed at the end of the block, whose delegating calls fork `inherited`.

        `Inherited.cold()` starts the run itself cold: then all its calls are. `seed` makes random numbers and the
        clock repeatable. Calls to the paths in `held` are not made: the session waits on them, to be suspended.
        `rollback` False saves the checkpoint before each cell, where a session runs only one.

        `state` (from `HostSession.state`) is an interpreter to start from in place of a fresh one, on whatever image
        it has. Its names and values are here; a cell in the middle of which it stood has ended, and nobody hears of
        it. Its capabilities are not here but this host's: what code kept of the others refuses. Raises HostError
        where it cannot be: under another policy, or if it is larger than this host's limits allow, or if that cell's
        own code does not end.
        """
        tree = as_inherited(inherited)
        if state is not None and state.policy != self._policy:
            raise HostError(f'this state is one of policy "{state.policy}", and this host has "{self._policy}"')
        session = None
        if self._spares is not None and seed is None and not held and rollback and state is None and not tree.is_cold:
            session = self._spares.take_nowait()
        if session is None:
            session = HostSession(self._table, Origin(inherited=tree, policy=self._context_policy))
            session._sandbox = Session(
                self._template,
                self._settings(session.origin, seed),
                session._answer,
                rollback=rollback,
                held=frozenset(held),
                moment=state,
            )
            if state is not None:
                try:
                    await session._sandbox.prepare()
                except MomentError as error:
                    raise HostError(f"no session can start from this state: {error}") from error
        else:
            session._place(Origin(inherited=tree, policy=self._context_policy, token=session.origin.token))
        try:
            yield session
        finally:
            with trio.CancelScope(shield=True):
                await session.aclose()

    @asynccontextmanager
    async def resume(
        self,
        data: bytes,
        *,
        held: Collection[str] = (),
        choices: Mapping[int | str, ContextChoice | Context] = MappingProxyType({}),
    ) -> AsyncIterator[HostSession]:
        """A session that was put to sleep, perhaps by another process, with all that it inherited. If it waits in the
        middle of a cell, `finish` goes on with it; `choices` are for its pending calls, as those of
        `HostSession.fork`.

        It goes on on the image that it was suspended on, whatever the host's own is. Raises `SuspendedError` if that
        is not here, or if the bytes are damaged, not a session's, or call something that this host does not offer.
        """
        most = self._limits.memory_bytes
        stored = await trio.to_thread.run_sync(
            lambda: read_suspended(data, records=self._table.records, max_memory=most)
        )
        template = self._template
        if stored.memory.image != template.image:
            template = await template_of(stored.memory, None)
        origin = Origin.from_plain(stored.note.get("origin"))
        offered = {capability.name: capability for capability in self._table.declared_under(origin.policy)}
        for capability in stored.settings.capabilities:
            if offered.get(capability.name) != capability:
                raise SuspendedError(
                    f"this session was opened with the capability `{capability.name}`, and the host here "
                    + ("offers another one of that name" if capability.name in offered else "does not offer it")
                )
        if stored.resting is None:
            origin = replace(origin, cell=None, choices={})
        session = HostSession(self._table, origin)
        if session.origin.token != stored.settings.token:
            raise SuspendedError("this suspended session is malformed (its token)")
        session._sandbox = await Session.wake(
            template,
            stored,
            session._answer,
            held=frozenset(held),
            limits=self._limits,
            workspace=self._workspace,
        )
        try:
            session._choose(choices)
            yield session
        finally:
            with trio.CancelScope(shield=True):
                await session.aclose()

    def _settings(self, origin: Origin, seed: int | None = None) -> Settings:
        table = self._table
        return Settings(
            capabilities=table.declared_under(origin.policy),
            errors=table.declared_errors,
            declared_records=table.declared_records,
            records=table.records,
            policy=self._policy,
            token=origin.token,
            cold=origin.inherited.is_cold,
            seed=seed,
            limits=self._limits,
            workspace=self._workspace,
        )

    async def _spare(self) -> HostSession:
        spare = HostSession(self._table, Origin(inherited=as_inherited(None), policy=self._context_policy))
        spare._sandbox = Session(self._template, self._settings(spare.origin), spare._answer)
        await spare.sandbox.run("None", name="<warm>")  # a first cell costs twice what a second one does
        return spare

    async def spare_ready(self) -> None:
        """Come back when the next session can start at once."""
        if self._spares is not None:
            await self._spares.ready()


@asynccontextmanager
async def open_host(
    *,
    capabilities: Iterable[Capability] = (),
    policy: Literal["open", "restricted"] = "open",
    context_policy: Policy = "model",
    limits: Limits | None = None,
    image: Image | str = "default",
    spares: int = 0,
    workspace: Workspace | None = None,
) -> AsyncIterator[Host]:
    """The host of these capabilities.

    `policy`: which Python cells may use. `context_policy`: who decides what a call starts from: "model" (whoever
    writes the call), "always" (fork) or "never". `spares`: how many interpreters are kept warm ahead of need.
    `workspace`: the files that all its sessions share, at /workspace; without one they have none. Builds the default
    image if there is none yet (half a minute).

    Raises `CapabilityDefinitionError` if two things would have one name, `ImageBuildError` if no image can be built.
    """
    if policy not in ("open", "restricted"):
        raise HostError(f'policy is "open" or "restricted", not {policy!r}')
    table = Table(capabilities)
    template = await load_template(image)
    host = Host(
        table, template, policy=policy, context_policy=context_policy, limits=limits or Limits(), workspace=workspace
    )
    if not spares:
        yield host
        return
    host._spares = Spares(host._spare, spares)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(host._spares.keep)
        try:
            yield host
        finally:
            nursery.cancel_scope.cancel()
