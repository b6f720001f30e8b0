"""Known ways out of a restricted interpreter, each closed: rejected before anything runs, or refused without effect.

Sources: public write-ups of escapes from Python sandboxes, the security advisories of RestrictedPython and of the sandboxes built on
it, and our own attempts on these guards. `leaked` is where an escape would put what it got hold of.
"""

from __future__ import annotations

import builtins
import os

import pytest

from guest_stdlib.policy.violations import PolicyRefusal, PolicyViolation
from tests.policy_session import Session

# Rejected when the cell is compiled: (what is tried, the cell, all of its violations)
REJECTED = [
    ("subclasses walk", "().__class__.__base__.__subclasses__()", 'Line 1, column 4: "__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).\nLine 1, column 14: "__base__" starts with an underscore, which policy "restricted" does not allow. Leave it out.\nLine 1, column 23: "__subclasses__" starts with an underscore, which policy "restricted" does not allow. Leave it out.'),
    ("subclasses of object", "object.__subclasses__()", 'Line 1, column 8: "__subclasses__" starts with an underscore, which policy "restricted" does not allow. Leave it out.'),
    ("mro walk", "''.__class__.__mro__[1]", 'Line 1, column 4: "__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).\nLine 1, column 14: "__mro__" starts with an underscore, which policy "restricted" does not allow. Leave it out.'),
    ("bases", "class A: pass\nA.__bases__", 'Line 2, column 3: "__bases__" starts with an underscore, which policy "restricted" does not allow. Leave it out.'),
    ("dict of an instance", "class A: pass\nA().__dict__", 'Line 2, column 5: "__dict__" starts with an underscore, which policy "restricted" does not allow. Read the attributes by name, or use dataclasses.asdict(record).'),
    ("globals of a function", "def f(): pass\nf.__globals__", 'Line 2, column 3: "__globals__" starts with an underscore, which policy "restricted" does not allow. Leave it out.'),
    ("code of a function", "(lambda: 0).__code__", 'Line 1, column 13: "__code__" starts with an underscore, which policy "restricted" does not allow. Leave it out.'),
    ("closure", "def f(x):\n    return lambda: x\nf(1).__closure__[0].cell_contents", 'Line 3, column 6: "__closure__" starts with an underscore, which policy "restricted" does not allow. Leave it out.'),
    ("defaults", "def f(x=1): pass\nf.__defaults__", 'Line 2, column 3: "__defaults__" starts with an underscore, which policy "restricted" does not allow. Leave it out.'),
    ("self of a builtin", "print.__self__", 'Line 1, column 7: "__self__" starts with an underscore, which policy "restricted" does not allow. Leave it out.'),
    ("module of builtin", "len.__self__.eval", 'Line 1, column 5: "__self__" starts with an underscore, which policy "restricted" does not allow. Leave it out.'),
    ("builtins name", "__builtins__['eval']", 'Line 1, column 1: "__builtins__" starts with an underscore, which policy "restricted" does not allow. Call the builtin function by its name.'),
    ("loader name", "__loader__.load_module('os')", 'Line 1, column 1: "__loader__" starts with an underscore, which policy "restricted" does not allow. Leave it out.'),
    ("spec name", "__spec__", 'Line 1, column 1: "__spec__" starts with an underscore, which policy "restricted" does not allow. Leave it out.'),
    ("import function", "__import__('os').system('true')", 'Line 1, column 1: "__import__" starts with an underscore, which policy "restricted" does not allow. Write an import statement.'),
    ("eval", "eval('1+1')", 'Line 1, column 1: "eval" is not available under policy "restricted". Write the expression itself; to read data from text, json.loads(text).'),
    ("exec", "exec('x=1')", 'Line 1, column 1: "exec" is not available under policy "restricted". Write the code itself: a function, a lambda, or a table of functions.'),
    ("compile", "compile('1', 'x', 'eval')", 'Line 1, column 1: "compile" is not available under policy "restricted". Write the code itself: a function, a lambda, or a table of functions.'),
    ("open", "open('/etc/passwd').read()", 'Line 1, column 1: "open" is not available under policy "restricted". There are no files here: use the capabilities in scope, or io.StringIO for text in memory.'),
    ("globals()", "globals()['_getattr_']", 'Line 1, column 1: "globals" is not available under policy "restricted". Keep values in a dict of your own and look them up by key.'),
    ("locals()", "locals()", 'Line 1, column 1: "locals" is not available under policy "restricted". Keep values in a dict of your own and look them up by key.'),
    ("vars()", "vars(print)", 'Line 1, column 1: "vars" is not available under policy "restricted". Read the attributes by name, or use dataclasses.asdict(record).'),
    ("getattr constant", "getattr([], '__class__')", 'Line 1, column 13: "__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("UserString", "from collections import UserString", 'Line 1, column 25: "UserString" of module "collections" is not available under policy "restricted". Derive from str.'),
    ("fstring", "x = 1\nf'{x.__class__}'", 'Line 2, column 6: "__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("fstring private", "class A: pass\nx = A()\nf'{x._secret}'", 'Line 3, column 6: "_secret" starts with an underscore, which policy "restricted" does not allow. Write "secret" instead.'),
    ("generator frame", "(i for i in [1]).gi_frame", 'Line 1, column 18: "gi_frame" leads into the interpreter, which policy "restricted" does not allow. Leave it out; for an error, read its type, its message and its args.'),
    ("generator code", "(i for i in [1]).gi_code", 'Line 1, column 18: "gi_code" leads into the interpreter, which policy "restricted" does not allow. Leave it out; for an error, read its type, its message and its args.'),
    ("gi_yieldfrom", "def g(): yield from h\nh = g()\nnext(h).gi_yieldfrom", 'Line 3, column 9: "gi_yieldfrom" leads into the interpreter, which policy "restricted" does not allow. Leave it out; for an error, read its type, its message and its args.'),
    ("coroutine frame", "async def f(): pass\nf().cr_frame.f_back", 'Line 2, column 5: "cr_frame" leads into the interpreter, which policy "restricted" does not allow. Leave it out; for an error, read its type, its message and its args.\nLine 2, column 14: "f_back" leads into the interpreter, which policy "restricted" does not allow. Leave it out; for an error, read its type, its message and its args.'),
    ("cr_await", "async def f(): pass\nf().cr_await", 'Line 2, column 5: "cr_await" leads into the interpreter, which policy "restricted" does not allow. Leave it out; for an error, read its type, its message and its args.'),
    ("async generator frame", "async def f(): yield 1\nf().ag_frame", 'Line 2, column 5: "ag_frame" leads into the interpreter, which policy "restricted" does not allow. Leave it out; for an error, read its type, its message and its args.'),
    ("ag_await", "async def f(): yield 1\nf().ag_await", 'Line 2, column 5: "ag_await" leads into the interpreter, which policy "restricted" does not allow. Leave it out; for an error, read its type, its message and its args.'),
    ("traceback of an exception", "try: 1/0\nexcept ZeroDivisionError as e: e.__traceback__.tb_frame", 'Line 2, column 34: "__traceback__" starts with an underscore, which policy "restricted" does not allow. Read the type, the message and the args; traceback.format_exception(error) gives its text.\nLine 2, column 48: "tb_frame" leads into the interpreter, which policy "restricted" does not allow. Leave it out; for an error, read its type, its message and its args.'),
    ("tb_frame of __exit__", "class C:\n    def __enter__(self): return self\n    def __exit__(self, t, e, tb): leaked.append(tb.tb_frame)", 'Line 3, column 52: "tb_frame" leads into the interpreter, which policy "restricted" does not allow. Leave it out; for an error, read its type, its message and its args.'),
    ("f_globals", "x = 1\nx.f_globals", 'Line 2, column 3: "f_globals" leads into the interpreter, which policy "restricted" does not allow. Leave it out; for an error, read its type, its message and its args.'),
    ("f_builtins", "x = 1\nx.f_builtins", 'Line 2, column 3: "f_builtins" leads into the interpreter, which policy "restricted" does not allow. Leave it out; for an error, read its type, its message and its args.'),
    ("co_consts", "x = 1\nx.co_consts", 'Line 2, column 3: "co_consts" leads into the interpreter, which policy "restricted" does not allow. Leave it out; for an error, read its type, its message and its args.'),
    ("except star split", "class G(ExceptionGroup):\n    def split(self, kind): return 1\nleaked.append(G)", 'Line 1, column 9: A class cannot derive from ExceptionGroup under policy "restricted". Raise ExceptionGroup(message, errors) itself.'),
    ("except star binding", "try: pass\nexcept* ValueError as _getattr_: pass", 'Line 2, column 23: "_getattr_" starts with an underscore, which policy "restricted" does not allow. Write a name that begins with a letter.'),
    ("except star attribute", "try: raise ExceptionGroup('', [ValueError()])\nexcept* ValueError as e: e.__traceback__", 'Line 2, column 28: "__traceback__" starts with an underscore, which policy "restricted" does not allow. Read the type, the message and the args; traceback.format_exception(error) gives its text.'),
    ("match class attribute", "match 1:\n    case object(__class__=c): leaked.append(c)", 'Line 2, column 17: "__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("match frame attribute", "match (i for i in [1]):\n    case object(gi_frame=f): leaked.append(f)", 'Line 2, column 17: "gi_frame" leads into the interpreter, which policy "restricted" does not allow. Leave it out; for an error, read its type, its message and its args.'),
    ("match_args literal", "class A:\n    __match_args__ = ('__class__',)", 'Line 2, column 23: "__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("match_args computed", "class A:\n    __match_args__ = tuple(['__cla' 'ss__'])", 'Line 2, column 22: "__match_args__" is made of names in quotes under policy "restricted". Write __match_args__ = ("a", "b").'),
    ("match_args by setattr", "class A: pass\nsetattr(A, '__match_args__', ('__class__',))", 'Line 2, column 12: "__match_args__" starts with an underscore, which policy "restricted" does not allow. Define it in a class, by def or a plain assignment.'),
    ("match value pattern", "class L:\n    def __eq__(self, other): leaked.append(other); return False\nx = 'y'\nmatch L():\n    case x.__class__: pass", 'Line 5, column 12: "__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("match capture guard", "match 1:\n    case _getattr_: pass", 'Line 2, column 10: "_getattr_" starts with an underscore, which policy "restricted" does not allow. Write a name that begins with a letter.'),
    ("match star capture guard", "match [1]:\n    case [*_getitem_]: pass", 'Line 2, column 12: "_getitem_" starts with an underscore, which policy "restricted" does not allow. Write "getitem" instead.'),
    ("match mapping rest guard", "match {}:\n    case {**_write_}: pass", 'Line 2, column 13: "_write_" starts with an underscore, which policy "restricted" does not allow. Write "write" instead.'),
    ("match as guard", "match 1:\n    case int() as _write_: pass", 'Line 2, column 19: "_write_" starts with an underscore, which policy "restricted" does not allow. Write "write" instead.'),
    ("type with three arguments", "type('A', (), {'__reduce__': lambda s: (print, ())})", 'Line 1, column 1: type() makes no classes under policy "restricted". Write a class statement.'),
    ("type.__getattribute__", "type.__getattribute__(int, '__subclasses__')", 'Line 1, column 6: "__getattribute__" starts with an underscore, which policy "restricted" does not allow. Write getattr(x, name).'),
    ("type.__call__", "type.__call__(type, 'A', (), {})", 'Line 1, column 6: "__call__" starts with an underscore, which policy "restricted" does not allow. Call the object: x(...).'),
    ("deriving from type", "class M(type): pass\nleaked.append(M)", 'Line 1, column 9: A class cannot derive from type under policy "restricted". Derive from another class, or write a class decorator.'),
    ("metaclass keyword", "class A(metaclass=print): pass", 'Line 1, column 9: A class cannot choose its metaclass under policy "restricted". Derive from abc.ABC, enum.Enum or typing.Protocol, or write a class decorator.'),
    ("metaclass by options", "class A(**{'metaclass': print}): pass", 'Line 1, column 11: A class cannot take **options under policy "restricted". Write each option by its name.'),
    ("ABCMeta", "from abc import ABCMeta", 'Line 1, column 17: "ABCMeta" of module "abc" is not available under policy "restricted". Derive from abc.ABC.'),
    ("EnumType", "import enum\nleaked.append(enum.EnumType)", 'Line 2, column 20: "EnumType" of module "enum" is not available under policy "restricted". Derive from enum.Enum.'),
    ("enum global", "import enum\nenum.global_enum", 'Line 2, column 6: "global_enum" of module "enum" is not available under policy "restricted". Write the members with the name of the enum: Color.RED.'),
    ("reduce method", "class A:\n    def __reduce__(self): return (print, ())", 'Line 2, column 9: "__reduce__" starts with an underscore, which policy "restricted" does not allow. Define __copy__ or __deepcopy__.'),
    ("reduce_ex by assignment", "class A:\n    __reduce_ex__ = lambda s, p: (print, ())", 'Line 2, column 5: "__reduce_ex__" starts with an underscore, which policy "restricted" does not allow. Define __copy__ or __deepcopy__.'),
    ("getattribute method", "class A:\n    def __getattribute__(self, name): return 1", 'Line 2, column 9: "__getattribute__" starts with an underscore, which policy "restricted" does not allow. Define __getattr__, or a property for each name.'),
    ("setattr method", "class A:\n    def __setattr__(self, name, value): pass", 'Line 2, column 9: "__setattr__" starts with an underscore, which policy "restricted" does not allow. Define a property with a setter, or a method.'),
    ("class property", "class A:\n    @property\n    def __class__(self): return int", 'Line 3, column 9: "__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("instancecheck", "class A:\n    def __instancecheck__(self, x): return True", 'Line 2, column 9: "__instancecheck__" starts with an underscore, which policy "restricted" does not allow. Leave it out.'),
    ("del method", "class A:\n    def __del__(self): pass", 'Line 2, column 9: "__del__" starts with an underscore, which policy "restricted" does not allow. Leave it out.'),
    ("prepare", "class A:\n    def __prepare__(self): pass", 'Line 2, column 9: "__prepare__" starts with an underscore, which policy "restricted" does not allow. Leave it out.'),
    ("mro_entries", "class A:\n    def __mro_entries__(self, bases): return (type,)", 'Line 2, column 9: "__mro_entries__" starts with an underscore, which policy "restricted" does not allow. Leave it out.'),
    ("slots with dunder", "class A:\n    __slots__ = ('__class__',)", 'Line 2, column 18: "__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("slots by walrus", "class A:\n    (__slots__ := ['__class__'])", 'Line 2, column 6: "__slots__" starts with an underscore, which policy "restricted" does not allow. Define it in a class, by def or a plain assignment.'),
    ("make_dataclass", "import dataclasses\ndataclasses.make_dataclass('A', [('x', int)], namespace={'__reduce__': print})", 'Line 2, column 13: "make_dataclass" of module "dataclasses" is not available under policy "restricted". Write a class with @dataclass.'),
    ("update_wrapper", "from functools import update_wrapper", 'Line 1, column 23: "update_wrapper" of module "functools" is not available under policy "restricted". Write @functools.wraps(function) on the wrapper.'),
    ("singledispatch", "from functools import singledispatch", 'Line 1, column 23: "singledispatch" of module "functools" is not available under policy "restricted". Write a match statement over the types.'),
    ("get_type_hints", "import typing\nclass A:\n    x: '().__class__'\ntyping.get_type_hints(A)", 'Line 4, column 8: "get_type_hints" of module "typing" is not available under policy "restricted". For a dataclass, dataclasses.fields(record) gives names and types.'),
    ("ForwardRef import", "from typing import ForwardRef", 'Line 1, column 20: "ForwardRef" of module "typing" is not available under policy "restricted". Write the type\'s name in quotes.'),
    ("decorator builds guard", "@eval\ndef f(): pass", 'Line 1, column 2: "eval" is not available under policy "restricted". Write the expression itself; to read data from text, json.loads(text).'),
    ("decorator named guard", "def _getattr_(o, n): return o", 'Line 1, column 5: "_getattr_" starts with an underscore, which policy "restricted" does not allow. Write a name that begins with a letter.'),
    ("class named guard", "class _getattr_: pass", 'Line 1, column 7: "_getattr_" starts with an underscore, which policy "restricted" does not allow. Write a name that begins with a letter.'),
    ("assign guard", "_getattr_ = lambda o, n: o", 'Line 1, column 1: "_getattr_" starts with an underscore, which policy "restricted" does not allow. Write a name that begins with a letter.'),
    ("assign getitem guard", "_getitem_ = None", 'Line 1, column 1: "_getitem_" starts with an underscore, which policy "restricted" does not allow. Write "getitem" instead.'),
    ("assign metaclass guard", "__metaclass__ = type", 'Line 1, column 1: "__metaclass__" starts with an underscore, which policy "restricted" does not allow. Leave it out.'),
    ("assign write in tuple", "x, _write_ = 1, 2", 'Line 1, column 4: "_write_" starts with an underscore, which policy "restricted" does not allow. Write "write" instead.'),
    ("augmented assign guard", "_write_ += 1", 'Line 1, column 1: "_write_" starts with an underscore, which policy "restricted" does not allow. Write "write" instead.'),
    ("annotated assign guard", "_getattr_: object = 1", 'Line 1, column 1: "_getattr_" starts with an underscore, which policy "restricted" does not allow. Write a name that begins with a letter.'),
    ("for target guard", "for _getattr_ in [1]: pass", 'Line 1, column 5: "_getattr_" starts with an underscore, which policy "restricted" does not allow. Write a name that begins with a letter.'),
    ("with target guard", "with x as _getattr_: pass", 'Line 1, column 11: "_getattr_" starts with an underscore, which policy "restricted" does not allow. Write a name that begins with a letter.'),
    ("del guard", "del _getattr_", 'Line 1, column 5: "_getattr_" starts with an underscore, which policy "restricted" does not allow. Write a name that begins with a letter.'),
    ("global guard", "def f():\n    global _getattr_\n    x = 1", 'Line 2, column 12: "_getattr_" starts with an underscore, which policy "restricted" does not allow. Write a name that begins with a letter.'),
    ("nonlocal guard", "def f():\n    nonlocal _getattr_\n    x = 1", 'Line 2, column 14: "_getattr_" starts with an underscore, which policy "restricted" does not allow. Write a name that begins with a letter.'),
    ("walrus guard", "(_getattr_ := 1)", 'Line 1, column 2: "_getattr_" starts with an underscore, which policy "restricted" does not allow. Write a name that begins with a letter.'),
    ("walrus guard in comprehension", "[(_getattr_ := x) for x in [1]]", 'Line 1, column 3: "_getattr_" starts with an underscore, which policy "restricted" does not allow. Write a name that begins with a letter.'),
    ("comprehension target guard", "[1 for _getattr_ in [1]]", 'Line 1, column 8: "_getattr_" starts with an underscore, which policy "restricted" does not allow. Write a name that begins with a letter.'),
    ("import as guard", "import math as _getattr_", 'Line 1, column 16: "_getattr_" starts with an underscore, which policy "restricted" does not allow. Write a name that begins with a letter.'),
    ("from import as guard", "from math import pi as _getattr_", 'Line 1, column 24: "_getattr_" starts with an underscore, which policy "restricted" does not allow. Write a name that begins with a letter.'),
    ("parameter guard", "def f(_getattr_): pass", 'Line 1, column 7: "_getattr_" starts with an underscore, which policy "restricted" does not allow. Write a name that begins with a letter.'),
    ("keyword parameter guard", "def f(*, _write_=1): pass", 'Line 1, column 10: "_write_" starts with an underscore, which policy "restricted" does not allow. Write "write" instead.'),
    ("positional-only parameter guard", "def f(_write_, /): pass", 'Line 1, column 7: "_write_" starts with an underscore, which policy "restricted" does not allow. Write "write" instead.'),
    ("star parameter guard", "def f(*_getattr_): pass", 'Line 1, column 8: "_getattr_" starts with an underscore, which policy "restricted" does not allow. Write a name that begins with a letter.'),
    ("lambda parameter guard", "lambda _getattr_: 1", 'Line 1, column 8: "_getattr_" starts with an underscore, which policy "restricted" does not allow. Write a name that begins with a letter.'),
    ("lambda kwargs guard", "lambda **_getattr_: 1", 'Line 1, column 10: "_getattr_" starts with an underscore, which policy "restricted" does not allow. Write a name that begins with a letter.'),
    ("except name guard", "try: pass\nexcept ValueError as _getattr_: pass", 'Line 2, column 22: "_getattr_" starts with an underscore, which policy "restricted" does not allow. Write a name that begins with a letter.'),
    ("type parameter guard", "def f[_getattr_](x): pass", 'Line 1, column 7: "_getattr_" starts with an underscore, which policy "restricted" does not allow. Write a name that begins with a letter.'),
    ("type alias guard", "type _getattr_ = int", 'Line 1, column 6: "_getattr_" starts with an underscore, which policy "restricted" does not allow. Write a name that begins with a letter.'),
    ("class attribute private", "class A:\n    _getattr_ = 1", 'Line 2, column 5: "_getattr_" starts with an underscore, which policy "restricted" does not allow. Write a name that begins with a letter.'),
    ("class attribute dunder", "class A:\n    __module__ = 'os'", 'Line 2, column 5: "__module__" starts with an underscore, which policy "restricted" does not allow. Leave it out.'),
    ("reading a guard", "_getattr_(1, '__class__')", 'Line 1, column 1: "_getattr_" starts with an underscore, which policy "restricted" does not allow. Write a name that begins with a letter.'),
    ("reading the metaclass guard", "__metaclass__('A', (), {})", 'Line 1, column 1: "__metaclass__" starts with an underscore, which policy "restricted" does not allow. Leave it out.'),
    ("annotation", "def f(x: (1).__class__): pass", 'Line 1, column 14: "__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("lambda in an annotation", "x: (lambda: ().__class__) = 1", 'Line 1, column 16: "__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("return annotation", "def f() -> ().__class__: pass", 'Line 1, column 15: "__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("type parameter bound", "def f[T: ().__class__](x: T): pass", 'Line 1, column 13: "__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("type alias value", "type X = ().__class__", 'Line 1, column 13: "__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("default argument", "def f(x=().__class__): pass", 'Line 1, column 12: "__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("lambda default", "lambda x=().__class__: x", 'Line 1, column 13: "__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("await attribute", "await (1).__class__", 'Line 1, column 11: "__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("yield from attribute", "def f(): yield from ().__class__", 'Line 1, column 24: "__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("async for attribute", "async def f():\n    async for x in ().__class__: pass", 'Line 2, column 23: "__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("async comprehension attribute", "[x async for x in ().__class__]", 'Line 1, column 22: "__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("raise attribute", "raise ().__class__", 'Line 1, column 10: "__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("assert attribute", "assert ().__class__", 'Line 1, column 11: "__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("slice attribute", "[1][().__class__:]", 'Line 1, column 8: "__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("star argument attribute", "print(*().__class__)", 'Line 1, column 11: "__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("double star argument attribute", "print(**().__dict__)", 'Line 1, column 12: "__dict__" starts with an underscore, which policy "restricted" does not allow. Read the attributes by name, or use dataclasses.asdict(record).'),
    ("dict comprehension attribute", "{k: v for k, v in ().__class__}", 'Line 1, column 22: "__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("star import", "from math import *", 'Line 1, column 18: "import *" hides which names it binds, which policy "restricted" does not allow. Write from math import and the names that you need.'),
    ("relative import", "from . import x", 'Line 1, column 1: Relative imports are not available under policy "restricted". Import a module by its full name.'),
    ("import os", "import os", 'Line 1, column 8: Module "os" is not available under policy "restricted". For paths as text import pathlib.PurePosixPath; for files use the capabilities in scope.'),
    ("import sys", "import sys", 'Line 1, column 8: Module "sys" is not available under policy "restricted". print writes to the output; the cell ends at its last line, or where it raises.'),
    ("import builtins", "import builtins", 'Line 1, column 8: Module "builtins" is not available under policy "restricted". There is no way into the interpreter: write the code itself.'),
    ("import importlib", "import importlib", 'Line 1, column 8: Module "importlib" is not available under policy "restricted". There is no way into the interpreter: write the code itself.'),
    ("import subprocess", "import subprocess", 'Line 1, column 8: Module "subprocess" is not available under policy "restricted". There are no processes here: use the capabilities in scope.'),
    ("import ctypes", "import ctypes", 'Line 1, column 8: Module "ctypes" is not available under policy "restricted". There is no way into the interpreter: write the code itself.'),
    ("import pickle", "import pickle", 'Line 1, column 8: Module "pickle" is not available under policy "restricted". Use json.dumps and json.loads.'),
    ("import copyreg", "import copyreg", 'Line 1, column 8: Module "copyreg" is not available under policy "restricted". Define __copy__ or __deepcopy__ in the class.'),
    ("import inspect", "import inspect", 'Line 1, column 8: Module "inspect" is not available under policy "restricted". There is no way into the interpreter: write the code itself.'),
    ("import gc", "import gc", 'Line 1, column 8: Module "gc" is not available under policy "restricted". There is no way into the interpreter: write the code itself.'),
    ("import os.path", "import os.path as p", 'Line 1, column 8: Module "os.path" is not available under policy "restricted". Use pathlib.PurePosixPath.'),
    ("import weakref", "import weakref", 'Line 1, column 8: Module "weakref" is not available under policy "restricted". Hold the object itself.'),
    ("import in a function", "def f():\n    import socket", 'Line 2, column 12: Module "socket" is not available under policy "restricted". There is no network here: use the capabilities in scope.'),
    ("import of a submodule", "import json.decoder", 'Line 1, column 8: Module "json.decoder" is not available under policy "restricted". Write import json: json offers JSONDecodeError, JSONDecoder, JSONEncoder, dump, dumps, load, loads.'),
    ("from import of a submodule", "from json import decoder", 'Line 1, column 18: "decoder" of module "json" is not available under policy "restricted". json offers JSONDecodeError, JSONDecoder, JSONEncoder, dump, dumps, load, loads.'),
    ("module attribute", "import json\njson.codecs", 'Line 2, column 6: "codecs" of module "json" is not available under policy "restricted". json offers JSONDecodeError, JSONDecoder, JSONEncoder, dump, dumps, load, loads.'),
    ("random._os", "import random\nrandom._os", 'Line 2, column 8: "_os" starts with an underscore, which policy "restricted" does not allow. Leave it out.'),
    ("from random import _os", "from random import _os", 'Line 1, column 20: "_os" starts with an underscore, which policy "restricted" does not allow. Leave it out.'),
    ("re.enum", "import re\nre.enum", 'Line 2, column 4: "enum" of module "re" is not available under policy "restricted". Write import enum.'),
    ("dataclasses.sys", "import dataclasses\ndataclasses.sys", 'Line 2, column 13: "sys" of module "dataclasses" is not available under policy "restricted". print writes to the output; the cell ends at its last line, or where it raises.'),
    ("typing.sys", "import typing\ntyping.sys", 'Line 2, column 8: "sys" of module "typing" is not available under policy "restricted". print writes to the output; the cell ends at its last line, or where it raises.'),
    ("asyncio.sys", "import asyncio\nasyncio.sys", 'Line 2, column 9: "sys" of module "asyncio" is not available under policy "restricted". print writes to the output; the cell ends at its last line, or where it raises.'),
    ("pathlib.Path", "from pathlib import Path", 'Line 1, column 21: "Path" of module "pathlib" is not available under policy "restricted". There are no files here: for paths as text use pathlib.PurePosixPath.'),
    ("ElementTree.parse", "import xml.etree.ElementTree as ET\nET.parse('x')", 'Line 2, column 4: "parse" of module "xml.etree.ElementTree" is not available under policy "restricted". Use xml.etree.ElementTree.fromstring(text).'),
    ("io.open", "import io\nio.open('x')", 'Line 2, column 4: "open" of module "io" is not available under policy "restricted". There are no files here: use the capabilities in scope, or io.StringIO and io.BytesIO for data in memory.'),
    ("super dunder", "class A:\n    def f(self): return super().__getattribute__('x')", 'Line 2, column 33: "__getattribute__" starts with an underscore, which policy "restricted" does not allow. Write getattr(x, name).'),
    ("super class", "class A:\n    def f(self): return super().__class__", 'Line 2, column 33: "__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("super thisclass", "class A:\n    def f(self): return super().__self_class__", 'Line 2, column 33: "__self_class__" starts with an underscore, which policy "restricted" does not allow. Leave it out.'),
    ("json hook", "import json\nclass E(json.JSONEncoder):\n    def default(self, o): return o.__class__\njson.dumps(1, cls=E)", 'Line 3, column 36: "__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("json object hook", "import json\njson.loads('{}', object_hook=lambda d: d.__class__)", 'Line 2, column 42: "__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("private attribute", "class A: pass\nA()._x", 'Line 2, column 5: "_x" starts with an underscore, which policy "restricted" does not allow. Write "x" instead.'),
    ("private set", "class A:\n    def __init__(self): self._x = 1", 'Line 2, column 30: "_x" starts with an underscore, which policy "restricted" does not allow. Write "x" instead.'),
    ("private augmented", "class A: pass\na = A()\na._x += 1", 'Line 3, column 3: "_x" starts with an underscore, which policy "restricted" does not allow. Write "x" instead.'),
    ("private del", "class A: pass\na = A()\ndel a._x", 'Line 3, column 7: "_x" starts with an underscore, which policy "restricted" does not allow. Write "x" instead.'),
    ("mangled", "class A:\n    def __init__(self): self.__x = 1", 'Line 2, column 30: "__x" starts with an underscore, which policy "restricted" does not allow. Write "x" instead.'),
    ("breakpoint", "breakpoint()", 'Line 1, column 1: "breakpoint" is not available under policy "restricted". Print what you want to see.'),
    ("input", "input('?')", 'Line 1, column 1: "input" is not available under policy "restricted". Ask through a capability that is in scope, or set the value in the code.'),
    ("exit", "exit()", 'Line 1, column 1: "exit" is not available under policy "restricted". Let the cell end, or raise an exception.'),
    ("help", "help(1)", 'Line 1, column 1: "help" is not available under policy "restricted". Print the object, or the names that dir(object) gives.'),
    ("memoryview", "memoryview(b'x')", 'Line 1, column 1: "memoryview" is not available under policy "restricted". Use slices of bytes or bytearray.'),
    ("nested function eval", "def f():\n    def g(): return eval('1')\n    return g", 'Line 2, column 21: "eval" is not available under policy "restricted". Write the expression itself; to read data from text, json.loads(text).'),
    ("hidden in fstring spec", "x = 1\nf'{x:{x.__class__}}'", 'Line 2, column 9: "__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("lambda body", "(lambda: ().__class__)()", 'Line 1, column 13: "__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("conditional", "1 if ().__class__ else 2", 'Line 1, column 9: "__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("chained compare", "1 < ().__class__ < 2", 'Line 1, column 8: "__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("starred assignment", "a, *_b = 1, 2", 'Line 1, column 5: "_b" starts with an underscore, which policy "restricted" does not allow. Write "b" instead.'),
    ("class keyword argument", "class A(x=().__class__): pass", 'Line 1, column 14: "__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("class base", "class A(().__class__): pass", 'Line 1, column 12: "__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("star base", "class A(*().__class__): pass", 'Line 1, column 13: "__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("traceback module frames", "import traceback\ntraceback.walk_tb", 'Line 2, column 11: "walk_tb" of module "traceback" is not available under policy "restricted". traceback offers format_exc, format_exception, format_exception_only, print_exc, print_exception.'),
    ("contextlib redirect", "import contextlib\ncontextlib.redirect_stdout", 'Line 2, column 12: "redirect_stdout" of module "contextlib" is not available under policy "restricted". Write print(..., file=buffer) with buffer = io.StringIO().'),
    ("decorator attribute", "@().__class__\ndef f(): pass", 'Line 1, column 5: "__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("private keyword-only in class", "class A:\n    def f(self, *, _x): pass", 'Line 2, column 20: "_x" starts with an underscore, which policy "restricted" does not allow. Write "x" instead.'),
    ("compatibility characters in an attribute", "().__\uff43lass__", 'Line 1, column 1: "__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("compatibility characters in a name", "_\uff47etattr_ = 1", 'Line 1, column 1: "_getattr_" starts with an underscore, which policy "restricted" does not allow. Write a name that begins with a letter.'),
    ("compatibility characters in an inspected attribute", "x = 1\nx.gi_\uff46rame", 'Line 2, column 1: "gi_frame" leads into the interpreter, which policy "restricted" does not allow. Leave it out; for an error, read its type, its message and its args.'),
    ("type parameter default", "def f[T](x: T = ().__class__): pass", 'Line 1, column 20: "__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("object.__new__", "class A: pass\nobject.__new__(A)", 'Line 2, column 8: "__new__" starts with an underscore, which policy "restricted" does not allow. Call the class; in its own __new__, write super().__new__(cls).'),
    ("object.__setattr__", "class A: pass\nobject.__setattr__(A(), '__class__', int)", 'Line 2, column 8: "__setattr__" starts with an underscore, which policy "restricted" does not allow. Write setattr(x, name, value), or leave out frozen=True.'),
    ("nested generator frame in lambda", "(lambda g: g.gi_frame)((i for i in ()))", 'Line 1, column 14: "gi_frame" leads into the interpreter, which policy "restricted" does not allow. Leave it out; for an error, read its type, its message and its args.'),
    ("function made from code", "f = lambda: 0\ntype(f)(f.__code__, {})", 'Line 2, column 11: "__code__" starts with an underscore, which policy "restricted" does not allow. Leave it out.'),
    ("method wrapper", "class A:\n    def f(self): pass\nA().f.__func__", 'Line 3, column 7: "__func__" starts with an underscore, which policy "restricted" does not allow. Leave it out.'),
    ("walrus in a class", "class A:\n    (_hidden := 1)", 'Line 2, column 6: "_hidden" starts with an underscore, which policy "restricted" does not allow. Write "hidden" instead.'),
    ("async with target guard", "async def f():\n    async with x as _getattr_: pass", 'Line 2, column 21: "_getattr_" starts with an underscore, which policy "restricted" does not allow. Write a name that begins with a letter.'),
    ("async for target guard", "async def f():\n    async for _getattr_ in x: pass", 'Line 2, column 15: "_getattr_" starts with an underscore, which policy "restricted" does not allow. Write a name that begins with a letter.'),
    ("async comprehension target guard", "async def f(): return [1 async for _getattr_ in x]", 'Line 1, column 36: "_getattr_" starts with an underscore, which policy "restricted" does not allow. Write a name that begins with a letter.'),
    ("async def guard", "async def _getattr_(): pass", 'Line 1, column 11: "_getattr_" starts with an underscore, which policy "restricted" does not allow. Write a name that begins with a letter.'),
    ("match class name", "match 1:\n    case __builtins__(): pass", 'Line 2, column 10: "__builtins__" starts with an underscore, which policy "restricted" does not allow. Call the builtin function by its name.'),
    ("match absent builtin", "match 1:\n    case eval(): pass", 'Line 2, column 10: "eval" is not available under policy "restricted". Write the expression itself; to read data from text, json.loads(text).'),
    ("match mapping key", "class A: pass\nx = A()\nmatch {1: 2}:\n    case {x.__class__: y}: pass", 'Line 4, column 13: "__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("dunder loop target in a class", "class A:\n    for __reduce__ in [1]: pass", 'Line 2, column 9: "__reduce__" starts with an underscore, which policy "restricted" does not allow. Define __copy__ or __deepcopy__.'),
    ("dunder import in a class", "class A:\n    import math as __init__", 'Line 2, column 20: "__init__" starts with an underscore, which policy "restricted" does not allow. Define it in a class, by def or a plain assignment.'),
    ("nested method-like function", "def f():\n    def __init__(): pass", 'Line 2, column 9: "__init__" starts with an underscore, which policy "restricted" does not allow. Define it in a class, by def or a plain assignment.'),
    ("kwonly default", "def f(*, x=().__class__): pass", 'Line 1, column 15: "__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("subscript of class", "list[().__class__]", 'Line 1, column 9: "__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("set with attribute", "{().__class__}", 'Line 1, column 5: "__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("global statement in class", "class A:\n    global _getattr_", 'Line 2, column 12: "_getattr_" starts with an underscore, which policy "restricted" does not allow. Write a name that begins with a letter.'),
    ("reduce through super", "class A: pass\nleaked.append(super(A, A()).__reduce_ex__(2))", 'Line 2, column 29: "__reduce_ex__" starts with an underscore, which policy "restricted" does not allow. Leave it out.'),
]  # fmt: skip

# Refused when it is tried, since only then it shows: (what is tried, the cell, the refusal)
REFUSED = [
    ("mro method", "leaked.append(int.mro())", '"mro" of a class is not available under policy "restricted". Write issubclass(A, B) or isinstance(x, A).'),
    ("getattr built name", "leaked.append(getattr([], '__cla' + 'ss__'))", '"__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("getattr str subclass", "class S(str):\n    def startswith(self, *a): return False\nleaked.append(getattr([], S('__class__')))", "The name of an attribute must be a plain str, not S. Write str(name)."),
    ("setattr dunder", "class A: pass\nname = '__cla' + 'ss__'\nsetattr(A(), name, int)", '"__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("delattr dunder", "class A: pass\nname = '__do' + 'c__'\ndelattr(A, name)", '"__doc__" starts with an underscore, which policy "restricted" does not allow. Leave it out.'),
    ("map getattr", "leaked.extend(map(getattr, [1], ['__cla' 'ss__']))", '"__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("reduce getattr", "import functools\nleaked.append(functools.reduce(getattr, ['__cla' 'ss__', '__ba' 'se__'], 1))", '"__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("partial getattr", "import functools\nleaked.append(functools.partial(getattr, 1)('__cla' 'ss__'))", '"__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("attrgetter", "import operator\nleaked.append(operator.attrgetter('__cla' 'ss__')(1))", '"__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("attrgetter dotted", "import operator\nleaked.append(operator.attrgetter('real.__cla' 'ss__')(1))", '"__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("methodcaller", "import operator\nleaked.append(operator.methodcaller('__subcl' 'asses__')(int))", '"__subclasses__" starts with an underscore, which policy "restricted" does not allow. Leave it out.'),
    ("methodcaller format", "import operator\nleaked.append(operator.methodcaller('format', 1)('{0.__class__}'))", '"__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("str.format", "leaked.append('{0.__class__}'.format(1))", '"__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("str.format item then attribute", "leaked.append('{0[0].__class__}'.format([1]))", '"__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("str.format in a spec", "leaked.append('{0:{1.__class__}}'.format(1, 2))", '"__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("str.format unbound", "leaked.append(str.format('{0.__class__}', 1))", '"__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("format_map", "leaked.append('{a.__class__}'.format_map({'a': 1}))", '"__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("format through super", "class S(str):\n    def leak(self): return super().format(1)\nleaked.append(S('{0.__class__}').leak())", '"__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("format of str subclass", "class S(str): pass\nleaked.append(S('{0.__class__}').format(1))", '"__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("format through an alias", "leaked.append(type(list[int])(str, (int,)).format('{0.__class__}', 1))", '"__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("format through Annotated", "import typing\nleaked.append(typing.Annotated[str, 1].format('{0.__class__}', 1))", '"__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("format through a match", "match '{0.__class__}':\n    case str(format=f): leaked.append(f(1))", '"__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("format through +=", "class S(str): pass\nclass R:\n    def __radd__(self, other): leaked.append(other(1)); return 1\ns = S('{0.__class__}')\ns.format += R()", '"__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("format of enum", "import enum\nclass E(str, enum.Enum):\n    A = '{0.__class__}'\nleaked.append(E.A.format(1))", '"__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("string.Formatter", "import string\nleaked.append(string.Formatter().format('{0.__class__}', 1))", '"__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("Formatter.get_field", "import string\nleaked.append(string.Formatter().get_field('0.__class__', (1,), {}))", '"__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("Formatter via mro", "import string\nleaked.append(string.Formatter.mro()[1])", '"mro" of a class is not available under policy "restricted". Write issubclass(A, B) or isinstance(x, A).'),
    ("traceback of __exit__", "class C:\n    def __enter__(self): return self\n    def __exit__(self, t, e, tb):\n        leaked.append(tb.tb_lineno)\n        return True\nwith C(): 1/0", 'A traceback belongs to the interpreter; policy "restricted" shows nothing of it. Leave it out; for an error, read its type, its message and its args.'),
    ("frame through getattr", "leaked.append(getattr((i for i in [1]), 'gi_' + 'frame'))", '"gi_frame" leads into the interpreter, which policy "restricted" does not allow. Leave it out; for an error, read its type, its message and its args.'),
    ("frames of a task", "import asyncio\nasync def f(): pass\nt = asyncio.create_task(f())\nleaked.append(t.get_stack())\nawait t", '"get_stack" of a task is not available under policy "restricted". Read its name, result or exception.'),
    ("frames of a task, unbound", "import asyncio\nleaked.append(asyncio.Task.get_stack)", '"get_stack" of a task is not available under policy "restricted". Read its name, result or exception.'),
    ("context of a task", "import asyncio\nleaked.append(asyncio.current_task().get_context())\nawait asyncio.sleep(0)", '"get_context" of a task is not available under policy "restricted". Read its name, result or exception.'),
    ("event loop", "import asyncio\nloop = asyncio.get_running_loop()\nleaked.append(loop.run_in_executor(None, print))\nawait asyncio.sleep(0)", '"run_in_executor" of the event loop is not available under policy "restricted". Call functions of asyncio.'),
    ("type of the event loop", "import asyncio\nleaked.append(type(asyncio.get_running_loop()))\nawait asyncio.sleep(0)", "The type of the event loop is not shown. Call functions of asyncio."),
    ("deriving from Task", "import asyncio\nclass T(asyncio.Task):\n    pass\nleaked.append(T)", 'A class cannot derive from Task under policy "restricted". Keep one in an attribute of your class.'),
    ("super of a task", "import asyncio\nleaked.append(super(asyncio.Task, asyncio.current_task()).get_context)\nawait asyncio.sleep(0)", '"get_context" of a task is not available under policy "restricted". Read its name, result or exception.'),
    ("match value pattern through format", "class L:\n    def __eq__(self, other): leaked.append(other(1)); return False\ns = '{0.__class__}'\nmatch L():\n    case s.format: pass", '"__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
    ("match task frames", "import asyncio\nmatch asyncio.current_task():\n    case asyncio.Task(get_stack=f): leaked.append(f)\nawait asyncio.sleep(0)", '"get_stack" of a task is not available under policy "restricted". Read its name, result or exception.'),
    ("type with three arguments, renamed", "make = type\nleaked.append(make('A', (), {}))", 'type() makes no classes under policy "restricted". Write a class statement.'),
    ("type of a type", "leaked.append(type(type(1))('A', (), {}))", 'type() makes no classes under policy "restricted". Write a class statement.'),
    ("type of a class", "import abc\nleaked.append(type(abc.ABC)('A', (), {}))", 'type() makes no classes under policy "restricted". Write a class statement.'),
    ("enum with dunder members", "import enum\nleaked.append(enum.Enum('E', {'__reduce_ex__': lambda s, p: (print, ())}))", '"__reduce_ex__" starts with an underscore, which policy "restricted" does not allow. Define __copy__ or __deepcopy__.'),
    ("enum of raw parent", "import enum\nclass E(enum.Enum): A = 1\nleaked.append(E.mro()[2])", '"mro" of a class is not available under policy "restricted". Write issubclass(A, B) or isinstance(x, A).'),
    ("dataclass of the library", "import dataclasses, json\ndataclasses.dataclass(json.JSONEncoder)\nleaked.append(1)", 'The class "JSONEncoder" is not yours to change under policy "restricted". Write @dataclass on a class of your own.'),
    ("total_ordering of the library", "import functools, decimal\nfunctools.total_ordering(decimal.Decimal)\nleaked.append(1)", 'The class "Decimal" is not yours to change under policy "restricted". Write @total_ordering on a class of your own.'),
    ("wraps on the library", "import functools, json\nfunctools.wraps(print)(json.dumps)\nleaked.append(1)", 'Only a function of your own can be a wrapper under policy "restricted". Write @wraps(function) on a def.'),
    ("ForwardRef", "import typing\nleaked.append(typing.get_args(typing.Optional['().__class__'])[0].evaluate())", 'A ForwardRef belongs to the interpreter; policy "restricted" shows nothing of it. Leave it out; for an error, read its type, its message and its args.'),
    ("module attribute, renamed", "import json\nj = json\nleaked.append(j.codecs)", '"codecs" of module "json" is not available under policy "restricted". json offers JSONDecodeError, JSONDecoder, JSONEncoder, dump, dumps, load, loads.'),
    ("module attribute by getattr", "import json\nleaked.append(getattr(json, 'codecs'))", '"codecs" of module "json" is not available under policy "restricted". json offers JSONDecodeError, JSONDecoder, JSONEncoder, dump, dumps, load, loads.'),
    ("parser of a path", "import pathlib\nleaked.append(pathlib.PurePosixPath.parser)", 'The module "posixpath" did not come through an import. Import what you need by its name.'),
    ("changing a module", "import json\njson.dumps = print", 'The module "json" cannot be changed under policy "restricted". Use a name of your own.'),
    ("changing a module by setattr", "import json\nsetattr(json, 'dumps', print)\nleaked.append(1)", 'The module "json" cannot be changed under policy "restricted". Use a name of your own.'),
    ("changing a class of the library", "import json\njson.JSONEncoder.default = print\nleaked.append(1)", 'The class "JSONEncoder" cannot be changed under policy "restricted". Derive a class of your own from it.'),
    ("changing a builtin class", "int.x = 1\nleaked.append(1)", 'The class "int" cannot be changed under policy "restricted". Derive a class of your own from it.'),
    ("changing a function of the library", "import json\njson.dumps.x = 1\nleaked.append(1)", 'The function "dumps" cannot be changed under policy "restricted". Write a function of your own that calls it.'),
    ("changing a guard builtin", "getattr.x = 1\nleaked.append(1)", 'The function "getattr" cannot be changed under policy "restricted". Write a function of your own that calls it.'),
    ("augmented change of a module", "import math\nmath.pi += 1\nleaked.append(1)", 'The module "math" cannot be changed under policy "restricted". Use a name of your own.'),
    ("changing an exception group", "g = ExceptionGroup('', [ValueError()])\ng.split = print\nleaked.append(1)", 'An exception group cannot be changed under policy "restricted". Raise ExceptionGroup(message, errors) with what belongs in it.'),
    ("changing a capability", "contacts.find = print\nleaked.append(1)", 'An object of type "Contacts" cannot be changed under policy "restricted". Keep the value in a name or a dict of your own.'),
    ("changing a class attribute of a capability", "type(contacts).find = print\nleaked.append(1)", 'The class "Contacts" cannot be changed under policy "restricted". Derive a class of your own from it.'),
    ("name of a raw module in a container", "leaked.append(raw['os'].name)", 'The module "os" did not come through an import. Import what you need by its name.'),
    ("raw module by item", "x = raw['os']\nleaked.append(x)", 'The module "os" did not come through an import. Import what you need by its name.'),
    ("raw module by loop", "for x in raw.values(): leaked.append(x.name)", 'The module "os" did not come through an import. Import what you need by its name.'),
    ("raw builtin by item", "leaked.append(builtin['eval']('1'))", 'The original eval() is not available under policy "restricted". Write the expression itself; to read data from text, json.loads(text).'),
    ("module of an AttributeError", "try: holder.fail()\nexcept AttributeError as e: leaked.append(e.obj)", 'The module "os" did not come through an import. Import what you need by its name.'),
    ("namedtuple method on others", "leaked.append(holder._replace())", '"_replace" starts with an underscore, which policy "restricted" does not allow. Write "replace" instead.'),
    ("alias of type", "leaked.append(type[int]('A', (), {}))", 'type() makes no classes under policy "restricted". Write a class statement.'),
    ("origin of typing.Type", "import typing\nleaked.append(typing.get_origin(typing.Type[int])('A', (), {}))", 'type() makes no classes under policy "restricted". Write a class statement.'),
    ("deriving from typing.Type", "import typing\nclass M(typing.Type): pass\nleaked.append(M)", 'A class cannot derive from type under policy "restricted". Derive from another class, or write a class decorator.'),
    ("deriving from an alias of type", "class M(type[int]): pass\nleaked.append(M)", 'A class cannot derive from type under policy "restricted". Derive from another class, or write a class decorator.'),
    ("mro through an alias", "import typing\nleaked.append(typing.Type[int].mro)", '"mro" of a class is not available under policy "restricted". Write issubclass(A, B) or isinstance(x, A).'),
    ("class of the module view", "import json\nleaked.append(type(json)('os', None, print).getcwd)", '"getcwd" of module "os" is not available under policy "restricted". Leave it out.'),
    ("deriving from the module view", "import json\nclass M(type(json)): pass\nleaked.append(M)", 'A class cannot derive from module under policy "restricted". Keep one in an attribute of your class.'),
    ("attrgetter on a module", "import operator, json\nleaked.append(operator.attrgetter('decoder')(json))", '"decoder" of module "json" is not available under policy "restricted". json offers JSONDecodeError, JSONDecoder, JSONEncoder, dump, dumps, load, loads.'),
    ("enum of type", "import enum\nleaked.append(enum.Enum('E', {'A': 1}, type=type))", 'A class cannot derive from type under policy "restricted". Derive from another class, or write a class decorator.'),
    ("generic alias of the loop", "import asyncio\nloop = asyncio.get_running_loop()\nleaked.append(type(list[int])(loop, (int,)).call_exception_handler)\nawait asyncio.sleep(0)", '"call_exception_handler" of the event loop is not available under policy "restricted". Call functions of asyncio.'),
    ("enum member of two names", "import enum\nclass S(str):\n    def __eq__(self, other): return True\n    def __hash__(self): return hash('__doc__')\n    def startswith(self, *a): return False\nleaked.append(enum.Enum('E', {S('__reduce_ex__'): lambda s, p: (print, ())}))", '"_order_" starts with an underscore, which policy "restricted" does not allow. Write "order" instead.'),
    ("attrgetter with its own split", "import operator\nclass S(str):\n    def split(self, sep): return [S('__class__')]\nleaked.append(operator.attrgetter(S('x'))(1))", "The name of an attribute must be a plain str, not S. Write str(name)."),
    ("format with its own contains", "class S(str):\n    def __contains__(self, x): return False\nleaked.append(S('{0.__class__}').format(1))", '"__class__" starts with an underscore, which policy "restricted" does not allow. Write type(x).'),
]  # fmt: skip

# There is nothing there: (what is tried, the cell, the exception as CPython says it)
ABSENT = [
    ("getattr fullwidth", "leaked.append(getattr([], '\\uff3f_class__'))", "AttributeError: 'list' object has no attribute '\uff3f_class__'"),
    ("Formatter via super", "import string\nclass F(string.Formatter): pass\nleaked.append(super(string.Formatter, F()).get_field('0.__class__', (1,), {}))", "AttributeError: 'super' object has no attribute 'get_field'"),
    ("wraps with assigned", "import functools\nclass W:\n    def __call__(self): pass\nleaked.append(functools.wraps(print, assigned=('__self__',))(W()))", "TypeError: wraps() got an unexpected keyword argument 'assigned'"),
    ("typing.Type called", "import typing\nleaked.append(typing.Type[int]('A', (), {}))", "TypeError: Type Type cannot be instantiated; use type() instead"),
    ("copy of a module", "import copy, json\nleaked.append(copy.copy(json))", "TypeError: cannot pickle 'module' object"),
]  # fmt: skip


class Contacts:
    """Stands where a capability stands: an object that is not the agent's."""

    def find(self) -> None:
        """Do nothing."""


class Holder:
    """An object of ours that is careless with what it holds."""

    def fail(self) -> None:
        raise AttributeError("no such thing", name="thing", obj=os)

    def _replace(self) -> None:
        """Not a namedtuple's."""


def _session(leaked: list[object]) -> Session:
    return Session(leaked=leaked, raw={"os": os}, builtin=vars(builtins), contacts=Contacts(), holder=Holder())


@pytest.mark.parametrize(("source", "violations"), [case[1:] for case in REJECTED], ids=[case[0] for case in REJECTED])
def test_an_escape_that_shows_in_the_source_is_rejected_before_anything_runs(source: str, violations: str) -> None:
    """The violations are exactly these, and a statement before the escape has had no effect."""
    leaked: list[object] = []
    with pytest.raises(PolicyViolation) as caught:
        _session(leaked).run(source)
    assert str(caught.value) == violations
    session = _session(leaked)
    with pytest.raises(PolicyViolation):
        session.run(f"leaked.append('ran')\n{source}")
    assert not leaked


@pytest.mark.parametrize(("source", "refusal"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_an_escape_that_shows_when_it_runs_is_refused_without_effect(source: str, refusal: str) -> None:
    """The refusal is exactly this, and what was tried has given nothing."""
    leaked: list[object] = []
    with pytest.raises(PolicyRefusal) as caught:
        _session(leaked).run(source)
    assert str(caught.value) == refusal
    assert not leaked


@pytest.mark.parametrize(("source", "said"), [case[1:] for case in ABSENT], ids=[case[0] for case in ABSENT])
def test_an_escape_whose_tool_is_not_there_finds_nothing(source: str, said: str) -> None:
    """What the escape needs is missing, and Python says so."""
    leaked: list[object] = []
    with pytest.raises((AttributeError, TypeError)) as caught:
        _session(leaked).run(source)
    assert f"{type(caught.value).__name__}: {caught.value}" == said
    assert not leaked
