"""The main job, on the command line: forked, the right thing is sent to the right person; cold, nothing is."""

from __future__ import annotations

from pathlib import Path

import pytest

from host.samples import SAMPLES
from sandbox.image import Image
from tests.cli_command import Command, addressed, attached, mails, of

SENT = {
    "board": ("sarah.chen@halden-bikes.example", ["weekly-metrics-2025-w19.md"], "Weekly metrics report, week 19"),
    "clinic": ("s.adeyemi@animal-hospital-lund.example", ["xray-report-bruno.md"], "X-ray report: Bruno, left knee"),
    "renovation": ("tom@hagen-joinery.example", [], "Your offer: Kitchen in beech"),
}
SAID = {
    "board": "metrics/weekly-metrics-2025-w19.md -> Sarah Chen <sarah.chen@halden-bikes.example>",
    "clinic": "letters/xray-report-bruno.md -> Dr. Sarah Adeyemi <s.adeyemi@animal-hospital-lund.example>",
    "renovation": "offers/offer-kitchen-beech.md (Total: 9,200 euro) -> Tom Hagen",
}
OPEN = {"board": "the report", "clinic": "the report", "renovation": "the offer"}


@pytest.fixture
def command(image: Image, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.chdir(tmp_path)
    return Command(tmp_path)


@pytest.mark.parametrize("name", list(SAMPLES))
def test_forked_the_right_thing_goes_to_the_right_person(command: Command, name: str) -> None:
    """What "the report" and "Sarah" mean is in the conversation alone; the mail lies in the Maildir."""
    sample = SAMPLES[name]
    result = command("run", sample.code, *of(sample), "--thread", sample.thread, "--outbox", "out")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith(f"{SAID[name]}\n")
    (mail,) = mails(command.folder / "out")
    assert (addressed(mail), attached(mail), str(mail["Subject"])) == SENT[name]


@pytest.mark.parametrize("name", list(SAMPLES))
def test_an_attachment_is_the_file_itself(command: Command, name: str) -> None:
    """Byte for byte."""
    sample = SAMPLES[name]
    command("run", sample.code, *of(sample), "--thread", sample.thread, "--outbox", "out")
    (mail,) = mails(command.folder / "out")
    for part in mail.iter_attachments():
        (original,) = sample.files.rglob(str(part.get_filename()))
        assert part.get_payload(decode=True) == original.read_bytes()


@pytest.mark.parametrize("options", [["--context", "cold"], []], ids=["cold", "without a thread"])
@pytest.mark.parametrize("name", list(SAMPLES))
def test_cold_the_call_says_that_it_cannot_tell_and_nothing_is_sent(
    command: Command, name: str, options: list[str]
) -> None:
    """The same files, the same code."""
    sample = SAMPLES[name]
    thread = ["--thread", str(sample.thread)] if options else []
    result = command("run", sample.code, *of(sample), *thread, *options, "--outbox", "out")
    assert (result.exit_code, result.stdout) == (1, "")
    assert f'NeedsClarification: Which one is meant by "{OPEN[name]}"? Options: ' in result.stderr
    assert mails(command.folder / "out") == []


@pytest.mark.parametrize("name", list(SAMPLES))
def test_the_demo_shows_both_side_by_side(command: Command, name: str) -> None:
    """With the code, the end of the conversation, what was sent and what was asked."""
    sample = SAMPLES[name]
    before = command.tree()
    result = command("demo", "--sample", name)
    assert (result.exit_code, result.stderr) == (0, "")
    shown = result.stdout
    assert sample.code.read_text().splitlines()[1] in shown
    assert "─ forked ─" in shown
    assert "─ cold ─" in shown
    assert shown.count("NeedsClarification: ") == 1
    assert shown.count("Nothing was sent.") == 1
    assert shown.count("Subject: ") == 1
    assert {path for path in command.tree() - before if not path.startswith(".cache")} == set()


def test_the_demo_shows_board_unless_told_otherwise(command: Command) -> None:
    """It is the sample of the README."""
    result = command("demo")
    assert result.exit_code == 0
    assert "bike-sharing" in result.stdout


def test_the_demo_can_show_what_each_child_was_sent(command: Command) -> None:
    """The forked ones read the conversation, the cold one reads its own instructions alone."""
    result = command("demo", "--show-context")
    assert result.exit_code == 0
    shown, title, cold = result.stdout.partition("send_report.py asked search for 'the report' (cold: ")
    assert title
    for asked in ("asked search for 'the report'", 'asked contacts for "Sarah\'s address"'):
        assert f"send_report.py {asked} (fork, quoted: 12 messages, about " in shown
    text = SAMPLES["board"].thread.read_text()
    assert shown.count("churn") == 3 * text.count("churn") - 1  # one is too early to show
    assert "You look after" in cold
    assert "churn" not in cold


@pytest.mark.parametrize("name", list(SAMPLES))
def test_the_demo_of_a_task_sends_it_by_a_chain_of_forks(command: Command, name: str) -> None:
    """The task goes on from the conversation's own messages, and its questions inherit both."""
    result = command("demo", "--task", "--sample", name)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "assistant asked assistant for 'Send the " in result.stdout
    assert "(fork, replayed: " in result.stdout
    assert result.stdout.count("(fork, quoted: ") == 2
    assert f"To: {SENT[name][0]}" in result.stdout


def test_the_demo_of_a_task_can_show_what_each_child_was_sent(command: Command) -> None:
    """The questions of the task read the person's conversation, and below it the task's own work."""
    result = command("demo", "--task", "--show-context")
    _, _, sent = result.stdout.partition('assistant asked contacts for "Sarah\'s address"')
    assert "--- Layer 1: the conversation with the outer user" in sent
    assert '--- Layer 2: the work of "assistant"' in sent
