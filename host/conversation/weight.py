"""How much a message weighs: about how many tokens, and whether it says anything that could be passed on.

Token counts here are estimates, for records and for the choice between fork and cold; only a provider knows its own.
The rule: four ASCII characters to a token; other scripts by the length of their UTF-8, three and a half bytes to a
token; four tokens for each message. It has not been measured against any tokenizer.
"""

from __future__ import annotations

from host.conversation.parts import Media, Message, Opaque, Part, Refusal, Summary, Text, Thinking, ToolCall, ToolResult

__all__ = ["estimated_tokens", "says_something", "weigh"]

_PER_MESSAGE = 4
_PER_MEDIA = 12


def estimated_tokens(text: str) -> int:
    """About how many tokens a text takes. Constant cost for ASCII."""
    if text.isascii():
        return -(-len(text) // 4)
    return -(-2 * len(text.encode("utf-8", "surrogatepass")) // 7)


def weigh(message: Message) -> int:
    """About how many tokens a message takes as text in a quotation: media are named, and thinking is left out."""
    if message.volatile:
        return 0
    weight = _PER_MESSAGE
    for part in message.parts:
        weight += _part_weight(part)
    return weight


def _part_weight(part: Part) -> int:
    match part:
        case Text(text=text) | Refusal(text=text):
            return estimated_tokens(text)
        case ToolCall():
            return estimated_tokens(part.name) + estimated_tokens(part.arguments)
        case ToolResult():
            return sum(_part_weight(inner) for inner in part.parts)
        case Opaque():
            return estimated_tokens(part.json)
        case Summary(text=text):
            return 0 if text is None else estimated_tokens(text)
        case Media():
            return _PER_MEDIA
        case _:
            return 0


def says_something(message: Message) -> bool:
    """Whether passing the message on would tell a child anything: not for one that is empty, sealed or elsewhere."""
    return not message.volatile and any(_tells(part) for part in message.parts)


def _tells(part: Part) -> bool:
    match part:
        case Text(text=text) | Refusal(text=text):
            return not text.isspace() and text != ""
        case Summary(text=text):
            return text is not None and text.strip() != ""
        case ToolCall() | ToolResult() | Media() | Opaque():
            return True
        case Thinking() | _:
            return False
