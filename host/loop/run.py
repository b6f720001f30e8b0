"""The loop: a model's replies and its tools, until an answer is there.

Rules:

- A child starts from its own instructions, then what it inherits as one quoted section, then the request as the only
  user message. What it inherits is rendered once, so all requests of a run begin with the same bytes. A cold child's
  instructions are its own and nothing else.
- All calls of one reply run at once, in a nursery that belongs to this loop; their results follow in the order of the
  calls. Nothing of a loop outlives it.
- A model may write nonsense. An unknown tool, arguments that do not fit, a call that failed, an empty reply, a text
  where a call was asked for: each is answered with what to do instead, and costs a turn. The turns are bounded.
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches

import trio

from host.context import Inherited, render
from host.loop.agent import Agent, Ended, NoAnswer, Tool, ToolError
from host.loop.arguments import checked
from host.loop.results import rendered
from host.models.port import Message, Reply, Request, ToolCall, Usage

__all__ = ["Observe", "run_agent"]

type Observe = Callable[[Request], None]


async def run_agent(agent: Agent, request: str, inherited: Inherited, *, observe: Observe | None = None) -> Ended:
    """Run an agent on a request until it answers. `observe` is given each request to the model before it is sent.

    Raises NoAnswer if the turns are used up; what a tool or the model raises (except ToolError) passes through.
    """
    section = render(inherited)
    system = f"{agent.instructions}\n\n{section}" if section else agent.instructions
    messages = [Message(role="user", text=request)]
    usage = Usage()
    for turn in range(1, agent.max_turns + 1):
        sent = Request(system=system, messages=tuple(messages), tools=tuple(tool.spec for tool in agent.tools))
        if observe is not None:
            observe(sent)
        reply = await agent.model.reply(sent)
        usage += reply.usage
        if not reply.tool_calls and reply.text.strip() and not agent.must_end_by_tool:
            return Ended(by=None, value=reply.text, turns=turn, usage=usage)
        messages.append(Message(role="assistant", text=reply.text, tool_calls=reply.tool_calls))
        if not reply.tool_calls:
            messages.append(Message(role="user", text=_reminder(agent, reply)))
            continue
        outcomes = await _run_all(agent, reply.tool_calls)
        ending = next((outcome for outcome in outcomes if outcome.ends), None)
        if ending is not None:
            return Ended(by=ending.call.name, value=ending.value, turns=turn, usage=usage)
        messages += [outcome.message() for outcome in outcomes]
    raise NoAnswer(f"The {agent.name} agent came to no answer within {agent.max_turns} turns. Ask more exactly.")


class _Outcome:
    """What came of one call. Until it has run, it has failed."""

    def __init__(self, call: ToolCall) -> None:
        self.call = call
        self.value: object = "The call did not run."
        self.failed = True
        self.ends = False

    def message(self) -> Message:
        """The result as the model reads it."""
        return Message(role="tool", call=self.call.id, text=rendered(self.value), failed=self.failed)

    async def run(self, tools: dict[str, Tool]) -> None:
        """Check the call and make it."""
        tool = tools.get(self.call.name)
        if tool is None:
            self.value = _unknown(self.call.name, list(tools))
            return
        try:
            self.value = await tool.run(checked(tool.spec.name, tool.spec.parameters, self.call.arguments))
        except ToolError as error:
            self.value = str(error)
        else:
            self.failed = False
            self.ends = tool.terminal


async def _run_all(agent: Agent, calls: tuple[ToolCall, ...]) -> list[_Outcome]:
    tools = {tool.spec.name: tool for tool in agent.tools}
    outcomes = [_Outcome(call) for call in calls]
    if len(outcomes) == 1:
        await outcomes[0].run(tools)
        return outcomes
    faults: list[Exception] = []

    async def run(outcome: _Outcome) -> None:
        try:
            await outcome.run(tools)
        except Exception as fault:
            faults.append(fault)
            nursery.cancel_scope.cancel()

    async with trio.open_nursery() as nursery:
        for outcome in outcomes:
            nursery.start_soon(run, outcome)
    if faults:
        raise faults[0]
    return outcomes


def _unknown(name: str, known: list[str]) -> str:
    near = get_close_matches(name, known, n=1)
    hint = f"Did you mean {near[0]!r}?" if near else f"There is: {', '.join(known)}." if known else "There are none."
    return f"There is no tool {name!r}. {hint}"


def _reminder(agent: Agent, reply: Reply) -> str:
    """What to tell a model whose reply was no answer."""
    endings = " or ".join(f"`{tool.spec.name}`" for tool in agent.tools if tool.terminal)
    if not agent.must_end_by_tool or not endings:
        return "Your reply was empty. Answer the request, or call a tool."
    what = "Text is no answer here." if reply.text.strip() else "Your reply was empty."
    return f"{what} End by calling {endings}."
