"""A peer's side of the conversation: see benchmarks.peers."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

__all__ = ["Operation", "expect", "from_process", "process_start", "serve"]

type Operation = Callable[[], float]
"""One sample, in seconds or bytes."""


def serve(opened: AbstractContextManager[Mapping[str, Operation]]) -> None:
    """Answer until standard input ends. What the peer's guests print goes to standard error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the end comes from the one who started this
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as said:
        os.dup2(2, 1)

        def say(answer: object) -> None:
            said.write(json.dumps(answer) + "\n")
            said.flush()

        with opened as operations:
            gc.collect()
            gc.freeze()
            say(dict.fromkeys(operations, 0))
            for line in sys.stdin:
                operation = operations[json.loads(line)]
                gc.collect()
                gc.disable()
                try:
                    answer: dict[str, object] = {"value": operation()}
                except Exception as error:  # whatever it is, it is told where the figure would stand
                    answer = {"error": f"{type(error).__name__}: {error}"}
                finally:
                    gc.enable()
                say(answer)


def expect(given: object, expected: object) -> None:
    """Raises ValueError if a peer did not do what was asked: then there is nothing to time."""
    if given != expected:
        raise ValueError(f"it gave {str(given)[:200]}")


def process_start(program: str) -> Operation:
    """Samples of a Python program's start, to the first line that it prints, which is a 1."""

    def sample() -> float:
        began = time.perf_counter()
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            said = child.stdout.readline()
            took = time.perf_counter() - began
        expect(said, b"1\n")
        return took

    return sample


def from_process(program: str, *arguments: str) -> Operation:
    """Samples that a Python program prints, in a process of its own each: for memory, of which processes keep some."""

    def sample() -> float:
        command = [sys.executable, "-c", program, *arguments]
        return float(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)

    return sample
