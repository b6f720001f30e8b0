"""Rules about single agents: their names, what they are told, their models, and where a conversation begins."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from host.agents.findings import nearest
from host.agents.instructions import Unreadable
from host.agents.rules.graph import branches_of, edges, reachable
from host.agents.rules.rule import Remark, called, listed
from host.agents.settings import NAME
from host.models.named import FORMS

if TYPE_CHECKING:
    from host.agents.project import Project

_KINDS = {form.partition(":")[0]: form for form in FORMS}


def agents_none(project: Project) -> Iterator[Remark]:
    """A project without an agent."""
    if not project.settings.agents:
        yield Remark(
            path=("agents",), message="There is no agent.", help="Write one: its name, a colon, its keys below."
        )


def agent_name(project: Project) -> Iterator[Remark]:
    """A name that no tool can have."""
    for name in project.settings.agents:
        if name == "self":
            yield Remark(
                path=("agents", name),
                key=True,
                message="No agent can be called self: tasks: self means the agent that says it.",
                help="Give it another name.",
            )
        elif not re.fullmatch(NAME, name):
            yield Remark(
                path=("agents", name),
                key=True,
                message=f"{name!r} cannot be the name of an agent, which becomes part of a tool's name.",
                help="Take a letter, then letters, digits and underscores, 48 in all at most.",
            )


def agent_no_description(project: Project) -> Iterator[Remark]:
    """An agent that others are to choose, and that says nothing about itself."""
    agents = project.settings.agents
    for name, agent in agents.items():
        to_it = [
            edge for edge in edges(project.settings) if edge.target == name != edge.source and edge.kind != "tasks"
        ]
        if to_it and not agent.description.strip():
            sources = listed(list(dict.fromkeys(edge.source for edge in to_it)))
            yield Remark(
                path=("agents", name),
                key=True,
                message=f"{name} has no description, and {sources} cannot tell when work belongs to it.",
                help="Write description: and when to choose it, not what it is.",
            )


def agent_unreachable(project: Project) -> Iterator[Remark]:
    """An agent that no work gets to."""
    agents, start = project.settings.agents, project.start
    if start not in agents:
        return
    assert start is not None
    reached = reachable(start, edges(project.settings))
    for name in agents:
        if name not in reached:
            yield Remark(
                path=("agents", name),
                key=True,
                message=f"Nothing gets to {name} from {start}, where a conversation begins.",
                help=f"Name it in handoffs, fork, tasks or capabilities (agent:{name}), or take it out.",
            )


def start_missing(project: Project) -> Iterator[Remark]:
    """Several agents, and none that a conversation begins with."""
    if project.start is None and project.settings.agents:
        yield Remark(
            path=("start",),
            message="It is open which agent a conversation begins with.",
            help=f"Write start: {next(iter(project.settings.agents))}, or another one.",
        )


def start_unknown(project: Project) -> Iterator[Remark]:
    """A start that is no agent."""
    start = project.settings.start
    if start is not None and start not in project.settings.agents:
        near = nearest(start, project.settings.agents)
        yield Remark(
            path=("start",), message=f"start is {start}, and there is no agent {start}.", help=called(start, near)
        )


def _told(project: Project, name: str) -> bool:
    """Whether an agent has instructions. A file that cannot be read is another rule's."""
    try:
        return bool(project.instructions(name))
    except Unreadable:
        return True


def instructions_missing(project: Project) -> Iterator[Remark]:
    """An agent that is told nothing."""
    agents = project.settings.agents
    forked = {target for agent in agents.values() for target in branches_of(agent.fork, agents)}
    for name in agents:
        if name not in forked and not _told(project, name):
            yield Remark(
                path=("agents", name),
                key=True,
                message=f"{name} has no instructions.",
                help="Write instructions: and what it is told, or instructions_file: and a file.",
            )


def fork_uninstructed(project: Project) -> Iterator[Remark]:
    """An agent that a branch may run as, and that is told nothing."""
    agents = project.settings.agents
    for name in agents:
        forking = [other for other, agent in agents.items() if name in branches_of(agent.fork, agents)]
        if forking and not _told(project, name):
            yield Remark(
                path=("agents", name),
                key=True,
                message=f"{name} has no instructions, and branches of {listed(forking)} may run as it.",
                help="Write instructions: and what it is told, or instructions_file: and a file.",
            )


def instructions_both(project: Project) -> Iterator[Remark]:
    """Instructions in two places."""
    for name, agent in project.settings.agents.items():
        if agent.instructions is not None and agent.instructions_file is not None:
            yield Remark(
                path=("agents", name, "instructions_file"),
                key=True,
                message=f"{name} has instructions and instructions_file, and only one of them can be meant.",
                help="Keep one of them.",
            )


def instructions_file(project: Project) -> Iterator[Remark]:
    """A file of instructions that is none."""
    for name, agent in project.settings.agents.items():
        try:
            project.instructions(name)
        except Unreadable as error:
            yield Remark(
                path=("agents", name, "instructions_file"),
                message=f"{agent.instructions_file} {error}.",
                help=f"Name a text file, from the folder of {project.file.name}.",
            )


def model_unknown(project: Project) -> Iterator[Remark]:
    """A model that nothing can be made of."""
    for name, agent in project.settings.agents.items():
        kind, colon, rest = agent.model.partition(":")
        form = _KINDS.get(kind)
        if form is not None and (agent.model == form or (":" in form and colon and rest.strip())):
            continue
        near = nearest(kind, _KINDS)
        help_ = f"Write one of {', '.join(FORMS)}."
        if form is not None and ":" in form:
            help_ = f"Write {form}, with the provider's name of a model behind the colon."
        elif form is not None:
            help_ = f"Write {form}, and nothing behind it."
        elif near:
            help_ = f"Write {f'{near[0]}:{rest}' if rest and ':' in _KINDS[near[0]] else _KINDS[near[0]]}."
        yield Remark(path=("agents", name, "model"), message=f"{agent.model!r} names no model.", help=help_)


def model_base_url(project: Project) -> Iterator[Remark]:
    """A server for a model that is on none, or an address that is none."""
    for name, agent in project.settings.agents.items():
        path = ("agents", name, "base_url")
        if agent.base_url is None:
            continue
        if agent.model == "lexical":
            message = f"The model of {name} is lexical, which runs here and on no server."
            yield Remark(path=path, key=True, message=message, help="Take base_url out, or name another model.")
        elif not _is_address(agent.base_url):
            message = f"{agent.base_url} is no address of a server."
            yield Remark(path=path, message=message, help="Write one such as http://localhost:8080/v1.")


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)
