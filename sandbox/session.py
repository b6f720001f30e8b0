"""A session: one interpreter that runs cell after cell, its names living on. What callers of `sandbox` use.

Between two cells nothing is pending, so an interpreter at rest is a value: `fork` copies it, `suspend` makes bytes of
it, and each cell leaves a checkpoint before it starts, to which a hard stop or a trap puts the session back. In the
middle of a cell the same holds while everything in the guest waits in `await`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Self

import trio

from guest_stdlib.channel import FromHost, HostChannel, Run

from .cell import Answer, Cell, Crashed, Stopped, Suspended
from .clock import Clock
from .errors import EngineError, SessionBusy, SessionClosed, SuspendedError
from .guest import Guest, Template
from .interpreter import Frozen, Interpreter
from .limits import Limits
from .moment import Moment, begin
from .outcome import Outcome, OutputBuffer, State
from .resting import PendingCall, Resting, once
from .settings import Settings
from .snapshot import Snapshot
from .stored import Stored
from .threads import on_guest_thread
from .verdict import outcome_of
from .workspace import Files, Workspace
from .world import Randomness

__all__ = ["Session"]

type OnOutput = Callable[[str, str], None]


class Session:
    """Use `open_sandbox`, which closes it. One cell runs at a time; `fork` and `suspend` may come while one waits."""

    def __init__(
        self,
        template: Template,
        settings: Settings,
        answer: Answer,
        *,
        rollback: bool = True,
        held: frozenset[str] = frozenset(),
        moment: Moment | None = None,
    ) -> None:
        self.settings = settings
        self._template, self._answer, self._rollback, self._held = template, answer, rollback, held
        self._moment = moment  # what it starts from, in place of a fresh interpreter
        self._clock: Clock = settings.clock(moment.monotonic if moment else 0)
        self._randomness: Randomness = settings.randomness()
        self._interpreter: Interpreter | None = None
        self._cells = moment.cells if moment else 0
        self._cell: Cell | None = None
        self._resting: Resting | None = None
        self._checkpoint: Frozen | None = None
        self._notice: str | None = None
        self._on_output: OnOutput | None = None
        self._output = OutputBuffer(1)
        self._fault: BaseException | None = None
        self._holding = trio.Event()
        self._settled = trio.Event()
        self._preparing = trio.Lock()
        self._busy = False
        self._closed = False

    # Cells

    async def run(self, source: str, *, name: str = "<cell>", on_output: OnOutput | None = None) -> Outcome:
        """Run one cell and say how it ended, whatever the script did.

        `name` is the file name in tracebacks. `on_output` gets (stream, text) pieces while the cell runs, in trio's
        thread. If the call is cancelled, so are the guest's awaits, and the cancellation is raised once the guest has
        cleaned up.
        """
        if self._resting is not None:
            raise SessionBusy("this session waits in the middle of a cell: `finish` it first")
        with _Claim(self):
            interpreter = await self.prepare()
            interpreter.files.new_cell()
            self._checkpoint = interpreter.freeze() if self._rollback else None
            self._cells += 1
            run = Run(cell=self._cells, source=source, name=name, notice=self._notice)
            self._output = OutputBuffer(self.settings.limits.output_bytes)
            return await self._drive(interpreter, [run], None, on_output, name=name)

    async def finish(self, *, on_output: OnOutput | None = None) -> Outcome:
        """Go on with the cell in the middle of which this session was copied or put to sleep."""
        with _Claim(self):
            resting, interpreter = self._resting, self._interpreter
            if resting is None or interpreter is None:
                raise SessionBusy("this session does not wait in the middle of a cell: `run` one")
            self._resting = None
            return await self._drive(
                interpreter, None, once(resting, self.settings.repeatable), on_output, name=resting.name
            )

    async def prepare(self) -> Interpreter:
        """Have the interpreter started and opened, so that the first cell finds it ready. Called by `run` where
        needed.
        """
        if self._interpreter is not None:
            return self._interpreter
        async with self._preparing:
            if self._interpreter is None:
                self._interpreter = await self._begun()
            return self._interpreter

    async def _begun(self) -> Interpreter:
        if (moment := self._moment) is not None:
            self._template, self._moment = moment.template, None  # it is large, and needed once
            return await begin(moment, self.settings, self._thaw)
        limit = self.settings.limits.memory_bytes
        guest = await on_guest_thread(lambda: Guest(self._template, memory_bytes=limit))
        files = Files(self.settings.workspace)
        interpreter = self._around(guest, HostChannel(self.settings.codec()), files)
        try:
            await interpreter.open(self.settings.opening())
        except BaseException:
            interpreter.close()
            raise
        return interpreter

    async def _drive(
        self,
        interpreter: Interpreter,
        events: list[FromHost] | None,
        resting: Resting | None,
        on_output: OnOutput | None,
        *,
        name: str,
    ) -> Outcome:
        started = trio.current_time()
        self._on_output, self._fault = on_output, None
        self._settled = trio.Event()
        cell = self._cell = Cell(
            interpreter,
            number=self._cells,
            name=name,
            limits=self.settings.limits,
            clock=self._clock,
            answer=self._answer,
            output=self._output,
            held=self._held,
            holding=self._holding,
            resting=resting,
        )
        try:
            ending = await cell.run(events)
        finally:
            self._on_output = None
            state: State = "kept"
            try:
                if cell.ending is None or isinstance(cell.ending, (Stopped, Crashed)):
                    with trio.CancelScope(shield=True):
                        state = await self._put_back(cell)
                elif isinstance(cell.ending, Suspended):
                    self._release()
                else:
                    self._checkpoint = None  # half a megabyte that nobody needs between cells
            finally:
                self._cell = None
                self._settled.set()
        await trio.lowlevel.checkpoint_if_cancelled()
        if self._fault is not None:
            raise self._fault
        memory = self._interpreter.memory_bytes if self._interpreter else 0
        wall = trio.current_time() - started
        return outcome_of(cell, ending, state, self.settings.limits, wall=wall, memory=memory, files=interpreter.files)

    @trio.lowlevel.enable_ki_protection
    async def _put_back(self, cell: Cell) -> State:
        """The third stage: the interpreter as it was before the cell, in a fresh instance; or none."""
        interpreter, self._interpreter = self._interpreter, None
        if interpreter is not None:
            await interpreter.stop()
            interpreter.close()
        if self._checkpoint is None:
            self._notice = f"The session is new: the one before it was lost when cell {cell.number} was stopped."
            return "lost"
        self._interpreter = await self._thaw(self._checkpoint)
        self._notice = (
            f"The session was put back to before cell {cell.number}, which was stopped: what it had assigned is gone."
        )
        return "restored"

    # The interpreter as a value

    @property
    def pending(self) -> tuple[PendingCall, ...]:
        """The calls that wait for an answer, in the order in which they were made."""
        if self._resting is not None:
            return self._resting.pending
        return self._cell.resting().pending if self._cell is not None else ()

    @property
    def waiting(self) -> bool:
        """Whether this session waits in the middle of a cell, to be gone on with by `finish`."""
        return self._resting is not None

    async def held(self) -> None:
        """Come back when a cell has come to wait on a held call."""
        await self._holding.wait()

    async def fork(self, *, call: Answer | None = None) -> Session:
        """An independent copy with the same names, also while a cell waits on calls: then the copy makes those calls
        itself, once its `finish` is called. `call` answers the copy's calls in place of this session's callback.
        The copy has the same workspace, and the same files open at the same places, with what is not flushed yet; the
        files themselves are not copied. Close the copy, or use `async with`.
        """
        frozen, resting = await self._at_rest()
        copy = Session(self._template, self.settings, call or self._answer, rollback=self._rollback)
        copy._clock = self.settings.clock(self._clock.monotonic())
        copy._randomness = self.settings.randomness(getattr(self._randomness, "drawn", 0))
        copy._cells, copy._notice, copy._checkpoint = self._cells, self._notice, self._checkpoint
        if resting is not None:
            copy._resting = replace(resting, pending=tuple(replace(waiting, made=False) for waiting in resting.pending))
            copy._adopt_output(resting)
        if frozen is not None:
            copy._interpreter = await copy._thaw(frozen)
        return copy

    async def moment(self) -> Moment:
        """The interpreter as it stands now, as a value from which other sessions can start: `Session(moment=...)`.

        In the middle of a cell too. Nothing is waited for while that cell rests: what its own calls take is what was
        there when they were made. Raises SessionBusy where it is in a blocking call.
        """
        if self._interpreter is None:
            await self.prepare()
        frozen, _ = await self._at_rest()
        if frozen is None:
            raise SessionClosed("this session was lost just now")
        return Moment(
            template=self._template,
            frozen=replace(frozen, files=frozen.files.within(None)),
            policy=self.settings.policy,
            cells=self._cells,
            monotonic=self._clock.monotonic(),
        )

    async def suspend(self, *, note: dict[str, object] | None = None) -> bytes:
        """Put the session to sleep: bytes from which `resume_sandbox` goes on, in any process with the same image.

        This session is closed by it; a cell in the middle of which it happens ends with an error of kind "cancelled".
        Calls in flight are cancelled: they are listed as made, and not made again unless they are declared
        repeatable. `note` is plain data of the caller's, kept beside it. The workspace stays where it is; raises
        SessionBusy if a file in it is open.
        """
        if self._interpreter is None:
            await self.prepare()
        frozen, resting = await self._at_rest()
        if frozen is None:
            raise SessionClosed("this session was lost just now")
        if opened := frozen.files.opened:
            raise SessionBusy(
                f"the session has files open, and cannot be put to sleep until they are closed: {', '.join(opened)}"
            )
        # From here on nothing is waited for until the session is closed: a call made meanwhile would be made twice.
        checkpoint = self._checkpoint if resting is not None else None
        monotonic = self._clock.monotonic()
        if self._cell is not None:
            self._cell.put_to_sleep()
        else:
            self._release()
        stored = Stored(
            settings=self.settings,
            memory=await self._mixed(frozen.memory),
            channel=frozen.channel,
            checkpoint=await self._mixed_frozen(checkpoint),
            cells=self._cells,
            notice=self._notice,
            monotonic=monotonic,
            drawn=getattr(self._randomness, "drawn", 0),
            resting=resting,
            workspace=self.settings.workspace is not None,
            latest_file=frozen.files.latest,
            note=note or {},
        )
        return await trio.to_thread.run_sync(stored.pack)

    async def _mixed(self, memory: Snapshot) -> Snapshot:
        """A snapshot as it is stored, or the reverse."""
        return memory.against(await on_guest_thread(lambda: self._template.original(memory.runs)))

    async def _mixed_frozen(self, frozen: Frozen | None) -> Frozen | None:
        return None if frozen is None else replace(frozen, memory=await self._mixed(frozen.memory))

    async def _at_rest(self) -> tuple[Frozen | None, Resting | None]:
        while (cell := self._cell) is not None:
            await cell.rest()
            if cell is self._cell and cell.ending is None:
                break
            await self._settled.wait()  # the cell is over, but perhaps the interpreter is being put back
        if self._closed:
            raise SessionClosed("this session is closed")
        if cell is None and self._busy:
            raise SessionBusy("this session is just about to run a cell")
        if self._interpreter is None:
            return None, None
        return self._interpreter.freeze(), self._resting if cell is None else cell.resting()

    @classmethod
    async def wake(
        cls,
        template: Template,
        stored: Stored,
        answer: Answer,
        *,
        held: frozenset[str] = frozenset(),
        limits: Limits | None = None,
        workspace: Workspace | None = None,
    ) -> Self:
        """The session that was put to sleep. `limits` bound its time and memory, whatever it was opened with. It gets
        `workspace` if it had one; raises SuspendedError if it had one and gets none.
        """
        if stored.workspace and workspace is None:
            raise SuspendedError("this session was opened with a workspace: it is woken with one, too")
        settings = replace(stored.settings, workspace=workspace if stored.workspace else None)
        if limits is not None:
            settings = replace(settings, limits=settings.limits.within(limits))
        session = cls(template, settings, answer, held=held)
        session._clock = stored.settings.clock(stored.monotonic)
        session._randomness = stored.settings.randomness(stored.drawn)
        session._cells, session._notice = stored.cells, stored.notice
        session._checkpoint = await session._mixed_frozen(stored.checkpoint)
        if stored.resting is not None:
            session._resting = stored.resting
            session._adopt_output(stored.resting)
        try:
            memory = await session._mixed(stored.memory)
            files = Files(None, latest=stored.latest_file)
            session._interpreter = await session._thaw(Frozen(memory=memory, channel=stored.channel, files=files))
        except EngineError as error:
            raise SuspendedError(f"this suspended session does not fit: {error}") from error
        return session

    def _adopt_output(self, resting: Resting) -> None:
        self._output = OutputBuffer(self.settings.limits.output_bytes)
        for stream, text in resting.output:
            self._output.add(stream, text)

    async def _thaw(self, frozen: Frozen) -> Interpreter:
        channel = HostChannel.restore(frozen.channel, self.settings.codec())
        guest = await on_guest_thread(
            lambda: Guest.of(self._template, frozen.memory, memory_bytes=self.settings.limits.memory_bytes)
        )
        return self._around(guest, channel, frozen.files.within(self.settings.workspace))

    def _around(self, guest: Guest, channel: HostChannel, files: Files) -> Interpreter:
        return Interpreter(
            guest,
            channel,
            clock=self._clock,
            randomness=self._randomness,
            files=files,
            max_frame=self.settings.limits.frame_bytes,
            output=self._write,
            pause=self._pause,
        )

    def _write(self, stream: str, text: str) -> None:
        """Output arrives, in trio's thread but in no task: what `on_output` raises is kept for the task that runs the
        cell.
        """
        kept = self._output.add(stream, text)
        if kept and self._on_output is not None and self._fault is None:
            try:
                self._on_output(stream, kept)
            except BaseException as fault:
                self._fault = fault

    async def _pause(self, seconds: float) -> None:
        if self._cell is not None:
            await self._cell.pause(seconds)

    # The end

    def _release(self) -> None:
        self._closed = True
        interpreter, self._interpreter = self._interpreter, None
        if interpreter is not None:
            interpreter.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        with trio.CancelScope(shield=True):
            await self.aclose()

    async def aclose(self) -> None:
        """Close the session. A cell that still runs is a mistake of the caller's."""
        if self._busy:
            raise SessionBusy("the session runs a cell; cancel that first")
        if not self._closed:
            if self._interpreter is not None:
                with trio.CancelScope(shield=True):
                    await self._interpreter.stop()
            self._release()
        await trio.lowlevel.checkpoint()


class _Claim:
    """One cell at a time."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def __enter__(self) -> None:
        if self._session._closed:
            raise SessionClosed("this session is closed")
        if self._session._busy:
            raise SessionBusy("this session already runs a cell")
        self._session._busy = True

    def __exit__(self, *_: object) -> None:
        self._session._busy = False
