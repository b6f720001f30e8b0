"""The stub text that a model is shown: what is in scope for the code that it writes.

Rules:

- It is a valid Python stub: it parses, and a type checker accepts it and code written against it.
- It is compact and stable: the same declaration gives the same text, byte for byte, so that a provider's prefix cache
  holds.
- It is derived from the declaration alone. What the declaration keeps apart (the inherited conversation) cannot occur.
- The choice of context is explained above everything, once for each dialect of it that occurs, and its arguments stand
  in the signature of each method that has it.
"""

from __future__ import annotations

import ast
import collections.abc
import dataclasses
import enum
import re
import textwrap
import typing
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from guest_stdlib.declared import Option
from host.capability._capability import Capability, declaration_of
from host.capability._choosing import Policy
from host.capability._docs import summary
from host.capability._readable import default_text, type_text
from host.capability._table import Table
from host.capability._tools import Tool, result_of
from host.context import Dialect
from host.errors import CapabilityError, field_names

__all__ = ["describe"]

_WIDTH: Final = 100
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
# What the text of types and defaults may name: whole modules first, as `type_text` writes them.
_IMPORTED: Final[Mapping[str, tuple[str, ...]]] = {
    "datetime": (),
    "decimal": (),
    "uuid": (),
    "collections.abc": tuple(collections.abc.__all__),
    "dataclasses": ("dataclass",),
    "enum": ("Enum",),
    "typing": ("Any", "Literal", "NotRequired", "TypedDict"),
}


def describe(capabilities: Iterable[Capability], *, policy: Policy = "model") -> str:
    """The stub text for these capabilities, in their order. Under a policy that decides, the choice is not shown
    (R8).
    """
    table = Table(capabilities)
    offers_choice = policy == "model"
    names = _class_names(table)
    blocks = [_typed_dict(row) for row in _typed_dicts(table)]
    blocks += [_error(CapabilityError), *(_error(error) for error in table.described_errors)]
    blocks += [_record(record, table, offers_choice=offers_choice) for record in table.records.values()]
    done: set[type] = set()
    for capability in table.capabilities:
        cls = capability.__class__
        if cls not in done:
            done.add(cls)
            blocks.append(_class(cls, names[cls], offers_choice=offers_choice))
        blocks.append(f"{capability.name}: {names[cls]}")
    body = "\n\n".join(blocks)
    spoken = [offered.tool.terms.dialect for offered in table if offered.tool.terms is not None]
    return "\n".join([*_heading(dict.fromkeys(spoken if offers_choice else ())), *_imports(body), "", body, ""])


def _heading(spoken: Iterable[Dialect]) -> Iterator[str]:
    yield "# All this is in scope: import nothing, construct no capability. Await every method call."
    for dialect in spoken:
        for argument in dialect.arguments:
            for line in textwrap.wrap(f"{argument.name}= is {argument.says}", _WIDTH - 2):
                yield f"# {line}"


def _imports(body: str) -> Iterator[str]:
    """The imports that make the body a stub by itself: of the names that it uses and does not define."""
    tree = ast.parse(body)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    used -= {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    for module, names in _IMPORTED.items():
        wanted = sorted(used.intersection(names))
        if wanted:
            yield f"from {module} import {', '.join(wanted)}"
        elif not names and module in used:
            yield f"import {module}"


def _class_names(table: Table) -> dict[type, str]:
    """The name of each capability class in the stub: its own, or a longer one where that is taken."""
    taken = {capability.name for capability in table.capabilities} | {
        *table.errors,
        *table.records,
        CapabilityError.__name__,
    }
    names: dict[type, str] = {}
    for capability in table.capabilities:
        cls = capability.__class__
        if cls in names:
            continue
        name = cls.__name__.strip("_")
        while name in taken:
            name += "Capability"
        taken.add(name)
        names[cls] = name
    return names


def _class(cls: type[Capability], name: str, *, offers_choice: bool) -> str:
    declaration = declaration_of(cls)
    lines = [f"class {name}:", *_docstring(declaration.doc)]
    if declaration.errors:
        lines.append(f"    # May raise {', '.join(error.__name__ for error in declaration.errors)}.")
    for tool in declaration.tools.values():
        if not tool.method.of:
            lines += _method(tool, offers_choice=offers_choice)
    return "\n".join(lines if len(lines) > 1 else [*lines, "    pass"])


def _method(tool: Tool, *, offers_choice: bool) -> list[str]:
    method = tool.method
    parameters = ["self"]
    starred = False
    keywords = None
    for parameter in method.parameters[1 if method.of else 0 :]:
        if parameter.kind == "keyword_only" and not starred:
            parameters.append("*")
            starred = True
        stars = {"var_positional": "*", "var_keyword": "**"}.get(parameter.kind, "")
        starred = starred or stars == "*"
        text = f"{stars}{parameter.name}: {parameter.annotation}" + (
            f" = {parameter.default}" if parameter.default else ""
        )
        if stars == "**":
            keywords = text
        else:
            parameters.append(text)
    if method.choice and offers_choice:
        parameters += [] if starred else ["*"]
        parameters += map(_option, method.choice)
    if keywords is not None:
        parameters.append(keywords)
    doc = list(_docstring(method.doc, depth=2))
    head = f"    async def {method.name}({', '.join(parameters)}) -> {method.returns}:"
    return [head, *doc] if doc else [f"{head} ..."]


def _option(option: Option) -> str:
    if not option.words:
        return f"{option.name}: int = {option.default}"
    words = ", ".join(f'"{word}"' for word in option.words)
    return f'{option.name}: Literal[{words}] = "{option.default}"'


def _error(error: type[Exception]) -> str:
    hints = _hints(error)
    lines = [
        f"class {error.__name__}(Exception):",
        *_docstring(summary(error)),
    ]
    lines += [f"    {name}: {type_text(hints.get(name, typing.Any))}" for name in field_names(error)]
    return "\n".join(lines if len(lines) > 1 else [f"{lines[0]} ..."])


def _record(record: type, table: Table, *, offers_choice: bool) -> str:
    if issubclass(record, enum.Enum):
        return _enumeration(record)
    assert dataclasses.is_dataclass(record)
    hints = _hints(record)
    generic = getattr(record, "__type_params__", ()) or getattr(record, "__parameters__", ())
    brackets = f"[{', '.join(parameter.__name__ for parameter in generic)}]" if generic else ""
    lines = ["@dataclass", f"class {record.__name__}{brackets}:", *_docstring(summary(record))]
    for field in dataclasses.fields(record):
        hint = hints.get(field.name, field.type)
        text = type_text(hint, variables=generic)
        lines.append(f"    {field.name}: {text}")  # without default: agent code states every field
    for offered in table.handled(record):
        lines += _of_handle(offered.tool, result_of(record), offers_choice=offers_choice)
    return "\n".join(lines if len(lines) > 2 else [*lines, "    pass"])


def _of_handle(tool: Tool, result: str, *, offers_choice: bool) -> list[str]:
    """A method of a handle. The one that awaiting it calls is shown as that, and by its name only if it takes more."""
    method = tool.method
    named = _method(tool, offers_choice=offers_choice)
    if method.name != result:
        return named
    doc = list(_docstring(method.doc, depth=2))
    head = f"    def __await__(self) -> Generator[Any, Any, {method.returns}]:"
    awaited = [head, *doc] if doc else [f"{head} ..."]
    return [*awaited, *named] if len(method.parameters) > 1 or (method.delegates and offers_choice) else awaited


def _enumeration(kind: type[enum.Enum]) -> str:
    lines = [f"class {kind.__name__}(Enum):  # not in scope: write a member's name as text", *_docstring(summary(kind))]
    lines += [f"    {name} = {default_text(member.value)}" for name, member in kind.__members__.items()]
    return "\n".join(lines if kind.__members__ else [*lines, "    pass"])


def _typed_dict(kind: type) -> str:
    hints = _hints(kind)
    optional: frozenset[str] = getattr(kind, "__optional_keys__", frozenset())
    lines = [f"class {kind.__name__}(TypedDict):  # a plain dict; this name is not in scope"]
    for name, hint in hints.items():
        text = type_text(hint)
        left_out = name in optional or typing.get_origin(hint) is typing.NotRequired
        lines.append(f"    {name}: {f'NotRequired[{text}]' if left_out else text}")
    return "\n".join(lines if len(lines) > 1 else [*lines, "    pass"])


def _typed_dicts(table: Table) -> list[type]:
    found: dict[object, None] = {}

    def look(annotation: object) -> None:
        if isinstance(annotation, typing.TypeAliasType):
            look(annotation.__value__)
        for argument in typing.get_args(annotation):
            look(argument)
        plain = typing.get_origin(annotation) or annotation
        if (
            isinstance(plain, type)
            and plain not in found
            and (typing.is_typeddict(plain) or plain in table.records.values())
        ):
            found[plain] = None
            for hint in _hints(plain).values():
                look(hint)

    for offered in table:
        for annotation in (*offered.tool.types.values(), offered.tool.returns):
            look(annotation)
    return [kind for kind in found if typing.is_typeddict(kind) and isinstance(kind, type)]


def _hints(kind: type) -> dict[str, object]:
    try:
        return typing.get_type_hints(kind, include_extras=True)
    except (NameError, TypeError):
        return {}  # an exception's attributes may be written for a type checker alone


def _docstring(doc: str, *, depth: int = 1) -> Iterator[str]:
    if not doc:
        return
    safe = doc.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    safe = _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", safe)
    if safe.endswith('"'):
        safe = f'{safe[:-1]}\\"'
    indent = "    " * depth
    first, *rest = safe.split("\n")
    if not rest:
        yield f'{indent}"""{first}"""'
        return
    yield f'{indent}"""{first}'
    for line in rest:
        yield f"{indent}{line}" if line.strip() else ""
    yield f'{indent}"""'
