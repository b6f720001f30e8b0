"""The YAML of a project as it was written: its data, and where each piece of it stands.

Rules:

- It is YAML 1.2, and nothing but data: texts, numbers, true, false, null, lists, mappings whose keys are texts. A tag,
  a second key of the same name, a list that contains itself are findings, never guesses.
- A list becomes a tuple: data that was read does not change. What looks like a date stays the text that it is.
- Aliases are shared and not copied, so a small file cannot become a large value; size and depth are bounded.
- Places are looked up on demand, by the path of keys. They are in characters, as editors count.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from host.agents.findings import KeyPath, Span

__all__ = ["LARGEST", "Document", "Problem", "lines_of"]

LARGEST: Final = 1 << 20  # bytes of a file
_MOST: Final = 100_000  # values, those behind aliases counted each time
_DEEPEST: Final = 40

_PREFIX: Final = "tag:yaml.org,2002:"
_TEXTS: Final = frozenset({f"{_PREFIX}str", f"{_PREFIX}timestamp", f"{_PREFIX}merge"})
_HELP: Final = {
    "mapping values are not allowed": "Put quotes around a text that has a colon with a space behind it.",
    "'\\t'": "Indent with spaces: YAML takes no tabs.",
    "found another document": "Keep one document in the file: take out the line with ---.",
    "undefined alias": "Define it with & above, or put quotes around a text that begins with *.",
    "found character '@'": "Put quotes around a text that begins with @.",
    "found character '`'": "Put quotes around a text that begins with a backtick.",
    "expected <block end>": "Check the indentation: keys of one mapping begin in the same column.",
    "could not find expected ':'": "Write a colon and a space behind the key.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something that keeps the text from being data. `rule` is the id of its rule."""

    rule: str
    message: str
    help: str
    span: Span | None
    path: KeyPath = ()


class Document:
    """One file of YAML. `data` is None where nothing could be made of it; `problems` says why."""

    def __init__(self, text: str, root: Node | None, problems: tuple[Problem, ...]) -> None:
        self.text = text
        self.problems = problems
        self._root = root
        self._made: dict[int, tuple[object, int]] = {}
        self._found: list[Problem] = []
        self.data: object = None
        if root is not None:
            self._read()

    @classmethod
    def read(cls, content: bytes) -> Document:
        """Read a file's content. What is wrong with it is in `problems`; nothing is raised."""
        if len(content) > LARGEST:
            return cls("", None, (_problem("yaml.size", f"The file is larger than {LARGEST >> 20} MiB."),))
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            before = content[: error.start].decode("utf-8", "replace")
            span = _point(before.count("\n") + 1, len(before) - before.rfind("\n"))
            message = f"The file is no UTF-8 text: byte 0x{content[error.start]:02x} cannot be read."
            return cls("", None, (_problem("yaml.encoding", message, "Save it as UTF-8.", span),))
        try:
            root = YAML(typ="safe", pure=True).compose(text)
        except MarkedYAMLError as error:
            return cls(text, None, (_marked(error),))
        except ReaderError as error:
            before = text[: error.position]
            span = _point(before.count("\n") + 1, len(before) - before.rfind("\n"))
            character = chr(error.character) if isinstance(error.character, int) else str(error.character)
            message = f"This is no YAML: the character {character!r} is not allowed in it."
            return cls(text, None, (_problem("yaml.syntax", message, "Take it out.", span),))
        except YAMLError as error:
            return cls(text, None, (_problem("yaml.syntax", f"This is no YAML: {error}."),))
        except RecursionError:
            return cls(text, None, (_problem("yaml.size", "The file is nested too deeply."),))
        return cls(text, root, ())

    # -- data

    def _read(self) -> None:
        assert self._root is not None
        self._made, self._found = {}, []
        data, size = self._value(self._root, (), ())
        if size > _MOST:
            self._found.append(
                _problem("yaml.size", f"The file has more than {_MOST:,} values, its aliases written out.")
            )
        self.problems = tuple(self._found)
        self.data = None if self.problems else data

    def _value(self, node: Node, path: KeyPath, above: tuple[int, ...]) -> tuple[object, int]:
        """The value of a node, and how many values it holds."""
        if id(node) in self._made:
            return self._made[id(node)]
        if id(node) in above:
            self._report("yaml.alias", "This contains itself.", "Write it out once.", node, path)
            return None, 1
        if len(above) > _DEEPEST:
            self._report("yaml.size", "This is nested too deeply.", "", node, path)
            return None, 1
        inside = (*above, id(node))
        size = 1
        value: object
        if isinstance(node, MappingNode) and node.tag == f"{_PREFIX}map":
            value, size = self._mapping(node, path, inside)
        elif isinstance(node, SequenceNode) and node.tag == f"{_PREFIX}seq":
            made = [self._value(each, (*path, number), inside) for number, each in enumerate(node.value)]
            value, size = tuple(each for each, _ in made), 1 + sum(count for _, count in made)
        elif isinstance(node, ScalarNode):
            value = self._scalar(node, path)
        else:
            value = None
            self._tagged(node, path)
        self._made[id(node)] = value, size
        return value, size

    def _mapping(self, node: MappingNode, path: KeyPath, inside: tuple[int, ...]) -> tuple[dict[str, object], int]:
        value: dict[str, object] = {}
        size = 1
        for key, held in node.value:
            if not isinstance(key, ScalarNode) or key.tag not in _TEXTS:
                shown = repr(key.value) if isinstance(key, ScalarNode) else "A list or mapping"
                help_ = f'Put quotes around it: "{key.value}".' if isinstance(key, ScalarNode) else "Write a word."
                self._report("yaml.key", f"{shown} is no text, so it cannot be a key.", help_, key, path)
                continue
            if key.value in value:
                first = next(each for each, _ in node.value if each.value == key.value)
                line = first.start_mark.line + 1
                self._report(
                    "key.twice",
                    f"{key.value} is here a second time; the first is in line {line}.",
                    "Keep one of them.",
                    key,
                    (*path, key.value),
                )
                continue
            value[key.value], count = self._value(held, (*path, key.value), inside)
            size += count
        return value, size

    def _scalar(self, node: ScalarNode, path: KeyPath) -> object:
        text: str = node.value
        if node.tag in _TEXTS:
            return text
        try:
            match str(node.tag).removeprefix(_PREFIX):
                case "null":
                    return None
                case "bool":
                    return text.lower() in {"true", "yes", "on", "y"}
                case "int":
                    return _whole(text.replace("_", ""))
                case "float":
                    return float(text.replace("_", "").lower().replace(".inf", "inf").replace(".nan", "nan"))
        except ValueError:
            return text  # a number of YAML 1.1, such as 1:30
        self._tagged(node, path)
        return None

    def _tagged(self, node: Node, path: KeyPath) -> None:
        tag = str(node.tag).replace(_PREFIX, "!!")
        self._report("yaml.tag", f"{tag} is a tag, and nothing here has one.", "Take it out.", node, path)

    def _report(self, rule: str, message: str, help_: str, node: Node, path: KeyPath) -> None:
        self._found.append(Problem(rule=rule, message=message, help=help_, span=self._span(node), path=path))

    # -- places

    def at(self, path: KeyPath, *, key: bool = False) -> Span | None:
        """Where a value stands, or with `key` the key that it belongs to. What is not there is where the nearest
        thing above it is. A value of several lines is told by its key.
        """
        node, named = self._root, None
        for part in path:
            found = _child(node, part)
            if found is None:
                key = True
                break
            named, node = found
        if node is None:
            return None
        value = self._span(node)
        several = value.end_line > value.line
        if key or several:
            return _point(value.line, value.column) if named is None else self._span(named)
        return value

    def rename(self, path: KeyPath, new: str | None) -> None:
        """Take a key for another one, or for none at all; the text stays."""
        parent = self._root
        for part in path[:-1]:
            found = _child(parent, part)
            assert found is not None
            _, parent = found
        assert isinstance(parent, MappingNode)
        if new is None:
            parent.value = [(key, value) for key, value in parent.value if key.value != path[-1]]
        else:
            for key, _ in parent.value:
                if key.value == path[-1]:
                    key.value = new
        self._read()

    def slice(self, span: Span) -> str:
        """The text of a span of one line."""
        line = lines_of(self.text)[span.line - 1]
        return line[span.column - 1 : span.end_column - 1]

    def offset(self, span: Span) -> int:
        """Where a span begins in the text, in characters from 0."""
        ends = [found.end() for found in _LINE_END.finditer(self.text)]
        return [0, *ends][span.line - 1] + span.column - 1

    def _span(self, node: Node) -> Span:
        start, end = node.start_mark, node.end_mark
        line, column = start.line + 1, start.column + 1
        if isinstance(node, ScalarNode) and end.line > start.line:
            # A text of several lines is shown where it begins.
            end_column = len(lines_of(self.text)[start.line].split("#")[0].rstrip()) + 1
            return Span(line=line, column=column, end_line=line, end_column=max(end_column, column + 1))
        return Span(line=line, column=column, end_line=end.line + 1, end_column=end.column + 1)


_LINE_END: Final = re.compile("\r\n|[\r\n\x85\u2028\u2029]")


def lines_of(text: str) -> list[str]:
    """The lines of a text as YAML counts them, without their ends."""
    return _LINE_END.split(text)


def _child(node: Node | None, part: str | int) -> tuple[Node | None, Node] | None:
    """The key and the value of one part of a path."""
    if isinstance(node, MappingNode):
        return next(((key, value) for key, value in node.value if key.value == part), None)
    if isinstance(node, SequenceNode) and isinstance(part, int) and part < len(node.value):
        return None, node.value[part]
    return None


def _whole(text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        return int(text)  # 08 is 8


def _point(line: int, column: int) -> Span:
    return Span(line=line, column=column, end_line=line, end_column=column + 1)


def _problem(rule: str, message: str, help_: str = "", span: Span | None = None) -> Problem:
    return Problem(rule=rule, message=message, help=help_, span=span)


def _marked(error: MarkedYAMLError) -> Problem:
    told = " ".join(part for part in (error.problem, error.context) if part)
    help_ = next((help_ for sign, help_ in _HELP.items() if sign in told), "")
    mark = error.problem_mark or error.context_mark
    span = None if mark is None else _point(mark.line + 1, mark.column + 1)
    context = error.context_mark
    since = f", in what begins in line {context.line + 1}" if context is not None and error.context else ""
    return _problem("yaml.syntax", f"This is no YAML: {error.problem or error.context}{since}.", help_, span)
