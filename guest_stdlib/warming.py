"""Representative cells, run at build time, so that a fresh guest finds done what its first cell would otherwise do.

A first run is slow, and above all it writes: caches fill, bytecode specialises itself, modules are imported on first
use. Each page written is copied for that guest alone. What is written here is in the image, and all guests share it.

The guests that run these cells are thrown away; nothing of them is to be seen later but its speed.
"""

from __future__ import annotations

import linecache
from collections.abc import Iterable
from dataclasses import replace
from typing import Final, Literal

from guest_stdlib import barriers
from guest_stdlib.app import Guest
from guest_stdlib.channel import (
    NEED_DATA,
    Call,
    Cancel,
    Failure,
    FromHost,
    HostChannel,
    Interrupted,
    Open,
    Rest,
    Return,
    Run,
    Throw,
    Via,
)
from guest_stdlib.declared import Declared, DeclaredError, DeclaredRecord, Method, Option, Parameter

__all__ = ["warm"]

ROUNDS: Final = 8  # enough for bytecode to specialise
PLAIN: Final = Parameter(name="name", shape="str", annotation="str")
CONTEXT: Final = Option(name="context", words=("fork", "cold"), default="fork")
PEOPLE: Final = Declared(
    name="people",
    doc="The people.",
    methods=(
        Method(name="find", doc="People of this name.", parameters=(PLAIN,), returns="list[Person]"),
        Method(name="ask", doc="The person meant.", parameters=(PLAIN,), returns="Person", choice=(CONTEXT,)),
        Method(name="fail", doc="Fails.", parameters=(PLAIN,), returns="None"),
    ),
)
ANYTHING: Final = Declared(name="lookup", anything=True)
UNCLEAR: Final = DeclaredError(name="Unclear", doc="Cannot tell.", fields=("question", "options"))
PERSON: Final = DeclaredRecord(name="Person", doc="A person.", fields=("name", "email"))
OPENING: Final = Open(
    capabilities=(PEOPLE.as_plain(), ANYTHING.as_plain()),
    errors=(UNCLEAR.as_plain(),),
    records=(PERSON.as_plain(),),
    token="token",  # noqa: S106 - of no session
)
ANSWERS: Final[dict[str, object]] = {
    "people.find": [{"name": "Ada", "email": "ada@example.org"}] * 3,
    "people.ask": {"name": "Ada", "email": "ada@example.org"},
    "lookup": ["text", 1.5, None, True, {"rows": [[1, "a"], [2, "b"]]}],
}

EITHER: Final = (
    "1 + 1",
    "x = [1, 2, 3]\nsum(x)",
    "print('hello', 2, end='!\\n')",
    "def double(n):\n    return n * 2\n\n[double(n) for n in range(20) if n % 3]",
    (
        "class Point:\n    def __init__(self, x):\n        self.x = x\n\npoints = [Point(i) for i in range(5)]\n"
        "sorted(p.x for p in points)"
    ),
    (
        "text = 'a b a'\ncounts = {}\nfor word in text.split():\n    counts[word] = counts.get(word, 0) + 1\n"
        "f'{counts} {1.5:>8.2f} {3!r}'"
    ),
    "found = await people.find('Ada')\n[p['name'] for p in found]",
    "answer = await lookup('question', limit=3)\nanswer[0].upper()",
    "await people.ask('which one?', context='cold')",
    "import asyncio\nawait asyncio.gather(*(people.find(name) for name in ('a', 'b', 'c')))",
    "async def main():\n    first = await people.find('a')\n    return first[0]['email']\n\nawait main()",
    "try:\n    await people.fail('x')\nexcept Unclear as error:\n    kept = str(error), error.question\nkept",
    "await people.fail('x')",
    "try:\n    int('x')\nexcept ValueError as error:\n    message = str(error)\nfinally:\n    done = True\nmessage",
    "def outer():\n    return inner()\n\ndef inner():\n    return {}['missing']\n\nouter()",
    "undefined_name",
    "'text' + 1",
    "for i in range(3) print(i)",
    "import json, math, re\njson.loads(json.dumps({'a': [1, 2.5, None]}))['a'][1] + math.sqrt(4)",
    "import datetime\nstr(datetime.date(2026, 1, 31) + datetime.timedelta(days=1))",
    "import re\nre.findall(r'(\\w+)@(\\w+)', 'a@b c@d')",
    "from collections import Counter, defaultdict\nCounter('banana').most_common(2)",
    "people.find('never awaited')\nNone",
    "await people.fnd('Ada')",
    "await people.find(7)",
    "1 / 0",
)
OPEN: Final = (
    "from dataclasses import dataclass\n\n@dataclass\nclass Row:\n    name: str\n    value: int = 0\n\nRow('a', 1)",
    (
        "import asyncio\n\nasync def main():\n    async with asyncio.TaskGroup() as group:\n"
        "        one = group.create_task(people.find('a'))\n        two = group.create_task(people.ask('b'))\n"
        "    return one.result(), two.result()\n\nasyncio.run(main())"
    ),
    "import asyncio\nasync with asyncio.timeout(5):\n    await asyncio.sleep(0.01)\n    await people.find('a')",
    "people.find.blocking('Ada')[0]",
    "import random, statistics\nrandom.random() < 1 and statistics.mean([1, 2, 3])",
    "from zoneinfo import ZoneInfo\nimport datetime\ndatetime.datetime(2026, 7, 1, tzinfo=ZoneInfo('Europe/Oslo'))",
    "from decimal import Decimal\nfrom fractions import Fraction\n(Decimal('1.10') + 1, Fraction(1, 3), {1, 2}, b'x')",
    "import csv, io\nlist(csv.DictReader(io.StringIO('a,b\\n1,2\\n')))",
    "from enum import Enum\n\nclass Colour(Enum):\n    RED = 1\n\nColour.RED.name",
    (
        "from typing import Any\nimport functools, itertools, pathlib, urllib.parse, base64, hashlib, string\n"
        "hashlib.sha256(b'x').hexdigest()[:8]"
    ),
    "import sys\nprint('warned', file=sys.stderr)\nopen('/etc/passwd')",
    "raise ExceptionGroup('several', [ValueError('a'), TypeError('b')])",
)


def warm() -> None:
    """Run the cells, in guests of both policies."""
    for number in range(ROUNDS):
        _Rehearsal("open").run((*EITHER, *OPEN))
        if number % 3 == 0:
            _Rehearsal("restricted").run(EITHER)
    linecache.clearcache()


class _Rehearsal:
    """A guest, and a host that answers at once. Its clock moves only when the guest waits for it."""

    def __init__(self, policy: Literal["open", "restricted"]) -> None:
        self._opening = replace(OPENING, policy=policy)
        self._channel = HostChannel()
        self._now = 0.0

    def run(self, cells: Iterable[str]) -> None:
        """One session with these cells."""
        guest = Guest(emit=self._emitted, exchange=self._exchanged, clock=lambda: self._now)
        try:
            with barriers.installed():
                self._answers(guest.step(self._channel.send(self._opening)), Via.STEP)
                for number, source in enumerate(cells, 1):
                    events: list[FromHost] = [Run(cell=number, source=source)]
                    while events or self._channel.cell is not None:
                        events = self._answers(guest.step(self._channel.send(*events)), Via.STEP)
        finally:
            guest.uninstall()

    def _exchanged(self, frame: bytes) -> bytes:
        return self._channel.send(*self._answers(frame, Via.EXCHANGE))

    def _emitted(self, frame: bytes) -> None:
        self._answers(frame, Via.EMIT)

    def _answers(self, frame: bytes, via: Via) -> list[FromHost]:
        """What the host says to what the guest said."""
        self._channel.receive(frame, via)
        answers: list[FromHost] = []
        while (event := self._channel.next_event()) is not NEED_DATA:
            match event:
                case Call(path="people.fail"):
                    failure = Failure(
                        kind="script", type="Unclear", message="Which one?", fields={"question": "?", "options": ["a"]}
                    )
                    answers.append(Throw(call=event.call, failure=failure))
                case Call():
                    answers.append(Return(call=event.call, value=ANSWERS.get(event.path)))
                case Interrupted():
                    answers.append(Cancel(reason="cpu", message="The cell used up its CPU time."))
                case Rest(wake=float() as wake) if not answers:
                    self._now += wake
        return answers
