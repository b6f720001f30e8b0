"""What componentize-py runs once, at build time, before it stores the interpreter's memory as the image.

Files exist only now. So the archive is filled, and all that follows is imported from it: what agents use most (pages of
the image are shared by all guests, pages that an import writes are not), and the packages that were baked in, each of
which must import. Then representative cells are run, so that a fresh guest finds done what would otherwise be done, and
written, in its first cell.

At run time nothing of this is called but `WitWorld.step`.
"""

from __future__ import annotations

import gc
import importlib
from typing import Final

from guest_stdlib.archive import Archive

__all__ = ["WitWorld"]

STDLIB, BINDINGS, RUNTIME = "/python", "/world", "/bundled"  # what componentize-py brings along, where it mounts it
APP, BAKED = "/0", "/1"  # the folders that the build gives it
LEFT_OUT: Final = frozenset(
    {
        *("test", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3"),  # tests, and what cannot work here
        *("site-packages", "config-3.14-wasm32-wasi", "__hello__.py", "__phello__"),  # nothing to import
    }
)
COMMON: Final = """
    abc argparse ast asyncio base64 binascii bisect builtins calendar cmath collections contextlib copy csv
    dataclasses datetime decimal difflib email.message enum errno fractions functools glob hashlib heapq hmac html
    inspect io itertools json keyword linecache logging math numbers operator os pathlib pickle pprint queue random
    re secrets shlex signal statistics string struct sys tempfile textwrap threading time timeit traceback types
    typing unicodedata urllib.parse uuid warnings weakref xml.etree.ElementTree zlib zoneinfo
"""


def fill() -> Archive:
    """An archive of all that there is."""
    archive = Archive()
    archive.add(STDLIB, without=LEFT_OUT)
    for folder in (APP, BINDINGS, RUNTIME):
        archive.add(folder)
    archive.add(BAKED, sources=True)
    return archive


ARCHIVE = fill()
ARCHIVE.install()
for name in COMMON.split():
    importlib.import_module(name)

from guest_stdlib import app, baking, barriers, files, settling, warming  # noqa: E402 - from the archive

baking.import_packages(ARCHIVE.get_data(f"{APP}/baked.json"))
warming.warm()
wit_world = importlib.import_module("wit_world")  # generated from guest.wit


HELD: Final = [b""]  # the last answer: the host reads it before the next step
CONTENTS: Final = bytes.__basicsize__ - 1  # how far into a bytes object its bytes begin; one is for the final NUL


def emit(frame: bytes) -> None:
    """Hand out a frame that needs no answer."""
    wit_world.emit(id(frame) + CONTENTS, len(frame))


def exchange(frame: bytes) -> bytes:
    """Hand out a frame and wait for the one that answers it."""
    answer: bytes = wit_world.call(id(frame) + CONTENTS, len(frame))
    return answer


class WitWorld:
    """The world of guest.wit, as componentize-py looks for it."""

    def step(self, frame: bytes) -> int:
        """One step."""
        HELD[0] = answer = GUEST.step(frame)
        return (id(answer) + CONTENTS) << 32 | len(answer)


gc.collect()
CENSUS = settling.census()
gc.collect()  # empties the lists of spare objects, too, which lie all over the heap
FILLERS = [settling.fill_gaps()]
FILES = files.Files()
GUEST = app.Guest(emit=emit, exchange=exchange, files=FILES)  # all that it writes to lies together now
barriers.install(FILES)
FILLERS.append(settling.fill_gaps())
gc.freeze()
