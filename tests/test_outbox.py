"""Mail that is put into the outbox is whole, is there once, and holds nothing that was not asked for."""

from __future__ import annotations

import mailbox
from collections.abc import Iterable
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path

import pytest

from host.errors import HostError
from host.outbox import Outbox, OutboxError, Sent


@pytest.fixture
def files(tmp_path: Path) -> Path:
    root = tmp_path / "files"
    (root / "reports").mkdir(parents=True)
    (root / "reports" / "résumé.md").write_text("# Résumé\n\nÉté.\n")
    (root / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (root / "report.pdf").write_bytes(b"%PDF-1.4\n")
    (root / "data.csv").write_bytes(b"a;\xe9\n")
    (root / "old.tar.gz").write_bytes(b"\x1f\x8b")
    (root / "unknown.zzz").write_bytes(b"?")
    (root / ".hidden").write_text("secret")
    (tmp_path / "outside.txt").write_text("outside")
    (root / "link.txt").symlink_to(tmp_path / "outside.txt")
    return root


@pytest.fixture
def outbox(tmp_path: Path, files: Path) -> Outbox:
    return Outbox(tmp_path / "outbox", files=files)


def mails(folder: Path) -> list[EmailMessage]:
    box = mailbox.Maildir(folder, create=False)
    found = [message_from_bytes(box.get_bytes(key), policy=policy.default) for key in sorted(box.keys())]
    box.close()
    return found


def everything(folder: Path) -> Iterable[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


async def test_a_mail_is_put_into_the_outbox(outbox: Outbox, tmp_path: Path) -> None:
    """It is in `new`, where a mail program looks, and reads as it was written."""
    sent = await outbox.send("Zoë Chen <zoe@north.example>, bo@south.example", "Grüße", "Hällo\nworld\n")
    (mail,) = mails(tmp_path / "outbox")
    assert [path.parent.name for path in everything(tmp_path / "outbox")] == ["new"]
    assert [(str(each.display_name), each.addr_spec) for each in mail["To"].addresses] == [
        ("Zoë Chen", "zoe@north.example"),
        ("", "bo@south.example"),
    ]
    assert (mail["Subject"], mail.get_content()) == ("Grüße", "Hällo\nworld\n")
    assert sent == Sent(
        id=mail["Message-ID"].strip("<>"), to=["zoe@north.example", "bo@south.example"], subject="Grüße", attachments=[]
    )
    assert mail["From"] == "agent@branchpoint.invalid"
    assert mail["Date"].datetime.tzinfo is not None


async def test_files_are_attached_with_their_kind(outbox: Outbox, tmp_path: Path) -> None:
    """Byte for byte, under their own names, with a type that does not depend on this machine."""
    paths = ["reports/résumé.md", "picture.png", "report.pdf", "data.csv", "old.tar.gz", "unknown.zzz"]
    sent = await outbox.send("a@b.example", "Files", attach=paths)
    (mail,) = mails(tmp_path / "outbox")
    parts = list(mail.iter_attachments())
    assert [(part.get_filename(), part.get_content_type(), part.get_content_charset()) for part in parts] == [
        ("résumé.md", "text/markdown", "utf-8"),
        ("picture.png", "image/png", None),
        ("report.pdf", "application/pdf", None),
        ("data.csv", "text/csv", None),
        ("old.tar.gz", "application/gzip", None),
        ("unknown.zzz", "application/octet-stream", None),
    ]
    assert parts[0].get_payload(decode=True) == "# Résumé\n\nÉté.\n".encode()
    assert parts[3].get_payload(decode=True) == b"a;\xe9\n"
    assert sent.attachments == paths


async def test_one_file_may_be_given_by_its_path_alone(outbox: Outbox) -> None:
    """A text is one path."""
    assert (await outbox.send("a@b.example", "One", attach="report.pdf")).attachments == ["report.pdf"]


async def test_two_mails_are_two(outbox: Outbox, tmp_path: Path) -> None:
    """Sending twice is two mails, each with an id of its own."""
    first = await outbox.send("a@b.example", "s")
    second = await outbox.send("a@b.example", "s")
    assert first.id != second.id
    assert len(mails(tmp_path / "outbox")) == 2


@pytest.mark.parametrize(
    "to",
    [
        "",
        " , ",
        "Sarah Chen",
        "sarah@",
        "@north.example",
        "a b@north.example",
        "a@@north.example",
        ".a@north.example",
        "a@-north.example",
        "a@north..example",
        "a@north.example b@north.example",
        "<a@north.example",
        "a@north.example>",
        "a@north.example, nobody",
        "zoë@north.example",
        "a@north.example\nBcc: b@south.example",
        "a@north.example\r\n\r\nbody",
        "a@north.example\0",
        "a@north.example\u2028Bcc: b@south.example",
        "\ud800@north.example",
        "a@" + "n" * 300 + ".example",
        "a@" + ".".join("n" * 60 for _ in range(5)),
        ",".join(["a@north.example"] * 101),
    ],
)
async def test_addresses_that_are_none_are_refused(outbox: Outbox, tmp_path: Path, to: str) -> None:
    """Nothing is written, and no text becomes a further header."""
    with pytest.raises(ValueError, match=r"address|^to (is empty|must be one line|holds)|ASCII|DNS"):
        await outbox.send(to, "s")
    assert everything(tmp_path) == [] or not (tmp_path / "outbox").exists()


@pytest.mark.parametrize("subject", ["a\nBcc: b@south.example", "a\rb", "a\0b", "a\u2029b", "a\x85b", "\udcff"])
async def test_a_subject_is_one_line(outbox: Outbox, tmp_path: Path, subject: str) -> None:
    """A line end in it would begin another header."""
    with pytest.raises(ValueError, match=r"^subject must be one line of text, and holds the character U\+"):
        await outbox.send("a@b.example", subject)
    assert not (tmp_path / "outbox").exists()


@pytest.mark.parametrize(
    "path", ["../outside.txt", "/etc/passwd", "link.txt", ".hidden", "reports", "none.md", "", "a\0b"]
)
async def test_only_files_of_the_folder_are_attached(outbox: Outbox, tmp_path: Path, path: str) -> None:
    """A path that leads elsewhere is a file that is not there, and then nothing is written."""
    with pytest.raises(FileNotFoundError, match=r"There is no file .* to attach"):
        await outbox.send("a@b.example", "s", attach=["report.pdf", path])
    assert not (tmp_path / "outbox").exists()


async def test_without_a_folder_nothing_is_attached(tmp_path: Path) -> None:
    """The sentence says why."""
    with pytest.raises(ValueError, match="opened without a folder of files"):
        await Outbox(tmp_path / "outbox").send("a@b.example", "s", attach="report.pdf")


async def test_a_file_name_cannot_become_a_header(outbox: Outbox, files: Path) -> None:
    """File names may hold line ends."""
    (files / "a\nBcc: b@south.example").write_text("x")
    with pytest.raises(ValueError, match="name of an attached file must be one line"):
        await outbox.send("a@b.example", "s", attach="a\nBcc: b@south.example")


async def test_attachments_have_a_largest_size(outbox: Outbox, files: Path, tmp_path: Path) -> None:
    """All of them together."""
    with (files / "large.bin").open("wb") as file:
        file.truncate(33 << 20)
    with pytest.raises(ValueError, match="larger than 32 MB"):
        await outbox.send("a@b.example", "s", attach="large.bin")
    assert not (tmp_path / "outbox").exists()


async def test_a_body_may_hold_what_a_text_holds(outbox: Outbox, tmp_path: Path) -> None:
    """Lines that look like headers or like mailbox marks, long lines, emoji; lone surrogates are no text."""
    body = "From me\nBcc: x@y.example\n.\n" + "é" * 3000 + "\n🙂\n"
    await outbox.send("a@b.example", "s", body)
    (mail,) = mails(tmp_path / "outbox")
    assert mail.get_content() == body
    assert mail["Bcc"] is None
    with pytest.raises(ValueError, match="lone surrogates"):
        await outbox.send("a@b.example", "s", "\ud800")


def test_opening_writes_nothing(tmp_path: Path) -> None:
    """The folder is made with the first mail."""
    Outbox(tmp_path / "outbox")
    assert not (tmp_path / "outbox").exists()


def test_an_outbox_that_is_none_is_one_clear_sentence(tmp_path: Path, files: Path) -> None:
    """A file, or a folder with other things in it, is not written to."""
    with pytest.raises(OutboxError, match=r"holds other things than mail") as caught:
        Outbox(files)
    assert isinstance(caught.value, HostError)
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutboxError, match="is no folder"):
        Outbox(tmp_path / "file")


async def test_an_existing_maildir_is_used(tmp_path: Path) -> None:
    """What is in it stays."""
    for _ in range(2):
        await Outbox(tmp_path / "outbox").send("a@b.example", "s")
    assert len(mails(tmp_path / "outbox")) == 2
