"""Modules and their data, kept in memory.

The image is built where the files are and runs where there are none. So at build time every module is compiled and
every data file is read, and at run time imports come from here: the standard library, the guest's own packages, and
packages that were baked in.

- All content lies in one bytes object that is only read. Idle guests share it; a thousand objects with a reference
  count each would make its pages private to the guest that imports something.
- Files keep the names that they had at build time (`/python/json/decoder.py`), in tracebacks too, but no file is there
  to be opened. Data is read with `importlib.resources` and `pkgutil.get_data`, distributions with `importlib.metadata`.
- Sources are kept where asked for (`sources=True`), so that `inspect.getsource` and tracebacks can show them.
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import io
import marshal
import posixpath
import re
import sys
import warnings
from collections.abc import Container, Iterator
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from importlib.metadata import Distribution, DistributionFinder

__all__ = ["Archive", "Resource"]

NATIVE: Final = (".so", ".pyd", ".dylib", ".dll", ".pyc", ".pyo", ".o", ".a")  # of no use to this interpreter
CACHE: Final = "__pycache__"
INIT: Final = "__init__.py"


class _Module(NamedTuple):
    """Where a module's code lies. A namespace package has none, and `path` is its folder."""

    path: str
    package: bool
    code: slice | None
    compiled: bool


class Archive(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """A finder and loader of modules, for `sys.meta_path`. Fill it with `add`, then `install` it."""

    def __init__(self) -> None:
        self._content = b""
        self._added = io.BytesIO()
        self._modules: dict[str, _Module] = {}
        self._files: dict[str, slice] = {}
        self._folders: dict[str, list[str]] = {}
        self._roots: list[str] = []

    # at build time

    def add(self, root: str, *, without: Container[str] = (), sources: bool = False) -> None:
        """Take in all modules and data files below the folder `root`; of its own entries, not those named in `without`.

        A module that does not compile is kept as it is, and raises its SyntaxError when it is imported. What was added
        earlier goes before what is added later.
        """
        self._roots.append(root)
        with warnings.catch_warnings(action="ignore"):
            self._add_folder(Path(root), "", without, sources)

    def _add_folder(self, folder: Path, prefix: str, without: Container[str], sources: bool) -> None:
        entries = [entry for entry in sorted(folder.iterdir()) if entry.name not in without and entry.name != CACHE]
        entries = [entry for entry in entries if not entry.name.endswith(NATIVE)]
        self._folders[str(folder)] = [entry.name for entry in entries]
        for entry in entries:
            path, name = str(entry), entry.name
            if entry.is_dir():
                if name.isidentifier() and not (entry / INIT).exists():
                    self._modules.setdefault(prefix + name, _Module(path, package=True, code=None, compiled=True))
                self._add_folder(entry, f"{prefix}{name}.", (), sources)
                continue
            content = entry.read_bytes()
            if name.endswith(".py"):
                self._add_module(path, prefix[:-1] if name == INIT else prefix + name[:-3], content)
            if sources or not name.endswith(".py"):
                self._files[path] = self._keep(content)

    def _add_module(self, path: str, module: str, source: bytes) -> None:
        known = self._modules.get(module)
        if not module or (known is not None and known.code is not None):
            return
        compiled = True
        try:
            content = marshal.dumps(compile(source, path, "exec", dont_inherit=True))
        except (SyntaxError, ValueError):
            content, compiled = source, False
        self._modules[module] = _Module(path, path.endswith(f"/{INIT}"), self._keep(content), compiled)

    def _keep(self, content: bytes) -> slice:
        start = self._added.tell()
        return slice(start, start + self._added.write(content))

    def install(self) -> None:
        """Import from here, and from the interpreter's own modules, and from nowhere else.

        Modules that were imported from files before this are told where they come from now.
        """
        self._content = self._added.getvalue()
        sys.meta_path[:] = [importlib.machinery.BuiltinImporter, importlib.machinery.FrozenImporter, self]
        sys.path_hooks[:] = [self._entry]
        sys.path_importer_cache.clear()
        sys.path.clear()
        for name, module in list(sys.modules.items()):
            known = self._modules.get(name)
            if known is not None and known.path == getattr(module, "__file__", None):
                module.__spec__ = self.find_spec(name)
                module.__loader__ = self

    # what importlib asks of a finder and loader

    def find_spec(self, name: str, *_: object) -> importlib.machinery.ModuleSpec | None:
        """The module of this full name, if it is here. Full names are enough; the package's path says nothing more."""
        if (known := self._modules.get(name)) is None:
            return None
        spec = importlib.machinery.ModuleSpec(name, self, origin=known.path, is_package=known.package)
        spec.has_location = known.code is not None
        if known.package:
            spec.submodule_search_locations = [known.path if known.code is None else posixpath.dirname(known.path)]
        return spec

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """An ordinary module will do."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's code in it."""
        if (code := self.get_code(module.__name__)) is not None:
            exec(code, module.__dict__)  # noqa: S102 - what an import does
        else:
            module.__file__ = None

    def get_code(self, name: str) -> CodeType | None:
        """The module's code; None for a namespace package."""
        known = self._known(name)
        if known.code is None:
            return None
        content = memoryview(self._content)[known.code]
        if known.compiled:
            code: CodeType = marshal.loads(content)  # noqa: S302 - written above, in this very image
            return code
        return compile(bytes(content), known.path, "exec", dont_inherit=True)

    def get_source(self, name: str) -> str | None:
        """The module's source, if it was kept."""
        from importlib.util import decode_source

        where = self._files.get(self._known(name).path)
        return None if where is None else decode_source(self._content[where])

    def get_filename(self, name: str) -> str:
        """The name of its file at build time."""
        return self._known(name).path

    def is_package(self, name: str) -> bool:
        """Whether it can have submodules."""
        return self._known(name).package

    def get_data(self, path: str) -> bytes:
        """A data file, by a name below a module's `__file__`. Raises FileNotFoundError."""
        where = self._files.get(posixpath.normpath(path))
        if where is None:
            raise FileNotFoundError(2, "The image has no such data file", path)
        return self._content[where]

    def get_resource_reader(self, name: str) -> _Reader | None:
        """What `importlib.resources.files` asks."""
        known = self._known(name)
        if not known.package:
            return None
        return _Reader(self, known.path if known.code is None else posixpath.dirname(known.path))

    def iter_modules(self, prefix: str = "") -> Iterator[tuple[str, bool]]:
        """(name, is a package) of all top-level modules, for `pkgutil`."""
        for root in self._roots:
            yield from self._entry(root).iter_modules(prefix)

    def find_distributions(self, context: DistributionFinder.Context | None = None) -> Iterator[Distribution]:
        """The distributions of this name, or all, for `importlib.metadata`."""
        wanted = None if context is None or context.name is None else _normal(context.name)
        for root in self._roots:
            for name in self._folders[root]:
                stem, dot, suffix = name.rpartition(".")
                if dot and suffix == "dist-info" and wanted in (None, _normal(stem.partition("-")[0])):
                    yield _distribution_class()(self, root, name)

    def invalidate_caches(self) -> None:
        """Nothing here changes."""

    # what its own resources ask

    def listing(self, path: str) -> list[str] | None:
        """The names in a folder, or None if there is no such folder."""
        return self._folders.get(path)

    def has_file(self, path: str) -> bool:
        """Whether there is a file of this name; of a module's source it need not be readable."""
        folder, _, name = path.rpartition("/")
        return name in self._folders.get(folder, ()) and path not in self._folders

    def _known(self, name: str) -> _Module:
        if (known := self._modules.get(name)) is None:
            raise ImportError(f"No module named {name!r} in the image", name=name)
        return known

    def _entry(self, path: str) -> _Entry:
        if path not in self._folders:
            raise ImportError(f"{path!r} is no folder of the image", path=path)
        return _Entry(self, path)


class _Entry:
    """One folder as `sys.path_hooks` gives it to `pkgutil`."""

    def __init__(self, archive: Archive, path: str) -> None:
        self._archive, self._path = archive, path

    def find_spec(self, name: str, *_: object) -> importlib.machinery.ModuleSpec | None:
        """As the archive has it."""
        return self._archive.find_spec(name)

    def iter_modules(self, prefix: str = "") -> Iterator[tuple[str, bool]]:
        """(name, is a package) of the modules in this folder."""
        for name in self._archive.listing(self._path) or ():
            inside = self._archive.listing(f"{self._path}/{name}")
            if inside is not None and INIT in inside and name.isidentifier():
                yield prefix + name, True
            elif name.endswith(".py") and name != INIT:
                yield prefix + name[:-3], False


class _Reader:
    """What `importlib.resources` asks of a package's loader."""

    def __init__(self, archive: Archive, path: str) -> None:
        self._archive, self._path = archive, path

    def files(self) -> Resource:
        """The package's folder."""
        return Resource(self._archive, self._path)


class Resource:
    """A folder or data file of the image, with the methods of `importlib.resources.abc.Traversable`."""

    def __init__(self, archive: Archive, path: str) -> None:
        self._archive, self._path = archive, path

    @property
    def name(self) -> str:
        """Its last part."""
        return posixpath.basename(self._path)

    def is_dir(self) -> bool:
        """Whether it is a folder."""
        return self._archive.listing(self._path) is not None

    def is_file(self) -> bool:
        """Whether it is a file."""
        return self._archive.has_file(self._path)

    def iterdir(self) -> Iterator[Resource]:
        """What the folder holds."""
        names = self._archive.listing(self._path)
        if names is None:
            raise NotADirectoryError(20, "This is no folder of the image", self._path)
        return (self / name for name in names)

    def joinpath(self, *parts: str) -> Resource:
        """What is below it; it need not be there."""
        return Resource(self._archive, posixpath.normpath(posixpath.join(self._path, *map(str, parts))))

    __truediv__ = joinpath

    def read_bytes(self) -> bytes:
        """All of a file."""
        return self._archive.get_data(self._path)

    def read_text(self, encoding: str | None = None, errors: str | None = None) -> str:
        """All of a file, as text."""
        with io.TextIOWrapper(io.BytesIO(self.read_bytes()), encoding=encoding or "utf-8", errors=errors) as file:
            return file.read()

    def open(self, mode: str = "r", *args: Any, **kwargs: Any) -> io.BytesIO | io.TextIOWrapper:
        """The file, for reading only. The arguments for text are those of `io.TextIOWrapper`."""
        if mode not in ("r", "rt", "rb"):
            raise ValueError(f"The files of the image can only be read, not opened with mode {mode!r}")
        content = io.BytesIO(self.read_bytes())
        return content if mode == "rb" else io.TextIOWrapper(content, *args, **kwargs)

    def __str__(self) -> str:
        return self._path

    def __repr__(self) -> str:
        return f"Resource({self._path!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Resource) and other._path == self._path

    def __hash__(self) -> int:
        return hash(self._path)


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@functools.cache
def _distribution_class() -> Any:
    from importlib.metadata import Distribution  # rarely needed, and large

    class BakedDistribution(Distribution):
        """A distribution in the image."""

        def __init__(self, archive: Archive, root: str, folder: str) -> None:
            self._root = Resource(archive, root)
            self._folder = self._root / folder

        def read_text(self, filename: Any) -> str | None:
            try:
                return (self._folder / str(filename)).read_text()
            except (FileNotFoundError, IsADirectoryError):
                return None

        def locate_file(self, path: Any) -> Any:
            return self._root / str(path)

    return BakedDistribution
