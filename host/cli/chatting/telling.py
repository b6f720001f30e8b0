"""What happens in a conversation, told in lines: the answer as it comes, and beside it, dimly, what is done for it.

Shown is what the conversation and its tasks do. What goes on within a call (how a capability's own agent finds its
answer) is not: its result is, and `/context` shows what it was sent.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final, Literal

from host.cli.chatting.children import Children, exact, titled
from host.events import (
    CallBegan,
    CallEnded,
    Delegated,
    Delivered,
    Event,
    LoopBegan,
    LoopEnded,
    Printed,
    Replied,
    Requested,
    Spoke,
    TaskChanged,
    TurnEnded,
)
from host.models.port import Usage

__all__ = ["Style", "Teller"]

Style = Literal["answer", "dim", "news", "wrong"]

_SHORT: Final = 160
_CODE_LINES: Final = 16
_KEPT: Final = 20  # children whose first request is kept


class Teller:
    """Tells events. `line` is given each whole line with its style, `piece` the pieces of the answer as they come.

    With `shows_context`, what a child is sent is told when it is sent.
    """

    def __init__(
        self, line: Callable[[str, Style], None], piece: Callable[[str], None], *, shows_context: bool = False
    ) -> None:
        self._line, self._piece = line, piece
        self._shows_context = shows_context
        self._loops: dict[str, LoopBegan] = {}
        self._labels: dict[str, str] = {}
        self._spoke = False
        self.children = Children(most=_KEPT)
        self.used: dict[str, Usage] = {}
        self.states: dict[str, str] = {}
        self.failed_turns = 0

    def __call__(self, event: Event) -> None:
        """Tell of one event, if there is anything to tell."""
        self.children(event)
        match event:
            case LoopBegan():
                self._loops[event.loop] = event
            case Requested(number=1) if self._shows_context and not self._is_main(event.loop):
                *_, child = self.children
                self._line(f"{titled(child)}\n{exact(child)}", "dim")
            case Spoke(delta=delta) if self._is_main(event.loop) and delta.kind == "text":
                self._spoke = True
                self._piece(delta.text)
            case Replied():
                self.used[event.loop] = self.used.get(event.loop, Usage()) + event.reply.usage
                if self._is_main(event.loop):
                    self._end_reply(event)
            case CallBegan() if self._is_shown(event.loop):
                self._call(event)
            case CallEnded() if self._is_shown(event.loop):
                self._result(event)
            case Printed() if self._is_shown(event.loop):
                for line in event.text.splitlines():
                    self._line(f"{self._at(event.loop)}| {line}", "dim")
            case Delegated():
                if self._is_shown(event.loop):
                    self._line(f"{self._at(event.loop)}{event.path}: {_passed(event)}", "dim")
            case TaskChanged():
                self._labels[event.loop] = event.task
                self.states[event.task] = event.state
                self._line(f"task {event.task}: {event.state}", "news")
            case Delivered():
                label = self._labels.get(event.loop, event.loop)
                what = _counted(len(event.ids), "new message")
                self._line(f"{label} is given {what}, about {event.tokens:,} tokens", "dim")
            case TurnEnded(how="failed"):
                self._break_off()
                self.failed_turns += 1
                self._line(f"This turn failed. {event.text}", "wrong")
            case TurnEnded(how="cancelled"):
                self._break_off()
                self._line("Interrupted. What was said stays; tasks go on.", "wrong")
            case LoopEnded(how="failed") if event.loop in self._labels:
                self._line(f"task {self._labels[event.loop]}: {event.text}", "wrong")
            case _:
                pass

    def _is_main(self, loop: str) -> bool:
        began = self._loops.get(loop)
        return began is not None and began.kind == "conversation"

    def _is_shown(self, loop: str) -> bool:
        began = self._loops.get(loop)
        return began is not None and began.kind in ("conversation", "task")

    def _at(self, loop: str) -> str:
        """Whose line it is."""
        return "  " if self._is_main(loop) else f"  [{self._labels.get(loop, loop)}] "

    def _end_reply(self, event: Replied) -> None:
        if not self._spoke and event.reply.text:
            self._piece(event.reply.text)
        if self._spoke or event.reply.text:
            self._piece("\n")
        self._spoke = False

    def _break_off(self) -> None:
        """What was being said when a turn ended is over."""
        if self._spoke:
            self._piece("\n")
        self._spoke = False

    def _call(self, event: CallBegan) -> None:
        call = event.call
        code = _code(call.arguments) if call.name == "run_code" else None
        if code is None:
            self._line(f"{self._at(event.loop)}\u2192 {call.name} {_short(call.arguments)}", "dim")
            return
        lines = code.splitlines()
        self._line(f"{self._at(event.loop)}\u2192 {call.name}", "dim")
        for line in lines[:_CODE_LINES]:
            self._line(f"{self._at(event.loop)}  {line}", "dim")
        if len(lines) > _CODE_LINES:
            self._line(f"{self._at(event.loop)}  ({len(lines) - _CODE_LINES} more lines)", "dim")

    def _result(self, event: CallEnded) -> None:
        mark = "failed: " if event.failed else ""
        text = f"{self._at(event.loop)}\u2190 {event.call.name} ({event.seconds:.1f} s) {mark}{_short(event.text)}"
        self._line(text, "wrong" if event.failed else "dim")


def _passed(event: Delegated) -> str:
    by = {"call": "by choice", "default": "by default", "policy": "by policy", "run": "as its run is cold"}
    if event.context == "cold":
        return f"cold ({by[event.chooser]})"
    return f"fork of about {event.inherited.tokens:,} tokens ({by[event.chooser]})"


def _code(arguments: str) -> str | None:
    try:
        given = json.loads(arguments)
    except ValueError:
        return None
    code = given.get("code") if isinstance(given, dict) else None
    return code if isinstance(code, str) else None


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _SHORT else f"{flat[: _SHORT - 1]}\u2026"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
