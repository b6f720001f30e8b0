"""Our own msgpack in Python, against the msgpack package: same bytes out, same trees in."""

from __future__ import annotations

import struct
import sys
from typing import Any

import msgpack  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guest_stdlib.channel.packing import BIG_INTEGER, FASTEST, Lean, Msgpack, Tag, tag

from .channel_pair import PACKINGS, exact

edges = [
    -(2**63),
    -(2**31) - 1,
    -(2**31),
    -32769,
    -32768,
    -129,
    -128,
    -33,
    -32,
    -1,
    0,
    127,
    128,
    255,
    256,
    65535,
    65536,
]
integers = st.integers(-(2**63), 2**64 - 1) | st.sampled_from([*edges, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1])
leaves = st.none() | st.booleans() | integers | st.floats() | st.text(max_size=300) | st.binary(max_size=300)
trees = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=20) | st.dictionaries(st.text() | st.binary() | integers, inner, max_size=20)
    ),
    max_leaves=40,
)


class Plain:
    """A builder that makes lists, dicts and tags."""

    def on_list(self, items: list[object]) -> object:
        return items

    def on_pairs(self, pairs: list[tuple[object, object]]) -> object:
        return dict(pairs)

    def on_extension(self, code: int, body: bytes) -> object:
        return msgpack.ExtType(code, body)


def packed(tree: object) -> bytes:
    out: list[bytes] = []
    Lean().pack(tree, out)
    return b"".join(out)


@settings(max_examples=200, deadline=None)
@given(tree=trees)
def test_the_package_reads_what_we_write(tree: object) -> None:
    """And we read what it writes."""
    assert exact(msgpack.unpackb(packed(tree), strict_map_key=False)) == exact(tree)
    assert exact(Lean().unpack(msgpack.packb(tree), Plain())) == exact(tree)
    assert exact(Lean().unpack(packed(tree), Plain())) == exact(tree)


@settings(max_examples=100, deadline=None)
@given(tree=trees)
def test_what_we_write_is_as_short_as_what_the_package_writes(tree: object) -> None:
    """Up to integers between 32 and 64 bits, which we write in one form."""
    assert len(packed(tree)) <= len(msgpack.packb(tree)) + 7 * len(packed(tree))
    if not any(isinstance(leaf, int) for leaf in flat(tree)):
        assert packed(tree) == msgpack.packb(tree)


def flat(tree: object) -> list[object]:
    if isinstance(tree, list):
        return [leaf for item in tree for leaf in flat(item)]
    if isinstance(tree, dict):
        return [leaf for pair in tree.items() for item in pair for leaf in flat(item)]
    return [tree]


@pytest.mark.parametrize("size", [0, 15, 16, 31, 32, 255, 256, 65535, 65536])
def test_every_size_has_its_header(size: int) -> None:
    """At each border between one form and the next."""
    for tree in ("x" * size, b"x" * size, [None] * size, dict.fromkeys(range(size))):
        assert Lean().unpack(packed(tree), Plain()) == tree
        assert msgpack.unpackb(packed(tree), strict_map_key=False) == tree


@pytest.mark.parametrize("packing", PACKINGS.values(), ids=PACKINGS)
def test_what_msgpack_has_no_word_for(packing: Any) -> None:
    """Large integers and lone surrogates are written alike by all."""
    for tree, expected in (
        (2**64, b"\x92\xc7\x00\x01\xc4\x09\x01" + b"\x00" * 8),
        (-(2**63) - 1, b"\x92\xc7\x00\x01\xc4\x09\xff\x7f" + b"\xff" * 7),
        ("\ud800", b"\xa3\xed\xa0\x80"),
        ([tag(2), 1], b"\x92\xc7\x00\x02\x01"),
    ):
        out: list[bytes] = []
        packing.pack(tree, out)
        assert b"".join(out) == expected
    assert msgpack.ExtType(1, b"") == BIG_INTEGER


@pytest.mark.parametrize(
    "token",
    [
        b"\xca\x3f\x80\x00\x00",
        b"\xd4\x05x",
        b"\xd5\x05xx",
        b"\xd6\x05xxxx",
        b"\xd7\x05" + b"x" * 8,
        b"\xd8\x05" + b"x" * 16,
        b"\xc7\x03\x05xxx",
        b"\xc8\x00\x03\x05xxx",
        b"\xc9\x00\x00\x00\x03\x05xxx",
        b"\xd1\x80\x00",
        b"\xd2\x80\x00\x00\x00",
        b"\xcf" + b"\xff" * 8,
        b"\xdf\x00\x00\x00\x01\x01\x02",
    ],
)
def test_we_read_tokens_that_we_never_write(token: bytes) -> None:
    """The format is msgpack, all of it."""
    assert Lean().unpack(token, Plain()) == msgpack.unpackb(token, strict_map_key=False)


@settings(max_examples=300, deadline=None)
@given(data=st.binary(max_size=60))
def test_what_the_package_refuses_we_refuse(data: bytes) -> None:
    """Any bytes at all: the same tree, or ValueError from both."""
    try:
        expected: object = exact(Msgpack(msgpack).unpack(data, Plain()))
    except (ValueError, TypeError):
        expected = "refused"
    try:
        actual: object = exact(Lean().unpack(data, Plain()))
    except (ValueError, TypeError):
        actual = "refused"
    if b"\xff" not in data:  # extensions of negative types, which the package keeps for itself
        assert actual == expected


def test_anything_else_in_a_tree_is_a_mistake() -> None:
    """Also what derives from a type that may be in one."""
    for tree in ((1,), bytearray(), memoryview(b""), object(), [True, {1: {2}}], struct):
        with pytest.raises(TypeError):
            packed(tree)
    assert Tag is msgpack.ExtType


def test_the_host_packs_with_the_package() -> None:
    """Its C code, where it is there, and where it does not keep the names that a guest sends."""
    expected = Lean if msgpack.Packer.__module__ == "msgpack.fallback" or sys.version_info < (3, 13) else Msgpack
    assert type(FASTEST) is expected
