"""The rules, in one table: their ids, how grave each is, and what it looks for.

Ids stay: people suppress by them. The first rules are found while a file is read, and have no function here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from host.agents.findings import Severity
from host.agents.rules import agents, passing, places
from host.agents.rules.rule import Remark, Rule

__all__ = ["RULES", "Remark", "Rule"]

_READING: Final = (
    Rule(id="yaml.syntax", severity="error", title="The file is no YAML."),
    Rule(id="yaml.encoding", severity="error", title="The file is no UTF-8 text."),
    Rule(id="yaml.size", severity="error", title="The file is too large or too deep."),
    Rule(id="yaml.key", severity="error", title="A key that is no text."),
    Rule(id="yaml.tag", severity="error", title="A value with a tag."),
    Rule(id="yaml.alias", severity="error", title="A value that contains itself."),
    Rule(id="key.twice", severity="error", title="A key that stands twice in one mapping."),
    Rule(id="key.unknown", severity="error", title="A key that means nothing."),
    Rule(id="key.missing", severity="error", title="A key that has to be there."),
    Rule(id="value.empty", severity="error", title="A key without a value."),
    Rule(id="value.wrong", severity="error", title="A value of the wrong kind."),
)
_LOOKING: Final[Mapping[str, tuple[Severity, Callable[..., Iterator[Remark]]]]] = {
    "agents.none": ("error", agents.agents_none),
    "agent.name": ("error", agents.agent_name),
    "agent.no-description": ("warning", agents.agent_no_description),
    "agent.unreachable": ("warning", agents.agent_unreachable),
    "start.missing": ("error", agents.start_missing),
    "start.unknown": ("error", agents.start_unknown),
    "instructions.missing": ("error", agents.instructions_missing),
    "instructions.both": ("error", agents.instructions_both),
    "instructions.file": ("error", agents.instructions_file),
    "model.unknown": ("error", agents.model_unknown),
    "model.base-url": ("error", agents.model_base_url),
    "name.twice": ("error", passing.name_twice),
    "handoff.unknown": ("error", passing.handoff_unknown),
    "handoff.self": ("error", passing.handoff_self),
    "handoff.one-way": ("warning", passing.handoff_one_way),
    "fork.no-agents": ("error", passing.fork_no_agents),
    "fork.max-branches": ("error", passing.fork_max_branches),
    "fork.unknown": ("error", passing.fork_unknown),
    "fork.uninstructed": ("error", agents.fork_uninstructed),
    "fork.depth-zero": ("warning", passing.fork_depth_zero),
    "tasks.unknown": ("error", passing.tasks_unknown),
    "tasks.circle": ("error", passing.tasks_circle),
    "follow.unused": ("warning", passing.follow_unused),
    "context.unused": ("warning", passing.context_unused),
    "capability.unknown": ("error", places.capability_unknown),
    "capability.name": ("error", places.capability_name),
    "capability.place": ("error", places.capability_place),
    "capability.unused": ("warning", places.capability_unused),
    "workspace.place": ("error", places.workspace_place),
    "rules.missing": ("warning", places.rules_missing),
    "rules.stale": ("warning", places.rules_stale),
}


def _table() -> Iterator[Rule]:
    yield from _READING
    for id_, (severity, look) in _LOOKING.items():
        yield Rule(id=id_, severity=severity, title=(look.__doc__ or "").strip(), check=look)


RULES: Final[Mapping[str, Rule]] = MappingProxyType({rule.id: rule for rule in _table()})
