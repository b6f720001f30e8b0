"""From a command into trio and back, and a session under way: its output shown, ctrl-C heard, its sleep stored."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import trio

from host.capability import Capability, declared
from host.cli.inputs import BadInput, Script, clear_errors
from host.cli.report import OK, as_json, exit_code, print_notices, print_outcome, print_rest
from host.cli.screen import Screen
from host.loop.script import Keep, ScriptRun
from host.loop.tree import Tree
from host.session import HostSession
from sandbox import Outcome
from sandbox.cell import Resting
from sandbox.snapshot import MAGIC

__all__ = ["Suspension", "play", "run_to_end"]


def run_to_end[Result](main: Callable[[], Awaitable[Result]]) -> Result:
    """Run an async function. What went wrong in one of its tasks comes out alone, bad input as one sentence."""
    with clear_errors(ours=True):
        try:
            return trio.run(main)
        except BaseExceptionGroup as group:
            error = _only(group)
            raise error from error.__cause__


def _only(error: BaseException) -> BaseException:
    """What a group of one holds, however deep; the group itself if there is more to tell."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


class Suspension:
    """On which capability's calls a session is to be put to sleep, and in which file."""

    def __init__(self, *, name: str, file: Path) -> None:
        self.name, self.file = name, file
        self.stored = False
        if not file.absolute().parent.is_dir():
            raise BadInput(f"{file} cannot be written: its folder does not exist.")
        if file.is_dir():
            raise BadInput(f"{file} is a folder, and a session is stored in a file.")
        if file.exists() and not _is_session(file):
            raise BadInput(f"{file} exists and holds no session: it is not overwritten.")

    def paths(self, capabilities: list[Capability]) -> frozenset[str]:
        """The calls that NAME means."""
        known = [f"{each.name}.{method.name}" for each in map(declared, capabilities) for method in each.methods]
        found = frozenset(path for path in known if path == self.name or path.partition(".")[0] == self.name)
        if not found:
            names = dict.fromkeys(name for path in known for name in (path.partition(".")[0], path))
            raise BadInput(f"--suspend-on {self.name}: nothing is called so here. Known: {', '.join(names) or 'none'}.")
        return found

    async def store(self, session: HostSession, note: dict[str, object]) -> None:
        """Wait until the session waits on such a call, and store it: whole or not at all."""
        await session.held()
        with trio.CancelScope(shield=True):
            data = await session.suspend(note=note)
            try:
                self._write(data)
            except OSError as error:
                raise BadInput(f"{self.file} cannot be written: {error.strerror}.") from error
        self.stored = True

    def _write(self, data: bytes) -> None:
        # A new file that only its owner may read: a session holds all that it inherited.
        descriptor, partial = tempfile.mkstemp(prefix=f".{self.file.name}.", dir=self.file.absolute().parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            Path(partial).replace(self.file)
        except BaseException:
            Path(partial).unlink(missing_ok=True)
            raise


def _is_session(file: Path) -> bool:
    try:
        with file.open("rb") as opened:
            return opened.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


async def play(
    session: HostSession,
    script: Script,
    *,
    json: bool,
    suspension: Suspension | None,
    note: dict[str, object],
    resting: Resting | None = None,
    tree: Tree | None = None,
    keep: Keep | None = None,
) -> int:
    """Run a script in a session (or go on with the one that rests), report it, and return the exit code.

    What its calls start is told to `tree`, and `keep` is given the interpreters that wait on them. Ctrl-C is a
    cancellation here: the code may clean up for as long as its grace lasts, and KeyboardInterrupt follows.
    """
    screen = Screen()
    for stream, text in resting.output if resting else ():  # it was shown before the session slept
        screen.shown[stream] += len(text.encode("utf-8", "surrogatepass"))
    unread: list[BrokenPipeError] = []
    ended: list[Outcome] = []

    def on_output(stream: str, text: str) -> None:
        try:
            screen.show(stream, text)
        except BrokenPipeError as error:  # nobody reads any more: what for go on?
            unread.append(error)
            nursery.cancel_scope.cancel()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(_cancel_at_interrupt, nursery.cancel_scope)
        if suspension is not None:
            nursery.start_soon(suspension.store, session, note)
        listening = None if json else on_output
        if resting:
            ended.append(await session.finish(on_output=listening))
        else:
            told = ScriptRun(script.name, script.source, tree or Tree(), keep=keep)
            outcome = await session.run(
                script.source,
                name=script.shown,
                on_output=listening,
                record=told.record,
                around=told.around,
                before=told.before(session),
            )
            told.ended(outcome)
            ended.append(outcome)
        nursery.cancel_scope.cancel()
    if unread:
        raise unread[0]
    if not ended:
        raise KeyboardInterrupt
    (outcome,) = ended
    if json:
        screen.say(as_json(script.name, outcome))
    if suspension is not None and suspension.stored:
        screen.say(f"The session sleeps in {suspension.file}. Go on: branchpoint resume {suspension.file}", err=True)
        return OK
    if json:
        print_notices(outcome, screen, of=script.name)
    else:
        print_rest(outcome, screen)
        print_outcome(outcome, screen)
    if suspension is not None and outcome.ok:
        screen.say(f"Note: it ended without waiting on {suspension.name}, so nothing was stored.", err=True)
    return exit_code([outcome])


async def _cancel_at_interrupt(scope: trio.CancelScope) -> None:
    if threading.current_thread() is not threading.main_thread():
        return  # signals are not ours
    with trio.open_signal_receiver(signal.SIGINT) as interrupts:
        async for _ in interrupts:
            scope.cancel()
            return
