"""What the guards let code do: change its own things, import what is allowed, and pay for neither unless the policy asks."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from types import ModuleType

import pytest

from guest_stdlib.policy import restricted
from guest_stdlib.policy.modules import MODULES, offered
from guest_stdlib.policy.violations import PolicyRefusal
from tests.policy_session import Session


@dataclasses.dataclass
class Record:
    """A dataclass of the host's, as capabilities return them."""

    name: str


class Declared(Exception):
    """An exception of the host's."""


def test_the_package_costs_nothing_until_the_policy_asks_for_it() -> None:
    """Importing the package, or the exceptions, does not import RestrictedPython or the guards."""
    code = (
        "import sys, guest_stdlib.policy, guest_stdlib.policy.violations\n"
        "loaded = sorted(name for name in sys.modules if name.startswith(('RestrictedPython', 'guest_stdlib.policy')))\n"
        "print(loaded)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "['guest_stdlib.policy', 'guest_stdlib.policy.violations']"


def test_code_changes_what_is_its_own() -> None:
    """Objects of its classes and those classes, its functions, containers, records, exceptions and plain data of the library."""
    source = """
import collections, copy, decimal, textwrap, types
from dataclasses import dataclass
@dataclass(slots=True)
class Slotted:
    x: int
class Base:
    def __init_subclass__(cls): cls.seen = True
class Derived(Base): pass
class Mine(dict): pass
def function(): pass
class Error(Exception): pass
things = [Slotted(1), Derived(), Derived, Mine(), function, Error(), ValueError(), record, record_error,
          types.SimpleNamespace(), textwrap.TextWrapper(), decimal.Context()]
for thing in things[1:7] + things[8:11]:
    thing.note = 1
    thing.note += 1
    del thing.note
things[0].x = things[7].name = 2
things[11].prec = 3
boxes = [{}, collections.defaultdict(int), collections.OrderedDict(), collections.Counter(), collections.ChainMap({}),
         collections.UserDict(), Mine()]
for box in boxes:
    box["k"] = 1
    box["k"] += 1
lists = [[1], collections.deque([1]), bytearray(b"a"), collections.UserList([1])]
for items in lists:
    items[0] = 2
    items[0] += 1
    del items[0]
(things[0].x, record.name, things[11].prec, [box["k"] for box in boxes], [len(items) for items in lists], Derived.seen)
"""
    session = Session(record=Record("a"), record_error=Declared("x"))
    assert session.run(source) == (2, 2, 3, [2] * 7, [0] * 4, True)


def test_a_refused_change_is_refused_before_its_value_is_there() -> None:
    """Nothing on the right side of an augmented assignment has run, and the target is as it was."""
    session = Session()
    session.run("import math\nran = []\ndef value():\n    ran.append(1)\n    return 1")
    with pytest.raises(PolicyRefusal):
        session.run("math.pi += value()")
    assert session.run("(ran, round(math.pi, 3))") == ([], 3.142)


def test_modules_are_the_sessions_own() -> None:
    """What an import gives is no real module, and two sessions share none."""
    one, two = Session(), Session()
    one.run("import json, xml.etree.ElementTree")
    two.run("import json")
    module = one.namespace["json"]
    assert isinstance(module, ModuleType)
    assert module is not json
    assert module is not two.namespace["json"]
    assert repr(module) == "<module 'json'>"
    assert one.run("json.dumps") is json.dumps
    assert one.run("import json as again\nagain is json")
    assert one.run("dir(json)") == ["JSONDecodeError", "JSONDecoder", "JSONEncoder", "dump", "dumps", "load", "loads"]
    assert not hasattr(one.namespace["xml"], "dom")


@pytest.mark.parametrize("name", sorted(MODULES))
def test_no_module_offers_a_way_further(name: str) -> None:
    """No private name, no module, no metaclass; and each member that the table names exists in some Python."""
    try:
        members = offered(name)
    except ModuleNotFoundError:
        assert (name, sys.version_info < (3, 14)) == ("string.templatelib", True)
        return
    assert members
    for member, value in members.items():
        assert not member.startswith("_")
        assert not isinstance(value, ModuleType)
        assert not (isinstance(value, type) and issubclass(value, type))
    if MODULES[name] != "*":
        newer = {"functools.Placeholder", "uuid.uuid7", "uuid.uuid8", "uuid.NIL", "uuid.MAX"}
        missing = {f"{name}.{member}" for member in MODULES[name].split() if member not in members}
        assert missing <= newer


def test_every_allowed_module_can_be_imported() -> None:
    """By its name, and its members by theirs."""
    for name in MODULES:
        if name in {"__future__", "string.templatelib"}:
            continue
        member = min(offered(name))
        found = Session().run(
            f"import {name} as module\nfrom {name} import {member} as member\n(module.{member}, member)"
        )
        assert found[0] is found[1]


def test_print_is_the_runtimes() -> None:
    """`print` is an ordinary function, the one that the runtime gave."""
    session = Session()
    session.run("print('a', 1, sep='-')\nlist(map(print, 'bc'))")
    assert session.printed == ["a-1", "b", "c"]
    assert restricted.namespace()["__builtins__"]["print"] is print  # type: ignore[index]


def test_a_refusal_is_not_taken_for_an_absence() -> None:
    """`except AttributeError`, `getattr` with a default and `hasattr` do not hide a refusal."""
    session = Session()
    with pytest.raises(PolicyRefusal):
        session.run("import json\nj = json\ntry:\n    j.codecs\nexcept (AttributeError, ImportError):\n    pass")
    with pytest.raises(PolicyRefusal):
        session.run("name = '__cl' + 'ass__'\ngetattr(1, name, None)")
    assert (
        session.run("try:\n    j.codecs\nexcept Exception as error:\n    said = type(error).__name__\nsaid")
        == "PolicyRefusal"
    )


def test_errors_of_code_are_cpythons() -> None:
    """A guard adds nothing to the exceptions that the code's own mistakes raise."""
    for source, said in {
        "[].nothing": "'list' object has no attribute 'nothing'",
        "class A: pass\nA().x += 1": "'A' object has no attribute 'x'",
        "getattr(1, 2)": "attribute name must be string, not 'int'",
        "'{}'.format()": "Replacement index 0 out of range for positional args tuple",
        "'{'.format(1)": "Single '{' encountered in format string",
        "'{x}'.format()": "'x'",
        "(1)[0]": "'int' object is not subscriptable",
        "{}['k']": "'k'",
        "a, b = 1, 2, 3": "too many values to unpack (expected 2)",
        "str.format(1)": "descriptor 'format' for 'str' objects doesn't apply to a 'int' object",
    }.items():
        with pytest.raises((AttributeError, TypeError, KeyError, IndexError, ValueError)) as caught:
            Session().run(source)
        assert str(caught.value) == said


def test_unpacking_takes_no_more_than_it_needs() -> None:
    """An endless iterator is refused at once, as CPython does it."""
    with pytest.raises(ValueError, match="too many values to unpack"):
        Session().run("import itertools\na, b = itertools.count()")
