"""A project: what agents.yaml says, read and judged, and the way from there to agents that run.

project = load("agents.yaml")                          # raises ProjectError with all that is wrong
team = project.build(capabilities={"contacts": ...})   # agents of host.loop, ready to run
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.scalarstring import DoubleQuotedScalarString, LiteralScalarString

from host.agents.findings import Finding, KeyPath, ProjectError, dotted, flat
from host.agents.instructions import instructions_of
from host.agents.rules import RULES
from host.agents.settings import ProjectSettings
from host.agents.shape import read_settings
from host.agents.source import Document, lines_of
from host.agents.team import Team, make_team
from host.capability import Capability
from host.models.port import Model

__all__ = ["Checked", "Project", "check", "dump", "load"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """What a file says. `provided` are names of capabilities that the program brings along; `warnings` are what was
    found when it was loaded and kept nobody from loading it. Paths in it are from the file's folder.
    """

    file: Path
    settings: ProjectSettings
    provided: frozenset[str] = frozenset()
    warnings: tuple[Finding, ...] = field(default=(), compare=False)

    @property
    def folder(self) -> Path:
        """The folder that paths are from."""
        return self.file.parent

    def path(self, written: str) -> Path:
        """A path as it is meant: from the file's folder."""
        return self.folder / Path(written).expanduser()

    @property
    def start(self) -> str | None:
        """The agent that a conversation begins with: the one that is named, or the only one."""
        if self.settings.start is not None:
            return self.settings.start
        return next(iter(self.settings.agents)) if len(self.settings.agents) == 1 else None

    @property
    def places(self) -> Mapping[str, Path]:
        """What the file's capabilities are made from, by name: those of contacts, search, outbox that it has."""
        written = self.settings.capabilities.model_dump(exclude_none=True)
        return MappingProxyType({name: self.path(each) for name, each in written.items()})

    @property
    def workspace(self) -> Path | None:
        """The folder that all agents and branches share."""
        written = self.settings.workspace
        return None if written is None else self.path(written)

    def instructions(self, agent: str) -> str:
        """What an agent is told, without spaces around it; empty where nothing is said. Raises `Unreadable` where a
        file of instructions is none.
        """
        return instructions_of(self.settings.agents[agent], self.folder)

    def build(
        self,
        *,
        capabilities: Mapping[str, Capability] = MappingProxyType({}),
        model: Callable[[str, str | None], Model] | None = None,
    ) -> Team:
        """The agents, ready to run.

        `capabilities` are open, by the names that the file uses; whoever opened them closes them. `model` makes a
        model of its name and its server (else host.models.named does, which needs keys for all but lexical); agents
        that name the same model share one. Raises HostError where a capability is not given, ValueError for a name
        that is no model's, and ModelRefused where there is no usable key.
        """
        return make_team(self, capabilities=capabilities, model=model)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What was found in a file, in the order of its lines, and the project where it can be loaded. `text` is what was
    read.
    """

    file: Path
    text: str
    findings: tuple[Finding, ...]
    project: Project | None
    provided: frozenset[str] = frozenset()

    @property
    def lines(self) -> list[str]:
        """The lines that were read, as places count them, without their ends."""
        return lines_of(self.text)

    @property
    def errors(self) -> int:
        """How many findings keep the project from loading."""
        return sum(found.severity == "error" for found in self.findings)

    @property
    def warnings(self) -> int:
        """How many do not."""
        return len(self.findings) - self.errors


def load(file: Path | str, *, provided: Iterable[str] = ()) -> Project:
    """The project of a file. `provided` are the names of capabilities that `build` will be given and that the file
    does not place.

    Raises ProjectError with everything that is wrong, and OSError where the file cannot be read.
    """
    checked = check(file, provided=provided)
    if checked.project is None:
        raise ProjectError(checked.findings)
    return checked.project


def check(file: Path | str, *, provided: Iterable[str] = ()) -> Checked:
    """Read a file and find what is wrong with it and around it. Raises OSError where it cannot be read."""
    file, known = Path(file), frozenset(provided)
    document = Document.read(file.read_bytes())
    finder = _Finder(file, document)
    settings = None
    for problem in document.problems:
        finder.add(problem.rule, problem.message, problem.help, problem.path, span=problem.span)
    if not document.problems:
        settings, misfits = read_settings(document)
        for misfit in misfits:
            finder.add(misfit.rule, misfit.message, misfit.help, misfit.path, span=misfit.span, fix=misfit.fix)
    if settings is not None:
        judged = Project(file=file, settings=settings, provided=known)
        for rule in RULES.values():
            for remark in () if rule.check is None else rule.check(judged):
                span = None if remark.file else document.at(remark.path, key=remark.key)
                finder.add(
                    rule.id, remark.message, remark.help, remark.path, span=span, file=remark.file, owned=remark.owned
                )
    findings = finder.sorted()
    project = None
    if settings is not None and all(found.severity == "warning" for found in findings):
        project = Project(file=file, settings=settings, provided=known, warnings=findings)
    return Checked(file=file, text=document.text, findings=findings, project=project, provided=known)


class _Finder:
    """Collects findings, with the severity of their rules."""

    def __init__(self, file: Path, document: Document) -> None:
        self._file, self._document = file, document
        self._findings: list[Finding] = []

    def add(self, rule: str, message: str, help_: str, path: KeyPath, *, file: Path | None = None, **more: Any) -> None:
        self._findings.append(
            Finding(
                rule=rule,
                severity=RULES[rule].severity,
                message=flat(message),
                help=flat(help_),
                file=file or self._file,
                key="" if file else flat(dotted(path)),
                **more,
            )
        )

    def sorted(self) -> tuple[Finding, ...]:
        """By line and column; what is about no line comes last."""
        last = (float("inf"), 0.0)
        found = dict.fromkeys(self._findings)
        where = {each: last if each.span is None else (each.span.line, each.span.column) for each in found}
        return tuple(sorted(found, key=lambda each: where[each]))


def dump(project: Project) -> str:
    """The project as YAML. What it leaves out has its default."""
    plain = project.settings.model_dump(mode="json", exclude_defaults=True)
    plain = {"agents": {}, **plain}
    for agent in plain["agents"].values():
        if agent.get("fork") == {}:
            agent["fork"] = True
    out = StringIO()
    yaml = YAML(typ="rt", pure=True)
    yaml.default_flow_style = False
    yaml.width = 10_000  # a text stays on its line
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.dump(_written(plain), out)
    return out.getvalue()


def _written(value: object) -> object:
    """The value with its texts in the form that suits them: several lines as they are, what cannot be seen as
    escapes.
    """
    if isinstance(value, dict):
        return {key: _written(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_written(each) for each in value]
    if not isinstance(value, str) or value.isprintable():
        return value
    lines = value.split("\n")
    plain = all(line.isprintable() and line == line.strip() for line in lines) and lines[0] != ""
    return LiteralScalarString(value) if plain else DoubleQuotedScalarString(value)
