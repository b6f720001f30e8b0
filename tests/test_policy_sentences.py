"""What a rejected cell says: where, what, and what to write instead."""

from __future__ import annotations

import ast
import sys

import pytest

from guest_stdlib.policy import restricted
from guest_stdlib.policy.violations import PolicyRefusal, PolicyViolation, Violation
from tests.policy_session import Session, outcome, run_openly


def _rejected(source: str, scope: tuple[str, ...] = ()) -> PolicyViolation:
    with pytest.raises(PolicyViolation) as caught:
        restricted.compile_cell(ast.parse(source), source, "<cell 3>", scope=scope)
    return caught.value


def test_a_violation_says_where_what_and_what_to_write_instead() -> None:
    """One sentence each for the place, the rule and the remedy; as an exception it is placed like a SyntaxError."""
    error = _rejected("x = 1\ny = 2\nz = x.__class__\n")
    assert str(error) == error.msg
    assert error.msg == (
        'Line 3, column 7: "__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'
    )
    assert (error.filename, error.lineno, error.offset, error.text) == ("<cell 3>", 3, 7, "z = x.__class__\n")
    assert error.violations == (
        Violation(
            3, 7, '"__class__" starts with an underscore, which policy "restricted" does not allow.', "Write type(x)."
        ),
    )
    assert error.failure_kind == PolicyRefusal.failure_kind == "policy"


def test_all_violations_of_a_cell_are_reported_at_once_in_the_order_of_the_source() -> None:
    """A model that reads them can put all of them right in one go."""
    error = _rejected("def f(_a):\n    return open(_a).read()\nimport os\nf.__globals__\nf'{f.__code__}'")
    assert [(violation.line, violation.column, violation.message.split('"')[1]) for violation in error.violations] == [
        (1, 7, "_a"),
        (2, 12, "open"),
        (2, 17, "_a"),
        (3, 8, "os"),
        (4, 3, "__globals__"),
        (5, 6, "__code__"),
    ]
    assert str(error).split("\n") == [str(violation) for violation in error.violations]
    assert error.msg == str(error.violations[0])


def test_a_cell_that_breaks_a_rule_on_each_line_is_not_answered_with_a_book() -> None:
    """Twenty sentences, then how many more."""
    lines = str(_rejected("x.__a__\n" * 50)).split("\n")
    assert (len(lines), lines[-1]) == (21, "And 30 more like these.")


@pytest.mark.parametrize(
    ("source", "column"),
    [
        ("größe = 'ä'; größe.__class__", 20),
        ("x = '😀'; x.__class__", 12),
        ("x = [1,\n     2].__class__", 9),
        ("def  __getattribute__(self): pass", 6),
        ("import math,  os", 15),
        ("from math import pi,  sin as _sin", 30),
        ("try: pass\nexcept ValueError  as  _e: pass", 24),
        ("match 1:\n    case {'a': 1, **_rest}: pass", 21),
        ("f = lambda a,  _b: 1", 16),
        ("global  _x", 9),
    ],
)
def test_the_column_counts_characters_to_the_word_itself(source: str, column: int) -> None:
    """Not bytes, and not the beginning of the statement."""
    assert _rejected(source).offset == column


@pytest.mark.parametrize(
    ("source", "instead"),
    [
        ("_x = 1", 'Write "x" instead.'),
        ("_list = 1", "Write a name that begins with a letter."),
        ("__ = 1", 'Write "_" instead.'),
        ("class A:\n    def __reduce__(self): pass", "Define __copy__ or __deepcopy__."),
        ("class A:\n    def __setattr__(self, n, v): pass", "Define a property with a setter, or a method."),
        ("def __init__(self): pass", "Define it in a class, by def or a plain assignment."),
        ("x.__dict__", "Read the attributes by name, or use dataclasses.asdict(record)."),
        ("x.__len__()", "Write len(x)."),
        ("x.__enter__()", "Write a with statement."),
        ("f.__name__ = 'g'", "Write @functools.wraps(function) on a wrapper."),
        ("e.__traceback__", "Read the type, the message and the args; traceback.format_exception(error) gives its text."),
        ("g.gi_frame", "Leave it out; for an error, read its type, its message and its args."),
        ("open('x')", "There are no files here: use the capabilities in scope, or io.StringIO for text in memory."),
        ("eval('1')", "Write the expression itself; to read data from text, json.loads(text)."),
        ("vars(x)", "Read the attributes by name, or use dataclasses.asdict(record)."),
        ("import os", "For paths as text import pathlib.PurePosixPath; for files use the capabilities in scope."),
        ("import requests", "There is no network here: use the capabilities in scope."),
        ("import numpy as np", "Use lists with math, statistics and itertools."),
        ("import threading", "There are no threads here: write async functions and asyncio.gather."),
        ("import pickle", "Use json.dumps and json.loads."),
        ("import urllib", "Write import urllib.parse."),
        ("import urllib.request", "There is no network here: use the capabilities in scope."),
        ("import xml.etree", "Write import xml.etree.ElementTree."),
        ("import statistic", "Did you mean statistics?"),
        ("import mathh", "Did you mean math or cmath?"),
        ("from json import JSONEncode, decoder", "json offers JSONDecodeError, JSONDecoder, JSONEncoder, dump, dumps, load, loads."),
        ("from pathlib import Path", "There are no files here: for paths as text use pathlib.PurePosixPath."),
        ("from functools import singledispatch", "Write a match statement over the types."),
        ("import re\nre.enum", "Write import enum."),
        ("import typing\ntyping.sys", "print writes to the output; the cell ends at its last line, or where it raises."),
        ("from math import *", "Write from math import and the names that you need."),
        ("from . import x", "Import a module by its full name."),
        ("class A(metaclass=M): pass", "Derive from abc.ABC, enum.Enum or typing.Protocol, or write a class decorator."),
        ("class A(ExceptionGroup): pass", "Raise ExceptionGroup(message, errors) itself."),
        ("class A:\n    __slots__ = names", 'Write __slots__ = ("a", "b").'),
        ("type('A', (), {})", "Write a class statement."),
    ],
)  # fmt: skip
def test_each_rule_says_what_to_write_instead(source: str, instead: str) -> None:
    """The remedy is code to write, or the place to look for it."""
    assert _rejected(source).violations[0].instead == instead


def test_an_unknown_module_is_answered_with_all_that_can_be_imported() -> None:
    """Where no name is near, the list is."""
    error = _rejected("import zzzzqqqq")
    assert error.violations[0].instead.startswith("These can be imported: __future__, abc, array, asyncio, ")


def test_a_capability_is_not_imported() -> None:
    """A model that imports what is in scope is told so."""
    error = _rejected("from contacts import find", scope=("contacts",))
    assert error.violations[0].instead == '"contacts" is already in scope: use it without importing it.'


def test_a_name_in_scope_is_no_builtin() -> None:
    """A capability called `input`, or a function `open` of an earlier cell, may be used."""
    source = "open(input, type('A', (), {}))"
    restricted.compile_cell(ast.parse(source), source, "<cell>", scope={"open": 1, "input": 2, "type": 3})
    own = "def help(vars):\n    return vars\nhelp(1)"
    restricted.compile_cell(ast.parse(own), own, "<cell>")


def test_an_import_that_the_module_does_not_have_is_an_import_error() -> None:
    """A misspelt member is the script's mistake, in CPython's words, not the policy's."""
    assert outcome(Session().run, "from math import pie") == (ImportError, "cannot import name 'pie' from 'math'")
    said = "module 'math' has no attribute 'pie'"
    assert outcome(Session().run, "import math\nmath.pie") == (AttributeError, said)


def test_what_python_itself_refuses_is_a_plain_syntax_error() -> None:
    """The policy does not stand in for the compiler."""
    for source in ("def f():\n    nonlocal x", "match 1:\n    case x: pass\n    case int(y): pass"):
        found = outcome(Session().run, source)
        assert found == outcome(run_openly, source)
        assert found[0] is SyntaxError  # type: ignore[index]


def test_code_as_deep_as_the_parser_takes_it_is_checked() -> None:
    """A long chain of operators is no error, and what is at its end is found."""
    source = " + ".join(["1"] * 1500)
    limit = sys.getrecursionlimit()
    restricted.compile_cell(ast.parse(source), source, "<cell>")
    assert _rejected(source + " + x.__class__").offset == len(source) + 6
    assert sys.getrecursionlimit() == limit


def test_code_that_is_nested_too_deeply_to_be_checked_is_rejected() -> None:
    """What cannot be checked is not run."""
    node: ast.expr = ast.Constant(1)
    for _ in range(30_000):
        node = ast.UnaryOp(ast.USub(), node)
    tree = ast.fix_missing_locations(ast.Module([ast.Expr(ast.Constant(1))], []))
    tree.body[0].value = node  # type: ignore[attr-defined]
    with pytest.raises(PolicyViolation) as caught:
        restricted.compile_cell(tree, "1", "<cell>")
    assert caught.value.violations[0][2:] == (
        "The code is nested too deeply to be checked.",
        "Write it in smaller pieces.",
    )


def test_syntax_that_nobody_has_judged_is_refused_by_its_name() -> None:
    """A kind of node that a later Python brings is refused, not passed through."""

    class Novelty(ast.expr):
        pass

    tree = ast.parse("x = 1")
    tree.body[0].value = ast.copy_location(Novelty(), tree.body[0].value)  # type: ignore[attr-defined]
    with pytest.raises(PolicyViolation) as caught:
        restricted.compile_cell(tree, "x = 1", "<cell>")
    assert (
        str(caught.value)
        == 'Line 1, column 5: Novelty is not part of the language of policy "restricted". Write it in another way.'
    )
