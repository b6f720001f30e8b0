"""What providers demand of a list of messages, written down from their side: it knows nothing of how lists are made.

`problems` names everything for which OpenAI's chat interface or Anthropic's would refuse a request with these
messages, were they written out part by part and consecutive messages of one role joined where the provider wants it.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, zip_longest

from host.conversation import Message, Refusal, Text, Thinking, ToolCall, ToolResult

_NOT_THE_SYSTEMS = (ToolCall, ToolResult, Thinking, Refusal)


def problems(messages: Iterable[Message]) -> list[str]:
    """Sentences, empty if both providers take the messages."""
    given = list(messages)
    return [*_openai(given), *_anthropic(given), *_ours(given)]


def _openai(messages: Sequence[Message]) -> Iterator[str]:
    """A call is answered before anything else is said, an answer has a call, and every message has content."""
    open_calls: list[str] = []
    for number, message in enumerate(messages):
        if message.role not in ("system", "user", "assistant", "tool"):
            yield f"openai: message {number} has the role {message.role!r}"
        if message.role == "tool":
            for part in message.parts:
                if not isinstance(part, ToolResult):
                    yield f"openai: tool message {number} holds a {type(part).__name__}"
                elif part.call not in open_calls:
                    yield f"openai: message {number} answers {part.call!r}, which no preceding message calls"
                else:
                    open_calls.remove(part.call)
            continue
        if open_calls:
            yield f"openai: message {number} comes before {open_calls} are answered"
        open_calls = [call.id for call in message.calls] if message.role == "assistant" else []
        if len(set(open_calls)) != len(open_calls):
            yield f"openai: message {number} makes two calls under one id"
        if message.role != "assistant" and message.calls:
            yield f"openai: message {number} of the role {message.role!r} makes calls"
        if not message.parts:
            yield f"openai: message {number} has no content"
    if open_calls:
        yield f"openai: the last calls {open_calls} are not answered"


def _anthropic(messages: Sequence[Message]) -> Iterator[str]:
    """Turns alternate and the user has the first; results stand first in the turn behind their calls; no blank text."""
    turns = [
        (role, [part for message in group for part in message.parts])
        for role, group in groupby(
            [message for message in messages if message.role != "system"],
            lambda message: "assistant" if message.role == "assistant" else "user",
        )
    ]
    seen: set[str] = set()
    before: set[str] = set()
    for number, (role, parts) in enumerate(turns):
        if number == 0 and role != "user":
            yield "anthropic: the first message is not the user's"
        if any(isinstance(part, (Text, Refusal)) and not part.text.strip() for part in parts):
            yield f"anthropic: turn {number} holds blank text"
        results = [part.call for part in parts if isinstance(part, ToolResult)]
        kinds = [isinstance(part, ToolResult) for part in parts]
        if role == "user":
            if kinds != sorted(kinds, reverse=True):
                yield f"anthropic: in turn {number} a result stands behind something else"
            if set(results) != before or len(results) != len(before):
                yield f"anthropic: turn {number} answers {results}, and {sorted(before)} were called"
            before = set()
            if any(isinstance(part, (Thinking, ToolCall, Refusal)) for part in parts):
                yield f"anthropic: turn {number} of the user's holds what only the assistant may say"
            continue
        if results:
            yield f"anthropic: turn {number} of the assistant's holds results"
        calls = [part.id for part in parts if isinstance(part, ToolCall)]
        if len(set(calls)) != len(calls) or seen & set(calls):
            yield f"anthropic: turn {number} uses a call's id again: {calls}"
        seen.update(calls)
        before = set(calls)
        if isinstance(parts[-1], Thinking):
            yield f"anthropic: turn {number} ends with reasoning"
    if before:
        yield f"anthropic: the last calls {sorted(before)} are not answered"


def _ours(messages: Sequence[Message]) -> Iterator[str]:
    """What adapters count on: one tool message, its results in the order of the calls; nothing volatile; no odd parts."""
    for message, following in zip_longest(messages, messages[1:]):
        if message.volatile:
            yield f"ours: message {message.id} is volatile"
        if message.role == "assistant" and message.calls:
            called = [call.id for call in message.calls]
            answered = [part.call for part in following.parts if isinstance(part, ToolResult)] if following else []
            if following is None or following.role != "tool" or answered != called or "" in called:
                yield f"ours: {called} are answered by {answered}"
        if message.role == "system" and any(isinstance(part, _NOT_THE_SYSTEMS) for part in message.parts):
            yield f"ours: the system message {message.id} holds what only others may say"
