"""A model that replies what was written down for it, and keeps the exact requests that it was sent. For tests."""

from __future__ import annotations

from collections.abc import Iterable

from host.models.port import Reply, Request

__all__ = ["ScriptEnded", "Scripted"]


class ScriptEnded(AssertionError):
    """More was asked of a scripted model than was written down for it. The message shows the request's last message."""


class Scripted:
    """Gives the replies in order. `requests` are those that it was sent so far."""

    def __init__(self, replies: Iterable[Reply | str]) -> None:
        self._replies = [Reply(text=reply) if isinstance(reply, str) else reply for reply in replies]
        self.requests: list[Request] = []

    async def reply(self, request: Request) -> Reply:
        """The next reply. Raises ScriptEnded if there is none left."""
        self.requests.append(request)
        if len(self.requests) > len(self._replies):
            last = request.messages[-1] if request.messages else None
            shown = "no message" if last is None else f"the {last.role} message {last.text[:300]!r}"
            raise ScriptEnded(
                f"the script has {len(self._replies)} replies, and a further one was asked for after {shown}"
            )
        return self._replies[len(self.requests) - 1]
