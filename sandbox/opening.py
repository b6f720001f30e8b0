"""How a session comes to be: opened fresh, or woken from bytes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Final, Literal

import trio

from guest_stdlib.channel import Call
from guest_stdlib.declared import Declared, DeclaredError, DeclaredRecord

from . import guest, image
from .cell import Answer
from .errors import SuspendedError
from .guest import Template
from .image import Image, UnknownImageError
from .limits import Limits
from .session import Session
from .settings import Settings
from .snapshot import Snapshot
from .stored import Stored
from .workspace import Workspace

MAX_MEMORY: Final = 1 << 30  # bytes; a session that needs more is woken only by who asks for it

__all__ = ["load_template", "open_sandbox", "read_suspended", "resume_sandbox"]


_default: list[Template] = []  # looked up once per process: making sure that it is current takes ten milliseconds


async def load_template(chosen: Image | str = "default") -> Template:
    """The loaded image, built first if it is the default one and there is none yet (half a minute)."""
    if chosen == image.DEFAULT and _default:
        return _default[0]

    def load() -> Template:
        found = image.ensure(chosen) if isinstance(chosen, str) else chosen
        return guest.load(found.compiled, found.content_hash)

    template = await trio.to_thread.run_sync(load)
    if chosen == image.DEFAULT:
        _default[:] = [template]
    return template


async def template_of(memory: Snapshot, chosen: Image | str | None) -> Template:
    """The image that a session was suspended on; `chosen` must be that one. Raises `SuspendedError`."""
    try:
        found = await trio.to_thread.run_sync(image.find, memory.image) if chosen is None else chosen
    except UnknownImageError as error:
        raise SuspendedError(f"this session was suspended on an image that is not here: {error}") from error
    template = await load_template(found)
    if memory.image != template.image:
        raise SuspendedError(
            f"this session was suspended on image {memory.image[:12]}, and the image here is "
            f"{template.image[:12]}; a session goes on only on the very image that it started on "
            "(export it there, import it here)"
        )
    return template


async def _no_calls(call: Call) -> object:
    raise LookupError(f"there is nothing here that answers {call.path}")


@asynccontextmanager
async def open_sandbox(
    call: Answer | None = None,
    *,
    names: Iterable[str] = (),
    capabilities: Iterable[Declared] = (),
    errors: Iterable[DeclaredError] = (),
    declared_records: Iterable[DeclaredRecord] = (),
    records: Mapping[str, type] | None = None,
    policy: Literal["open", "restricted"] = "open",
    limits: Limits | None = None,
    seed: int | None = None,
    image: Image | str = "default",
    token: str | None = None,
    cold: bool = False,
    rollback: bool = True,
    held: Collection[str] = (),
    workspace: Workspace | None = None,
) -> AsyncIterator[Session]:
    """A fresh interpreter, closed at the end of the block.

        async def answer(call):
            return f"{call.path} of {call.args}"

        async with open_sandbox(answer, names=["lookup"]) as session:
            outcome = await session.run("await lookup(1)")

    `call` answers every call; what it raises is raised in the script. `names` are in scope, callable, with any
    method; `capabilities` are checked against their declaration. `rollback` False saves the checkpoint before each
    cell (about 1 ms) where a session runs only one. Calls to the paths in `held` are not made: the session waits on
    them, to be suspended. `workspace` is what the code has at /workspace, where it starts; without one it has no files.
    Raises `ImageBuildError` if there is no image and none can be built.
    """
    settings = Settings(
        capabilities=(*capabilities, *(Declared(name=name, anything=True) for name in names)),
        errors=tuple(errors),
        declared_records=tuple(declared_records),
        records=records or {},
        policy=policy,
        token=token,
        cold=cold,
        seed=seed,
        limits=limits or Limits(),
        workspace=workspace,
    )
    template = await load_template(image)
    session = Session(template, settings, call or _no_calls, rollback=rollback, held=frozenset(held))
    try:
        yield session
    finally:
        with trio.CancelScope(shield=True):
            await session.aclose()


def read_suspended(data: bytes, *, records: Mapping[str, type] | None = None, max_memory: int = MAX_MEMORY) -> Stored:
    """What a suspended session says of itself, without waking it. Raises `SuspendedError`."""
    return Stored.unpack(data, records=records or {}, max_memory=max_memory)


@asynccontextmanager
async def resume_sandbox(
    data: bytes | Stored,
    call: Answer | None = None,
    *,
    records: Mapping[str, type] | None = None,
    image: Image | str | None = None,
    limits: Limits | None = None,
    held: Collection[str] = (),
    workspace: Workspace | None = None,
) -> AsyncIterator[Session]:
    """A session that was put to sleep, possibly by another process. If it waits in the middle of a cell, `finish`
    goes on with it.

    `limits` bound its time and memory, whatever it was opened with. `image` is the one that it was suspended on,
    found by its content if it is left out. `workspace` is what it has at /workspace; it needs one if it had one, and
    gets none if it had none. Raises `SuspendedError` if the bytes are damaged, not a session's, or of another image.
    """
    most = limits.memory_bytes if limits else MAX_MEMORY
    stored = data if isinstance(data, Stored) else read_suspended(data, records=records, max_memory=most)
    template = await template_of(stored.memory, image)
    session = await Session.wake(
        template, stored, call or _no_calls, held=frozenset(held), limits=limits, workspace=workspace
    )
    try:
        yield session
    finally:
        with trio.CancelScope(shield=True):
            await session.aclose()
