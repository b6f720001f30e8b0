"""Names and attributes: which of them agent code may write, and what to write instead of those that it may not.

Rules:

- A name with a leading underscore belongs to Python, to a library or to the guards. `_` alone is free: it is the last
  value, and the usual name for what is not needed.
- Some names with underscores are part of the language as it is written every day. A class may define the methods that
  operators and statements call (`DEFINABLE`); what describes a thing, or waits for it, may be read (`READABLE`); a
  method may go on to the one that it replaces (`SUPER`). None of these hands out anything of the interpreter.
- Not definable are the methods that the standard library asks for a recipe (`__reduce__`, `__getstate__`, `__class__`
  ...): it would follow the recipe past the guards. Nor those that see every access by name (`__getattribute__`,
  `__setattr__`).
"""

from __future__ import annotations

import builtins
import keyword
from typing import Final

from RestrictedPython.transformer import INSPECT_ATTRIBUTES

from guest_stdlib.policy.violations import PolicyRefusal

__all__ = [
    "ABSENT",
    "BASES",
    "CLASS_DATA",
    "DEFINABLE",
    "NAMEDTUPLE",
    "POLICY",
    "READABLE",
    "SUPER",
    "attribute_fault",
    "check_attribute",
    "name_fault",
]

POLICY: Final = 'policy "restricted"'


def _dunder(names: str) -> frozenset[str]:
    return frozenset(f"__{name}__" for name in names.split())


_OPERATORS: Final = "add sub mul truediv floordiv mod divmod pow matmul and or xor lshift rshift"
DEFINABLE: Final = _dunder(
    f"init new post_init call repr str bytes format bool hash len length_hint index int float complex "
    f"eq ne lt le gt ge neg pos abs invert round trunc floor ceil {_OPERATORS} "
    f"{' '.join('r' + name for name in _OPERATORS.split())} {' '.join('i' + name for name in _OPERATORS.split())} "
    "getitem setitem delitem contains iter next reversed missing enter exit aenter aexit aiter anext await "
    "getattr get set delete set_name init_subclass class_getitem copy deepcopy replace fspath dir"
) | {"_missing_", "_generate_next_value_"}

# Assigned in a class body, as literals of public names.
CLASS_DATA: Final = _dunder("slots match_args")

READABLE: Final = _dunder("name qualname doc cause context notes members await")
SUPER: Final = READABLE | DEFINABLE - _dunder("getattr")

# A namedtuple's own methods, whose underscores only keep them apart from its fields.
NAMEDTUPLE: Final = frozenset({"_asdict", "_replace", "_fields", "_field_defaults", "_make"})

_INSIDE: Final = INSPECT_ATTRIBUTES | {
    "co_consts",
    "co_names",
    "co_lines",
    "co_positions",
    "co_branches",
    "f_trace_lines",
}

# Builtins that are not there, and what to write instead.
ABSENT: Final = {
    "__import__": "Write an import statement.",
    "breakpoint": "Print what you want to see.",
    "compile": "Write the code itself: a function, a lambda, or a table of functions.",
    "eval": "Write the expression itself; to read data from text, json.loads(text).",
    "exec": "Write the code itself: a function, a lambda, or a table of functions.",
    "exit": "Let the cell end, or raise an exception.",
    "globals": "Keep values in a dict of your own and look them up by key.",
    "help": "Print the object, or the names that dir(object) gives.",
    "input": "Ask through a capability that is in scope, or set the value in the code.",
    "locals": "Keep values in a dict of your own and look them up by key.",
    "memoryview": "Use slices of bytes or bytearray.",
    "open": "There are no files here: use the capabilities in scope, or io.StringIO for text in memory.",
    "quit": "Let the cell end, or raise an exception.",
    "vars": "Read the attributes by name, or use dataclasses.asdict(record).",
}

# Classes that no class derives from.
_NO_BASE: Final = "A class cannot derive from {} under " + POLICY + "."
BASES: Final[dict[str, tuple[str, str]]] = {
    "type": (_NO_BASE.format("type"), "Derive from another class, or write a class decorator."),
    **{
        name: (_NO_BASE.format(name), "Raise ExceptionGroup(message, errors) itself.")
        for name in ("ExceptionGroup", "BaseExceptionGroup")
    },
}

_INSTEAD: Final = {
    "__abs__": "Write abs(x).",
    "__all__": "Leave it out: nothing imports from a cell.",
    "__annotations__": "Write dataclasses.fields(record) for the fields of a dataclass.",
    "__bool__": "Write bool(x).",
    "__builtins__": "Call the builtin function by its name.",
    "__call__": "Call the object: x(...).",
    "__class__": "Write type(x).",
    "__contains__": "Write item in x.",
    "__delattr__": "Write delattr(x, name).",
    "__delitem__": "Write del x[key].",
    "__dict__": "Read the attributes by name, or use dataclasses.asdict(record).",
    "__enter__": "Write a with statement.",
    "__eq__": "Write x == y.",
    "__exit__": "Write a with statement.",
    "__file__": "Leave it out: a cell is not a file.",
    "__format__": "Write format(x, spec), or an f-string.",
    "__getattr__": "Write getattr(x, name).",
    "__getattribute__": "Write getattr(x, name).",
    "__getitem__": "Write x[key].",
    "__hash__": "Write hash(x).",
    "__import__": ABSENT["__import__"],
    "__init__": "Write super().__init__(...), or call the class.",
    "__iter__": "Write iter(x).",
    "__len__": "Write len(x).",
    "__module__": "Write type(x).__name__ for the name of the class.",
    "__next__": "Write next(x).",
    "__repr__": "Write repr(x).",
    "__new__": "Call the class; in its own __new__, write super().__new__(cls).",
    "__setattr__": "Write setattr(x, name, value), or leave out frozen=True.",
    "__setitem__": "Write x[key] = value.",
    "__str__": "Write str(x).",
    "__traceback__": "Read the type, the message and the args; traceback.format_exception(error) gives its text.",
    "__version__": "Leave it out.",
}

# The same for names, which a class defines.
_DEFINED_INSTEAD: Final = {
    "__all__": _INSTEAD["__all__"],
    "__builtins__": _INSTEAD["__builtins__"],
    "__class__": _INSTEAD["__class__"],
    "__delattr__": "Define a property with a deleter, or a method.",
    "__file__": _INSTEAD["__file__"],
    "__getattribute__": "Define __getattr__, or a property for each name.",
    "__import__": ABSENT["__import__"],
    "__reduce__": "Define __copy__ or __deepcopy__.",
    "__reduce_ex__": "Define __copy__ or __deepcopy__.",
    "__setattr__": "Define a property with a setter, or a method.",
}


def _without(name: str) -> str:
    bare = name.strip("_")
    if not bare:
        return 'Write "_" instead.'
    if name in DEFINABLE or name in CLASS_DATA:
        return "Define it in a class, by def or a plain assignment."
    if name.startswith("__") and name.endswith("__"):
        return "Leave it out."
    if bare.isidentifier() and not keyword.iskeyword(bare) and not hasattr(builtins, bare):
        return f'Write "{bare}" instead.'
    return "Write a name that begins with a letter."


def name_fault(name: str) -> tuple[str, str] | None:
    """What is wrong with a variable, function or class of this name, and what to write instead. None if nothing."""
    if not name.startswith("_") or name == "_":
        return None
    return _underscore(name), _DEFINED_INSTEAD.get(name) or _without(name)


def _underscore(name: str) -> str:
    return f'"{name}" starts with an underscore, which {POLICY} does not allow.'


def attribute_fault(name: str, *, allowed: frozenset[str] = READABLE | NAMEDTUPLE) -> tuple[str, str] | None:
    """What is wrong with an attribute of this name: message and what to write instead. None if nothing."""
    if name in _INSIDE:
        message = f'"{name}" leads into the interpreter, which {POLICY} does not allow.'
        return message, "Leave it out; for an error, read its type, its message and its args."
    if name in allowed or not name.startswith("_") or name == "_":
        return None
    return _underscore(name), _INSTEAD.get(name) or _without(name)


def check_attribute(name: object, *, allowed: frozenset[str] = READABLE | NAMEDTUPLE) -> str:
    """`name` if it may be an attribute's, for code that has it as a string. Raises TypeError, PolicyRefusal."""
    if not isinstance(name, str):
        raise TypeError(f"attribute name must be string, not '{type(name).__name__}'")
    if type(name) is not str:  # a subclass could answer the questions below in its own way
        raise PolicyRefusal(
            f"The name of an attribute must be a plain str, not {type(name).__name__}. Write str(name)."
        )
    if fault := attribute_fault(name, allowed=allowed):
        raise PolicyRefusal(" ".join(fault))
    return name
