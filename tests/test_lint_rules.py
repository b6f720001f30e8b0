"""R84: the thirteen findings, each with a run that has it and runs that narrowly have not."""

from __future__ import annotations

from typing import Any

from host.events import Event
from host.graph.rules import RULES, Bounds, Finding, lint
from tests.graph_scene import FIND, READ, WRITE, Part, Played, fork_tool, tool

FORKING = (FIND, READ, WRITE, fork_tool())
ROOMS = ("north hall", "south hall", "west hall")


def rules(events: list[Event], **settings: object) -> list[str]:
    """The ids of what is found."""
    return [finding.rule.id for finding in lint(events, **settings)]  # type: ignore[arg-type]


def only(events: list[Event], rule: str) -> Finding:
    """The one finding, which has to be of this rule and to say everything that a finding says."""
    (finding,) = lint(events)
    assert finding.rule.id == rule
    assert all((finding.message, finding.fix, finding.expect, finding.agent, finding.node))
    assert type(events[finding.at]).__name__ in ("Requested", "CallBegan")
    return finding


def test_there_are_thirteen_rules() -> None:
    """With ids of their own."""
    assert len({rule.id for rule in RULES}) == len(RULES) == 13


class TestFanout:
    def serial(self, *, tools=FORKING, results=("Dry.", "Damp.", "Dry."), rooms=ROOMS) -> list[Event]:
        desk = Played(tools=tools, request="How are the north hall, the south hall and the west hall?")
        for room, result in zip(rooms, results, strict=False):
            desk.calls("find", result, seconds=4.0, text=room)
        desk.reply("One is damp.")
        return desk.ends()

    def test_r84_calls_in_series_that_need_nothing_of_each_other_are_a_missed_fanout(self) -> None:
        """It costs the time of all parts but the slowest, and no tokens."""
        finding = only(self.serial(), "fanout.missed")
        assert "desk called find 3 times in a row" in finding.message
        assert finding.fix == "the instructions of desk: say in its own terms what to fork over"
        assert finding.expect == "one fork with a branch for each of the 3 parts"
        assert (finding.price.seconds, finding.price.tokens) == (10.0, None)  # three of 1 s to ask and 4 s to find
        assert "`fork` was among the tools of that request" in finding.causes

    def test_r84_two_calls_are_no_series(self) -> None:
        """One more and it would be."""
        assert rules(self.serial(rooms=ROOMS[:2])) == []

    def test_r84_a_call_that_uses_an_earlier_result_is_no_part_of_a_series(self) -> None:
        """The first result names what the second call asks for."""
        found = self.serial(results=("See Okafor.", "Damp.", "Dry."), rooms=("north hall", "Okafor", "west hall"))
        assert rules(found) == []

    def test_r84_a_name_that_the_request_gave_is_no_use_of_a_result(self) -> None:
        """Though a result says it, too."""
        found = self.serial(results=("Dry, unlike the south hall.", "Damp.", "Dry."))
        assert rules(found) == ["fanout.missed"]

    def test_r84_calls_at_once_are_no_series(self) -> None:
        """One reply made them all."""
        desk = Played(tools=FORKING)
        desk.at_once(*[("find", {"text": room}, "Dry.") for room in ROOMS])
        assert rules(desk.ends()) == []

    def test_r84_a_tool_that_takes_a_list_asks_for_one_call(self) -> None:
        """The list should go into it; a fork would be worse."""
        many = tool("find", texts={"type": "array"})
        assert rules(self.serial(tools=(many, fork_tool()))) == []

    def test_r84_the_same_call_again_is_a_retry(self) -> None:
        """Not a list of parts."""
        assert rules(self.serial(rooms=("north hall", "North Hall", "north hall"))) == []

    def test_r84_calls_of_two_turns_are_no_series(self) -> None:
        """The person spoke in between."""
        desk = Played(tools=FORKING)
        for room in ROOMS:
            desk.calls("find", "Dry.", text=room)
            desk.answers()
        assert rules(desk.ends()) == []

    def test_r84_without_a_fork_among_the_tools_the_fix_goes_into_the_declaration(self) -> None:
        """And the finding is another one."""
        finding = only(self.serial(tools=(FIND,)), "fanout.unavailable")
        assert finding.fix == "the declaration of desk: let it fork"
        assert "`fork` was not among the tools" in finding.causes[0]

    def test_r84_with_a_fork_among_the_tools_it_is_not_that(self) -> None:
        """The same run but for one tool."""
        assert rules(self.serial(tools=(FIND, fork_tool()))) == ["fanout.missed"]

    def test_r84_where_the_tools_are_not_known_neither_is_claimed(self) -> None:
        """What a record does not say is not absent."""
        (finding,) = lint(self.serial(tools=()), unknown=frozenset({"tools"}))
        assert "the record does not say" in finding.fix
        assert finding.causes == ("the record does not say which tools were on offer",)


class TestSequence:
    def test_r84_a_branch_that_is_told_to_use_what_a_sibling_brings_was_forked_too_soon(self) -> None:
        """All that it used was for nothing."""
        desk = Played(tools=FORKING, input=900)
        desk.forks(Part(name="prices"), Part(name="letter", instructions="Use the result of prices. Write the letter."))
        finding = only(desk.ends(), "fork.sequence")
        assert finding.expect == "prices, then letter, in the conversation of desk"
        assert finding.price.tokens == 910
        assert finding.rule.severity == "error"

    def test_r84_to_leave_a_part_to_a_sibling_is_no_dependence(self) -> None:
        """It is what a branch ought to be told."""
        desk = Played(tools=FORKING)
        desk.forks(Part(name="prices"), Part(name="letter", instructions="Write it. Leave results to branch prices."))
        assert rules(desk.ends()) == []

    def test_r84_a_sibling_whose_name_is_a_common_word_may_be_mentioned(self) -> None:
        """Only what says that something of it is needed counts."""
        for told, found in (
            ("Write a report on quality and compare prices.", []),
            ("Take the figures from prices.", ["fork.sequence"]),
            ("Wait for prices, then compare.", ["fork.sequence"]),
        ):
            desk = Played(tools=FORKING)
            desk.forks(Part(name="prices"), Part(name="quality", instructions=told))
            assert rules(desk.ends()) == found

    def files(self, *, reads: str, before: bool = False) -> list[Event]:
        desk = Played(tools=FORKING)
        if before:
            desk.calls("read_file", "Old prices.", path="/work/prices.csv")
        one = Part(name="one", calls=[("write_file", {"path": "work/prices.csv", "content": "9"}, "Written.")])
        other = Part(name="other", calls=[("read_file", {"path": reads}, "No such file.")])
        desk.forks(one, other)
        return desk.ends()

    def test_r84_a_branch_that_reads_a_file_which_a_sibling_writes_is_a_sequence(self) -> None:
        """However the path is written."""
        finding = only(self.files(reads="./work/prices.csv"), "fork.sequence")
        assert "needs work/prices.csv, which its sibling one writes" in finding.message

    def test_r84_a_branch_that_reads_another_file_is_none(self) -> None:
        """Its neighbour."""
        assert rules(self.files(reads="work/prices-2024.csv")) == []

    def test_r84_a_file_that_was_there_before_the_fork_is_none(self) -> None:
        """The branch reads what its caller had read."""
        assert rules(self.files(reads="work/prices.csv", before=True)) == []


class TestTrifle:
    def one(self, calls: int, *parts: Part) -> list[Event]:
        desk = Played(tools=FORKING, input=5_000)
        made = [("find", {"text": f"part {number}"}, "Found.") for number in range(calls)]
        desk.forks(Part(name="look", calls=made), *parts)
        return desk.ends()

    def test_r84_a_fork_of_one_branch_that_made_a_call_or_two_cost_more_than_it_saved(self) -> None:
        """It costs one conversation's start."""
        for calls in (1, 2):
            finding = only(self.one(calls), "fork.trifle")
            assert finding.price.tokens == 5_000
            assert finding.expect == f"the call{'s' if calls == 2 else ''} made by desk itself"

    def test_r84_three_calls_are_work(self) -> None:
        """Long and noisy is what a branch is for."""
        assert rules(self.one(3), bounds=Bounds(series=9)) == []

    def test_r84_two_branches_are_a_fanout(self) -> None:
        """Each of one call."""
        assert rules(self.one(1, Part(name="listen", calls=[("find", {"text": "other"}, "Found.")]))) == []


class TestRepeated:
    def again(self, tool: str = "find", /, *, writes: bool = False, **arguments: Any) -> list[Event]:
        desk = Played(tools=FORKING)
        made = [("find", {"text": "the gate"}, "Open." * 40), ("read_file", {"path": "log.txt"}, "Quiet.")]
        if writes:
            made.append(("write_file", {"path": "log.txt", "content": "x"}, "Written."))
        desk.forks(Part(name="gate", calls=made), Part(name="wall", calls=[("find", {"text": "wall"}, "High.")]))
        desk.calls(tool, "Open." * 40, seconds=2.0, **arguments)
        return desk.ends()

    def test_r84_a_caller_that_repeats_a_branchs_call_did_not_say_what_to_return(self) -> None:
        """It costs the call, its result, and the request that made it."""
        finding = only(self.again(text="The Gate"), "join.repeated")
        assert "repeated 1 call that branch gate had made: find" in finding.message
        assert finding.price.seconds == 3.0
        assert 50 <= (finding.price.tokens or 0) <= 60

    def test_r84_the_same_tool_on_another_subject_is_no_repetition(self) -> None:
        """It is new work."""
        assert rules(self.again(text="the garden gate")) == []

    def test_r84_to_read_a_file_that_a_branch_wrote_is_no_repetition(self) -> None:
        """It is how a branch hands over more than an answer."""
        assert rules(self.again("read_file", path="log.txt")) == ["join.repeated"]
        assert rules(self.again("read_file", path="log.txt", writes=True)) == []


class TestBranches:
    def test_r84_a_branch_that_is_not_ok_lacked_something(self) -> None:
        """It costs all that the branch used."""
        desk = Played(tools=FORKING, input=700)
        desk.forks(Part(name="a"), Part(name="b", how="failed", text="Which year?"))
        finding = only(desk.ends(), "branch.failed")
        assert finding.message == "branch b ended as error: Which year?"
        assert finding.expect == "branch b ok"
        assert (finding.price.tokens, finding.price.seconds) == (710, 3.0)

    def test_r84_a_branch_that_still_runs_has_not_failed(self) -> None:
        """The record was read in the middle of the run."""
        desk = Played(tools=FORKING)
        desk.forks(Part(name="a", joined=False), Part(name="b", joined=False))
        del desk.events[-1]
        assert rules(desk.events) == []

    def uneven(self, slowest: float, *others: float) -> list[Event]:
        desk = Played(tools=FORKING)
        parts = [Part(name=f"p{number}", seconds=seconds) for number, seconds in enumerate((slowest, *others))]
        desk.forks(*parts)
        return desk.ends()

    def test_r84_a_branch_far_behind_its_siblings_is_an_uneven_division(self) -> None:
        """It costs the time for which it was alone at work."""
        finding = only(self.uneven(20.0, 8.0, 4.0), "branch.uneven")
        assert finding.price.seconds == 12.0
        assert finding.rule.severity == "note"

    def test_r84_not_quite_twice_as_long_is_even_enough(self) -> None:
        """And a second is nothing, however many times as long."""
        assert rules(self.uneven(15.9, 8.0, 4.0)) == []
        assert rules(self.uneven(1.2, 0.1)) == []

    def overlap(self, *subjects: str) -> list[Event]:
        desk = Played(tools=FORKING)
        one = [("find", {"text": text}, f"On {text}.") for text in ("gate", "wall")]
        other = [("find", {"text": text}, f"On {text}.") for text in subjects]
        one.append(("read_file", {"path": "roof.txt"}, "On the roof."))
        other.append(("read_file", {"path": "cellar.txt"}, "On the cellar."))
        desk.forks(Part(name="one", calls=one), Part(name="other", calls=other))
        return desk.ends()

    def test_r84_two_branches_with_the_same_calls_overlap(self) -> None:
        """It costs the calls that were made twice, with their requests."""
        finding = only(self.overlap("Gate", "wall"), "branch.overlap")
        assert "made 2 calls both alike, of 3 and 3" in finding.message
        assert finding.price.seconds == 3.0

    def test_r84_one_common_call_is_how_people_find_their_way(self) -> None:
        """The list of files, say."""
        assert rules(self.overlap("gate", "cellar")) == []


class TestUncached:
    def wide(
        self, branches: int = 3, *, words: int = 9_000, mode: str = "inherit", agent: str = "prober"
    ) -> list[Event]:
        desk = Played(tools=FORKING, request="word " * words)
        desk.forks(*[Part(name=f"p{number}", agent=agent) for number in range(branches)], mode=mode)
        return desk.ends()

    def test_r84_a_wide_fork_to_another_agent_pays_a_long_history_for_each_branch(self) -> None:
        """It costs the history, uncached, as many times."""
        events = self.wide()
        finding = only(events, "fork.uncached")
        assert "3 branches on prober were each sent 11,2" in finding.message
        assert 33_000 < (finding.price.tokens or 0) < 35_000
        assert finding.expect == "fork (compact context) or fork (none context)"

    def test_r84_a_narrower_one_a_shorter_one_a_compact_one_and_ones_own_agent_do_not(self) -> None:
        """Each by one thing alone."""
        assert rules(self.wide(2)) == []
        assert rules(self.wide(words=6_000)) == []
        assert rules(self.wide(mode="compact")) == []
        assert rules(self.wide(agent="desk")) == []

    def test_r84_a_hit_that_the_provider_reported_is_believed(self) -> None:
        """The model of costs is not."""
        desk = Played(tools=FORKING, request="word " * 9_000, input=12_000)
        desk.forks(*[Part(name=f"p{number}", agent="prober", cached=11_000) for number in range(3)])
        assert rules(desk.ends()) == []


BILLING = tool("transfer_to_billing", "Answers invoice and refund questions from the written policy.")


class TestHandoffs:
    def early(self, result: str) -> list[Event]:
        desk = Played(agent="intake", input=2_000)
        desk.hands_off("billing", "An invoice.")
        desk.hands_off("intake", "Which customer is it?")
        desk.calls("find", result, text="customer of invoice 2025-044")
        desk.hands_off("support", "The customer is known.")
        return desk.ends()

    def test_r84_a_hand_off_before_the_agents_own_part_was_early(self) -> None:
        """Back in control, it did what it could have done before."""
        events = self.early("Whitlock.")
        finding = only(events, "handoff.early")
        assert finding.agent == "intake"
        assert "called find, which it could have done before" in finding.message
        assert finding.price.tokens == 2_000
        assert finding.expect == "the calls of intake, then the hand-off"

    def test_r84_a_call_that_needs_what_the_other_agent_found_was_not_to_be_made_before(self) -> None:
        """The target's result names what the agent then asks for."""
        desk = Played(agent="intake")
        desk.hands_off("billing", "An invoice.")
        desk.calls("find", "Open since May, account K-7731.", text="invoice")
        desk.hands_off("intake", "Whose is it?")
        desk.calls("find", "Whitlock.", text="K-7731")
        assert rules(desk.ends()) == []

    def test_r84_a_hand_off_beside_another_call_never_reads_its_result(self) -> None:
        """The same call in the reply before is its own part, done."""
        desk = Played(agent="intake")
        desk.hands_off("billing", beside=("find", {"text": "customer"}, "Whitlock."))
        desk.calls("read_file", "Yes.", path="policy.md")
        assert only(desk.ends(), "handoff.early").message.startswith("intake handed over to billing in the same reply")
        desk = Played(agent="intake")
        desk.calls("find", "Whitlock.", text="customer")
        desk.hands_off("billing")
        assert "handoff.early" not in rules(desk.ends())

    def test_r84_a_target_that_calls_what_only_its_predecessor_has(self) -> None:
        """It was left with a part that is not its own; a call that fails for another reason says nothing."""
        for has, found in (((READ,), ["handoff.early"]), ((READ, FIND), [])):
            desk = Played(agent="intake")
            desk.hands_off("billing", "An invoice.", tools=has)
            desk.calls("find", "There is no tool find.", failed=True, text="customer")
            assert rules(desk.ends()) == found

    def test_r84_there_and_back_and_there_again_is_a_loop(self) -> None:
        """It costs a conversation's start at every switch but the first."""
        desk = Played(agent="intake", input=3_000)
        for target in ("billing", "intake", "billing"):
            desk.hands_off(target)
        finding = only(desk.ends("", how="failed"), "handoff.loop")
        assert finding.fix.startswith("the instructions of both intake and billing")
        assert finding.expect == "one hand-off, or none"

    def test_r84_there_and_back_is_none_and_neither_is_another_turn(self) -> None:
        """A person's next question may belong there again."""
        desk = Played(agent="intake")
        desk.hands_off("billing")
        desk.hands_off("intake")
        assert rules(desk.ends()) == []
        desk = Played(agent="intake")
        desk.hands_off("billing")
        desk.hands_off("intake")
        desk.answers()
        desk.user("And another invoice.")
        desk.hands_off("billing")
        assert "handoff.early" not in rules(desk.ends())

    def spent(self, *, worked: bool = True, reason: str = "Is a refund due?", calls: int = 1) -> Played:
        desk = Played(agent="intake", input=4_000, tools=(FIND, BILLING))
        if worked:
            desk.calls("find", "Invoice 2025-044.", text="customer")
        desk.hands_off("billing", reason)
        for number in range(calls):
            desk.calls("find", "Due.", text=f"refund rule {number}")
        desk.answers("A refund is due.")
        return desk

    def test_r84_a_hand_off_for_one_question_spends_the_conversation(self) -> None:
        """It costs one conversation's start, uncached."""
        finding = only(self.spent().ends("A refund is due."), "handoff.for-answer")
        assert finding.expect == "a fork of one branch to billing, and the final answer by intake"
        assert finding.price.tokens == 4_000
        assert "let it fork to billing" in finding.fix

    def test_r84_routing_a_target_that_works_long_and_one_that_goes_on_are_none(self) -> None:
        """A hand-off of what the agent had not begun; of a whole job; of the conversation from now on."""
        assert rules(self.spent(worked=False, reason="Concerns an invoice.").ends()) == []
        assert rules(self.spent(calls=3).ends(), bounds=Bounds(series=9)) == []
        goes_on = self.spent()
        goes_on.user("And when?")
        goes_on.answers("In May.")
        assert rules(goes_on.ends()) == []


class TestSpecialists:
    def inline(self, *texts: str, hands_off: bool = False, tools=(FIND, BILLING)) -> list[Event]:
        desk = Played(agent="intake", tools=tools)
        for text in texts:
            desk.calls("find", "Found.", text=text)
        if hands_off:
            desk.hands_off("billing")
            desk.calls("find", "Yes.", text="stamps")
            desk.calls("find", "Yes.", text="envelopes")
            desk.calls("find", "Yes.", text="ink")
        return desk.ends()

    def test_r84_a_specialists_job_done_inline_was_never_given_away(self) -> None:
        """The specialist's description says whose field it is."""
        finding = only(self.inline("invoice 2025-044", "refund rules"), "delegation.missed")
        assert "made 2 calls in the field of billing (invoice, refund)" in finding.message
        assert finding.fix == "the instructions of intake: say when to give work to billing"
        assert finding.causes == ("a hand-off to billing was on offer",)
        assert (finding.price.tokens or 0) > 0

    def test_r84_one_call_other_subjects_and_work_that_was_given_away_are_none(self) -> None:
        """Each by one thing alone."""
        assert rules(self.inline("refund rules")) == []
        assert rules(self.inline("opening hours", "refund rules")) == []
        assert "delegation.missed" not in rules(self.inline("invoice 2025-044", "refund rules", hands_off=True))

    def test_r84_a_specialist_may_be_known_by_the_forks_enumeration_or_from_elsewhere(self) -> None:
        """And one that no branch may run is a cheap cause."""
        fork = fork_tool("billing", description="Forks.\n- billing: Answers invoice and refund questions.")
        assert rules(self.inline("invoice 2025-044", "refund rules", tools=(FIND, fork))) == ["delegation.missed"]
        events = self.inline("invoice 2025-044", "refund rules", tools=(FIND, fork_tool("prober")))
        assert rules(events) == []
        (finding,) = lint(events, agents={"billing": "Answers invoice and refund questions."})
        assert finding.causes == ("billing was not among the agents that a branch may run",)
