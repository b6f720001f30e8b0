"""What is derived from an agent and stays the same for all loops that it runs as: its instructions, and its fixed tools
as its model sees them. The same agent gives the same bytes, so that its requests begin alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from host.capability import Table, describe, schemas
from host.loop.agent import Agent
from host.loop.crew import Crew
from host.loop.forking import fork_spec
from host.loop.guidance import DELEGATING, FORKING, TASKS
from host.loop.in_code import InCode
from host.models.port import ToolSpec

__all__ = ["Prepared", "branch_agents"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """An agent made ready. `specs` are its capabilities' tools, `code` is `run_code` where it has capabilities or
    tasks, `fork` where it may fork here, `delegating` names the tools that hand work on, and `loading` those that load
    instructions.
    """

    agent: Agent  # kept, so that its identity stays its own
    table: Table
    instructions: str
    specs: tuple[ToolSpec, ...]
    fork: ToolSpec | None
    code: ToolSpec | None
    delegating: frozenset[str]
    loading: frozenset[str]

    @classmethod
    def of(cls, agent: Agent, crew: Crew, *, may_fork: bool) -> Self:
        """Derive all of it. Raises CapabilityDefinitionError for two things of one name."""
        table = Table(agent.capabilities)
        specs = tuple(
            ToolSpec(name=schema["name"], description=schema["description"], parameters=schema["input_schema"])
            for schema in schemas(table.capabilities, policy=agent.context_policy)
        )
        delegating = {offered.tool_name for offered in table if offered.tool.hidden is not None}
        if agent.tasks is not None:
            delegating.add("start_task")
        fork = _fork(agent, crew) if may_fork and agent.forks is not None else None
        if fork is not None:
            delegating.add(fork.name)
        texts = [agent.instructions]
        texts += [DELEGATING] if delegating and agent.context_policy == "model" else []
        texts += [TASKS] if agent.tasks is not None else []
        texts += [FORKING] if fork is not None else []
        return cls(
            agent=agent,
            table=table,
            instructions="\n\n".join(texts),
            specs=specs,
            fork=fork,
            code=_code(agent, bool(delegating)) if agent.capabilities else None,
            delegating=frozenset(delegating),
            loading=frozenset(tool.spec.name for tool in agent.tools if tool.loads),
        )


def branch_agents(agent: Agent, crew: Crew) -> dict[str, Agent]:
    """Whom a branch of this agent may run as."""
    named = None if agent.forks is None else agent.forks.agents
    return dict(crew.agents) if named is None else {name: crew.agents[name] for name in named}


def _fork(agent: Agent, crew: Crew) -> ToolSpec:
    names = tuple(branch_agents(agent, crew))
    return fork_spec(agent, names, offers_choice=agent.context_policy == "model")


def _code(agent: Agent, delegates: bool) -> ToolSpec:
    """`run_code`, with the stubs of all that its code may call."""
    tasks = () if agent.tasks is None else (InCode(),)
    stubs = describe((*agent.capabilities, *tasks), policy=agent.context_policy)
    properties: dict[str, object] = {
        "code": {"type": "string", "description": "Python source. The value of a last expression is shown."}
    }
    if delegates and agent.context_policy == "model":
        properties["context"] = {
            "type": "string",
            "enum": ["fork", "cold"],
            "default": "fork",
            "description": '"cold": no call of this code passes the conversation on, whatever the call says.',
        }
    return ToolSpec(
        name="run_code",
        description=(
            "Run Python in a sandbox of your own: full CPython with the standard library, top-level await, no files and"
            " no network. Names stay for your next code. Good for several calls at once (asyncio.gather), for loops"
            f" over results, and for computing.\n\n{stubs}"
        ),
        parameters={"type": "object", "properties": properties, "required": ["code"]},
    )
