"""What a cell is: its value, its names, its source."""

from __future__ import annotations

import linecache
from textwrap import dedent

import pytest

from tests.runtime_session import run, session


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("1 + 1", 2),
        ("x = 3\nx * 2", 6),
        ("", None),
        ("# only a comment", None),
        ("pass", None),
        ("'a text'", "a text"),
        ("if True:\n    5", None),
        ("[x async for x in aiter_()]", None),
        ("await lookup('a')", "a"),
        ("[await lookup(i) for i in range(3)]", [0, 1, 2]),
        ("(lambda: 7)()", 7),
        ("def f(): ...", None),
        ("(y := 4)", 4),
        ("print('x')", None),
        ("1; 2; 3;", 3),
    ],
)
def test_the_value_of_a_cell_is_that_of_its_last_expression(source, value):
    """An expression at the end gives the value, anything else gives None."""
    with session() as guest:
        guest.run("async def aiter_():\n    return\n    yield")
        got = guest.run(source)
    assert got.failure is None
    assert got.value == (value if "aiter_" not in source else [])


def test_the_last_value_is_bound_to_underscore():
    """`_` is the value of the last cell that had one."""
    with session() as guest:
        guest.run("20 + 1")
        guest.run("None")
        guest.run("x = 1\nif x: pass")
        assert guest.run("_ * 2").value == 42


def test_names_live_on_between_cells():
    """What one cell defines, the next one uses: values, functions, imports, classes."""
    with session() as guest:
        guest.run("import math\nclass A:\n    y = 1\ndef f(): return math.pi + A.y + z\nz = 1")
        assert guest.run("f()").value == pytest.approx(5.14159, abs=1e-4)


def test_a_cell_without_await_is_plain_code():
    """Plain code has no coroutine around it that it could see: a generator, a return and locals() behave as at top level."""
    got = run("import sys\nsys._getframe().f_code.co_flags & 0x80, locals() is globals()")
    assert got.value == (0, True)


def test_top_level_async_statements_work():
    """async for, async with, and async comprehensions stand at top level."""
    got = run(
        dedent("""
        import contextlib
        async def numbers():
            for n in range(3):
                yield await lookup(n)
        @contextlib.asynccontextmanager
        async def opened():
            yield await lookup("in")
        seen = []
        async for n in numbers():
            seen.append(n)
        async with opened() as inside:
            seen.append(inside)
        seen + [n async for n in numbers()] + list({n: 1 async for n in numbers()})
        """)
    )
    assert got.value == [0, 1, 2, "in", 0, 1, 2, 0, 1, 2]


def test_the_module_is_main():
    """`__name__` is `__main__`, and the module of that name is the session's."""
    got = run("import sys, __main__\nx = 5\n__name__, __main__.x, sys.modules['__main__'].__dict__ is globals()")
    assert got.value == ("__main__", 5, True)


def test_dataclasses_pickle_and_type_hints_find_the_agents_classes():
    """Classes of a cell belong to `__main__`, where the library looks for them."""
    got = run(
        dedent("""
        from __future__ import annotations
        import pickle, typing
        from dataclasses import dataclass
        @dataclass
        class Point:
            x: int
            near: Point | None = None
        pickle.loads(pickle.dumps(Point(1))) == Point(1), typing.get_type_hints(Point)["near"] == (Point | None)
        """)
    )
    assert got.value == (True, True)


def test_a_future_import_lasts():
    """`from __future__ import annotations` holds for the later cells of the session."""
    with session() as guest:
        assert (
            guest.run("from __future__ import annotations\ndef f(x: Nowhere): ...\nf.__annotations__['x']").value
            == "Nowhere"
        )
        assert guest.run("def g(x: Nowhere): ...\ng.__annotations__['x']").value == "Nowhere"


def test_functions_keep_their_own_source():
    """inspect.getsource and tracebacks show the cell in which a function was written, though cells share a name."""
    with session() as guest:
        guest.run("def first():\n    return 1 / 0  # here")
        guest.run("def second():\n    return first()\n")
        assert guest.run("import inspect\ninspect.getsource(first)").value == "def first():\n    return 1 / 0  # here\n"
        failure = guest.run("second()").failure
    assert failure is not None
    assert failure.traceback == dedent("""\
        Traceback (most recent call last):
          File "<cell 4>", line 1, in <module>
            second()
            ~~~~~~^^
          File "<cell 2>", line 2, in second
            return first()
          File "<cell>", line 2, in first
            return 1 / 0  # here
                   ~~^~~
        ZeroDivisionError: division by zero
        """)


def test_a_cells_name_is_the_file_name_of_its_traceback():
    """A cell that stands for a file is called so."""
    with session() as guest:
        failure = guest.run("1 / 0", name="report.py").failure
        again = guest.run("2 / 0", name="report.py").failure
    assert 'File "report.py", line 1' in failure.traceback
    assert 'File "report.py (cell 2)", line 1' in again.traceback


def test_nothing_of_a_cell_runs_if_it_does_not_compile():
    """A syntax error on the last line keeps the first from running."""
    with session() as guest:
        got = guest.run("print('ran')\nx = 1\nreturn 5")
        assert got.failure.type == "SyntaxError"
        assert got.stdout == ""
        assert guest.run("'x' in globals()").value is False


def test_the_sources_are_forgotten_with_the_guest():
    """A guest leaves nothing in linecache."""
    with session() as guest:
        guest.run("1", name="a name of its own")
    assert "a name of its own" not in linecache.cache


def test_an_assignment_to_a_part_is_not_read_back():
    """The value of `box[k] = v` is v: the box is not asked for it again."""
    got = run(
        dedent("""
        class Box(dict):
            def __getitem__(self, key):
                raise RuntimeError("read")
        box = Box()
        box["k"] = 5
        """)
    )
    assert (got.value, got.failure) == (5, None)


@pytest.mark.parametrize(
    ("source", "value", "target"),
    [
        ("x = 5", 5, "x"),
        ("x = y = 5", 5, "x = y"),
        ("a, *b = [1, 2, 3]", [1, 2, 3], "(a, *b)"),
        ("x: int = 5", 5, "x"),
        ("x = 5\nx += 2", 7, "x"),
        ("x = await lookup(9)", 9, "x"),
        ("d = {}\nd['k'] = 3", 3, "d['k']"),
    ],
)
def test_an_assignment_at_the_end_gives_its_value(source, value, target):
    """The value that a last assignment assigns is the cell's value, and `_`."""
    with session() as guest:
        got = guest.run(source)
        assert (got.value, got.notices) == (
            value,
            (f"The cell ends with an assignment; its value is that of `{target}`.",),
        )
        assert guest.run("_").value == value
        assert guest.run("'__assigned__' in globals()").value is False


def test_an_assignment_of_none_says_nothing():
    """There is no value to speak of."""
    assert run("x = None").notices == ()


@pytest.mark.parametrize(
    ("exit_", "failed"),
    [("import sys\nsys.exit()", None), ("exit()", None), ("quit(0)", None), ("raise SystemExit", None)],
)
def test_leaving_without_a_reason_is_an_end_like_any_other(exit_, failed):
    """sys.exit() ends the cell without an error and without a value."""
    got = run(f"print('before')\nlookup_later = 1\n{exit_}\nprint('after')")
    assert (got.failure, got.value, got.stdout) == (failed, None, "before\n")


def test_leaving_with_a_reason_is_a_failure_that_names_it():
    """sys.exit('...') says why the code ended itself."""
    failure = run("import sys\nsys.exit('no data')").failure
    assert (failure.kind, failure.type, failure.line) == ("script", "SystemExit", 2)
    assert failure.message == "The code ended itself with sys.exit('no data')."


def test_leaving_from_a_task_ends_the_cell():
    """SystemExit in a task leaves everything, as it leaves asyncio.run."""
    got = run(
        dedent("""
        import asyncio, sys
        async def worker():
            sys.exit(3)
        task = asyncio.create_task(worker())
        try:
            await lookup("never")
        finally:
            print("cleaned up")
        print("not reached")
        """),
        answer=_hold,
    )
    assert got.failure.message == "The code ended itself with sys.exit(3)."
    assert got.stdout == "cleaned up\n"


def _hold(_):
    from tests.runtime_session import Hold

    raise Hold
