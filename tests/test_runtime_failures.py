"""What the agent reads when its code failed."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.runtime_session import run, session


def test_a_traceback_shows_the_agents_lines_with_carets_as_cpython_does():
    """No frame of ours, none of the library's."""
    failure = run("import json\n\ndef load(text):\n    return json.loads(text)['a']\n\nload('[')").failure
    assert failure.traceback == dedent("""\
        Traceback (most recent call last):
          File "<cell>", line 6, in <module>
            load('[')
            ~~~~^^^^^
          File "<cell>", line 4, in load
            return json.loads(text)['a']
                   ~~~~~~~~~~^^^^^^
        json.decoder.JSONDecodeError: Expecting value: line 1 column 2 (char 1)
        """)
    assert (failure.line, failure.column) == (4, 12)


def test_columns_count_characters():
    """Not bytes of UTF-8."""
    assert (run("x = 'äöü' + 1").failure.column, run("ä = 'ö'; ä + 1").failure.column) == (5, 10)


def test_causes_and_contexts_are_shown_trimmed():
    """Both kinds of chain."""
    failure = run(
        dedent("""
        try:
            try:
                {}["a"]
            except KeyError as error:
                raise ValueError("first") from error
        except ValueError:
            raise TypeError("second")
        """)
    ).failure
    assert failure.type == "TypeError"
    assert failure.traceback.count("Traceback (most recent call last):") == 3
    assert "The above exception was the direct cause of the following exception:" in failure.traceback
    assert "During handling of the above exception, another exception occurred:" in failure.traceback
    assert "guest_stdlib" not in failure.traceback


def test_groups_are_shown_with_their_members():
    """As CPython draws them."""
    failure = run(
        dedent("""
        import asyncio
        async def bad(n):
            raise ValueError(n)
        async with asyncio.TaskGroup() as group:
            for n in range(2):
                group.create_task(bad(n))
        """)
    ).failure
    assert (failure.type, failure.message) == ("ExceptionGroup", "unhandled errors in a TaskGroup (2 sub-exceptions)")
    assert "  +-+---------------- 1 ----------------" in failure.traceback
    assert "    | ValueError: 1" in failure.traceback
    assert "taskgroups.py" not in failure.traceback


def test_a_recursion_is_folded():
    """One line, and how often."""
    failure = run("def down(n):\n    return down(n + 1)\ndown(0)").failure
    assert failure.type == "RecursionError"
    assert failure.traceback.count("return down(n + 1)") == 1
    assert "[Previous line repeated " in failure.traceback


def test_a_recursion_over_two_functions_is_shortened():
    """Both ends are shown, the middle is counted."""
    failure = run("def a(n):\n    return b(n)\ndef b(n):\n    return a(n)\na(0)").failure
    assert failure.traceback.count("File") == 24
    assert " more frames]" in failure.traceback


def test_a_very_long_message_is_shortened_with_a_count():
    """Both in the message and in the traceback."""
    failure = run("raise ValueError('x' * 100_000)").failure
    assert len(failure.message) < 5000
    assert "[96,000 characters left out]" in failure.message
    assert len(failure.traceback) < 15_000


def test_notes_are_in_the_traceback():
    """add_note is how a library explains."""
    failure = run("error = ValueError('x')\nerror.add_note('look here')\nraise error").failure
    assert failure.traceback.endswith("ValueError: x\nlook here\n")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("def __str__(self): raise RuntimeError('no')", "<the exception cannot be shown: its __str__ failed>"),
        ("def __str__(self): return 5", "<the exception cannot be shown: its __str__ failed>"),
        ("__str__ = None", "<the exception cannot be shown: its __str__ failed>"),
    ],
)
def test_an_exception_that_cannot_be_shown_is_recorded_all_the_same(body, message):
    """Recording never fails."""
    failure = run(f"class Odd(Exception):\n    {body}\nraise Odd").failure
    assert (failure.kind, failure.type, failure.message) == ("script", "Odd", message)
    assert failure.line == 3


def test_plain_attributes_of_an_exception_are_its_fields():
    """What an exception of the agent's own carries is data too; what is not plain is left out."""
    failure = run(
        dedent("""
        class Odd(Exception):
            pass
        error = Odd("x")
        error.code, error.options, error._private, error.live = 5, ["a", {"b": None}], 1, object()
        raise error
        """)
    ).failure
    assert failure.fields == {"code": 5, "options": ["a", {"b": None}]}


def test_the_line_is_that_of_this_cell():
    """A function of an earlier cell fails: the line is where this cell called it, the traceback shows both."""
    with session() as guest:
        guest.run("\n\n\ndef late():\n    raise ValueError('x')")
        failure = guest.run("1\nlate()").failure
    assert (failure.line, failure.column) == (2, 1)
    assert 'File "<cell>", line 5, in late' in failure.traceback


def test_a_syntax_error_says_line_and_column():
    """In the message too."""
    failure = run("x = 1\nfor i in range(3)\n    pass").failure
    assert failure.message == "expected ':' (line 2, column 18)"
    assert (failure.line, failure.column) == (2, 18)
    assert "    for i in range(3)\n                     ^\n" in failure.traceback


def test_a_syntax_error_of_another_source_names_it():
    """Code that compiles text: the line is the agent's, the message names the other."""
    failure = run("x = 1\ncompile('a b', 'other', 'exec')").failure
    assert failure.message == "invalid syntax (line 1, column 3 of other)"
    assert failure.line == 2


def test_code_run_from_text_appears_in_the_traceback():
    """exec in the agent's namespace is the agent's own code."""
    failure = run("exec('def f():\\n    return 1 / 0')\nf()").failure
    assert 'File "<string>", line 2, in f' in failure.traceback
    assert failure.line == 2


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("raise MemoryError('no more')", "limit"),
        ("raise KeyboardInterrupt", "script"),
        ("raise GeneratorExit", "script"),
        ("raise BaseException('x')", "script"),
        ("raise BaseExceptionGroup('g', [ValueError(), MemoryError()])", "limit"),
    ],
)
def test_the_kind_says_who_is_to_blame(source, kind):
    """Running out of memory is a limit, everything else that the code raises is its own."""
    assert run(source).failure.kind == kind


def test_the_agents_exceptions_keep_their_tracebacks():
    """Recording looks at an exception and leaves it as it was."""
    with session() as guest:
        guest.run("try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    kept = e\nraise kept")
        assert (
            guest.run(
                "depth, t = 0, kept.__traceback__\nwhile t:\n    depth, t = depth + 1, t.tb_next\ndepth > 1"
            ).value
            is True
        )


def test_output_before_a_failure_is_kept():
    """The failure is not all that there is."""
    got = run("print('one')\nimport sys\nprint('two', file=sys.stderr)\n1 / 0")
    assert (got.stdout, got.stderr, got.failure.type) == ("one\n", "two\n", "ZeroDivisionError")
