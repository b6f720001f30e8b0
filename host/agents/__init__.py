"""Projects: agents that work together, declared in one file, agents.yaml, and checked before anything runs."""

from host.agents.findings import Finding, Fix, ProjectError, Severity, Span
from host.agents.fixing import fix
from host.agents.project import Checked, Project, check, dump, load
from host.agents.rules import RULES, Rule
from host.agents.settings import ProjectSettings, schema
from host.agents.team import Team

__all__ = [
    "RULES",
    "Checked",
    "Finding",
    "Fix",
    "Project",
    "ProjectError",
    "ProjectSettings",
    "Rule",
    "Severity",
    "Span",
    "Team",
    "check",
    "dump",
    "fix",
    "load",
    "schema",
]
