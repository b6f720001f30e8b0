"""A model that replies what was written down for it, and keeps the exact requests that it was sent.

- A step of a script is a reply, its text, an exception that is raised, or a function of the request, async or not, that
  gives one of these.
- Replies are streamed as a provider streams them: text word by word, reasoning and arguments as they are.
- One model serves many loops at once. Where the order in which they ask is not known, each has its own script
  (`for_agents`), or a recording knows for each request what was answered.
"""

from __future__ import annotations

import inspect
import re
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from os import PathLike
from typing import Final, Protocol, Self

import trio

from host.conversation import Message, Text, Thinking, ToolCall
from host.models.port import Delta, Reply, Request, Stream
from host.models.scripted.comparing import ScriptMismatch, difference, sight
from host.models.scripted.recording import Exchange, read, write

__all__ = ["Answered", "ScriptEnded", "Scripted", "Step"]

type Answered = Reply | str | Exception
type Step = Answered | Callable[[Request], Answered | Awaitable[Answered]]

_WORDS: Final = re.compile(r"\s*\S+\s*|\s+")
_SHOWN: Final = 300


class ScriptEnded(AssertionError):
    """More was asked of a scripted model than was written down for it. The message shows the request's last message."""


class _Script(Protocol):
    """Where the next step comes from."""

    @property
    def left(self) -> int: ...

    def step(self, request: Request) -> Step: ...


class Scripted:
    """Gives the replies in order. `requests` are those that it was sent so far."""

    def __init__(self, replies: Iterable[Step] = (), *, name: str = "scripted") -> None:
        self._script: _Script = _Written(replies)
        self._exchanges: list[Exchange] = []
        self.name = name
        self.requests: list[Request] = []

    @classmethod
    def by(cls, function: Callable[[Request], Answered | Awaitable[Answered]], *, name: str = "scripted") -> Self:
        """A model that is a function of the request, and never ends."""
        return cls._of(_Function(function), name)

    @classmethod
    def for_agents(cls, scripts: Mapping[str, Iterable[Step]], *, name: str = "scripted") -> Self:
        """A model with a script for each agent, found by how the system text begins; the longest beginning counts."""
        return cls._of(_Agents(scripts), name)

    @classmethod
    def recorded(cls, exchanges: Iterable[Exchange], *, name: str = "scripted") -> Self:
        """A model that gives the recorded replies to the recorded requests. Raises ScriptMismatch for another request.

        Requests may come in another order than they were recorded in, as those of concurrent loops do. Each recorded
        reply is given once.
        """
        return cls._of(_Recorded(exchanges), name)

    @classmethod
    def load(cls, path: str | PathLike[str], *, name: str = "scripted") -> Self:
        """What `save` wrote, of this or of a Recording, as `recorded`. Raises OSError; ValueError if it is not that."""
        return cls.recorded(read(path), name=name)

    @classmethod
    def _of(cls, script: _Script, name: str) -> Self:
        made = cls(name=name)
        made._script = script
        return made

    @property
    def left(self) -> int:
        """How many replies were not asked for yet. A script that was to be played to its end has none left."""
        return self._script.left

    def save(self, path: str | PathLike[str]) -> Self:
        """Write what was asked and answered so far as JSON Lines, in place of what is there. Raises OSError."""
        write(path, self._exchanges)
        return self

    async def reply(self, request: Request, *, stream: Stream | None = None) -> Reply:
        """The next reply. Raises ScriptEnded if there is none left, ScriptMismatch if it was written for another
        request, and whatever the script says.
        """
        self.requests.append(request)
        step = self._script.step(request)  # before anything is awaited, so that order is the order of asking
        await trio.lowlevel.checkpoint()
        reply = await _answered(step, request)
        if stream is not None:
            for piece in _pieces(reply):
                stream(piece)
        self._exchanges.append(Exchange(request=request, reply=reply))
        return reply


async def _answered(step: Step, request: Request) -> Reply:
    said: object = step
    if callable(step):
        said = step(request)
    if inspect.isawaitable(said):
        said = await said
    if isinstance(said, Exception):
        raise said
    if isinstance(said, str):
        return Reply.of(said)
    if not isinstance(said, Reply):
        raise TypeError(f"a script gave {type(said).__name__}, which is no reply")
    return said


def _pieces(reply: Reply) -> Iterator[Delta]:
    for part in reply.parts:
        match part:
            case Text(text=words):
                yield from [Delta(kind="text", text=word) for word in _WORDS.findall(words)]
            case Thinking(text=words) if words:
                yield Delta(kind="thinking", text=words)
            case ToolCall(arguments=words) if words:
                yield Delta(kind="call", text=words)


class _Written:
    """Steps in order."""

    def __init__(self, steps: Iterable[Step], whose: str = "the script") -> None:
        self._steps = deque(steps)
        self._all = len(self._steps)
        self._whose = whose

    @property
    def left(self) -> int:
        return len(self._steps)

    def step(self, request: Request) -> Step:
        if not self._steps:
            last = request.messages[-1] if request.messages else None
            raise ScriptEnded(
                f"{self._whose} has {self._all} replies, and a further one was asked for after {_told(last)}"
            )
        return self._steps.popleft()


def _told(message: Message | None) -> str:
    if message is None:
        return "no message"
    words = message.text or "\n".join(result.text for result in message.results)
    return f"the {message.role} message {words[:_SHOWN]!r}"


class _Function:
    """The same function for every request."""

    left = 0

    def __init__(self, function: Callable[[Request], Answered | Awaitable[Answered]]) -> None:
        self._function = function

    def step(self, request: Request) -> Step:  # noqa: ARG002  the function is asked when it is its turn
        return self._function


class _Agents:
    """A script for each agent."""

    def __init__(self, scripts: Mapping[str, Iterable[Step]]) -> None:
        self._scripts = {start: _Written(steps, f"the script for {start!r}") for start, steps in scripts.items()}

    @property
    def left(self) -> int:
        return sum(script.left for script in self._scripts.values())

    def step(self, request: Request) -> Step:
        fitting = [start for start in self._scripts if request.system.startswith(start)]
        if not fitting:
            known = "\n".join([f"  {start!r}" for start in self._scripts])
            raise ScriptMismatch(
                f"no script is for an agent whose instructions begin {request.system[:_SHOWN]!r}; they are for\n{known}"
            )
        return self._scripts[max(fitting, key=len)].step(request)


class _Recorded:
    """Replies that were recorded, each for its request."""

    def __init__(self, exchanges: Iterable[Exchange]) -> None:
        self._exchanges = list(exchanges)
        self._free: dict[str, deque[int]] = {}
        for number, exchange in enumerate(self._exchanges):
            self._free.setdefault(sight(exchange.request), deque()).append(number)

    @property
    def left(self) -> int:
        return sum(len(numbers) for numbers in self._free.values())

    def step(self, request: Request) -> Step:
        if numbers := self._free.get(sight(request)):
            return self._exchanges[numbers.popleft()].reply
        raise self._mismatch(request)

    def _mismatch(self, request: Request) -> AssertionError:
        """Compare with the next request of the same agent that was not made yet, or with the next of all."""
        free = sorted(number for numbers in self._free.values() for number in numbers)
        same = [number for number in free if self._exchanges[number].request.system == request.system]
        if not free:
            return ScriptEnded(
                f"all {len(self._exchanges)} recorded replies were given, and a further one was asked for"
            )
        number = (same or free)[0]
        told = difference(self._exchanges[number].request, request)
        return ScriptMismatch(f"request {number + 1} of {len(self._exchanges)} is not the one recorded: {told}")
