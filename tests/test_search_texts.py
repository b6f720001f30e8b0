"""Files of every kind give their title and text, or the reason why they have none."""

from __future__ import annotations

from pathlib import Path

import pypdf
import pytest

from host.search.texts import Text, Unreadable, read_text


def of(tmp_path: Path, name: str, data: bytes | str) -> Text:
    place = tmp_path / name
    place.write_bytes(data.encode() if isinstance(data, str) else data)
    return read_text(place)


def pdf(lines: list[str], title: str | None = None) -> bytes:
    """A small PDF of one page with these lines, written by hand."""
    shown = b" ".join(b"(%s) Tj T*" % line.encode("cp1252") for line in lines)
    content = b"BT /F1 12 Tf 72 720 Td 14 TL " + shown + b" ET"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        b"<< /Title (%s) >>" % (title or "").encode("cp1252"),
    ]
    out = b"%PDF-1.4\n"
    places = []
    for number, each in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    trailer = b"trailer\n<< /Size 7 /Root 1 0 R /Info 6 0 R >>\nstartxref\n%d\n%%%%EOF\n" % len(out)
    return out + b"xref\n0 7\n0000000000 65535 f \n" + table + trailer


@pytest.mark.parametrize(
    ("name", "data", "title"),
    [
        ("a.md", "Intro\n\n# The plan #\n\ntext\n", "The plan"),
        ("a.md", "The plan\n========\n\n# Later\n", "The plan"),
        ("a.md", '---\nauthor: Ann\ntitle: "The plan"\n---\n# Other\n', "The plan"),
        ("a.md", "just text\n", "just text"),
        ("a.txt", "\n\n  The plan \ntext", "The plan"),
        ("my-plan_v2.txt", "-----\n12345\n", "my plan v2"),
        ("MyPlan.txt", "x" * 200, "My Plan"),
        ("prices.csv", "a,b\n1,2\n", "prices"),
        ("a.html", "<title> The\n plan</title><h1>Other</h1><p>x", "The plan"),
        ("a.htm", "<body><h1>The <b>plan</b></h1><p>x", "The plan"),
        ("plan.html", "<p>x</p>", "plan"),
        ("a.pdf", pdf(["First line", "second"], "The plan"), "The plan"),
        ("a.pdf", pdf(["First line", "second"]), "First line"),
        ("no-ending", "The plan\ntext", "The plan"),
    ],
)
def test_a_title_is_what_a_file_calls_itself(tmp_path: Path, name: str, data: bytes | str, title: str) -> None:
    """By heading, title element, property or first line; else the words of its name."""
    assert of(tmp_path, name, data).title == title


def test_a_pdf_is_read(tmp_path: Path) -> None:
    """Also one whose name does not say that it is one."""
    assert of(tmp_path, "a.pdf", pdf(["Zürich", "two"])).body == "Zürich\ntwo"
    assert of(tmp_path, "a.bin", pdf(["one"])).body == "one"


def test_a_page_is_read_as_it_is_shown(tmp_path: Path) -> None:
    """Without scripts, styles and tags, with entities resolved, in the encoding that it declares."""
    page = '<html><head><meta charset="iso-8859-1"><script>var x</script></head><body>Caf\xe9 &amp; <i>bar</i><style>p{}</style>'
    assert of(tmp_path, "a.html", page.encode("latin-1")).body == "Café &\nbar"


@pytest.mark.parametrize(
    ("data", "body"),
    [
        ("Größe\r\nzwei\rdrei", "Größe\nzwei\ndrei"),
        ("\ufeffGröße", "Größe"),
        ("Größe".encode("utf-16"), "Größe"),
        ("Größe".encode("cp1252"), "Größe"),
    ],
)
def test_text_is_read_in_its_encoding(tmp_path: Path, data: bytes | str, body: str) -> None:
    """UTF-8, UTF-16 with a mark, and the Western European code page; line ends of all kinds."""
    assert of(tmp_path, "a.txt", data).body == body


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.txt", b"text\0more", "it is binary"),
        ("a.dat", bytes(range(128, 256)) * 20, "it is binary"),
        ("a.txt", b"\xff\xfe\x00", "it is binary"),
        ("a.html", b"<p>\0</p>", "it is binary"),
        ("a.txt", b"  \n\t\n", "it holds no text"),
        ("a.html", b"<script>x</script>", "it holds no text"),
        ("a.pdf", b"%PDF-1.7\n%%EOF", "its PDF is damaged"),
        ("a.pdf", b"not a PDF", "its PDF is damaged"),
        ("a.pdf", pdf([]), "it holds no text"),
    ],
)
def test_a_file_without_text_says_why(tmp_path: Path, name: str, data: bytes, reason: str) -> None:
    """In a phrase that can be shown in a list."""
    with pytest.raises(Unreadable, match=f"^{reason}$"):
        of(tmp_path, name, data)


def test_a_locked_pdf_says_so(tmp_path: Path) -> None:
    """Its text is not to be had without the password."""
    writer = pypdf.PdfWriter()
    writer.add_blank_page(100, 100)
    writer.encrypt("secret", algorithm="RC4-128")
    with (tmp_path / "a.pdf").open("wb") as file:
        writer.write(file)
    with pytest.raises(Unreadable, match=r"^it is locked by a password$"):
        read_text(tmp_path / "a.pdf")


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    """It may have gone since the folder was listed."""
    with pytest.raises(Unreadable, match=r"^it cannot be read$"):
        read_text(tmp_path / "none.txt")


def test_a_hostile_page_is_read_or_refused(tmp_path: Path) -> None:
    """However deep its elements are nested, it stops nobody."""
    assert of(tmp_path, "a.html", "<div>" * 50_000 + "x").body == "x"
