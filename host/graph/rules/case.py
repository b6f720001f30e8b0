"""What a rule is given: the run, what it may be judged by, and what its record does not say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from host.graph.rules.finding import NOTHING, Finding, Price, Rule
from host.graph.rules.pricing import Rates
from host.graph.run import Ask, Run, Strand, Use, name_of
from host.models.port import ToolSpec

__all__ = ["Bounds", "Case", "fork_agents", "forking", "specialists"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """From where on something is a finding. They are judgement, not measurement: replace them by your own.

    `series` calls of one tool in a row are a list; a branch of at most `trifle` calls is a trifle; `wide` is a fork of
    so many branches, `long` a history of so many tokens. The slowest branch is far behind if it takes `uneven` times as
    long as the next and `apart` seconds more. Two branches overlap by `shared` calls. A target that answers after at
    most `brief` calls was asked one question.
    """

    series: int = 3
    trifle: int = 2
    wide: int = 3
    long: int = 8_000
    uneven: float = 2.0
    apart: float = 2.0
    shared: int = 2
    brief: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A run to be judged. `agents` are descriptions of agents that exist, beside those that the run's tools name.
    `unknown` names what the record does not say ("tools", say): no rule may take that for absent. `offers` names the
    tools of agents whose requests are not in the record.
    """

    run: Run
    rates: Rates = field(default_factory=Rates)
    bounds: Bounds = field(default_factory=Bounds)
    agents: Mapping[str, str] = field(default_factory=dict)
    unknown: frozenset[str] = frozenset()
    offers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def finding(
        self,
        rule: Rule,
        strand: Strand,
        node: Ask | Use,
        message: str,
        *,
        fix: str,
        expect: str,
        price: Price = NOTHING,
        causes: Iterator[str] | tuple[str, ...] = (),
        agent: str | None = None,
    ) -> Finding:
        """A finding about a node."""
        return Finding(
            rule=rule,
            loop=strand.id,
            agent=agent or node.agent,
            at=node.at,
            node=name_of(strand.id, node),
            message=message,
            fix=fix,
            expect=expect,
            price=price,
            causes=tuple(causes),
        )

    def asked(self, strand: Strand, use: Use) -> Ask | None:
        """The request whose reply made a call."""
        return next((ask for ask in strand.asks if ask.number == use.number), None)

    def tools(self, ask: Ask | None) -> Mapping[str, ToolSpec] | None:
        """The tools that a request offered, by name; None if that is not known."""
        if ask is None:
            return None
        if ask.asked is not None and "tools" not in self.unknown:
            return {tool.name: tool for tool in ask.asked.request.tools}
        if ask.agent not in self.offers:
            return None
        return {name: ToolSpec(name=name, description="", parameters={}) for name in self.offers[ask.agent]}


FORK: Final = "fork"


def forking(case: Case, ask: Ask | None) -> Iterator[str]:
    """The cheap causes of a fork that was not made, as far as the record shows them."""
    tools = case.tools(ask)
    if tools is None:
        yield "the record does not say which tools were on offer"
        return
    if FORK not in tools:
        yield "`fork` was not among the tools of that request: the agent has none, or the depth cap withdrew it"
        return
    yield "`fork` was among the tools of that request"
    if ask is not None and ask.asked is not None and "fork" not in ask.asked.request.system.lower():
        yield "the instructions do not mention forking"
    if agents := fork_agents(tools[FORK]):
        yield f"a branch could run {', '.join(agents)}"


def fork_agents(tool: ToolSpec) -> tuple[str, ...]:
    """The agents that a fork's branches may run, as its schema enumerates them; none where it does not."""
    here: object = tool.parameters
    for key in ("properties", "branches", "items", "properties", "agent", "enum"):
        here = here.get(key) if isinstance(here, dict) else None
    return tuple([name for name in here if isinstance(name, str)]) if isinstance(here, list) else ()


def specialists(case: Case, strand: Strand) -> Mapping[str, str]:
    """The agents that a loop could have given work to, and what each is for: by its hand-offs' descriptions, by the
    fork's, and by what the caller of the rules says.
    """
    found: dict[str, str] = {}
    for ask in strand.asks:
        tools = case.tools(ask) or {}
        for name, tool in tools.items():
            if name.startswith("transfer_to_"):
                found.setdefault(name.removeprefix("transfer_to_"), tool.description)
        for agent in fork_agents(tools[FORK]) if FORK in tools else ():
            found[agent] = found.get(agent) or case.agents.get(agent, "") or _described(tools[FORK], agent)
    return {**dict(case.agents), **found}


def _described(tool: ToolSpec, agent: str) -> str:
    """What a tool's description says of an agent, on a line that begins with its name."""
    for line in tool.description.splitlines():
        head, _, rest = line.strip().lstrip("-*` ").partition(":")
        if head.strip(' `"') == agent:
            return rest.strip()
    return ""
