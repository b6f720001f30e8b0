"""An invented museum, whose tools are played by functions, and a conversation with the lexical model about it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from host.conversation import Message, Text, ToolResult
from host.models.lexical import Lexical
from host.models.port import Reply, Request, ToolSpec

CHOICE = {"type": "string", "enum": ["fork", "cold"], "description": "What it starts from."}
TEXT = {"type": "string"}


def tool(name: str, description: str, *required: str, **properties: object) -> ToolSpec:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return ToolSpec(name=name, description=description, parameters=schema)


VAULT = tool(
    "vault_ask",
    'The one painting that a question means, such as "the portrait".',
    "question",
    question=TEXT,
    context=CHOICE,
)
CREW = tool(
    "crew_ask",
    'The one courier that a question means, such as "Nils\'s pager".',
    "question",
    question=TEXT,
    context=CHOICE,
)
VAN = tool(
    "van_deliver",
    "Bring crates to a courier. `to` is a pager; `crates` are slots of paintings. Raises LookupError for neither.",
    "to",
    "label",
    to=TEXT,
    label=TEXT,
    crates={"anyOf": [{"type": "array", "items": TEXT}, {"type": "null"}], "default": None},
    note={"type": "string", "default": ""},
)
START = tool("start_task", "Start a task beside this conversation.", "request", request=TEXT, context=CHOICE)
TOOLS = (VAULT, CREW, VAN, START)
DUSK = {"slot": "B7", "title": "Dusk over Fen", "painter": "Ilse Brandt"}
NILS = {"name": "Nils Aho", "pager": "P-311", "depot": "North quay"}
OTTO = {"name": "Otto Aho", "pager": "P-400", "depot": "South quay"}

type Answers = Callable[[str, dict[str, str]], object]


class Failed(Exception):
    """What a tool fails by."""


class Chat:
    """A conversation with the model: tools are played by a function of the tool's name and the arguments."""

    def __init__(self, answers: Answers, tools: Sequence[ToolSpec] = TOOLS, system: str = "") -> None:
        self.answers, self.tools, self.system = answers, tuple(tools), system
        self.messages: list[Message] = []
        self.calls: list[tuple[str, dict[str, object]]] = []

    async def say(self, text: str) -> str:
        """Say something; the answer."""
        self.messages.append(Message(role="user", parts=(Text(text=text),)))
        return await self.go_on()

    async def go_on(self) -> str:
        """The next answer, after as many calls as it takes."""
        for _ in range(6):
            request = Request(system=self.system, messages=tuple(self.messages), tools=self.tools)
            reply = await Lexical().reply(request)
            assert reply == await Lexical().reply(request)
            self.messages.append(reply.message())
            if not reply.calls:
                return reply.text
            self.play(reply)
        raise AssertionError(f"it never ends: {self.calls}")

    def play(self, reply: Reply) -> None:
        results = []
        for call in reply.calls:
            arguments = json.loads(call.arguments)
            self.calls.append((call.name, arguments))
            try:
                value = self.answers(call.name, arguments)
            except Failed as error:
                results.append(ToolResult(call=call.id, name=call.name, parts=(Text(text=str(error)),), is_error=True))
                continue
            if value is not None:
                text = value if isinstance(value, str) else json.dumps(value)
                results.append(ToolResult(call=call.id, name=call.name, parts=(Text(text=text),)))
        if results:
            self.messages.append(Message(role="tool", parts=tuple(results)))

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.calls]


def knowing(name: str, arguments: dict[str, str]) -> object:
    """A world in which everything is found at once."""
    return {"vault_ask": DUSK, "crew_ask": NILS, "van_deliver": {"id": 1}}.get(name)


def torn(name: str, arguments: dict[str, str]) -> object:
    """A world with two couriers called Aho."""
    asked = arguments.get("question", "")
    if name == "crew_ask" and not {"Nils", "Otto"} & set(asked.replace("'", " ").split()):
        options = "Nils Aho (North quay); Otto Aho (South quay)."
        raise Failed(f'NeedsClarification: Which one is meant by "{asked}"? Options: {options}')
    if name == "crew_ask":
        return NILS if "Nils" in asked else OTTO
    return knowing(name, arguments)


def running(*labels: str) -> list[ToolSpec]:
    """The tools that steer these tasks."""
    verbs = {"ask": ("question",), "interject": ("text",), "pause": (), "resume": (), "stop": ()}
    return [
        tool(f"{verb}_{label}", f"It is about {label}.", *names, **dict.fromkeys(names, TEXT))
        for label in labels
        for verb, names in verbs.items()
    ]
