"""The allow-list: which modules agent code may import, what they offer, and what to write instead of the others.

Rules:

- Only modules that work on values: no files, sockets, processes, threads, no interpreter. What they offer is named
  one by one, unless all of the public names are harmless.
- Left out are members that read attributes by name, evaluate text, change classes or modules that are not the
  agent's, or hand out frames (`typing.get_type_hints` evaluates annotations, `functools.singledispatch` calls it,
  `enum.global_enum` writes into modules, `UserString.format` is `str.format`). Where agents need one, `standins` has
  a guarded one in its place.
- Never offered, whatever this table says: names with an underscore, modules, metaclasses.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Container, Iterable
from types import ModuleType
from typing import Final

from guest_stdlib.policy.words import POLICY

__all__ = ["MODULES", "import_fault", "is_package", "member_fault", "offered"]

_SHOWN: Final = 24  # asyncio and typing have more than a sentence can take
_PUBLIC: Final = "*"  # what `__all__` lists, or all public names where there is none

MODULES: Final[dict[str, str]] = {
    "__future__": (
        "absolute_import annotations division generator_stop generators nested_scopes print_function "
        "unicode_literals with_statement"
    ),
    "abc": "ABC abstractmethod",
    "array": "array",
    "asyncio": (
        "ALL_COMPLETED FIRST_COMPLETED FIRST_EXCEPTION Barrier BoundedSemaphore BrokenBarrierError "
        "CancelledError Condition Event Future InvalidStateError LifoQueue Lock PriorityQueue Queue "
        "QueueEmpty QueueFull QueueShutDown Runner Semaphore Task TaskGroup Timeout TimeoutError all_tasks "
        "as_completed create_task current_task ensure_future gather get_event_loop get_running_loop "
        "iscoroutine iscoroutinefunction isfuture new_event_loop run set_event_loop shield sleep timeout "
        "timeout_at to_thread wait wait_for"
    ),
    "base64": _PUBLIC,
    "binascii": _PUBLIC,
    "bisect": _PUBLIC,
    "calendar": (
        "APRIL AUGUST Calendar DECEMBER Day FEBRUARY FRIDAY HTMLCalendar IllegalMonthError "
        "IllegalWeekdayError JANUARY JULY JUNE MARCH MAY MONDAY Month NOVEMBER OCTOBER SATURDAY SEPTEMBER "
        "SUNDAY THURSDAY TUESDAY TextCalendar WEDNESDAY calendar day_abbr day_name firstweekday isleap "
        "leapdays month month_abbr month_name monthcalendar monthrange prcal prmonth timegm weekday "
        "weekheader"
    ),
    "cmath": _PUBLIC,
    "collections": "ChainMap Counter OrderedDict UserDict UserList defaultdict deque namedtuple",
    "collections.abc": _PUBLIC,
    "colorsys": _PUBLIC,
    "contextlib": (
        "AbstractAsyncContextManager AbstractContextManager AsyncExitStack ContextDecorator ExitStack "
        "aclosing asynccontextmanager closing contextmanager nullcontext suppress"
    ),
    "copy": "Error copy deepcopy replace",
    "csv": _PUBLIC,
    "dataclasses": (
        "FrozenInstanceError InitVar KW_ONLY MISSING asdict astuple dataclass field fields is_dataclass replace"
    ),
    "datetime": _PUBLIC,
    "decimal": _PUBLIC,
    "difflib": _PUBLIC,
    "enum": (
        "CONFORM CONTINUOUS EJECT Enum EnumCheck Flag FlagBoundary IntEnum IntFlag KEEP NAMED_FLAGS STRICT "
        "StrEnum UNIQUE auto member nonmember unique verify"
    ),
    "fnmatch": _PUBLIC,
    "fractions": "Fraction",
    "functools": (
        "Placeholder cache cached_property cmp_to_key lru_cache partial partialmethod reduce total_ordering wraps"
    ),
    "graphlib": _PUBLIC,
    "gzip": "BadGzipFile compress decompress",
    "hashlib": (
        "algorithms_guaranteed blake2b blake2s md5 new pbkdf2_hmac scrypt sha1 sha224 sha256 sha384 sha3_224 "
        "sha3_256 sha3_384 sha3_512 sha512 shake_128 shake_256"
    ),
    "heapq": _PUBLIC,
    "hmac": "HMAC compare_digest digest new",
    "html": _PUBLIC,
    "html.parser": _PUBLIC,
    "io": "BytesIO SEEK_CUR SEEK_END SEEK_SET StringIO UnsupportedOperation",
    "ipaddress": _PUBLIC,
    "itertools": _PUBLIC,
    "json": _PUBLIC,
    "keyword": _PUBLIC,
    "math": _PUBLIC,
    "numbers": _PUBLIC,
    "operator": _PUBLIC,
    "pathlib": "PurePath PurePosixPath PureWindowsPath",
    "pprint": _PUBLIC,
    "random": _PUBLIC,
    "re": _PUBLIC,
    "secrets": _PUBLIC,
    "shlex": "join quote split",
    "statistics": _PUBLIC,
    "string": _PUBLIC,
    "string.templatelib": _PUBLIC,
    "struct": _PUBLIC,
    "textwrap": _PUBLIC,
    "time": (
        "altzone asctime ctime daylight gmtime localtime mktime monotonic monotonic_ns perf_counter "
        "perf_counter_ns process_time process_time_ns sleep strftime strptime struct_time time time_ns "
        "timezone tzname"
    ),
    "tomllib": _PUBLIC,
    "traceback": "format_exc format_exception format_exception_only print_exc print_exception",
    "types": "EllipsisType MappingProxyType NoneType NotImplementedType SimpleNamespace",
    "typing": (
        "AbstractSet Annotated Any AnyStr AsyncContextManager AsyncGenerator AsyncIterable AsyncIterator "
        "Awaitable BinaryIO Callable ChainMap ClassVar Collection Concatenate Container ContextManager "
        "Coroutine Counter DefaultDict Deque Dict Final FrozenSet Generator Generic Hashable IO ItemsView "
        "Iterable Iterator KeysView List Literal LiteralString Mapping MappingView Match MutableMapping "
        "MutableSequence MutableSet NamedTuple Never NewType NoDefault NoReturn NotRequired Optional "
        "OrderedDict ParamSpec Pattern Protocol ReadOnly Required Reversible Self Sequence Set Sized "
        "SupportsAbs SupportsBytes SupportsComplex SupportsFloat SupportsIndex SupportsInt SupportsRound "
        "TYPE_CHECKING Text TextIO Tuple Type TypeAlias TypeAliasType TypeGuard TypeIs TypeVar TypeVarTuple "
        "TypedDict Union Unpack ValuesView assert_never assert_type cast final get_args get_origin "
        "is_typeddict overload override runtime_checkable"
    ),
    "unicodedata": _PUBLIC,
    "urllib.parse": _PUBLIC,
    "uuid": (
        "MAX NAMESPACE_DNS NAMESPACE_OID NAMESPACE_URL NAMESPACE_X500 NIL RESERVED_FUTURE RESERVED_MICROSOFT "
        "RESERVED_NCS RFC_4122 SafeUUID UUID uuid3 uuid4 uuid5 uuid7 uuid8"
    ),
    "xml.etree.ElementTree": (
        "Comment Element PI ParseError ProcessingInstruction QName SubElement TreeBuilder XML XMLID XMLParser "
        "XMLPullParser dump fromstring fromstringlist indent iselement register_namespace tostring "
        "tostringlist"
    ),
    "zlib": _PUBLIC,
    "zoneinfo": "ZoneInfo ZoneInfoNotFoundError available_timezones",
}

_NO_INTERPRETER: Final = "There is no way into the interpreter: write the code itself."
_NO_NETWORK: Final = "There is no network here: use the capabilities in scope."
_NO_FILES: Final = (
    "There are no files here: use the capabilities in scope, or io.StringIO and io.BytesIO for data in memory."
)
_NO_PROCESSES: Final = "There are no processes here: use the capabilities in scope."
_NO_THREADS: Final = "There are no threads here: write async functions and asyncio.gather."
_INSTEAD: Final = {
    **dict.fromkeys(("ast", "builtins", "code", "ctypes", "dis", "gc", "importlib", "inspect"), _NO_INTERPRETER),
    **dict.fromkeys(
        ("aiohttp", "ftplib", "http", "httpx", "requests", "smtplib", "socket", "ssl", "urllib", "urllib3"), _NO_NETWORK
    ),
    **dict.fromkeys(("fileinput", "glob", "shutil", "sqlite3", "tarfile", "tempfile", "zipfile"), _NO_FILES),
    **dict.fromkeys(("multiprocessing", "signal", "subprocess"), _NO_PROCESSES),
    **dict.fromkeys(("concurrent", "queue", "sched", "threading"), _NO_THREADS),
    **dict.fromkeys(("marshal", "pickle", "shelve"), "Use json.dumps and json.loads."),
    "contextvars": "Pass the value as an argument.",
    "copyreg": "Define __copy__ or __deepcopy__ in the class.",
    "getpass": "Ask through a capability that is in scope.",
    "logging": "Use print.",
    "numpy": "Use lists with math, statistics and itertools.",
    "os": "For paths as text import pathlib.PurePosixPath; for files use the capabilities in scope.",
    "os.path": "Use pathlib.PurePosixPath.",
    "pandas": "Use lists of dicts with csv, statistics and itertools.",
    "sys": "print writes to the output; the cell ends at its last line, or where it raises.",
    "urllib.request": _NO_NETWORK,
    "warnings": "Use print.",
    "weakref": "Hold the object itself.",
    "yaml": "Use json, or tomllib for TOML.",
}


def is_package(name: str) -> bool:
    """Whether `name` is only the way to an allowed module: `xml` of `xml.etree.ElementTree`."""
    return any(module.startswith(name + ".") for module in MODULES)


@functools.cache
def offered(name: str) -> dict[str, object]:
    """What an allowed module offers, by name, stand-ins not counted. Raises ImportError where it is missing."""
    module = importlib.import_module(name)
    listed = MODULES[name]
    names = listed.split() if listed != _PUBLIC else getattr(module, "__all__", None) or list(vars(module))
    return {
        member: value
        for member in names
        if (value := getattr(module, member, _PUBLIC)) is not _PUBLIC
        and not member.startswith("_")
        and not _never(value)
    }


def _never(value: object) -> bool:
    return isinstance(value, ModuleType) or (isinstance(value, type) and issubclass(value, type))


def import_fault(name: str, scope: Container[str] = ()) -> tuple[str, str] | None:
    """What is wrong with importing this module: message and what to write instead. None if it is allowed."""
    if name in MODULES:
        return None
    top = name.partition(".")[0]
    message = f'Module "{name}" is not available under {POLICY}.'
    if top in scope:
        return message, f'"{top}" is already in scope: use it without importing it.'
    below = [module for module in MODULES if module.startswith(name + ".")]
    if below:
        return message, f"Write import {', '.join(below)}."
    if instead := _INSTEAD.get(name) or _INSTEAD.get(top):
        return message, instead
    parent = name.rpartition(".")[0]
    if parent in MODULES:
        return message, f"Write import {parent}: {_offer(parent)}"
    near = _near(name, MODULES)
    if near:
        return message, f"Did you mean {' or '.join(near)}?"
    return message, f"These can be imported: {', '.join(sorted(MODULES))}."


def member_fault(module: str, member: str) -> tuple[str, str] | None:
    """What is wrong with taking this member of an allowed module.

    None if it is offered, or if the module has no such thing at all.
    """
    full = f"{module}.{member}"
    if full in MODULES or is_package(full):
        return None
    instead = _MEMBERS.get(full) or _INSTEAD.get(full)
    if module in MODULES:
        try:
            real = importlib.import_module(module)
        except ImportError:
            return None  # the import itself will say so
        if member in offered(module) or not (hasattr(real, member) or _is_submodule(full)):
            return None
        if instead is None and isinstance(getattr(real, member, None), ModuleType):
            instead = f"Write import {member}." if member in MODULES else _INSTEAD.get(member)
    return f'"{member}" of module "{module}" is not available under {POLICY}.', instead or _offer(module, near=member)


def _near(name: str, names: Iterable[str]) -> list[str]:
    import difflib  # few cells need it

    return difflib.get_close_matches(name, names, n=2, cutoff=0.75)


def _offer(module: str, *, near: str | None = None) -> str:
    if not is_package(module) and module not in MODULES:
        return "Leave it out."
    if module not in MODULES:
        return f"Write import {', '.join(name for name in MODULES if name.startswith(module + '.'))}."
    names = sorted(offered(module))
    if near and (close := _near(near, names)):
        return f"Did you mean {' or '.join(close)}?"
    shown, more = names[:_SHOWN], len(names) - _SHOWN
    return f"{module} offers {', '.join(shown)}{f' and {more} more' if more > 0 else ''}."


@functools.cache
def _is_submodule(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError, AttributeError):
        return False


_MEMBERS: Final = {
    "abc.ABCMeta": "Derive from abc.ABC.",
    "collections.UserString": "Derive from str.",
    "contextlib.redirect_stdout": "Write print(..., file=buffer) with buffer = io.StringIO().",
    "contextlib.redirect_stderr": "Write print(..., file=buffer) with buffer = io.StringIO().",
    "dataclasses.make_dataclass": "Write a class with @dataclass.",
    "enum.EnumMeta": "Derive from enum.Enum.",
    "enum.EnumType": "Derive from enum.Enum.",
    "enum.global_enum": "Write the members with the name of the enum: Color.RED.",
    "functools.singledispatch": "Write a match statement over the types.",
    "functools.singledispatchmethod": "Write a match statement over the types.",
    "functools.update_wrapper": "Write @functools.wraps(function) on the wrapper.",
    "gzip.open": _NO_FILES,
    "io.open": _NO_FILES,
    "pathlib.Path": "There are no files here: for paths as text use pathlib.PurePosixPath.",
    "types.FunctionType": "Write a function, or a lambda.",
    "types.new_class": "Write a class statement.",
    "uuid.uuid1": "Use uuid.uuid4().",
    "uuid.uuid6": "Use uuid.uuid4().",
    "typing.ForwardRef": "Write the type's name in quotes.",
    "typing.get_type_hints": "For a dataclass, dataclasses.fields(record) gives names and types.",
    "xml.etree.ElementTree.parse": "Use xml.etree.ElementTree.fromstring(text).",
}
