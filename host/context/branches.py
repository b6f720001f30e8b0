"""What a branch of a fork starts from: the caller's own turns, with the assignment as the answer to the fork call.

A branch is its caller in one of several next moments, so it does not read about the conversation, it is in it: under
`inherit` the caller's messages as they stand, under `compact` what was said in them, with earlier delegations and what
they brought. Then the message that makes the fork call, and as its result the assignment. Under `none` there is no
conversation: the instructions come alone, as any request does, and nothing says that this is a branch.

A branch has its own agent's instructions and tools in every mode. Where these are the caller's, it repeats what the
caller last sent and shares its prefix. Else it claims no prefix, and has the layers above the caller's as a section.
No steering tool's name is passed on, and a history that has one is not repeated to the byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from host.context.choice import ContextChoice
from host.context.inherited import Inherited
from host.context.layer import Layer
from host.context.quoted import render
from host.context.section import string
from host.context.start import Start, as_sent, prefix_hash, replayable, said_since
from host.context.steering import steering_of
from host.context.window import windowed
from host.conversation import Message, Part, Text, ToolCall, ToolResult
from host.models.port import ToolSpec

__all__ = ["branch_start"]

_DUTIES: Final = (
    "Nothing of your assignment has been done yet: do it, and do not look for signs that it was. Do not fork the whole"
    " of it again. Leave alone what belongs to the others."
)


def branch_start(
    *,
    instructions: str,
    tools: tuple[ToolSpec, ...],
    agent: str,
    model: str,
    inherited: Inherited,
    choice: ContextChoice,
    call: str,
    name: str,
    siblings: Sequence[str],
    assignment: str,
    nonce: str | None = None,
) -> Start:
    """What the branch `name` starts from. `assignment` is its instructions in the fork; `instructions` its agent's.

    `inherited` is the whole tree at the fork, whose last layer ends with the message that makes the call of id `call`;
    `siblings` are the names of the other branches. Raises LookupError where no message makes that call.
    """
    if choice.is_cold or inherited.is_cold:
        alone = Message(role="user", parts=(Text(text=assignment),))
        return Start(system=instructions, messages=(alone,), rendering="none")
    layer = inherited.layers[-1]
    forking = _forking(layer.passed(), call)
    own = ToolResult(call=call, parts=(Text(text=_assigned(name, siblings, assignment)),))
    sent = None
    if choice.is_whole:
        sent = replayable(inherited, instructions=instructions, tools=tools, agent=agent, model=model)
    if sent is not None:
        since = said_since(layer, sent)
        head = as_sent(sent.request.messages, since)
        messages = (*head, *_answered(since, forking, own))
        return Start(
            system=sent.request.system,
            messages=messages,
            rendering="replayed",
            prefix=prefix_hash(sent.request),
            shared=len(messages) - 1,
            sent=len(head),
        )
    steering = steering_of(inherited.layers)
    said = [steering.without(message) for message in _said(layer, choice, forking, call)]
    above = inherited.layers[:-1]
    section = render(Inherited(layers=above, choice=choice), nonce=nonce) if above else ""
    messages = tuple(_answered(said, forking, own))
    return Start(
        system=f"{instructions}\n\n{section}" if section else instructions,
        messages=messages,
        rendering="replayed",
        shared=len(messages) - 1,
    )


def _forking(messages: Iterable[Message], call: str) -> Message:
    """The last message that makes the call."""
    found = [message for message in messages if any(each.id == call for each in message.calls)]
    if not found:
        raise LookupError(f"no message makes the call {call!r}")
    return found[-1]


def _said(layer: Layer, choice: ContextChoice, forking: Message, call: str) -> Iterator[Message]:
    """The messages of the caller's exchange as the choice passes them on; the one that forks has its call in any."""
    if choice.is_whole:
        yield from layer.passed()
        return
    (kept,) = windowed((layer,), choice)
    left = {message.id: message for message in kept.passed()}
    brought = {part.call for message in left.values() for part in message.parts if isinstance(part, ToolResult)}
    for message in layer.passed():
        calls = {part.id for part in message.calls if part.id in brought and part.name in layer.delegating}
        if message.id == forking.id:
            calls.add(call)
        words = left.get(message.id)
        if calls:
            yield _with_calls(message, words, calls)
        elif words is not None:
            yield words


def _with_calls(message: Message, words: Message | None, calls: set[str]) -> Message:
    """A message with what is left of its words, and with these calls, in its order."""
    said: list[Part] = list(words.parts) if words is not None else []
    parts = [part for part in message.parts if part in said or (isinstance(part, ToolCall) and part.id in calls)]
    return replace(message, parts=tuple(parts), original=None)


def _answered(messages: Iterable[Message], forking: Message, own: ToolResult) -> Iterator[Message]:
    """The messages, and the assignment as the last: the fork's result, behind those that sibling calls had already.

    Nothing else that came after the fork is the branch's.
    """
    forked = False
    for message in messages:
        if not forked:
            yield message
        elif results := [part for part in message.parts if isinstance(part, ToolResult) and part.call != own.call]:
            yield _with(message, results)
        forked = forked or message.id == forking.id
    yield Message(role="tool", parts=(own,))


def _with(message: Message, parts: Sequence[Part]) -> Message:
    return message if len(parts) == len(message.parts) else replace(message, parts=tuple(parts), original=None)


def _assigned(name: str, siblings: Sequence[str], assignment: str) -> str:
    others = ", ".join(map(string, siblings))
    beside = f"The other branches, which run at the same time, are {others}." if others else "It has no other branch."
    return f"You are branch {string(name)} of the fork above. {beside} {_DUTIES}\n\nYour assignment:\n{assignment}"
