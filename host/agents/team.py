"""From settings to agents that run: `host.loop.Agent`s that know each other, with their models and capabilities.

Agents may call each other in a circle, so they cannot be made one inside the other. Each is made once; the capability
by which it is called is made before it and is given the finished agent at the end.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from guest_stdlib.declared import Context
from host.agents.rules.graph import colleague
from host.agents.settings import AgentSettings
from host.capability import Capability
from host.context import Inherited
from host.errors import HostError
from host.loop import Agent, Budget, Colleague, Crew, Forks
from host.models.port import Model
from sandbox import Limits

if TYPE_CHECKING:
    from host.agents.project import Project

__all__ = ["Team", "make_team"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Team:
    """A project's agents, ready to run. A run begins with `start`, among `crew`, within `budget`; `workspace` is the
    folder that all of them share, if there is one.
    """

    start: Agent
    crew: Crew
    budget: Budget
    workspace: Path | None = None


def make_team(
    project: Project, *, capabilities: Mapping[str, Capability], model: Callable[[str, str | None], Model] | None
) -> Team:
    """See `Project.build`."""
    settings = project.settings
    start = project.start
    if start not in settings.agents:
        raise HostError(f"{project.file} does not say which agent a conversation begins with")
    assert start is not None
    makers = _Maker(project, capabilities, model or _named)
    agents = {name: makers.agent(name) for name in settings.agents}
    makers.acquaint(agents)
    return Team(
        start=agents[start],
        crew=Crew.of(agents.values(), max_fork_depth=settings.run.max_fork_depth),
        budget=Budget(**settings.run.budget.model_dump()),
        workspace=project.workspace,
    )


class _Maker:
    def __init__(
        self, project: Project, capabilities: Mapping[str, Capability], model: Callable[[str, str | None], Model]
    ) -> None:
        self._project, self._capabilities, self._make_model = project, capabilities, model
        self._models: dict[tuple[str, str | None], Model] = {}
        self._agents: dict[str, Agent] = {}
        self._colleagues: dict[str, list[Colleague]] = {}

    def agent(self, name: str) -> Agent:
        """The agent of this name, once."""
        if name not in self._agents:
            self._agents[name] = self._agent(name, self._project.settings.agents[name])
        return self._agents[name]

    def _agent(self, name: str, own: AgentSettings) -> Agent:
        tasks: Agent | Literal["self"] | None = None
        if own.tasks == "self":
            tasks = "self"
        elif own.tasks is not None:
            tasks = self.agent(own.tasks)  # never in a circle: tasks.circle
        fork = own.fork
        limits = own.limits.model_dump(exclude_none=True)
        turns = {key: limits.pop(key) for key in ("max_turns",) if key in limits}
        return Agent(
            name=name,
            description=own.description.strip(),
            instructions=self._project.instructions(name),
            model=self._model(own.model, own.base_url),
            capabilities=tuple(self._capability(name, each) for each in own.capabilities),
            handoffs=own.handoffs,
            forks=None if fork is None else Forks(agents=fork.agents, max_branches=fork.max_branches),
            tasks=tasks,
            follow=own.follow,
            context_policy=own.context.policy,
            limits=Limits(**limits) if limits else None,
            **turns,
        )

    def _model(self, name: str, base_url: str | None) -> Model:
        if (name, base_url) not in self._models:
            self._models[name, base_url] = self._make_model(name, base_url)
        return self._models[name, base_url]

    def _capability(self, agent: str, name: str) -> Capability:
        other = colleague(name)
        if other is None:
            if name not in self._capabilities:
                raise HostError(f"the agent {agent!r} uses the capability {name!r}, which was not given to build")
            return self._capabilities[name]
        settings = self._project.settings.agents[other]
        model = self._model(settings.model, settings.base_url)
        made = _kind(other, settings)(Agent(name=other, instructions="", model=model))
        self._colleagues.setdefault(other, []).append(made)
        return made

    def acquaint(self, agents: Mapping[str, Agent]) -> None:
        """Give each colleague the agent that it is, in place of one that has only its name."""
        for name, colleagues in self._colleagues.items():
            for each in colleagues:
                each.agent = agents[name]


def _kind(name: str, settings: AgentSettings) -> type[Colleague]:
    """What the agent is as a capability of others: described as it describes itself, with its own default."""
    about = settings.description.strip() or "Another agent, who answers requests."
    default: Context = settings.context.default

    async def ask(self: Colleague, request: str, *, inherited: Inherited) -> str:
        return await Colleague.ask(self, request, inherited=inherited)

    ask.__doc__ = f"Hand a request to {name}, and get the answer.\n\n{about}"

    def fill(body: dict[str, object]) -> None:
        body.update(__doc__=about, __module__=__name__, context=default, ask=ask)

    title = "".join(part.capitalize() for part in name.split("_"))
    return cast("type[Colleague]", types.new_class(title, (Colleague,), {}, fill))


def _named(name: str, base_url: str | None) -> Model:
    from host.models.named import model

    return model(name, base_url=base_url)
