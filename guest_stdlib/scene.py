"""What hints look at, and the words in which they speak of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from guest_stdlib.arguments import nearest
from guest_stdlib.declared import Declared, Method

__all__ = ["Scene", "listed"]

_SHOWN: Final = 10  # names in a list, before the rest is counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Where an exception happened, as far as hints look at it.

    `names` is the cell's namespace; `notice` what the session had to be told before the cell (`Run.notice`);
    `unawaited` the sentences about calls that were not awaited; `packages` the names of packages baked into the
    image.
    """

    names: Mapping[str, object] = field(default_factory=dict)
    capabilities: Sequence[Declared] = ()
    notice: str | None = None
    unawaited: Sequence[str] = ()
    packages: Sequence[str] = ()

    @property
    def capability_names(self) -> list[str]:
        """The names under which capabilities are in scope."""
        return [declared.name for declared in self.capabilities]

    @property
    def methods(self) -> dict[str, Method]:
        """All declared methods of capabilities by their path, `contacts.find`; those of handles are not among them."""
        return {
            f"{each.name}.{method.name}": method
            for each in self.capabilities
            for method in each.methods
            if not method.of
        }

    def meant(self, name: str) -> str | None:
        """The capability or the method's path that `name` was probably meant to be."""
        paths, capabilities = list(self.methods), self.capability_names
        known = {path.rpartition(".")[2]: path for path in reversed(paths)}
        known |= {path.replace(".", "_"): path for path in paths}  # search_files, contacts_find
        known |= {capability: capability for capability in capabilities}
        close = nearest(name, known)
        return known[close[0]] if close else None

    def usage(self, path: str) -> str:
        """How a method is called, `await contacts.find(name)`; a capability's name stands for itself."""
        method = self.methods.get(path)
        if method is None:
            return path
        needed = [parameter.name for parameter in method.parameters if parameter.required]
        return f"await {path}({', '.join(needed)})"


def listed(names: Iterable[str]) -> str:
    """Names with commas; of many, the first and a count."""
    names = list(names)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
