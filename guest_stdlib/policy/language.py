"""The language of policy `restricted`: RestrictedPython's transformer, taught the modern syntax that it refuses.

Rules:

- What RestrictedPython does not know is refused, so a new Python's new syntax is too, until someone has read it.
- One statement in, one out, in the same order and of the same kind: the last statement of a cell stays its last.
- New nodes stand at the place of the ones that they replace, so tracebacks point at the agent's own code.
- Every rule that is broken is found, in one pass; the tree is of no use then.

Where this differs from RestrictedPython, and why:

- Iteration and unpacking are not wrapped. Our guards look at what an attribute or an item *is*, and an object that
  came by iteration meets them at its first attribute. So loops run at full speed, and `for`, `async for` and `with`
  keep CPython's order.
- `f(*args, **kwargs)` is not wrapped either, nor is `n += 1`: there would be nothing to check.
- `print` is the builtin, not a collector of its own.
- Positions are columns too, and each message says what to write instead.
"""

# ruff: noqa: N802  # ast names the visitors

from __future__ import annotations

import ast
import itertools
from collections.abc import Collection
from typing import Any

from RestrictedPython.transformer import RestrictingNodeTransformer

from guest_stdlib.policy import modules, patterns
from guest_stdlib.policy.findings import Fault, Findings
from guest_stdlib.policy.violations import Violation
from guest_stdlib.policy.words import (
    CLASS_DATA,
    DEFINABLE,
    NAMEDTUPLE,
    POLICY,
    READABLE,
    SUPER,
    attribute_fault,
    name_fault,
)

__all__ = ["Language"]

type Function = ast.FunctionDef | ast.AsyncFunctionDef


class Language(RestrictingNodeTransformer):
    """Transforms the tree of one cell. `scope` are the names that are there already."""

    def __init__(self, source: str, scope: Collection[str]) -> None:
        super().__init__()
        self._findings = Findings(source, scope)
        self._inside = ["module"]
        self._annotation = False
        self._text_annotations = False
        self._numbers = itertools.count(1)

    @property
    def violations(self) -> list[Violation]:
        """What is wrong with the cell."""
        return self._findings.violations

    def transform(self, tree: ast.Module) -> ast.Module:
        """The transformed tree. Look at `violations` before it is used."""
        self._text_annotations = any(
            isinstance(node, ast.ImportFrom)
            and node.module == "__future__"
            and any(alias.name == "annotations" for alias in node.names)
            for node in tree.body
        )
        self._visit_all(tree.body)
        self._findings.conclude()
        return tree

    # What RestrictedPython itself finds

    def error(self, node: ast.AST, info: str) -> None:
        """Report what RestrictedPython objects to."""
        self._findings.report(node, (info, "Leave it out."))

    def warn(self, node: ast.AST, info: str) -> None:
        """RestrictedPython's warnings come with errors, which say more."""

    def not_allowed(self, node: ast.AST) -> None:
        """Report syntax that nobody here has judged."""
        name = type(node).__name__
        self._findings.report(node, (f"{name} is not part of the language of {POLICY}.", "Write it in another way."))

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Refuse a kind of node that has no visitor; go on below it for what else is wrong."""
        self.not_allowed(node)
        return self.node_contents_visit(node)

    # Names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Check a name. A class body may use the special methods that it defines by their names."""
        special = self._inside[-1] == "class" and node.id in DEFINABLE
        if isinstance(node.ctx, ast.Load):
            self._findings.load(node, special=special or node.id == "__name__")
        else:
            self._findings.bind(node, node.id, special=special)
        return node

    def visit_Global(self, node: ast.Global) -> ast.AST:
        """Check the names."""
        for name in node.names:
            self._findings.bind(node, name)
        return node

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.AST:
        """Check the names."""
        for name in node.names:
            self._findings.bind(node, name)
        return node

    # Attributes and items

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """`a.b` is `_getattr_(a, "b")`; `a.b = c` is `_write_(a).b = c`."""
        if isinstance(node.ctx, ast.Load):
            self._findings.attribute(node, (SUPER if _is_super(node.value) else READABLE) | NAMEDTUPLE)
            return _call("_getattr_", node, self.visit(node.value), ast.Constant(node.attr))
        self._findings.attribute(node, frozenset())
        node.value = _call("_write_", node.value, self.visit(node.value))
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """`a[b]` is `_getitem_(a, b)`; `a[b] = c` is `_write_(a)[b] = c`. Annotations stay readable: `list[int]`."""
        value, node.slice = self.visit(node.value), self.visit(node.slice)
        if not isinstance(node.ctx, ast.Load):
            node.value = _call("_write_", node.value, value)
        elif self._annotation:
            node.value = value
        else:
            return _call("_getitem_", node, value, node.slice)
        return node

    # Assignments

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """Targets are guarded where they are attributes or items."""
        match node.targets:
            case [ast.Name(id=name)] if self._is_class_data(name):
                self._check_class_data(name, node.value)
                node.value = self.visit(node.value)
                return node
        return self.node_contents_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """As an assignment; the annotation may be left as text."""
        if isinstance(node.target, ast.Name) and self._is_class_data(node.target.id):
            self._check_class_data(node.target.id, node.value)
        else:
            node.target = self.visit(node.target)
        node.annotation = self._visit_annotation(node.annotation)
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """`a.b += c` is `_attribute_(a, "b").value += c`: `a` is evaluated once, read and written, in CPython's order.

        `a[b] += c` is `_write_(a)[b] += c`: what may be written may be read.
        """
        if not isinstance(node.target, ast.Attribute):
            return self.node_contents_visit(node)
        target = node.target
        self._findings.attribute(target, frozenset())
        place = _call("_attribute_", target, self.visit(target.value), ast.Constant(target.attr))
        node.target = ast.copy_location(ast.Attribute(place, "value", ast.Store()), target)
        node.value = self.visit(node.value)
        return node

    def _is_class_data(self, name: str) -> bool:
        return self._inside[-1] == "class" and name in CLASS_DATA

    def _check_class_data(self, name: str, value: ast.expr | None) -> None:
        """`__slots__` and `__match_args__` name attributes, so they are literals of names that may be attributes."""
        match value:
            case ast.Constant(value=str()):
                items: list[ast.expr] = [value]
            case ast.Tuple(elts=items) | ast.List(elts=items):
                pass
            case _:
                items = [] if value is None else [value]
        for item in items:
            if not (isinstance(item, ast.Constant) and isinstance(item.value, str)):
                message = f'"{name}" is made of names in quotes under {POLICY}.'
                self._findings.report(item, (message, f'Write {name} = ("a", "b").'))
            elif fault := attribute_fault(item.value, allowed=frozenset()):
                self._findings.report(item, fault)

    def _visit_annotation(self, node: ast.expr) -> ast.expr:
        if self._text_annotations:
            return node  # `from __future__ import annotations`: it is never evaluated
        before, self._annotation = self._annotation, True
        try:
            return self._visit(node)
        finally:
            self._annotation = before

    # Functions and classes

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Check the names; everything in it is visited."""
        return self._visit_function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        """As any function."""
        return self._visit_function(node)

    def _visit_function(self, node: Function) -> ast.AST:
        self._findings.bind(node, node.name, special=self._inside[-1] == "class" and node.name in DEFINABLE)
        self._visit_all(node.decorator_list)
        self._visit_all(node.type_params)
        node.args = self.visit(node.args)
        if node.returns is not None:
            node.returns = self._visit_annotation(node.returns)
        self._visit_inside("function", node.body)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        """Check the names; everything in it is visited."""
        before, self._annotation = self._annotation, False
        self._inside.append("function")
        self.node_contents_visit(node)
        self._inside.pop()
        self._annotation = before
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        """Check the name."""
        self._findings.bind(node, node.arg)
        if node.annotation is not None:
            node.annotation = self._visit_annotation(node.annotation)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Check the names, and make the class through `__metaclass__`."""
        self._findings.bind(node, node.name)
        self._visit_all(node.decorator_list)
        self._visit_all(node.type_params)
        for base in node.bases:
            self._findings.base(base)
        self._visit_all(node.bases)
        for keyword in node.keywords:
            if keyword.arg == "metaclass":
                instead = "Derive from abc.ABC, enum.Enum or typing.Protocol, or write a class decorator."
                self._findings.report(keyword, (f"A class cannot choose its metaclass under {POLICY}.", instead))
            elif keyword.arg is None:
                self._findings.report(
                    keyword.value, (f"A class cannot take **options under {POLICY}.", "Write each option by its name.")
                )
        self._visit_all(node.keywords)
        maker = ast.copy_location(ast.Name("__metaclass__", ast.Load()), node)
        node.keywords.append(ast.copy_location(ast.keyword("metaclass", maker), node))
        self._visit_inside("class", node.body)
        return node

    def visit_TypeVar(self, node: ast.TypeVar) -> ast.AST:
        """Check the name of a type parameter."""
        return self._visit_type_parameter(node)

    def visit_ParamSpec(self, node: ast.ParamSpec) -> ast.AST:
        """Check the name of a type parameter."""
        return self._visit_type_parameter(node)

    def visit_TypeVarTuple(self, node: ast.TypeVarTuple) -> ast.AST:
        """Check the name of a type parameter."""
        return self._visit_type_parameter(node)

    def _visit_type_parameter(self, node: ast.TypeVar | ast.ParamSpec | ast.TypeVarTuple) -> ast.AST:
        self._findings.bind(node, node.name)
        return self.node_contents_visit(node)

    def visit_TypeAlias(self, node: ast.TypeAlias) -> ast.AST:
        """`type X = ...`: everything in it is visited."""
        return self.node_contents_visit(node)

    # Imports

    def visit_Import(self, node: ast.Import) -> ast.AST:
        """Modules of the allow-list only."""
        for alias in node.names:
            top = alias.name.partition(".")[0]
            if fault := modules.import_fault(alias.name, self._findings.scope):
                self._findings.report(alias, fault)
                self._findings.mean(alias.asname or top)
            elif alias.asname:
                self._findings.bind(alias, alias.asname, module=alias.name)
            else:
                self._findings.bind(alias, top, module=top)
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        """Modules of the allow-list only, and of them what is offered."""
        module = node.module or ""
        fault: Fault | None = None
        if node.level:
            fault = f"Relative imports are not available under {POLICY}.", "Import a module by its full name."
        elif any(f"{module}.{alias.name}" not in modules.MODULES for alias in node.names):
            fault = modules.import_fault(module, self._findings.scope)
        if fault:
            self._findings.report(node, fault)
        for alias in node.names:
            full = f"{module}.{alias.name}"
            if alias.name == "*":
                example = f"Write from {module} import and the names that you need."
                self._findings.report(
                    alias, (f'"import *" hides which names it binds, which {POLICY} does not allow.', example)
                )
                continue
            if wrong := name_fault(alias.name):
                self._findings.report(alias, (wrong[0], "Leave it out."))
            elif not fault and (wrong := modules.member_fault(module, alias.name)):
                self._findings.report(alias, wrong)
            if wrong:
                self._findings.mean(alias.asname or alias.name)
            else:
                self._findings.bind(alias, alias.asname or alias.name, module=full if full in modules.MODULES else None)
        return node

    # Statements and expressions that RestrictedPython wraps or refuses

    def visit_Match(self, node: ast.Match) -> ast.AST:
        """Cases that read attributes are rewritten; the names that patterns bind are checked in all."""
        node.subject = self.visit(node.subject)
        for case in node.cases:
            rewritten = patterns.rewrites(case.pattern)
            for part in ast.walk(case.pattern):
                self._check_pattern(part)
                if isinstance(part, ast.Name) and not rewritten:
                    self.visit_Name(part)
            if case.guard is not None:
                case.guard = self.visit(case.guard)
            self._visit_all(case.body)
        patterns.rewrite(node, visit=self._visit, fresh=self._fresh)
        return node

    def _check_pattern(self, part: ast.AST) -> None:
        match part:
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                self._findings.bind(part, name)
            case ast.MatchClass(kwd_attrs=names):
                for name in names:
                    if fault := attribute_fault(name):
                        self._findings.report(part, fault, name)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """A call needs no guard: what is called has passed one."""
        self._findings.call(node)
        return self.node_contents_visit(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        """Check the name."""
        if node.name is not None:
            self._findings.bind(node, node.name)
        return self.node_contents_visit(node)

    def _visit_contents(self, node: ast.AST) -> ast.AST:
        """What needs no guard of its own."""
        return self.node_contents_visit(node)

    visit_For = visit_AsyncFor = visit_comprehension = _visit_contents  # noqa: N815
    visit_With = visit_AsyncWith = visit_Await = visit_TryStar = _visit_contents  # noqa: N815
    visit_NamedExpr = _visit_contents  # noqa: N815

    # Visiting

    def _visit(self, node: ast.expr) -> ast.expr:
        visited = self.visit(node)
        assert isinstance(visited, ast.expr)
        return visited

    def _visit_all(self, nodes: list[Any]) -> None:
        nodes[:] = [self.visit(node) for node in nodes]

    def _visit_inside(self, what: str, body: list[ast.stmt]) -> None:
        before, self._annotation = self._annotation, False
        self._inside.append(what)
        self._visit_all(body)
        self._inside.pop()
        self._annotation = before

    def _fresh(self) -> str:
        return f"_tmp{next(self._numbers)}"


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


def _call(guard: str, place: ast.expr, *args: ast.expr) -> ast.Call:
    """A call of a guard, in place of another expression."""
    for arg in args:
        if not hasattr(arg, "lineno"):
            ast.copy_location(arg, place)
    return ast.copy_location(ast.Call(ast.copy_location(ast.Name(guard, ast.Load()), place), list(args), []), place)
