"""A session of the host: a sandbox whose capability calls carry the conversation that the session inherited.

The conversation itself never enters the guest. The guest's proxies mark each delegating call with this session's
token; `Dispatch` checks it and puts the tree in. So a call costs the same however long the history is, and code can
neither read nor replace it.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Self, cast

import trio

from host.capability import POLICIES, Delegation, Dispatch, Policy, Table
from host.context import ContextChoice, Inherited, Layer
from host.conversation import Conversation, ConversationError
from sandbox import Call, Outcome, PendingCall, Session, SuspendedError

__all__ = ["HostSession", "Origin", "as_inherited"]

type OnOutput = Callable[[str, str], None]


def as_inherited(given: Conversation | Inherited | None) -> Inherited:
    """What a caller hands over, as a tree. None is a conversation in which nothing was said yet."""
    if isinstance(given, Inherited):
        return given
    return Inherited.of(Conversation() if given is None else given)


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a session stands in the tree of conversations: what it inherited, under which policy, and its token."""

    inherited: Inherited
    policy: Policy = "model"
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))

    def to_plain(self) -> dict[str, object]:
        """Plain data for a suspended session."""
        choice = self.inherited.choice
        return {
            "choice": {"depth": choice.depth, "turns": choice.turns, "scope": choice.scope},
            "layers": [
                {"conversation": layer.conversation.to_plain(), "agent": layer.agent, "below": layer.below}
                for layer in self.inherited.layers
            ],
            "policy": self.policy,
            "token": self.token,
        }

    @classmethod
    def from_plain(cls, plain: object) -> Origin:
        """The inverse of `to_plain`. Raises `SuspendedError` for anything else."""
        try:
            fields = cast("dict[str, object]", plain)
            layers = tuple(
                Layer(
                    conversation=Conversation.from_plain(layer["conversation"]),
                    agent=_text_or_none(layer["agent"]),
                    below=_text_or_none(layer["below"]),
                )
                for layer in cast("list[dict[str, object]]", fields["layers"])
            )
            choice = ContextChoice(**cast("dict[str, str]", fields["choice"]))  # type: ignore[arg-type]
            return cls(
                inherited=Inherited(layers=layers, choice=choice),
                policy=_policy(fields["policy"]),
                token=_text(fields["token"]),
            )
        except (ConversationError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise SuspendedError(f"this suspended session is malformed (its conversation: {error})") from error


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text, found {type(value).__name__}")
    return value


def _text_or_none(value: object) -> str | None:
    return None if value is None else _text(value)


def _policy(value: object) -> Policy:
    if value not in POLICIES:
        raise ValueError(f"unknown policy {value!r}")
    return value


class HostSession:
    """Use `Host.session`, which closes it. Each cell's delegations are in `delegations`, the newest last."""

    def __init__(self, table: Table, origin: Origin) -> None:
        self.delegations: list[Delegation] = []
        self._table = table
        self._sandbox: Session | None = None
        self._place(origin)

    def _place(self, origin: Origin) -> None:
        """Stand at `origin`. A spare is placed when it is taken; its token stays, since the guest has it already."""
        self.origin = origin
        self._dispatch = Dispatch(
            self._table,
            inherited=origin.inherited,
            token=origin.token,
            policy=origin.policy,
            record=self.delegations.append,
        )

    def _answer(self, call: Call) -> Awaitable[object]:
        return self._dispatch.answer(call)

    @property
    def sandbox(self) -> Session:
        """The sandbox's own session."""
        if self._sandbox is None:
            raise RuntimeError("this session has no sandbox yet")
        return self._sandbox

    async def run(self, source: str, *, name: str = "<cell>", on_output: OnOutput | None = None) -> Outcome:
        """Run one cell. Names live on, and `_` is the last value. What the script does wrong is `Outcome.error`."""
        return await self._counted(lambda: self.sandbox.run(source, name=name, on_output=on_output))

    async def finish(self, *, on_output: OnOutput | None = None) -> Outcome:
        """Go on with the cell in the middle of which this session was copied or put to sleep."""
        return await self._counted(lambda: self.sandbox.finish(on_output=on_output))

    async def _counted(self, run: Callable[[], Awaitable[Outcome]]) -> Outcome:
        before = self._dispatch.rejected
        outcome = await run()
        if rejected := self._dispatch.rejected - before:
            usage = replace(outcome.usage, rejected_calls=outcome.usage.rejected_calls + rejected)
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

    async def fork(self, *, inherited: Conversation | Inherited | None = None) -> HostSession:
        """An independent copy, also in the middle of a cell: the copy then makes the pending calls itself when it is
        told to `finish`. It inherits what this session did, or `inherited`. Close the copy, or use `async with`.
        """
        origin = self.origin if inherited is None else replace(self.origin, inherited=as_inherited(inherited))
        copy = HostSession(self._table, origin)
        copy._sandbox = await self.sandbox.fork(call=copy._answer)
        return copy

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
