"""Modules as agent code sees them.

Rules:

- Agent code never holds a real module. What an import gives is a module object made for the session, filled with what
  the allow-list offers: there is nothing else in it to walk to, and nothing in it that others share to overwrite.
- A name that an import asks for and that is not offered is refused here as well as in the source: CPython would look
  for it among all loaded modules.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Final

from guest_stdlib.policy.modules import MODULES, import_fault, member_fault, offered
from guest_stdlib.policy.violations import PolicyRefusal
from guest_stdlib.policy.words import POLICY

__all__ = ["AllowedModule", "importer", "member_of"]


class AllowedModule(ModuleType):
    """A module that holds only what agent code may use of the real one.

    It has no methods: their names may be those of its members.

    `below` finds an allowed module that belongs in it.
    """

    def __init__(self, name: str, doc: str | None, below: Callable[[str], AllowedModule]) -> None:
        super().__init__(name, doc)
        self._below = below


AllowedModule.__name__ = AllowedModule.__qualname__ = "module"  # as messages and type(x).__name__ call it


def member_of(module: AllowedModule, name: str) -> object:
    """What `name` is in a module.

    Raises PolicyRefusal for what only the real module has, AttributeError for what neither has.
    """
    try:
        return vars(module)[name]
    except KeyError:
        pass
    if (full := f"{module.__name__}.{name}") in MODULES:
        return module._below(full)
    if fault := member_fault(module.__name__, name):
        raise PolicyRefusal(" ".join(fault))
    raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}", name=name, obj=module)


class _Modules:
    """The modules of one session. `standins` are the members that are replaced, by `module.member`."""

    def __init__(self, standins: Mapping[str, object]) -> None:
        self._standins: Final = standins
        self._made: Final[dict[str, AllowedModule]] = {}

    def get(self, name: str) -> AllowedModule:
        """The module of this name, put in its place below its parents. Raises PolicyRefusal, ImportError."""
        if fault := import_fault(name):
            raise PolicyRefusal(" ".join(fault))
        module = child = self._make(name)
        while "." in name:
            name, _, last = name.rpartition(".")
            parent = self._make(name)
            vars(parent)[last] = child
            child = parent
        return module

    def top(self, name: str) -> AllowedModule:
        """What `import name` binds: the module of the first part of a dotted name."""
        self.get(name)
        return self._made[name.partition(".")[0]]

    def holding(self, name: str, members: Sequence[str]) -> AllowedModule:
        """The module to take `members` from."""
        for member in members:
            if f"{name}.{member}" in MODULES:
                self.get(f"{name}.{member}")
        module = self._made.get(name) or self.get(name)
        for member in members:
            try:
                member_of(module, member)
            except AttributeError:
                raise ImportError(f"cannot import name {member!r} from {name!r}", name=name) from None
        return module

    def _make(self, name: str) -> AllowedModule:
        if name in self._made:
            return self._made[name]
        members = offered(name) if name in MODULES else {}  # `xml` is only the way to a module
        module = AllowedModule(name, importlib.import_module(name).__doc__, self.get)
        vars(module).update(
            {member: self._standins.get(f"{name}.{member}", value) for member, value in members.items()}
        )
        self._made[name] = module
        return module


def importer(standins: Mapping[str, object]) -> Callable[..., AllowedModule]:
    """`__import__` for a session's builtins."""
    modules = _Modules(standins)

    def import_(
        name: str,
        globals: object = None,  # noqa: ARG001
        locals: object = None,  # noqa: ARG001
        fromlist: Sequence[str] | None = None,
        level: int = 0,
    ) -> AllowedModule:
        if level:
            raise PolicyRefusal(f"Relative imports are not available under {POLICY}. Import a module by its full name.")
        return modules.holding(name, fromlist) if fromlist else modules.top(name)

    import_.__name__ = import_.__qualname__ = "__import__"
    return import_
