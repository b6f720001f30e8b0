"""What runs when agent code reads an attribute or an item.

Rules:

- The transformer has checked each name that stands in the source; `words.check_attribute` checks those that are
  strings at run time. Here the *objects* are checked: what they are, and what they give.
- Some objects show nothing (frames, code, tracebacks, modules that did not come through an import), some show a part
  (the event loop, tasks). Objects that pass an attribute on from another (`super()`, `list[int]`) are asked as that
  other would be.
- What is read is never a module, frame, code object, metaclass, nor a builtin that goes past the guards. `str.format`
  is read as a function that reads attributes the way agent code does.
- Reading is what agent code does most: one look in a table for what the object is, one for what it gives.
"""

from __future__ import annotations

import asyncio
import builtins
import functools
import types
import typing
from collections.abc import Callable
from typing import Any, Final, ForwardRef, Never

from guest_stdlib.policy.formatting import format_methods, formatter_class
from guest_stdlib.policy.imports import AllowedModule, member_of
from guest_stdlib.policy.kind import Kind
from guest_stdlib.policy.violations import PolicyRefusal
from guest_stdlib.policy.words import ABSENT, NAMEDTUPLE, POLICY, check_attribute

__all__ = ["Formatter", "admitted", "has_rule", "read_attribute", "read_item"]

type Rule = Callable[[Any, str], object]


def read_attribute(subject: Any, name: str, /) -> Any:
    """`subject.name`, for a name that has been checked. Raises what that raises, and PolicyRefusal."""
    cls = type(subject)
    try:
        rule = _rules[cls]
    except KeyError:
        rule = _rule(cls)
    if rule is not None:
        return rule(subject, name)
    value = getattr(subject, name)
    kind = type(value)
    if kind is types.BuiltinFunctionType:  # a method of a builtin type, as a rule
        if value not in _PAST_THE_GUARDS and name not in _CAREFUL:
            return value
    elif kind not in _WATCHED and name not in _CAREFUL:
        return value
    return _admitted(value, name, subject)


def read_item(subject: Any, key: Any, /) -> Any:
    """`subject[key]`. Raises what that raises, and PolicyRefusal."""
    value = subject[key]
    if type(value) in _WATCHED:
        return _admitted(value, "", subject)
    return value


def admitted(value: Any) -> Any:
    """`value`, which a function of the library has read by itself, or what agent code has in its place."""
    return _admitted(value, "", None) if type(value) in _WATCHED else value


def has_rule(cls: type) -> bool:
    """Whether objects of this class are shown in part, or not at all. No class may derive from it."""
    return _rule(cls) is not None


# What is read

_FORMATS: Final = frozenset({"format", "format_map"})
_CAREFUL: Final = _FORMATS | NAMEDTUPLE
_INTERIOR: Final = (types.ModuleType, types.FrameType, types.CodeType)
_WATCHED: Final = frozenset({*_INTERIOR, types.BuiltinFunctionType, type})
_PAST_THE_GUARDS: Final = frozenset(
    getattr(builtins, name)
    for name in "__import__ breakpoint compile delattr eval exec getattr globals input locals open setattr vars".split()
)


def _admitted(value: Any, name: str, subject: object) -> object:
    """`value`, or what agent code has in its place."""
    if isinstance(value, _INTERIOR):
        _refuse(value)
    if isinstance(value, type):
        return Kind if issubclass(value, type) else value
    if type(value) is types.BuiltinFunctionType and value in _PAST_THE_GUARDS:
        name = value.__name__
        raise PolicyRefusal(
            f"The original {name}() is not available under {POLICY}. {ABSENT.get(name) or f'Call {name} by its name.'}"
        )
    if name in _FORMATS:
        return _format_method(value)
    if name in NAMEDTUPLE and not (
        isinstance(subject, tuple) or (isinstance(subject, type) and issubclass(subject, tuple))
    ):
        check_attribute(name, allowed=frozenset())
    return value


def _format_method(value: Any) -> object:
    """`value`, unless it is `str.format` or `str.format_map` in one of their forms: then what stands for it."""
    if isinstance(value, types.BuiltinMethodType) and isinstance(value.__self__, str):
        return functools.partial(_FORMAT_METHODS[value.__name__], value.__self__)
    if isinstance(value, types.MethodDescriptorType) and value.__objclass__ is str:
        return _FORMAT_METHODS[value.__name__]
    return value


def _step(value: object, key: Any, is_attribute: bool) -> object:
    return read_attribute(value, check_attribute(key)) if is_attribute else read_item(value, key)


_FORMAT_METHODS: Final = format_methods(_step)
Formatter: Final = formatter_class(_step)


# What it is read from


def _refuse(subject: object) -> Never:
    if isinstance(subject, types.ModuleType):
        raise PolicyRefusal(
            f'The module "{subject.__name__}" did not come through an import. Import what you need by its name.'
        )
    raise PolicyRefusal(
        f"A {type(subject).__name__} belongs to the interpreter; {POLICY} shows nothing of it. "
        "Leave it out; for an error, read its type, its message and its args."
    )


def _sealed(subject: object, _: str) -> Never:
    _refuse(subject)


_LOOP: Final = frozenset(
    (
        "call_at call_later call_soon close create_future create_task get_debug is_closed is_running "
        "run_until_complete stop time"
    ).split()
)
_NOT_OF_TASKS: Final = frozenset({"get_context", "get_stack", "print_stack"})


def _of_loop(loop: object, name: str) -> object:
    if name not in _LOOP:
        raise PolicyRefusal(f'"{name}" of the event loop is not available under {POLICY}. Call functions of asyncio.')
    return getattr(loop, name)


def _of_future(future: object, name: str) -> object:
    if name in _NOT_OF_TASKS:
        raise PolicyRefusal(f'"{name}" of a task is not available under {POLICY}. Read its name, result or exception.')
    return getattr(future, name)


_SELF_CLASS: Final = vars(super)["__self_class__"]


def _of_super(subject: object, name: str) -> object:
    """`super()` looks past a class, so it is the object's own class whose rule counts."""
    rule = _rule(_SELF_CLASS.__get__(subject))
    return rule(subject, name) if rule is not None else _admitted(getattr(subject, name), name, subject)


def _of_alias(alias: Any, name: str) -> object:
    """`list[int]` passes on the attributes of `list`."""
    return read_attribute(alias.__origin__, name)


def _of_class(cls: type, name: str) -> object:
    """What a class shows unbound is what its objects show."""
    if name == "mro":  # it leads from what agent code has to what that stands in for
        raise PolicyRefusal(
            f'"mro" of a class is not available under {POLICY}. Write issubclass(A, B) or isinstance(x, A).'
        )
    rule = _rule(cls)
    if rule in (_sealed, _of_loop, _of_future):
        return rule(cls, name)
    return _admitted(getattr(cls, name), name, cls)


_RULES_OF: Final[dict[type, Rule]] = {
    **dict.fromkeys((*_INTERIOR, types.TracebackType, ForwardRef), _sealed),
    AllowedModule: member_of,
    asyncio.AbstractEventLoop: _of_loop,
    asyncio.Future: _of_future,
    super: _of_super,
    types.GenericAlias: _of_alias,
    vars(typing)["_BaseGenericAlias"]: _of_alias,
    type: _of_class,
}
_rules: Final[dict[type, Rule | None]] = {}  # what was found for each class; a fact about the class, whoever asks


def _rule(cls: type) -> Rule | None:
    try:
        return _rules[cls]
    except KeyError:
        found = next((_RULES_OF[parent] for parent in cls.__mro__ if parent in _RULES_OF), None)
        _rules[cls] = found
        return found
