"""A conversation on a terminal: text as it comes, a prompt that stays, tasks that are steered by hand, ctrl-C."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from host.samples import SAMPLES
from tests.cli_command import Command
from tests.cli_terminal import Typing, typing

READY = "/help says what can be typed."


@pytest.fixture
def command(tmp_path: Path) -> Command:
    return Command(tmp_path)


def scripted(command: Command, *replies: object, gates: str = "") -> list[str]:
    """The command for a conversation with a model that gives these replies. A reply waits at a gate that it names."""
    for gate in gates.split():
        os.mkfifo(command.folder / gate)
    command.write("script.jsonl", "\n".join(map(json.dumps, replies)))
    return ["chat", "--model", "scripted:script.jsonl"]


def open_gate(command: Command, name: str) -> None:
    """Let the reply go on that waits there; it is waited for, if it does not yet."""
    (command.folder / name).write_text("open")


def prompted(on: Typing) -> None:
    """Wait until the prompt is there."""
    on.until(READY)
    on.until(">")


SHEEP = {"calls": [{"name": "start_task", "arguments": {"request": "count the sheep"}}]}


class TestAnswers:
    def test_text_appears_as_it_comes(self, command: Command) -> None:
        """Before the reply is whole."""
        with typing(command, *scripted(command, {"text": ["Once", {"gate": "g"}, " upon a time."]}, gates="g")) as on:
            prompted(on)
            on.type("tell me")
            on.until("Once")
            assert "upon" not in on.shown
            open_gate(command, "g")
            on.until("Once upon a time.\n")
            on.press("\x04")
            assert on.end() == 0

    def test_what_is_typed_meanwhile_enters_the_turn(self, command: Command) -> None:
        """The prompt stays, and the next reply has heard it."""
        replies = [
            {"for": "hello", "text": ["Slowly", {"gate": "g"}, " said."]},
            {"for": "hurry", "text": "Quick now."},
        ]
        with typing(command, *scripted(command, *replies, gates="g")) as on:
            prompted(on)
            on.type("hello")
            on.until("Slowly")
            on.type("hurry up")
            on.until("> hurry up\n")
            open_gate(command, "g")
            on.until("Slowly said.\n")
            on.until("Quick now.\n")

    def test_what_is_done_is_told_in_short_lines(self, command: Command) -> None:
        """Calls with their outcome, and delegations with what they start from."""
        sample = SAMPLES["board"]
        options = ["--contacts", str(sample.contacts), "--thread", str(sample.thread)]
        with typing(command, "chat", *options) as on:
            on.until("lexical, with contacts. ")
            prompted(on)
            on.type("What is Sarah's address?")
            on.until('\u2192 contacts_ask {"question": "What is Sarah\'s address?"}')
            assert re.search(r"contacts\.ask: fork of about \d+ tokens \(by default\)\n", on.until("default)\n"))
            on.until("\u2190 contacts_ask (")
            on.until("The email of Sarah Chen is sarah.chen@halden-bikes.example.\n")

    def test_what_children_are_sent_can_be_shown(self, command: Command) -> None:
        """When it is sent."""
        sample = SAMPLES["board"]
        options = ["--contacts", str(sample.contacts), "--show-context"]
        with typing(command, "chat", *options) as on:
            prompted(on)
            on.type("What is Per Aune's address?")
            on.until("assistant asked contacts for ")
            on.until("You look after a person's contacts.")
            on.until("outer user:")

    def test_a_model_cannot_command_the_terminal(self, command: Command) -> None:
        """What could is shown as an escape."""
        with typing(command, *scripted(command, {"text": "a\x1b]0;title\x07b"})) as on:
            prompted(on)
            on.type("go")
            on.until("a\\x1b]0;title\\x07b\n")


class TestInterrupts:
    def test_ctrl_c_ends_the_turn_and_not_the_program(self, command: Command) -> None:
        """The next one goes on from there."""
        replies = [{"for": "hello", "text": ["Slowly", {"gate": "g"}]}, {"for": "again", "text": "Here."}]
        with typing(command, *scripted(command, *replies, gates="g")) as on:
            prompted(on)
            on.type("hello")
            on.until("Slowly")
            on.press("\x03")
            on.until("Interrupted.")
            on.type("again")
            on.until("Here.\n")

    def test_ctrl_c_at_rest_says_how_to_leave(self, command: Command) -> None:
        """And ctrl-D leaves, with the terminal as it was."""
        with typing(command, *scripted(command)) as on:
            prompted(on)
            on.press("\x03")
            on.until("Ctrl-D or /quit leaves.\n")
            assert not on.echoes
            on.press("\x04")
            assert on.end() == 0
            assert on.echoes

    def test_quit_leaves_while_a_task_runs(self, command: Command) -> None:
        """It ends with the conversation."""
        replies = [SHEEP, {"for": "start_task", "text": "Started."}, {"for": "count", "text": [{"gate": "g"}]}]
        with typing(command, *scripted(command, *replies, gates="g")) as on:
            prompted(on)
            on.type("go")
            on.until("Started.")
            on.type("/quit")
            assert on.end() == 0

    def test_a_turn_that_fails_is_told_in_a_sentence(self, command: Command) -> None:
        """And the conversation goes on."""
        with typing(command, *scripted(command, {"for": "good", "text": "Fine."})) as on:
            prompted(on)
            on.type("bad")
            on.until("This turn failed. ModelError: The script has no reply to ")
            on.type("good")
            on.until("Fine.\n")
            assert "Traceback" not in on.shown


class TestTasks:
    def test_a_task_is_shown_while_it_runs_and_its_result_announced(self, command: Command) -> None:
        """In the line below the prompt, and by a turn of its own."""
        replies = [
            SHEEP,
            {"for": "start_task", "text": "Started."},
            {"for": "has finished", "text": "It counted 12."},
            {"for": "count the sheep", "text": [{"gate": "g"}, "12"]},
        ]
        with typing(command, *scripted(command, *replies, gates="g")) as on:
            prompted(on)
            on.type("go")
            on.until("task count_the_sheep__1: running\n")
            on.until("1 count_the_sheep__1 running")
            open_gate(command, "g")
            on.until("task count_the_sheep__1: finished\n")
            on.until("It counted 12.\n")

    def test_a_running_task_is_steered_by_hand(self, command: Command) -> None:
        """By its number or the beginning of its label; the prompt stays usable all the while."""
        replies = [
            SHEEP,
            {"for": "start_task", "text": "Started."},
            {"for": "how many", "text": "Seven so far."},
            {"for": "the black ones", "text": [{"gate": "h"}, "3"]},
            {"for": "has been stopped", "text": "All right."},
            {"for": "count the sheep", "text": [{"gate": "g"}, "12"]},
        ]
        with typing(command, *scripted(command, *replies, gates="g h")) as on:
            prompted(on)
            on.type("go")
            on.until("Started.\n")
            on.type("/tasks")
            on.until("1. count_the_sheep__1 (running): count the sheep\n")
            on.type("/ask count how many?")
            on.until("count_the_sheep__1: Seven so far.\n")
            on.type("/pause 1")
            on.until("count_the_sheep__1 holds before its next step.\n")
            on.until("1 count_the_sheep__1 paused")
            on.type("/tell 1 only the black ones")
            on.until("count_the_sheep__1 reads it before its next step.\n")
            on.type("/resume 1")
            on.until("count_the_sheep__1 goes on.\n")
            open_gate(command, "g")
            on.until("count_the_sheep__1 is given ")
            on.type("/stop 1")
            on.until("task count_the_sheep__1: stopped\n")
            on.until("All right.\n")

    def test_r05_a_task_that_is_started_cold_by_hand_is_sent_the_request_alone(self, command: Command) -> None:
        """As `/context` shows to the letter."""
        replies = [
            {"for": "hello", "text": "Hi."},
            {"for": "has finished", "text": "Counted."},
            {"for": "count", "text": "12"},
        ]
        with typing(command, *scripted(command, *replies)) as on:
            prompted(on)
            on.type("hello")
            on.until("Hi.\n")
            on.type("/task cold count the sheep")
            on.until("Counted.\n")
            on.type("/context 1")
            shown = on.until("user: count the sheep\n")
            assert "assistant asked assistant for 'count the sheep' (cold: nothing was passed on)" in shown
            assert "hello" not in shown
