"""Our side of a peer: its process, started, asked for samples, and ended."""

from __future__ import annotations

import functools
import importlib.util
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Final

import trio

from benchmarks.sampling import Failed
from sandbox.image import cache_folder
from sandbox.image.store import private_folder

__all__ = ["KINDS", "Kind", "Peer", "importable", "open_peer"]

ROOT: Final = Path(__file__).parents[2]
PATIENCE: Final = 60.0  # seconds for one answer
BUILDING: Final = 600.0  # seconds until it says what it offers: the first time it may have to compile something
FAREWELL: Final = 5.0  # seconds in which a peer's process may end by itself


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A peer: the module that agents' hosts import, the distribution that it comes in, and our module about it."""

    module: str
    distribution: str
    served_by: str

    @property
    def title(self) -> str:
        """Its name and version."""
        return f"{self.distribution} {version(self.distribution)}"


KINDS: Final = (
    Kind(module="eryx", distribution="pyeryx", served_by="benchmarks.peers.eryx"),
    Kind(module="pydantic_monty", distribution="pydantic-monty", served_by="benchmarks.peers.monty"),
)


def importable() -> tuple[Kind, ...]:
    """Those that are installed here."""
    return tuple(kind for kind in KINDS if importlib.util.find_spec(kind.module) is not None)


class Peer:
    """A peer's process. Use `open_peer`."""

    def __init__(self, process: trio.Process) -> None:
        self._process = process
        self._rest = b""
        self.offers: frozenset[str] = frozenset()

    async def meet(self) -> None:
        """Hear what it offers. Raises `Failed`."""
        self.offers = frozenset(await self._line(BUILDING))

    async def sample(self, figure: str) -> float:
        """One sample of a figure that it offers. Raises `Failed`."""
        assert self._process.stdin is not None
        try:
            await self._process.stdin.send_all(json.dumps(figure).encode() + b"\n")
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            raise Failed("its process is gone") from None
        answer = await self._line()
        if "value" not in answer:
            raise Failed(str(answer.get("error")))
        return float(answer["value"])

    async def _line(self, patience: float = PATIENCE) -> dict[str, float | str]:
        assert self._process.stdout is not None
        with trio.move_on_after(patience):
            while b"\n" not in self._rest:
                received = await self._process.stdout.receive_some()
                if not received:
                    raise Failed("its process ended")
                self._rest += received
            line, _, self._rest = self._rest.partition(b"\n")
            answer: dict[str, float | str] = json.loads(line)
            return answer
        raise Failed(f"it did not answer within {patience:g} s")


@asynccontextmanager
async def open_peer(kind: Kind) -> AsyncIterator[Peer]:
    """The peer, started. Raises `Failed` if it cannot be."""
    kept = await trio.to_thread.run_sync(lambda: private_folder(cache_folder() / "benchmarks"))
    command = [sys.executable, "-m", kind.served_by, str(kept)]
    start = functools.partial(
        trio.run_process, command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, check=False, cwd=ROOT
    )
    async with trio.open_nursery() as nursery:
        process: trio.Process = await nursery.start(start)
        peer = Peer(process)
        try:
            await peer.meet()
            yield peer
        finally:
            assert process.stdin is not None
            with trio.move_on_after(FAREWELL, shield=True):
                await process.stdin.aclose()
                await process.wait()
            nursery.cancel_scope.cancel()
