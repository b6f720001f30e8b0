"""From bytes to JSON data, with errors that say where: encoding, JSON, JSON Lines.

Accepted: UTF-8 with or without a byte order mark, UTF-16 and UTF-32 with one; one JSON document, or one JSON document
per line. Half surrogates survive, escaped or encoded. Everything else is a `ConversationError` of one sentence.
"""

from __future__ import annotations

import codecs
import json
from typing import Final

from host.conversation.errors import ConversationError

__all__ = ["NESTED_TOO_DEEPLY", "called", "parse"]

# The longer marks first: UTF-32's begins with UTF-16's.
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8", "UTF-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le", "UTF-32"),
    (codecs.BOM_UTF32_BE, "utf-32-be", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "UTF-16"),
)

NESTED_TOO_DEEPLY: Final = "it is nested too deeply"


def parse(content: bytes, source: str) -> tuple[object, bool]:
    """Parse a document. The second value says whether it is JSON Lines; the first is then the list of its values."""
    text = _decoded(content, source)
    if not text or text.isspace():
        raise ConversationError(f"{source} is no conversation: it is empty")
    try:
        return json.loads(text), False
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and (lines := _lines(text, source)) is not None:
            return lines, True
        raise _not_json(error, source) from None
    except RecursionError:
        raise ConversationError(f"{source} is no conversation: {NESTED_TOO_DEEPLY}") from None
    except ValueError as error:  # a number with more digits than Python converts
        raise ConversationError(f"{source} is no conversation: it is not usable JSON ({error})") from None


def _decoded(content: bytes, source: str) -> str:
    mark, codec, name = next((known for known in _MARKS if content.startswith(known[0])), (b"", "utf-8", "UTF-8"))
    body = content[len(mark) :]
    try:
        return body.decode(codec, "surrogatepass")
    except UnicodeDecodeError as error:
        line = f", line {body.count(b'\n', 0, error.start) + 1}" if codec == "utf-8" else ""
        place = f"byte {len(mark) + error.start + 1}{line}"
        raise ConversationError(f"{source} is no conversation: it is not {name} text ({place})") from None


def _lines(text: str, source: str) -> list[object] | None:
    """Each line's value, if the first line is a JSON document by itself; None if this is no JSON Lines at all."""
    values: list[object] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line or line.isspace():
            continue
        try:
            values.append(json.loads(line))
        except json.JSONDecodeError as error:
            if not values:
                return None
            raise ConversationError(
                f"{source} is no conversation: line {number} is not JSON ({called(error.msg)}, column {error.colno})"
            ) from None
        except RecursionError:
            raise ConversationError(f"{source} is no conversation: line {number} is nested too deeply") from None
        except ValueError as error:
            problem = f"line {number} is not usable JSON ({error})"
            raise ConversationError(f"{source} is no conversation: {problem}") from None
    return values


def _not_json(error: json.JSONDecodeError, source: str) -> ConversationError:
    return ConversationError(
        f"{source} is no conversation: it is not JSON ({called(error.msg)}, line {error.lineno}, column {error.colno})"
    )


def called(message: str) -> str:
    """A foreign error message as it reads inside one of our sentences."""
    return message[:1].lower() + message[1:]
