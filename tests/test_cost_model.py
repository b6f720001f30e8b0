"""What a delegation costs, by its shape."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.record import SHAPES, Pace, Prices, Shape, Work, at_once, cost_of, costs_of, in_turn

EXAMPLE = Work(history=40_000, task=2_000)


def test_r78_the_history_has_to_come_again_or_is_read_from_the_cache() -> None:
    """40,000 tokens of history and 2,000 of task: 42,000 fresh tokens cold, 2,000 forked with a hit."""
    assert cost_of("retold", EXAMPLE).fresh == 42_000
    assert cost_of("replayed", EXAMPLE).fresh == 2_000
    assert cost_of("replayed", EXAMPLE).cached == 40_000


def test_r78_a_hit_is_an_assumption() -> None:
    """Without one a replayed fork costs what the history costs."""
    missed = cost_of("replayed", EXAMPLE, hit=False)
    assert (missed.fresh, missed.cached, missed.cacheable) == (42_000, 0, 40_000)


def test_r78_a_cold_child_with_a_brief_is_as_cheap_as_a_fork_with_a_hit_and_knows_nothing() -> None:
    """It is sent the request and no more."""
    brief = cost_of("brief", EXAMPLE)
    assert (brief.fresh, brief.sent, brief.cacheable) == (2_000, 2_000, 0)
    assert cost_of("replayed", EXAMPLE).sent == 42_000


def test_r78_the_shapes_side_by_side() -> None:
    """What is sent, what can hit, for an agent with 3,000 tokens of instructions, and a history half tool traffic."""
    work = Work(history=40_000, task=2_000, instructions=3_000, kept=20_000, kept_start=5_000)
    assert {shape: (cost.sent, cost.cacheable) for shape, cost in costs_of(work).items()} == {
        "here": (45_000, 43_000),
        "brief": (5_000, 0),
        "retold": (45_000, 0),
        "quoted": (45_000, 0),
        "replayed": (45_000, 43_000),
        "compact": (25_000, 8_000),
        "hand-off": (45_000, 0),
    }


def test_r78_what_has_to_be_found_out_again_also_takes_its_trips() -> None:
    """The same fresh tokens as when the request repeats it, in requests that each wait for the one before."""
    work = Work(history=40_000, task=2_000, trips=8)
    found_out, repeated = cost_of("retold", work), cost_of("retold", EXAMPLE)
    assert found_out.fresh == repeated.fresh == 42_000
    assert found_out.cached > 0
    pace = Pace()
    assert found_out.seconds - repeated.seconds == pytest.approx(
        8 * (pace.request + pace.tool) + found_out.cached / pace.cached
    )
    assert cost_of("replayed", work) == cost_of("replayed", EXAMPLE)


def test_r78_branches_at_once_take_as_long_as_the_slowest_and_cost_as_much_as_all() -> None:
    """A fan-out buys time, not tokens."""
    parts = [cost_of("brief", Work(history=40_000, task=2_000, output=output)) for output in (100, 900, 200)]
    together, serial = at_once(parts), in_turn(parts)
    assert together.seconds == parts[1].seconds
    assert serial.seconds == pytest.approx(sum(part.seconds for part in parts))
    assert (together.fresh, together.price) == (serial.fresh, serial.price) == (6_000, 6_000 + 5 * 1_200)
    assert at_once([]) == in_turn([])


def test_r78_equal_children_run_at_once_and_parts_done_here_in_turn() -> None:
    """Here, each part has what the one before added in front of it."""
    one, three = (Work(history=40_000, task=2_000, output=500, children=children) for children in (1, 3))
    assert cost_of("replayed", three).seconds == cost_of("replayed", one).seconds
    assert cost_of("replayed", three).fresh == 3 * cost_of("replayed", one).fresh
    here = cost_of("here", three)
    assert here.sent == 42_000 + 44_500 + 47_000
    assert here.fresh == 2_000 + 2_500 + 2_500
    assert (here.grows, cost_of("replayed", three).grows) == (7_500, 1_500)


def test_r78_children_of_one_kind_share_a_start_only_if_one_was_answered_before() -> None:
    """Quoted, they share the section; cold, their instructions."""
    work = Work(history=40_000, task=2_000, instructions=3_000)
    assert {shape: cost_of(shape, work, warm=True).cacheable for shape in SHAPES} == {
        "here": 43_000,
        "brief": 3_000,
        "retold": 3_000,
        "quoted": 43_000,
        "replayed": 43_000,
        "compact": 43_000,
        "hand-off": 43_000,
    }


def test_r78_a_price_is_what_each_kind_of_token_costs() -> None:
    """Read from the cache, fresh, put into it for the next request, written."""
    work = Work(history=1_000, task=100, output=10, requests=2, found=50)
    cost = cost_of("replayed", work, prices=Prices(fresh=1, cached=0.1, written=1.25, output=5))
    # First: 1,000 from the cache, 100 put in. Second: those 1,100 from the cache, 10 written before and 50 found fresh.
    assert (cost.cached, cost.fresh, cost.put, cost.output) == (2_100, 160, 100, 20)
    assert cost.price == pytest.approx(2_100 * 0.1 + 60 + 100 * 1.25 + 20 * 5)
    assert cost_of("replayed", work, prices=Prices(cached=1, written=1)).price == 2_260 + 100


def test_r78_time_is_reading_writing_and_what_every_request_takes() -> None:
    """All by rates that the caller may replace."""
    pace = Pace(prefill=100, cached=1_000, output=10, request=2, tool=3)
    work = Work(history=1_000, task=100, output=10, requests=2, found=50)
    assert cost_of("replayed", work, pace=pace).seconds == pytest.approx(2 * 2 + 3 + 1.6 + 2.1 + 2)


@given(
    shape=st.sampled_from(SHAPES),
    history=st.integers(0, 10**6),
    task=st.integers(0, 10**5),
    instructions=st.integers(0, 10**5),
    output=st.integers(0, 10**4),
    found=st.integers(0, 10**4),
    requests=st.integers(1, 6),
    children=st.integers(1, 4),
    trips=st.integers(0, 5),
    hit=st.booleans(),
    warm=st.booleans(),
)
def test_r78_every_token_sent_is_either_fresh_or_read_from_the_cache(
    shape: Shape, hit: bool, warm: bool, **counts: int
) -> None:
    """And a hit never costs more tokens, nor does one more assumption of it."""
    work = Work(**counts)
    cost = cost_of(shape, work, hit=hit, warm=warm)
    assert cost.sent == cost.cached + cost.fresh
    assert 0 <= cost.put <= cost.fresh
    assert 0 <= cost.cached <= cost.cacheable <= cost.sent
    assert cost.fresh <= cost_of(shape, work, hit=False).fresh
    assert cost_of(shape, work, warm=True).cacheable >= cost_of(shape, work, warm=False).cacheable


def test_r78_what_makes_no_sense_is_refused() -> None:
    """Before it is priced."""
    with pytest.raises(ValueError, match="0 or more"):
        Work(history=-1, task=0)
    with pytest.raises(ValueError, match="at least one request"):
        Work(history=0, task=0, requests=0)
    with pytest.raises(ValueError, match="at most the history"):
        Work(history=10, task=0, kept=11)
    with pytest.raises(ValueError, match="a shape is one of here, brief"):
        cost_of("warm", EXAMPLE)  # type: ignore[arg-type]
