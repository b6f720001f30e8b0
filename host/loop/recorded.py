"""Branch points read out of the record of a run: what a run of another process did can be repeated here.

A record holds every request and reply, and what each child inherited, so the loop that made a delegating call can be
put back to where it stood. What it does not hold are the agents themselves: whoever repeats a run gives them, and they
should be what they were. Where code made the call, its interpreter is needed as well, if the run kept it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from host.context import Inherited, Sent
from host.conversation import Conversation, Message, ToolResult
from host.errors import HostError
from host.events import Delegated, Event, HandedOff, LoopBegan, Replied, Requested, StateKept
from host.loop.exchange import Exchange
from host.loop.prepared import Prepared
from host.loop.rerun import BranchPoint, Grounds, rest

__all__ = ["point_of"]

_CONTINUES = "=== Inherited conversation "


def point_of(
    events: Sequence[Event], delegation: str, grounds: Grounds, *, state: Callable[[str], bytes] | None = None
) -> BranchPoint:
    """The branch point of a delegation of a recorded run. The crew in `grounds` has the agents by their names; `state`
    reads a kept interpreter, given its file's name.

    Raises HostError for what is not there: the delegation, its loop's agent, or the interpreter of a call from code.
    """
    at, delegated = _delegated(events, delegation)
    before = events[:at]
    began = next((event for event in before if isinstance(event, LoopBegan) and event.loop == delegated.loop), None)
    asked = _last(before, delegated.loop)
    if began is None or asked is None:
        raise HostError(f"the record does not say what {delegated.loop} was doing when it made this call")
    requested, replied = asked
    moved = [event.target for event in before if isinstance(event, HandedOff) and event.loop == delegated.loop]
    name = moved[-1] if moved else began.agent
    agent = grounds.crew.agents.get(name)
    if agent is None:
        known = ", ".join(grounds.crew.agents) or "none"
        raise HostError(f"the call was made by the agent {name!r}, and the agents here are: {known}")
    inherited = _inherited(before, began)
    fork_depth = sum(event.kind == "branch" for event in _ancestors(before, began))
    may_fork = agent.forks is not None and fork_depth < grounds.crew.max_fork_depth
    prepared = Prepared.of(agent, grounds.crew.with_(agent), may_fork=may_fork)
    request = replace(requested.request, tail="")
    exchange = Exchange.restored(
        name=name,
        speaker=None if began.kind == "conversation" else name,
        instructions=prepared.instructions,
        inherited=inherited,
        conversation=_own(request.messages, inherited).append(_reply(replied, delegated)),
        last=Sent(agent=name, model=agent.model.name, request=request),
    )
    kept = next((each for each in events if isinstance(each, StateKept) and each.delegation == delegation), None)
    if delegated.path != "start_task" and _from_code(replied, delegated) and (kept is None or state is None):
        raise HostError("this call was made by code, and the run did not keep its interpreter")
    return BranchPoint(
        delegated=delegated,
        agent=agent,
        exchange=exchange,
        depth=began.depth,
        fork_depth=fork_depth,
        call_id=delegated.call,
        number=None if kept is None else kept.number,
        state=None if kept is None or state is None else state(kept.file),
        grounds=grounds,
        results=lambda: _results(events[at:], delegated.loop),
        original=lambda: rest(events[at:], delegated),
    )


def _delegated(events: Sequence[Event], delegation: str) -> tuple[int, Delegated]:
    for at, event in enumerate(events):
        if isinstance(event, Delegated) and event.id == delegation:
            return at, event
    raise HostError(f"the record has no delegation {delegation!r}")


def _last(events: Sequence[Event], loop: str) -> tuple[Requested, Replied] | None:
    """The request in answer to which the call was made."""
    replied = next((e for e in reversed(events) if isinstance(e, Replied) and e.loop == loop), None)
    for event in reversed(events):
        if replied and isinstance(event, Requested) and event.loop == loop and event.number == replied.number:
            return event, replied
    return None


def _reply(replied: Replied, delegated: Delegated) -> Message:
    """The reply as the message that it became: with its id, if what was inherited holds it."""
    said = replied.reply.message()
    layers = delegated.inherited.layers
    last = layers[-1].conversation.last if layers else None
    return last if last is not None and last.parts == said.parts else said


def _inherited(events: Sequence[Event], began: LoopBegan) -> Inherited:
    for event in events:
        if isinstance(event, Delegated) and event.id == began.delegation:
            return event.inherited
    return Inherited.cold()


def _ancestors(events: Sequence[Event], began: LoopBegan) -> list[LoopBegan]:
    loops = {event.loop: event for event in events if isinstance(event, LoopBegan)}
    found = [began]
    while (parent := found[-1].parent) is not None and parent in loops:
        found.append(loops[parent])
    return found


def _own(messages: Sequence[Message], inherited: Inherited) -> Conversation:
    """The messages of the loop itself: those that it did not inherit. Continuations are volatile again."""
    above = {message.id for layer in inherited.layers for message in layer.conversation}
    own = [message for message in messages if message.id not in above]
    return Conversation().extend(
        replace(message, volatile=True) if message.role == "system" and message.text.startswith(_CONTINUES) else message
        for message in own
    )


def _from_code(replied: Replied, delegated: Delegated) -> bool:
    return any(call.id == delegated.call and call.name == "run_code" for call in replied.reply.calls)


def _results(events: Sequence[Event], loop: str) -> Mapping[str, ToolResult]:
    """The results that the calls of the reply had: they stand in the loop's next request."""
    for event in events:
        if isinstance(event, Requested) and event.loop == loop:
            return {part.call: part for message in event.request.messages for part in message.results}
    return {}
