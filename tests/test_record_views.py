"""What can be read off a record: the tree of loops, each choice and what came of it, and the run as text."""

from __future__ import annotations

from host.context import Inherited
from host.conversation import Conversation, ToolCall
from host.events import Event, How
from host.models.port import Usage
from host.record import delegations, loops, render_graph
from tests.record_scene import LOOKUP, Told, history

THREAD = history("Sarah Chen wants the metrics.", "Noted.")


def a_run() -> list[Event]:
    """A conversation that asks twice, forked and cold; the forked child asks once more, and still does."""
    events: list[Event] = []
    caller = Told(events, "l1", "Who gets it?", messages=THREAD.messages)
    first, second = (ToolCall(id=f"call_{name}", name="ask", arguments="{}") for name in "ab")
    caller.reply("", first, second, usage=Usage(input=100, output=20))
    caller.delegate("d1", Inherited.of(THREAD), call="call_a")
    forked = Told(events, "l2", "Sarah's address?", parent="l1", delegation="d1", rendering="quoted")
    caller.delegate("d2", Inherited.cold(), call="call_b")
    cold = Told(events, "l3", "The weather?", parent="l1", delegation="d2")
    forked.call("{}", "[]", usage=Usage(input=50, output=5, cached=40))
    forked.delegate("d3", Inherited.of(THREAD).extend(Conversation.of("Sarah's address?"), agent="clerk"))
    Told(events, "l4", "Which one?", parent="l2", delegation="d3", rendering="replayed").reply(
        "Hm.", usage=Usage(input=7, output=1)
    )
    forked.end("sarah@example.org")
    cold.reply("", usage=Usage(input=9, cached=0))
    cold.end("  ")
    caller.returned(first, "sarah@example.org")
    caller.returned(second, "")
    caller.reply("Sent.", usage=Usage(input=130, output=2))
    caller.end("Sent.", seconds=12.25)
    return events


def test_r80_the_tree_of_loops_says_what_each_used_and_what_all_below_it_did() -> None:
    """A loop that still runs is counted by its replies."""
    tree = loops(a_run())
    (root,) = tree.roots
    assert list(tree.by_id) == ["l1", "l2", "l3", "l4"]
    assert [child.id for child in root.children] == ["l2", "l3"]
    assert [child.id for child in root.children[0].children] == ["l4"]
    assert root.usage == Usage(input=230, output=22)
    assert root.children[0].below == Usage(input=57, output=6, cached=40)
    assert tree.total == root.below == Usage(input=296, output=28, cached=40)
    assert (len(root.requests), root.calls, root.seconds) == (2, 2, 12.25)
    assert tree.by_id["l4"].seconds is None


def test_r80_each_delegation_says_what_was_passed_by_whose_choice_and_what_came_of_it() -> None:
    """The choice, the messages by id, the rendering, the child's usage, the outcome, and the result of the very call."""
    first, second, third = delegations(a_run())
    ids = tuple(message.id for message in THREAD)
    assert (first.passed.ids, first.chooser, first.rendering, first.outcome) == ((ids,), "call", "quoted", "answered")
    assert first.passed.inherited.tokens == THREAD.tokens
    assert first.usage == Usage(input=57, output=6, cached=40)
    assert (first.text, first.result.call.id) == ("sarah@example.org", "call_a")
    assert (second.passed.ids, second.outcome, second.result.call.id) == ((), "answered", "call_b")
    assert (third.outcome, third.result, third.caller) == ("running", None, "d1")
    plain = first.as_plain()
    assert plain["layers"] == [{"agent": None, "below": None, "ids": list(ids)}]
    assert plain["usage"] == {"input": 57, "output": 6, "cached": 40, "written": None}


def test_r80_an_empty_fork_says_why_nothing_was_passed() -> None:
    """It is a fork, and its record has a reason."""
    events: list[Event] = []
    Told(events, "l1").delegate("d1", Inherited.of(Conversation()))
    (only,) = delegations(events)
    assert only.as_plain()["nothing"] == "The parent conversation has no messages yet."
    assert only.outcome == "no loop"


def test_r86_each_choice_has_the_tools_instructions_and_words_that_were_on_offer() -> None:
    """And the very request in whose reply it was made."""
    first, second, third = delegations(a_run())
    for each in (first, second):
        assert (each.choice.offered, each.choice.tools) == (("fork", "cold"), ("find",))
        assert each.choice.instructions == each.asked.request.system == "You are an agent."
        assert each.asked.request.tools == (LOOKUP,)
        assert (each.asked.loop, each.asked.number) == ("l1", 1)
    assert third.asked is None


def test_r86_call_ids_that_come_again_mean_the_latest_request() -> None:
    """Some providers number the calls of each reply from one."""
    events: list[Event] = []
    caller = Told(events, "l1")
    call = ToolCall(id="1", name="ask")
    for number in range(2):
        caller.reply("", call)
        caller.delegate(f"d{number}", Inherited.cold(), call="1")
        caller.returned(call, f"result {number}")
    assert [(each.asked.number, each.result.text) for each in delegations(events)] == [(1, "result 0"), (2, "result 1")]


def test_r79_a_hit_is_shown_only_where_one_was_reported() -> None:
    """Nothing reported is None; nothing read is 0."""
    events: list[Event] = []
    silent = Told(events, "l1")
    silent.reply("Hm.", usage=Usage(input=5))
    silent.end("Hm.")
    honest = Told(events, "l2")
    honest.reply("Hm.", usage=Usage(input=5, cached=0))
    honest.end("Hm.")
    by_id = loops(events).by_id
    assert (by_id["l1"].usage.cached, by_id["l2"].usage.cached) == (None, 0)
    assert "cached" not in render_graph(events[:4])
    assert "5 in (0 cached)" in render_graph(events)


def test_r90_a_child_that_ended_with_no_work_done_is_flagged() -> None:
    """No calls and a blank answer, or none."""
    first, second, third = delegations(a_run())
    assert [each.is_idle for each in (first, second, third)] == [False, True, False]


def test_r90_an_answer_a_question_or_a_call_is_work() -> None:
    """Narrowly not flagged, and narrowly flagged."""
    flagged = {}
    cases: tuple[tuple[str, int, str, How], ...] = (
        ("words", 0, "42", "answered"),
        ("a question", 0, "Which one?", "asked back"),
        ("a call", 1, "", "answered"),
        ("blank", 0, " \n", "answered"),
        ("a blank question", 0, "", "asked back"),
        ("failed at once", 0, "ModelTimeout: no answer", "failed"),
        ("stopped at once", 0, "", "stopped"),
    )
    for name, calls, text, how in cases:
        events: list[Event] = []
        child = Told(events, "l2", delegation="d1")
        for _ in range(calls):
            child.call("{}", "[]")
        child.end(text, how)
        flagged[name] = loops(events).by_id["l2"].is_idle
    assert flagged == {
        "words": False,
        "a question": False,
        "a call": False,
        "blank": True,
        "a blank question": True,
        "failed at once": True,
        "stopped at once": True,
    }


def test_events_may_be_missing() -> None:
    """A loop whose parent is not there is a root, and a stray event belongs to no loop."""
    events = a_run()
    tree = loops(events[1:])
    assert [loop.id for loop in tree.roots] == ["l2", "l3"]
    assert tree.total == tree.by_id["l2"].below + tree.by_id["l3"].below


def test_deep_trees_are_no_matter() -> None:
    """Ten thousand loops, each below the one before."""
    events: list[Event] = []
    for number in range(10_000):
        Told(events, f"l{number}", parent=f"l{number - 1}" if number else None)
    (root,) = loops(events).roots
    assert root.below == Usage()
    assert render_graph(events).count("\n") == 10_000


def test_the_run_as_text() -> None:
    """One line for each loop, below the one that started it."""
    assert render_graph(a_run()).splitlines() == [
        "conversation clerk · 2 requests · 2 calls · 230 in, 22 out · 12.2 s: answered",
        "  call clerk · fork, quoted by call · 1 request · 1 call · 50 in (40 cached), 5 out · 2.0 s: answered",
        "    call clerk · fork, replayed by call · 1 request · 7 in, 1 out: running",
        "  call clerk · cold by call · 1 request · 9 in (0 cached), 0 out · 2.0 s: answered with no work done",
        "in all: 296 in (40 cached), 28 out",
    ]
    assert render_graph([]) == ""
