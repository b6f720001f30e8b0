"""Runs read from files: our own records, and traces of others, recognised by what stands in them."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Final

from host.conversation.document import parse
from host.conversation.errors import ConversationError
from host.record.errors import RecordError
from host.record.foreign.agents_sdk import is_trace, read_trace_of_agents
from host.record.foreign.session import is_session, read_session
from host.record.foreign.trace import FORMS, Form, Gap, Trace
from host.record.foreign.transcript import read_transcript
from host.record.record import Record

__all__ = ["FORMS", "Form", "Gap", "Trace", "read_trace"]

_RECORD: Final = b'{"format": "branchpoint record '


def read_trace(path: str | PathLike[str]) -> Trace:
    """Read a run: a record, a trace of the OpenAI Agents SDK, a session of Anthropic's coding agent, or saved messages
    of OpenAI, Anthropic or LangChain.

    Raises `RecordError` if it is none of these or damaged, `OSError` if it cannot be read.
    """
    file = Path(path)
    content = file.read_bytes()
    if content.startswith(_RECORD):
        record = Record.load(file)
        return Trace(source=file.name, form="record", events=record.events, torn=record.torn)
    try:
        data, _ = parse(content, file.name)
        if is_trace(data):
            return read_trace_of_agents(data, file.name)
        if is_session(data):
            return read_session(data, file.name)
        return read_transcript(data, file.name)
    except ConversationError as error:
        raise RecordError(f"{str(error).rstrip('.')}; nor is it a record of a run or another trace") from None
