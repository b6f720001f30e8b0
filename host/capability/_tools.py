"""One tool: what an annotated async method says about itself, and everything that is derived from it.

Rules:

- The method's annotations are the only source. Its signature, shapes, schema types and text are all read from them
  here, once.
- The parameter annotated `Inherited`, whatever its name, is kept apart (`hidden`) and is in nothing that looks
  outward.
- What cannot be offered to an agent is refused here, with a sentence that says what to write instead.
"""

from __future__ import annotations

import enum
import inspect
import keyword
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Annotated, Any, Final, Literal, cast, get_args, get_origin, get_type_hints

from guest_stdlib import shapes
from guest_stdlib.annotations import of, records_in
from guest_stdlib.declared import Method, Option, Parameter, Shape
from host.capability._docs import outward_doc, speaks_of
from host.capability._readable import default_text, type_text
from host.capability._settling import field_shapes
from host.capability._terms import Stated, Terms
from host.context import Inherited
from host.conversation import Conversation
from host.errors import CapabilityDefinitionError

__all__ = ["CHOICE", "HANDLE", "REPEATABLE", "STARTS", "Tool", "UnknownName", "result_of", "tool_of"]

# Names of the attributes that the decorators leave on a method. They are on the function, so they survive
# `functools.wraps`.
STARTS: Final = "_branchpoint_context"
REPEATABLE: Final = "_branchpoint_repeatable"
# And on a dataclass that is a handle: the name of the method that awaiting it calls.
HANDLE: Final = "_branchpoint_result"

# What most delegating methods have in place of the hidden parameter. No parameter is called so, whatever the dialect.
CHOICE: Final = "context"

_KINDS: Final[Mapping[Any, Literal["positional_or_keyword", "keyword_only", "var_positional", "var_keyword"]]] = {
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "positional_or_keyword",
    inspect.Parameter.KEYWORD_ONLY: "keyword_only",
    inspect.Parameter.VAR_POSITIONAL: "var_positional",
    inspect.Parameter.VAR_KEYWORD: "var_keyword",
}


def result_of(kind: object) -> str:
    """The name of the method that awaiting a handle of this class calls; "" for a class of no handles."""
    return str(vars(kind).get(HANDLE, "")) if isinstance(kind, type) else ""


class UnknownName(Exception):
    """Internal: an annotation in string form names something that is not defined yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One method of a capability class.

    `method` is its outward declaration. `hidden` is the name of the parameter that takes the inherited conversation,
    and `terms` are those on which it does, if it delegates. `signature` has neither `self` nor the hidden parameter:
    what a call's arguments bind to. `types` are the annotations by parameter name as they were written, `Annotated`
    included; `returns` is the return annotation.
    """

    method: Method
    hidden: str | None
    terms: Terms | None
    signature: inspect.Signature
    types: Mapping[str, object]
    returns: object
    returns_shape: Shape

    @property
    def outward_signature(self) -> inspect.Signature:
        """The signature that callers see: without the hidden parameter, with the choice of context where there is
        one.
        """
        if self.terms is None:
            return self.signature
        parameters = list(self.signature.parameters.values())
        place = len(parameters) - (bool(parameters) and parameters[-1].kind is inspect.Parameter.VAR_KEYWORD)
        parameters[place:place] = map(_as_parameter, self.terms.options)
        return self.signature.replace(parameters=parameters)


def _as_parameter(option: Option) -> inspect.Parameter:
    annotation = cast("Any", Literal)[option.words] if option.words else int
    return inspect.Parameter(option.name, inspect.Parameter.KEYWORD_ONLY, default=option.default, annotation=annotation)


def tool_of(
    function: Callable[..., object],
    *,
    where: str,
    name: str,
    doc: str | None,
    stated: Stated,
    names: Mapping[str, object],
) -> Tool:
    """Read one method.

    `where` names it in errors, `stated` is what its class declares for all, `names` resolve annotations in string
    form. Raises CapabilityDefinitionError for what cannot be offered, UnknownName for an annotation that cannot be
    resolved yet.
    """
    _check_form(function, where, name)
    hints = _hints(function, where, names)
    parameters = list(inspect.signature(function).parameters.values())
    if not parameters or parameters[0].kind not in (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
    ):
        raise CapabilityDefinitionError(f"{where} has no `self`: write it as the first parameter.")
    hidden = _hidden_parameter(parameters[1:], hints, where)
    shown = [parameter for parameter in parameters[1:] if parameter.name != hidden]
    outward = tuple(_parameter(parameter, hints, where) for parameter in shown)
    if "return" not in hints:
        raise CapabilityDefinitionError(
            f"{where} has no return type: write `-> str`, or `-> None` if it has no answer."
        )
    text = _doc(doc, hidden, where)
    starts = getattr(function, STARTS, None)
    if starts is not None and hidden is None:
        raise CapabilityDefinitionError(
            f"{where} is marked @delegates, but takes no conversation: "
            "add `*, inherited: Inherited`, or remove the mark."
        )
    terms = None if hidden is None else Terms.of(where, starts, stated)
    if terms is not None:
        _check_apart(parameters[1:], terms, where)
    return Tool(
        method=Method(
            name=name,
            doc=text,
            parameters=outward,
            returns=type_text(hints["return"]),
            choice=() if terms is None else terms.options,
            repeatable=getattr(function, REPEATABLE, False),
            of=_owner(shown, hints),
        ),
        hidden=hidden,
        terms=terms,
        signature=inspect.Signature(
            [parameter.replace(annotation=hints[parameter.name]) for parameter in shown],
            return_annotation=hints["return"],
        ),
        types={parameter.name: hints[parameter.name] for parameter in shown},
        returns=hints["return"],
        returns_shape=_shape(hints["return"], f"{where}: its return type"),
    )


def _check_form(function: Callable[..., object], where: str, name: str) -> None:
    if inspect.isasyncgenfunction(function):
        raise CapabilityDefinitionError(f"{where} is an async generator, but a call has one answer: return a list.")
    if not inspect.iscoroutinefunction(function):
        raise CapabilityDefinitionError(
            f"{where} is public and not async: write `async def {name}`, or name it `_{name}` if it is not for agents."
        )


def _hints(function: Callable[..., object], where: str, names: Mapping[str, object]) -> dict[str, object]:
    scope = dict(names)
    plain = inspect.unwrap(function)
    if isinstance(plain, FunctionType) and plain.__closure__:
        for name, cell in zip(plain.__code__.co_freevars, plain.__closure__, strict=True):
            try:
                scope[name] = cell.cell_contents
            except ValueError:  # the enclosing function has not assigned it yet
                continue
    try:
        return get_type_hints(function, localns=scope, include_extras=True)
    except NameError as error:
        raise UnknownName(
            f"{where}: its types name `{error.name}`, which is not defined where the class is."
        ) from error
    except Exception as error:
        raise CapabilityDefinitionError(f"{where}: its types cannot be read: {error}.") from error


def _hidden_parameter(parameters: list[inspect.Parameter], hints: Mapping[str, object], where: str) -> str | None:
    found = None
    for parameter in parameters:
        hint = hints.get(parameter.name)
        if parameter.name == CHOICE:
            raise _taken(parameter.name, where)
        if not _mentions_inherited(hint):
            continue
        if _bare(hint) is not Inherited:
            raise CapabilityDefinitionError(
                f"{where}: annotate `{parameter.name}` with `Inherited` alone; "
                "a cold call passes an empty one, never None."
            )
        if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
            raise CapabilityDefinitionError(
                f"{where}: `{parameter.name}` must be keyword-only: write `*, {parameter.name}: Inherited`."
            )
        if found is not None:
            raise CapabilityDefinitionError(f"{where} takes the conversation twice: `{found}` and `{parameter.name}`.")
        found = parameter.name
    if _mentions_inherited(hints.get("return")):
        raise CapabilityDefinitionError(f"{where} returns `Inherited`: the conversation never goes to agent code.")
    return found


def _check_apart(parameters: list[inspect.Parameter], terms: Terms, where: str) -> None:
    for parameter in parameters:
        if parameter.name in terms.names:
            raise _taken(parameter.name, where)


def _taken(name: str, where: str) -> CapabilityDefinitionError:
    return CapabilityDefinitionError(
        f"{where}: no parameter can be called `{name}`, by which calls say how much of the conversation goes along."
    )


def _owner(shown: Sequence[inspect.Parameter], hints: Mapping[str, object]) -> str:
    """The name of the handle whose method this is: it takes one first."""
    if not shown or shown[0].kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD:
        return ""
    kind = _bare(hints[shown[0].name])
    return kind.__name__ if isinstance(kind, type) and result_of(kind) else ""


def _bare(hint: object) -> object:
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def _mentions_inherited(hint: object) -> bool:
    return hint is Inherited or any(_mentions_inherited(argument) for argument in get_args(hint))


def _parameter(parameter: inspect.Parameter, hints: Mapping[str, object], where: str) -> Parameter:
    name = parameter.name
    if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
        raise CapabilityDefinitionError(
            f"{where}: `{name}` is positional-only: leave out the `/`, so that calls can name it."
        )
    if name not in hints:
        raise CapabilityDefinitionError(f"{where}: the parameter `{name}` has no type: write `{name}: str`, say.")
    if keyword.iskeyword(name):
        raise CapabilityDefinitionError(f"{where}: `{name}` is a word of Python itself and cannot name a parameter.")
    shape = _shape(hints[name], f"{where}: the type of `{name}`")
    required = parameter.default is inspect.Parameter.empty and parameter.kind not in (
        inspect.Parameter.VAR_POSITIONAL,
        inspect.Parameter.VAR_KEYWORD,
    )
    has_default = parameter.default is not inspect.Parameter.empty
    if has_default:
        try:
            shapes.check(parameter.default, shape, records={})
        except TypeError as error:
            raise CapabilityDefinitionError(
                f"{where}: the default of `{name}` does not fit its type: {error}."
            ) from error
    return Parameter(
        name=name,
        kind=_KINDS[parameter.kind],
        shape=shape,
        annotation=type_text(hints[name], written=True),
        required=required,
        default=default_text(parameter.default) if has_default else "",
    )


def _shape(hint: object, what: str) -> Shape:
    try:
        records = records_in(hint)
        shape = of(hint)
        _check_literals(shape)
        for record in records.values():
            for inner in field_shapes(record).values():
                _check_literals(inner)
    except (TypeError, ValueError) as error:
        raise CapabilityDefinitionError(f"{what} is refused: {error}.") from error
    if not {Conversation, Inherited}.isdisjoint(records.values()):
        raise CapabilityDefinitionError(
            f"{what} is refused: the conversation never goes through agent code; take it by `*, inherited: Inherited`."
        )
    return shape


def _check_literals(shape: object) -> None:
    """Refuse literals that agent code could not write."""
    if isinstance(shape, str) or not isinstance(shape, Sequence) or not shape:
        return
    if shape[0] == "literal":
        for value in shape[1:]:
            if isinstance(value, enum.Enum):
                raise TypeError(
                    f"it is a literal of {value}, and agent code has no enum members: write its name as text"
                )
        return
    for part in shape[1:]:
        _check_literals(part)


def _doc(doc: str | None, hidden: str | None, where: str) -> str:
    text = outward_doc(doc, hidden)
    if hidden is not None and (words := speaks_of(text, hidden)) is not None:
        raise CapabilityDefinitionError(
            f"{where}: its docstring speaks of {words}, which agents neither see nor pass: "
            "describe what the call does instead."
        )
    return text
