"""One Wasmtime engine per process, and the clock that lets it look at limits.

The engine's settings decide what the compiled code looks like, so they are part of an image's identity (`FINGERPRINT`).
"""

from __future__ import annotations

import functools
import threading
from importlib.metadata import version
from typing import Final

from wasmtime import Config, Engine

from . import capi

__all__ = ["FINGERPRINT", "GUEST_STACK", "TICK", "Ticker", "engine", "new_engine", "ticker"]

GUEST_STACK: Final = 32 << 20  # bytes; deep C recursion then ends in RecursionError, as it does natively
IDLE_TICKS: Final = 100
TICK: Final = 0.005  # seconds between two looks at the limits of running guests
FINGERPRINT: Final = f"wasmtime {version('wasmtime')}; epochs; fixed memory; stack {GUEST_STACK}; speed"


def new_engine() -> Engine:
    """An engine with our settings. Compiled images fit every engine made here, and no other."""
    config = Config()
    config.epoch_interruption = True
    config.memory_may_move = False  # so that a base address, once taken, stays right
    config.cranelift_opt_level = "speed"
    capi.set_stack(config, GUEST_STACK)
    return Engine(config)


_first = threading.RLock()  # `functools.cache` alone would let two threads make one each


def engine() -> Engine:
    """The process's engine."""
    with _first:
        return _engine()


@functools.cache
def _engine() -> Engine:
    return new_engine()


class Ticker:
    """Advances the engine's epoch while a guest runs, and sleeps when none did for a while.

    A guest's step is often shorter than a tick, so falling asleep after each would cost every call a wake-up.
    """

    def __init__(self, ticked: Engine) -> None:
        self._engine = ticked
        self._running = 0
        self._change = threading.Condition()
        self._asleep = False
        self._thread: threading.Thread | None = None

    def __enter__(self) -> None:
        with self._change:
            self._running += 1
            if self._thread is None:
                self._thread = threading.Thread(target=self._tick, name="branchpoint-epochs", daemon=True)
                self._thread.start()
            elif self._asleep:
                self._change.notify()

    def __exit__(self, *_: object) -> None:
        with self._change:
            self._running -= 1

    def _tick(self) -> None:
        pause, idle = threading.Event(), 0
        while True:
            with self._change:
                idle = 0 if self._running else idle + 1
                if idle > IDLE_TICKS:
                    self._asleep = True
                    self._change.wait()
                    self._asleep, idle = False, 0
            pause.wait(TICK)
            self._engine.increment_epoch()


def ticker() -> Ticker:
    """The process's ticker."""
    with _first:
        return _ticker()


@functools.cache
def _ticker() -> Ticker:
    return Ticker(engine())
