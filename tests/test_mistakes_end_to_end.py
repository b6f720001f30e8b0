"""The usual mistakes, rows 1 to 8, through the real guest with capabilities in scope: what an agent reads in its `Outcome`."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from host import HostSession, Limits, open_host
from sandbox.image import Image
from tests.mistaken import ANN, CAPABILITIES, THREAD, failed

FIND = "contacts.find(name: str, limit: int = 10) -> list[Contact]"
ASK = "contacts.ask(question: str, *, context: Literal['fork', 'cold'] = 'fork') -> Contact"
SEND = "outbox.send(to: str, subject: str, *, urgent: bool = False) -> str"
SCOPE = "Capabilities are in scope already, without an import: contacts, files, outbox."


@pytest.fixture
async def session(image: Image) -> AsyncIterator[HostSession]:
    async with open_host(capabilities=CAPABILITIES, image=image) as host, host.session(inherited=THREAD) as session:
        yield session


class TestMistake01ForgottenAwait:
    @pytest.mark.parametrize(
        ("code", "corrected"),
        [
            ('print(contacts.ask("Ann?"))', 'print(await contacts.ask("Ann?"))'),
            ('contacts.find("Ann")[0]', '(await contacts.find("Ann"))[0]'),
            ('contacts.find("Ann") == []', 'await contacts.find("Ann") == []'),
            ('f"to {contacts.ask("Ann?")}"', 'f"to {await contacts.ask("Ann?")}"'),
            ('await contacts.ask("Ann?").email', '(await contacts.ask("Ann?")).email'),
            ('contacts.ask("Ann?").email.upper()', '(await contacts.ask("Ann?")).email.upper()'),
        ],
    )
    async def test_mistake_01_a_call_used_as_its_answer(self, session: HostSession, code: str, corrected: str) -> None:
        """Refused at its first use, with the corrected line; nothing was called."""
        outcome = await session.run(f"x = 1\n{code}")
        call = "contacts.ask(...)" if "ask" in code else "contacts.find(...)"
        failed(outcome, "TypeError", f"{call} on line 2 was not awaited. Write: {corrected}")
        assert outcome.error is not None
        assert outcome.error.line == 2
        assert outcome.usage.calls == 0

    async def test_mistake_01_in_a_function_that_cannot_await(self, session: HostSession) -> None:
        """Both ways out are named, with the agent's own function."""
        outcome = await session.run('def address(who):\n    return contacts.ask(who).email\naddress("Ann?")')
        failed(
            outcome,
            "TypeError",
            'contacts.ask(...) on line 2 was not awaited. address is a plain function, which cannot await. Make it "async '
            'def address(...)", write "await address(...)" where it is called and await this call in it, or write: '
            "return contacts.ask.blocking(who).email",
        )

    async def test_mistake_01_calls_that_were_never_awaited(self, session: HostSession) -> None:
        """Named at the end of the cell, with the lines to write."""
        outcome = await session.run('outbox.send("a@b.c", "Hi")\nfound = [contacts.find(n) for n in "AB"]\n1')
        assert (outcome.value, outcome.usage.calls) == (1, 0)
        assert outcome.notices == (
            'outbox.send(...) on line 1 was never awaited, so it was not made. Write: await outbox.send("a@b.c", "Hi")',
            (
                "contacts.find(...) on line 2 was never awaited, 2 times, so these calls were not made. "
                'Write: found = [await contacts.find(n) for n in "AB"]'
            ),
        )

    @pytest.mark.parametrize(
        ("code", "value", "notice"),
        [
            (
                'contacts.ask("Ann?")',
                ANN,
                'contacts.ask(...) on line 1 was awaited for you. Write: await contacts.ask("Ann?")',
            ),
            (
                "import asyncio\nasyncio.gather(contacts.find('A'), contacts.find('B'))",
                [[ANN], [ANN]],
                (
                    "asyncio.gather(contacts.find('A'), contacts.find('B')) on line 2 was awaited for you. "
                    "Write: await asyncio.gather(contacts.find('A'), contacts.find('B'))"
                ),
            ),
        ],
    )
    async def test_mistake_01_on_the_last_line(
        self, session: HostSession, code: str, value: object, notice: str
    ) -> None:
        """Awaited for them, with a notice."""
        outcome = await session.run(code)
        assert (outcome.value, outcome.notices) == (value, (notice,))


class TestMistake02AwaitInAPlainFunction:
    async def test_mistake_02_the_function_to_make_async_is_named(self, session: HostSession) -> None:
        """And the blocking form."""
        outcome = await session.run("def address(who):\n    return (await contacts.ask(who)).email\naddress('Ann?')")
        assert outcome.error is not None
        failed(
            outcome,
            "SyntaxError",
            "'await' outside async function (line 2, column 13)",
            hint='address is a plain function, which cannot await. Make it "async def address(...)", '
            'write "await address(...)" where it is called, or write in it: contacts.ask.blocking(who)',
        )
        assert (outcome.error.line, outcome.error.column) == (2, 13)
        assert outcome.error.traceback == (
            '  File "<cell>", line 2\n    return (await contacts.ask(who)).email\n'
            "            ^^^^^^^^^^^^^^^^^^^^^^^\nSyntaxError: 'await' outside async function\n"
        )

    async def test_mistake_02_both_ways_out_work(self, session: HostSession) -> None:
        """As the hint writes them."""
        plain = "def address(who):\n    return (contacts.ask.blocking(who)).email\naddress('Ann?')"
        made_async = "async def address(who):\n    return (await contacts.ask(who)).email\nawait address('Ann?')"
        assert (await session.run(plain)).value == "ann@x.example"
        assert (await session.run(made_async)).value == "ann@x.example"


class TestMistake03LastLineIsAnAssignment:
    @pytest.mark.parametrize(
        ("code", "value", "name"),
        [
            ("x = 3", 3, "x"),
            ("found = await contacts.find('Ann')", [ANN], "found"),
            ("a, b = 1, 2", (1, 2), "(a, b)"),
            ("total: int = 4", 4, "total"),
        ],
    )
    async def test_mistake_03_its_value_is_the_cells(
        self, session: HostSession, code: str, value: object, name: str
    ) -> None:
        """And it is said."""
        outcome = await session.run(code)
        assert outcome.value == value
        assert outcome.notices == (f"The cell ends with an assignment; its value is that of `{name}`.",)


class TestMistake04ImportsOfWhatIsNotHere:
    @pytest.mark.parametrize(
        ("code", "module", "hint"),
        [
            ("import contacts", "contacts", f"{SCOPE} Write: contacts"),
            ("from tools import search_contacts", "tools", f"{SCOPE} Write: contacts"),
            ("from functions import send", "functions", f"{SCOPE} Write: await outbox.send(to, subject)"),
            ("import numpy as np", "numpy", "There is no numpy here: use math, statistics, fractions, and lists."),
            (
                "import requests",
                "requests",
                "There is no requests here: there is no network; what is outside is reached through the capabilities in scope.",
            ),
            (
                "import foo.bar",
                "foo",
                "There is no foo here: the standard library is, and no other packages can be installed.",
            ),
        ],
    )
    async def test_mistake_04_it_says_what_there_is_instead(
        self, session: HostSession, code: str, module: str, hint: str
    ) -> None:
        """What is in scope, or in the standard library."""
        failed(await session.run(code), "ModuleNotFoundError", f"No module named '{module}'", hint=hint)


class TestMistake05WrongNamesAndArguments:
    @pytest.mark.parametrize(
        ("code", "kind", "message"),
        [
            (
                'await contacts.fnd("Ann")',
                "AttributeError",
                f"contacts has no method 'fnd'. Did you mean 'find'? It has: {FIND}, {ASK}.",
            ),
            (
                'await contacts.find(nme="Ann")',
                "TypeError",
                f"contacts.find() got an unexpected keyword argument 'nme'. Did you mean 'name'? Signature: {FIND}",
            ),
            (
                "await contacts.find()",
                "TypeError",
                f"contacts.find() is missing 1 required argument: 'name'. Signature: {FIND}",
            ),
            (
                'await outbox.send("a@b.c", "Hi", True)',
                "TypeError",
                (
                    "outbox.send() takes 2 positional arguments but 3 were given. To be given by name: urgent. "
                    f"Signature: {SEND}"
                ),
            ),
            (
                "await contacts.find(3)",
                "TypeError",
                f"contacts.find(): name: expected str, got int (3). Signature: {FIND}",
            ),
            (
                'await contacts.find("Ann", context="cold")',
                "TypeError",
                (
                    "contacts.find() got an unexpected keyword argument 'context'. It does not delegate, so there is no "
                    f"context to choose. Signature: {FIND}"
                ),
            ),
            (
                'await contacts.ask("Ann?", context="warm")',
                "ValueError",
                """contacts.ask(): context is "fork" or "cold", not 'warm'.""",
            ),
        ],
    )
    async def test_mistake_05_the_nearest_name_and_the_signature(
        self, session: HostSession, code: str, kind: str, message: str
    ) -> None:
        """At the agent's own line; nothing crossed."""
        outcome = await session.run(code)
        failed(outcome, kind, message)
        assert outcome.usage.calls == 0

    @pytest.mark.parametrize(
        ("code", "name", "hint"),
        [
            ('await contact.find("Ann")', "contact", "Did you mean contacts?"),
            ('await find("Ann")', "find", "find is a method. Write: await contacts.find(name)"),
            ("n + 1", "n", None),
        ],
    )
    async def test_mistake_05_a_capability_by_another_name(
        self, session: HostSession, code: str, name: str, hint: str | None
    ) -> None:
        """The one that was meant, if one is near."""
        failed(await session.run(code), "NameError", f"name '{name}' is not defined", hint=hint)


class TestMistake06FailuresOfTools:
    async def test_mistake_06_they_are_exceptions_with_their_fields(self, session: HostSession) -> None:
        """Caught by name, whatever raised them."""
        source = """
try:
    await contacts.ask("Which Sarah?")
except NeedsClarification as doubt:
    found = [doubt.question, doubt.options]
try:
    await files.read("none.md")
except FileNotFoundError as error:
    found.append(str(error))
found"""
        expected = ["Which Sarah?", ("Chen", "Okafor"), "There is no file 'none.md' here."]
        assert (await session.run(source)).value == expected

    async def test_mistake_06_in_gather_and_in_a_task_group(self, session: HostSession) -> None:
        """As CPython would have it."""
        source = """
import asyncio
found = []
try:
    await asyncio.gather(contacts.find("x"), contacts.ask("Sarah"))
except NeedsClarification as doubt:
    found.append(str(doubt))
try:
    async with asyncio.TaskGroup() as group:
        group.create_task(contacts.ask("Sarah"))
        group.create_task(files.read("none.md"))
except* NeedsClarification as group:
    found.append(len(group.exceptions))
except* FileNotFoundError as group:
    found.append(str(group.exceptions[0]))
mixed = await asyncio.gather(contacts.ask("Sarah"), files.read("plan.md"), return_exceptions=True)
found + [type(mixed[0]).__name__, mixed[1]]"""
        assert (await session.run(source)).value == [
            "Which Sarah? Options: Chen; Okafor.",
            1,
            "There is no file 'none.md' here.",
            "NeedsClarification",
            "The plan.",
        ]

    async def test_mistake_06_one_that_is_not_caught_has_the_same_shape_as_any_other(
        self, session: HostSession
    ) -> None:
        """With the agent's line, and nothing of the host."""
        outcome = await session.run('x = 1\nawait contacts.ask("Sarah")')
        failed(outcome, "NeedsClarification", "Which Sarah? Options: Chen; Okafor.")
        assert outcome.error is not None
        assert outcome.error.fields == {"question": "Which Sarah?", "options": ("Chen", "Okafor")}
        assert outcome.error.traceback == (
            'Traceback (most recent call last):\n  File "<cell>", line 2, in <module>\n'
            '    await contacts.ask("Sarah")\nNeedsClarification: Which Sarah? Options: Chen; Okafor.\n'
        )


class TestMistake07NamesThatAreGone:
    @pytest.mark.parametrize(
        ("rollback", "session_is", "hint"),
        [
            (
                True,
                "restored",
                "The session was put back to before cell 2, which was stopped: what it had assigned is gone.",
            ),
            (False, "lost", "The session is new: the one before it was lost when cell 2 was stopped."),
        ],
    )
    async def test_mistake_07_it_says_what_became_of_the_session(
        self, image: Image, rollback: bool, session_is: str, hint: str
    ) -> None:
        """Put back to before a cell, or new."""
        limits = Limits(cpu_seconds=0.2, grace_seconds=0.3)
        async with open_host(image=image, limits=limits) as host, host.session(rollback=rollback) as session:
            await session.run("kept = 1")
            assert (await session.run("rows = [1]\nsum(range(10 ** 12))")).session == session_is
            failed(await session.run("rows"), "NameError", "name 'rows' is not defined", hint=hint)
            assert (await session.run("kept")).ok is rollback


class TestMistake08OutputBesidePrint:
    async def test_mistake_08_it_is_captured_like_print(self, session: HostSession) -> None:
        """In order, each to its stream."""
        source = """
import os, sys, logging
print("one")
os.write(1, b"two\\n")
sys.__stdout__.write("three\\n")
sys.stdout.buffer.write("vier é\\n".encode())
print("five")
os.write(2, b"low\\n")
sys.__stderr__.write("high\\n")
logging.warning("logged")
"""
        outcome = await session.run(source)
        assert outcome.stdout == "one\ntwo\nthree\nvier é\nfive\n"
        assert outcome.stderr == "low\nhigh\nWARNING:root:logged\n"

    async def test_mistake_08_it_is_capped_like_print(self, image: Image) -> None:
        """Head and tail are kept, the middle is counted."""
        async with open_host(image=image, limits=Limits(output_bytes=1000)) as host, host.session() as session:
            outcome = await session.run("import os\nfor n in range(1000): os.write(1, b'%d\\n' % n)")
        assert outcome.stdout.startswith("0\n1\n")
        assert outcome.stdout.endswith("998\n999\n")
        assert "bytes left out ...]" in outcome.stdout
        assert outcome.usage.output_bytes == sum(len(f"{n}\n") for n in range(1000))
