"""A trace of the OpenAI Agents SDK: spans as its exporters write them, read as the loops of a run.

- An agent's span is a loop, or goes on with one: agents that hand off have spans side by side, so the span that follows
  a hand-off to its agent, below the same span, is the same conversation in other hands.
- A generation or a response is a request with its reply. A generation may hold the messages; a response has an id
  alone, so what was sent is not known.
- A function is a call. An agent's span below it is a loop that the call started (an agent as a tool); what this loop
  inherited the trace does not say, and so no choice is recorded for it.
- Calls have no ids here: those of a generation's output are matched by tool name, in order; where there is no output,
  the functions that follow a response, up to the next one, are its calls.
- Spans of other kinds are looked through.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from host.conversation import Conversation, ConversationError, Message, Part, Text, ToolCall
from host.events import CallBegan, CallEnded, Event, HandedOff, LoopBegan, LoopEnded, Replied, Requested
from host.models.port import Reply, Request, ToolSpec, Usage
from host.record.foreign.trace import UNKNOWN, Gap, Trace, between, moment, usage_in
from host.spelling import fold, words

__all__ = ["is_trace", "read_trace_of_agents"]

_KINDS: Final = frozenset({"agent", "function", "generation", "response", "handoff"})
_HOLDERS: Final = ("data", "items", "trace", "traces", "spans")
_DEEPEST: Final = 6


@dataclass(slots=True, kw_only=True, eq=False)
class _Span:
    """One span. `children` are the spans below it that mean something, by their begin."""

    id: str
    kind: str
    parent: str | None
    began: float
    ended: float
    order: int
    data: Mapping[str, object]
    error: str | None
    children: list[_Span] = field(default_factory=list)

    def text(self, key: str) -> str:
        found = self.data.get(key)
        return found if isinstance(found, str) else ""

    def names(self, key: str) -> tuple[str, ...] | None:
        found = self.data.get(key)
        return tuple([name for name in found if isinstance(name, str)]) if isinstance(found, list) else None


def is_trace(data: object) -> bool:
    """Whether there are such spans in it."""
    return any(True for _ in _items(data))


def _items(data: object) -> Iterator[Mapping[str, object]]:
    waiting = [(data, 0)]
    while waiting:
        here, depth = waiting.pop()
        if isinstance(here, list) and depth < _DEEPEST:
            waiting += [(each, depth + 1) for each in reversed(here)]
        elif isinstance(here, dict):
            if here.get("object") == "trace.span" and isinstance(here.get("span_data"), dict):
                yield here
            elif depth < _DEEPEST:
                waiting += [(here[key], depth + 1) for key in reversed(_HOLDERS) if key in here]


def read_trace_of_agents(data: object, source: str) -> Trace:
    """The run that the spans tell of."""
    roots = _tree(_items(data))
    reader = _Reader()
    reader.read(roots)
    return Trace(
        source=source,
        form="openai-agents",
        events=tuple([event for _, _, event in sorted(reader.timed, key=lambda each: each[:2])]),
        unknown=frozenset(reader.unknown()),
        offers=reader.offers,
    )


def _tree(items: Iterable[Mapping[str, object]]) -> list[_Span]:
    """The spans that mean something, each below the nearest one of those above it; those that are below none."""
    spans: dict[str, _Span] = {}
    for order, item in enumerate(items):
        data, error = item["span_data"], item.get("error")
        assert isinstance(data, dict)
        id = str(item.get("id") or f"span {order}")  # noqa: A001
        parent = item.get("parent_id")
        said = error.get("message") if isinstance(error, dict) else None
        spans[id] = _Span(
            id=id,
            kind=str(data.get("type")),
            parent=parent if isinstance(parent, str) else None,
            began=moment(item.get("started_at")),
            ended=moment(item.get("ended_at")),
            order=order,
            data=data,
            error=None if error is None else said if isinstance(said, str) else "failed",
        )
    roots: list[_Span] = []
    ordered = sorted(spans.values(), key=lambda span: (math.inf if math.isnan(span.began) else span.began, span.order))
    for span in ordered:
        if span.kind in _KINDS:
            above = _above(span, spans)
            (roots if above is None else above.children).append(span)
    return roots


def _above(span: _Span, spans: Mapping[str, _Span]) -> _Span | None:
    seen = {span.id}
    here = spans.get(span.parent or "")
    while here is not None and here.id not in seen:
        if here.kind in ("agent", "function"):
            return None if _is_below(here, span, spans) else here
        seen.add(here.id)
        here = spans.get(here.parent or "")
    return None


def _is_below(one: _Span, other: _Span, spans: Mapping[str, _Span]) -> bool:
    """Whether a span lies below another one, as only in a ring both can."""
    seen: set[str] = set()
    here: _Span | None = one
    while here is not None and here.id not in seen:
        if here.id == other.id:
            return True
        seen.add(here.id)
        here = spans.get(here.parent or "")
    return False


@dataclass(slots=True, kw_only=True)
class _Chain:
    """A loop while its agents' spans are read."""

    loop: str
    agent: str
    began: float
    requests: int = 0
    usage: Usage = field(default_factory=Usage)
    text: str = ""
    awaits: str | None = None  # whom it was handed to
    last: _Span | None = None


class _Reader:
    """Turns spans into events, each with its time and a number that keeps the order where times are equal."""

    def __init__(self) -> None:
        self.timed: list[tuple[float, int, Event]] = []
        self.offers: dict[str, tuple[str, ...]] = {}
        self._now = 0.0
        self._seen: set[str] = set()
        self._waiting: list[tuple[list[_Span], str | None]] = []

    def unknown(self) -> Iterator[Gap]:
        events = [event for _, _, event in self.timed]
        replies = [event for event in events if isinstance(event, Replied)]
        requests = [event for event in events if isinstance(event, Requested)]
        if not any(event.request.system for event in requests):
            yield "instructions"
        if len(requests) < len(replies):
            yield "requests"
        if not any(event.reply.usage.total for event in replies):
            yield "tokens"
        if all(math.isnan(event.seconds) for event in replies):
            yield "seconds"
        if "tools" in self._seen:
            yield "tools"
        if "results" in self._seen:
            yield "results"
        if "model" not in self._seen:
            yield "model"

    def read(self, roots: Sequence[_Span]) -> None:
        """Read the spans below nothing, and all below those."""
        self._waiting.append((list(roots), None))
        while self._waiting:
            spans, parent = self._waiting.pop()
            chain: _Chain | None = None
            for span in spans:
                if span.kind != "agent":
                    continue
                name = span.text("name") or "agent"
                if chain is None or chain.awaits is None or _plain(chain.awaits) != _plain(name):
                    self._end(chain)
                    chain = _Chain(loop=span.id, agent=name, began=span.began)
                    self._begin(chain, span, parent)
                chain.agent, chain.awaits, chain.last = name, None, span
                self._agent(chain, span)
            self._end(chain)

    def _tell(self, at: float, event: Event) -> None:
        self._now = at if not math.isnan(at) else self._now
        self.timed.append((self._now, len(self.timed), event))

    def _begin(self, chain: _Chain, span: _Span, parent: str | None) -> None:
        generation = next((each for each in span.children if each.kind == "generation"), None)
        model = generation.text("model") if generation is not None else ""
        if model:
            self._seen.add("model")
        asked = [message for message in _messages(generation, "input") if message.role == "user"]
        self._tell(
            span.began,
            LoopBegan(
                loop=chain.loop,
                agent=chain.agent,
                model=model or UNKNOWN,
                kind="conversation" if parent is None else "call",
                depth=0 if parent is None else 1,
                request=asked[0].text if asked else "",
                parent=parent,
            ),
        )

    def _end(self, chain: _Chain | None) -> None:
        if chain is None or chain.last is None or math.isnan(chain.last.ended):
            return
        self._tell(
            chain.last.ended,
            LoopEnded(
                loop=chain.loop,
                how="answered" if chain.last.error is None else "failed",
                text=chain.text if chain.last.error is None else chain.last.error,
                turns=chain.requests,
                usage=chain.usage,
                seconds=between(chain.began, chain.last.ended),
            ),
        )

    def _agent(self, chain: _Chain, span: _Span) -> None:
        tools, handoffs = span.names("tools"), span.names("handoffs")
        if tools is None:
            self._seen.add("tools")
            offered: tuple[str, ...] = ()
        else:
            offered = (*tools, *[f"transfer_to_{_plain(name)}" for name in handoffs or ()])
            self.offers[chain.agent] = offered
        replies = [each for each in span.children if each.kind in ("generation", "response")]
        made = _calls(span.children, replies)
        for each in span.children:
            if each in replies:
                self._reply(chain, each, offered, [call for call, by in made.values() if by is each])
            elif each.kind == "function":
                call, _ = made[each.id]
                self._call(chain, each, call)
            elif each.kind == "handoff":
                call, _ = made[each.id]
                self._handoff(chain, each, call)

    def _reply(self, chain: _Chain, span: _Span, offered: tuple[str, ...], calls: list[ToolCall]) -> None:
        chain.requests += 1
        sent = _messages(span, "input")
        if sent:
            system = "\n\n".join([message.text for message in sent if message.role in ("system", "developer")])
            messages = tuple([message for message in sent if message.role not in ("system", "developer")])
            tools = tuple([ToolSpec(name=name, description="", parameters={}) for name in offered])
            request = Request(system=system, messages=messages, tools=tools)
            self._tell(span.began, Requested(loop=chain.loop, number=chain.requests, request=request))
        said: list[Part] = [part for message in _messages(span, "output") for part in message.parts]
        texts = [part for part in said if not isinstance(part, ToolCall)]
        usage = usage_in(span.data.get("usage")) or Usage()
        chain.usage += usage
        chain.text = "\n".join([part.text for part in texts if isinstance(part, Text)])
        reply = Reply(parts=(*texts, *calls), usage=usage, stop="tools" if calls else "end")
        self._tell(
            span.ended,
            Replied(loop=chain.loop, number=chain.requests, reply=reply, seconds=between(span.began, span.ended)),
        )

    def _call(self, chain: _Chain, span: _Span, call: ToolCall) -> None:
        self._tell(span.began, CallBegan(loop=chain.loop, call=call))
        if span.children:
            self._waiting.append((span.children, chain.loop))
        output = span.data.get("output")
        if output is None and span.error is None:
            self._seen.add("results")
        if not math.isnan(span.ended) or output is not None:
            self._tell(
                span.ended,
                CallEnded(
                    loop=chain.loop,
                    call=call,
                    text=span.error if span.error is not None else "" if output is None else str(output),
                    failed=span.error is not None,
                    seconds=between(span.began, span.ended),
                ),
            )

    def _handoff(self, chain: _Chain, span: _Span, call: ToolCall) -> None:
        target = span.text("to_agent")
        reason = (call.parsed or {}).get("reason")
        self._tell(span.began, CallBegan(loop=chain.loop, call=call))
        if target and span.error is None:
            chain.awaits = target
            self._tell(
                span.ended,
                HandedOff(
                    loop=chain.loop,
                    call=call.id,
                    source=span.text("from_agent") or chain.agent,
                    target=target,
                    reason=reason if isinstance(reason, str) else None,
                ),
            )
        self._tell(
            span.ended,
            CallEnded(
                loop=chain.loop,
                call=call,
                text=span.error or "",
                failed=span.error is not None,
                seconds=between(span.began, span.ended),
            ),
        )


def _calls(spans: Sequence[_Span], replies: Sequence[_Span]) -> dict[str, tuple[ToolCall, _Span | None]]:
    """The call of each function and hand-off, and the reply that made it."""
    made: dict[str, tuple[ToolCall, _Span | None]] = {}
    by: _Span | None = None
    listed: list[ToolCall] = []
    for span in spans:
        if span in replies:
            by = span
            listed = [call for message in _messages(span, "output") for call in message.calls]
            continue
        if span.kind not in ("function", "handoff"):
            continue
        name = span.text("name") if span.kind == "function" else f"transfer_to_{_plain(span.text('to_agent'))}"
        found = next((call for call in listed if _plain(call.name) == _plain(name)), None)
        if found is not None:
            listed.remove(found)
        own = ToolCall(id=span.id, name=name, arguments=span.text("input"))
        made[span.id] = (own if found is None else found, by)
    return made


def _messages(span: _Span | None, key: str) -> tuple[Message, ...]:
    """The messages that a generation holds; none where it holds none that can be read."""
    value = None if span is None else span.data.get(key)
    if not isinstance(value, list) or not value:
        return ()
    try:
        return Conversation.from_json(value).messages
    except ConversationError:
        return ()


def _plain(name: str) -> str:
    """An agent's name as tools are named after it."""
    return "_".join(fold(word) for word in words(name.replace("_", " ")))
