"""The command line for tests: in this process, as a process of its own, and on a terminal."""

from __future__ import annotations

import errno
import json
import mailbox
import os
import pty
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from host.cli import main
from host.samples import Sample
from sandbox.image import cache_folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a process ended, and what it wrote."""

    code: int
    stdout: str
    stderr: str


class Command:
    """Runs `branchpoint` in a folder of its own. What it caches, but images, stays in that folder too."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {
            "XDG_CACHE_HOME": str(folder / ".cache"),
            "XDG_STATE_HOME": str(folder / ".state"),
            "BRANCHPOINT_CACHE": str(cache_folder()),
        }

    def write(self, name: str, content: str | bytes) -> str:
        """A file in the folder; its name."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    def __call__(self, *arguments: str | Path, stdin: str | bytes = b"") -> Result:
        """Run it in this process."""
        return CliRunner().invoke(main, [*map(str, arguments)], input=stdin, env=self.env, catch_exceptions=False)

    def run(self, source: str, *arguments: str | Path) -> Result:
        """Run this code."""
        return self("run", self.write("code.py", source), *arguments)

    def json(self, source: str, *arguments: str | Path) -> dict[str, Any]:
        """What `run --json` says of this code."""
        result = self.run(source, "--json", *arguments)
        (line,) = result.stdout.splitlines()
        found: dict[str, Any] = json.loads(line)
        return found

    # Processes

    def start(
        self, *arguments: str | Path, env: Mapping[str, str] | None = None, **streams: Any
    ) -> subprocess.Popen[str]:
        """Start a process. Its streams are pipes of text, unless said otherwise."""
        return subprocess.Popen(
            [sys.executable, "-m", "host.cli", *map(str, arguments)],
            **dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE) | streams,
            cwd=self.folder,
            env={**os.environ, **self.env, **(env or {})},
            text=True,
        )

    def process(self, *arguments: str | Path, stdin: str = "", env: Mapping[str, str] | None = None) -> Ended:
        """Run a process to its end."""
        with self.start(*arguments, env=env) as process:
            stdout, stderr = process.communicate(stdin)
        return Ended(code=process.returncode, stdout=stdout, stderr=stderr)

    def terminal(self, *arguments: str | Path, env: Mapping[str, str] | None = None) -> tuple[int, str]:
        """Run a process on a terminal; its exit code and all that appeared there."""
        ours, theirs = pty.openpty()
        terminal = {"TERM": "xterm-256color", "COLUMNS": "100", "LINES": "30"} | dict(env or {})
        with self.start(*arguments, env=terminal, stdin=theirs, stdout=theirs, stderr=theirs) as process:
            os.close(theirs)
            shown = b"".join(_pieces(ours))
        os.close(ours)
        return process.returncode, shown.decode().replace("\r\n", "\n")

    def tree(self) -> set[str]:
        """All files in the folder."""
        return {str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file()}


def _pieces(descriptor: int) -> Iterator[bytes]:
    while True:
        try:
            piece = os.read(descriptor, 65536)
        except OSError as error:  # how Linux says that nobody has the other end any more
            if error.errno != errno.EIO:
                raise
            return
        if not piece:
            return
        yield piece


def of(sample: Sample) -> list[str]:
    """The options that offer a sample's contacts and files."""
    return ["--contacts", str(sample.contacts), "--files", str(sample.files)]


def mails(outbox: Path) -> list[EmailMessage]:
    """What lies in an outbox; it need not exist."""
    if not outbox.exists():
        return []
    box = mailbox.Maildir(outbox, create=False)
    try:
        return [message_from_bytes(box.get_bytes(key), policy=policy.default) for key in box.iterkeys()]
    finally:
        box.close()


def addressed(mail: EmailMessage) -> str:
    """Whom a mail is to."""
    (address,) = mail["To"].addresses
    return str(address.addr_spec)


def attached(mail: EmailMessage) -> list[str]:
    """The names of the files attached to a mail."""
    return [str(part.get_filename()) for part in mail.iter_attachments()]
