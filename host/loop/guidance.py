"""What a model is told about delegating: a few rules, in words that stay the same from request to request.

They stand behind an agent's own instructions where it can delegate at all, so an agent that cannot reads nothing of
them. What changes (how long the history is) is said at the tail of a request, where it costs no cached prefix.
"""

from __future__ import annotations

from typing import Final

from host.context import Inherited

__all__ = ["DELEGATING", "FORKING", "TASKS", "size"]

DELEGATING: Final = """\
Handing work on:
- Work whose next step depends on what you just learned stays with you; so does what takes a single call.
- What another agent is there for goes to that agent, with all that it needs.
- Choose the cheapest start that suffices. "fork" hands on this whole conversation: for a request that leans on what was
  said here. "cold" hands on the request alone: for one that says everything.
- Whoever continues this work should fork. Whoever is to judge it should start cold, or the second opinion will be the
  first one again.
- A fork reads what was said here, not what you think: write into the request whatever is nowhere in the conversation.
  Into a cold request write every name, path and number that it needs."""

TASKS: Final = """\
Tasks run beside this conversation:
- `start_task` comes back at once. The result comes by itself when it is there: do not wait for it, do not ask for it
  again and again, and never make one up.
- For one answer start one task; for parts that do not need each other start one for each, at once.
- While a task runs there are tools that steer it, named after it. What changes here reaches a task only when you
  steer it."""

FORKING: Final = """\
Forking:
- A part that needs another part's result stays in your own sequence: branches cannot see each other.
- One call, or one call that takes a list, is no reason to fork.
- Somebody else should own the conversation from here on: hand off, if you can.
- You want an answer and then go on: one branch. Several parts that do not need each other: a branch for each, at once.
- Take the cheapest context that suffices, and write into the instructions what a branch cannot find in it."""


def size(inherited: Inherited) -> str:
    """What a fork would cost, for whoever is about to choose."""
    return f"If you hand work on now: a fork passes on about {inherited.tokens:,} tokens of history, cold passes none."
