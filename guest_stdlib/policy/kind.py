"""`type` as agent code has it: it tells the type of a thing, and makes none.

`type` with three arguments makes a class that no transformer has seen, with any method that the standard library
trusts. The same goes for every metaclass, so none is ever handed out: the type of a class is `type`, this one.
"""

from __future__ import annotations

import asyncio
import builtins
import types
from typing import NoReturn

from guest_stdlib.policy.violations import PolicyRefusal
from guest_stdlib.policy.words import BASES, POLICY

__all__ = ["Kind"]


class _KindMeta(type):
    def __call__(cls, *args: object, **kwargs: object) -> type:
        if len(args) != 1 or kwargs:
            raise PolicyRefusal(f"type() makes no classes under {POLICY}. Write a class statement.")
        found = builtins.type(args[0])
        if issubclass(found, builtins.type):
            return cls
        if issubclass(found, asyncio.AbstractEventLoop):
            raise PolicyRefusal("The type of the event loop is not shown. Call functions of asyncio.")
        return found

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, builtins.type)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, builtins.type)


class Kind(metaclass=_KindMeta):
    """type(object) -> the object's type"""

    def __init_subclass__(cls, **_: object) -> NoReturn:
        raise PolicyRefusal(" ".join(BASES["type"]))

    def __class_getitem__(cls, item: object) -> object:
        return types.GenericAlias(cls, item)  # not of the original: calling `type[int]` calls what it is made of


Kind.__name__ = Kind.__qualname__ = "type"
Kind.__module__ = "builtins"
