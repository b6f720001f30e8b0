"""A conversation through pipes: lines in, answers out, and the exit codes of the other commands."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from host.conversation import Conversation
from host.record import Record
from host.samples import SAMPLES
from sandbox.image import Image
from tests.cli_command import Command, addressed, attached, mails, of

BOARD = SAMPLES["board"]


@pytest.fixture
def command(image: Image, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    return Command(tmp_path)


def script(command: Command, *replies: object) -> list[str]:
    """The options for a model that gives these replies."""
    command.write("script.jsonl", "\n".join(map(json.dumps, replies)))
    return ["--model", "scripted:script.jsonl"]


class TestLexical:
    def test_a_line_is_answered_by_a_line(self, command: Command) -> None:
        """From the contacts, plainly."""
        result = command("chat", *of(BOARD), stdin="What is Per Aune's address?\n")
        assert (result.exit_code, result.stderr) == (0, "")
        assert result.stdout == "The email of Per Aune is per@aune-holding.example.\n"

    def test_what_was_said_settles_what_is_meant(self, command: Command) -> None:
        """The earlier conversation knows which report and which Sarah; the mail lies in the outbox."""
        options = [*of(BOARD), "--thread", str(BOARD.thread), "--outbox", "out"]
        result = command("chat", *options, stdin="Send the report to Sarah")
        assert result.exit_code == 0
        assert result.stdout.startswith("Done by outbox_send: to sarah.chen@halden-bikes.example, ")
        (mail,) = mails(command.folder / "out")
        assert (addressed(mail), attached(mail)) == (
            "sarah.chen@halden-bikes.example",
            ["weekly-metrics-2025-w19.md"],
        )

    def test_a_question_back_is_answered_on_the_next_line(self, command: Command) -> None:
        """Nothing is sent before it is."""
        said = "Send the weekly metrics to Sarah\nthe one in finance\n"
        result = command("chat", *of(BOARD), "--outbox", "out", stdin=said)
        asked, _, done = result.stdout.partition("Done by")
        assert asked.startswith('Which one is meant by "Sarah\'s address"?\n1. Sarah ')
        assert "sarah.chen@halden-bikes.example" in done
        assert len(mails(command.folder / "out")) == 1

    def test_at_the_end_of_the_input_tasks_are_waited_for(self, command: Command) -> None:
        """And their results are told."""
        options = [*of(BOARD), "--thread", str(BOARD.thread), "--outbox", "out"]
        result = command("chat", *options, stdin="In the background, send the report to Sarah\n")
        assert "I have started a task" in result.stdout
        assert "The task send_the_report_to_sarah__1 has finished." in result.stdout
        assert len(mails(command.folder / "out")) == 1

    def test_a_sample_brings_all_that_it_needs(self, command: Command) -> None:
        """Its outbox is gone with the conversation."""
        before = command.tree()
        result = command("chat", "--sample", "renovation", stdin="Send the offer to Tom\n/context\n")
        assert "to tom@hagen-joinery.example, subject Kitchen in beech" in result.stdout
        assert "assistant asked search for 'the offer' (fork, quoted: " in result.stdout
        assert {path for path in command.tree() - before if not path.startswith((".cache", ".state"))} == set()

    def test_r07_under_the_policy_never_all_is_cold(self, command: Command) -> None:
        """So what the conversation knows does not help."""
        options = ["--sample", "board", "--policy", "never"]
        result = command("chat", *options, stdin="Send the report to Sarah\n/context\n")
        assert "Which one is meant by" in result.stdout
        assert result.stdout.count("(cold: nothing was passed on)") == 2


class TestTurns:
    def test_only_answers_are_printed(self, command: Command) -> None:
        """What is done for them is not, and no colours."""
        replies = [{"text": "one", "calls": [{"name": "nothing"}]}, {"text": "two"}]
        result = command("chat", *script(command, *replies), stdin="go\n")
        assert (result.exit_code, result.stdout, result.stderr) == (0, "one\ntwo\n", "")

    def test_a_turn_that_fails_is_told_and_the_conversation_goes_on(self, command: Command) -> None:
        """On standard error, and the exit code is 1."""
        result = command("chat", *script(command, {"for": "good", "text": "fine"}), stdin="bad\ngood\n")
        assert (result.exit_code, result.stdout) == (1, "fine\n")
        assert result.stderr.startswith("branchpoint: This turn failed. ModelError: The script has no reply to 'bad")
        assert "Traceback" not in result.stderr

    def test_blank_lines_say_nothing(self, command: Command) -> None:
        """An empty input is an empty conversation."""
        assert command("chat", *script(command), stdin="\n  \n").output == ""

    def test_ctrl_c_ends_it(self, command: Command) -> None:
        """With 130 and one sentence, as everywhere."""
        os.mkfifo(command.folder / "gate")
        options = script(command, {"text": ["begun\n", {"gate": "gate"}, "never"]})
        with command.start("chat", *options) as process:
            assert process.stdin
            assert process.stdout
            assert process.stderr
            process.stdin.write("go\n")
            process.stdin.flush()
            assert process.stdout.readline() == "begun\n"
            process.send_signal(signal.SIGINT)
            assert process.wait() == 130
            assert process.stderr.read() == "branchpoint: interrupted.\n"

    def test_ctrl_c_ends_it_while_it_waits_for_a_line(self, command: Command) -> None:
        """Nothing is left that holds the process."""
        with command.start("chat", *script(command, {"text": "here"})) as process:
            assert process.stdin
            assert process.stdout
            assert process.stderr
            process.stdin.write("go\n")
            process.stdin.flush()
            assert process.stdout.readline() == "here\n"
            process.send_signal(signal.SIGINT)
            assert process.wait() == 130
            assert process.stderr.read() == "branchpoint: interrupted.\n"


class TestOrders:
    def test_help_lists_them(self, command: Command) -> None:
        """All that there are."""
        shown = command("chat", stdin="/help\n").stdout
        names = ["tasks", "ask", "tell", "pause", "resume", "stop", "task", "context", "usage", "save", "help", "quit"]
        assert [name for name in names if f"/{name}" not in shown] == []

    @pytest.mark.parametrize(
        ("line", "sentence"),
        [
            ("/dance", "There is no /dance. /help lists what there is."),
            ("/stop sheep", "There is no task 'sheep'. /tasks lists them."),
            ("/ask", "Say which task, and what you ask. /tasks lists them."),
            ("/task", "Say what the task is to do: /task [cold] REQUEST."),
            ("/save", "Say where: /save FILE."),
        ],
    )
    def test_an_order_that_cannot_be_followed_is_a_sentence(self, command: Command, line: str, sentence: str) -> None:
        """On standard error; the exit code is 1."""
        result = command("chat", stdin=f"{line}\n")
        assert (result.exit_code, result.stdout, result.stderr) == (1, "", f"branchpoint: {sentence}\n")

    def test_a_task_is_started_by_hand(self, command: Command) -> None:
        """Its result is told by a turn of its own."""
        replies = [{"for": "has finished", "text": "It was 12."}, {"for": "count", "text": "12"}]
        result = command("chat", *script(command, *replies), stdin="/task cold count the sheep\n")
        assert (result.exit_code, result.stdout) == (0, "Started count_the_sheep__1.\nIt was 12.\n")

    def test_what_follows_quit_is_not_read(self, command: Command) -> None:
        """The conversation is over."""
        assert command("chat", *script(command), stdin="/quit\nhello\n").output == ""

    def test_usage_counts_all_that_was_started(self, command: Command) -> None:
        """A model without a provider uses nothing."""
        assert command("chat", stdin="/usage\n").stdout.splitlines() == [
            "conversation: 0 tokens in, 0 out",
            "with all that it started: 0 tokens in, 0 out",
        ]

    def test_what_was_saved_can_be_gone_on_with(self, command: Command) -> None:
        """By --thread; a file that is there is not overwritten."""
        first = command("chat", *script(command, {"text": "Hello."}), stdin="Hi.\n/save talk.json\n/save talk.json\n")
        assert first.stdout == "Hello.\nSaved 2 messages in talk.json.\n"
        assert first.stderr == "branchpoint: talk.json exists already, and is not overwritten.\n"
        thread = Conversation.load(command.folder / "talk.json")
        assert [(message.role, message.text) for message in thread] == [("user", "Hi."), ("assistant", "Hello.")]
        options = [*script(command, {"text": "Again."}), "--thread", "talk.json"]
        again = command("chat", *options, stdin="And?\n/save more.json\n")
        assert again.stdout == "Again.\nSaved 4 messages in more.json.\n"


class TestInput:
    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            (["--model", "gpt"], "'gpt' names no model"),
            (["--model", "lexical", "--base-url", "http://x"], "lexical runs here"),
            (["--model", "openai:gpt-5"], "OPENAI_API_KEY"),
            (["--model", "anthropic:claude"], "ANTHROPIC_API_KEY"),
            (["--thread", "none.json"], "none.json: No such file or directory."),
            (["--contacts", "none.vcf"], "none.vcf"),
            (["--image", "none"], "none"),
        ],
        ids=["model", "address", "key", "other key", "thread", "contacts", "image"],
    )
    def test_bad_input_is_one_sentence(self, command: Command, options: list[str], sentence: str) -> None:
        """And exit code 2, before anything is said."""
        result = command("chat", *options, stdin="hello\n")
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.startswith("branchpoint: ")
        assert sentence in result.stderr
        assert result.stderr.count("\n") == 1

    def test_a_server_that_is_not_there_is_told_at_once(self, command: Command) -> None:
        """Not when something was said already."""
        options = ["--model", "openai:local", "--base-url", "http://127.0.0.1:9/v1"]
        result = command("chat", *options, stdin="hello\n")
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr == "branchpoint: the server http://127.0.0.1:9/v1 cannot be reached.\n"

    def test_a_run_can_be_recorded(self, command: Command) -> None:
        """Into a new file."""
        options = [*script(command, {"text": "Hello."}), "--record", "run.jsonl"]
        assert command("chat", *options, stdin="Hi.\n").exit_code == 0
        names = [type(event).__name__ for event in Record.load(command.folder / "run.jsonl")]
        assert names[:4] == ["RunBegan", "LoopBegan", "Requested", "Replied"]
        again = command("chat", *options, stdin="Hi.\n")
        assert (again.exit_code, again.stdout) == (2, "")
        assert "run.jsonl exists" in again.stderr

    def test_agents_of_a_file_talk_and_its_mistakes_are_told_with_their_place(self, command: Command) -> None:
        """With the places that the file names; a mistake is one of the file's, by line and key."""
        sample = SAMPLES["board"]
        places = f"{{contacts: {sample.contacts}, search: {sample.files}, outbox: out}}"
        text = (
            "agents:\n  desk:\n    instructions: You are the desk.\n    model: lexical\n"
            f"    capabilities: [contacts, search, outbox]\ncapabilities: {places}\n"
        )
        file = command.write("agents.yaml", text)
        result = command("chat", "--agents", file, "--thread", sample.thread, stdin="Send the report to Sarah\n")
        assert (result.exit_code, result.stderr) == (0, "")
        assert [addressed(mail) for mail in mails(command.folder / "out")] == ["sarah.chen@halden-bikes.example"]
        command.write("agents.yaml", text.replace("model:", "modle:"))
        result = command("chat", "--agents", file)
        assert result.exit_code == 2
        assert "agents.yaml:4" in result.stderr
        assert "model" in result.stderr

    def test_the_help_teaches_by_examples(self, command: Command) -> None:
        """And hides what is for tests."""
        shown = command("chat", "--help").stdout
        assert "branchpoint chat --sample board" in shown
        assert "scripted" not in shown
