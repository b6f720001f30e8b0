"""Fork with branches: one call, several arms that run at once, and one result that joins them.

Rules:

- `fork` takes a list of branches, each with a name, instructions and perhaps an agent, and one mode of context for all
  of them: `inherit` (the conversation as it stands), `compact` (without tool traffic), `none`.
- A branch runs as its agent, with that agent's own tools, hand-offs and forks. It is not steered, and cannot ask.
- The join is one result, a block per branch in the order of their declaration, whichever was done first. A branch that
  fails is a block that says so; the others' answers are whole. What a branch did on the way is in the record alone.
- Depth is counted in forks. At the cap the tool and what is said about it are withdrawn, and a call of it is refused.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Protocol

import trio

from host.capability import Delegation, Heritage, Terms
from host.context import DIALECTS, ContextChoice, Inherited, Start, branch_start
from host.context.section import readable
from host.errors import CapabilityError
from host.events import Arm, Forked, Joined
from host.loop.agent import Agent, Ended, ToolError
from host.loop.arguments import parsed
from host.loop.offers import Offer
from host.loop.results import rendered
from host.models.port import ToolSpec

__all__ = ["TERMS", "Begin", "fork_spec", "forking"]

TERMS: Final = Terms(dialect=DIALECTS["modes"], defaults=DIALECTS["modes"].defaults)
_FIELDS: Final[tuple[str, ...]] = ("name", "instructions", "agent")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.-]{0,39}")
_FORM: Final = 'Write: fork(branches=[{"name": "...", "instructions": "..."}]).'
_BLOCK: Final = re.compile(r"^(?=\s{0,3}#{1,6}\s)", re.MULTILINE)
_ESCAPE: Final = r"\\"  # before a heading in an answer, so that it is none


type Begin = Callable[..., Start]
"""What a branch starts from, given its agent's `instructions`, its `tools`, and the `agent`."""


class Arms(Protocol):
    """The loop that forks, as far as it is needed here."""

    @property
    def id(self) -> str:
        """Its name in the run."""
        ...

    @property
    def agent(self) -> Agent:
        """Who is at work in it."""
        ...

    def snapshot(self, call: str | None) -> Inherited:
        """What it knows now."""
        ...

    def branch(self, agent: Agent, begin: Begin, *, name: str, request: str, delegation: str) -> Branch:
        """A loop that is ready to run as a branch."""
        ...


class Branch(Protocol):
    """One arm."""

    @property
    def id(self) -> str:
        """Its loop's name in the run."""
        ...

    async def run(self) -> Ended:
        """Run it to its answer."""
        ...

    def abandon(self) -> None:
        """Tell that it will not run."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Planned:
    name: str
    instructions: str
    agent: Agent


def fork_spec(agent: Agent, names: tuple[str, ...], *, offers_choice: bool) -> ToolSpec:
    """The tool as a model sees it. `names` are the agents that a branch may run as."""
    assert agent.forks is not None
    branch: dict[str, object] = {
        "name": {"type": "string", "description": "A short name, unlike those of the other branches."},
        "instructions": {"type": "string", "description": "What this branch is to do, and what its answer should be."},
        "agent": {"type": "string", "enum": list(names), "description": _agent_text(agent, names)},
    }
    required = ["name", "instructions"] if agent.name in names else ["name", "instructions", "agent"]
    items = {"type": "object", "properties": branch, "required": required, "additionalProperties": False}
    branches: dict[str, object] = {"type": "array", "minItems": 1, "items": items, "description": "All run at once."}
    if agent.forks.max_branches is not None:
        branches["maxItems"] = agent.forks.max_branches
    properties: dict[str, object] = {"branches": branches}
    if offers_choice:
        (option,) = TERMS.options
        properties[option.name] = {
            "type": "string",
            "enum": list(option.words),
            "default": option.default,
            "description": TERMS.text(option.name),
        }
    return ToolSpec(
        name="fork",
        description=(
            "Split into branches that work at once on parts which do not need each other, and come back here with one"
            " result: an answer from each. A branch cannot ask and cannot be steered. For a single part, one branch."
        ),
        parameters={"type": "object", "properties": properties, "required": ["branches"]},
    )


def _agent_text(agent: Agent, names: tuple[str, ...]) -> str:
    return f"Who does it. Left out: {agent.name}." if agent.name in names else "Who does it."


def forking(
    loop: Arms,
    spec: ToolSpec,
    agents: dict[str, Agent],
    *,
    current_call: Callable[[], str | None],
    delegated: Callable[[Delegation, str | None], None],
    tell: Callable[[Forked | Joined], None],
) -> Offer:
    """The tool of a loop that may fork. `agents` are those that a branch may run as."""

    def call(text: str) -> Awaitable[object]:
        mode, planned = _planned(loop.agent, spec, agents, parsed("fork", text))
        made_by = current_call()
        assert made_by is not None
        whole = loop.snapshot(made_by)
        made: list[Delegation] = []
        heritage = Heritage(source=whole, policy=loop.agent.context_policy, record=made.append)
        chosen = None if mode is None else TERMS.read({"context": mode})
        branches: list[Branch] = []
        for each in planned:
            delegation = heritage.delegate("fork", chosen, terms=TERMS)
            delegated(delegation, made_by)
            begin = partial(
                _begin,
                whole=whole,
                choice=delegation.choice,
                call=made_by,
                name=each.name,
                siblings=[other.name for other in planned if other is not each],
                assignment=each.instructions,
            )
            try:
                branch = loop.branch(
                    each.agent, begin, name=each.name, request=each.instructions, delegation=delegation.id
                )
            except CapabilityError as error:
                for begun in branches:
                    begun.abandon()
                raise ToolError(str(error)) from error
            branches.append(branch)
        words = TERMS.dialect.say(made[-1].choice)
        assert words is not None
        arms = tuple(
            Arm(name=each.name, agent=each.agent.name, loop=branch.id)
            for each, branch in zip(planned, branches, strict=True)
        )
        tell(Forked(loop=loop.id, call=made_by, mode=str(words["context"]), arms=arms))
        return _joined(loop.id, made_by, arms, branches, tell)

    return Offer(spec=spec, call=call)


def _begin(
    *,
    instructions: str,
    tools: tuple[ToolSpec, ...],
    agent: Agent,
    whole: Inherited,
    choice: ContextChoice,
    call: str,
    name: str,
    siblings: list[str],
    assignment: str,
) -> Start:
    return branch_start(
        instructions=instructions,
        tools=tools,
        agent=agent.name,
        model=agent.model.name,
        inherited=whole,
        choice=choice,
        call=call,
        name=name,
        siblings=siblings,
        assignment=assignment,
    )


async def _joined(
    loop: str, call: str, arms: tuple[Arm, ...], branches: list[Branch], tell: Callable[[Forked | Joined], None]
) -> object:
    began = trio.current_time()
    ended: dict[str, Arm] = {}

    async def run(arm: Arm, branch: Branch) -> None:
        try:
            answer = await branch.run()
            ended[arm.name] = replace(arm, status="ok", text=rendered(answer.value))
        except Exception as error:
            ended[arm.name] = replace(arm, status="error", text=f"{type(error).__name__}: {error}")

    async with trio.open_nursery() as nursery:
        for arm, branch in zip(arms, branches, strict=True):
            nursery.start_soon(run, arm, branch)
    done = tuple(ended[arm.name] for arm in arms)
    tell(Joined(loop=loop, call=call, arms=done, seconds=trio.current_time() - began))
    return "\n\n".join(_block(arm) for arm in done)


def _block(arm: Arm) -> str:
    """One branch in the join. A heading in its answer is set off, so that no answer can look like a further block."""
    return f"### {arm.name} ({arm.status})\n{_BLOCK.sub(_ESCAPE, readable(arm.text))}"


def _planned(
    agent: Agent, spec: ToolSpec, agents: dict[str, Agent], given: dict[str, object]
) -> tuple[str | None, list[_Planned]]:
    """The mode that was said and the branches, or a ToolError that says all that is wrong."""
    wrong: list[str] = []
    if misplaced := [name for name in _FIELDS if name in given]:
        wrong.append(f"{_and(misplaced)} belong to a branch, not to the fork. {_FORM}")
    unknown = [name for name in given if name not in ("branches", "context", *_FIELDS)]
    wrong += [f"fork has no argument {name!r}." for name in unknown]
    mode = given.get("context")
    offered = "context" in _properties(spec)
    if not offered:
        mode = None  # the loop's policy decides, whatever is said
    elif mode is not None:
        try:
            TERMS.read({"context": mode})
        except ValueError as error:
            wrong.append(f"{error}.")
    listed = given.get("branches")
    planned: list[_Planned] = []
    if not isinstance(listed, list) or not listed:
        if not misplaced:
            wrong.append(f"fork needs a list of branches, also for one. {_FORM}")
    else:
        most = agent.forks.max_branches if agent.forks is not None else None
        if most is not None and len(listed) > most:
            wrong.append(f"{len(listed)} branches are too many: {most} at most.")
        for number, each in enumerate(listed, start=1):
            planned += _one(agent, agents, each, number, wrong)
        names = [each.name for each in planned]
        wrong += [f"Two branches are called {name!r}." for name in sorted({n for n in names if names.count(n) > 1})]
    if wrong:
        raise ToolError(" ".join(wrong))
    return (None if mode is None else str(mode)), planned


def _one(agent: Agent, agents: dict[str, Agent], given: object, number: int, wrong: list[str]) -> list[_Planned]:
    if not isinstance(given, dict):
        wrong.append(f"Branch {number} must be an object. {_FORM}")
        return []
    before = len(wrong)
    wrong += [
        f"Branch {number} has an unknown {key!r}." for key in given if key not in ("name", "instructions", "agent")
    ]
    name, instructions, runs_as = given.get("name"), given.get("instructions"), given.get("agent", agent.name)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        wrong.append(f"Branch {number} needs a name of letters, digits, spaces, '_', '.' or '-', 40 at most.")
    if not isinstance(instructions, str) or not instructions.strip():
        wrong.append(f"Branch {number} needs instructions: what it is to do.")
    if not isinstance(runs_as, str) or runs_as not in agents:
        known = ", ".join(agents)
        what = f"cannot run as {runs_as!r}" if "agent" in given else "must say which agent does it"
        wrong.append(f"Branch {number} {what}. There is: {known}.")
    if len(wrong) > before:
        return []
    assert isinstance(name, str)
    assert isinstance(instructions, str)
    assert isinstance(runs_as, str)
    return [_Planned(name=name, instructions=instructions, agent=agents[runs_as])]


def _properties(spec: ToolSpec) -> Mapping[str, object]:
    properties = spec.parameters["properties"]
    assert isinstance(properties, Mapping)
    return properties


def _and(names: list[str]) -> str:
    *first, last = map(repr, names)
    return f"{', '.join(first)} and {last}" if first else last
