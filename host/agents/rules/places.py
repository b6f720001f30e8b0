"""Rules about what lies around the agents: capabilities and what they are made from, the workspace, generated files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from host.agents.findings import nearest
from host.agents.guidance import FILE, state_of
from host.agents.rules.graph import COLLEAGUE, colleague
from host.agents.rules.rule import Remark, called
from host.capability._capability import check_name
from host.errors import CapabilityDefinitionError
from host.loop.in_code import InCode

if TYPE_CHECKING:
    from host.agents.project import Project

# Capabilities


def capability_unknown(project: Project) -> Iterator[Remark]:
    """A capability that nothing provides."""
    settings = project.settings
    provided = [*project.places, *sorted(project.provided)]
    everything = [*provided, *(f"{COLLEAGUE}{name}" for name in settings.agents)]
    for agent, own in settings.agents.items():
        for number, name in enumerate(own.capabilities):
            path = ("agents", agent, "capabilities", number)
            other = colleague(name)
            if other is not None and other not in settings.agents:
                near = [f"{COLLEAGUE}{each}" for each in nearest(other, settings.agents)]
                message = f"{agent} can call the agent {other}, and there is no agent {other}."
                yield Remark(path=path, message=message, help=called(other, near))
            elif other is None and name not in provided:
                yield Remark(
                    path=path,
                    message=f"{agent} can use {name}, and there is nothing of that name.",
                    help=_provide(
                        name, [each for each in nearest(name, everything) if each not in own.capabilities], project
                    ),
                )


def _provide(name: str, near: list[str], project: Project) -> str:
    if name in project.settings.agents:
        return f"Write {COLLEAGUE}{name}: that is how an agent is called."
    if name in type(project.settings.capabilities).model_fields:
        return f"Say under capabilities, at the end of the file, what {name} is made from."
    return f"Write {' or '.join(near)}." if near else f"There is: {', '.join(project.places) or 'none'}."


def capability_name(project: Project) -> Iterator[Remark]:
    """An agent as a capability whose name code cannot use, or that is another capability's."""
    agents = project.settings.agents
    for agent, own in agents.items():
        for number, name in enumerate(own.capabilities):
            path = ("agents", agent, "capabilities", number)
            other = colleague(name)
            if other is None or other not in agents:
                continue
            if other in own.capabilities or (other == InCode.name and own.tasks is not None):
                message = f"{agent} can use {other} and the agent {other}, and code could not tell them apart."
                yield Remark(path=path, message=message, help="Give the agent another name.")
                continue
            try:
                check_name(other, name)
            except CapabilityDefinitionError as error:
                yield Remark(path=path, message=str(error), help="Give the agent another name.")


def capability_unused(project: Project) -> Iterator[Remark]:
    """A capability that no agent has."""
    used = {name for agent in project.settings.agents.values() for name in agent.capabilities}
    for name in project.places:
        if name not in used:
            message = f"No agent can use {name}."
            help_ = f"Write capabilities: [{name}] for one, or take it out."
            yield Remark(path=("capabilities", name), key=True, message=message, help=help_)


def capability_place(project: Project) -> Iterator[Remark]:
    """A capability that is made from something that is not there."""
    places = project.places
    written = project.settings.capabilities.model_dump(exclude_none=True)
    wanted = {"contacts": (Path.is_file, "no file"), "search": (Path.is_dir, "no folder")}
    for name, place in places.items():
        path = ("capabilities", name)
        if name == "outbox":  # made when it is first used
            if place.exists() and not place.is_dir():
                yield Remark(path=path, message=f"{written[name]} is no folder.", help="Name a folder; it may be new.")
            continue
        is_there, missing = wanted[name]
        if not is_there(place):
            reason = f"is {missing}" if place.exists() else "does not exist"
            help_ = f"Name one that is there, from the folder of {project.file.name}."
            yield Remark(path=path, message=f"{written[name]} {reason}.", help=help_)


def workspace_place(project: Project) -> Iterator[Remark]:
    """A workspace that is no folder."""
    place = project.workspace
    if place is not None and place.exists() and not place.is_dir():
        message = f"{project.settings.workspace} is no folder."
        yield Remark(path=("workspace",), message=message, help="Name a folder; it may be new.")


# Files that the project owns


def _forks(project: Project) -> bool:
    return any(agent.fork is not None for agent in project.settings.agents.values())


def rules_missing(project: Project) -> Iterator[Remark]:
    """Agents fork, and nothing shows what they are told about it."""
    file = project.folder / FILE
    if _forks(project) and not file.exists():
        yield Remark(
            path=(),
            file=file,
            owned=True,
            message=f"{FILE}, which shows what agents that fork are told, is not there.",
            help="Run branchpoint check --fix, which writes it.",
        )


def rules_stale(project: Project) -> Iterator[Remark]:
    """A generated file that was edited, or is out of date."""
    file = project.folder / FILE
    try:
        state = state_of(file.read_bytes())
    except FileNotFoundError:
        return
    except OSError as error:
        state, reason = "foreign", f"{FILE} cannot be read: {error.strerror}."
    else:
        reason = f"{FILE} has the name of a generated file, and does not say that it is one."
    rewrite = "Run branchpoint check --fix, which writes it again."
    if state == "edited":
        message = f"{FILE} was edited, and what is in it reaches no agent."
        help_ = f"Put rules of your own into an agent's instructions. {rewrite}"
        yield Remark(path=(), file=file, owned=True, message=message, help=help_)
    elif state == "outdated":
        message = f"{FILE} is not what agents are told today."
        yield Remark(path=(), file=file, owned=True, message=message, help=rewrite)
    elif state == "foreign" and _forks(project):
        yield Remark(path=(), file=file, message=reason, help="Give it another name: --fix does not overwrite it.")
