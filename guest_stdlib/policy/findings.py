"""What is found in the source of one cell: broken rules, and what each name is bound to.

Rules:

- A violation stands at the word that breaks the rule, not at the statement around it.
- Some rules ask what a name means: `open` is no violation where the code defines it, `json.codecs` is one only where
  `json` can only be the module. A cell is read as a whole: a name that it binds anywhere, in whatever scope, may mean
  that binding.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from typing import Final

from guest_stdlib.policy import modules
from guest_stdlib.policy.violations import Violation
from guest_stdlib.policy.words import ABSENT, BASES, NAMEDTUPLE, POLICY, READABLE, attribute_fault, name_fault

__all__ = ["Fault", "Findings"]

type Fault = tuple[str, str]


class Findings:
    """`violations` are all that was found. `scope` are names that are there already and mean something of their own."""

    def __init__(self, source: str, scope: Collection[str]) -> None:
        self._lines: Final = source.split("\n")
        self.scope: Final = scope
        self.violations: Final[list[Violation]] = []
        self._bound: Final[
            dict[str, set[str | None]]
        ] = {}  # name -> the modules it may stand for, None for anything else
        self._builtins: Final[list[ast.Name]] = []
        self._bases: Final[list[ast.Name]] = []
        self._members: Final[list[tuple[str, ast.Attribute]]] = []
        self._calls: Final[list[tuple[str, ast.Call, list[ast.expr]]]] = []

    def report(self, node: ast.AST, fault: Fault, word: str | None = None, *, last: bool = False) -> None:
        """Record a violation at a node, or at a word after its beginning (before its end, if so asked)."""
        number, column = self._place(node, "lineno", "col_offset")
        if word is not None and last:
            end, before = self._place(node, "end_lineno", "end_col_offset")
            if (found := self._line(end).rfind(word, 0, before)) >= 0:
                number, column = end, found
        elif word is not None and (found := self._line(number).find(word, column)) >= 0:
            column = found
        self.violations.append(Violation(number, column + 1, *fault))

    def _place(self, node: ast.AST, number: str, offset: str) -> tuple[int, int]:
        line: int = getattr(node, number, 1)
        text = self._line(line).encode()[: getattr(node, offset, 0)]  # the tree counts bytes
        return line, len(text.decode(errors="replace"))

    def _line(self, number: int) -> str:
        return self._lines[number - 1] if number <= len(self._lines) else ""

    def bind(self, node: ast.AST, name: str, *, module: str | None = None, special: bool = False) -> None:
        """Record that a name is bound, and check it. `special` names are the language's own."""
        self.mean(name, module)
        if not special and (fault := name_fault(name)):
            self.report(node, fault, name)

    def mean(self, name: str, module: str | None = None) -> None:
        """Record what a name may mean: a module, or anything."""
        self._bound.setdefault(name, set()).add(module)

    def load(self, node: ast.Name, *, special: bool = False) -> None:
        """Record that a name is used, and check it."""
        if node.id in ABSENT and node.id.isalpha():
            self._builtins.append(node)
        elif not special and (fault := name_fault(node.id)):
            self.report(node, fault)

    def attribute(self, node: ast.Attribute, allowed: frozenset[str]) -> None:
        """Check the name of an attribute, and record where it is read from a name."""
        if fault := attribute_fault(node.attr, allowed=allowed):
            if node.attr in READABLE and not allowed:
                fault = fault[0], "Write @functools.wraps(function) on a wrapper."
            elif self._module(_dotted(node.value)):
                fault = fault[0], "Leave it out."
            self.report(node, fault, node.attr, last=True)
        elif path := _dotted(node.value):
            self._members.append((path, node))

    def call(self, node: ast.Call) -> None:
        """Record a call of something by its name."""
        if isinstance(node.func, ast.Name):
            self._calls.append((node.func.id, node, list(node.args)))

    def base(self, node: ast.expr) -> None:
        """Record what a class derives from."""
        if isinstance(node, ast.Name) and node.id in BASES:
            self._bases.append(node)

    def conclude(self) -> None:
        """Check what depends on all that the cell binds. Call it once, at the end."""
        for name in self._builtins:
            if not self._has_meaning(name.id):
                self.report(name, (f'"{name.id}" is not available under {POLICY}.', ABSENT[name.id]))
        for base in self._bases:
            if not self._has_meaning(base.id):
                self.report(base, BASES[base.id])
        for path, node in self._members:
            if (module := self._module(path)) and (fault := modules.member_fault(module, node.attr)):
                self.report(node, fault, node.attr, last=True)
        for function, call, args in self._calls:
            if not self._has_meaning(function):
                self._check_call(function, call, args)

    def _has_meaning(self, name: str) -> bool:
        return name in self._bound or name in self.scope

    def _module(self, path: str) -> str | None:
        """The module that a dotted path stands for, if it can stand for nothing else."""
        top, _, rest = path.partition(".")
        meanings = self._bound.get(top, set())
        if len(meanings) != 1 or (module := next(iter(meanings))) is None:
            return None
        full = f"{module}.{rest}" if rest else module
        return full if full in modules.MODULES or modules.is_package(full) else None

    def _check_call(self, function: str, node: ast.Call, args: list[ast.expr]) -> None:
        """Calls that are sure to be refused when they run."""
        match function, args:
            case "getattr" | "setattr" | "delattr", [_, ast.Constant(value=str(name)) as arg, *_]:
                allowed: frozenset[str] = READABLE | NAMEDTUPLE if function == "getattr" else frozenset()
                if fault := attribute_fault(name, allowed=allowed):
                    self.report(arg, fault)
            case "type", [_, _, *_]:
                self.report(node, (f"type() makes no classes under {POLICY}.", "Write a class statement."))


def _dotted(node: ast.expr) -> str:
    """`xml.etree` of the expression `xml.etree`, "" of anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (path := _dotted(node.value)):
        return f"{path}.{node.attr}"
    return ""
