"""The usual mistakes, rows 9 to 15 and under the restricted policy, through the real guest."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from guest_stdlib.results import Shortened
from host import HostSession, open_host
from sandbox.image import Image
from tests.mistaken import ANN, CAPABILITIES, THREAD, failed


@pytest.fixture
async def session(image: Image) -> AsyncIterator[HostSession]:
    async with open_host(capabilities=CAPABILITIES, image=image) as host, host.session(inherited=THREAD) as session:
        yield session


@pytest.fixture
async def restricted(image: Image) -> AsyncIterator[HostSession]:
    async with (
        open_host(capabilities=CAPABILITIES, image=image, policy="restricted") as host,
        host.session(inherited=THREAD) as session,
    ):
        yield session


class TestMistake09OutputAndLines:
    async def test_mistake_09_output_before_a_failure_is_kept_and_lines_are_the_agents_own(
        self, session: HostSession
    ) -> None:
        """Source lines and carets are shown, and no frame of ours."""
        outcome = await session.run("print('before')\n\ndef f(n):\n    return 1 / n\n\nf(0)")
        failed(outcome, "ZeroDivisionError", "division by zero")
        assert outcome.stdout == "before\n"
        assert outcome.error is not None
        assert (outcome.error.line, outcome.error.column) == (4, 12)
        assert outcome.error.traceback == (
            "Traceback (most recent call last):\n"
            '  File "<cell>", line 6, in <module>\n    f(0)\n    ~^^^\n'
            '  File "<cell>", line 4, in f\n    return 1 / n\n           ~~^~~\n'
            "ZeroDivisionError: division by zero\n"
        )


class TestMistake10LargeResults:
    async def test_mistake_10_a_long_list_is_shortened_and_read_on(self, session: HostSession) -> None:
        """Valid and typed, with counts; the handle reads the rest."""
        outcome = await session.run("list(range(5_000_000))")
        value = outcome.value
        assert isinstance(value, Shortened)
        assert (value.type, value.length, value.shown, value.handle) == ("list", 5_000_000, 100, "_[100:200]")
        assert value.head == list(range(100))
        assert outcome.notices == (
            (
                "The cell's value is shortened to 100 of 5,000,000 elements, because it brings what crosses at once to "
                "more than 1,000,000 items. The whole value is in the session; read on with `_[100:200]`."
            ),
        )
        assert (await session.run(value.handle)).value == list(range(100, 200))

    async def test_mistake_10_a_long_text_inside_a_record(self, session: HostSession) -> None:
        """Only what is too long is shortened; what was small is whole."""
        outcome = await session.run("{'text': 'x' * 50_000_000, 'n': 3}")
        assert isinstance(outcome.value, dict)
        text = outcome.value["text"]
        assert outcome.value["n"] == 3
        assert isinstance(text, Shortened)
        assert (text.type, text.length, text.head) == ("str", 50_000_000, "x" * text.shown)
        assert (await session.run(text.handle)).value == "x" * text.shown


class TestMistake11MainAtTopLevel:
    @pytest.mark.parametrize(
        "code",
        [
            "asyncio.run(main())",
            "loop = asyncio.get_event_loop()\nloop.run_until_complete(main())",
            "loop = asyncio.new_event_loop()\nasyncio.set_event_loop(loop)\nloop.run_until_complete(main())",
            "with asyncio.Runner() as runner:\n    result = runner.run(main())\nresult",
            "await main()",
        ],
    )
    async def test_mistake_11_it_works_with_calls_inside(self, session: HostSession, code: str) -> None:
        """Several at once, and timers."""
        source = """
import asyncio
async def main():
    found, ann = await asyncio.gather(contacts.find("A"), contacts.ask("Ann?"))
    await asyncio.sleep(0.001)
    return len(found), ann.name
"""
        outcome = await session.run(source + code)
        assert outcome.error is None
        assert (outcome.value, outcome.usage.calls, outcome.usage.rounds) == ((1, "Ann"), 2, 1)

    async def test_mistake_11_under_the_name_of_main(self, session: HostSession) -> None:
        """A cell is `__main__`, also for a main that exits."""
        source = """
import asyncio, sys
async def main():
    print((await contacts.ask("Ann?")).email)
    return 0
if __name__ == "__main__":
    sys.exit(asyncio.run(main()))"""
        outcome = await session.run(source)
        assert (outcome.error, outcome.stdout) == (None, "ann@x.example\n")

    async def test_mistake_11_an_exception_in_main_has_both_lines(self, session: HostSession) -> None:
        """And no frame of asyncio."""
        outcome = await session.run(
            "import asyncio\nasync def main():\n    await contacts.ask('Sarah')\nasyncio.run(main())"
        )
        assert outcome.error is not None
        assert outcome.error.traceback == (
            "Traceback (most recent call last):\n"
            '  File "<cell>", line 4, in <module>\n    asyncio.run(main())\n    ~~~~~~~~~~~^^^^^^^^\n'
            "  File \"<cell>\", line 3, in main\n    await contacts.ask('Sarah')\n"
            "NeedsClarification: Which Sarah? Options: Chen; Okafor.\n"
        )


NO_FILES = "There are no files here: read through the capabilities in scope; io.StringIO is a file in memory"
NO_WRITING = "Nothing can be written to files here: keep it in a variable or io.StringIO, or hand it to a capability"
NO_NETWORK = "There is no network here: what is outside is reached through the capabilities in scope"
NO_THREADS = "There are no threads here: await several calls at once with asyncio.gather, or call the function directly"
NO_PROCESSES = "No processes can be started here: do the work in Python"
NO_INPUT = "Nobody can type here: write the value into the code, or ask through a capability"


class TestMistake12TheWorldOutside:
    @pytest.mark.parametrize(
        ("code", "kinds", "sentence"),
        [
            ("open('/etc/passwd')", "FileNotFoundError OSError", NO_FILES),
            ("import pathlib\npathlib.Path('x').read_text()", "FileNotFoundError OSError", NO_FILES),
            ("open('out.txt', 'w')", "PermissionError OSError", NO_WRITING),
            ("import os\nos.listdir('/')", "FileNotFoundError OSError", NO_FILES),
            ("import socket\nsocket.socket()", "OSError", NO_NETWORK),
            ("import socket\nsocket.create_connection(('example.org', 80))", "gaierror OSError", NO_NETWORK),
            ("import urllib.request as u\nu.urlopen('http://example.org')", "URLError OSError", NO_NETWORK),
            ("import threading\nthreading.Thread(target=print).start()", "RuntimeError", NO_THREADS),
            (
                "from concurrent.futures import ThreadPoolExecutor\nThreadPoolExecutor().submit(print)",
                "RuntimeError",
                NO_THREADS,
            ),
            ("import subprocess\nsubprocess.run(['ls'])", "OSError", NO_PROCESSES),
            ("import os\nos.system('ls')", "OSError", NO_PROCESSES),
            ("input('name? ')", "EOFError", NO_INPUT),
            (
                "import time\ntime.sleep(3)",
                "RuntimeError",
                "time.sleep would stop everything here. Write: await asyncio.sleep(3)",
            ),
        ],
    )
    async def test_mistake_12_the_right_exception_at_once(
        self, session: HostSession, code: str, kinds: str, sentence: str
    ) -> None:
        """With one sentence about what is possible; `except` catches it as it would elsewhere."""
        outcome = await session.run(code)
        assert outcome.error is not None
        assert outcome.error.type == kinds.split(maxsplit=1)[0]
        assert sentence in outcome.error.message
        assert outcome.error.line == code.count("\n") + 1
        assert outcome.usage.wall_ms < 5_000
        lines = "\n".join(f"    {line}" for line in code.splitlines())
        caught = await session.run(
            f"try:\n{lines}\nexcept {kinds.rsplit(maxsplit=1)[-1]} as error:\n    said = str(error)\nsaid"
        )
        assert sentence in str(caught.value)

    async def test_mistake_12_a_file_hints_at_what_reads_documents(self, session: HostSession) -> None:
        """The capability's own signature."""
        outcome = await session.run("open('plan.md').read()")
        assert outcome.error is not None
        assert outcome.error.hint == "Documents are read with: files.read(path: str) -> str"


class TestMistake13WhatIsAroundTheCode:
    @pytest.mark.parametrize(
        ("code", "value"),
        [
            ("```python\nx = (await contacts.find('A'))[0]\nx.name\n```", "Ann"),
            ("\n    x = 1\n    if x:\n        x = 2\n    x\n", 2),
            (">>> x = 1\n>>> x + 1", 2),
            ("x = 5\nx\n>>> ", 5),
            ("if True:\n\tx = 3\nx", 3),
            ("x = 1\r\nif x:\r\n    x = 4\r\nx", 4),
            ("\ufeffx = 6\nx", 6),
        ],
        ids=["fence", "indentation", "prompts", "a trailing prompt", "tabs", "CRLF", "byte order mark"],
    )
    async def test_mistake_13_it_is_accepted(self, session: HostSession, code: str, value: object) -> None:
        """And runs as it was meant."""
        outcome = await session.run(code)
        assert (outcome.error, outcome.value) == (None, value)

    async def test_mistake_13_lines_and_columns_stay_those_that_were_sent(self, session: HostSession) -> None:
        """Though the fence and the indentation are gone."""
        outcome = await session.run("```python\n    x = 0\n    1 / x\n```")
        assert outcome.error is not None
        assert (outcome.error.line, outcome.error.column) == (3, 5)


class TestMistake14Gaps:
    @pytest.mark.parametrize(
        ("code", "what"),
        [
            (
                "await contacts.find(\n    '<name>')",
                'contacts.find(): name on line 2 is still the placeholder "<name>"',
            ),
            (
                "await outbox.send('YOUR_EMAIL', 'x')",
                'outbox.send(): to on line 1 is still the placeholder "YOUR_EMAIL"',
            ),
        ],
    )
    async def test_mistake_14_a_placeholder_is_named_with_its_line(
        self, session: HostSession, code: str, what: str
    ) -> None:
        """And how to send it if it was meant."""
        rest = "Put the real value there, or put this very text in a variable first if it is meant."
        outcome = await session.run(code)
        failed(outcome, "ValueError", f"{what}. {rest}")
        assert (outcome.usage.calls, outcome.usage.rejected_calls) == (0, 1)

    async def test_mistake_14_an_ellipsis(self, session: HostSession) -> None:
        """Is no text at all."""
        outcome = await session.run("await contacts.find(...)")
        failed(outcome, "ValueError", "contacts.find(): name on line 1 is still a gap (...). Put the real value there.")

    async def test_mistake_14_the_same_text_in_a_variable_was_meant(self, session: HostSession) -> None:
        """It passes."""
        assert (await session.run("title = '<name>'\nawait contacts.find(title)")).value == [ANN]


class TestMistake15OneAfterAnother:
    async def test_mistake_15_they_work_and_the_outcome_says_what_gather_would_take(self, session: HostSession) -> None:
        """With the line of the loop."""
        outcome = await session.run(
            "found = []\nfor n in range(12):\n    found += await contacts.find(str(n))\nlen(found)"
        )
        assert (outcome.value, outcome.usage.calls, outcome.usage.rounds) == (12, 12, 12)
        assert outcome.notices == (
            "Line 2: 12 calls ran one after another; `asyncio.gather` would have taken one round.",
        )

    async def test_mistake_15_at_once_there_is_nothing_to_say(self, session: HostSession) -> None:
        """One round."""
        source = "import asyncio\nlen(await asyncio.gather(*[contacts.find(str(n)) for n in range(12)]))"
        outcome = await session.run(source)
        assert (outcome.value, outcome.usage.rounds, outcome.notices) == (12, 1, ())


class TestRestricted:
    """The mistakes are the same under the restricted policy, and one more: code that it does not allow."""

    async def test_ordinary_agent_code_runs(self, restricted: HostSession) -> None:
        """Awaits, helpers, comprehensions, match, try, task groups; names live on."""
        source = """
import asyncio
async def names(query):
    return [each.name for each in await contacts.find(query)]
first, second = await asyncio.gather(names("A"), names("B"))
match first:
    case [one]:
        print(f"one: {one}")
total: int = len(first) + len(second)
try:
    await contacts.ask("Sarah")
except NeedsClarification as doubt:
    question = doubt.question
async with asyncio.TaskGroup() as group:
    task = group.create_task(names("C"))
{"total": total, "question": question, "task": task.result()}"""
        outcome = await restricted.run(source)
        assert outcome.error is None
        assert outcome.value == {"total": 2, "question": "Which Sarah?", "task": ["Ann"]}
        assert outcome.stdout == "one: Ann\n"
        assert (await restricted.run("total + 1")).value == 3
        main = "async def main():\n    return (await contacts.ask('Ann?')).name\nasyncio.run(main())"
        assert (await restricted.run(main)).value == "Ann"

    async def test_a_rejected_cell_has_no_effect_and_says_where_and_what_to_write(
        self, restricted: HostSession
    ) -> None:
        """Kind policy, with line and column."""
        outcome = await restricted.run("print('effect')\nx = open('y').read()")
        failed(
            outcome,
            "PolicyViolation",
            'Line 2, column 5: "open" is not available under policy "restricted". There are no files here: use the '
            "capabilities in scope, or io.StringIO for text in memory.",
            of="policy",
        )
        assert outcome.error is not None
        assert (outcome.error.line, outcome.error.column, outcome.stdout) == (2, 5, "")
        assert (await restricted.run("1")).value == 1

    async def test_all_that_is_not_allowed_is_said_at_once(self, restricted: HostSession) -> None:
        """One sentence a line."""
        outcome = await restricted.run("import os\nx = ().__class__")
        failed(
            outcome,
            "PolicyViolation",
            'Line 1, column 8: Module "os" is not available under policy "restricted". For paths as text import '
            "pathlib.PurePosixPath; for files use the capabilities in scope.\n"
            'Line 2, column 8: "__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).',
            of="policy",
        )

    async def test_a_forgotten_await_reads_the_same(self, restricted: HostSession) -> None:
        """Guards do not come between."""
        outcome = await restricted.run("contacts.find('A')[0]")
        failed(
            outcome,
            "TypeError",
            "contacts.find(...) on line 1 was not awaited. Write: (await contacts.find('A'))[0]",
        )
