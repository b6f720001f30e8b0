"""A guest driven natively: both ends of the channel in one process, no Wasm. The clock is virtual, so nothing ever sleeps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from guest_stdlib.app import Guest
from guest_stdlib.channel import (
    NEED_DATA,
    Abandon,
    Call,
    Cancel,
    Codec,
    CodecLimits,
    Done,
    Failed,
    Failure,
    FromGuest,
    FromHost,
    HostChannel,
    Interrupted,
    Open,
    Output,
    Rest,
    Return,
    Run,
    Throw,
    Via,
)
from guest_stdlib.declared import Declared, Method, Option, Parameter


class Hold(Exception):
    """Raised by an answer that does not come yet."""


@dataclass
class Ended:
    """How a cell ended, and what crossed meanwhile."""

    value: Any = None
    failure: Failure | None = None
    notices: tuple[str, ...] = ()
    rejected: int = 0
    stdout: str = ""
    stderr: str = ""
    emitted: list[tuple[str, str]] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    abandoned: list[int] = field(default_factory=list)
    rounds: list[list[str]] = field(default_factory=list)  # the paths of each frame's calls


class Session:
    """A host for one guest. `answer` gives a call's answer, raises its exception, or raises Hold.

    `on_interrupt` is what an interrupted guest is told. `at_rest` is called when the guest waits for calls that are all held;
    it gives the events to go on with.
    """

    def __init__(self, answer: Callable[[Call], object], open_event: Open, limits: CodecLimits | None = None) -> None:
        self.answer = answer
        self.now = 1000.0
        self.cells = 0
        self.on_interrupt = Cancel(reason="cpu", message="The cell used up its CPU time.")
        self.at_rest: Callable[[Session], list[FromHost]] = _nothing
        self.ended = Ended()
        self.over = True
        self.waits: list[float | None] = []
        self.channel = HostChannel(Codec(limits))
        self.guest = Guest(emit=self._emit, exchange=self._exchange, clock=lambda: self.now)
        self._step(self.channel.send(open_event))

    @property
    def pending(self) -> list[Call]:
        return list(self.channel.open_calls.values())

    def run(self, source: str, name: str = "<cell>", notice: str | None = None) -> Ended:
        """Run a cell to its end."""
        self.begin(source, name, notice)
        while not self.over:
            self.go_on()
        return self.ended

    def begin(self, source: str, name: str = "<cell>", notice: str | None = None) -> None:
        """Give the guest a cell, and take its first step."""
        self.cells += 1
        self.ended = Ended()
        self.over = False
        self._answers: list[FromHost] = []
        self._step(self.channel.send(Run(cell=self.cells, source=source, name=name, notice=notice)))

    def go_on(self, *events: FromHost) -> None:
        """One more step, with these events or with the answers that are due."""
        self._step(self.channel.send(*(events or self._next())))

    def _next(self) -> list[FromHost]:
        answers, self._answers = self._answers, []
        if answers:
            return answers
        wake = self.waits[-1]
        if wake is not None:
            self.now += wake
            return []
        events = self.at_rest(self)
        assert events, "the guest waits for calls that nobody answers"
        return events

    def _step(self, frame: bytes) -> None:
        self._hear(self.guest.step(frame), Via.STEP)

    def _exchange(self, frame: bytes) -> bytes:
        events = self._hear(frame, Via.EXCHANGE)
        if any(isinstance(event, Interrupted) for event in events):
            return self.channel.send(self.on_interrupt)
        return self.channel.send(*self._next())

    def _emit(self, frame: bytes) -> None:
        self._hear(frame, Via.EMIT)

    def _hear(self, frame: bytes, via: Via) -> list[FromGuest]:
        self.channel.receive(frame, via)
        events: list[FromGuest] = []
        while (event := self.channel.next_event()) is not NEED_DATA:
            events.append(event)
        ended = self.ended
        calls = [event for event in events if isinstance(event, Call)]
        if calls:
            ended.calls += calls
            ended.rounds.append([call.path for call in calls])
        for event in events:
            match event:
                case Output():
                    ended.emitted.append((event.stream, event.text))
                    if event.stream == "stdout":
                        ended.stdout += event.text
                    else:
                        ended.stderr += event.text
                case Abandon():
                    ended.abandoned.append(event.call)
                case Done():
                    ended.value, ended.notices, ended.rejected = event.value, event.notices, event.rejected
                    self.over = True
                case Failed():
                    ended.failure, ended.notices, ended.rejected = event.failure, event.notices, event.rejected
                    self.over = True
                case Rest():
                    self.waits.append(event.wake)
        for call in calls:
            if call.call in self.channel.open_calls:
                self._answer(call)
        return events

    def _answer(self, call: Call) -> None:
        try:
            self._answers.append(Return(call=call.call, value=self.answer(call)))
        except Hold:
            pass
        except Exception as error:
            failure = Failure(kind="script", type=type(error).__name__, message=str(error), fields=vars(error))
            self._answers.append(Throw(call=call.call, failure=failure))


def _nothing(_: Session) -> list[FromHost]:
    return []


def echo(call: Call) -> object:
    """The answer is the first argument."""
    return call.args[0] if call.args else None


LOOKUP = Declared(name="lookup", anything=True)
CONTACTS = Declared(
    name="contacts",
    doc="The address book.",
    methods=(
        Method(name="find", parameters=(Parameter(name="name", shape="str", annotation="str"),), returns="str"),
        Method(
            name="ask",
            parameters=(Parameter(name="question", shape="str", annotation="str"),),
            returns="str",
            choice=(Option(name="context", words=("fork", "cold"), default="fork"),),
        ),
    ),
)


@contextmanager
def session(
    answer: Callable[[Call], object] = echo,
    *,
    capabilities: tuple[Declared, ...] = (LOOKUP, CONTACTS),
    errors: tuple[Mapping[str, object], ...] = (),
    limits: Mapping[str, int] | None = None,
    codec: CodecLimits | None = None,
    policy: Literal["open", "restricted"] = "open",
    seed: int | None = None,
) -> Iterator[Session]:
    """An open session; the interpreter is given back at the end."""
    event = Open(
        capabilities=tuple(each.as_plain() for each in capabilities),
        errors=errors,
        policy=policy,
        token="the token",
        seed=seed,
        limits=limits or {},
    )
    opened = Session(answer, event, codec)
    try:
        yield opened
    finally:
        opened.guest.uninstall()


def run(source: str, answer: Callable[[Call], object] = echo, **options: Any) -> Ended:
    """Run one cell in a session of its own."""
    with session(answer, **options) as opened:
        return opened.run(source)
