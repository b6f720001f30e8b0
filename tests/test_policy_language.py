"""Modern Python runs under policy `restricted`, with the results that it has anywhere."""

from __future__ import annotations

import ast
import textwrap

import pytest

from guest_stdlib.policy import restricted
from tests.policy_session import Session

# (what is shown, a cell, the value of its last expression)
CELLS: list[tuple[str, str, object]] = [
    # Names
    ("underscore alone", "total = 0\nfor _ in range(3):\n    total += 1\ntotal", 3),
    ("main guard", "found = 'no'\nif __name__ == '__main__':\n    found = 'yes'\nfound", "yes"),
    ("walrus", "[y for x in range(6) if (y := x * x) % 2]", [1, 9, 25]),
    ("walrus in a condition", "data = [3]\nwhile (item := data.pop()) > 1:\n    data.append(item - 1)\nitem", 1),
    ("starred assignment", "a, *b, c = range(5)\n(a, b, c)", (0, [1, 2, 3], 4)),
    ("nested unpacking", "(a, (b, [c, *d])) = 1, (2, [3, 4, 5])\n[a, b, c, d]", [1, 2, 3, [4, 5]]),
    ("unpacking in a loop", "[a + b for a, (b, _) in [(1, (2, 3)), (4, (5, 6))]]", [3, 9]),
    ("chained assignment evaluates once", "calls = []\na = (b, c) = calls.append(1) or (1, 2)\n(a, b, c, len(calls))", ((1, 2), 1, 2, 1)),
    ("global", "n = 0\ndef bump():\n    global n\n    n += 1\nbump()\nbump()\nn", 2),
    ("nonlocal", "def counter():\n    n = 0\n    def bump():\n        nonlocal n\n        n += 1\n        return n\n    return bump\nb = counter()\nb()\nb()", 2),
    ("deleting", "d = {'a': 1, 'b': 2}\nx = [1, 2, 3]\ndel d['a'], x[:2]\n(d, x)", ({"b": 2}, [3])),
    ("a name of its own for a builtin", "def open(x):\n    return x * 2\nopen(4)", 8),
    # Assignment to items and attributes
    ("counting in a dict", "d = {}\nfor w in 'a b a'.split():\n    d[w] = d.get(w, 0)\n    d[w] += 1\nd", {"a": 2, "b": 1}),
    ("counting in a Counter", "from collections import Counter\nc = Counter()\nfor w in 'aba':\n    c[w] += 1\nc.most_common(1)", [("a", 2)]),
    ("defaultdict", "from collections import defaultdict\nd = defaultdict(list)\nd['a'] += [1]\nd['a'].append(2)\ndict(d)", {"a": [1, 2]}),
    ("slices", "x = [0, 1, 2, 3, 4]\nx[1:3] = ['b']\nx[-1] *= 10\n(x, x[::2], x[1:], (x[0], x[-1]))", ([0, "b", 3, 40], [0, 3], ["b", 3, 40], (0, 40))),
    (
        "every augmented operator on an attribute",
        "class A: pass\na = A()\na.v = 7\na.v += 3\na.v -= 1\na.v *= 4\na.v //= 5\na.v **= 2\na.v %= 26\na.v <<= 3\na.v >>= 1\na.v |= 1\na.v &= 61\na.v ^= 2\na.v /= 2\na.v",
        ((((7 + 3 - 1) * 4 // 5) ** 2 % 26 << 3 >> 1 | 1) & 61 ^ 2) / 2,
    ),
    ("augmented assignment evaluates once", "calls = []\nd = {'k': [1]}\ndef box():\n    calls.append(1)\n    return d\nbox()['k'] += [2]\n(d, calls)", ({"k": [1, 2]}, [1])),
    (
        "augmented attribute reads before the value",
        "class A: n = 1\na = A()\ndef f():\n    a.n = 10\n    return 1\na.n += f()\na.n",
        2,
    ),
    ("augmented assignment with await", "class A: n = 1\na = A()\nasync def f():\n    return 5\na.n += await f()\na.n", 6),
    ("attributes in targets", "class P: pass\np = P()\nd = {}\np.x, d['k'] = 1, 2\nfor p.y in [3, 4]: pass\n(p.x, p.y, d)", (1, 4, {"k": 2})),
    ("annotated assignment", "from typing import Any\nclass P: pass\np = P()\nx: int = 1\np.x: list[int] = [2]\nd: dict[str, Any] = {}\nd['k']: int = 3\ny: int\n(x, p.x, d)", (1, [2], {"k": 3})),
    ("function attributes", "def f():\n    f.calls += 1\nf.calls = 0\nf()\nf()\nf.calls", 2),
    # Functions
    ("every kind of parameter", "def f(a, /, b, *args, c=3, **kwargs):\n    return a, b, args, c, kwargs\nf(1, 2, 4, 5, c=6, d=7)", (1, 2, (4, 5), 6, {"d": 7})),
    ("star arguments", "def f(*a, **k): return a, k\nf(*[1, 2], *(3,), **{'x': 1}, y=2)", ((1, 2, 3), {"x": 1, "y": 2})),
    ("lambda", "sorted('bca', key=lambda c, /, *, k=-1: k * ord(c))", ["c", "b", "a"]),
    ("decorators", "import functools\ndef twice(f):\n    @functools.wraps(f)\n    def inner(*a):\n        return f(*a) * 2\n    return inner\n@twice\ndef five(): return 5\n(five(), five.__name__)", (10, "five")),
    ("generator", "def g():\n    got = yield 1\n    yield got\n    return 3\ndef h():\n    r = yield from g()\n    yield r\nit = h()\n(next(it), it.send(2), next(it))", (1, 2, 3)),
    ("recursion", "def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)\nfib(12)", 144),
    ("cached", "from functools import lru_cache\n@lru_cache\ndef f(n): return n and f(n - 1) + 1\n(f(50), f.cache_info().misses)", (50, 51)),
    ("generic function", "def first[T](xs: list[T]) -> T: return xs[0]\nfirst([4])", 4),
    ("annotations", "from datetime import date\ndef f(x: 'date', y: date | None = None, *z: dict[str, int]) -> list[date]: return [x]\nf(1)", [1]),
    # Classes
    (
        "a class with the usual special methods",
        """
        class Vector:
            __slots__ = ("x", "y")
            __match_args__ = ("x", "y")
            def __init__(self, x, y): self.x, self.y = x, y
            def __repr__(self): return f"Vector({self.x!r}, {self.y!r})"
            def __eq__(self, other): return (self.x, self.y) == (other.x, other.y)
            def __hash__(self): return hash((self.x, self.y))
            def __add__(self, other): return Vector(self.x + other.x, self.y + other.y)
            __radd__ = __add__
            def __iadd__(self, other): self.x += other.x; self.y += other.y; return self
            def __neg__(self): return Vector(-self.x, -self.y)
            def __bool__(self): return bool(self.x or self.y)
            def __iter__(self): return iter((self.x, self.y))
            def __getitem__(self, i): return (self.x, self.y)[i]
            def __len__(self): return 2
            def __contains__(self, v): return v in (self.x, self.y)
            def __call__(self, k): return Vector(self.x * k, self.y * k)
            def __format__(self, spec): return format(self.x, spec)
            def __lt__(self, other): return self.x < other.x
        v = Vector(1, 2)
        v += Vector(10, 10)
        (repr(v), v == Vector(11, 12), len({v, v}), -v + v == Vector(0, 0), bool(Vector(0, 0)), [*v], v[1], 12 in v, repr(v(2)), f"{v:04}", sorted([v, Vector(1, 1)])[0].x)
        """,
        ("Vector(11, 12)", True, 1, True, False, [11, 12], 12, True, "Vector(22, 24)", "0011", 1),
    ),
    (
        "inheritance and super",
        """
        class A:
            def __init__(self, x): self.x = x
            def f(self): return "A"
            def __str__(self): return f"<{self.x}>"
        class B(A):
            def __init__(self, x, y):
                super().__init__(x)
                self.y = y
            def f(self): return "B" + super().f()
            def __str__(self): return super().__str__() + str(self.y)
            def all(self): return [super(B, self).f() for _ in range(2)]
        b = B(1, 2)
        (b.x, b.f(), str(b), b.all(), isinstance(b, A), issubclass(B, A))
        """,
        (1, "BA", "<1>2", ["A", "A"], True, True),
    ),
    (
        "properties, class methods, static methods",
        """
        class C:
            count = 0
            def __init__(self): self.value = 1; C.count += 1
            @property
            def double(self): return self.value * 2
            @double.setter
            def double(self, v): self.value = v // 2
            @double.deleter
            def double(self): self.value = 0
            @classmethod
            def make(cls): return cls()
            @staticmethod
            def add(a, b): return a + b
        c = C.make()
        c.double = 10
        before = c.value, c.double, C.add(1, 2), C.count
        del c.double
        (before, c.value)
        """,
        ((5, 10, 3, 1), 0),
    ),
    (
        "a class's hooks",
        """
        class Field:
            def __set_name__(self, owner, name): self.name = name
            def __get__(self, obj, owner): return self.name.upper() if obj else self
        class Base:
            kinds = []
            def __init_subclass__(cls, kind="none", **options):
                super().__init_subclass__(**options)
                cls.kind = kind
                Base.kinds.append(kind)
            def __class_getitem__(cls, item): return cls.__name__, item
            def __new__(cls):
                made = super().__new__(cls)
                made.made = True
                return made
            def __getattr__(self, name): return "no " + name
        class Sub(Base, kind="sub"):
            title = Field()
        s = Sub()
        (s.title, Sub.kind, Base.kinds, Sub[3], s.made, s.other)
        """,
        ("TITLE", "sub", ["sub"], ("Sub", 3), True, "no other"),
    ),
    ("generic class", "class Stack[T]:\n    def __init__(self, *xs: T) -> None:\n        self.xs: list[T] = [*xs]\n    def pop(self) -> T: return self.xs.pop()\nStack[int](1, 2).pop()", 2),
    ("typing.Generic", "from typing import Generic, TypeVar\nT = TypeVar('T')\nclass Box(Generic[T]):\n    def __init__(self, x: T): self.x = x\nBox[int](3).x", 3),
    ("type alias", "type Pair[T] = tuple[T, T]\ndef f(p: Pair[int]) -> int: return sum(p)\n(f((1, 2)), Pair.__name__)", (3, "Pair")),
    (
        "dataclasses",
        """
        from dataclasses import InitVar, asdict, astuple, dataclass, field, fields, replace
        from typing import ClassVar
        @dataclass(order=True)
        class P:
            x: int
            y: "int" = 2
            tags: list[str] = field(default_factory=list, compare=False)
            scale: InitVar[int] = 1
            seen: ClassVar[int] = 0
            def __post_init__(self, scale):
                self.x *= scale
                P.seen += 1
        @dataclass(frozen=True, slots=True)
        class Q(object):
            name: str
        p = P(1, scale=5)
        p.y = 3
        p.y += 1
        (asdict(p), astuple(replace(p, x=7, scale=1)), P(1) < P(2), P.seen, [f.name for f in fields(p)], Q("a") == Q("a"), repr(Q("b")))
        """,
        ({"x": 5, "y": 4, "tags": []}, (7, 4, []), True, 4, ["x", "y", "tags"], True, "Q(name='b')"),
    ),
    ("frozen dataclass refuses", "from dataclasses import dataclass, FrozenInstanceError\n@dataclass(frozen=True)\nclass Q: x: int\ntry:\n    Q(1).x = 2\nexcept FrozenInstanceError as e:\n    said = str(e)\nsaid", "cannot assign to field 'x'"),
    (
        "annotations as text",
        "from __future__ import annotations\nfrom dataclasses import dataclass, fields\n@dataclass\nclass P:\n    x: list[Later]\n[(f.name, f.type) for f in fields(P)]",
        [("x", "list[Later]")],
    ),
    (
        "enums",
        """
        import enum
        from enum import Enum, Flag, IntEnum, StrEnum, auto
        class Color(Enum):
            RED = auto()
            BLUE = auto()
            @classmethod
            def _missing_(cls, value): return cls.RED
            def lower(self): return self.name.lower()
        class Size(IntEnum):
            S = 1
            L = 3
        class Kind(StrEnum):
            A = "a"
        class Perm(Flag):
            R = 1
            W = 2
        class Text(str, Enum):
            X = "x"
        Animal = enum.Enum("Animal", "CAT DOG")
        (Color.RED.lower(), Color(9).name, Color["BLUE"].value, [c.name for c in Color], list(Color.__members__), Size.L > Size.S, Kind.A + "!", (Perm.R | Perm.W).value, Text.X.upper(), Animal.DOG.value)
        """,
        ("red", "RED", 2, ["RED", "BLUE"], ["RED", "BLUE"], True, "a!", 3, "X", 2),
    ),
    (
        "named tuples",
        """
        from collections import namedtuple
        from typing import NamedTuple
        class P(NamedTuple):
            x: int
            y: int = 2
        Q = namedtuple("Q", "a b")
        (P(1)._replace(y=5), P(1)._asdict(), Q._fields, Q._make([1, 2]).b, P(3).x)
        """,
        ((1, 5), {"x": 1, "y": 2}, ("a", "b"), 2, 3),
    ),
    ("typed dicts", "from typing import TypedDict, NotRequired\nclass T(TypedDict):\n    a: int\n    b: NotRequired[str]\nt: T = {'a': 1}\nt['b'] = 'x'\nt", {"a": 1, "b": "x"}),
    (
        "abstract classes and protocols",
        """
        from abc import ABC, abstractmethod
        from typing import Protocol, runtime_checkable
        class Shape(ABC):
            @abstractmethod
            def area(self): ...
        class Square(Shape):
            def __init__(self, s): self.s = s
            def area(self): return self.s ** 2
        @runtime_checkable
        class HasArea(Protocol):
            def area(self) -> float: ...
        try:
            Shape()
        except TypeError:
            said = "abstract"
        (Square(3).area(), said, isinstance(Square(1), HasArea), isinstance(3, HasArea))
        """,
        (9, "abstract", True, False),
    ),
    ("a class decorator", "def tag(cls):\n    cls.tag = cls.__name__\n    return cls\n@tag\nclass A: pass\nA.tag", "A"),
    ("total ordering", "from functools import total_ordering\n@total_ordering\nclass A:\n    def __init__(self, x): self.x = x\n    def __eq__(self, o): return self.x == o.x\n    def __lt__(self, o): return self.x < o.x\nA(1) >= A(2)", False),
    ("cached property", "from functools import cached_property\nclass A:\n    @cached_property\n    def x(self): return [1]\na = A()\na.x is a.x", True),
    ("copies", "import copy\nclass A:\n    def __init__(self): self.x = [1]\na = A()\nb, c = copy.copy(a), copy.deepcopy(a)\na.x.append(2)\n(b.x, c.x)", ([1, 2], [1])),
    ("a container of its own", "class D(dict):\n    def __missing__(self, k): return k * 2\nd = D()\nd['a'] = 1\n(d['a'], d['b'], d)", (1, "bb", {"a": 1})),
    ("type of a value", "[type(x).__name__ for x in (1, 'a', None, int, ValueError())]", ["int", "str", "NoneType", "type", "ValueError"]),
    ("type as a class", "(isinstance(int, type), isinstance(3, type), type(3) is int, type(int) is type, issubclass(bool, int))", (True, False, True, True, True)),
    ("reflection by name", "class A: pass\na = A()\nsetattr(a, 'x', 1)\nv = getattr(a, 'x'), getattr(a, 'y', 2), hasattr(a, 'x'), dir(a)\ndelattr(a, 'x')\n(v, hasattr(a, 'x'))", ((1, 2, True, ["x"]), False)),
    ("names in scope", "x = 1\ndef f(a):\n    b = 2\n    return dir()\n(f(1), 'x' in dir(), '_getattr_' in dir())", (["a", "b"], True, False)),
    # Control flow
    ("try, else, finally", "log = []\ndef f(x):\n    try:\n        log.append(1 / x)\n    except ZeroDivisionError as e:\n        log.append(e.args[0])\n    else:\n        log.append('ok')\n    finally:\n        log.append('end')\nf(1)\nf(0)\nlog", [1.0, "ok", "end", "division by zero", "end"]),
    ("raise from", "try:\n    try:\n        {}['k']\n    except KeyError as e:\n        raise ValueError('bad') from e\nexcept ValueError as e:\n    got = e, e.__cause__, e.__context__\n[type(x).__name__ for x in got]", ["ValueError", "KeyError", "KeyError"]),
    ("an exception of its own", "class Bad(Exception):\n    def __init__(self, code, *, why=''):\n        super().__init__(f'bad {code}')\n        self.code = code\n        self.why = why\ntry:\n    raise Bad(3, why='x')\nexcept Bad as e:\n    e.add_note('n')\n    got = str(e), e.code, e.why, e.__notes__\ngot", ("bad 3", 3, "x", ["n"])),
    ("attributes on an exception", "e = ValueError('x')\ne.row = 3\ne.row", 3),
    (
        "exception groups",
        """
        log = []
        try:
            raise ExceptionGroup("many", [ValueError(1), TypeError(2), ExceptionGroup("deep", [ValueError(3)])])
        except* ValueError as group:
            log.append([type(e).__name__ for e in group.exceptions])
        except* TypeError as group:
            log.append(len(group.exceptions))
        else:
            log.append("none")
        finally:
            log.append("end")
        log
        """,
        [["ValueError", "ExceptionGroup"], 1, "end"],
    ),
    ("with", "from contextlib import contextmanager\nlog = []\n@contextmanager\ndef c(n):\n    log.append(n)\n    yield n, n\n    log.append(-n)\nwith c(1) as (a, b), c(2) as (d, _):\n    log.append(a + b + d)\nlog", [1, 2, 4, -2, -1]),
    ("a context manager of its own", "class C:\n    def __enter__(self): return self\n    def __exit__(self, kind, error, traceback):\n        self.kind = kind.__name__\n        return True\nwith C() as c:\n    1 / 0\nc.kind", "ZeroDivisionError"),
    ("loops with else", "out = []\nfor i in range(3):\n    if i == 5: break\nelse:\n    out.append('for')\nwhile False: pass\nelse:\n    out.append('while')\nout", ["for", "while"]),
    ("comprehensions", "({x: y for x, y in zip('ab', [1, 2])}, {x % 2 for x in range(5)}, [[i * j for i in range(2)] for j in range(2)], sum(x for x in [1, 2]))", ({"a": 1, "b": 2}, {0, 1}, [[0, 0], [0, 1]], 3)),
    ("assert", "try:\n    assert 1 > 2, 'no'\nexcept AssertionError as e:\n    said = str(e)\nsaid", "no"),
    # Texts
    ("f-strings", "class P: x = 3\np, w = P(), 6\nf'{p.x:>{w}} {p.x=} {[1, 2][0]!r} {\"q\"}'", "     3 p.x=3 1 q"),
    ("str.format", "class P: x = 3\n'{0.x:>4} {1[k]} {} {{}} {n!r}'.replace(' {} ', ' ').format(P(), {'k': 1}, n='a')", "   3 1 {} 'a'"),
    ("str.format without attributes", "('{} {:>3} {0}' if False else '{} {:>3}').format(1, 2) + '{a}'.format(a=1) + '{:{}}'.format(1, 3)", "1   21  1"),
    ("format_map", "'{a} {b[0]}'.format_map({'a': 1, 'b': [2]})", "1 2"),
    ("str.format as a value", "list(map('{}!'.format, [1, 2])) + [str.format('{}', 3)]", ["1!", "2!", "3"]),
    ("percent", "'%s %(x)s' % {'x': 1} if False else '%05.2f|%s' % (1.5, 'a')", "01.50|a"),
    ("string.Formatter", "import string\nclass F(string.Formatter):\n    def get_value(self, key, args, kwargs):\n        return kwargs.get(key, '?') if isinstance(key, str) else args[key]\nF().format('{a} {b} {0.real}', 2, a=1)", "1 ? 2"),
    # Asynchronous code
    ("top-level await", "import asyncio\nasync def f(n):\n    await asyncio.sleep(0)\n    return n\nawait f(1)\n(await asyncio.gather(*(f(i) for i in range(3))))", [0, 1, 2]),
    (
        "async for, async with, async comprehensions",
        """
        import asyncio
        from contextlib import asynccontextmanager
        log = []
        async def count(n):
            for i in range(n):
                await asyncio.sleep(0)
                yield i, i * i
        @asynccontextmanager
        async def opened(name):
            log.append("open " + name)
            try:
                yield name, 1
            finally:
                log.append("close " + name)
        class Ticker:
            def __init__(self, n): self.n = n
            def __aiter__(self): return self
            async def __anext__(self):
                if not self.n: raise StopAsyncIteration
                self.n -= 1
                return self.n
            async def __aenter__(self): return self
            async def __aexit__(self, *exc): log.append("left")
            def __await__(self): return asyncio.sleep(0, 'awaited').__await__()
        async with opened("a") as (name, one), Ticker(2) as t:
            async for a, b in count(2):
                log.append(a + b)
            else:
                log.append("else")
            log.append([x async for x in t])
        (log, {a: b async for a, b in count(3) if a}, [y for x in range(2) async for y, _ in count(2)], await t)
        """,
        (["open a", 0, 2, "else", [1, 0], "left", "close a"], {1: 1, 2: 4}, [0, 1, 0, 1], "awaited"),
    ),
    (
        "task groups, timeouts, queues",
        """
        import asyncio
        queue = asyncio.Queue()
        async def produce():
            for i in range(3):
                await queue.put(i)
        async def consume():
            return [await queue.get() for _ in range(3)]
        async with asyncio.TaskGroup() as group:
            group.create_task(produce())
            task = group.create_task(consume())
        try:
            async with asyncio.timeout(0):
                await asyncio.sleep(10)
        except TimeoutError:
            late = True
        try:
            async with asyncio.TaskGroup() as group:
                async def bad(): raise ValueError("x")
                group.create_task(bad())
        except* ValueError as failed:
            errors = [str(e) for e in failed.exceptions]
        loop = asyncio.get_running_loop()
        (task.result(), late, errors, await asyncio.wait_for(asyncio.sleep(0, 5), 1), loop.time() > 0, task.done())
        """,
        ([0, 1, 2], True, ["x"], 5, True, True),
    ),
    # Modules
    (
        "modules of data processing",
        """
        import csv, io, json, math, re, statistics, datetime as dt, xml.etree.ElementTree as ET, collections.abc
        from decimal import Decimal, getcontext
        from fractions import Fraction
        from operator import attrgetter, itemgetter, methodcaller
        from urllib.parse import urlsplit
        getcontext().prec = 5
        rows = list(csv.DictReader(io.StringIO("a,b\\n1,2\\n")))
        found = re.search(r"(?P<n>\\d+)", "x42")
        root = ET.fromstring("<a><b k='1'>t</b></a>")
        root[0].text = "u"
        class P:
            def __init__(self, n): self.n = n
            def up(self, by): return self.n + by
        (
            rows[0]["b"], json.loads(json.dumps({"x": [1, None]})), round(math.pi, 2), found["n"], found.group("n"),
            statistics.mean([1, 2, 3]), dt.date(2024, 1, 31).isoformat(), ET.tostring(root, encoding="unicode"),
            str(Decimal(1) / 3), str(Fraction(1, 3) + 1), sorted([P(2), P(1)], key=attrgetter("n"))[0].n,
            methodcaller("up", 3)(P(1)), itemgetter(1)([1, 2]), urlsplit("http://a/b?c").query,
            isinstance([], collections.abc.Sequence), attrgetter("n.real", "n")(P(4)),
        )
        """,
        (
            "2", {"x": [1, None]}, 3.14, "42", "42", 2, "2024-01-31", '<a><b k="1">u</b></a>',
            "0.33333", "4/3", 1, 4, 2, "c", True, (4, 4),
        ),
    ),
    ("a submodule through its parent", "import collections\nisinstance({}, collections.abc.Mapping)", True),
    ("packages on the way", "import urllib.parse\nfrom xml.etree import ElementTree\n(urllib.parse.quote('a b'), ElementTree.fromstring('<x/>').tag)", ("a%20b", "x")),
    ("json with a class of its own", "import json\nclass E(json.JSONEncoder):\n    def default(self, o): return sorted(o) if isinstance(o, set) else super().default(o)\njson.dumps({'a': {2, 1}}, cls=E)", '{"a": [1, 2]}'),
    ("traceback as text", "import traceback\ntry:\n    1 / 0\nexcept ZeroDivisionError as e:\n    said = traceback.format_exc().splitlines()[-1], traceback.format_exception_only(e)\nsaid", ("ZeroDivisionError: division by zero", ["ZeroDivisionError: division by zero\n"])),
    ("simple namespaces", "from types import SimpleNamespace\ns = SimpleNamespace(a=1)\ns.b = 2\ns.a += 1\nvars_of = (s.a, s.b)\nvars_of", (2, 2)),
]  # fmt: skip


@pytest.mark.parametrize(("source", "value"), [cell[1:] for cell in CELLS], ids=[cell[0] for cell in CELLS])
def test_modern_python_gives_the_result_it_has_anywhere(source: str, value: object) -> None:
    """Each cell has the value that the same code has without a policy."""
    found = Session().run(textwrap.dedent(source))
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("source", [cell[1] for cell in CELLS], ids=[cell[0] for cell in CELLS])
def test_a_transformed_cell_keeps_its_statements(source: str) -> None:
    """The last statement stays the last: statements keep number, order, kind and line."""
    source = textwrap.dedent(source)
    original = [(type(statement), statement.lineno) for statement in ast.parse(source).body]
    tree = restricted.compile_cell(ast.parse(source), source, "<cell>")
    assert [(type(statement), statement.lineno) for statement in tree.body] == original
