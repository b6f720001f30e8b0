"""Agents that choose one record: what `ask` means for contacts, files, and whatever else can be searched.

Such an agent has a tool or more to look things up, and two to end with: `answer`, with the key of the record that is
meant, and `clarify`, when what it was given leaves open which one that is. A key that no record has is a mistake that
the model can mend. `choose` runs the loop and gives the record, or raises NeedsClarification.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from host.context import Inherited
from host.errors import NeedsClarification
from host.events import Observe
from host.loop.agent import Agent, NoAnswer, Tool
from host.loop.running import run_agent
from host.models.port import Model, ToolSpec

__all__ = ["choose", "chooser", "lookup"]

_DUTY: Final = (
    "You are asked for exactly one of them, by someone who may say only half of what they mean. Look it up, then end"
    " by calling `answer`. What the request leaves open, the history that came with it may settle, if there is any:"
    " what was settled there counts, a later word more than an earlier one. If it is still open which one is meant,"
    " do not guess: call `clarify`."
)
_CLARIFY: Final = ToolSpec(
    name="clarify",
    description="End by asking back, because it cannot be told which one is meant, or because nothing was found.",
    parameters={
        "type": "object",
        "properties": {
            "question": {"type": "string", "description": "What must be known, as one question."},
            "options": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Those that may be meant, each told apart from the others in a few words.",
                "default": [],
            },
        },
        "required": ["question"],
    },
)


def lookup(
    name: str,
    description: str,
    parameters: Mapping[str, object],
    run: Callable[[Mapping[str, object]], Awaitable[object]],
    *,
    required: Sequence[str],
) -> Tool:
    """A tool that looks things up. `parameters` are the properties of its JSON schema."""
    schema = {"type": "object", "properties": dict(parameters), "required": list(required)}
    return Tool(spec=ToolSpec(name=name, description=description, parameters=schema), run=run)


def chooser(
    *,
    name: str,
    about: str,
    model: Model,
    lookups: Sequence[Tool],
    key: str,
    described: Mapping[str, object],
    pick: Callable[[object], Awaitable[object]],
) -> Agent:
    """An agent that chooses one record.

    `about` says in a sentence or two what it looks after. `key` is the field by which `answer` names a record,
    `described` that argument's JSON schema, and `pick` gives the record with that key, or raises ToolError.
    """

    async def answer(arguments: Mapping[str, object]) -> object:
        return await pick(arguments[key])

    async def clarify(arguments: Mapping[str, object]) -> object:
        options = arguments["options"]
        assert isinstance(options, list)
        return NeedsClarification(str(arguments["question"]), [str(option) for option in options])

    spec = ToolSpec(
        name="answer",
        description=f"End with the one that is meant, named by its {key} as a result gave it.",
        parameters={"type": "object", "properties": {key: described}, "required": [key]},
    )
    return Agent(
        name=name,
        instructions=f"{about} {_DUTY}",
        model=model,
        tools=(
            *lookups,
            Tool(spec=spec, run=answer, terminal=True),
            Tool(spec=_CLARIFY, run=clarify, terminal=True),
        ),
        must_end_by_tool=True,
    )


async def choose[R](
    agent: Agent, of: type[R], question: str, inherited: Inherited, *, observe: Observe | None = None
) -> R:
    """Run a `chooser` on a question. Gives the record; raises NeedsClarification or NoAnswer."""
    ended = await run_agent(agent, question, inherited, observe=observe)
    if isinstance(ended.value, NeedsClarification):
        raise ended.value
    if not isinstance(ended.value, of):
        raise NoAnswer(f"The {agent.name} agent did not name a record.")
    return ended.value
