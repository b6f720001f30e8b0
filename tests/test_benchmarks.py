"""The benchmarks: that each measurement works and says what it should, never how fast anything is.

This file is also a peer: run as a program, it answers as one, so that no real one need be installed.
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from benchmarks import tokens
from benchmarks.__main__ import RESULTS, main
from benchmarks.__main__ import run as measured
from benchmarks.bars import BARS, Bar, judged, ratio
from benchmarks.everything import MEASURES
from benchmarks.figures import UNITS, Figure, write
from benchmarks.loops import conversation
from benchmarks.peers.client import KINDS, Kind, open_peer
from benchmarks.peers.serving import serve
from benchmarks.sampling import Absent, Failed, Measure, Sample, measure, take
from benchmarks.work import Arrivals
from host.conversation import Message
from host.models.port import Request
from host.record import Work
from sandbox.image import Image
from tests.local_model import MISSING

ROOT = Path(__file__).parents[1]
OURS = {figure: unit for item in MEASURES if not item.only_full for figure, unit in item.units.items()}
RUNS = {figure: min(item.runs, 3) for item in MEASURES for figure in item.units}

type Printed = tuple[str, list[dict[str, object]]]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, prog_name="benchmarks")


def figure(name: str, *samples: float, unit: str = "ms") -> Figure:
    return Figure(name=name, unit=unit, samples=samples)


@pytest.fixture(scope="module")
def quick(image: Image, tmp_path_factory: pytest.TempPathFactory) -> Printed:
    """What a quick run of everything prints, and the file that it writes."""
    del image  # built before, so that nobody waits for it here
    file = tmp_path_factory.mktemp("benchmarks") / "results.json"
    command = [sys.executable, "-m", "benchmarks", "--quick", "--no-peers", "--json", str(file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    return done.stdout, json.loads(file.read_text())


class TestTheRun:
    def test_every_figure_is_measured_and_written(self, quick: Printed) -> None:
        """In its unit, and each once."""
        assert {row["name"]: row["unit"] for row in quick[1]} == OURS
        assert len(quick[1]) == len(OURS)

    def test_the_file_is_a_list_of_what_was_promised(self, quick: Printed) -> None:
        """Names, units and numbers, the median between the extremes."""
        for row in quick[1]:
            assert list(row) == ["name", "unit", "median", "min", "max", "runs"]
            low, middle, high = row["min"], row["median"], row["max"]
            assert isinstance(low, float)
            assert isinstance(middle, float)
            assert isinstance(high, float)
            assert 0 < low <= middle <= high
            assert row["runs"] == RUNS[str(row["name"])]

    def test_the_table_has_every_figure_and_says_how_the_bars_were_met(self, quick: Printed) -> None:
        """And under which conditions."""
        lines = quick[0].splitlines()
        assert lines[0].startswith("Branchpoint ")
        for name in OURS:
            ours, _, peer = name.partition("/")
            assert any(line.strip().startswith(f"{peer or ours} ") for line in lines), name
        assert " bars met, " in quick[0]
        assert "Not measured" not in quick[0]


class TestTheCommand:
    def test_help_names_every_measurement(self) -> None:
        """With what is timed."""
        shown = " ".join(run("--help").output.split())
        for item in MEASURES:
            assert f"{item.name} " in shown
            assert item.what[:40] in shown

    def test_a_partial_run_leaves_the_results_alone(self, image: Image) -> None:
        """They are those of whole runs."""
        before = RESULTS.read_bytes() if RESULTS.exists() else None
        result = run("--only", "dispatch", "--no-peers")
        assert (result.exit_code, "dispatch" in result.output) == (0, True)
        assert (RESULTS.read_bytes() if RESULTS.exists() else None) == before

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (("--quick", "--full"), "--quick and --full exclude each other."),
            (("--only", "speed"), "'speed' is not one of"),
        ],
    )
    def test_bad_usage_is_a_sentence(self, arguments: tuple[str, ...], sentence: str) -> None:
        """And exit code 2."""
        result = run(*arguments)
        assert result.exit_code == 2
        assert sentence in result.output

    def test_a_file_that_cannot_be_written_is_a_sentence(self, image: Image, tmp_path: Path) -> None:
        """After the table, which is not lost."""
        result = run("--only", "dispatch", "--no-peers", "--json", str(tmp_path / "nowhere" / "results.json"))
        assert result.exit_code == 1
        assert "dispatch" in result.output
        assert "No such file or directory" in result.output


class TestFigures:
    def test_samples_are_brought_to_the_unit(self) -> None:
        """Seconds and bytes to what is shown."""
        assert Figure.of("x", "ms", [0.002, 0.004]).samples == (2.0, 4.0)
        assert Figure.of("x", "us", [0.5]).median == 500_000
        assert Figure.of("x", "MB", [1_500_000]).median == 1.5

    def test_what_is_written(self, tmp_path: Path) -> None:
        """The median of an even number of samples lies between the two in the middle."""
        file = tmp_path / "results.json"
        write([figure("a", 4.0, 1.0, 2.0, 8.0), figure("a/peer", 1 / 3)], file)
        assert json.loads(file.read_text()) == [
            {"name": "a", "unit": "ms", "median": 3.0, "min": 1.0, "max": 8.0, "runs": 4},
            {"name": "a/peer", "unit": "ms", "median": 0.333333, "min": 0.333333, "max": 0.333333, "runs": 1},
        ]

    def test_without_samples_there_is_no_figure(self) -> None:
        """Nothing is made up."""
        with pytest.raises(ValueError, match="no sample of a"):
            figure("a")

    def test_the_cost_of_a_trip_is_the_time_between_arrivals(self) -> None:
        """The cell's own start, before the first call, is not in it; a missing call is noticed."""
        arrivals = Arrivals()
        arrivals._at = [10.0, 10.5, 12.0, 12.5, 14.0, 14.5]
        assert arrivals.each(2, of=2) == 1.0
        assert arrivals.each(5) == 0.9
        with pytest.raises(ValueError, match="6 calls arrived, and 8 were made"):
            arrivals.each(7)


class TestBars:
    def test_a_ratio_is_that_of_two_medians(self) -> None:
        """Ours to theirs; one slow sample does not change it."""
        assert ratio(figure("a", 1.0, 2.0, 900.0), figure("a/peer", 8.0)) == 0.25

    def test_two_units_have_no_ratio(self) -> None:
        """It would mean nothing."""
        with pytest.raises(ValueError, match="a is in ms, and b in MB"):
            ratio(figure("a", 1.0), figure("b", 1.0, unit="MB"))

    def test_bars_are_met_missed_or_not_judged(self) -> None:
        """Without a peer there is no verdict, rather than a good one."""
        bars = (
            Bar(figure="a", against="a/peer", most=0.5),
            Bar(figure="a", against="a/other", most=0.5),
            Bar(figure="a", most=3.0),
            Bar(figure="a", least=3.0),
            Bar(figure="b", most=3.0),
        )
        found = judged([figure("a", 2.0), figure("a/peer", 4.0)], bars)
        assert [(judgement.value, judgement.met) for judgement in found] == [
            (0.5, True),
            (None, None),
            (2.0, True),
            (2.0, False),
            (None, None),
        ]

    def test_a_bar_has_one_side(self) -> None:
        """Upper or lower."""
        with pytest.raises(ValueError, match="either an upper or a lower one"):
            Bar(figure="a")

    def test_every_bar_is_about_something_that_is_measured(self) -> None:
        """A bar on a misspelled name would never be missed."""
        units = {name: unit for item in MEASURES for name, unit in item.units.items()}
        assert {bar.figure for bar in BARS} <= set(units)
        offered = "\n".join((ROOT / "benchmarks" / "peers" / f"{name}.py").read_text() for name in ("eryx", "monty"))
        for bar in BARS:
            assert bar.against is None or bar.against in units or f'"{bar.against}"' in offered
        assert set(units.values()) <= set(UNITS)


class TestTakingTurns:
    def measured(self, turns: list[str], *, failing: str = "") -> Measure:
        """A measurement of "x" and "y" that notes whose turn it is."""

        def noting(name: str) -> Sample:
            async def sample() -> float:
                turns.append(name)
                if name == failing:
                    raise Failed("no more")
                return len(turns) / 1000

            return sample

        @measure("x", unit="ms", figures=("x", "y"), runs=4, warm=1)
        async def defined(image: Image) -> AsyncIterator[Mapping[str, Sample]]:
            """Nothing."""
            del image
            yield {"x": noting("x"), "y": noting("y")}

        return defined

    async def test_contenders_alternate_and_warm_up(self, image: Image) -> None:
        """Who begins changes with each round, and the first round does not count."""
        turns: list[str] = []
        figures, troubles = await take(self.measured(turns), image)
        assert turns == ["x", "y", "y", "x", "x", "y", "y", "x", "x", "y"]
        assert {found.name: tuple(map(round, found.samples)) for found in figures} == {
            "x": (4, 5, 8, 9),
            "y": (3, 6, 7, 10),
        }
        assert troubles == []

    async def test_what_fails_of_ours_is_told(self, image: Image) -> None:
        """There is no figure then."""
        with pytest.raises(Failed, match="no more"):
            await take(self.measured([], failing="y"), image)

    async def test_a_rival_that_fails_takes_no_other_with_it(self, image: Image) -> None:
        """Its figure is missing, and a sentence says why."""

        class Rival:
            offers = frozenset(("x/rival", "y/rival", "z/rival"))

            async def sample(self, figure: str) -> float:
                if figure == "y/rival":
                    raise Failed("its process ended")
                return 0.5

        figures, troubles = await take(self.measured([]), image, (Rival(),))
        assert [found.name for found in figures] == ["x", "y", "x/rival"]
        assert troubles == ["y/rival: its process ended"]


class TestWhatIsNotInstalled:
    async def test_it_is_left_out_with_a_sentence_and_is_no_trouble(self, image: Image) -> None:
        """The others are measured, and the run is fine."""

        @measure("x", unit="ms", figures=("x",), runs=1, warm=0)
        async def absent(image: Image) -> AsyncIterator[Mapping[str, Sample]]:
            """Nothing."""
            del image

            async def sample() -> float:
                raise Absent("it is not installed")

            yield {"x": sample}

        @measure("y", unit="ms", runs=1, warm=0)
        async def there(image: Image) -> AsyncIterator[Mapping[str, Sample]]:
            """A second."""
            del image

            async def sample() -> float:
                return 1.0

            yield {"y": sample}

        found = await measured(image, [absent, there], peers=False)
        assert [figure.name for figure in found.figures] == ["y"]
        assert found.absences == ["x: it is not installed"]
        assert found.troubles == []


class TestTokens:
    """What a child starts from, counted."""

    TASK = "Look at the north."
    HISTORY = conversation(5)

    def texts(self, messages: tuple[Message, ...]) -> list[str]:
        return [message.text for message in messages]

    def said(self, request: Request) -> int:
        """How many messages of the history stand in a request, wherever."""
        whole = "\n".join([request.system, *self.texts(request.messages)])
        return sum(message.text in whole for message in self.HISTORY)

    async def test_each_start_holds_what_its_name_says(self) -> None:
        """A brief knows nothing, all others know everything; each ends with the task."""
        _, children = await tokens.requests(self.HISTORY, self.TASK)
        assert {shape: self.said(request) for shape, request in children.items()} == {
            "brief": 0,
            "retold": 5,
            "quoted": 5,
            "replayed": 5,
        }
        assert all(request.messages[-1].text.endswith(self.TASK) for request in children.values())

    async def test_r78_only_a_replayed_fork_begins_as_the_caller_did(self) -> None:
        """With the same tools, system text and messages; the others differ in the first word."""
        caller, children = await tokens.requests(self.HISTORY, self.TASK)
        replayed = children["replayed"]
        assert (replayed.tools, replayed.system) == (caller.tools, caller.system)
        assert replayed.messages[: len(caller.messages)] == caller.messages
        starts = {request.system.split()[1] for request in children.values()}
        assert len(starts) == 4

    async def test_names_and_units_tell_what_was_computed_from_what_was_measured(self) -> None:
        """No figure is both."""
        kinds = {"tokens-computed": "tokens (computed)", "tokens-local": "tokens (measured)"}
        for item in (tokens.computed, tokens.local):
            assert set(item.units.values()) == {kinds[item.name]}
            assert all(figure.startswith(f"{item.name}-") for figure in item.units)

    async def test_r78_what_is_computed_is_the_example(self, image: Image) -> None:
        """42,000 fresh tokens cold, 2,000 forked with a hit."""
        figures, _ = await take(tokens.computed, image)
        counts = {figure.name.removeprefix("tokens-computed-"): figure.median for figure in figures}
        assert (counts["retold-fresh"], counts["quoted-fresh"]) == (42_000, 42_000)
        assert (counts["replayed-sent"], counts["replayed-fresh"]) == (42_000, 2_000)
        assert (counts["brief-sent"], counts["brief-fresh"]) == (2_000, 2_000)

    @pytest.mark.skipif(not all(map(importlib.util.find_spec, tokens.PACKAGES)), reason=MISSING)
    async def test_r78_a_server_reports_the_hit(self) -> None:
        """Of a replayed fork, all that the caller sent; of the others, what its template puts before every request."""
        reported = await tokens.reported_locally(Work(history=360, task=24))
        fresh = {shape: usage.input - usage.cached for shape, usage in reported.items()}
        caller = reported["replayed"].input - fresh["replayed"]
        assert caller > reported["retold"].input - reported["brief"].input > 300
        assert fresh["replayed"] < 100
        for shape in ("brief", "retold", "quoted"):
            assert reported[shape].cached < 20
            assert fresh[shape] > reported[shape].input - 20


class TestPeers:
    kind = Kind(module="trio", distribution="trio", served_by="tests.test_benchmarks")

    async def test_a_peer_is_asked_for_one_sample_after_another(self) -> None:
        """In a process of its own, whose guests may print what they like."""
        async with open_peer(self.kind) as peer:
            assert peer.offers == {"call/mine", "string/mine", "rows-in/mine"}
            assert [await peer.sample("call/mine") for _ in range(3)] == [1.0, 2.0, 3.0]

    async def test_what_a_peer_raises_is_told(self) -> None:
        """And it goes on."""
        async with open_peer(self.kind) as peer:
            with pytest.raises(Failed, match="RuntimeError: not today"):
                await peer.sample("string/mine")
            assert await peer.sample("call/mine") == 1.0

    async def test_a_peer_that_dies_is_no_disaster(self) -> None:
        """Peers were seen to abort."""
        async with open_peer(self.kind) as peer:
            with pytest.raises(Failed, match="its process ended"):
                await peer.sample("rows-in/mine")
            with pytest.raises(Failed):
                await peer.sample("call/mine")

    def test_the_known_peers_are_served(self) -> None:
        """Each by a module of ours that can be looked at without it."""
        for kind in KINDS:
            assert (ROOT / f"{kind.served_by.replace('.', '/')}.py").is_file()


@contextmanager
def _mine(count: Iterator[int]) -> Iterator[Mapping[str, Callable[[], float]]]:
    def call() -> float:
        print("from a guest")  # noqa: T201  # as a peer that talks
        return float(next(count))

    def fail() -> float:
        raise RuntimeError("not today")

    yield {"call/mine": call, "string/mine": fail, "rows-in/mine": lambda: os._exit(3)}


if __name__ == "__main__":
    serve(_mine(itertools.count(1)))
