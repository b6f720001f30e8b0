"""The lines that begin with "/": what the person does beside talking. Each gives back words to show.

A task is named by its label, by a part of it that begins no other label, or by its number.
"""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final

from host.cli.chatting.children import exact, titled
from host.cli.chatting.telling import Teller
from host.errors import CapabilityError, HostError
from host.loop import Dialogue, Task
from host.models.port import Request, Usage

__all__ = ["HELP", "Leave", "Orders"]

HELP: Final = """\
/tasks                 what runs beside this conversation, and what has ended
/ask LABEL QUESTION    ask about a task; it goes on undisturbed
/tell LABEL TEXT       say something to a task; what is new here goes along, if it forked
/pause LABEL  /resume LABEL  /stop LABEL
/task [cold] REQUEST   start a task by hand
/context [NUMBER]      what the last children were sent; with a number, all of it
/usage                 tokens so far, of the conversation and of what it started
/save FILE             write the conversation to a file that --thread can read
/help, /quit           LABEL may be the beginning of a label, or a task's number"""


class Leave(Exception):
    """The person wants to leave."""


class Wrong(Exception):
    """An order that cannot be followed. The message is a sentence."""


class Orders:
    """Follows orders on a conversation."""

    def __init__(self, dialogue: Dialogue, teller: Teller) -> None:
        self._dialogue, self._teller = dialogue, teller
        self._known: Mapping[str, Callable[[str], Awaitable[str]]] = {
            "tasks": self._tasks,
            "ask": self._ask,
            "tell": self._tell,
            "pause": self._pause,
            "resume": self._resume,
            "stop": self._stop,
            "task": self._task,
            "context": self._context,
            "usage": self._usage,
            "save": self._save,
            "help": self._help,
            "quit": self._quit,
        }

    async def follow(self, line: str) -> tuple[str, bool]:
        """Do what a line says. Gives what to show, and whether it went well. Raises Leave."""
        name, _, rest = line[1:].strip().partition(" ")
        order = self._known.get(name)
        if order is None:
            return f"There is no /{name}. /help lists what there is.", False
        try:
            return await order(rest.strip()), True
        except FileExistsError as error:
            return f"{error.filename} exists already, and is not overwritten.", False
        except OSError as error:
            return f"{error.filename}: {error.strerror}.", False
        except (Wrong, CapabilityError, HostError) as error:
            return str(error), False

    # -- tasks

    async def _tasks(self, _rest: str) -> str:
        tasks = self._dialogue.tasks.all
        if not tasks:
            return "No task was started yet."
        lines = [
            f"{number}. {task.label} ({task.state}{', cold' if task.is_cold else ''}): {task.request}"
            for number, task in enumerate(tasks, 1)
        ]
        return "\n".join(lines)

    def _found(self, rest: str, *, argument: str = "") -> tuple[Task, str]:
        """The task that a line names, and what follows."""
        name, _, text = rest.partition(" ")
        if not name or (argument and not text.strip()):
            raise Wrong(f"Say which task{f', and {argument}' if argument else ''}. /tasks lists them.")
        tasks = self._dialogue.tasks.all
        found = [task for task in tasks if task.label == name]
        if not found and name.isdigit() and 0 < int(name) <= len(tasks):
            found = [tasks[int(name) - 1]]
        found = found or [task for task in tasks if task.label.startswith(name)]
        if not found:
            raise Wrong(f"There is no task {name!r}. /tasks lists them.")
        if len(found) > 1:
            raise Wrong(f"{name!r} may be {' or '.join(task.label for task in found)}.")
        return found[0], text.strip()

    async def _ask(self, rest: str) -> str:
        task, question = self._found(rest, argument="what you ask")
        return f"{task.label}: {await task.ask(question)}"

    async def _tell(self, rest: str) -> str:
        task, text = self._found(rest, argument="what you say")
        task.interject(text)
        return f"{task.label} reads it before its next step."

    async def _pause(self, rest: str) -> str:
        task, _ = self._found(rest)
        task.pause()
        return f"{task.label} holds before its next step."

    async def _resume(self, rest: str) -> str:
        task, _ = self._found(rest)
        task.resume()
        return f"{task.label} goes on."

    async def _stop(self, rest: str) -> str:
        task, _ = self._found(rest)
        task.stop()
        return f"{task.label} is being stopped."

    async def _task(self, rest: str) -> str:
        first, _, more = rest.partition(" ")
        cold = first == "cold" and more.strip() != ""
        request = more.strip() if cold else rest
        if not request:
            raise Wrong("Say what the task is to do: /task [cold] REQUEST.")
        task = self._dialogue.tasks.start(request, context="cold" if cold else "fork")
        return f"Started {task.label}."

    # -- looking

    async def _context(self, rest: str) -> str:
        children = list(self._teller.children)
        if not children:
            return "Nothing was delegated yet."
        if not rest:
            return "\n".join(f"{number}. {titled(child)}" for number, child in enumerate(children, 1))
        if not rest.isdigit() or not 0 < int(rest) <= len(children):
            raise Wrong(f"Say a number from 1 to {len(children)}.")
        child = children[int(rest) - 1]
        return f"{titled(child)}\n{exact(child)}"

    async def _usage(self, _rest: str) -> str:
        own = self._dialogue.usage
        total = Usage()
        for usage in self._teller.used.values():
            total += usage
        return f"conversation: {_shown(own)}\nwith all that it started: {_shown(total)}"

    async def _save(self, rest: str) -> str:
        if not rest:
            raise Wrong("Say where: /save FILE.")
        # The form is that of chat completions, which everything reads; its module brings an SDK along.
        from host.models.openai.chat_request import chat_body

        body = chat_body(Request(system="", messages=self._dialogue.conversation.messages), model="")
        _write(rest, json.dumps({"messages": body["messages"]}, ensure_ascii=False, indent=2))
        return f"Saved {self._dialogue.conversation.length} messages in {rest}."

    async def _help(self, _rest: str) -> str:
        return HELP

    async def _quit(self, _rest: str) -> str:
        raise Leave


def _write(file: str, text: str) -> None:
    """Into a new file that only its owner may read."""
    descriptor = os.open(Path(file).expanduser(), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogatepass") as opened:
        opened.write(text)


def _shown(usage: Usage) -> str:
    cached = "" if usage.cached is None else f" ({usage.cached:,} from the provider's cache)"
    return f"{usage.input:,} tokens in{cached}, {usage.output:,} out"
