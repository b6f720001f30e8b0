"""Values on their way out: whole, shortened, or as their repr."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guest_stdlib.channel import Codec, CodecLimits, Done, End, TooLarge
from guest_stdlib.channel.values import Opaque, Record
from guest_stdlib.results import Shortened, notice, shorten
from tests.runtime_session import run, session

SMALL = CodecLimits(value_bytes=20_000, items=2000, depth=20)


def test_a_list_that_is_too_large_is_shortened():
    """Type, counts, a valid beginning, and the expression that reads on."""
    with session(codec=SMALL) as guest:
        got = guest.run("list(range(5000))")
        assert got.failure is None
        assert isinstance(got.value, Record)
        assert got.value.type_name == "Shortened"
        assert dict(got.value.fields) == {
            "type": "list",
            "length": 5000,
            "shown": 100,
            "head": list(range(100)),
            "handle": "_[100:200]",
        }
        assert " ".join(got.notices) == (
            "The cell's value is shortened to 100 of 5,000 elements, because it brings what crosses at once to more than 2,000 "
            "items. The whole value is in the session; read on with `_[100:200]`."
        )
        assert guest.run("_[100:200]").value == list(range(100, 200))


def test_the_handle_of_an_assignment_is_its_name():
    """`_` works too, but the name is the agent's own."""
    with session(codec=SMALL) as guest:
        got = guest.run("rows = ['x' * 100] * 1000")
        assert got.value.handle == "rows[100:200]"
        assert len(got.value.head) == 97 or got.value.shown == len(got.value.head)
        assert guest.run("len(rows), len(_)").value == (1000, 1000)


@pytest.mark.parametrize(
    ("source", "type_", "length", "handle"),
    [
        ("'a' * 100_000", "str", 100_000, "_[10000:20000]"),
        ("b'a' * 100_000", "bytes", 100_000, "_[10000:20000]"),
        ("tuple(range(9000))", "tuple", 9000, "_[100:200]"),
        ("set(range(9000))", "set", 9000, "list(_)[100:200]"),
        ("{n: n for n in range(9000)}", "dict", 9000, "list(_.items())[100:200]"),
        ("10 ** 100_000", "int", 332_193, "hex(_)[:1000]"),
    ],
)
def test_each_type_is_shortened_to_itself(source, type_, length, handle):
    """The beginning is of the value's own type, and the handle is valid code."""
    with session(codec=SMALL) as guest:
        value = guest.run(source).value
        assert (value.type, value.length, value.handle) == (type_, length, handle)
        assert value.head is None or type(value.head).__name__ == type_
        assert guest.run(value.handle.replace("_", "_")).failure is None


def test_a_part_that_is_too_large_is_shortened_in_its_place():
    """With a handle of its own."""
    with session(codec=SMALL) as guest:
        got = guest.run("{'small': 1, 'large': 'x' * 50_000}")
        assert got.value["small"] == 1
        assert got.value["large"].handle.startswith("_['large'][")
        assert got.notices[0].startswith(
            'Parts of the cell\'s value are shortened, because `_["large"]` has 50,000 bytes'
        )
        assert guest.run(got.value["large"].handle).value.startswith("x")


def test_a_value_that_is_too_deep_is_shortened_at_the_depth():
    """What is below has a handle."""
    with session(codec=SMALL) as guest:
        got = guest.run("deep = []\nfor n in range(50):\n    deep = [deep, n]\ndeep")
        assert got.failure is None
        part, steps = got.value, 0
        while isinstance(part, list):
            part, steps = part[0], steps + 1
        assert part.handle == "_" + "[0]" * steps + "[0:100]"


@pytest.mark.parametrize(
    ("source", "type_name", "notice_"),
    [
        (
            "(n for n in range(3))",
            "generator",
            "The cell's value is a generator, which stays in the session as `_`; its repr was sent.",
        ),
        (
            "import math\nmath",
            "module",
            "The cell's value is a module, which stays in the session as `_`; its repr was sent.",
        ),
        (
            "print",
            "builtin_function_or_method",
            "The cell's value is a builtin_function_or_method, which stays in the session as `_`; its repr was sent.",
        ),
        ("object()", "object", "The cell's value is an object, which stays in the session as `_`; its repr was sent."),
        (
            "x = []\nx.append(x)\nx",
            "list",
            "The cell's value was sent as its repr, because it contains itself. It is bound to `_`.",
        ),
        (
            "{'a': [bytearray(b'x')]}",
            "dict",
            'The cell\'s value was sent as its repr, because `_["a"][0]` is a bytearray, which is not copied; send bytes(...) of it. It is bound to `_`.',
        ),
    ],
)
def test_a_value_that_cannot_cross_goes_as_its_repr(source, type_name, notice_):
    """Named, and said."""
    with session() as guest:
        got = guest.run(source)
        assert isinstance(got.value, Opaque)
        assert (got.value.type_name, got.notices) == (type_name, (notice_,))
        assert guest.run("_ is not None").value is True


def test_a_value_whose_repr_fails_still_gives_an_outcome():
    """The cell is done, whatever its value does."""
    got = run("class Odd:\n    def __repr__(self):\n        raise RuntimeError('no')\nOdd()")
    assert got.failure is None
    assert got.value.type_name == "Odd"


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=300) | st.binary(max_size=300),
    lambda inner: (
        st.lists(inner, max_size=30)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=10), inner, max_size=20)
        | st.frozensets(st.integers(), max_size=20)
    ),
    max_leaves=60,
)


@settings(max_examples=80, deadline=None)
@given(_VALUES)
def test_what_is_shortened_always_fits_and_its_handles_are_right(value):
    """Over random values and small limits; each handle reads the part that follows."""
    limits = CodecLimits(value_bytes=2000, items=1000, depth=8)
    codec = Codec(limits, end=End.GUEST)
    for short in shorten(value, "value", size=limits.value_bytes, items=limits.items, depth=limits.depth):
        try:
            codec.encode([Done(cell=1, value=short, notices=(notice(short, "it is too large"),))])
        except TooLarge:
            continue
        break
    else:
        pytest.fail("no form of it fits")
    for part in _shortened(short):
        rest = eval(part.handle, {"value": value})
        if part.type in ("list", "tuple", "str", "bytes"):
            assert rest == eval(part.handle.rpartition("[")[0], {"value": value})[part.shown :][: len(rest)]
            assert rest or part.shown == part.length


def _shortened(value):
    if isinstance(value, Shortened):
        yield value
        value = value.head
    if isinstance(value, list | tuple):
        for each in value:
            yield from _shortened(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from _shortened(each)
