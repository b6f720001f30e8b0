"""What models put around code is taken off, and what is Python already is left alone."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guest_stdlib.cleaning import clean, read
from tests.runtime_session import run

FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT


def cleaned(source: str) -> str:
    return read(source, "<cell>", FLAGS).cleaned.text


@pytest.mark.parametrize(
    "source",
    [
        "x = '''\n```\n'''",
        "x = 1\n...",
        "~~~5",
        "if True:\n\tx = 1\n\ty = 2",
        "x = '>>> 1'",
        "def f():\n    return 1\n\n\nf()",
        "# ```\nx = 1",
        "x = 1  # >>> \n",
    ],
)
def test_python_is_left_alone(source):
    """Code that parses as it stands is not changed, whatever it looks like."""
    assert cleaned(source) == source


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("```python\nx = 1\n```", "\nx = 1\n"),
        ("\n\n```py\nx = 1\n```\n\n", "\n\n\nx = 1\n\n\n"),
        ("```\nx = 1", "\nx = 1"),
        ("x = 1\n```", "x = 1\n"),
        ("~~~python\nx = 1\n~~~", "\nx = 1\n"),
        ("  ```python\n  x = 1\n  ```", "\nx = 1\n"),
        ("```print(1)```", "print(1)"),
        ('```python title="a.py"\nx = 1\n```', "\nx = 1\n"),
        ("    x = 1\n    y = 2", "x = 1\ny = 2"),
        ("\tx = 1\n\ty = 2", "x = 1\ny = 2"),
        ("    if x:\n        y\n# comment\n    z", "if x:\n    y\n# comment\nz"),
        ("def f():\n        return 1\n    f()", "def f():\n    return 1\nf()"),
        ("if x:\n\ty = 1\n    z = 2", "if x:\n    y = 1\n    z = 2"),
        ("if x:\n\ty = 1\n        z = 2", "if x:\n        y = 1\n        z = 2"),
        (">>> x = 1\n>>> x", "x = 1\nx"),
        (">>> def f():\n...     return 1\n...\n>>> f()", "def f():\n    return 1\n\nf()"),
        ("In [1]: x = 1\n   ...: y = 2", "x = 1\ny = 2"),
        ("x = 1\n>>> ", "x = 1\n"),
        (">>> x = 1\ny = 2", "x = 1\ny = 2"),
        ("\ufeffx = 1\r\ny = 2\r\n", "x = 1\ny = 2\n"),
        ("x = 1\ry = 2", "x = 1\ny = 2"),
        ("```python\n>>> x = 1\n```", "\nx = 1\n"),
    ],
)
def test_what_stands_around_code_is_taken_off(source, text):
    """Fences, indentation, prompts, tabs, line ends and a byte order mark."""
    found = read(source, "<cell>", FLAGS)
    assert (found.cleaned.text, found.error) == (text, None)
    assert text.count("\n") == source.replace("\r\n", "\n").replace("\r", "\n").count("\n")


def test_printed_output_in_a_pasted_session_is_not_run_and_that_is_said():
    """Only what follows a prompt is code; leaving out the rest is not silent."""
    got = run(">>> x = 2\n>>> print(x)\n2\n>>> x\n2")
    assert (got.value, got.stdout) == (2, "2\n")
    assert got.notices == ("Lines 3, 5 look like printed output, not code, and were not run.",)


def test_lines_and_columns_stay_the_agents_own():
    """A failure is located in what the agent sent, not in what was made of it."""
    failure = run("```python\n    x = 1\n    y = x / 0\n```").failure
    assert (failure.line, failure.column) == (3, 9)
    failure = run(">>> x = (1,\n... 2 3)").failure
    assert (failure.type, failure.line, failure.column) == ("SyntaxError", 2, 5)


def test_a_real_mistake_inside_a_fence_is_reported_as_itself():
    """The fence is not blamed for what is wrong between."""
    failure = run("```python\nx = 1\ny = = 2\n```").failure
    assert failure.message == "invalid syntax (line 3, column 5)"


def test_a_mistake_of_indentation_that_no_reading_mends_is_reported():
    """The error is that of the code as it was sent."""
    failure = run("if True:\nx = 1").failure
    assert failure.message == "expected an indented block after 'if' statement on line 1 (line 2, column 1)"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x = '\ud800'", "half a surrogate pair (U+D800) is no character; write it as an escape (line 1, column 6)"),
        ("(" * 500 + ")" * 500, "too many nested parentheses (line 1, column 201)"),
        ("x = 1\0", "source code string cannot contain null bytes"),
    ],
)
def test_text_that_the_parser_cannot_take_is_a_syntax_error(source, message):
    """What is no source at all fails like any other mistake."""
    failure = run(source).failure
    assert (failure.kind, failure.type, failure.message) == ("script", "SyntaxError", message)


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet=" \t\n>.`~x=1:#'\"()\r\\\ufeff", max_size=60))
def test_cleaning_never_fails_and_keeps_the_number_of_lines(source):
    """Any text has a first reading, with as many lines as it had."""
    first = next(clean(source))
    lines = source.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").count("\n")
    assert first.text.count("\n") == lines
    read(source, "<cell>", FLAGS)
