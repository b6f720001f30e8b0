"""Work that can be counted, where time can only be measured: for tests that say how cost grows."""

import sys
from collections.abc import Callable
from types import FrameType

type TraceFunction = Callable[[FrameType, str, object], TraceFunction]


def steps(action: Callable[[], object]) -> int:
    """How many lines of Python an action runs. What C code does inside one line is not seen."""
    count = 0

    def trace(frame: FrameType, event: str, argument: object) -> TraceFunction:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        action()
    finally:
        sys.settrace(before)
    return count
