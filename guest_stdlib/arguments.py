"""Arguments checked at the agent's own line, before anything crosses.

Rules:

- Binding follows Python: the same calls are accepted and refused as by a function of that signature, but the sentence
  adds the nearest name and the whole signature.
- What crosses is what was written: defaults are filled in on the host, which checks all over again. These checks are
  for good messages, not for safety.
- A placeholder left in the code is refused where it stands as a literal. The same text in a variable was meant, and
  passes.
- A call that fits is checked without making anything.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Mapping
from itertools import islice
from typing import Final, Never, cast

from guest_stdlib import corrections, expressions, shapes
from guest_stdlib.declared import UNSAID, Method, Option, Parameter, Words
from guest_stdlib.pending import PendingCall, refuse

__all__ = ["Arguments", "in_order", "nearest", "placeholder", "signature_text"]

_ANGLE: Final = re.compile(r"<\s*([A-Za-z][\w' .,:/-]*?)\s*>")
_ASKED_FOR: Final = frozenset(
    [
        "answer",
        "city",
        "date",
        "email",
        "file",
        "filename",
        "here",
        "id",
        "key",
        "message",
        "name",
        "number",
        "path",
        "url",
    ]
) | {"placeholder", "query", "question", "recipient", "sender", "string", "subject", "text", "todo", "token", "value"}
_MARKS: Final = re.compile(r"(?:YOUR|INSERT|REPLACE|ENTER)_[A-Z0-9_]+|TODO|FIXME|TBD|\.\.\.|\u2026|\?\?\?")
_CLOSE: Final = 0.66  # of 1, as difflib measures: `fnd` is near `find`, `conversation` is not near `question`
_GAP_BEGINS: Final = frozenset("<YIRETFX.?\u2026")  # the first characters of all that the two patterns match
_LONGEST_PLACEHOLDER: Final = 80
_NESTED: Final = 50  # items of a list or dict looked at for placeholders: literals are short
_CONTAINERS: Final = frozenset({list, tuple, set, dict})


def signature_text(path: str, method: Method) -> str:
    """The method as the agent reads it: `contacts.ask(question: str, *, context: Literal['fork', 'cold'] = 'fork') ->
    Contact`.
    """
    parts: list[str] = []
    starred = False
    for parameter in in_order(method):
        if parameter.kind == "keyword_only" and not starred:
            parts.append("*")
            starred = True
        starred = starred or parameter.kind == "var_positional"
        stars = {"var_positional": "*", "var_keyword": "**"}.get(parameter.kind, "")
        default = "" if parameter.required or stars else f" = {parameter.default}"
        parts.append(f"{stars}{parameter.name}: {parameter.annotation}{default}")
    return f"{path}({', '.join(parts)}) -> {method.returns}"


def in_order(method: Method) -> list[Parameter]:
    """The parameters of a method, with the choice of context where it offers one: last, but for `**` parameters."""
    parameters = list(method.parameters)
    if method.choice and method.offered:
        at = len(parameters) - (bool(parameters) and parameters[-1].kind == "var_keyword")
        parameters[at:at] = map(_as_parameter, method.choice)
    return parameters


def _as_parameter(option: Option) -> Parameter:
    return Parameter(
        name=option.name,
        kind="keyword_only",
        shape=["literal", *option.words] if option.words else "int",
        annotation=option.annotation,
        required=False,
        default=repr(option.default),
    )


def nearest(name: str, known: Iterable[str], *, count: int = 1) -> list[str]:
    """The known names that `name` was probably meant to be, best first."""
    known = list(dict.fromkeys(known))
    if close := difflib.get_close_matches(name, known, n=count, cutoff=_CLOSE):
        return close
    lower = name.lower()
    by_lower = {candidate.lower(): candidate for candidate in reversed(known)}
    if close := difflib.get_close_matches(lower, by_lower, n=count, cutoff=_CLOSE):
        return [by_lower[each] for each in close]
    # `search_files` for `files`, `mail` for `email`
    within = [each for each in by_lower if min(len(each), len(lower)) > 2 and (each in lower or lower in each)]
    return [by_lower[each] for each in within[:count]]


class Arguments:
    """The parameters of one method, ready to check calls against."""

    def __init__(self, path: str, method: Method, records: Mapping[str, type]) -> None:
        self._path = path
        self._choice = method.choice
        self._offered = [option.name for option in method.choice if method.offered]
        self._records = records
        self._signature = signature_text(path, method)
        self._positional = [p for p in method.parameters if p.kind == "positional_or_keyword"]
        self._rest = next((p for p in method.parameters if p.kind == "var_positional"), None)
        self._others = next((p for p in method.parameters if p.kind == "var_keyword"), None)
        self._by_name = {p.name: p for p in method.parameters if p.kind in ("positional_or_keyword", "keyword_only")}
        self._required = [p.name for p in self._by_name.values() if p.required]

    def take(self, args: tuple[object, ...], kwargs: dict[str, object]) -> Words:
        """Check one call, and take the choice of context out of `kwargs`: what was said for it.

        TypeError for arguments that do not bind or do not fit, ValueError for an unknown choice or a placeholder.
        """
        said = self._said(kwargs) if kwargs and self._choice else UNSAID
        count, positional = len(args), self._positional
        if kwargs or count > len(positional) or count < len(self._required):
            self._bind(count, kwargs)
        for index, value in enumerate(args):
            parameter = positional[index] if index < len(positional) else self._rest
            if parameter is not None:
                self._fits(parameter, value, index)
        for name, value in kwargs.items():
            parameter = self._by_name.get(name, self._others)
            if parameter is not None:
                self._fits(parameter, value, name)
        return said

    # Binding

    def _said(self, kwargs: dict[str, object]) -> Words:
        found: dict[str, str | int] = {}
        for option in self._choice:
            if option.name in kwargs:
                said = kwargs.pop(option.name)
                if type(said) is PendingCall:
                    refuse(said)
                taken = option.taken(said)
                if taken is not None:
                    found[option.name] = taken
                elif self._offered:  # else a policy decides, whatever is said
                    raise ValueError(f"{self._path}(): {option.name} {option.refusal(said)}.")
        return found

    def _bind(self, count: int, kwargs: Mapping[str, object]) -> None:
        positional = self._positional
        if count > len(positional) and self._rest is None:
            takes = f"{len(positional)} positional argument{'' if len(positional) == 1 else 's'}"
            named = [name for name in (*self._by_name, *self._offered) if self._only_by_name(name)]
            by_name = f" To be given by name: {', '.join(named)}." if named else ""
            self._unbound(f"takes {takes} but {count} {'was' if count == 1 else 'were'} given.{by_name}")
        for index, parameter in enumerate(positional[:count]):
            if parameter.name in kwargs:
                twice = f"it is also number {index + 1} of the positional ones"
                self._unbound(f"got multiple values for argument {parameter.name!r}: {twice}.")
        if self._others is None:
            for name in kwargs:
                if name not in self._by_name:
                    self._unbound(f"got an unexpected keyword argument {name!r}{self._meant(name)}")
        by_position = {parameter.name for parameter in positional[:count]}
        missing = [name for name in self._required if name not in by_position and name not in kwargs]
        if missing:
            what = f"argument{'' if len(missing) == 1 else 's'}"
            self._unbound(f"is missing {len(missing)} required {what}: {_listed(missing)}.")

    def _only_by_name(self, name: str) -> bool:
        parameter = self._by_name.get(name)
        return parameter is None or parameter.kind == "keyword_only"

    def _meant(self, name: str) -> str:
        if name == "context" and not self._choice:
            return ". It does not delegate, so there is no context to choose."
        if name == "context" and self._offered:
            return f". How much of the conversation goes along is said by {_listed(self._offered)}."
        if self._rest is not None and name == self._rest.name:
            return f". Give {name} by position: {self._path}(first, second)."
        close = nearest(name, (*self._offered, *self._by_name))
        return f". Did you mean {close[0]!r}?" if close else "."

    def _unbound(self, complaint: str) -> Never:
        raise TypeError(f"{self._path}() {complaint} Signature: {self._signature}")

    # Fitting

    def _fits(self, parameter: Parameter, value: object, where: int | str) -> None:
        kind, shape = type(value), parameter.shape
        if kind is str:
            if cast(str, value)[:1] in _GAP_BEGINS and placeholder(cast(str, value), parameter.name):
                self._refuse_placeholder(parameter, value, where)
        elif kind in _CONTAINERS:
            self._look_into(cast(Collection[object], value), parameter, where)
        elif value is ...:
            self._refuse_placeholder(parameter, value, where)
        elif kind is PendingCall:
            refuse(cast(PendingCall, value))
        if shapes.exactly(value, shape):
            return
        try:
            shapes.check(value, shape, records=self._records)
        except shapes.ShapeError as fault:
            label = self._label(parameter, where)
            raise TypeError(
                f"{self._path}(): {label}{fault.path}: expected {fault.expected}, got {fault.got}. "
                f"Signature: {self._signature}"
            ) from None

    def _look_into(self, value: Collection[object], parameter: Parameter, where: int | str) -> None:
        """Refuse gaps and unawaited calls among the first items of a container."""
        for item in islice(value.values() if isinstance(value, dict) else value, _NESTED):
            if item is ... or (type(item) is str and placeholder(item, parameter.name)):
                self._refuse_placeholder(parameter, item, where)
            elif type(item) is PendingCall:
                refuse(item)

    def _label(self, parameter: Parameter, where: int | str) -> str:
        if parameter.kind == "var_positional" and isinstance(where, int):
            return f"{parameter.name}[{where - len(self._positional)}]"
        return where if parameter.kind == "var_keyword" and isinstance(where, str) else parameter.name

    def _refuse_placeholder(self, parameter: Parameter, value: object, where: int | str) -> None:
        frame = expressions.agent_frame(4)
        line = expressions.line(frame.f_code, frame.f_lasti)
        still, otherwise = "a gap (...)", ""
        if isinstance(value, str):
            literal = corrections.literal(frame.f_code, frame.f_lasti, where, value)
            if literal is None:
                return  # it came out of a variable: data, not a gap in the code
            line, still = literal.lineno, f'the placeholder "{value}"'
            otherwise = ", or put this very text in a variable first if it is meant"
        label = self._label(parameter, where)
        raise ValueError(
            f"{self._path}(): {label} on line {line} is still {still}. Put the real value there{otherwise}."
        )


def placeholder(text: str, name: str) -> bool:
    """Whether a text looks like a gap that was to be filled in: `<your question>`, `YOUR_NAME`, `TODO`, `...`.

    `name` is the parameter's: `<subject>` is one where a subject is asked for; elsewhere it could be markup.
    """
    if len(text) > _LONGEST_PLACEHOLDER or not text:
        return False
    if text[0] == "<" and (angled := _ANGLE.fullmatch(text)):
        inner = angled[1].lower()
        return inner == name.lower() or inner in _ASKED_FOR or any(mark in inner for mark in " _-.")
    return _MARKS.fullmatch(text) is not None


def _listed(names: list[str]) -> str:
    quoted = [repr(name) for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"
