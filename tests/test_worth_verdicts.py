"""What a choice was worth: each verdict, and what narrowly is not it."""

from __future__ import annotations

import json

import pytest

from host.context import Inherited, render
from host.conversation import Conversation, Message, Text, ToolCall
from host.events import Delivered, Event, How
from host.models.port import ToolSpec, Usage
from host.record import Worth, report, worth_of
from tests.record_scene import Told, history

THREAD = history(
    "Sarah Okafor from finance wants the 2025 figures, they are in reports/q3.md.",
    "The quarterly comparison says 48,200, and Lisbon is the better location.",
)
SARAHS = json.dumps(
    [
        {"id": 7, "name": "Sarah Chen", "team": "operations"},
        {"id": 9, "name": "Sarah Okafor", "team": "finance"},
    ]
)


def forked(request: str = "Do your part.", *, own: str = "You are the clerk.") -> tuple[list[Event], Told]:
    """A run in which a child was forked, quoted."""
    inherited = Inherited.of(THREAD)
    events: list[Event] = []
    Told(events, "l1", messages=THREAD.messages).delegate("d1", inherited)
    system = f"{own}\n\n{render(inherited)}"
    return events, Told(events, "l2", request, parent="l1", delegation="d1", system=system, rendering="quoted")


def cold(request: str) -> tuple[list[Event], Told]:
    """A run in which a child was started cold."""
    events: list[Event] = []
    caller = Told(events, "l1", messages=THREAD.messages)
    call = ToolCall(id="call_a", name="ask")
    caller.reply("", call)
    caller.delegate("d1", Inherited.cold(), call="call_a")
    return events, Told(events, "l2", request, parent="l1", delegation="d1")


def only(events: list[Event]) -> Worth:
    (found,) = worth_of(events)
    return found


def settle(child: Told, **arguments: object) -> None:
    """End by calling `answer`."""
    child.reply("", ToolCall(id="call_last", name="answer", arguments=json.dumps(arguments)))
    child.end("(a record)")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("It is for Okafor.", ("okafor",)),
        ("It is okafor", ("okafor",)),
        ("See q3.md.", ("q3.md",)),
        ("See reports/q3.md", ("q3.md", "reports/q3.md")),
        ("About 48200.", ("48200",)),
        ("The quarterly comparison.", ("comparison", "quarterly")),
    ],
)
def test_r82_a_fork_was_used_if_the_answer_tells_something_that_only_the_history_says(
    answer: str, words: tuple[str, ...]
) -> None:
    """A name, a number, a path, or two rarer words."""
    events, child = forked()
    child.reply(answer)
    child.end(answer)
    assert (only(events).verdict, only(events).words) == ("used", words)


@pytest.mark.parametrize(
    "answer",
    [
        "Done.",
        "It is for Mbeki.",
        "See q4.md.",
        "About 48,201.",
        "A comparison.",  # one such word is chance
        "They want the better one.",  # so are everyday words
    ],
)
def test_r82_a_fork_was_not_used_if_nothing_tells_it(answer: str) -> None:
    """Words that the history has not, or that everybody says."""
    events, child = forked()
    child.reply(answer)
    child.end(answer)
    assert (only(events).verdict, only(events).words) == ("unused", ())


def test_r82_arguments_of_calls_tell_as_answers_do() -> None:
    """The child looked for what only the history names; that the result repeats it changes nothing."""
    events, child = forked()
    child.call('{"text": "okafor"}', "Okafor: extension unknown")
    child.reply("Nothing.")
    child.end("Nothing.")
    assert (only(events).verdict, only(events).words) == ("used", ("okafor",))


def test_r82_what_a_result_said_first_is_not_from_the_history() -> None:
    """The same word, the other way round."""
    events, child = forked()
    child.call('{"text": "someone"}', "Okafor: extension unknown")
    child.call('{"text": "okafor"}', "nothing")
    child.reply("Okafor.")
    child.end("Okafor.")
    assert only(events).verdict == "unused"


def test_r82_what_the_request_or_the_instructions_or_the_tools_say_is_not_from_the_history() -> None:
    """Each of them by itself would have sufficed."""
    spec = ToolSpec(name="send", description="Sends to Okafor.", parameters={"type": "object"})
    for request, own, tools in (
        ("Write to Okafor.", "You are the clerk.", ()),
        ("Write to her.", "You are the clerk of Ms Okafor.", ()),
        ("Write to her.", "You are the clerk.", (spec,)),
    ):
        events, child = forked(request, own=own)
        child.ask(tools=tools)
        child.reply("I wrote to Okafor.")
        child.end("I wrote to Okafor.")
        assert only(events).verdict == "unused"


def test_r82_what_was_said_to_the_child_later_is_not_from_the_history() -> None:
    """Steering has words of its own."""
    events, child = forked()
    child.messages = (*child.messages, Message(role="user", parts=(Text(text="Take Okafor."),)))
    child.reply("Okafor it is.")
    child.end("Okafor it is.")
    assert only(events).verdict == "unused"


def test_r82_what_was_delivered_later_is_inherited_too() -> None:
    """A continuation of the caller's history."""
    events, child = forked()
    late = Message(role="user", parts=(Text(text="And copy Mbeki."),))
    events.append(Delivered(loop="l2", ids=((0, late.id),), tokens=5))
    caller = Told(events, "l9", messages=(*THREAD.messages, late))
    caller.ask()
    child.reply("Copied Mbeki.")
    child.end("Copied Mbeki.")
    assert (only(events).verdict, only(events).words) == ("used", ("mbeki",))


def test_r82_a_replayed_fork_is_told_like_a_quoted_one() -> None:
    """Its history stands in its messages, under the ids that were passed."""
    for answer, verdict in (("It is for Okafor.", "used"), ("Done.", "unused")):
        inherited = Inherited.of(THREAD)
        events: list[Event] = []
        Told(events, "l1", messages=THREAD.messages).delegate("d1", inherited)
        task = Message(role="user", parts=(Text(text="Do your part."),))
        messages = (*THREAD.messages, task)
        child = Told(events, "l2", "Do your part.", parent="l1", delegation="d1", messages=messages)
        child.reply(answer)
        child.end(answer)
        assert only(events).verdict == verdict


def test_r82_a_fork_was_used_if_the_history_told_which_candidate_is_meant() -> None:
    """The answer is a key that a result gave; that it is this one, only the history says."""
    events, child = forked("Sarah's address?")
    child.call('{"text": "Sarah"}', SARAHS)
    settle(child, id=9)
    assert (only(events).verdict, only(events).words) == ("used", ("finance", "okafor"))


def test_r82_a_fork_was_not_used_if_the_request_told_which_candidate_is_meant_or_nothing_did() -> None:
    """The request names the one, and of the other the history says nothing."""
    events, child = forked("The address of Sarah in finance?")
    child.call('{"text": "Sarah"}', SARAHS)
    settle(child, id=9)
    assert only(events).verdict == "unused"
    events, child = forked("Sarah's address?")
    child.call('{"text": "Sarah"}', SARAHS)
    settle(child, id=7)
    assert only(events).verdict == "unused"


def test_r82_a_fork_of_nothing_is_neither_used_nor_unused() -> None:
    """There was nothing to inherit."""
    events: list[Event] = []
    Told(events, "l1").delegate("d1", Inherited.of(Conversation()))
    child = Told(events, "l2", parent="l1", delegation="d1")
    child.reply("Done.")
    child.end("Done.")
    assert only(events).verdict == "empty"


@pytest.mark.parametrize("how", ["failed", "cancelled", "stopped", None])
def test_r82_who_came_to_no_end_is_not_judged_for_what_it_did_not_use(how: How | None) -> None:
    """It might have. What it did use by then, it used."""
    for text, verdict in (("", "open"), ("okafor", "used")):
        events, child = forked()
        child.call(json.dumps({"text": text}), "nothing")
        if how is not None:
            child.end("", how)
        assert only(events).verdict == verdict


def test_r82_a_cold_child_that_asked_back_lacked_something() -> None:
    """And one that answered did not."""
    events, child = cold("Sarah's address?")
    child.call('{"text": "Sarah"}', SARAHS)
    child.end("Which Sarah?", "asked back")
    assert only(events).verdict == "asked"
    events, child = cold("The address of Sarah Chen?")
    child.call('{"text": "Sarah"}', SARAHS)
    settle(child, id=7)
    assert only(events).verdict == "sufficed"


def test_r82_a_cold_child_guessed_if_its_request_does_not_tell_the_candidates_apart() -> None:
    """By a key, or by a name in words."""
    events, child = cold("Sarah's address?")
    child.call('{"text": "Sarah"}', SARAHS)
    settle(child, id=7)
    assert (only(events).verdict, only(events).words) == ("guessed", ("chen", "operation"))
    events, child = cold("Sarah's address?")
    child.call('{"text": "Sarah"}', SARAHS)
    child.reply("You mean Sarah Chen, I think.")
    child.end("You mean Sarah Chen, I think.")
    assert only(events).verdict == "guessed"


def test_r82_it_guessed_also_if_the_request_speaks_for_another_candidate() -> None:
    """The request names the team of the one that was not taken."""
    events, child = cold("The address of Sarah in finance?")
    child.call('{"text": "Sarah"}', SARAHS)
    settle(child, id=7)
    assert only(events).verdict == "guessed"


@pytest.mark.parametrize(
    ("request_", "results", "answer"),
    [
        ("The address of Sarah in operations?", [("find", SARAHS)], {"id": 7}),
        ("Sarah's address?", [("find", json.dumps([{"id": 7, "name": "Sarah Chen"}]))], {"id": 7}),
        ("All Sarahs?", [("find", SARAHS)], {"ids": [7, 9]}),
        ("Sarah's address?", [("find", SARAHS)], {"id": 8}),
        ("Sarah's address?", [("find", "Sarah Chen\nSarah Okafor")], {"id": 7}),
        ("Sarah's address?", [("calendar", "Today: lunch with Sarah of operations"), ("find", SARAHS)], {"id": 7}),
    ],
    ids=["told", "only one", "all", "none of them", "prose", "told by another tool"],
)
def test_r82_it_did_not_guess(request_: str, results: list[tuple[str, str]], answer: dict[str, object]) -> None:
    """Something told, or nothing shows that it chose."""
    events, child = cold(request_)
    for tool, result in results:
        child.call("{}", result, tool=tool)
    settle(child, **answer)
    assert only(events).verdict == "sufficed"


def test_r82_the_tokens_that_a_fork_spent_and_a_cold_start_saved() -> None:
    """The history, once for each request of the child."""
    events, child = forked()
    child.call("{}", "[]", usage=Usage(input=90, cached=60))
    child.reply("Done.", usage=Usage(input=99))
    child.end("Done.")
    assert (only(events).history, only(events).tokens, only(events).cached) == (THREAD.tokens, 2 * THREAD.tokens, 60)
    events, child = cold("What day is it?")
    child.reply("Monday.")
    child.end("Monday.")
    assert (only(events).history, only(events).tokens, only(events).cached) == (THREAD.tokens, THREAD.tokens, None)


def test_r82_a_cold_start_saves_also_what_its_caller_inherited() -> None:
    """A child's history is what it inherited, and its own exchange."""
    events, child = forked()
    child.reply("", ToolCall(id="call_a", name="ask"))
    child.delegate("d2", Inherited.cold(), call="call_a")
    grandchild = Told(events, "l3", "What day is it?", parent="l2", delegation="d2")
    grandchild.reply("Monday.")
    grandchild.end("Monday.")
    own = Conversation.of("Do your part.").tokens
    assert worth_of(events)[1].history == THREAD.tokens + own


def test_r82_what_is_not_known_is_not_made_up() -> None:
    """No request of the caller in the record, no number."""
    events: list[Event] = []
    Told(events, "l1").delegate("d1", Inherited.cold(), call="call_a")
    child = Told(events, "l2", parent="l1", delegation="d1")
    child.reply("Monday.")
    child.end("Monday.")
    assert (only(events).history, only(events).tokens) == (None, None)


def test_r82_the_report_counts_sums_and_says_where_to_look() -> None:
    """Over several records."""
    records = []
    for answer, usage in (("Okafor.", Usage(input=90, cached=60)), ("Done.", Usage(input=90))):
        events, child = forked()
        child.reply(answer, usage=usage)
        child.end(answer)
        records.append(events)
    events, child = cold("Sarah's address?")
    child.call("{}", SARAHS)
    settle(child, id=7)
    records.append(events)
    found = report(records)
    assert (found.count(), found.count("used"), found.count("unused", "guessed")) == (3, 1, 2)
    tokens = THREAD.tokens
    assert (found.spent, found.wasted, found.saved, found.cached) == (2 * tokens, tokens, 2 * tokens, 60)
    assert found.render_text().splitlines() == [
        "3 delegations: 2 forked, 1 cold.",
        "Forked: 1 used what they inherited, 1 used nothing of it, 0 had nothing to inherit, 0 came to no end.",
        "Cold: 0 needed no more, 0 asked back, 1 guessed, 0 came to no end.",
        f"History sent to forked children: about {2 * tokens} tokens, {tokens} of them for nothing.",
        f"History spared by going cold: about {2 * tokens} tokens.",
        "Cache: 60 tokens read from it, as reported for 1 of 2 forked children.",
        f"- contacts.ask (d1, by call): forked, used nothing that it inherited, {tokens} tokens",
        f"- contacts.ask (d1, by call): cold, guessed (chen, operation), {2 * tokens} tokens",
    ]


def test_r79_the_report_claims_no_hit_that_nobody_reported() -> None:
    """Not even none."""
    assert report([]).cached is None
    assert "Cache: no provider reported on it." in report([]).render_text()
