"""The schema for editors and the way back to YAML: they agree with what is read, whatever the project."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from host.agents import Project, ProjectSettings, check, dump, load, schema
from host.agents.settings import (
    AgentSettings,
    BudgetSettings,
    CapabilitySettings,
    ContextSettings,
    ForkSettings,
    LimitSettings,
    RunSettings,
    field_at,
    known_keys,
)
from host.loop import Budget
from sandbox import Limits
from tests.agents_files import write
from tests.json_schema import failures

MODELS = (
    AgentSettings,
    BudgetSettings,
    CapabilitySettings,
    ContextSettings,
    ForkSettings,
    LimitSettings,
    ProjectSettings,
    RunSettings,
)
KEYS = [(model, key) for model in MODELS for key in model.model_fields]


def plain(text: str) -> Any:
    """A YAML text as JSON has it."""
    return json.loads(json.dumps(YAML(typ="safe", pure=True).load(text)))


@pytest.mark.parametrize(("model", "key"), KEYS, ids=[f"{model.__name__}.{key}" for model, key in KEYS])
def test_every_key_says_what_it_is_for_and_its_example_is_right(model: type[Any], key: str) -> None:
    """For the schema and for the model, which must not differ."""
    whole = schema()
    own = whole if model is ProjectSettings else whole["$defs"][model.__name__]
    said = own["properties"][key]
    assert said["description"].endswith(".")
    (example,) = said["examples"]
    assert failures({"$defs": whole["$defs"], **said}, example) == []
    needed: dict[str, Any] = {"agents": {}} if model is ProjectSettings else {}
    assert model.model_validate({**needed, key: model.model_fields[key].examples[0]})


def test_the_limits_and_the_budget_are_those_of_the_loop() -> None:
    """A limit that is added there is one that can be written here, with the same default."""
    assert set(LimitSettings.model_fields) == {"max_turns", *(field.name for field in fields(Limits))}
    assert BudgetSettings().model_dump() == {each.name: getattr(Budget(), each.name) for each in fields(Budget)}


def test_keys_are_known_by_their_path() -> None:
    """Through lists, mappings of agents, and what may be left out."""
    assert set(known_keys(("agents", "desk", "fork"))) == {"agents", "max_branches"}
    assert set(known_keys(("run", "budget"))) == set(BudgetSettings.model_fields)
    assert list(known_keys(("agents",))) == []
    assert list(known_keys(("agents", "desk", "handoffs"))) == []
    assert field_at(("agents", "desk", "handoffs", 3)) is AgentSettings.model_fields["handoffs"]
    assert field_at(()) is None


@pytest.mark.parametrize(
    ("yaml", "wrong"),
    [
        ("{}", "$: required"),
        ("agents: {}", "$.agents: minProperties"),
        ("agents: {front-desk: {instructions: A.}}", "$.agents.front-desk: pattern"),
        ("agents: {desk: {}}", "$.agents.desk: oneOf"),
        ("agents: {desk: {instructions: A., instructions_file: a.md}}", "$.agents.desk: oneOf"),
        ("agents: {desk: {instructions: A., handoff: [a]}}", "$.agents.desk.handoff: additionalProperties"),
        ("agents: {desk: {instructions: A., handoffs: [a, a]}}", "$.agents.desk.handoffs: uniqueItems"),
        ("agents: {desk: {instructions: A., model: gpt}}", "$.agents.desk.model: pattern"),
        ("agents: {desk: {instructions: A., fork: {agents: []}}}", "$.agents.desk.fork: anyOf"),
        ("agents: {desk: {instructions: A., fork: {max_branches: 0}}}", "$.agents.desk.fork: anyOf"),
        ("agents: {desk: {instructions: A., fork: null}}", "$.agents.desk.fork: anyOf"),
        ("agents: {desk: {instructions: A., tasks: null}}", "$.agents.desk.tasks: type"),
        ("agents: {desk: {instructions: A., limits: {depth: null}}}", "$.agents.desk.limits.depth: type"),
        (
            "agents: {desk: {instructions: A., limits: {cpu_seconds: 0}}}",
            "$.agents.desk.limits.cpu_seconds: exclusiveMinimum",
        ),
        ("agents: {desk: {instructions: A., context: {policy: x}}}", "$.agents.desk.context.policy: enum"),
        ("agents: {desk: {instructions: A.}}\nrun: {budget: {tokens: -1}}", "$.run.budget.tokens: minimum"),
    ],
)
def test_what_the_schema_refuses_is_refused_by_the_check(tmp_path: Path, yaml: str, wrong: str) -> None:
    """An editor says the same as the command, though in other words."""
    assert failures(schema(), plain(yaml)) == [wrong]
    assert check(write(tmp_path, yaml)).errors


def test_the_schema_takes_what_the_check_takes(tmp_path: Path) -> None:
    """true and false for a fork, null for a budget, a model of each form."""
    yaml = """
        agents:
          a: {instructions: A., fork: true, model: "openai-responses:x"}
          b: {instructions: B., fork: false, model: lexical}
          c: {instructions_file: c.md, fork: {}, model: "anthropic:x"}
        start: a
        run: {budget: {tokens: null, seconds: null}}
    """
    file = write(tmp_path, yaml, c_md="C.")
    assert check(file).errors == 0
    assert failures(schema(), plain(file.read_text())) == []


# Generated projects

NAMES = ("desk", "clerk", "smith", "Reader_2")
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30) | st.text("ab \n:#'\"\\{-|\t\x85", max_size=12)
TOLD = TEXTS.filter(lambda text: text.strip() != "")
COUNTS = st.integers(1, 1 << 32)
SECONDS = st.floats(0, 1 << 32, exclude_min=True)
LIMITS = st.fixed_dictionaries(
    {},
    optional={
        name: st.integers(1, 10**9) if name == "max_turns" else SECONDS if name.endswith("_seconds") else COUNTS
        for name in LimitSettings.model_fields
    },
)
BUDGETS = st.fixed_dictionaries(
    {},
    optional={
        name: st.none() | (SECONDS if name == "seconds" else st.integers(0, 10**12))
        for name in BudgetSettings.model_fields
    },
)


def some(names: tuple[str, ...], *, least: int = 0) -> st.SearchStrategy[tuple[str, ...]]:
    """Some of these names, each once, in any order."""
    return st.builds(
        lambda order, number: tuple(order[:number]), st.permutations(names), st.integers(least, max(least, len(names)))
    )


@st.composite
def projects(draw: st.DrawFn) -> dict[str, Any]:
    """The data of a project without errors: contacts are there, and a file of instructions is."""
    names = NAMES[: draw(st.integers(1, len(NAMES)))]
    places = draw(st.fixed_dictionaries({}, optional={"contacts": st.just("people.vcf"), "outbox": st.just("out")}))
    agents = {}
    for number, name in enumerate(names):
        others = tuple(each for each in names if each != name)
        told = draw(TOLD.map(lambda text: {"instructions": text}) | st.just({"instructions_file": "told.md"}))
        forks = st.fixed_dictionaries({}, optional={"agents": some(names, least=1), "max_branches": st.integers(1, 9)})
        optional = {
            "description": TEXTS,
            "model": st.sampled_from(["lexical", "openai:gpt: 5", "anthropic:#1"]),
            "capabilities": some((*places, *(f"agent:{each}" for each in names))),
            "handoffs": some(others),
            "fork": st.booleans() | forks,
            "tasks": st.sampled_from(["self", *names[number + 1 :]]),
            "follow": st.booleans(),
            "context": st.fixed_dictionaries(
                {},
                optional={
                    "policy": st.sampled_from(["model", "always", "never"]),
                    "default": st.sampled_from(["fork", "cold"]),
                },
            ),
            "limits": LIMITS,
        }
        agents[name] = told | draw(st.fixed_dictionaries({}, optional=optional))
    run = draw(st.fixed_dictionaries({}, optional={"max_fork_depth": st.integers(0, 5), "budget": BUDGETS}))
    workspace = draw(st.fixed_dictionaries({}, optional={"workspace": st.sampled_from(["work", "wörk: #1", "~"])}))
    return {"agents": agents, "start": draw(st.sampled_from(names)), "run": run, "capabilities": places, **workspace}


@given(projects())
@settings(max_examples=60)
def test_what_is_written_is_what_is_read(data: dict[str, Any]) -> None:
    """load(dump(p)) == p, and the schema takes what was written."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "agents.yaml"
        (file.parent / "people.vcf").touch()
        (file.parent / "told.md").write_text("You are told.")
        project = Project(file=file, settings=ProjectSettings.model_validate(data))
        file.write_text(dump(project), newline="")
        assert load(file) == project
        assert failures(schema(), plain(dump(project))) == []


def test_what_is_written_is_for_people(tmp_path: Path) -> None:
    """The order of the description, no defaults, `true` for a fork without bounds."""
    yaml = """
        agents:
          desk:
            description: Talks.
            instructions: |-
              You are the desk.

              Be brief: # always
            fork: true
            context:
              policy: never
        run:
          budget:
            tokens: null
    """
    text = dump(load(write(tmp_path, yaml)))
    assert text == (tmp_path / "agents.yaml").read_text().replace("tokens: null", "tokens:")
