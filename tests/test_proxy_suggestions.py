"""Row 4 and 5 of the usual mistakes: imports that cannot be, and names and values that are not what they were taken for."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, cast

import pytest

from guest_stdlib import packages, suggestions
from guest_stdlib.channel.events import Failure
from guest_stdlib.scene import Scene
from tests.proxy_session import Session

CAPABILITIES = "Capabilities are in scope already, without an import: contacts, search, outbox, lookup."


@pytest.fixture
def session() -> Iterator[Session]:
    session = Session()
    yield session
    session.close()


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        ("import contacts", f"{CAPABILITIES} Write: contacts"),
        ("from contacts import find", f"{CAPABILITIES} Write: await contacts.find(name)"),
        ("from tools import contacts", f"{CAPABILITIES} Write: contacts"),
        ("from tools import search_files", f"{CAPABILITIES} Write: await search.files(query)"),
        ("from functions import send", f"{CAPABILITIES} Write: await outbox.send(to, subject)"),
        ("import functions", CAPABILITIES),
        ("import tools.contacts as c", CAPABILITIES),
        ("from my_contacts_tool import find", f"{CAPABILITIES} Write: await contacts.find(name)"),
        (
            "from company import weather_report",
            "There is no company here: the standard library is, and no other packages can be installed.",
        ),
    ],
)
def test_mistake_04_an_import_of_a_capability_says_that_it_is_in_scope(session: Session, code: str, hint: str) -> None:
    """The capabilities are named, and the nearest to what was asked for is written out."""
    assert type(session.fail(code)) is ModuleNotFoundError
    assert session.hint(code) == hint


@pytest.mark.parametrize(
    ("module", "hint"),
    [
        ("pandas_", None),
        ("pandas", "There is no pandas here: use csv, statistics, collections, and lists of dicts."),
        ("numpy", "There is no numpy here: use math, statistics, fractions, and lists."),
        (
            "requests",
            "There is no requests here: there is no network; what is outside is reached through the capabilities in scope.",
        ),
        ("yaml", "There is no yaml here: use json, or tomllib for TOML; simple YAML can be split by lines."),
        ("bs4", "There is no bs4 here: use html.parser for HTML and xml.etree.ElementTree for XML."),
        (
            "dateutil.parser",
            "There is no dateutil here: use datetime and zoneinfo: datetime.fromisoformat reads ISO dates, strptime others.",
        ),
        ("jsn", "There is no module jsn. Did you mean json?"),
        ("quantumlib", "There is no quantumlib here: the standard library is, and no other packages can be installed."),
        ("tkinter", "There is no tkinter here: nothing has a screen or a keyboard; print what is to be shown."),
    ],
)
def test_mistake_04_an_import_that_the_image_lacks_says_what_there_is_instead(module: str, hint: str | None) -> None:
    """One sentence that names what in the standard library does the work."""
    error = ModuleNotFoundError(f"No module named {module!r}", name=module)
    if hint is not None:
        assert suggestions.hint(error, Scene()) == hint
        assert suggestions.hint(error, Scene(packages=["attrs", "jinja2"])) == (
            f"{hint} Packages that are here: attrs, jinja2."
        )


def test_mistake_04_a_policy_that_refuses_an_import_of_a_capability_has_the_same_hint(session: Session) -> None:
    """The policy knows modules; what is in scope is said beside it."""
    refusal = 'raise Exception(\'Line 1, column 8: Module "{}" is not available under policy "restricted". No.\')'
    assert session.hint(refusal.format("contacts")) == f"{CAPABILITIES} Write: contacts"
    assert session.hint(refusal.format("tools.search")) == CAPABILITIES
    assert session.hint(refusal.format("requests")) is None


def test_mistake_04_a_barriers_own_sentence_is_not_said_twice() -> None:
    """The message has it already."""
    error = ModuleNotFoundError(packages.UNUSABLE["ssl"], name="ssl")
    assert suggestions.hint(error, Scene()) is None


def test_mistake_04_every_module_that_cannot_work_is_one_of_the_standard_library() -> None:
    """And no module that works is advised against."""
    roots = {name.partition(".")[0] for name in packages.UNUSABLE}
    assert roots - sys.stdlib_module_names - {"compression"} == set()
    assert not set(packages._INSTEAD) & sys.stdlib_module_names


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        ("contact", "Did you mean contacts?"),
        ("await serach.files('x')", "Did you mean search?"),
        ("await ask('Sarah?')", "ask is a method. Write: await contacts.ask(question)"),
        ("await send('a', 'b')", "send is a method. Write: await outbox.send(to, subject)"),
        ("results = 1\nresult + 1", "Did you mean results?"),
        ("lenght([])", "Did you mean len?"),
        ("prnt(1)", "Did you mean print?"),
        ("json.dumps(1)", "Import it first: import json"),
        ("np.mean([1])", "There is no numpy here: use math, statistics, fractions, and lists."),
        ("true", "In Python it is written True."),
        ("null", "In Python it is written None."),
        ("Contct('a', 'b')", "Did you mean Contact?"),
        ("xyzzy", None),
    ],
)
def test_mistake_05_an_unknown_name_has_the_nearest_one(session: Session, code: str, hint: str | None) -> None:
    """Among capabilities, their methods, the cell's own names, builtins and modules."""
    assert type(session.fail(code)) is NameError
    assert session.hint(code) == hint


def test_mistake_07_an_unknown_name_in_a_session_that_was_put_back_says_so(session: Session) -> None:
    """What the session had to be told first comes first."""
    notice = "The session was put back to before cell 3: names from it are gone."
    assert session.hint("xyzzy", notice=notice) == notice
    assert session.hint("contact", notice=notice) == f"{notice} Did you mean contacts?"


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        (
            'Contact("Sarah", "s@b.c")["email"]',
            "Contact is a record, its fields are attributes. Write: Contact('Sarah', 's@b.c').email",
        ),
        ('sarah["emial"]', "Contact is a record, its fields are attributes. Write: sarah.email"),
        ('sarah["phone"]', "Contact is a record with the fields name, email."),
        ("sarah[0]", "sarah is one Contact, not a list of them; its fields are name, email."),
        ("[name for name in sarah]", "Contact is one record with the fields name, email, not a list of them."),
        ("a, b = sarah", "Contact is one record with the fields name, email, not a list of them."),
        ("sarah.emial", "Contact is a record with the fields name, email. Did you mean email?"),
        ("sarah.phone", "Contact is a record with the fields name, email."),
        (
            'sarah.get("email")',
            "Contact is a record with the fields name, email. Read them as attributes; dataclasses.asdict makes it a dict.",
        ),
        ("[sarah].email", "It is a list of Contact: take one, [0].email, or go through them all."),
        ("[].email", "It is empty: there is no item to read from."),
        ("nobody.email", "nobody is None: nothing was found. Check for None first."),
        ("row.name", 'Items of a dict are read by key: ["name"].'),
        ('row["nmae"]', "row has the keys 'name', 'city'. Did you mean 'name'?"),
        ('rows[0]["town"]', "rows[0] has the keys 'name', 'city'."),
        ('{}["x"]', None),
        ('empty["x"]', "empty is empty."),
        ("rows[1]", "rows has 1 item: the last is [0], or [-1]."),
        ("none_found[0]", "none_found is empty: nothing was found. Check before taking an item: if none_found: ..."),
        ("import json\njson.dumps(sarah)", "Contact is a record. Write: json.dumps(..., default=dataclasses.asdict)"),
        (
            "import json, datetime\njson.dumps(datetime.date.today())",
            "Let it be written as text: json.dumps(..., default=str)",
        ),
        ("import json\njson.dumps({1})", "JSON has no sets. Make it a list first: sorted(...)"),
        ("await len('abc')", "len('abc') is the value already. Leave out await: len('abc')"),
        (
            "await contacts.find.blocking('A')",
            "A blocking call gives the answer itself. Leave out await: contacts.find.blocking('A')",
        ),
        ("await contacts.find", "It is not called yet. Write: await contacts.find(...)"),
        (
            "import asyncio\nawait [contacts.find(name) for name in 'AB']",
            "To await several calls at once, write: await asyncio.gather(*[contacts.find(name) for name in 'AB'])",
        ),
        (
            "import asyncio\nawait asyncio.gather([contacts.find(name) for name in 'AB'])",
            "asyncio.gather takes the calls one by one. Put a star before the list: await asyncio.gather(*[...])",
        ),
        ("async for each in await contacts.find('A'): pass", "It is no async iterator. Write for, not async for."),
        (
            "contacts('Sarah')",
            (
                "contacts is called by its methods: contacts.find(name: str) -> list[Contact], "
                "contacts.ask(question: str, *, context: Literal['fork', 'cold'] = 'fork') -> Contact."
            ),
        ),
        ("contacts.find['Sarah']", "A method is called with parentheses: contacts.find('Sarah')"),
        ("1 + 'a'", None),
        ("1 / 0", None),
    ],
)
def test_mistake_05_a_value_taken_for_another_kind_has_a_hint(session: Session, code: str, hint: str | None) -> None:
    """Records, dicts, lists, None and awaitables: what the value is, and what to write."""
    setup = "sarah = Contact('Sarah', 's@b.c'); nobody = None; row = {'name': 'A', 'city': 'B'}; rows = [row]; empty = {}; none_found = []"
    session.run(setup)
    assert session.hint(code) == hint


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        ("x = 1\nreturn x", "A cell is no function. Write the value alone on the last line, without return."),
        ("%pip install requests", "Shell and notebook commands do not work here: write Python."),
        ("!ls", "Shell and notebook commands do not work here: write Python."),
        ("x = (1", None),
    ],
)
def test_mistake_11_syntax_of_other_places_has_a_hint(session: Session, code: str, hint: str | None) -> None:
    """Cells are neither functions nor notebooks."""
    assert session.hint(code) == hint


def test_mistake_12_a_missing_file_names_the_methods_that_read_documents(session: Session) -> None:
    """What stands for a file here depends on the capabilities."""
    assert session.hint("open('/nowhere/report.txt')") == "Documents are read with: search.read(path: str) -> str"
    assert session.hint("raise PermissionError('no')") == "Documents are read with: search.read(path: str) -> str"
    assert session.hint("open('/nowhere/report.txt')", capabilities=()) is None
    assert session.hint("import sqlite3\nsqlite3.connect('/nowhere/x.db')") == (
        "There are no files here. Write: sqlite3.connect(':memory:')"
    )
    assert session.hint("import urllib.error\nraise urllib.error.URLError('unknown url type: https')") == (
        "There is no network here: what is outside is reached through contacts, search, outbox, lookup."
    )


def test_mistake_12_an_error_of_a_capability_speaks_for_itself(session: Session) -> None:
    """What it did not find, or does not allow, is no file of this machine's."""

    session.answer = lambda _: Failure(kind="script", type="FileNotFoundError", message="There is no file 'x' here.")
    gathered = "import asyncio\nawait asyncio.gather(search.read('x'))"
    for code in ("await search.read('x')", "search.read.blocking('x')", gathered):
        assert session.hint(code) is None
    assert session.hint("try:\n    await search.read('x')\nexcept OSError:\n    open('/nowhere')") is not None


def test_a_group_has_the_hint_of_its_first_member_that_has_one(session: Session) -> None:
    """Exceptions out of a TaskGroup are explained like any other."""
    code = (
        "import asyncio\n"
        "async def one():\n    1 / 0\n"
        "async def other():\n    Contact('a', 'b')['name']\n"
        "async with asyncio.TaskGroup() as group:\n    group.create_task(one())\n    group.create_task(other())"
    )
    assert session.hint(code) == "Contact is a record, its fields are attributes. Write: Contact('a', 'b').name"


class Hostile(AttributeError):
    """Raises whatever is asked of it."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


class HostileName:
    def __getattr__(self, name: str) -> Any:
        raise KeyError(name)

    def __dir__(self) -> Any:
        raise RuntimeError("no names")


@pytest.mark.parametrize(
    "error",
    [
        Hostile(),
        NameError(name=cast(str, HostileName())),
        KeyError(),
        IndexError(),
        SyntaxError(),
        OSError(),
        BaseException(),
    ],
)
def test_a_hint_never_fails(error: BaseException) -> None:
    """Whatever the exception does when it is looked at, there is a hint or none."""
    assert suggestions.hint(error, Scene()) is None


def test_a_hint_runs_none_of_the_agents_code(session: Session) -> None:
    """A failing line is read, not evaluated again."""
    code = "count = 0\ndef rows():\n    global count\n    count += 1\n    return {}\nrows()['x']"
    assert session.hint(code) is None
    assert session.names["count"] == 1
