"""The hot path written out: the events of which a call in sequence consists, where their values are few and scalars.

In the guest these events are most of what a call costs, and layout.py, which does the same for all events from one
table, takes three times as long. Whatever is not plainly one of these shapes is left to it, the errors too.
"""

from __future__ import annotations

from typing import Final

from guest_stdlib.channel.events import Call, Event, Rest, Return
from guest_stdlib.channel.values import SCALARS

__all__ = ["quick_event", "quick_tree"]

_REST: Final = Rest()
_NAMES: Final = frozenset((str,))
_FEW: Final = 16  # so that scalars cannot take more items than an event is charged for anyway


def quick_tree(event: Event) -> list[object] | None:
    """The event's tree, None for an event that takes more than a glance. Its numbers were checked when it was made."""
    if type(event) is Return:
        return [3, event.call, event.value] if type(event.value) in SCALARS else None
    if type(event) is Call:
        return _call_tree(event)
    if type(event) is Rest:
        return [12, event.wake] if event.wake is not None else [12]
    return None


def _call_tree(call: Call) -> list[object] | None:
    args, kwargs, context, token = call.args, call.kwargs, call.context, call.token
    if type(args) is not tuple or type(call.path) is not str or not (token is None or type(token) is str):
        return None
    for value in args:
        if type(value) not in SCALARS:
            return None
    if len(args) + 2 * (len(kwargs) + len(context)) > _FEW:
        return None
    if kwargs:
        if type(kwargs) is not dict:
            return None
        for name, value in kwargs.items():
            if type(name) is not str or type(value) not in SCALARS:
                return None
    elif not context and token is None:
        return [6, call.call, call.path, [*args]]
    return [6, call.call, call.path, [*args], kwargs or None, {**context} or None, token]


def quick_event(items: object) -> Event | None:
    """The inverse, for what was unpacked. ValueError where the event refuses its fields."""
    if type(items) is not list or not items:
        return None
    code, size = items[0], len(items)
    if type(code) is not int:
        return None
    if code == 3 and size == 3:
        return Return(call=items[1], value=items[2])
    if code == 6 and size == 4 and type(items[2]) is str and type(items[3]) is list:
        return Call(call=items[1], path=items[2], args=tuple(items[3]))
    if code == 6 and size == 7:
        _, call, path, args, kwargs, context, token = items
        named = kwargs is None or (type(kwargs) is dict and _NAMES.issuperset(map(type, kwargs)))
        if named and type(path) is str and type(args) is list and (token is None or type(token) is str):
            said = {} if context is None else context
            return Call(call=call, path=path, args=tuple(args), kwargs=kwargs or {}, context=said, token=token)
    if code == 12 and size == 1:
        return _REST
    return None
