"""Who is to blame, as a type.

Whoever catches an error of the channel must know what to do next without reading the sentence, so each class stands for
one thing to do. All sentences are plain English: the script's author, a model, or the embedding program's author reads
them.
"""

from __future__ import annotations

__all__ = ["ChannelError", "Damaged", "LocalError", "PeerError", "TooDeep", "TooLarge", "Unsendable"]

_SHOWN_STEPS = 8


class ChannelError(Exception):
    """The root. Catch it only to report; what can be done about it depends on the class below."""


class LocalError(ChannelError):
    """Our end used the channel wrongly: an event out of turn, a field of the wrong type. Our own mistake: let it
    surface and mend the code. The channel is as it was before.
    """


class PeerError(ChannelError):
    """The other end sent bytes that no correct peer sends. Nothing of that frame was delivered and the channel is
    broken: stop the guest and report a crash.
    """


class Damaged(ChannelError):
    """Stored state of a channel is not what `HostChannel.state` gave. Refuse the stored session."""


class Unsendable(ChannelError):
    """A value cannot cross. The mistake is that of whoever made the value: tell the script (an exception at its own
    line), or end the call with a `Throw` when a capability returned it. The channel is as it was before.

    `where` is the place inside what was sent, such as `args[0]["rows"][17]`; `problem` is the rest of the sentence.
    """

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self._steps: list[str] = []  # innermost first: they are added while the stack unwinds, so success pays nothing

    @property
    def where(self) -> str:
        """The path to the value, shortened in the middle where it is long."""
        steps = self._steps[::-1]
        if len(steps) > 2 * _SHOWN_STEPS:
            steps = [*steps[:_SHOWN_STEPS], "...", *steps[-2:]]
        return "".join(steps)

    def within(self, step: str, holder: object = None) -> None:  # noqa: ARG002 (TooDeep looks at it)
        """Each container adds its `step` to what was wrong, on the way out. `holder` is the container."""
        self._steps.append(step)

    def __str__(self) -> str:
        return f"{self.where} {self.problem}" if self._steps else self.problem


class TooLarge(Unsendable):
    """A value is too large, too deep, or has too many items: an `Unsendable` that may be sent in parts."""


class TooDeep(TooLarge):
    """A value nests too deeply. Where the way out meets a container twice, the truth is that it contains itself."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self._met: set[int] = set()

    def within(self, step: str, holder: object = None) -> None:
        """As for every `Unsendable`; the path of a cycle ends at the outermost meeting with the container."""
        if holder is not None and id(holder) in self._met:
            self._steps.clear()
            self.problem = "contains itself"
            return
        self._met.add(id(holder))
        super().within(step, holder)
