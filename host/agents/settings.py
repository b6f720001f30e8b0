"""What stands in agents.yaml: its keys, their types, and what each is for.

These models are the one description: reading, writing, the schema for editors and what is said about a wrong value
all come from them. They hold the shape. Whether the names in it mean something is for the rules (host.agents.rules).
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, override

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticCustomError, core_schema

from host.agents.findings import KeyPath
from host.loop import Budget
from host.models.named import FORMS
from sandbox.limits import LARGEST

__all__ = [
    "NAME",
    "AgentSettings",
    "BudgetSettings",
    "CapabilitySettings",
    "ContextSettings",
    "ForkSettings",
    "LimitSettings",
    "ProjectSettings",
    "RunSettings",
    "field_at",
    "known_keys",
    "model_at",
    "schema",
]

NAME: Final = r"[A-Za-z][A-Za-z0-9_]{0,47}"  # with `transfer_to_` before it, what providers take as a tool's name
_BUDGET: Final = Budget()
_KINDS: Final = [form.partition(":")[0] for form in FORMS if ":" in form]
_MODEL: Final = f"^(lexical|({'|'.join(_KINDS)}):.*\\S.*)$"

_Amount = Annotated[int, Field(gt=0, le=LARGEST)] | None
_Seconds = Annotated[float, Field(gt=0, le=LARGEST, allow_inf_nan=False)] | None
# A budget's key may be null: no bound. Any other key without a value is left out.
_Bound = Annotated[int | None, Field(ge=0), WithJsonSchema({"type": ["integer", "null"], "minimum": 0})]
_Time = Annotated[
    float | None, Field(ge=0, allow_inf_nan=False), WithJsonSchema({"type": ["number", "null"], "minimum": 0})
]


def _key(default: Any, description: str, example: object, **schema: Any) -> Any:
    """A key: what holds without it, what it is for, and a value to show to whoever wrote a wrong one."""
    return Field(default=default, description=description, examples=[example], json_schema_extra=schema or None)


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class ForkSettings(_Settings):
    """Which agents the branches of a fork may run as, and how many branches one fork may have."""

    agents: tuple[str, ...] | None = _key(
        None,
        "Whom a branch may run as, this agent itself included. Left out: any agent.",
        ("clerk", "reader"),
        minItems=1,
        uniqueItems=True,
    )
    max_branches: int | None = _key(
        None, "How many branches one fork may have. 1 delegates and never fans out. Left out: no bound.", 4, minimum=1
    )


def _fork(value: object) -> object:
    """`true` is a fork without bounds, `false` is none."""
    if isinstance(value, bool):
        return ForkSettings() if value else None
    if isinstance(value, Mapping | ForkSettings):
        return value
    raise PydanticCustomError("fork_type", "true, false, or a mapping with agents and max_branches")


_Fork = Annotated[ForkSettings | None, BeforeValidator(_fork, json_schema_input_type=bool | ForkSettings)]


class ContextSettings(_Settings):
    """What delegated work starts from: the conversation so far (fork), or the request alone (cold)."""

    policy: Literal["model", "always", "never"] = _key(
        "model", "Who decides for the calls that this agent makes: its model, or always fork, or never.", "model"
    )
    default: Literal["fork", "cold"] = _key(
        "fork", "What this agent starts from when another one calls it (agent:NAME) and does not say.", "cold"
    )


class LimitSettings(_Settings):
    """Limits of one agent: its turns for one answer, and what one run of the code that it writes may use."""

    max_turns: Annotated[int, Field(ge=1)] | None = _key(None, "Requests to the model for one answer.", 24)
    cpu_seconds: _Seconds = _key(None, "Processor time.", 10)
    wall_seconds: _Seconds = _key(None, "Time that may pass, waiting included.", 120)
    grace_seconds: _Seconds = _key(None, "How long code may clean up after a time limit.", 1)
    memory_bytes: _Amount = _key(None, "The interpreter's whole memory.", 256 << 20)
    output_bytes: _Amount = _key(None, "Output that is kept.", 1 << 20)
    frame_bytes: _Amount = _key(None, "One message across the sandbox's boundary.", 32 << 20)
    value_bytes: _Amount = _key(None, "The value that comes out.", 16 << 20)
    depth: _Amount = _key(None, "Nesting of one message's values.", 100)
    items: _Amount = _key(None, "Number of values in one message.", 1_000_000)
    calls: _Amount = _key(None, "Calls that may be made.", 1_000)
    calls_at_once: _Amount = _key(None, "Calls under way at once; more wait.", 128)
    tasks: _Amount = _key(None, "Live asyncio tasks.", 10_000)


class AgentSettings(_Settings):
    """One agent."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": ["instructions"]}, {"required": ["instructions_file"]}]}
    )

    description: str = _key(
        "", "When work belongs to this agent: what others read when they hand it over.", "Talks with the person."
    )
    instructions: str | None = _key(None, "What this agent is told.", "You are the desk.")
    instructions_file: str | None = _key(None, "A text file with what this agent is told.", "desk.md")
    model: str = _key("lexical", f"Which model thinks: {', '.join(FORMS)}.", "openai:gpt-5", pattern=_MODEL)
    base_url: str | None = _key(None, "The server of the model, if not its provider's.", "http://localhost:8080/v1")
    capabilities: tuple[str, ...] = _key(
        (),
        "What this agent can use: names from capabilities, and other agents as agent:NAME.",
        ("contacts", "agent:clerk"),
        uniqueItems=True,
    )
    handoffs: tuple[str, ...] = _key(
        (),
        "Agents that the conversation can be handed over to. It stays with them until they hand it back.",
        ("clerk",),
        uniqueItems=True,
    )
    fork: _Fork = _key(None, "Whether this agent may fork into branches, and into which.", example=True)
    tasks: str | None = _key(
        None, "Who does the tasks that this agent starts beside its work: self, or another agent.", "self"
    )
    follow: bool = _key(
        default=False,
        description="Whether running tasks hear of new messages without being steered.",
        example=True,
    )
    context: ContextSettings = _key(ContextSettings(), "What delegated work starts from.", {"policy": "model"})
    limits: LimitSettings = _key(LimitSettings(), "Limits of this agent.", {"max_turns": 24})


class BudgetSettings(_Settings):
    """What one run may use in all, whatever it starts. null is no bound."""

    tokens: _Bound = _key(_BUDGET.tokens, "Tokens sent and received.", 5_000_000)
    model_calls: _Bound = _key(_BUDGET.model_calls, "Requests to models.", 1_000)
    children: _Bound = _key(_BUDGET.children, "Loops below the first.", 500)
    depth: _Bound = _key(_BUDGET.depth, "Layers below the first loop.", 8)
    seconds: _Time = _key(_BUDGET.seconds, "Time from the start of the first loop.", 600)


class RunSettings(_Settings):
    """What holds for a run as a whole."""

    max_fork_depth: Annotated[int, Field(ge=0)] = _key(
        2, "How many forks may lie within each other. 0: nobody forks.", 2
    )
    budget: BudgetSettings = _key(BudgetSettings(), "What one run may use in all.", {"tokens": 1_000_000})


class CapabilitySettings(_Settings):
    """Where capabilities are made from. Paths are from the folder of agents.yaml."""

    contacts: str | None = _key(None, "A vCard file.", "people.vcf")
    search: str | None = _key(None, "A folder of text, Markdown, HTML and PDF.", "papers/")
    outbox: str | None = _key(None, "A Maildir: mail is written there, and never sent.", "out/")


class ProjectSettings(_Settings):
    """Agents that work together."""

    agents: dict[str, AgentSettings] = _key(
        ...,
        "The agents, by name.",
        {"desk": {"instructions": "You are the desk."}},
        minProperties=1,
        propertyNames={"pattern": f"^{NAME}$"},
    )
    start: str | None = _key(None, "The agent that a conversation begins with. Left out: the only one.", "desk")
    run: RunSettings = _key(
        RunSettings(), "How deep forks may lie in a run, and what it may use.", {"max_fork_depth": 2}
    )
    capabilities: CapabilitySettings = _key(
        CapabilitySettings(), "What agents can use, and what it is made from.", {"contacts": "people.vcf"}
    )
    workspace: str | None = _key(None, "The folder that all agents and branches share.", "work/")


class _WithoutNull(GenerateJsonSchema):
    """A key that may be left out is left out, and not null: a budget's keys say for themselves that they may be."""

    @override
    def nullable_schema(self, schema: core_schema.NullableSchema) -> dict[str, Any]:
        return self.generate_inner(schema["schema"])

    @override
    def default_schema(self, schema: core_schema.WithDefaultSchema) -> dict[str, Any]:
        made = super().default_schema(schema)
        if made.get("default") is None or isinstance(made["default"], dict):
            made.pop("default", None)
        return made

    @override
    def field_title_should_be_set(self, schema: object) -> bool:
        return False


def schema() -> dict[str, Any]:
    """The JSON Schema of agents.yaml, for editors."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **ProjectSettings.model_json_schema(schema_generator=_WithoutNull),
        "title": "agents.yaml",
    }


def model_at(path: KeyPath) -> type[BaseModel] | None:
    """The model that describes the mapping at a path; None where no mapping of known keys is."""
    kind: object = ProjectSettings
    for part in path:
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            field = kind.model_fields.get(str(part))
            kind = None if field is None else _meant(field.annotation)
        elif get_origin(kind) is dict:
            kind = _meant(get_args(kind)[1])
        else:
            return None
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def field_at(path: KeyPath) -> FieldInfo | None:
    """The field that describes the value at a path; for an item of a list, the list's."""
    while path and isinstance(path[-1], int):
        path = path[:-1]
    model = model_at(path[:-1])
    return None if model is None or not path else model.model_fields.get(str(path[-1]))


def known_keys(path: KeyPath) -> Iterable[str]:
    """The keys that the mapping at a path may have."""
    model = model_at(path)
    return () if model is None else model.model_fields


def _meant(annotation: object) -> object:
    """The model or dict within an annotation."""
    if get_origin(annotation) in (Annotated, Union, types.UnionType):
        return next((found for each in get_args(annotation) if (found := _meant(each)) is not None), None)
    if get_origin(annotation) is dict or (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
        return annotation
    return None
