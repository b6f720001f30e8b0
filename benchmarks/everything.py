"""All that is measured, in the order in which it is."""

from __future__ import annotations

from typing import Final

from benchmarks import calling, computing, conversations, living, sizes, starting, tasks, tokens
from benchmarks.sampling import Measure

__all__ = ["MEASURES"]

MEASURES: Final[tuple[Measure, ...]] = (
    starting.fresh,
    starting.fresh_session,
    starting.warm,
    starting.process,
    calling.call,
    calling.blocking,
    calling.gather,
    calling.string,
    calling.rows_in,
    calling.rows_out,
    calling.cell,
    calling.dispatch,
    computing.loop,
    computing.mixed,
    living.fork,
    living.fork_waiting,
    living.freeze,
    living.suspend,
    living.suspend_size,
    living.resume,
    living.rollback,
    sizes.idle,
    sizes.live,
    conversations.inherited,
    conversations.fork,
    conversations.rendering,
    tasks.many,
    tasks.steering,
    tokens.computed,
    tokens.local,
)
