"""Rules about how work passes between agents: hand-offs, forks, tasks, calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from host.agents.findings import nearest
from host.agents.rules.graph import Edge, edges, reachable
from host.agents.rules.rule import Remark, called

if TYPE_CHECKING:
    from host.agents.project import Project


def name_twice(project: Project) -> Iterator[Remark]:
    """A name that stands twice in one list."""
    for agent, settings in project.settings.agents.items():
        forks = settings.fork.agents if settings.fork is not None else None
        lists = {
            ("capabilities",): settings.capabilities,
            ("handoffs",): settings.handoffs,
            ("fork", "agents"): forks or (),
        }
        for keys, names in lists.items():
            for number, name in enumerate(names):
                if name in names[:number]:
                    yield Remark(
                        path=("agents", agent, *keys, number),
                        message=f"{name} is in {'.'.join(keys)} twice.",
                        help="Take one of them out.",
                    )


# Hand-offs


def _is_handoff(edge: Edge) -> bool:
    return edge.kind == "handoff"


def handoff_unknown(project: Project) -> Iterator[Remark]:
    """A hand-off to an agent that does not exist."""
    agents = project.settings.agents
    for edge in filter(_is_handoff, edges(project.settings)):
        if edge.target not in agents:
            there = {edge.source, *agents[edge.source].handoffs}
            near = nearest(edge.target, (name for name in agents if name not in there))
            message = f"{edge.source} hands off to {edge.target}, and there is no agent {edge.target}."
            yield Remark(path=edge.path, message=message, help=called(edge.target, near))


def handoff_self(project: Project) -> Iterator[Remark]:
    """A hand-off that leads nowhere else."""
    for edge in filter(_is_handoff, edges(project.settings)):
        if edge.target == edge.source:
            message = f"{edge.source} hands off to itself."
            yield Remark(path=edge.path, message=message, help="Take it out: a conversation stays by itself.")


def handoff_one_way(project: Project) -> Iterator[Remark]:
    """A hand-off without a way home, over however many hand-offs."""
    agents = project.settings.agents
    for edge in filter(_is_handoff, edges(project.settings)):
        if edge.target not in agents or edge.target == edge.source:
            continue
        if edge.source not in reachable(edge.target, edges(project.settings), by=_is_handoff):
            yield Remark(
                path=edge.path,
                message=f"{edge.source} hands off to {edge.target}, and no hand-off leads back to {edge.source}.",
                help=f"Write handoffs: [{edge.source}] for {edge.target}, if there is to be a way home.",
            )


# Forks


def fork_no_agents(project: Project) -> Iterator[Remark]:
    """A fork into nobody."""
    for name, agent in project.settings.agents.items():
        if agent.fork is not None and agent.fork.agents == ():
            yield Remark(
                path=("agents", name, "fork", "agents"),
                message=f"{name} may fork, and into no agent.",
                help="Name agents, or leave agents out for any; fork: false is no fork.",
            )


def fork_max_branches(project: Project) -> Iterator[Remark]:
    """A fork of no branches."""
    for name, agent in project.settings.agents.items():
        most = None if agent.fork is None else agent.fork.max_branches
        if most is not None and most < 1:
            yield Remark(
                path=("agents", name, "fork", "max_branches"),
                message=f"A fork of {name} may have {most} branches.",
                help="Write 1 or more, or leave it out for any number; fork: false is no fork.",
            )


def fork_unknown(project: Project) -> Iterator[Remark]:
    """A branch that may run as an agent that does not exist."""
    agents = project.settings.agents
    for edge in edges(project.settings):
        if edge.kind == "fork" and edge.target not in agents:
            message = f"Branches of {edge.source} may run as {edge.target}, and there is no agent {edge.target}."
            yield Remark(path=edge.path, message=message, help=called(edge.target, nearest(edge.target, agents)))


def fork_depth_zero(project: Project) -> Iterator[Remark]:
    """Forks that are declared and can never happen."""
    if project.settings.run.max_fork_depth:
        return
    for name, agent in project.settings.agents.items():
        if agent.fork is not None:
            yield Remark(
                path=("agents", name, "fork"),
                key=True,
                message=f"{name} may fork, and run.max_fork_depth is 0, so it never can.",
                help="Write max_fork_depth: 1 or more, or fork: false.",
            )


# Tasks and calls


def tasks_unknown(project: Project) -> Iterator[Remark]:
    """Tasks that are for an agent that does not exist."""
    agents = project.settings.agents
    for edge in edges(project.settings):
        if edge.kind == "tasks" and edge.target not in agents:
            near = nearest(edge.target, (*agents, "self"))
            message = f"The tasks of {edge.source} are for {edge.target}, and there is no agent {edge.target}."
            yield Remark(path=edge.path, message=message, help=called(edge.target, near))


def tasks_circle(project: Project) -> Iterator[Remark]:
    """Tasks that agents pass on in a circle."""
    known = [
        edge for edge in edges(project.settings) if edge.kind == "tasks" and edge.target in project.settings.agents
    ]
    for edge in known:
        if edge.target == edge.source:
            message = f"The tasks of {edge.source} are for {edge.source}, which is self."
            yield Remark(path=edge.path, message=message, help="Write tasks: self.")
        elif edge.source in reachable(edge.target, known):
            message = f"The tasks of {edge.source} are for {edge.target}, whose own tasks lead back to {edge.source}."
            yield Remark(path=edge.path, message=message, help="Write tasks: self for one of them, or leave it out.")


def follow_unused(project: Project) -> Iterator[Remark]:
    """Tasks that would follow, and no tasks."""
    for name, agent in project.settings.agents.items():
        if agent.follow and agent.tasks is None:
            message = f"{name} has follow, and starts no tasks that could."
            yield Remark(
                path=("agents", name, "follow"), key=True, message=message, help="Write tasks: self, or take it out."
            )


def context_unused(project: Project) -> Iterator[Remark]:
    """A default for calls that nobody makes."""
    asked = {edge.target for edge in edges(project.settings) if edge.kind == "capability"}
    for name, agent in project.settings.agents.items():
        if "default" in agent.context.model_fields_set and name not in asked:
            yield Remark(
                path=("agents", name, "context", "default"),
                key=True,
                message=f"{name} says what a call to it starts from, and no agent calls it.",
                help=f"Give agent:{name} to an agent that is to call it, or take default out.",
            )
