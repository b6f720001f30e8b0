"""Before an interpreter's memory becomes an image: see to it that guests write to few of its pages.

Guests share the pages of the image; a page that one writes to is copied for it. That copying is most of the time in
which a guest starts, and all of the memory that an idle one takes. Two things make an interpreter write everywhere:

- Each reference to an object is counted in the object. CPython does not count references to objects that are
  *immortal*, and in an image every object might as well be: none of them is given back when it dies. But Python code
  cannot make an object immortal. So `census` lists where they are, and the linker sets their counts in the stored
  memory (`sandbox.image.lasting`).
- Building leaves gaps all over the heap, and the allocator fills those first. `fill_gaps` fills the small ones before,
  with bytes that nobody will ever touch, so that what a guest allocates lies together.

Both know CPython as componentize-py builds it: for 32 bits, its objects in dlmalloc's heap.
"""

from __future__ import annotations

import array
import hashlib
import sys
from gc import get_objects, get_referents  # barriers take them from everybody else
from types import CodeType
from typing import Final

__all__ = ["census", "fill_gaps", "mark"]

OVERHEAD: Final = sys.getsizeof(b"")
LARGEST: Final = 1 << 20  # bytes
LARGE: Final = 1 << 16  # gaps of this size are as good as the end of the heap
SMALLEST: Final = 24  # of the sizes that bytes objects can take; smaller ones are for bare objects
STEP: Final = 16  # what the allocator rounds to
SIZES: Final = (*(LARGEST >> shift for shift in range(10)), *range(1032, SMALLEST - 1, -STEP), 0)
ROOM: Final = 1 << 18  # objects that `fill_gaps` can hold on to


def mark() -> bytes:
    """What stands before and after a census in memory. Computed, so that it stands nowhere else."""
    return hashlib.sha256(b"branchpoint: the census of what lasts").digest()


def census() -> bytes:
    """The addresses of all objects that will be there as long as the interpreter: `mark`, count, addresses, `mark`.

    The count and each address have four bytes, the lowest first. Listed is what can be reached from the modules and
    types; what is only on the stack now (an import that is under way) will be gone.
    """
    addresses, seen = array.array("I"), set[int]()
    waiting: list[object] = [sys.modules, object]
    while waiting:
        found = waiting.pop()
        address = id(found)
        if address in seen:
            continue
        seen.add(address)
        addresses.append(address)
        waiting += get_referents(found)
        if isinstance(found, type):
            waiting += type.__subclasses__(found)
            waiting += get_referents(vars(found))  # the dict behind the proxy: of a static type nothing else tells
        elif isinstance(found, CodeType):  # these are not traversed by the collector
            waiting += found.co_consts, found.co_names, found.co_linetable, found.co_exceptiontable
            waiting += found.co_filename, found.co_name, found.co_qualname
            waiting += *found.co_varnames, *found.co_cellvars, *found.co_freevars
    if sys.byteorder == "big":
        addresses.byteswap()
    return b"".join((mark(), len(addresses).to_bytes(4, "little"), addresses.tobytes(), mark()))


def fill_gaps() -> list[object]:
    """Allocate until there are no gaps left but large ones. Keep what this returns."""
    fillers: list[object] = [None] * ROOM
    count = large = 0
    highest = max(map(id, get_objects()))
    while id(probe := bytes(2 * LARGEST)) < highest:
        fillers[count] = probe
        count += 1
    end = id(probe)  # the end of the heap begins here, once the probe is gone
    del probe
    for size in SIZES:
        while count < ROOM and id(filler := bytes(size - OVERHEAD) if size else object()) < end:
            fillers[count] = filler
            count += 1
        filler = None
        if size >= LARGE:
            large = count
    del fillers[count:], fillers[:large]
    return fillers
