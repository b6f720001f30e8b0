"""A capability whose methods take the conversation in one dialect each, and a history in which all can be told apart."""

from __future__ import annotations

from typing import Any

from guest_stdlib.channel.events import Call
from host.capability import Capability, Delegation, Dispatch, Policy, delegates
from host.context import FORK, Inherited, Layer
from host.conversation import Conversation, Message, Text, ToolCall, ToolResult

TOKEN = "t" * 22


class Team(Capability):
    """Workers that say which texts they were given."""

    async def ask(self, question: str, *, inherited: Inherited) -> list[str]:
        """In the words of `choice`."""
        return texts(inherited)

    @delegates(dialect="modes")
    async def branch(self, instructions: str, *, inherited: Inherited) -> list[str]:
        """In the words of `modes`."""
        return texts(inherited)

    @delegates(dialect="window")
    async def explore(self, instruction: str, *, inherited: Inherited) -> list[str]:
        """In the words of `window`."""
        return texts(inherited)

    @delegates(dialect="isolation", context="isolated")
    async def review(self, work: str, *, inherited: Inherited) -> list[str]:
        """In the words of `isolation`, and by itself alone."""
        return texts(inherited)

    @delegates(dialect="window", context_depth="all", context_scope="full", max_turns=2, max_tokens=90)
    async def tight(self, instruction: str, *, inherited: Inherited) -> list[str]:
        """In the words of `window`, and bounded."""
        return texts(inherited)

    async def count(self, text: str) -> int:
        """Does not delegate."""
        return len(text)


def texts(inherited: Inherited) -> list[str]:
    """All that is passed on, results too, in order."""
    return [
        text.text
        for layer in inherited.layers
        for message in layer.passed()
        for part in message.parts
        for text in (part.parts if isinstance(part, ToolResult) else [part])
        if isinstance(text, Text)
    ]


def talk(exchanges: int) -> Conversation:
    """So many exchanges. In each a question, a look-up, a delegation, and the answer."""
    conversation = Conversation()
    for n in range(1, exchanges + 1):
        conversation = conversation.user(f"question {n}")
        conversation = conversation.assistant([Text(text=f"looking {n}"), _call(f"a{n}", "look")])
        conversation = conversation.append(_result(f"a{n}", f"seen {n}"))
        conversation = conversation.assistant([_call(f"b{n}", "start_task")])
        conversation = conversation.append(_result(f"b{n}", f"brought {n}"))
        conversation = conversation.assistant(f"answer {n}")
    return conversation


def history(exchanges: int = 4) -> Inherited:
    """The talk, as it is passed on by a loop whose `start_task` delegates."""
    layer = Layer(conversation=talk(exchanges), delegating=frozenset({"start_task"}))
    return Inherited(layers=(layer,), choice=FORK)


def part_of(exchanges: range, *, scope: str) -> list[str]:
    """The texts of these exchanges of the talk, as far as they belong to the scope."""
    passed: list[str] = []
    for n in exchanges:
        passed += [f"question {n}", f"looking {n}"]
        passed += [f"seen {n}"] if scope == "full" else []
        passed += [f"brought {n}"] if scope in ("agents", "full") else []
        passed += [f"answer {n}"]
    return passed


def _call(id: str, name: str) -> ToolCall:
    return ToolCall(id=id, name=name, arguments="{}")


def _result(id: str, text: str) -> Message:
    return Message(role="tool", parts=(ToolResult(call=id, parts=(Text(text=text),)),))


class Scene:
    """A dispatch over the team, and the record of its delegations."""

    def __init__(self, *, exchanges: int = 4, policy: Policy = "model", cold: bool = False) -> None:
        self.delegations: list[Delegation] = []
        self.dispatch = Dispatch(
            [Team()],
            inherited=history(exchanges),
            token=TOKEN,
            policy=policy,
            cold=cold,
            record=self.delegations.append,
        )

    async def by_tool(self, name: str, **arguments: Any) -> Any:
        """What a call gives that a model wrote as JSON."""
        return await self.dispatch.invoke_tool(f"team_{name}", arguments)

    async def by_guest(self, name: str, *args: object, **said: Any) -> Any:
        """What a call gives that came from a guest, which said this for the choice."""
        hostile = Call(call=1, path=f"team.{name}", args=args, context=said, token=TOKEN)
        return await self.dispatch.invoke(hostile)

    @property
    def recorded(self) -> list[tuple[str, str, str | None, str]]:
        """Of each delegation: fork or cold, by whose choice, what was said, and what came of it."""
        return [(each.context, each.chooser, each.requested, str(each.choice)) for each in self.delegations]
