"""The exceptions that capabilities raise, as classes that agent code catches by name.

Rules:

- A failure on the host becomes an exception of the declared class of that name; else of the builtin class of that
  name; else a `CapabilityError`, whose `type` says what it was. It is always an `Exception`, never a value that looks
  like an answer.
- `str(error)` is the host's message, whatever the class makes of its arguments.
- The fields that the host sent are attributes.
"""

from __future__ import annotations

import ast
import builtins
import keyword
from collections.abc import Mapping

from guest_stdlib.channel.events import Failure
from guest_stdlib.declared import DeclaredError

__all__ = ["CapabilityError", "DeclaredException", "error_class", "failure_to_exception"]

# They steer generators and groups, and cannot be settled into a future or made from a message alone.
_NOT_RAISED = frozenset({"StopIteration", "StopAsyncIteration", "ExceptionGroup"})


class DeclaredException(Exception):
    """What every declared error derives from. `error_class` gives each its name, documentation and fields."""

    __match_args__: tuple[str, ...] = ()

    def __init__(self, *args: object, **fields: object) -> None:
        known, message = type(self).__match_args__, args[0] if args else ""
        if len(args) > 1:  # as the class may be on the host: NeedsClarification(question, options)
            if len(args) > len(known):
                raise TypeError(f"{type(self).__name__}() takes a message, or {', '.join(known) or 'nothing more'}")
            fields = dict(zip(known, args, strict=False)) | fields
        if not message and "message" in fields and "message" not in known:
            message = fields.pop("message")
        unknown = [name for name in fields if name not in known]
        if unknown:
            takes = ", ".join(f"{name}=" for name in known) or "a message only"
            raise TypeError(f"{type(self).__name__}() got an unexpected argument {unknown[0]!r}; it takes {takes}")
        super().__init__(message)
        for name in known:
            setattr(self, name, fields.get(name))

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class CapabilityError(Exception):
    """A capability failed with an exception that has no class here. `type` is the name of its class where it was
    raised.
    """

    def __init__(self, message: object = "", /, *, type: str = "CapabilityError") -> None:
        super().__init__(message)
        self.type = type


def error_class(declared: DeclaredError) -> type[DeclaredException]:
    """The class of a declared error. Its constructor takes a message, and the fields as keywords (None where left
    out).
    """
    members = {
        "__doc__": declared.doc or None,
        "__module__": "__main__",
        "__match_args__": tuple(declared.fields),
    }
    return type(declared.name, (DeclaredException,), members)


def failure_to_exception(failure: Failure, names: Mapping[str, object]) -> Exception:
    """The exception to raise at the await. `names` is what `proxy.build` returned (not the namespace, which code may
    change).
    """
    declared = names.get(failure.type)
    error: Exception
    if isinstance(declared, type) and issubclass(declared, DeclaredException):
        error = declared(failure.message)
    else:
        builtin = getattr(builtins, failure.type, None)
        if isinstance(builtin, type) and issubclass(builtin, Exception) and failure.type not in _NOT_RAISED:
            error = _builtin(builtin, failure.message)
        else:
            error = CapabilityError(failure.message, type=failure.type)
    for name, value in failure.fields.items():
        if name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("_") and name != "args":
            _set_field(error, name, value)
    return error


def _set_field(error: Exception, name: str, value: object) -> None:
    said = str(error)
    try:
        setattr(error, name, value)
        changed = str(error) != said  # OSError makes its text of errno and strerror
    except (TypeError, ValueError, AttributeError):
        return
    if changed:
        delattr(error, name)


class _Verbatim(str):
    """A text whose repr is itself: KeyError shows the repr of its argument."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _builtin(kind: type[Exception], message: str) -> Exception:
    if kind is KeyError:
        return KeyError(_key(message))
    try:
        error = kind(message)
        if str(error) == message:
            return error
    except TypeError:
        pass
    # UnicodeDecodeError and its like take other arguments than a message: a class of the same name that takes one.
    return _spoken(kind)(message)


def _key(message: str) -> object:
    """The key of a KeyError whose text is `message`: `'x'` was the key x, any other text stands for itself."""
    try:
        key = ast.literal_eval(message)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return _Verbatim(message)
    return key if repr(key) == message else _Verbatim(message)


def _spoken(kind: type[Exception]) -> type[Exception]:
    def __init__(self: Exception, message: str) -> None:  # noqa: N807
        BaseException.__init__(self, message)

    return type(
        kind.__name__, (kind,), {"__init__": __init__, "__str__": BaseException.__str__, "__module__": "builtins"}
    )
