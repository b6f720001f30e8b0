"""What commands are given, read and checked before anything runs. Bad input is one sentence and exit code 2."""

from __future__ import annotations

import io
import sys
import tokenize
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, Literal

import click
from pydantic import ByteSize, TypeAdapter, ValidationError

from host.capability import Capability
from host.cli.progress import image_progress, indexing_progress
from host.contacts import open_contacts
from host.context import Inherited
from host.conversation import Conversation, ConversationError
from host.errors import HostError
from host.loop import Observe
from host.outbox import Outbox
from host.search import open_search
from sandbox import Limits, SandboxError
from sandbox.image import Image, ImageError, ensure

__all__ = [
    "BadInput",
    "Places",
    "Script",
    "capability_options",
    "find_image",
    "limit_options",
    "opened",
    "read_script",
    "read_thread",
]


class BadInput(click.ClickException):
    """Something that was given cannot be used."""

    exit_code = 2

    def show(self, file: IO[str] | None = None) -> None:  # noqa: ARG002 - always standard error
        """Print the sentence."""
        click.echo(f"branchpoint: {self.message}", err=True)


@contextmanager
def clear_errors() -> Iterator[None]:
    """Turn what the rooms say about bad input into one sentence and exit code 2."""
    try:
        yield
    except (ConversationError, HostError, ImageError, SandboxError, OSError, ValueError) as error:
        raise BadInput(_sentence(error)) from error


def _sentence(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'a file'}: {error.strerror}."
    return str(error)


# Scripts and threads


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A file of agent code. `name` is how the user wrote it."""

    name: str
    source: str


def read_script(name: str) -> Script:
    """A script from a file, or from standard input for `-`. Encodings are declared as in any Python file."""
    if name == "-":
        data = sys.stdin.buffer.read()
        shown = "<stdin>"
    else:
        shown = name
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
        return Script(name=shown, source=data.decode(encoding))
    except (SyntaxError, UnicodeDecodeError, LookupError):
        raise BadInput(f"{shown} is no Python text: it is neither UTF-8 nor in an encoding that it declares.") from None


def read_thread(path: Path | None, context: Literal["fork", "cold"]) -> Inherited:
    """What scripts inherit. A thread is read, and refused if it is none, though the run starts cold."""
    with clear_errors():
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

    def to_plain(self) -> dict[str, str]:
        """For a stored session: absolute paths."""
        given = {"contacts": self.contacts, "files": self.files, "outbox": self.outbox}
        return {name: str(path.resolve()) for name, path in given.items() if path is not None}


@asynccontextmanager
async def opened(places: Places, *, observe: Observe | None = None) -> AsyncIterator[list[Capability]]:
    """The capabilities of these places, closed at the end."""
    made: list[Capability] = []
    async with AsyncExitStack() as closing:
        with clear_errors():
            if places.contacts is not None:
                contacts = open_contacts(places.contacts, observe=observe)
                closing.push_async_callback(contacts.aclose)
                made.append(contacts)
            if places.files is not None:
                with indexing_progress() as progress:
                    search = open_search(places.files, progress=progress, observe=observe)
                closing.push_async_callback(search.aclose)
                made.append(search)
            if places.outbox is not None:
                made.append(Outbox(places.outbox, files=places.files))
        yield made


# Limits and images


class _Size(click.ParamType[int]):
    name = "size"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return int(TypeAdapter(ByteSize).validate_python(value))
        except ValidationError:
            self.fail(f"{value!r} is no size: write 256MB, 1GiB or a number of bytes.", param, ctx)


_LIMITS: Final = (
    click.option(
        "--timeout",
        metavar="SECONDS",
        type=click.FloatRange(min=0, min_open=True),
        default=Limits().cpu_seconds,
        show_default=True,
        help="Processor time for each file; waiting for answers does not count.",
    ),
    click.option(
        "--wall",
        metavar="SECONDS",
        type=click.FloatRange(min=0, min_open=True),
        default=Limits().wall_seconds,
        show_default=True,
        help="Time that may pass for each file, waiting included.",
    ),
    click.option(
        "--memory",
        metavar="SIZE",
        type=_Size(),
        default="256MiB",
        show_default=True,
        help="The interpreter's whole memory; an empty one has about 50 MiB.",
    ),
)


def limit_options[F: Callable[..., object]](command: F) -> F:
    """The options that bound a run."""
    for option in reversed(_LIMITS):
        command = option(command)
    return command


def limits_from(timeout: float, wall: float, memory: int) -> Limits:
    """Those options as `Limits`."""
    try:
        return Limits(cpu_seconds=timeout, wall_seconds=wall, memory_bytes=memory)
    except ValueError as error:
        raise BadInput(f"{error}.") from None


def find_image(name: str) -> Image:
    """The image of this name; the default one is built if there is none."""
    with clear_errors(), image_progress() as progress:
        return ensure(name, progress=progress)
