"""The capability `outbox`: mail that is written, and never sent. It lands in a Maildir, one file per mail.

Rules:

- All is checked before anything is written, and a mail appears in `new` in one step (Maildir's own way: written in
  `tmp`, then moved). A failure or a cancellation leaves no half of it.
- Nothing goes over a network, not even a look-up: names of this machine are not in the mail.
- A text cannot become a header: line ends and other control characters in addresses, subjects and file names are
  refused.
- Attachments are files of the searched folder, found as `search.read` finds them; nothing else on this machine can be
  attached.
- Writing twice is two mails, so a call is never repeated by itself.
"""

from __future__ import annotations

import mailbox
import mimetypes
import re
from collections.abc import Sequence
from dataclasses import dataclass
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import default
from email.utils import format_datetime, localtime, make_msgid, parseaddr
from pathlib import Path
from typing import Final

import trio

from host.capability import Capability
from host.errors import HostError
from host.search.folder import located

__all__ = ["Outbox", "OutboxError", "Sent"]

MOST_RECIPIENTS: Final = 100
LARGEST_MAIL: Final = 32 << 20  # bytes of attachments

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_LOCAL_PART: Final = re.compile(r"[^\s@<>(),;:\\\"\[\]]{1,64}")
_DOMAIN: Final = re.compile(r"(?=.{1,253}$)[^\W_](?:[\w-]{0,61}[^\W_])?(?:\.[^\W_](?:[\w-]{0,61}[^\W_])?)*")
_BETWEEN: Final = re.compile(r"""[,;](?=(?:[^"]*"[^"]*")*[^"]*$)""")
# Kinds that not every system knows, and that must not depend on the one we are on.
_KINDS: Final = {".md": "text/markdown", ".markdown": "text/markdown", ".csv": "text/csv", ".pdf": "application/pdf"}
_FOLDERS: Final = ("tmp", "new", "cur")


class OutboxError(HostError):
    """The outbox cannot be used. The message names the folder and says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A mail that is in the outbox: its Message-ID, the addresses it is to, its subject, and the paths of what is
    attached.
    """

    id: str
    to: list[str]
    subject: str
    attachments: list[str]


class Outbox(Capability):
    """Mail to be sent. It is put into a folder, where the person's mail program finds it."""

    name = "outbox"

    def __init__(self, folder: Path, *, files: Path | None = None, sender: str = "agent@branchpoint.invalid") -> None:
        """`folder` is the Maildir, made with the first mail; `files` is the folder that attachments come from.

        Raises OutboxError if the folder is there and no Maildir.
        """
        super().__init__()
        self._folder = folder
        self._files = files.resolve() if files is not None else None
        self._sender = sender
        if folder.exists() and not folder.is_dir():
            raise OutboxError(f"{folder} is no folder, so it cannot be an outbox.")
        if folder.is_dir() and any(folder.iterdir()) and not all((folder / name).is_dir() for name in _FOLDERS):
            raise OutboxError(f"{folder} holds other things than mail, so it cannot be an outbox.")

    async def send(self, to: str, subject: str, body: str = "", attach: list[str] | str | None = None) -> Sent:
        """Put a mail into the outbox. `to` is one address or several with commas between; `attach` are paths of files.

        Raises ValueError for an address, a subject or an attachment that cannot be used, FileNotFoundError for a file
        that is not there; then nothing was written.
        """
        recipients = _recipients(to)
        _check_text(subject, "subject")
        try:
            body.encode()
        except UnicodeEncodeError:
            raise ValueError("body holds characters that are no text (lone surrogates).") from None
        paths = [attach] if isinstance(attach, str) else list(attach or ())
        return await trio.to_thread.run_sync(self._write, recipients, subject, body, paths)

    def _write(self, recipients: Sequence[Address], subject: str, body: str, paths: Sequence[str]) -> Sent:
        mail = EmailMessage(policy=default)
        mail["From"] = self._sender
        mail["To"] = tuple(recipients)
        mail["Subject"] = subject
        mail["Date"] = format_datetime(localtime())
        identity = make_msgid(domain="branchpoint.invalid")  # the domain is given, or it would be looked up
        mail["Message-ID"] = identity
        mail.set_content(body)
        size = 0
        for path in paths:
            place = self._attached(path)
            data = place.read_bytes()
            size += len(data)
            if size > LARGEST_MAIL:
                raise ValueError(f"The attachments are larger than {LARGEST_MAIL >> 20} MB together.")
            kind = _kind(place)
            main, _, sub = kind.partition("/")
            charset = {"charset": "utf-8"} if main == "text" and _is_utf8(data) else None
            mail.add_attachment(data, maintype=main, subtype=sub, filename=place.name, params=charset)
        self._store(mail.as_bytes())
        addresses = [each.addr_spec for each in recipients]
        return Sent(id=identity.strip("<>"), to=addresses, subject=subject, attachments=list(paths))

    def _attached(self, path: str) -> Path:
        if self._files is None:
            raise ValueError("Nothing can be attached: this outbox was opened without a folder of files.")
        try:
            place = located(self._files, path)
        except FileNotFoundError:
            raise FileNotFoundError(
                f"There is no file {path!r} to attach. Use a path as `search.files` gives it."
            ) from None
        _check_text(place.name, "the name of an attached file")
        return place

    def _store(self, mail: bytes) -> None:
        for name in _FOLDERS:
            (self._folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)
        box = mailbox.Maildir(self._folder, create=False)
        try:
            box.add(mail)
        finally:
            box.close()


def _recipients(to: str) -> list[Address]:
    """The addresses in a text. Raises ValueError with what is wrong."""
    _check_text(to, "to")
    parts = [part.strip() for part in _BETWEEN.split(to) if part.strip()]
    if not parts:
        raise ValueError("to is empty: give an address, such as 'ann@example.org'.")
    if len(parts) > MOST_RECIPIENTS:
        raise ValueError(f"to holds {len(parts)} addresses, and {MOST_RECIPIENTS} are the most.")
    return [_address(part) for part in parts]


def _address(text: str) -> Address:
    name, address = parseaddr(text, strict=True) if text.count("<") == text.count(">") else ("", "")
    local, _, domain = address.rpartition("@")
    if not _LOCAL_PART.fullmatch(local) or not _DOMAIN.fullmatch(domain) or local[0] == "." or local[-1] == ".":
        raise ValueError(f"{text!r} is not an e-mail address, such as 'ann@example.org'.")
    try:
        host = domain.encode("idna").decode()
    except UnicodeError:
        raise ValueError(f"{text!r} has no domain that exists in the DNS' alphabet.") from None
    if not local.isascii():
        raise ValueError(
            f"{text!r} has letters before the @ that mail cannot carry everywhere; only ASCII is possible."
        )
    return Address(display_name=name, username=local, domain=host)


def _check_text(text: str, what: str) -> None:
    found = _CONTROL.search(text)
    if found is not None:
        raise ValueError(f"{what} must be one line of text, and holds the character U+{ord(found[0]):04X}.")


def _kind(place: Path) -> str:
    kind = _KINDS.get(place.suffix.lower())
    if kind is not None:
        return kind
    guessed, encoding = mimetypes.guess_type(place.name)
    if encoding is not None or guessed is None:
        return "application/gzip" if encoding == "gzip" else "application/octet-stream"
    return guessed


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
