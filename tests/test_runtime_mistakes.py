"""What models get wrong when they write code for a sandbox, and the exact words that they read back (spec/model-mistakes.md)."""

from __future__ import annotations

from textwrap import dedent

import pytest

from guest_stdlib.channel import CodecLimits
from tests.runtime_session import run, session


def cell(source: str) -> str:
    return "import asyncio\n" + dedent(source)


# 1. Forgot await: what the end of a cell says


def test_mistake_01_a_call_that_was_never_awaited_is_named_at_the_end():
    """Each place once, with the corrected line."""
    got = run("contacts.ask('who?')\nfor n in range(3):\n    contacts.find(str(n))\nNone")
    assert got.notices == (
        "contacts.ask(...) on line 1 was never awaited, so it was not made. Write: await contacts.ask('who?')",
        "contacts.find(...) on line 3 was never awaited, 3 times, so these calls were not made. Write: await contacts.find(str(n))",
    )


@pytest.mark.parametrize(
    "source",
    [
        "contacts.find('Ada').upper()",
        "calls = [contacts.find(n) for n in 'abc']\n[call.upper() for call in calls]",
        "import json\njson.dumps(contacts.find('Ada'))",
    ],
)
def test_mistake_01_the_advice_is_given_once(source: str):
    """By the exception or its hint, and not by a notice again."""
    got = run(source)
    said = f"{got.failure.message} {got.failure.hint}"
    assert said.count("Write: ") == 1
    assert got.notices == ()


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        ("rows[0]", "rows was not awaited. Write: (await rows)[0]"),
        ("rows.name", "rows was not awaited. Write: (await rows).name"),
        ("len(rows)", "It was not awaited. Write: results = await asyncio.gather(...)"),
        (
            "for row in rows:\n    print(row)",
            "What asyncio.gather gives is awaited before it is gone through: results = await asyncio.gather(...)",
        ),
    ],
)
def test_mistake_01_what_gather_gives_is_no_list_yet(code: str, hint: str):
    """It is to be awaited; the hint has the agent's own name for it."""
    got = run(f"import asyncio\nrows = asyncio.gather(contacts.find('A'), contacts.find('B'))\n{code}")
    assert got.failure.hint == hint


def test_mistake_01_a_call_on_the_last_line_is_awaited_for_them():
    """And that is said."""
    got = run("contacts.find('Ada')")
    assert (got.value, got.notices) == (
        "Ada",
        ("contacts.find(...) on line 1 was awaited for you. Write: await contacts.find('Ada')",),
    )


# 3. The last line is an assignment


def test_mistake_03_the_value_of_a_last_assignment_is_the_cells_value():
    """Marked as such."""
    got = run("report = await lookup('r')")
    assert (got.value, got.notices) == ("r", ("The cell ends with an assignment; its value is that of `report`.",))


# 7. Names from an earlier session


def test_mistake_07_a_name_that_was_lost_is_explained_by_what_the_session_was_told():
    """The host knows that the session is new or was put back; the guest says it where it hurts."""
    notice = "The session was put back to before cell 3: names that it defined are gone."
    with session() as guest:
        failure = guest.run("rows[0]", notice=notice).failure
        assert (failure.type, failure.message) == ("NameError", "name 'rows' is not defined")
        assert failure.hint == notice
        assert guest.run("1 / 0", notice=notice).failure.hint is None


# 8. Output written around print


@pytest.mark.parametrize(
    "source",
    [
        "import os\nos.write(1, b'text\\n')",
        "import sys\nsys.__stdout__.write('text\\n')",
        "import sys\nsys.stdout.buffer.write(b'text\\n')",
        "import sys, os\nos.write(sys.__stdout__.fileno(), 'text\\n'.encode())",
    ],
)
def test_mistake_08_output_is_captured_whichever_way_it_is_written(source):
    """Like print."""
    got = run(source)
    assert (got.stdout, got.failure) == ("text\n", None)


# 9. Output before the failure, line numbers, source lines


def test_mistake_09_output_is_kept_and_lines_are_the_agents_own():
    """No preamble is counted, and the source line is shown."""
    got = run("print('before')\n\nvalue = 1\nvalue.missing")
    assert got.stdout == "before\n"
    assert (got.failure.line, got.failure.column) == (4, 1)
    assert got.failure.traceback == dedent("""\
        Traceback (most recent call last):
          File "<cell>", line 4, in <module>
            value.missing
        AttributeError: 'int' object has no attribute 'missing'
        """)


# 10. Results too large


def test_mistake_10_a_result_that_is_too_large_is_shortened_with_a_handle():
    """Valid, typed, counted; never cut text."""
    with session(codec=CodecLimits(value_bytes=10_000)) as guest:
        got = guest.run("[{'n': n, 'text': 'x' * 20} for n in range(1000)]")
        assert (got.value.type, got.value.length, got.value.shown) == ("list", 1000, len(got.value.head))
        assert got.value.head[0] == {"n": 0, "text": "x" * 20}
        assert got.value.handle == f"_[{got.value.shown}:{2 * got.value.shown}]"
        assert got.notices[0].startswith(
            f"The cell's value is shortened to {got.value.shown} of 1,000 elements, because it has "
        )
        assert got.notices[0].endswith(f"The whole value is in the session; read on with `{got.value.handle}`.")
        assert guest.run(got.value.handle).value[0]["n"] == got.value.shown


# 11. asyncio.run and its relatives


@pytest.mark.parametrize(
    "end",
    [
        "asyncio.run(main())",
        "asyncio.get_event_loop().run_until_complete(main())",
        "loop = asyncio.new_event_loop()\nloop.run_until_complete(main())",
        "if __name__ == '__main__':\n    answer = asyncio.run(main())\nanswer",
        "with asyncio.Runner() as runner:\n    answer = runner.run(main())\nanswer",
    ],
)
def test_mistake_11_asyncio_run_works_at_top_level_with_calls_inside(end):
    """So do loop.run_until_complete and the main guard."""
    got = run(cell("async def main():\n    return await asyncio.gather(lookup(1), contacts.find('x'))\n") + end)
    assert (got.value, got.failure, got.notices) == ([1, "x"], None, ())


# 13. What stands around the code


@pytest.mark.parametrize(
    "source",
    [
        "```python\nx = 6\nx * 7\n```",
        "    x = 6\n    x * 7",
        ">>> x = 6\n>>> x * 7",
        "x = 6\nx * 7\n>>> ",
        "\tx = 6\n\tx * 7",
        "x = 6\r\nx * 7\r\n",
        "\ufeffx = 6\nx * 7",
        "```\n\tx = 6\r\n\tx * 7\r\n```\r\n",
    ],
)
def test_mistake_13_fences_indentation_prompts_tabs_crlf_and_a_bom_are_accepted(source):
    """Without a word."""
    got = run(source)
    assert (got.value, got.failure, got.notices) == (42, None, ())


# 15. One call after another


TEN = "`asyncio.gather` would have taken one round."


@pytest.mark.parametrize(
    ("source", "line", "count"),
    [
        ("found = []\nfor n in range(10):\n    found.append(await lookup(n))", 2, 10),
        ("[await lookup(n) for n in range(10)]", 1, 10),
        ("found = {n: await lookup(n) for n in range(10)}", 1, 10),
        ("for n in range(10):\n    answer = await lookup(n)\n    if answer:\n        print(answer)", 1, 10),
        ("for n in range(10):\n    contacts.find.blocking(str(n))", 1, 10),
        ("async def one(n):\n    return await lookup(n)\nfor n in range(10):\n    await one(n)", 3, 10),
        ("async def all_of():\n    for n in range(10):\n        await lookup(n)\nawait all_of()", 2, 10),
        ("\n".join(f"v{n} = await lookup({n})" for n in range(6)) + "\nNone", 1, 6),
        ("if True:\n" + "\n".join(f"    await lookup({n})" for n in range(6)), 2, 6),
        ("total = 0\nfor n in range(10):\n    total += await lookup(n)", 2, 10),
    ],
)
def test_mistake_15_calls_one_after_another_that_are_independent_are_counted(source, line, count):
    """They work; one sentence says what a round would have saved."""
    got = run(source)
    assert got.failure is None
    assert [notice for notice in got.notices if "one round" in notice] == [
        f"Line {line}: {count} calls ran one after another; `asyncio.gather` would have taken one round."
    ]


@pytest.mark.parametrize(
    "source",
    [
        "x = 1\nfor n in range(10):\n    x = await lookup(x)",
        "for n in range(10):\n    if await lookup(n) == 8:\n        break",
        "async def find():\n    for n in range(10):\n        if await lookup(n) == 8:\n            return n\nawait find()",
        "x = 1\nwhile x < 10:\n    x = await lookup(x + 1)",
        "a = await lookup(1)\nb = await lookup(a)\nc = await lookup(b)\nd = await lookup(c)\ne = await lookup(d)\nNone",
        "import asyncio\nawait asyncio.gather(*[lookup(n) for n in range(10)])",
        "for n in range(4):\n    await lookup(n)",
        "import asyncio\nfor n in range(10):\n    await asyncio.gather(lookup(n), lookup(n))",
        "seen = []\nfor n in range(10):\n    seen.append(await lookup(len(seen)))",
        "seen = [0]\nfor n in range(10):\n    if sum(seen) < 100:\n        seen.append(await lookup(n))",
        "import asyncio\nfor n in range(10):\n    await lookup(n)\n    await asyncio.sleep(1)",
    ],
)
def test_mistake_15_calls_that_need_each_other_are_not_blamed(source):
    """A hint that is wrong costs more than none."""
    got = run(source)
    assert got.failure is None
    assert [notice for notice in got.notices if "one round" in notice] == []
