"""The two calls that the runtime makes when a session's policy is `restricted`.

    namespace = restricted.namespace()          # once: what is in scope before anything of the host's is
    tree = restricted.compile_cell(tree, source, filename)      # for each cell, between parsing and compiling

`violations.PolicyViolation` and `violations.PolicyRefusal` say what happens to code that breaks a rule.
"""

from __future__ import annotations

import ast
import builtins
import sys
import warnings
from collections.abc import Callable, Collection
from typing import Any, Final

from RestrictedPython.Guards import safe_builtins

from guest_stdlib.policy import patterns
from guest_stdlib.policy.attributes import read_attribute, read_item
from guest_stdlib.policy.classes import ClassMaker, Own
from guest_stdlib.policy.imports import importer
from guest_stdlib.policy.kind import Kind
from guest_stdlib.policy.language import Language
from guest_stdlib.policy.matching import match_class, match_mapping, match_sequence
from guest_stdlib.policy.standins import standins
from guest_stdlib.policy.violations import PolicyRefusal, PolicyViolation, Violation
from guest_stdlib.policy.words import check_attribute
from guest_stdlib.policy.writing import Write, attribute_of, writer

__all__ = ["PolicyRefusal", "PolicyViolation", "Violation", "compile_cell", "namespace"]

_DEEP: Final = 20_000  # a few frames for each level of the tree; the parser has had its say on what is too deep

# Beside RestrictedPython's own selection. They make values and look through them; none reads an attribute by its name.
_MORE: Final = (
    "NotImplemented aiter all anext any ascii bin bytearray bytes classmethod dict enumerate filter format frozenset "
    "hasattr iter list map max min next object property reversed set sorted staticmethod sum super tuple zip"
).split()


def compile_cell(tree: ast.Module, source: str, filename: str, *, scope: Collection[str] = ()) -> ast.Module:
    """The tree of a whole cell, guarded; nothing has run when it is rejected.

    Statements stay in number, order and kind, so the last expression may be split off before or after; but give the
    cell as a whole, since a rule that is broken anywhere rejects all of it. `tree` is used up. `source` is the text
    that it was parsed from. `scope` are names of the host's or of earlier cells: `input` among them is no builtin.

    Raises PolicyViolation with everything that breaks a rule; SyntaxError where CPython would.
    """
    if any(
        isinstance(node, ast.Match) and any(patterns.rewrites(case.pattern) for case in node.cases)
        for node in ast.walk(tree)
    ):
        # What CPython has to say about patterns it can only say of the original.
        with warnings.catch_warnings(action="ignore"):  # it will say them when the cell is compiled
            compile(tree, filename, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    language = Language(source, scope)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _DEEP))
    try:
        tree = language.transform(tree)
    except RecursionError:
        raise PolicyViolation(
            [Violation(1, 1, "The code is nested too deeply to be checked.", "Write it in smaller pieces.")],
            source=source,
            filename=filename,
        ) from None
    finally:
        sys.setrecursionlimit(limit)
    if language.violations:
        raise PolicyViolation(language.violations, source=source, filename=filename)
    return tree


def namespace(print_target: Callable[..., object] = print) -> dict[str, object]:
    """A new namespace for a session's code: builtins, imports, guards. `print_target` is what it calls as `print`.

    Names that begin with an underscore are the guards; code cannot write them. Put the host's own names beside them.
    """
    table: dict[str, object] = dict(safe_builtins)
    own = Own(table)
    write = writer(own)
    table.update({name: getattr(builtins, name) for name in _MORE})
    table.update({name: value for name, value in vars(builtins).items() if _is_exception(value)})
    table.update(_by_name(write))
    table.update({"type": Kind, "print": print_target, "__import__": importer(standins(own))})
    del table["_getattr_"]
    return {
        "__name__": "__main__",
        "__builtins__": table,
        "__metaclass__": ClassMaker(own),
        "_getattr_": read_attribute,
        "_getitem_": read_item,
        "_write_": write,
        "_attribute_": attribute_of(write),
        "_match_class_": match_class,
        "_match_mapping_": match_mapping,
        "_match_sequence_": match_sequence,
    }


def _is_exception(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, BaseException)


_NO_DEFAULT: Final = object()


def _by_name(write: Write) -> dict[str, object]:
    """The builtins that take the name of an attribute."""

    def read(subject: object, name: str, default: object = _NO_DEFAULT, /) -> object:
        """getattr(object, name[, default]) -> the attribute of this name"""
        name = check_attribute(name)
        if default is _NO_DEFAULT:
            return read_attribute(subject, name)
        try:
            return read_attribute(subject, name)
        except AttributeError:
            return default

    def put(subject: Any, name: str, value: object, /) -> None:
        """setattr(object, name, value) sets the attribute of this name"""
        name = check_attribute(name, allowed=frozenset())
        setattr(write(subject), name, value)

    def drop(subject: Any, name: str, /) -> None:
        """delattr(object, name) deletes the attribute of this name"""
        name = check_attribute(name, allowed=frozenset())
        delattr(write(subject), name)

    def names(*subject: object) -> list[str]:
        """dir([object]) -> the names that may be written after it, or the names in scope"""
        found = dir(*subject) if subject else list(sys._getframe(1).f_locals)
        return sorted(name for name in found if not name.startswith("_"))

    functions: dict[str, Any] = {"getattr": read, "setattr": put, "delattr": drop, "dir": names}
    for name, function in functions.items():
        function.__name__ = function.__qualname__ = name
    return functions
