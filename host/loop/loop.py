"""A loop at work: a model's replies and its tools, until an answer is there.

Rules:

- A loop has an exchange of its own (`conversation`) below what it inherited. Instructions, the inherited section and
  what is true only now are rendered for each request and are in no conversation, so nothing is passed on twice.
- Between two requests is a *boundary*. Only there does anything from outside enter: results of tasks, what its caller
  says to it, and with that what is new in the caller's conversation. A pause holds at the boundary.
- All calls of one reply run at once, in a nursery that belongs to this loop; their results follow in the order of the
  calls. Nothing of a loop outlives it: its tasks are in its nursery, its sandbox session closes with it.
- A model may write nonsense. An unknown tool, arguments that do not fit, a call that failed, an empty reply, a reply
  that was cut off, a text where a call was asked for: each is answered with what to do instead, and costs a turn. The
  turns are bounded.
- What a child is started from is cut when the call is made, before anything is awaited: the tree that the loop
  inherited, with its own exchange below, up to and including the message that makes the call.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from difflib import get_close_matches

import trio

from guest_stdlib.declared import Words
from host.capability import Delegation, Dispatch
from host.context import DIALECTS, ContextChoice, Inherited
from host.conversation import Conversation, Message, Text, ToolResult
from host.errors import HostError
from host.events import Delivered, HandedOff, Kind, Printed, Replied, Requested, Spoke
from host.loop.agent import Agent, Ended, NoAnswer, ToolError
from host.loop.arguments import checked, short
from host.loop.calling import PENDING, current_call, make_all
from host.loop.code import Code, Listening, Queued, shown
from host.loop.company import Company
from host.loop.exchange import Exchange
from host.loop.forking import Begin, forking
from host.loop.guidance import size
from host.loop.inbox import Inbox, said
from host.loop.launch import Arm, Launch
from host.loop.moving import Move, transfers
from host.loop.offers import Offer, of_capabilities, of_tool
from host.loop.place import Place, standing
from host.loop.prepared import branch_agents
from host.loop.rerun import BranchPoint
from host.loop.telling import told
from host.loop.tree import Tree
from host.models.port import Delta, Reply, Request, ToolSpec, Usage

__all__ = ["Loop"]


class Loop:
    """One agent at work. `running.make` makes one; `answer` goes on until there is an answer."""

    def __init__(
        self,
        agent: Agent,
        tree: Tree,
        *,
        kind: Kind,
        inherited: Inherited,
        depth: int = 0,
        conversation: Conversation | None = None,
        upstream: Callable[[], Inherited] | None = None,
        fork_depth: int = 0,
        launch: Launch,
    ) -> None:
        self.id = tree.next_loop()
        self.agent, self.tree, self.kind, self.depth = agent, tree, kind, depth
        self.fork_depth = fork_depth
        self.launch = launch
        self.inbox = Inbox()
        self.usage = Usage()
        self.turns = 0
        self.worked = False
        self._warned = False
        self.stopped = False
        self.company: Company | None = None
        self._codes: dict[str, Code] = {}
        self._move = Move()
        self._upstream = upstream  # where a loop that follows its caller looks for what is new
        self._prepared = tree.prepared(agent, fork_depth)
        self.exchange = Exchange(
            name=agent.name,
            speaker=None if kind == "conversation" else agent.name,
            system=self._prepared.instructions,
            inherited=inherited,
            conversation=conversation or Conversation(),
        )
        self._dispatch = self._made_dispatch()

    def _made_dispatch(self) -> Dispatch:
        return Dispatch(
            self._prepared.table,
            inherited=lambda: self.snapshot(current_call()),
            policy=self.agent.context_policy,
            record=lambda delegation: self.delegated(delegation, current_call()),
            around=self._around,
        )

    @property
    def code(self) -> Code:
        """The sandbox of the agent that is at work: each has its own, and finds it again when it comes back."""
        found = self._codes.get(self.agent.name)
        if found is None:
            extra = () if self.company is None else self.company.in_code()
            found = Code(self.agent, self.tree.image, extra, workspace=self.tree.workspace)
            self._codes[self.agent.name] = found
        return found

    async def aclose(self) -> None:
        """Give the sandboxes back."""
        for code in self._codes.values():
            await code.aclose()

    def _hand_over(self, target: Agent) -> None:
        """Control moves: the same transcript, the target's instructions and tools."""
        self._prepared = self.tree.prepared(target, self.fork_depth)
        self.agent = target
        self._dispatch = self._made_dispatch()
        self.exchange.become(target.name, self._prepared.instructions, target.trim)

    @property
    def conversation(self) -> Conversation:
        """What was said in this loop."""
        return self.exchange.conversation

    @property
    def is_cold(self) -> bool:
        """Whether it was started cold."""
        return self.exchange.received.inherited.is_cold

    def snapshot(self, call: str | None) -> Inherited:
        """What a child that is started by `call` inherits if it forks: all that is known here, as it stands now."""
        steering = self.company.ever if self.company is not None else frozenset[str]()
        prepared = self._prepared
        return self.exchange.snapshot(call, steering=steering, delegating=prepared.delegating, loading=prepared.loading)

    @property
    def has_tools(self) -> bool:
        """Whether its model has anything to work with."""
        return bool(self.agent.tools or self.agent.capabilities)

    @property
    def offers(self) -> tuple[Offer, ...]:
        """What is on offer now: the fixed tools first, always the same, then those that steer running tasks."""
        own = (of_tool(tool, self._standing) for tool in self.agent.tools)
        offers = [*of_capabilities(self._dispatch, self._prepared.specs), *own]
        if self._prepared.code is not None:
            offers.append(Offer(spec=self._prepared.code, call=self._run_code))
        self._move = Move()
        offers += transfers(self.agent, self.tree.crew, self._move, current_call)
        if self._prepared.fork is not None:
            offers.append(self._forking(self._prepared.fork))
        if self.company is not None:
            offers += [*(self.company.fixed() if self.agent.tasks is not None else ()), *self.company.steering()]
        return tuple(offers)

    def _forking(self, spec: ToolSpec) -> Offer:
        agents = branch_agents(self.agent, self.tree.crew.with_(self.agent))
        return forking(self, spec, agents, current_call=current_call, delegated=self.delegated, tell=self.tree.tell)

    def branch(self, agent: Agent, begin: Begin, *, name: str, request: str, delegation: str) -> Arm:
        """A loop that is ready to run as a branch of this one."""
        return Arm(
            self.launch.make(
                agent,
                self.tree,
                kind="branch",
                request=request,
                inherited=self.snapshot(current_call()),
                depth=self.depth + 1,
                parent=self.id,
                delegation=delegation,
                begin=begin,
                branch=name,
                fork_depth=self.fork_depth + 1,
            )
        )

    async def _boundary(self) -> None:
        await trio.lowlevel.checkpoint()
        await self.inbox.opened()
        if self._upstream is not None:
            self._hear(self._upstream())
        for item in self.inbox.taken():
            if item.above is not None:
                self._hear(item.above)
            if item.message is not None:
                self.exchange.append(item.message)

    def _hear(self, above: Inherited) -> None:
        update = self.exchange.hear(above)
        if update:
            self.tree.tell(Delivered(loop=self.id, ids=update.ids, tokens=update.tokens))
            if self.company is not None:
                self.company.pass_on(self.exchange.received.inherited)

    # -- the loop

    async def answer(self) -> Ended:
        """Go on until there is an answer. Raises NoAnswer if the turns are used up, and what the model raises."""
        used = self.usage
        for turn in range(1, self.agent.max_turns + 1):
            await self._boundary()
            offers = self.offers
            reply = await self._reply(offers)
            self.exchange.append(reply.message())
            ended: Ended | None = None
            if reply.calls:
                ended = await self._run_calls(offers, reply)
            elif reply.text.strip() and reply.stop != "length" and not self.agent.must_end_by_tool:
                if not await self._goes_on():
                    ended = Ended(by=None, value=reply.text, turns=turn)
            else:
                self.exchange.append(said(self._reminder(offers, reply)))
            if ended is not None:
                return replace(ended, turns=turn, usage=self.usage - used)
        raise NoAnswer(
            f"The {self.agent.name} agent came to no answer within {self.agent.max_turns} turns. Ask more exactly."
        )

    async def _goes_on(self) -> bool:
        """Whether an answer is not the last word yet: something entered meanwhile, or tasks are still to report."""
        company = self.company
        if self.kind != "conversation" and company is not None:
            await self.inbox.filled(unless=lambda: not company.busy or company.held_up is not None)
            if not self.inbox and company.held_up is not None and not self._warned:
                self._warned = True  # once: a second answer is the last word
                self.exchange.append(said(company.held_up))
                return True
        return bool(self.inbox)

    async def _reply(self, offers: tuple[Offer, ...]) -> Reply:
        tail = [size(self.snapshot(None))] if self.agent.context_policy == "model" and self._prepared.delegating else []
        if self.company is not None:
            tail.append(self.company.view())
        request = Request(
            system=self.exchange.system,
            messages=self.exchange.shown,
            tools=tuple(offer.spec for offer in offers),
            tail="\n\n".join(filter(None, tail)),
        )
        self.tree.purse.ask()
        self.turns += 1
        self.exchange.sent(self.agent.name, self.agent.model.name, request)
        self.tree.tell(Requested(loop=self.id, number=self.turns, request=request))
        began = trio.current_time()
        reply = await self.agent.model.reply(request, stream=self._spoke)
        self.usage += reply.usage
        self.tree.purse.spend(request, reply)
        seconds = trio.current_time() - began
        self.tree.tell(Replied(loop=self.id, number=self.turns, reply=reply, seconds=seconds))
        return reply

    def _spoke(self, delta: Delta) -> None:
        self.tree.tell(Spoke(loop=self.id, delta=delta))

    def _reminder(self, offers: tuple[Offer, ...], reply: Reply) -> str:
        """What to tell a model whose reply was no answer."""
        endings = " or ".join(f"`{offer.spec.name}`" for offer in offers if offer.terminal)
        if reply.stop == "length":
            return "Your reply was cut off at its length limit. Answer again, in fewer words."
        if not self.agent.must_end_by_tool or not endings:
            return "Your reply was empty. Answer the request, or call a tool."
        what = "Text is no answer here." if reply.text.strip() else "Your reply was empty."
        return f"{what} End by calling {endings}."

    # -- its calls

    async def _run_calls(self, offers: tuple[Offer, ...], reply: Reply) -> Ended | None:
        """Make the calls of a reply, and append their results in the order of the calls."""
        self.worked = True
        known = {offer.spec.name: offer for offer in offers}
        made = await make_all(
            self.id, reply, known, unknown=lambda name: self._unknown(name, list(known)), tell=self.tree.tell
        )
        results = tuple(one.result() for one in made if one.value is not PENDING)
        if results:
            self.exchange.append(Message(role="tool", parts=results))
        move = self._move
        if move.target is not None and move.call is not None:
            source, target = self.agent.name, move.target.name
            self._hand_over(move.target)
            self.tree.tell(HandedOff(loop=self.id, call=move.call, source=source, target=target, reason=move.reason))
        ending = next((one for one in made if one.ends), None)
        return None if ending is None else Ended(by=ending.call.name, value=ending.value, turns=0)

    def _unknown(self, name: str, known: list[str]) -> str:
        if name == "fork" and self.agent.forks is not None:
            return f"You are {self.fork_depth} forks deep, and {self.tree.crew.max_fork_depth} are allowed. Do it here."
        gone = self.company.gone(name) if self.company is not None else None
        if gone is not None:
            return gone
        name = short(name)
        near = get_close_matches(name, known, n=1)
        hint = (
            f"Did you mean {near[0]!r}?" if near else f"There is: {', '.join(known)}." if known else "There are none."
        )
        return f"There is no tool {name!r}. {hint}"

    async def make_again(self, point: BranchPoint, choice: ContextChoice) -> None:
        """Make the call of a branch point once more, with this choice, and append the results of its reply."""
        call = point.call()
        if point.state is not None:
            assert point.number is not None
            outcome = await self.code.wake(point.state, {point.number: choice}, self.listening(call.id))
            parts = (Text(text=shown(outcome)),)
            result: ToolResult | None = ToolResult(
                call=call.id, name=call.name, parts=parts, is_error=outcome.error is not None
            )
        else:
            known = {offer.spec.name: offer for offer in self.offers}
            again = Reply.of("", replace(call, arguments=point.arguments(self._words(call.name, choice))))
            (made,) = await make_all(
                self.id, again, known, unknown=lambda name: self._unknown(name, list(known)), tell=self.tree.tell
            )
            result = None if made.value is PENDING else made.result()
        if results := point.with_siblings(result):
            self.exchange.append(Message(role="tool", parts=results))

    def _words(self, name: str, choice: ContextChoice) -> Words:
        """What a call of this tool says for a choice. Raises HostError where its dialect has no words for it."""
        offered = self._prepared.table.by_tool_name.get(name)
        if offered is not None and offered.tool.terms is not None:
            dialect = offered.tool.terms.dialect
        else:
            dialect = DIALECTS["modes" if name == "fork" else "choice"]
        words = dialect.say(choice)
        if words is None:
            raise HostError(f"{name} has no words for the choice {str(choice)!r}")
        return words

    def break_off(self, why: str) -> None:
        """Answer the calls of a last message that was given up before its results, so that the history stays whole."""
        last = self.conversation.last
        if last is not None and last.calls:
            company = self.company
            given_up = [call for call in last.calls if company is None or not company.started_by(call.id)]
            parts = tuple(ToolResult(call=call.id, parts=(Text(text=why),), is_error=True) for call in given_up)
            if parts:
                self.exchange.append(Message(role="tool", parts=parts))

    # -- its delegations

    def delegated(self, delegation: Delegation, call: str | None) -> None:
        """Tell of a delegation before it is made, and keep its branch point where those are asked for."""
        sent = self.exchange.last
        tools = () if sent is None else tuple(tool.name for tool in sent.request.tools)
        instructions = self._prepared.instructions
        at = self.tree.now()
        self.tree.tell(told(delegation, loop=self.id, call=call, at=at, tools=tools, instructions=instructions))
        if self.tree.points is not None and delegation.call is None:
            self.tree.points.note(self, delegation.id, call)

    @contextmanager
    def _around(self, delegation: Delegation | None, _path: str) -> Iterator[None]:
        id = None if delegation is None else delegation.id  # noqa: A001
        with self._standing(id):
            yield

    def _standing(self, delegation: str | None = None) -> AbstractContextManager[None]:
        """Within this, what is started is started by this loop."""
        at = Place(
            tree=self.tree,
            parent=self.id,
            depth=self.depth + 1,
            fork_depth=self.fork_depth,
            delegation=delegation,
        )
        return standing(at)

    def listening(self, call: str | None) -> Listening:
        """What is told and done in the course of a cell that this call of the model runs."""
        points = self.tree.points

        async def before(delegation: Delegation) -> None:
            if points is not None and delegation.call is not None:
                await points.note_in_code(self, delegation.id, call, delegation.call)

        return Listening(
            record=lambda delegation: self.delegated(delegation, call),
            around=self._around,
            before=None if points is None else before,
            on_output=lambda stream, printed: self.tree.tell(Printed(loop=self.id, stream=stream, text=printed)),
        )

    def _run_code(self, text: str) -> Awaitable[object]:
        spec = self._prepared.code
        assert spec is not None
        arguments = checked(spec.name, spec.parameters, text)
        call = current_call()
        inherited = Inherited.cold() if arguments.get("context") == "cold" else self.snapshot(call)
        return self._cell(str(arguments["code"]), inherited, self.code.queue(), call)

    async def _cell(self, code: str, inherited: Inherited, queued: Queued, call: str | None) -> object:
        try:
            outcome = await self.code.run(code, inherited, queued, self.listening(call))
        finally:
            if self.company is not None and not self.code.busy:
                self.company.no_code_runs()
        if outcome.error is not None:
            raise ToolError(shown(outcome))
        return shown(outcome)
