"""R83: the graph of a run, read off its events, as text and as JSON."""

from __future__ import annotations

import json
import math

from host.context import Inherited
from host.conversation import ToolCall
from host.events import CallBegan, CallEnded, Event, Forked, HandedOff, LoopBegan, LoopEnded
from host.graph import as_plain, name_of, read_run, render_text
from host.models.port import Usage
from tests.graph_scene import FIND, Part, Played, fork_tool
from tests.record_scene import Told, history


def a_run() -> list[Event]:
    """An agent that looks something up, forks in two, and hands off."""
    desk = Played(tools=(FIND, fork_tool()), input=900, cached=600)
    desk.calls("find", "A roofer.", text="roof")
    desk.forks(
        Part(name="north", instructions="Look north.", calls=[("find", {"text": "north"}, "Dry.")], seconds=2.0),
        Part(name="south", instructions="Look south.", agent="prober", seconds=9.0, how="failed", text="Which?"),
        mode="compact",
    )
    desk.hands_off("billing", "an invoice")
    desk.answers("Done.")
    return desk.ends("Done.")


def test_r83_the_graph_as_text() -> None:
    """The agent at the first node that it owns, the fork with its mode, the slowest branch, the join, the tools."""
    assert render_text(read_run(a_run())).splitlines() == [
        "conversation · desk → billing · 4 requests · 3 calls · 3,600 in (2,400 cached), 40 out · 20.0 s: answered",
        "├─ request 1 @desk · 900 in (600 cached), 10 out · 1.0 s",
        '│  └─ find: {"text": "roof"} · 0.5 s',
        "├─ request 2 · 900 in (600 cached), 10 out · 1.0 s",
        "│  └─ fork (compact context): north, south · 9.0 s",
        "│     ├─ branch north · desk · 2 requests · 1 call · 1,800 in, 20 out · 2.0 s: ok",
        "│     │  ├─ request 1 @desk · 900 in, 10 out · 1.0 s",
        '│     │  │  └─ find: {"text": "north"} · 0.5 s',
        "│     │  └─ request 2: Done. · 900 in, 10 out · 1.0 s",
        "│     ├─ branch south · prober · 1 request · 900 in, 10 out · 9.0 s · slowest: error, no work done",
        "│     │  └─ request 1 @prober: Which? · 900 in, 10 out · 1.0 s",
        "│     └─ join: north=ok, south=error · after 9.0 s",
        "├─ request 3 · 900 in (600 cached), 10 out · 1.0 s",
        "│  └─ hand-off desk → billing: an invoice · 0.5 s",
        "├─ request 4 @billing: Done. · 900 in (600 cached), 10 out · 1.0 s",
        "└─ turn ended: Done. · answered",
        "",
        "agent: billing · started as desk (l1)",
        "branches: north=ok, south=error · fork by desk (l1) · 9.0 s",
        "tools: find \u00d72, fork \u00d71, transfer_to_billing \u00d71",
        "in all: 3 loops · 6,300 in (2,400 cached), 70 out · 20.0 s",
    ]


def test_r83_delegations_stand_below_the_call_that_made_them_with_the_choice() -> None:
    """A call that delegated in code, and one outside of any call."""
    thread = history("Sarah wants the metrics.", "Noted.")
    events: list[Event] = []
    caller = Told(events, "l1", "Who gets it?")
    call = ToolCall(id="c1", name="ask", arguments="{}")
    caller.reply("", call)
    events.append(CallBegan(loop="l1", call=call))
    caller.delegate("d1", Inherited.of(thread), call="c1")
    Told(events, "l2", "Whose?", parent="l1", delegation="d1", rendering="quoted").end("")
    events.append(CallEnded(loop="l1", call=call, text="", failed=True, seconds=1.0))
    caller.delegate("d2", Inherited.cold())
    Told(events, "l3", "The weather?", parent="l1", delegation="d2").reply("Fine.")
    caller.end("Done.")
    lines = render_text(read_run(events)).splitlines()[:7]
    assert lines == [
        "conversation · clerk · 1 request · 1 call · 2.0 s: answered",
        "├─ request 1 @clerk · 1.0 s",
        "│  └─ ask: {} · 1.0 s · failed",
        "│     └─ call · clerk · fork, quoted by call · 0 requests · 2.0 s: answered, no work done",
        "└─ contacts.ask: cold by call",
        "   └─ call · clerk · cold by call · 1 request: running",
        "      └─ request 1 @clerk: Fine. · 1.0 s",
    ]


def test_r83_json_says_the_same_without_the_texts() -> None:
    """Every node with its name, its agent, its time; forks, joins and hand-offs; what was passed."""
    plain = json.loads(json.dumps(as_plain(read_run(a_run())), allow_nan=False))
    assert plain["usage"] == {"input": 6300, "output": 70, "cached": 2400, "written": None}
    assert plain["tools"] == {"find": 2, "fork": 1, "transfer_to_billing": 1}
    conversation, north, south = plain["loops"]
    assert (conversation["started_as"], conversation["agent"]) == ("desk", "billing")
    kinds = [node["kind"] for node in conversation["nodes"]]
    assert kinds == ["request", "call", "request", "fork", "request", "handoff", "request", "note"]
    fork = conversation["nodes"][3]["fork"]
    assert (fork["context"], fork["joined"], fork["seconds"]) == ("compact", True, 9.0)
    assert [(each["name"], each["loop"], each["status"], each["slowest"]) for each in fork["branches"]] == [
        ("north", north["id"], "ok", False),
        ("south", south["id"], "error", True),
    ]
    assert conversation["nodes"][5]["handoff"] == {"from": "desk", "to": "billing", "reason": "an invoice"}
    assert [each["choice"] for each in plain["delegations"]] == ["compact", "compact"]
    assert "Look north." not in json.dumps(plain)


def test_r83_nothing_begins_before_what_was_told_before_it_had_ended() -> None:
    """Begins are put together from the order of the events."""
    run = read_run(a_run())
    desk = run.strands["l1"]
    assert [round(node.start, 1) for node in desk.nodes][:5] == [0.0, 1.0, 1.5, 2.5, 11.5]
    assert run.seconds == 20.0


def test_r83_a_run_that_was_cut_off_is_shown_as_far_as_it_goes() -> None:
    """At every event."""
    events = a_run()
    for cut in range(len(events)):
        run = read_run(events[:cut])
        assert render_text(run).count("\n") >= bool(cut)
        json.dumps(as_plain(run), allow_nan=False)
    running = render_text(read_run(events[:14]))
    assert "branch south · prober · 0 requests: running" in running
    assert "join" not in running


def test_r83_calls_that_only_forks_and_hand_offs_tell_of_are_there() -> None:
    """As in a trace that leaves them out; a branch without a loop, too."""
    whole = Played()
    whole.forks(Part(name="north"))
    fork = next(event for event in whole.events if isinstance(event, Forked))
    events: list[Event] = [
        LoopBegan(loop="l1", agent="desk", model="m", kind="conversation", depth=0, request=""),
        fork,
        HandedOff(loop="l1", call="other", source="desk", target="billing"),
        LoopEnded(loop="l1", how="answered", text="", turns=0, usage=Usage(), seconds=math.nan),
    ]
    text = render_text(read_run(events))
    assert "├─ fork @desk" not in text
    assert "fork (inherit context) @desk: north" in text
    assert "branch north · desk: running" in text
    assert "hand-off desk → billing" in text
    assert " s" not in text.splitlines()[0]


def test_r83_ids_that_a_provider_numbers_anew_are_told_apart() -> None:
    """Each reply calls "call_0"; each result belongs to its own."""
    events: list[Event] = []
    loop = Told(events, "l1")
    for text in ("one", "two"):
        call = ToolCall(id="call_0", name="find", arguments=json.dumps(text))
        loop.reply("", call)
        loop.returned(call, text)
    first, second = read_run(events).strands["l1"].uses
    assert (first.number, first.ended.text, second.number, second.ended.text) == (1, "one", 2, "two")
    assert name_of("l1", first) != name_of("l1", second)


def test_r83_loops_whose_parent_is_not_there_yet_are_shown() -> None:
    """Or is the loop itself, as in a file that somebody made."""
    for parent in ("l1", "l9"):
        events: list[Event] = [
            LoopBegan(loop="l1", agent="a", model="m", kind="task", depth=1, request="", parent=parent)
        ]
        run = read_run(events)
        assert render_text(run).startswith("task · a · 0 requests: running")
        assert as_plain(run)["loops"]


def test_r83_three_thousand_loops_below_each_other_are_no_matter() -> None:
    """Nothing recurses; the text is shown all the same."""
    events: list[Event] = [
        LoopBegan(
            loop=f"l{number}",
            agent="a",
            model="m",
            kind="call",
            depth=number,
            request="",
            parent=f"l{number - 1}" if number else None,
        )
        for number in range(3_000)
    ]
    run = read_run(events)
    assert render_text(run).count("call · a") == 3_000
    assert len(run.below("l0")) == 3_000


def test_r83_nothing_is_said_of_nothing() -> None:
    """No events."""
    assert render_text(read_run([])) == ""
