"""From agents.yaml to agents that run: everything that is written arrives, and they know each other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from host import Capability, HostError, Inherited
from host.agents import Team, load
from host.capability import describe, schemas
from host.loop import Agent, Budget, Colleague, Forks, run_agent
from host.models.lexical import Lexical
from host.models.port import Model, Request
from sandbox import Limits
from tests.agents_files import write
from tests.loop_scene import Actor, call

BOTH = """
    agents:
      desk:
        description: Talks with the person.
        instructions: You are the desk.
        model: openai:gpt-5
        base_url: http://localhost:8080/v1
        capabilities: [weather, agent:clerk]
        handoffs: [clerk]
        fork: {agents: [desk, clerk], max_branches: 4}
        tasks: clerk
        follow: true
        context: {policy: always}
        limits: {max_turns: 3, cpu_seconds: 2, depth: 9}
      clerk:
        description: Knows the files.
        instructions_file: clerk.md
        model: openai:gpt-5
        base_url: http://localhost:8080/v1
        capabilities: [agent:desk]
        handoffs: [desk]
        fork: true
        tasks: self
        context: {default: cold}
    start: desk
    run: {max_fork_depth: 1, budget: {tokens: 9, children: null}}
    workspace: work/
"""


class Weather(Capability):
    """The weather."""

    async def today(self) -> str:
        """Today's weather."""
        return "rain"


def built(folder: Path, yaml: str = BOTH, model: Model | None = None) -> Team:
    """The agents of a text, all on one model."""
    project = load(write(folder, yaml, clerk_md="You are the clerk.\n"), provided=["weather"])
    return project.build(capabilities={"weather": Weather()}, model=lambda _name, _url: model or Lexical())


def test_everything_that_is_written_arrives(tmp_path: Path) -> None:
    """In the agent, the crew, the budget."""
    team = built(tmp_path)
    desk, clerk = team.crew.agents.values()
    assert team.start is desk
    assert (desk.name, desk.description, desk.instructions) == ("desk", "Talks with the person.", "You are the desk.")
    assert [each.name for each in desk.capabilities] == ["weather", "clerk"]
    assert (desk.handoffs, desk.forks) == (("clerk",), Forks(agents=("desk", "clerk"), max_branches=4))
    assert (desk.follow, desk.context_policy, desk.max_turns) == (True, "always", 3)
    assert desk.limits == replace(Limits(), cpu_seconds=2.0, depth=9)
    assert clerk.instructions == "You are the clerk."
    assert (clerk.forks, clerk.tasks, clerk.limits) == (Forks(), "self", None)
    assert clerk.max_turns == Agent(name="a", instructions="", model=Lexical()).max_turns
    assert team.crew.max_fork_depth == 1
    assert team.budget == replace(Budget(), tokens=9, children=None)
    assert team.workspace == tmp_path / "work"


def test_agents_that_know_each_other_are_the_same_agents(tmp_path: Path) -> None:
    """Called, given tasks or named in the crew, and though they call each other in a circle."""
    team = built(tmp_path)
    desk, clerk = team.crew.agents["desk"], team.crew.agents["clerk"]
    called, back = desk.capabilities[1], clerk.capabilities[0]
    assert isinstance(called, Colleague)
    assert isinstance(back, Colleague)
    assert called.agent is clerk
    assert back.agent is desk
    assert desk.tasks is clerk


def test_an_agent_without_forks_has_none(tmp_path: Path) -> None:
    """`false` and nothing are the same (R69)."""
    for fork in ("", ", fork: false"):
        team = built(tmp_path, f"agents: {{desk: {{instructions: You.{fork}}}}}")
        assert team.start.forks is None


def test_agents_of_one_model_share_it(tmp_path: Path) -> None:
    """One connection, and a prefix that can be repeated; another server is another model."""
    made: list[tuple[str, str | None]] = []

    def model(name: str, url: str | None) -> Model:
        made.append((name, url))
        return Lexical()

    yaml = BOTH.replace("start:", "  smith: {instructions: You., model: openai:gpt-5}\n    start:")
    project = load(write(tmp_path, yaml, clerk_md="You."), provided=["weather"])
    team = project.build(capabilities={"weather": Weather()}, model=model)
    desk, clerk, smith = team.crew.agents.values()
    assert made == [("openai:gpt-5", "http://localhost:8080/v1"), ("openai:gpt-5", None)]
    assert desk.model is clerk.model
    assert desk.model is not smith.model


def test_models_are_made_by_name(tmp_path: Path) -> None:
    """Without a maker of one's own."""
    team = load(write(tmp_path, "agents: {desk: {instructions: You.}}")).build()
    assert team.start.model.name == Lexical().name


def test_a_capability_that_is_not_given_is_an_error(tmp_path: Path) -> None:
    """It names the agent and the capability."""
    project = load(write(tmp_path, BOTH, clerk_md="You."), provided=["weather"])
    with pytest.raises(HostError, match="the agent 'desk' uses the capability 'weather', which was not given to build"):
        project.build(model=lambda _name, _url: Lexical())


def test_an_agent_as_a_capability_says_what_it_is_for(tmp_path: Path) -> None:
    """To whoever calls by tool, and to whoever writes code; with the default that it declares (R6)."""
    desk, clerk = built(tmp_path).crew.agents.values()
    (tool,) = schemas([desk.capabilities[1]])
    assert tool["name"] == "clerk_ask"
    assert tool["description"] == "Hand a request to clerk, and get the answer.\n\nKnows the files."
    assert tool["input_schema"]["properties"]["context"]["default"] == "cold"
    assert 'context: Literal["fork", "cold"] = "cold"' in describe([desk.capabilities[1]])
    (back,) = schemas(clerk.capabilities)
    assert back["input_schema"]["properties"]["context"]["default"] == "fork"


@pytest.mark.parametrize(("default", "known"), [("cold", False), ("fork", True)])
async def test_a_call_that_does_not_choose_starts_as_the_agent_declares(
    tmp_path: Path, autojump_clock: object, default: str, known: bool
) -> None:
    """The desk's conversation reaches the clerk, or not one word of it does."""
    yaml = BOTH.replace("default: cold", f"default: {default}").replace("policy: always", "policy: model")
    model = Actor(desk=[call("clerk_ask", request="Which file?"), "It is there."], clerk=["a.md"])
    team = built(tmp_path, yaml, model)
    ended = await run_agent(team.start, "The plan, please.", Inherited.cold(), crew=team.crew)
    assert ended.value == "It is there."
    (asked,) = model.of("clerk")
    assert ("The plan, please." in _all(asked)) is known
    assert "Which file?" in _all(asked)


async def test_r73_r69_what_is_declared_is_offered(tmp_path: Path, autojump_clock: object) -> None:
    """Hand-offs by name, described by the target; a fork with its agents and its bound."""
    model = Actor(desk=["Done."])
    team = built(tmp_path, model=model)
    await run_agent(team.start, "Hello.", Inherited.cold(), crew=team.crew)
    tools = {tool.name: tool for tool in model.of("desk")[0].tools}
    assert tools["transfer_to_clerk"].description == "Knows the files."
    branches = tools["fork"].parameters["properties"]["branches"]  # type: ignore[index, call-overload]
    assert branches["maxItems"] == 4
    assert branches["items"]["properties"]["agent"]["enum"] == ["desk", "clerk"]


def _all(request: Request) -> str:
    return "\n".join([request.system, *(message.text for message in request.messages)])
