"""Traces of others, recognised by themselves and read as the same events, as far as they say."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from host.events import CallEnded, Delegated, Event, HandedOff, LoopBegan, LoopEnded, Replied, Requested
from host.graph import as_plain, read_run, render_page, render_text
from host.graph.rules import lint
from host.models.port import Usage
from host.record import RecordError, open_record
from host.record.foreign import Trace, read_trace
from tests.graph_scene import Played


@pytest.fixture
def runs(data: Path) -> Path:
    return data / "runs"


def told[E](trace: Trace, kind: type[E]) -> list[E]:
    return [event for event in trace.events if isinstance(event, kind)]


def found(trace: Trace) -> list[str]:
    return [each.rule.id for each in lint(trace.events, unknown=trace.unknown, offers=trace.offers)]


def test_a_record_is_itself(tmp_path: Path) -> None:
    """With nothing unknown, and with what was torn."""
    desk = Played()
    desk.calls("find", "Found.", text="it")
    events: list[Event] = desk.ends()
    with open_record(tmp_path / "run.jsonl") as record:
        for event in events:
            record(event)
    trace = read_trace(tmp_path / "run.jsonl")
    assert (trace.form, trace.events, trace.unknown, trace.torn) == ("record", tuple(events), frozenset(), False)
    whole = (tmp_path / "run.jsonl").read_bytes()
    (tmp_path / "run.jsonl").write_bytes(whole[:-20])
    assert read_trace(tmp_path / "run.jsonl").torn


class TestAgents:
    def test_spans_are_loops_requests_calls_and_hand_offs(self, runs: Path) -> None:
        """The target goes on with the loop; an agent as a tool is a loop below its call."""
        trace = read_trace(runs / "agents-sdk.json")
        assert trace.form == "openai-agents"
        run = read_run(trace.events)
        conversation, expert = run.strands.values()
        assert conversation.agents == ("Triage", "Billing Desk")
        assert (expert.loop.began.parent, expert.loop.began.model) == (conversation.id, "gpt-5-mini")
        (call,) = [use for use in conversation.uses if use.inside]
        assert (call.call.name, call.inside, call.seconds) == ("policy_expert", (expert.id,), 11.0)
        assert conversation.loop.usage == Usage(input=5600, output=55, cached=2600)
        (handoff,) = told(trace, HandedOff)
        assert (handoff.source, handoff.target) == ("Triage", "Billing Desk")
        assert handoff.reason == "Is a refund due to Whitlock?"

    def test_what_was_sent_is_what_the_generation_holds(self, runs: Path) -> None:
        """With the tools by name, hand-offs included."""
        first = told(read_trace(runs / "agents-sdk.json"), Requested)[0].request
        assert first.system == "You take the first message and find the customer."
        assert [message.text for message in first.messages] == ["Is a refund due on invoice 2025-044?"]
        assert [tool.name for tool in first.tools] == ["find_customer", "transfer_to_billing_desk"]

    def test_lint_reads_it(self, runs: Path) -> None:
        """A question spent the conversation."""
        assert found(read_trace(runs / "agents-sdk.json")) == ["handoff.for-answer"]

    def test_responses_hold_no_messages_so_requests_are_unknown(self, runs: Path) -> None:
        """The functions that follow are their calls, and the agent's span has the names of its tools."""
        trace = read_trace(runs / "agents-sdk-responses.jsonl")
        assert told(trace, Requested) == []
        assert {"requests", "instructions", "model"} == trace.unknown
        assert [len(event.reply.calls) for event in told(trace, Replied)] == [1, 1, 1, 0]
        assert trace.offers == {"Inspector": ("find",)}
        assert found(trace) == ["fanout.unavailable"]

    def test_tools_that_are_not_said_are_not_claimed_to_be_missing(self, runs: Path, tmp_path: Path) -> None:
        """The same trace with null where its tools stood."""
        content = (runs / "agents-sdk-responses.jsonl").read_text().replace('"tools": ["find"]', '"tools": null')
        (tmp_path / "t.jsonl").write_text(content)
        trace = read_trace(tmp_path / "t.jsonl")
        assert "tools" in trace.unknown
        assert found(trace) == ["fanout.missed"]

    def test_times_and_counts_that_are_not_said_are_unknown(self, runs: Path, tmp_path: Path) -> None:
        """Not zero: nan, and named."""
        items = json.loads((runs / "agents-sdk.json").read_text())["data"]
        for item in items:
            item.pop("started_at", None)
            item.pop("ended_at", None)
            item.get("span_data", {}).pop("usage", None)
        (tmp_path / "t.json").write_text(json.dumps(items))
        trace = read_trace(tmp_path / "t.json")
        assert {"seconds", "tokens"} <= trace.unknown
        assert all(math.isnan(event.seconds) for event in told(trace, Replied))
        run = read_run(trace.events)
        assert " s" not in render_text(run).partition("\n")[0]
        json.dumps(as_plain(run), allow_nan=False)

    def test_spans_in_a_ring_and_broken_ones_do_no_harm(self, tmp_path: Path) -> None:
        """Whatever somebody wrote there."""
        spans = [
            {"object": "trace.span", "id": "a", "parent_id": "b", "span_data": {"type": "agent", "name": 3}},
            {"object": "trace.span", "id": "b", "parent_id": "a", "span_data": {"type": "function", "name": None}},
            {"object": "trace.span", "id": "c", "parent_id": "c", "span_data": {"type": "generation", "input": "x"}},
            {"object": "trace.span", "id": 7, "parent_id": [], "started_at": "noon", "span_data": {"type": []}},
            {"object": "trace.span", "parent_id": "a", "span_data": {"type": "handoff", "to_agent": None}, "error": 1},
        ]
        (tmp_path / "t.json").write_text(json.dumps({"traces": [{"spans": spans}]}))
        trace = read_trace(tmp_path / "t.json")
        assert [event.agent for event in told(trace, LoopBegan)] == ["agent"]
        render_page(read_run(trace.events))
        found(trace)


class TestMessages:
    def test_langchain_messages_of_a_supervisor(self, runs: Path) -> None:
        """Authors are agents, calls that transfer are hand-offs, usage and model are in the messages."""
        trace = read_trace(runs / "langchain.json")
        assert trace.form == "langchain"
        assert trace.unknown == {"tools", "seconds", "instructions"}
        (strand,) = read_run(trace.events).strands.values()
        assert strand.agents == ("supervisor", "tracking", "supervisor", "tracking")
        assert strand.loop.began.model == "gpt-5"
        assert strand.loop.usage == Usage(input=3950, output=38, cached=800)
        assert found(trace) == ["handoff.loop"]

    def test_a_transfer_that_failed_is_no_hand_off(self, runs: Path, tmp_path: Path) -> None:
        """And then there is no loop."""
        content = (runs / "langchain.json").read_text().replace('"status": "success"', '"status": "error"')
        (tmp_path / "t.json").write_text(content)
        trace = read_trace(tmp_path / "t.json")
        assert told(trace, HandedOff) == []
        assert found(trace) == []

    def test_anthropic_messages(self, runs: Path) -> None:
        """What was sent before each reply is what stands before it; nothing says how long it took."""
        trace = read_trace(runs / "anthropic.json")
        assert trace.form == "anthropic"
        assert trace.unknown == {"tools", "seconds", "tokens", "agents"}
        requests = told(trace, Requested)
        assert [len(event.request.messages) for event in requests] == [1, 3, 5, 7]
        assert requests[0].request.system == "You inspect halls."
        assert [event.text for event in told(trace, CallEnded)] == ["Dry.", "Damp.", "Dry."]
        assert told(trace, LoopBegan)[0].model == "claude-sonnet-4-5"
        (finding,) = lint(trace.events, unknown=trace.unknown)
        assert finding.rule.id == "fanout.missed"
        assert "by the cost model" in finding.price.basis

    def test_openai_messages_are_read_as_well(self, data: Path) -> None:
        """Every thread of the other tests is a run."""
        for file in sorted(data.glob("thread_*")):
            trace = read_trace(file)
            assert told(trace, Replied)
            render_text(read_run(trace.events))

    def test_a_history_that_ends_with_a_call_has_not_ended(self, runs: Path, tmp_path: Path) -> None:
        """Whether it did is not said."""
        plain = json.loads((runs / "anthropic.json").read_text())
        del plain["messages"][-2:]
        (tmp_path / "t.json").write_text(json.dumps(plain))
        assert told(read_trace(tmp_path / "t.json"), LoopEnded) == []


class TestSessions:
    def test_a_session_with_a_side_chain(self, runs: Path) -> None:
        """Pieces of one reply are one reply; the side chain is a cold child of the call that asked for it."""
        trace = read_trace(runs / "anthropic-session.jsonl")
        assert trace.form == "anthropic-session"
        assert trace.unknown == {"tools", "instructions", "agents"}
        main, side = read_run(trace.events).strands.values()
        assert len(main.asks) == 2
        assert main.loop.usage == Usage(input=1872, output=39, cached=1850, written=0)
        assert (side.agents, side.loop.began.parent) == (("explorer",), main.id)
        (choice,) = told(trace, Delegated)
        assert (choice.context, choice.call, choice.inherited.is_cold) == ("cold", "toolu_t", True)
        assert [ask.seconds for ask in main.asks] == [2.5, 1.5]
        assert main.uses[0].seconds == 5.5

    def test_a_side_chain_that_nobody_asked_for_is_a_loop_of_its_own(self, runs: Path, tmp_path: Path) -> None:
        """Who started it is not said."""
        content = (runs / "anthropic-session.jsonl").read_text().replace('"prompt": "Find', '"prompt": "Seek')
        (tmp_path / "t.jsonl").write_text(content)
        trace = read_trace(tmp_path / "t.jsonl")
        assert told(trace, Delegated) == []
        assert [loop.parent for loop in told(trace, LoopBegan)] == [None, None]


@pytest.mark.parametrize("content", ["", "hello", "[]", "{}", "[1]", '{"format": "branchpoint record 9"}\n', "\x00"])
def test_what_is_no_run_is_refused_in_a_sentence(content: str, tmp_path: Path) -> None:
    """That names the file."""
    (tmp_path / "odd.json").write_text(content)
    if content == "[]":
        assert read_trace(tmp_path / "odd.json").events
    else:
        with pytest.raises(RecordError, match=r"^odd\.json"):
            read_trace(tmp_path / "odd.json")
