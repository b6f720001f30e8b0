"""What the page shows, as JSON data: the rows of the graph, and for each what can be read about it.

Every message, text and tool is there once, however many requests hold it, and is referred to by its number. Requests
list their messages as ranges of numbers, since each holds what the one before it held.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Final

from host.context.section import begin_line, end_line
from host.conversation import (
    Elsewhere,
    Media,
    Message,
    Opaque,
    Part,
    Refusal,
    Summary,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from host.events import Delegated
from host.graph.rows import Row, choice_words, rows, tokens
from host.graph.run import Ask, Branch, Fork, Note, Run, Strand, Use, name_of
from host.models.port import ToolSpec, Usage

__all__ = ["contents"]

_LABEL: Final = 240
_BEGIN: Final = re.compile(re.escape(begin_line("NONCE")).replace("NONCE", "([0-9a-z]{8,64})"))


def contents(run: Run, *, source: str, form: str, unknown: frozenset[str]) -> dict[str, object]:
    """All that the page needs."""
    kept = _Kept()
    listed = [_row(run, row, kept) for row in rows(run)]
    return {
        "source": source,
        "form": form,
        "unknown": sorted(unknown),
        "seconds": _number(run.seconds),
        "tokens": tokens(run.loops.total),
        "tools": run.tools,
        "rows": listed,
        "messages": kept.messages,
        "specs": kept.specs,
    }


class _Kept:
    """What is there once."""

    def __init__(self) -> None:
        self.messages: list[dict[str, object]] = []
        self.specs: list[dict[str, object]] = []
        self._messages: dict[Message, int] = {}
        self._seen: dict[int, tuple[Message, int]] = {}  # by identity, as the same objects come again and again
        self._specs: dict[int, tuple[ToolSpec, int]] = {}

    def message(self, message: Message) -> int:
        known = self._seen.get(id(message))
        if known is not None:
            return known[1]
        number = self._messages.get(message)
        if number is None:
            number = self._messages[message] = len(self.messages)
            self.messages.append(_message(message))
        self._seen[id(message)] = message, number
        return number

    def ranges(self, messages: Iterable[Message]) -> list[list[int]]:
        """Messages as ranges of numbers, the last of each included."""
        found: list[list[int]] = []
        for message in messages:
            number = self.message(message)
            if found and found[-1][1] == number - 1:
                found[-1][1] = number
            else:
                found.append([number, number])
        return found

    def spec(self, tool: ToolSpec) -> int:
        known = self._specs.get(id(tool))
        if known is not None:
            return known[1]
        plain: dict[str, object] = {
            "name": tool.name,
            "description": tool.description,
            "parameters": dict(tool.parameters),
        }
        number = self.specs.index(plain) if plain in self.specs else len(self.specs)
        if number == len(self.specs):
            self.specs.append(plain)
        self._specs[id(tool)] = tool, number
        return number


def _row(run: Run, row: Row, kept: _Kept) -> dict[str, object]:
    plain: dict[str, object] = {
        "name": row.name,
        "parent": row.parent,
        "depth": row.depth,
        "kind": row.kind,
        "label": row.label,
        "text": row.text[:_LABEL],
        "facts": list(row.facts),
        "state": row.state,
        "agent": row.agent,
        "start": _number(row.start),
        "seconds": _number(row.seconds),
        "slowest": row.slowest,
    }
    match row.about:
        case Strand():
            plain["about"] = _strand(row.about, kept)
        case Ask():
            plain["about"] = _ask(row.about, kept)
        case Use():
            plain["about"] = _use(row.about, kept) | _fork(row.about.fork)
        case Note():
            plain["about"] = _note(row.about)
        case Fork():
            plain["about"] = _fork(row.about) | _joined(run, row.about)
        case None:
            pass
    return plain


def _strand(strand: Strand, kept: _Kept) -> dict[str, object]:
    loop, began, first = strand.loop, strand.loop.began, strand.first
    about: dict[str, object] = {
        "facts": _facts(
            agent=" → ".join(strand.agents),
            model=began.model,
            kind=began.kind,
            choice=choice_words(strand),
            rendering=began.rendering if began.rendering != "none" else "",
            prefix=began.prefix,
            own_tokens=tokens(loop.usage),
            with_children=tokens(loop.below) if loop.children else "",
            tools=", ".join(f"{name} \u00d7{count}" for name, count in strand.tools.items()),
        ),
        "request": began.request,
        "answer": None if loop.ended is None else loop.ended.text,
        "inherited": None if strand.choice is None else _inherited(strand.choice, kept),
    }
    if first is not None:
        about["sent"] = _request(first, kept)
        about["sentIn"] = name_of(strand.id, first)
    return about


def _inherited(choice: Delegated, kept: _Kept) -> dict[str, object]:
    """Who inherited what: the layers with their messages by number, and by whose choice."""
    plain = choice.inherited.record(chooser=choice.chooser).as_plain()
    return {
        "choice": plain["choice"],
        "chooser": choice.chooser,
        "requested": choice.requested,
        "offered": list(choice.offered),
        "messages": plain["messages"],
        "tokens": plain["tokens"],
        "nothing": plain["nothing"],
        "layers": [
            {
                "agent": layer.agent,
                "messages": layer.conversation.length,
                "tokens": layer.conversation.tokens,
                "leftOut": layer.left_out,
                "passed": kept.ranges(layer.passed()),
            }
            for layer in choice.inherited.layers
        ],
    }


def _request(ask: Ask, kept: _Kept) -> dict[str, object] | None:
    if ask.asked is None:
        return None
    request = ask.asked.request
    own, section, rest = _section(request.system)
    return {
        "system": own,
        "section": section,
        "after": rest,
        "messages": kept.ranges(request.messages),
        "tools": [kept.spec(tool) for tool in request.tools],
        "tail": request.tail,
    }


def _section(system: str) -> tuple[str, str, str]:
    """Instructions cut into the agent's own, the section with what it inherited, and what stands behind it."""
    begin = _BEGIN.search(system)
    if begin is None:
        return system, "", ""
    ending = end_line(begin[1])
    end = system.find(ending, begin.end())
    if end < 0:
        return system, "", ""
    end += len(ending)
    return system[: begin.start()], system[begin.start() : end], system[end:]


def _ask(ask: Ask, kept: _Kept) -> dict[str, object]:
    reply = None if ask.replied is None else ask.replied.reply
    return {
        "facts": _facts(agent=ask.agent, **({} if reply is None else _counts(reply.usage)), stop=reply and reply.stop),
        "sent": _request(ask, kept),
        "reply": None if reply is None else [part for each in reply.parts for part in _part(each)],
    }


def _counts(usage: Usage) -> dict[str, str]:
    if not usage.total and usage.cached is None:
        return {}
    said = {"input": f"{usage.input:,} tokens", "output": f"{usage.output:,} tokens"}
    if usage.cached is not None:
        said["cached"] = f"{usage.cached:,} tokens read from the provider's cache"
    if usage.written is not None:
        said["put"] = f"{usage.written:,} tokens put into it"
    return said


def _use(use: Use, kept: _Kept) -> dict[str, object]:
    facts = _facts(agent=use.agent, call=use.call.id)
    if use.handoff is not None:
        facts += _facts(source=use.handoff.source, target=use.handoff.target, reason=use.handoff.reason)
    return {
        "facts": facts,
        "arguments": use.call.arguments,
        "result": None if use.ended is None else use.ended.text,
        "failed": use.ended is not None and use.ended.failed,
        "delegations": [_inherited(choice, kept) | {"path": choice.path} for choice in use.started],
    }


def _fork(fork: Fork | None) -> dict[str, object]:
    if fork is None:
        return {}
    return {"context": fork.mode, "branches": [_branch(branch) for branch in fork.branches]}


def _branch(branch: Branch) -> dict[str, object]:
    return {
        "name": branch.name,
        "agent": branch.agent,
        "loop": branch.loop,
        "status": branch.status,
        "seconds": _number(branch.seconds),
        "slowest": branch.slowest,
        "instructions": branch.instructions,
        "text": branch.text,
    }


def _joined(run: Run, fork: Fork) -> dict[str, object]:
    total = Usage()
    for branch in fork.branches:
        if branch.loop is not None:
            total += run.loops.by_id[branch.loop].below
    return {"facts": _facts(context=fork.mode, tokens=tokens(total))}


def _note(note: Note) -> dict[str, object]:
    text = getattr(note.event, "text", "")
    return {"facts": _facts(agent=note.agent), "said": text}


def _facts(**named: object) -> list[list[str]]:
    return [[name.replace("_", " "), str(value)] for name, value in named.items() if value not in (None, "")]


def _message(message: Message) -> dict[str, object]:
    return {
        "id": message.id,
        "role": message.role,
        "name": message.name,
        "parts": [part for each in message.parts for part in _part(each)],
    }


def _part(part: Part) -> list[Mapping[str, object]]:
    """A part as one of the kinds that the page knows: its kind, a head, a text."""
    match part:
        case Text(text=text):
            return [{"kind": "text", "text": text}]
        case Thinking(text=text, redacted=sealed):
            return [{"kind": "thinking", "text": text or ("(sealed by the provider)" if sealed else "")}]
        case ToolCall(name=name, arguments=arguments, id=call):
            return [{"kind": "call", "head": name, "id": call, "text": arguments}]
        case ToolResult(call=call, is_error=failed):
            inner = [piece for each in part.parts for piece in _part(each)] or [{"kind": "text", "text": ""}]
            kind = "error" if failed else "result"
            return [{**piece, "kind": kind, "head": part.name or "", "id": call} for piece in inner]
        case Media():
            size = "" if part.size is None else f", {part.size:,} bytes"
            return [{"kind": "media", "head": f"{part.kind} {part.media_type or ''}{size}", "text": part.name or ""}]
        case Refusal(text=text):
            return [{"kind": "refusal", "text": text}]
        case Summary(text=summary):
            return [{"kind": "summary", "text": summary or "(sealed by the provider)"}]
        case Elsewhere(reference=reference):
            return [{"kind": "elsewhere", "text": reference}]
        case Opaque(type=kind, json=text):
            return [{"kind": "data", "head": kind, "text": text}]


def _number(number: float) -> float | None:
    return round(number, 3) if math.isfinite(number) else None
