"""Objects of an image are made lasting where they are, and nothing else in memory is touched."""

from __future__ import annotations

import struct

import pytest

from guest_stdlib.settling import mark
from sandbox.image import LinkError
from sandbox.image.lasting import PAGE, flat, make_lasting, segments

LOWEST = 0x1000
TYPE, OBJECT, OTHER, CENSUS = 0x2000, 0x2010, 0x2020, 0x3000
IMMORTAL = 5 << 28


def memory(*objects: tuple[int, int, int], listed: list[int] | None = None) -> bytearray:
    """Memory with objects (address, references, type) and a census of them."""
    content = bytearray(0x4000)
    for address, references, kind in objects:
        struct.pack_into("<II", content, address, references, kind)
    addresses = [address for address, _, _ in objects] if listed is None else listed
    census = mark() + struct.pack(f"<I{len(addresses)}I", len(addresses), *addresses) + mark()
    content[CENSUS : CENSUS + len(census)] = census
    return content


def references(content: bytearray, address: int) -> int:
    return int.from_bytes(content[address : address + 4], "little")


def test_references_to_listed_objects_are_no_longer_counted() -> None:
    """The count is set so high that CPython leaves it alone."""
    content = memory((TYPE, 7, TYPE), (OBJECT, 1, TYPE))
    assert make_lasting(content, LOWEST) == 2
    assert references(content, TYPE) == references(content, OBJECT) == IMMORTAL


def test_the_census_is_erased() -> None:
    """It would only make the image larger."""
    content = memory((TYPE, 7, TYPE))
    make_lasting(content, LOWEST)
    assert mark() not in content
    assert not any(content[CENSUS:])


@pytest.mark.parametrize("word", [0, 0x2040, IMMORTAL, 7 << 28])
def test_what_died_or_lasts_already_is_left_alone(word: int) -> None:
    """The first word of a free block is zero or the address of another one."""
    content = memory((TYPE, 7, TYPE), (OBJECT, word, TYPE))
    assert make_lasting(content, LOWEST) == 1
    assert references(content, OBJECT) == word


def test_what_has_no_listed_type_is_left_alone() -> None:
    """The block was given to something that is no object."""
    content = memory((TYPE, 7, TYPE), (OBJECT, 3, OTHER))
    assert make_lasting(content, LOWEST) == 1
    assert references(content, OBJECT) == 3


def test_memory_without_a_census_stays_as_it_is() -> None:
    """So does memory in which only one of the two marks is left."""
    for content in (bytearray(64), bytearray(mark()), bytearray(mark() + struct.pack("<I", 1) + bytes(8))):
        before = bytes(content)
        assert make_lasting(content, LOWEST) == 0
        assert content == before


def test_a_remnant_of_the_mark_is_passed_over() -> None:
    """A freed copy of it lies in memory, before the census."""
    content = memory((TYPE, 7, TYPE))
    content[0x100 : 0x100 + len(mark())] = mark()
    assert make_lasting(content, LOWEST) == 1


def test_a_census_of_what_is_not_there_is_refused() -> None:
    """It was damaged, or is of another memory."""
    with pytest.raises(LinkError, match="has an object at 0xfffff000, where there is no memory"):
        make_lasting(memory(listed=[0xFFFFF000]), LOWEST)


def test_parts_of_memory_are_laid_out_and_cut_again() -> None:
    """Pages that hold nothing are not stored."""
    parts = [(10, b"abc"), (PAGE * 3, b"x" * PAGE), (PAGE * 4, b"y"), (12, b"C")]
    content = flat(parts)
    assert content[10:13] == b"abC"
    assert list(segments(content)) == [
        (0, bytes(content[:PAGE])),
        (PAGE * 3, b"x" * PAGE + b"y"),
    ]
    assert flat(segments(content)) == content


def test_parts_that_are_too_far_are_refused() -> None:
    """No memory is that large; laying it out would use up ours."""
    for address in (-1, 1 << 31):
        with pytest.raises(LinkError, match="which is too far"):
            flat([(address, b"x")])
