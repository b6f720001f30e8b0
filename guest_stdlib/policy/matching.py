"""What a rewritten `case` calls: the three kinds of patterns that take their subject apart.

Each gives the tuple of sub-subjects, in the order of the sub-patterns, or None where the pattern does not match. The
semantics are CPython's, messages included; only attributes are read through the guards.
"""

from __future__ import annotations

from typing import Any, Final

from guest_stdlib.policy.attributes import read_attribute
from guest_stdlib.policy.words import check_attribute

__all__ = ["match_class", "match_mapping", "match_sequence"]

# Their objects match a single positional sub-pattern as a whole.
_WHOLE: Final = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)
_MISSING: Final = object()


def match_sequence(subject: Any, before: int, after: int | None, /) -> tuple[Any, ...] | None:
    """`[a, b]` is (subject, 2, None); `[a, *rest, b]` is (subject, 1, 1), with the rest as a list in its place."""
    match subject:
        case [*_]:
            length = len(subject)
        case _:
            return None
    if length != before if after is None else length < before + after:
        return None
    items = tuple(subject)
    if after is None:
        return items
    end = len(items) - after
    return (*items[:before], list(items[before:end]), *items[end:])


def match_mapping(subject: Any, keys: tuple[Any, ...], rest: bool, /) -> tuple[Any, ...] | None:
    """`{k: v, **rest}` is (subject, (k,), True), and gives the rest as a dict after the values."""
    match subject:
        case {}:
            pass
        case _:
            return None
    if len(subject) < len(keys):
        return None
    values = []
    for number, key in enumerate(keys):
        if key in keys[:number]:
            raise ValueError(f"mapping pattern checks duplicate key ({key!r})")
        value = subject.get(key, _MISSING)
        if value is _MISSING:
            return None
        values.append(value)
    if rest:
        others = dict(subject)
        for key in keys:
            del others[key]
        values.append(others)
    return tuple(values)


def match_class(subject: Any, cls: Any, positional: int, names: tuple[str, ...], /) -> tuple[Any, ...] | None:
    """`Point(a, b, z=c)` is (subject, Point, 2, ("z",))."""
    if not isinstance(cls, type):
        raise TypeError("called match pattern must be a class")
    if not isinstance(subject, cls):
        return None
    whole: tuple[Any, ...] = ()
    places: tuple[str, ...] = ()
    if positional:
        places = _positional(cls, positional)
        whole = (subject,) if not places else ()
    values = []
    for number, name in enumerate((*places, *names)):
        if name in (*places, *names)[:number]:
            raise TypeError(f"{cls.__name__}() got multiple sub-patterns for attribute {name!r}")
        try:
            values.append(read_attribute(subject, name))
        except AttributeError:
            return None
    return (*whole, *values)


def _positional(cls: type, count: int) -> tuple[str, ...]:
    """The attributes that the positional sub-patterns stand for; none where the object as a whole is meant."""
    places = getattr(cls, "__match_args__", _MISSING)
    if places is _MISSING:
        allowed = 1 if issubclass(cls, _WHOLE) else 0
        places = ()
    elif not isinstance(places, tuple):
        raise TypeError(f"{cls.__name__}.__match_args__ must be a tuple (got {type(places).__name__})")
    else:
        allowed = len(places)
    if count > allowed:
        plural = "" if allowed == 1 else "s"
        raise TypeError(f"{cls.__name__}() accepts {allowed} positional sub-pattern{plural} ({count} given)")
    for name in places[:count]:
        if not isinstance(name, str):
            raise TypeError(f"__match_args__ elements must be strings (got {type(name).__name__})")
    return tuple(check_attribute(name) for name in places[:count])
