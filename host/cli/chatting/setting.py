"""What a conversation is held with: the model, the places of capabilities, the thread, the policy. It is what the
options of `chat` say, what its record begins with, and what `rerun` puts up again from that.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal, Self
from urllib.parse import urlsplit, urlunsplit

from host.capability import Capability
from host.cli.inputs import Places, clear_errors, opened
from host.loop import Agent, Budget, Crew
from host.models.port import Model
from host.samples import SAMPLES
from sandbox import Workspace
from sandbox.image import DEFAULT

__all__ = ["Setting", "Staff"]

Policy = Literal["model", "always", "never"]

_INSTRUCTIONS: Final = (
    "You talk with a person in a terminal and get done what they ask for, with your tools. Answer in plain text, in as"
    " few words as will do. What you can find out, find out; where something is open that only they can know, ask. Say"
    " what you did, and never that you did what you did not."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Staff:
    """Who holds a conversation: the agent that begins it, those that it can hand to, and what they may use."""

    agent: Agent
    crew: Crew
    budget: Budget
    capabilities: tuple[Capability, ...]
    model: str
    workspace: Workspace | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The options of a conversation. `sample` stands for places and a thread of its own."""

    spec: str = "lexical"
    base_url: str | None = None
    places: Places = field(default_factory=Places)
    thread: Path | None = None
    image: str = DEFAULT
    sample: str | None = None
    policy: Policy = "model"
    agents: Path | None = None

    def options(self) -> dict[str, object]:
        """The options by name, with absolute paths: what a record begins with."""
        return {
            "model": self.spec,
            "base-url": None if self.base_url is None else _without_secrets(self.base_url),
            **self.places.to_plain(),
            "thread": None if self.thread is None else self.thread.resolve(),
            "image": None if self.image == DEFAULT else self.image,
            "sample": self.sample,
            "policy": self.policy,
            "agents": None if self.agents is None else self.agents.resolve(),
        }

    @classmethod
    def read(cls, options: Mapping[str, str]) -> Self:
        """The inverse of `options`, of what a record says."""
        given = {name: Path(options[name]) for name in ("contacts", "files", "outbox") if name in options}
        thread, policy = options.get("thread"), options.get("policy", "model")
        return cls(
            spec=options.get("model", "lexical"),
            base_url=options.get("base-url"),
            places=Places(**given),
            thread=None if thread is None else Path(thread),
            image=options.get("image", DEFAULT),
            sample=options.get("sample"),
            agents=Path(options["agents"]) if "agents" in options else None,
            policy="always" if policy == "always" else "never" if policy == "never" else "model",
        )

    def model(self) -> Model:
        """The model of those that have none of their own. Raises BadInput for a wrong name, and without a key."""
        kind, _, file = self.spec.partition(":")
        with clear_errors():
            if kind == "scripted":  # for tests
                from host.cli.chatting.script import Script

                return Script(Path(file))
            from host.models.named import model

            return model(self.spec, base_url=self.base_url)

    @property
    def conversation(self) -> Path | None:
        """The file with the earlier conversation."""
        return self.thread or (None if self.sample is None else SAMPLES[self.sample].thread)

    @asynccontextmanager
    async def staff(self, model: Model) -> AsyncIterator[Staff]:
        """The agents with their capabilities, closed at the end."""
        with tempfile.TemporaryDirectory(prefix="branchpoint-chat-") as folder:
            places = self.places
            if self.sample is not None:
                chosen = SAMPLES[self.sample]
                outbox = Path(folder) / "outbox"
                places = Places(contacts=chosen.contacts, files=chosen.files, outbox=outbox).updated(places)
            if self.agents is not None:
                async with self._team(self.agents, places, model) as staff:
                    yield staff
                return
            async with opened(places, model=model) as capabilities:
                agent = Agent(
                    name="assistant",
                    instructions=_INSTRUCTIONS,
                    model=model,
                    capabilities=tuple(capabilities),
                    tasks="self",
                    context_policy=self.policy,
                )
                yield Staff(
                    agent=agent,
                    crew=Crew.of([agent]),
                    budget=Budget(),
                    capabilities=tuple(capabilities),
                    model=model.name,
                )

    @asynccontextmanager
    async def _team(self, file: Path, places: Places, model: Model) -> AsyncIterator[Staff]:
        """The agents of a file. Places that are given here count over those in the file."""
        from host.agents import load

        with clear_errors(about=file):
            project = load(file, provided=places.to_plain())
        found = Places(
            contacts=project.places.get("contacts"),
            files=project.places.get("search"),
            outbox=project.places.get("outbox"),
        ).updated(places)
        async with AsyncExitStack() as stack:
            capabilities = await stack.enter_async_context(opened(found, model=model))
            workspace = None
            if project.workspace is not None:
                with clear_errors(about=file):
                    project.workspace.mkdir(parents=True, exist_ok=True)
                    workspace = stack.enter_context(Workspace(str(project.workspace)))
            with clear_errors(about=file):
                team = project.build(capabilities={each.name: each for each in capabilities})
            yield Staff(
                agent=team.start,
                crew=team.crew,
                budget=team.budget,
                capabilities=tuple(capabilities),
                model=team.start.model.name,
                workspace=workspace,
            )

    def elsewhere(self, outbox: Path) -> Setting:
        """The same with another outbox, so that nothing that is repeated is sent twice."""
        if self.places.outbox is None and self.sample is None and self.agents is None:
            return self
        return replace(self, places=replace(self.places, outbox=outbox))


def _without_secrets(url: str) -> str:
    """A server's address without what a record must not hold: a user and password, a query with a key."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
