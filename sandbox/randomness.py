"""Random bytes for guests: from the operating system, or repeatable from a seed."""

from __future__ import annotations

import hashlib
import os

__all__ = ["SeededRandomness", "SystemRandomness"]


class SystemRandomness:
    """The operating system's."""

    def take(self, size: int) -> bytes:
        """See `world.Randomness`."""
        return os.urandom(size)


class SeededRandomness:
    """SHA-256 in counter mode over a seed: repeatable, and its state is one number. `drawn` is how many blocks were
    taken.
    """

    def __init__(self, seed: int, drawn: int = 0) -> None:
        self._seed = str(seed).encode()
        self.drawn = drawn

    def take(self, size: int) -> bytes:
        """See `world.Randomness`."""
        blocks = []
        for _ in range(-(-size // 32)):
            self.drawn += 1
            blocks.append(hashlib.sha256(b"%b %d" % (self._seed, self.drawn)).digest())
        return b"".join(blocks)[:size]
