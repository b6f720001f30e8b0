"""vCard files as they exist become cards, whole or not at all, and a broken one is told by its line."""

from __future__ import annotations

import time

import pytest

from host.contacts.vcard import Card, VCardError, read_cards


def card(*lines: str, version: str = "3.0", end: str = "\r\n") -> Card:
    """The one card in a file of these lines."""
    (only,) = read_cards(f"BEGIN:VCARD{end}VERSION:{version}{end}{end.join(lines)}{end}END:VCARD{end}".encode())
    return only


def test_a_version_3_card_is_read_whole() -> None:
    """All that a contact has is found on a card of version 3.0."""
    found = card(
        "N:Chen;Sarah;;;",
        "FN:Sarah Chen",
        "ORG:Northwind;Finance",
        "TITLE:Controller",
        "EMAIL;TYPE=INTERNET,WORK:sarah@northwind.example",
        "TEL;TYPE=CELL:+47 400 00 000",
        "NOTE:Likes tables.",
        "NICKNAME:Saz",
    )
    assert found == Card(
        name="Sarah Chen",
        other_names=("Saz",),
        emails=("sarah@northwind.example",),
        phones=("+47 400 00 000",),
        organization="Northwind, Finance",
        title="Controller",
        note="Likes tables.",
    )


def test_a_version_4_card_is_read_whole() -> None:
    """Version 4.0 writes telephone numbers and addresses as URIs, and several types as one quoted list."""
    found = card(
        "FN:Sarah Chen",
        'TEL;VALUE=uri;TYPE="voice,home":tel:+47-22-00-00-00;ext=12',
        "EMAIL;PREF=2:mailto:old@northwind.example",
        "EMAIL;PREF=1:new@northwind.example",
        version="4.0",
    )
    assert found.phones == ("+47-22-00-00-00 ext. 12",)
    assert found.emails == ("new@northwind.example", "old@northwind.example")


def test_a_version_2_1_card_is_read_whole() -> None:
    """Version 2.1 has bare parameters, quoted-printable text over several lines, and a charset for each line."""
    found = card(
        "n;charset=ISO-8859-1;encoding=quoted-printable:M=FCller;J=F6rg",
        "note;ENCODING=QUOTED-PRINTABLE:soft =",
        "line =",
        "ends",
        "TEL;WORK;FAX:1",
        "TEL;CELL;PREF:2",
        version="2.1",
    )
    assert (found.name, found.note, found.phones) == ("Jörg Müller", "soft line ends", ("2", "1"))


@pytest.mark.parametrize(
    "line", ["EMAIL;TYPE=INTERNET;TYPE=pref:b@x.example", "EMAIL;PREF:b@x.example", "EMAIL;PREF=1:b@x.example"]
)
def test_the_preferred_address_comes_first(line: str) -> None:
    """Each version's way to prefer an address is understood."""
    assert card("FN:B", "EMAIL:a@x.example", line).emails == ("b@x.example", "a@x.example")


def test_the_first_address_counts_where_none_is_preferred() -> None:
    """The file's order is kept among equals."""
    assert card("FN:B", "EMAIL:a@x.example", "EMAIL:b@x.example").emails[0] == "a@x.example"


def test_a_mobile_number_comes_before_others_and_a_fax_last() -> None:
    """Without a preference the number that reaches a person comes first."""
    assert card("FN:B", "TEL;TYPE=FAX:1", "TEL;TYPE=HOME:2", "TEL;TYPE=CELL:3").phones == ("3", "2", "1")


def test_grouped_properties_are_read_like_others() -> None:
    """Apple groups a property with its label; the label is not taken for a value."""
    found = card("FN:B", "item1.EMAIL;type=INTERNET:b@x.example", "item1.X-ABLabel:_$!<Other>!$_", "item2.TEL:5")
    assert (found.emails, found.phones) == (("b@x.example",), ("5",))


def test_escapes_are_undone_and_bare_commas_stay() -> None:
    """A note keeps everything behind a comma that nobody escaped."""
    assert (
        card("FN:B", r"NOTE:tea, no sugar\, ever\; really\nor coffee \\o/").note
        == "tea, no sugar, ever; really\nor coffee \\o/"
    )


def test_structured_values_keep_escaped_separators() -> None:
    """An organization may have a semicolon in its name, and units below it."""
    assert card("FN:B", r"ORG:Smith\; Sons, Ltd.;Sales;North").organization == "Smith; Sons, Ltd., Sales, North"


def test_folded_lines_are_joined() -> None:
    """A line that begins with a blank goes on with the one before, in the middle of a word too."""
    assert card("FN:Sarah Ch", " en", "NOTE:one", "\ttwo").name == "Sarah Chen"


@pytest.mark.parametrize("end", ["\r\n", "\n", "\r"])
def test_every_line_end_is_read(end: str) -> None:
    """Files come from all systems."""
    assert card("FN:Zoë", end=end).name == "Zoë"


def test_byte_order_marks_do_no_harm() -> None:
    """A mark at the beginning, or where two files were joined, is no text; a file in UTF-16 is read too."""
    one = "BEGIN:VCARD\nVERSION:3.0\nFN:Zoë\nEND:VCARD\n"
    assert [each.name for each in read_cards((f"\ufeff{one}" * 2).encode())] == ["Zoë", "Zoë"]
    assert read_cards(one.encode("utf-16"))[0].name == "Zoë"


def test_a_name_is_made_of_what_there_is() -> None:
    """Without a formatted name the parts are put together, else a nickname, an organization or an address stands in."""
    assert card("N:Chen;Sarah;Li;Dr.;").name == "Dr. Sarah Li Chen"
    assert card("ORG:Harbour Bank").name == "Harbour Bank"
    assert card("EMAIL:info@harbour.example").name == "info@harbour.example"


def test_organizations_are_contacts_and_groups_are_not() -> None:
    """A group only lists members."""
    data = b"".join(
        b"BEGIN:VCARD\nVERSION:4.0\nKIND:%b\nFN:X\nEND:VCARD\n" % kind for kind in (b"org", b"group", b"individual")
    )
    assert len(read_cards(data)) == 2
    assert read_cards(b"BEGIN:VCARD\nVERSION:3.0\nX-ADDRESSBOOKSERVER-KIND:group\nFN:X\nEND:VCARD\n") == []


def test_a_card_within_a_card_is_left_out() -> None:
    """Version 2.1 puts an agent's card inside of one; it is not a contact of its own, and lends nothing."""
    found = card("FN:Boss", "AGENT:", "BEGIN:VCARD", "FN:Assistant", "EMAIL:a@x.example", "END:VCARD", version="2.1")
    assert (found.name, found.emails) == ("Boss", ())


def test_photographs_are_skipped() -> None:
    """Megabytes of base64 are neither decoded nor taken for text."""
    lines = ["PHOTO;ENCODING=b;TYPE=JPEG:/9j/4AAQ" + "A" * 70, *[" " + "A" * 74] * 2_000]
    assert card("FN:B", *lines).name == "B"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "it holds no vCard."),
        (b"name,email\nSarah,s@x.example\n", "line 1: this is not a vCard property: 'name,email'."),
        (b"FN:Sarah\n", "line 1: there is text outside of a vCard (BEGIN:VCARD is missing)."),
        (b"\nBEGIN:VCARD\nVERSION:3.0\n", "line 2: the vCard that begins here does not end (END:VCARD is missing)."),
        (b"BEGIN:VCALENDAR\nEND:VCALENDAR\n", "line 1: a vCard was expected to begin, not 'VCALENDAR'."),
        (b"BEGIN:VCARD\nVERSION:3.0\n\nFN Sarah\nEND:VCARD\n", "line 4: this is not a vCard property: 'FN Sarah'."),
        (b"BEGIN:VCARD\nVERSION:3.0\nTEL:1\nEND:VCARD\n", "line 1: the vCard that begins here has no name."),
        (b"BEGIN:VCARD\nVERSION:5.0\n", "line 2: vCard version '5.0' is not known, only 2.1, 3.0, 4.0."),
        (b"BEGIN:VCARD\nVERSION:3.0\nFN:\xff\nEND:VCARD\n", "line 3: its text cannot be read as 'utf-8'."),
        (b"BEGIN:VCARD\nFN;CHARSET=klingon:\xff\nEND:VCARD\n", "line 2: its text cannot be read as 'klingon'."),
        (b"PK\x03\x04\x00\x00", "line 1: it is not a text file."),
    ],
)
def test_a_broken_file_is_told_by_line(data: bytes, message: str) -> None:
    """What is wrong is said in one clause, with the line as an editor counts it."""
    with pytest.raises(VCardError) as caught:
        read_cards(data)
    assert str(caught.value) == message


def test_one_broken_card_spoils_the_file() -> None:
    """A file is read whole or not at all."""
    good = b"BEGIN:VCARD\nVERSION:3.0\nFN:A\nEND:VCARD\n"
    with pytest.raises(VCardError, match="line 7"):
        read_cards(good + b"BEGIN:VCARD\nVERSION:3.0\nFN\nEND:VCARD\n" + good)


@pytest.mark.parametrize(
    "parameters", [";A" + "=b" * 5_000, ";A=" + "b," * 5_000, ";A=b" * 5_000, ';A="' + "b" * 5_000]
)
def test_hostile_parameters_take_linear_time(parameters: str) -> None:
    """A long list of parameters with a mistake at its end is refused at once; vobject's own pattern would not come
    back.
    """
    begin = time.perf_counter()
    with pytest.raises(VCardError, match="line 2"):
        read_cards(f"BEGIN:VCARD\nX{parameters};*:\nEND:VCARD\n".encode())
    assert time.perf_counter() - begin < 1
