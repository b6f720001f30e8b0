"""A session of the host: a sandbox whose capability calls carry the conversation that the session inherited.

The conversation itself never enters the guest. The guest's proxies mark each delegating call with this session's
token; `Dispatch` checks it and puts the tree in. So a call costs the same however long the history is, and code can
neither read nor replace it.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from types import MappingProxyType
from typing import Any, Self, cast

import trio

from guest_stdlib.declared import Context
from host.capability import POLICIES, Delegation, Dispatch, Policy, Table
from host.capability._dispatch import Around, Before
from host.context import ContextChoice, Inherited, tree_from_plain, tree_to_plain
from host.conversation import Conversation, ConversationError
from host.errors import HostError
from sandbox import Call, Outcome, PendingCall, Session, SuspendedError
from sandbox.moment import Moment

__all__ = ["HostSession", "Origin", "as_inherited"]

type OnOutput = Callable[[str, str], None]
type Record = Callable[[Delegation], None]


def as_inherited(given: Conversation | Inherited | None) -> Inherited:
    """What a caller hands over, as a tree. None is a conversation in which nothing was said yet."""
    if isinstance(given, Inherited):
        return given
    return Inherited.of(Conversation() if given is None else given)


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a session stands in the tree of conversations: what it inherited, under which policy, and its token.

    `cell` is the tree of the cell in the middle of which it is, where that cell has one of its own. `choices` are those
    that waiting calls are made with in place of their own, by number.
    """

    inherited: Inherited
    policy: Policy = "model"
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    cell: Inherited | None = None
    choices: Mapping[int, ContextChoice] = field(default_factory=dict)

    @property
    def tree(self) -> Inherited:
        """What the cell in the middle of which the session is passes on."""
        return self.inherited if self.cell is None else self.cell

    def to_plain(self) -> dict[str, object]:
        """Plain data for a suspended session."""
        return {
            "inherited": tree_to_plain(self.inherited),
            "policy": self.policy,
            "token": self.token,
            "cell": None if self.cell is None else tree_to_plain(self.cell),
            "calls": [[number, asdict(choice)] for number, choice in self.choices.items()],
        }

    @classmethod
    def from_plain(cls, plain: object) -> Origin:
        """The inverse of `to_plain`. Raises `SuspendedError` for anything else."""
        try:
            fields = cast("dict[str, Any]", plain)
            cell = fields["cell"]
            return cls(
                inherited=tree_from_plain(fields["inherited"]),
                policy=_policy(fields["policy"]),
                token=_text(fields["token"]),
                cell=None if cell is None else tree_from_plain(cell),
                choices={int(number): ContextChoice(**choice) for number, choice in fields["calls"]},
            )
        except (ConversationError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise SuspendedError(f"this suspended session is malformed (its conversation: {error})") from error


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text, found {type(value).__name__}")
    return value


def _policy(value: object) -> Policy:
    if value not in POLICIES:
        raise ValueError(f"unknown policy {value!r}")
    return value


class HostSession:
    """Use `Host.session`, which closes it. Each cell's delegations are in `delegations`, the newest last."""

    def __init__(self, table: Table, origin: Origin) -> None:
        self.delegations: list[Delegation] = []
        self.origin = origin
        self._table = table
        self._sandbox: Session | None = None
        self._running = False
        self._dispatch = self._made()

    def _made(
        self, record: Record | None = None, around: Around | None = None, before: Before | None = None
    ) -> Dispatch:
        """What answers the calls of one cell."""

        def told(delegation: Delegation) -> None:
            self.delegations.append(delegation)
            if record is not None:
                record(delegation)

        origin = self.origin
        return Dispatch(
            self._table,
            inherited=origin.tree,
            token=origin.token,
            policy=origin.policy,
            record=told,
            around=around,
            before=before,
            choices=origin.choices,
        )

    def _answer(self, call: Call) -> Awaitable[object]:
        return self._dispatch.answer(call)

    @property
    def sandbox(self) -> Session:
        """The sandbox's own session."""
        if self._sandbox is None:
            raise RuntimeError("this session has no sandbox yet")
        return self._sandbox

    async def run(
        self,
        source: str,
        *,
        name: str = "<cell>",
        inherited: Conversation | Inherited | None = None,
        record: Record | None = None,
        around: Around | None = None,
        before: Before | None = None,
        on_output: OnOutput | None = None,
    ) -> Outcome:
        """Run one cell. Names live on, and `_` is the last value. What the script does wrong is `Outcome.error`.

        `inherited` is what this cell's delegating calls fork, in place of the session's: the conversation of a loop
        grows from cell to cell. With `Inherited.cold()` they are all cold. It stays with the cell when the session is
        copied or put to sleep in the middle of it. `record` is told of each of its delegations before it is made,
        `around` gives what is entered around each capability method that it calls, and `before` is awaited before each
        that delegates: see `Dispatch`.
        """
        cell = None if inherited is None else as_inherited(inherited)
        origin = replace(self.origin, cell=cell, choices={})
        return await self._through(
            lambda: self.sandbox.run(source, name=name, on_output=on_output), origin, record, around, before
        )

    async def finish(
        self,
        *,
        record: Record | None = None,
        around: Around | None = None,
        before: Before | None = None,
        on_output: OnOutput | None = None,
    ) -> Outcome:
        """Go on with the cell in the middle of which this session was copied or put to sleep. `record`, `around` and
        `before` are as for `run`.
        """
        return await self._through(
            lambda: self.sandbox.finish(on_output=on_output), self.origin, record, around, before
        )

    async def _through(
        self,
        run: Callable[[], Awaitable[Outcome]],
        origin: Origin,
        record: Record | None,
        around: Around | None,
        before: Before | None,
    ) -> Outcome:
        """Stand at `origin` while a cell runs."""
        if self._running:
            return await run()  # which the sandbox refuses
        standing, self.origin, self._running = self.origin, origin, True
        dispatch = self._dispatch = self._made(record, around, before)
        try:
            outcome = await run()
        finally:
            self._running = False
            self.origin = standing if self.waiting else replace(standing, cell=None, choices={})
        if dispatch.rejected:
            usage = replace(outcome.usage, rejected_calls=outcome.usage.rejected_calls + dispatch.rejected)
            outcome = replace(outcome, usage=usage)
        return outcome

    @property
    def pending(self) -> tuple[PendingCall, ...]:
        """The calls that wait for an answer, in the order in which they were made."""
        return self.sandbox.pending

    @property
    def waiting(self) -> bool:
        """Whether this session waits in the middle of a cell, to be gone on with by `finish`."""
        return self.sandbox.waiting

    async def held(self) -> None:
        """Come back when the running cell waits on a held call."""
        await self.sandbox.held()

    async def fork(
        self,
        *,
        inherited: Conversation | Inherited | None = None,
        choices: Mapping[int | str, ContextChoice | Context] = MappingProxyType({}),
    ) -> HostSession:
        """An independent copy, also in the middle of a cell: the copy then makes the pending calls itself when it is
        told to `finish`. It inherits what this session and its cell did, or `inherited`. Close the copy, or use
        `async with`.

        `choices` repeats the run with another choice of context: pending calls, named by number or by path, are made
        with it whatever they say themselves. It is "fork", "cold", or any other `ContextChoice`. Raises HostError where
        no such call waits.
        """
        origin = self.origin
        if inherited is not None:
            origin = replace(origin, inherited=as_inherited(inherited), cell=None)
        copy = HostSession(self._table, origin)
        copy._sandbox = await self.sandbox.fork(call=copy._answer)
        try:
            copy._choose(choices)
        except BaseException:
            await copy.__aexit__()
            raise
        return copy

    async def state(self) -> Moment:
        """The interpreter as it stands now, with all its names, from which `Host.session(state=...)` starts another
        session: one with capabilities, limits and a conversation of its own, and with nothing of this one's authority.

        In the middle of a cell too: a capability that starts a child takes it before it waits for anything, and so at
        the very call. Raises SessionBusy where the cell waits inside a blocking call.
        """
        return await self.sandbox.moment()

    def _place(self, origin: Origin) -> None:
        """Stand at `origin`. A spare is placed when it is taken; its token stays, since the guest has it already."""
        self.origin = origin

    def _choose(self, choices: Mapping[int | str, ContextChoice | Context]) -> None:
        """Take over choices for waiting calls. Those by number count over those by path."""
        chosen = dict(self.origin.choices)
        for key in sorted(choices, key=lambda key: isinstance(key, int)):
            for waiting in self._named(key):
                chosen[waiting.call.call] = self._choice(waiting, choices[key])
        self.origin = replace(self.origin, choices=chosen)

    def _named(self, key: int | str) -> list[PendingCall]:
        found = [waiting for waiting in self.pending if key in (waiting.call.call, waiting.call.path)]
        if not found:
            known = ", ".join(f"{waiting.call.path} ({waiting.call.call})" for waiting in self.pending) or "none"
            raise HostError(f"no call {key!r} waits here; those that do: {known}")
        return found

    def _choice(self, waiting: PendingCall, said: ContextChoice | Context) -> ContextChoice:
        path = waiting.call.path
        offered = self._table.by_path.get(path)
        if offered is None or offered.tool.hidden is None:
            raise HostError(f"{path} does not delegate, so there is no context to choose")
        if waiting.made and not offered.tool.method.repeatable:
            raise HostError(
                f"{path} was under way when the session was put to sleep, so it is not made again: to repeat a call, "
                "put a copy to sleep, which has not made it yet"
            )
        try:
            choice = said if isinstance(said, ContextChoice) else ContextChoice.parse(said)
        except ValueError as error:
            raise HostError(str(error)) from error
        if not choice.is_cold and self.origin.tree.is_cold:
            raise HostError(f"{path} cannot fork: this cell was started cold")
        return choice

    async def suspend(self, *, note: Mapping[str, object] | None = None) -> bytes:
        """Put the session to sleep: bytes from which `Host.resume` goes on, in another process too. This session is
        closed.

        `note` is plain data of the caller's, kept beside it; `sandbox.read_suspended(...).note` has it under "note".
        """
        return await self.sandbox.suspend(note={"origin": self.origin.to_plain(), "note": dict(note or {})})

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        with trio.CancelScope(shield=True):
            await self.aclose()

    async def aclose(self) -> None:
        """Close the session."""
        if self._sandbox is not None:
            await self._sandbox.aclose()
        else:
            await trio.lowlevel.checkpoint()
