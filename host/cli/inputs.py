"""What commands are given, read and checked before anything runs. Bad input is one sentence and exit code 2."""

from __future__ import annotations

import io
import math
import sys
import tokenize
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Final, Literal, override

import click
from pydantic import ByteSize, TypeAdapter, ValidationError

from host.capability import Capability
from host.cli.progress import image_progress, indexing_progress
from host.context import Inherited
from host.conversation import Conversation, ConversationError
from host.errors import HostError
from host.loop import Observe
from host.models.port import Model
from sandbox import Limits, SandboxError
from sandbox.image import DEFAULT, Image, ImageError, ensure

__all__ = [
    "BadInput",
    "Places",
    "Script",
    "capability_options",
    "clear_errors",
    "find_image",
    "limit_options",
    "limits_from",
    "opened",
    "read_script",
    "read_thread",
]


class BadInput(click.ClickException):
    """Something that was given cannot be used. The message is a sentence."""

    exit_code = 2

    @override
    def show(self, file: IO[str] | None = None) -> None:
        """Print the sentence, on standard error."""
        click.echo(f"branchpoint: {self.message}", err=True)


_ROOMS: Final = (ConversationError, HostError, ImageError, SandboxError)


@contextmanager
def clear_errors(*, ours: bool = False, about: Path | None = None) -> Iterator[None]:
    """Turn what the rooms say about bad input into one sentence and exit code 2.

    `ours` leaves ValueError and OSError alone: where more happens than reading input they may be faults of our own.
    `about` is the file that a message that names none is about.
    """
    caught = _ROOMS if ours else (*_ROOMS, OSError, ValueError)
    try:
        yield
    except BrokenPipeError:
        raise
    except caught as error:
        raise BadInput(_sentence(error, about)) from error


def _sentence(error: BaseException, about: Path | None) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or about or 'a file'}: {error.strerror}."
    message = str(error)
    if about is not None and str(about) not in message:
        message = f"{about}: {message}"
    return message if message.endswith((".", "!", "?", "\n")) else f"{message}."


# Scripts and threads


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A file of agent code. `name` is how the user wrote it."""

    name: str
    source: str

    @property
    def shown(self) -> str:
        """The name in tracebacks."""
        return "<stdin>" if self.name == "-" else self.name


def read_script(name: str) -> Script:
    """A script from a file, or from standard input for `-`. Encodings are declared as in any Python file."""
    if name == "-":
        data = sys.stdin.buffer.read()
    else:
        path = Path(name)
        if path.is_dir():
            raise BadInput(f"{name} is a folder, not a Python file.")
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            raise BadInput(f"{name} does not exist.") from None
        except OSError as error:
            raise BadInput(f"{name} cannot be read: {error.strerror}.") from None
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return Script(name=name, source=data.decode(encoding))
    except (SyntaxError, UnicodeDecodeError, LookupError):
        shown = "standard input" if name == "-" else name
        raise BadInput(f"{shown} is no Python text: it is neither UTF-8 nor in an encoding that it declares.") from None


def read_thread(path: Path | None, context: Literal["fork", "cold"]) -> Inherited:
    """What scripts inherit. A thread is read, and refused if it is none, though the run starts cold."""
    with clear_errors(about=path):
        conversation = Conversation() if path is None else Conversation.load(path)
    return Inherited.cold() if context == "cold" else Inherited.of(conversation)


# Capabilities

_OPTIONS: Final = (
    click.option(
        "--contacts", metavar="FILE.vcf", type=click.Path(path_type=Path), help="Offer `contacts` from a vCard file."
    ),
    click.option(
        "--files",
        metavar="DIR",
        type=click.Path(path_type=Path),
        help="Offer `search` over a folder of text, Markdown, HTML and PDF.",
    ),
    click.option(
        "--outbox",
        metavar="DIR",
        type=click.Path(path_type=Path),
        help="Offer `outbox`, which writes mail into this Maildir. Nothing is ever sent.",
    ),
)


def capability_options[F: Callable[..., object]](command: F) -> F:
    """The options that say what scripts may call."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where the capabilities are made from."""

    contacts: Path | None = None
    files: Path | None = None
    outbox: Path | None = None

    def _given(self) -> dict[str, Path]:
        places = {"contacts": self.contacts, "files": self.files, "outbox": self.outbox}
        return {name: path for name, path in places.items() if path is not None}

    def to_plain(self) -> dict[str, str]:
        """For a stored session: absolute paths."""
        return {name: str(path.resolve()) for name, path in self._given().items()}

    def updated(self, other: Places) -> Places:
        """These, but those of `other` where it has some."""
        return replace(self, **other._given())


@asynccontextmanager
async def opened(
    places: Places, *, observe: Observe | None = None, model: Model | None = None
) -> AsyncIterator[list[Capability]]:
    """The capabilities of these places, closed at the end. All are checked before files are indexed.

    `model` thinks for those that delegate: the lexical one, if none is given.
    """
    made: list[Capability] = []
    async with AsyncExitStack() as closing:
        with clear_errors():
            # What a capability is made with is imported with it: PDF and HTML readers take half a second.
            if places.contacts is not None:
                from host.contacts import open_contacts

                contacts = open_contacts(places.contacts, observe=observe, model=model)
                closing.push_async_callback(contacts.aclose)
                made.append(contacts)
            if places.outbox is not None:
                from host.outbox import Outbox

                made.append(Outbox(places.outbox, files=places.files))
            if places.files is not None:
                from host.search import open_search

                with indexing_progress() as progress:
                    search = open_search(places.files, progress=progress, observe=observe, model=model)
                closing.push_async_callback(search.aclose)
                made.insert(1 if places.contacts else 0, search)
        yield made


# Limits and images


class _Seconds(click.ParamType[float]):
    name = "seconds"
    most: Final = 1e9

    @override
    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            seconds = float(str(value))
        except ValueError:
            seconds = math.nan
        if not 0 < seconds <= self.most:
            self.fail(f"{value} is no number of seconds above 0.", param, ctx)
        return seconds


class _Size(click.ParamType[int]):
    name = "size"
    most: Final = 1 << 32

    @override
    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            size = int(TypeAdapter(ByteSize).validate_python(value))
        except ValidationError:
            size = 0
        if not 0 < size <= self.most:
            self.fail(f"{value} is no size up to 4 GiB: write 256MB, 1GiB or a number of bytes.", param, ctx)
        return size


def limit_options[F: Callable[..., object]](defaults: Limits | None) -> Callable[[F], F]:
    """The options that bound a run; without defaults, those that are not given are None."""
    given = {} if defaults is None else {"timeout": defaults.cpu_seconds, "wall": defaults.wall_seconds}
    memory = "" if defaults is None else f"{defaults.memory_bytes >> 20}MiB"
    kept = "  [default: as before, which is the most]" if defaults is None else ""

    def decorate(command: F) -> F:
        options = (
            ("timeout", "SECONDS", _Seconds(), "Processor time for each file; waiting for answers does not count."),
            ("wall", "SECONDS", _Seconds(), "Time that may pass for each file, waiting included."),
            ("memory", "SIZE", _Size(), "The interpreter's whole memory; an empty one has about 50 MiB."),
        )
        for name, metavar, kind, help_ in reversed(options):
            default = memory if name == "memory" else f"{given[name]:g}" if name in given else ""
            command = click.option(
                f"--{name}",
                metavar=metavar,
                type=kind,
                default=default or None,
                show_default=bool(default),
                help=help_ + kept,
            )(command)
        return command

    return decorate


def limits_from(timeout: float | None, wall: float | None, memory: int | None, before: Limits | None = None) -> Limits:
    """Those options as `Limits`; what is not given stays as it was before."""
    limits = before or Limits()
    return replace(
        limits,
        cpu_seconds=timeout or limits.cpu_seconds,
        wall_seconds=wall or limits.wall_seconds,
        memory_bytes=memory or limits.memory_bytes,
    )


def find_image(name: str = DEFAULT) -> Image:
    """The image of this name; the default one is built if there is none."""
    with clear_errors(), image_progress() as progress:
        return ensure(name, progress=progress)
