"""Row 5 and 14 of the usual mistakes: wrong names, wrong arguments, and gaps that were never filled in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from guest_stdlib.declared import Declared, Method
from tests.proxy_session import CONTEXT, Session, parameter, shown

FIND = "Signature: contacts.find(name: str) -> list[Contact]"
ASK = "Signature: contacts.ask(question: str, *, context: Literal['fork', 'cold'] = 'fork') -> Contact"
FILES = "Signature: search.files(query: str, limit: int = 10) -> list[File]"
SEND = "Signature: outbox.send(to: str | list[str], subject: str, body: str = '', *, attach: list[str] = ()) -> None"

MANY = Declared(
    name="many",
    methods=(
        Method(
            name="read",
            parameters=(
                parameter("first"),
                parameter("paths", kind="var_positional"),
                parameter("options", "int", shape="int", kind="var_keyword"),
            ),
            choice=(CONTEXT,),
        ),
        Method(
            name="tag", parameters=(parameter("pairs", "dict[str, list[int]]", shape=["dict", "str", ["list", "int"]]),)
        ),
        Method(name="none"),
    ),
)


@pytest.fixture
def session() -> Iterator[Session]:
    session = Session()
    yield session
    session.close()


@pytest.mark.parametrize(
    ("code", "message"),
    [
        # names of methods
        (
            'await contacts.fnd("Sarah")',
            (
                "AttributeError: contacts has no method 'fnd'. Did you mean 'find'? It has: "
                "contacts.find(name: str) -> list[Contact], "
                "contacts.ask(question: str, *, context: Literal['fork', 'cold'] = 'fork') -> Contact."
            ),
        ),
        (
            'await search.read_file("a.txt")',
            (
                "AttributeError: search has no method 'read_file'. Did you mean 'read'? It has: "
                "search.files(query: str, limit: int = 10) -> list[File], search.read(path: str) -> str."
            ),
        ),
        (
            'await outbox.publish("x")',
            (
                "AttributeError: outbox has no method 'publish'. It has: "
                "outbox.send(to: str | list[str], subject: str, body: str = '', *, attach: list[str] = ()) -> None."
            ),
        ),
        ("contacts._private", "AttributeError: 'contacts' object has no attribute '_private'"),
        # names of arguments
        (
            'await contacts.find(nam="Sarah")',
            f"TypeError: contacts.find() got an unexpected keyword argument 'nam'. Did you mean 'name'? {FIND}",
        ),
        (
            'await contacts.find(name="Sarah", fuzzy=True)',
            f"TypeError: contacts.find() got an unexpected keyword argument 'fuzzy'. {FIND}",
        ),
        (
            'await search.files(query="report", max_limit=3)',
            f"TypeError: search.files() got an unexpected keyword argument 'max_limit'. Did you mean 'limit'? {FILES}",
        ),
        # too few, too many, twice
        ("await contacts.find()", f"TypeError: contacts.find() is missing 1 required argument: 'name'. {FIND}"),
        (
            "await outbox.send()",
            f"TypeError: outbox.send() is missing 2 required arguments: 'to' and 'subject'. {SEND}",
        ),
        (
            'await contacts.find("Sarah", "Miller")',
            f"TypeError: contacts.find() takes 1 positional argument but 2 were given. {FIND}",
        ),
        (
            'await contacts.find("Sarah", name="Miller")',
            (
                "TypeError: contacts.find() got multiple values for argument 'name': "
                f"it is also number 1 of the positional ones. {FIND}"
            ),
        ),
        # positional where a name is needed
        (
            'await contacts.ask("Sarah?", "cold")',
            (
                "TypeError: contacts.ask() takes 1 positional argument but 2 were given. "
                f"To be given by name: context. {ASK}"
            ),
        ),
        (
            'await outbox.send("a@b.c", "Hello", "", ["report.pdf"])',
            (
                "TypeError: outbox.send() takes 3 positional arguments but 4 were given. "
                f"To be given by name: attach. {SEND}"
            ),
        ),
        # types
        ("await contacts.find(7)", f"TypeError: contacts.find(): name: expected str, got int (7). {FIND}"),
        ("await contacts.find(None)", f"TypeError: contacts.find(): name: expected str, got None. {FIND}"),
        (
            'await search.files("report", "3")',
            f"TypeError: search.files(): limit: expected int, got str ('3'). {FILES}",
        ),
        (
            'await search.files("report", limit=True)',
            f"TypeError: search.files(): limit: expected int, got bool (True). {FILES}",
        ),
        (
            'await outbox.send(["a@b.c", 7], "Hello")',
            f"TypeError: outbox.send(): to[1]: expected str, got int (7). {SEND}",
        ),
        (
            'await outbox.send({"to": "a@b.c"}, "Hello")',
            f"TypeError: outbox.send(): to: expected str | list[str], got dict ({{'to': 'a@b.c'}}). {SEND}",
        ),
        (
            "await contacts.find(contacts)",
            f"TypeError: contacts.find(): name: expected str, got contacts (<contacts: find, ask>). {FIND}",
        ),
        # the choice of context
        (
            'await contacts.ask("Sarah?", context="warm")',
            'ValueError: contacts.ask(): context is "fork" or "cold", not \'warm\'.',
        ),
        (
            'await contacts.ask("Sarah?", context=None)',
            'ValueError: contacts.ask(): context is "fork" or "cold", not None.',
        ),
        (
            'await contacts.find("Sarah", context="cold")',
            (
                "TypeError: contacts.find() got an unexpected keyword argument 'context'. "
                f"It does not delegate, so there is no context to choose. {FIND}"
            ),
        ),
    ],
)
def test_mistake_05_a_wrong_call_is_refused_with_the_nearest_name_and_the_signature(
    session: Session, code: str, message: str
) -> None:
    """The message is exact, raised at the agent's own line, and nothing crosses."""
    error = session.fail(f"\n{code}")
    assert shown(error) == message
    assert session.made == []
    assert session.unawaited.sentences() == []
    assert session.refused == (0 if isinstance(error, AttributeError) else 1)


def test_mistake_05_a_refusal_is_raised_at_the_agents_line(session: Session) -> None:
    """One frame of ours at most lies below it, and none of what checks the arguments."""
    error = session.fail("x = 1\nawait contacts.find(7)")
    trace = error.__traceback__
    lines = []
    while trace is not None:
        lines.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    own = [number for filename, number in lines if filename.startswith("<cell")]
    assert own == [2]
    assert len(lines) - lines.index(("<cell 1>", 2)) == 2


def test_mistake_05_the_blocking_form_refuses_in_the_same_words(session: Session) -> None:
    """Blocking or not, the argument is wrong."""
    assert str(session.fail("contacts.find.blocking(7)")) == f"contacts.find(): name: expected str, got int (7). {FIND}"
    assert session.refused == 1


def test_mistake_05_refusals_are_exceptions_that_code_can_catch(session: Session) -> None:
    """Each is counted, and the code goes on."""
    code = (
        "caught = 0\n"
        "for wrong in (7, None, []):\n"
        "    try:\n"
        "        await contacts.find(wrong)\n"
        "    except TypeError:\n"
        "        caught += 1\n"
        "caught"
    )
    assert session.run(code) == 3
    assert session.refused == 3


def test_mistake_05_arguments_by_position_that_have_a_name_of_their_own() -> None:
    """*paths are given by position, ** options by any name; each is checked, and named in the message."""
    session = Session(MANY)
    signature = "Signature: many.read(first: str, *paths: str, context: Literal['fork', 'cold'] = 'fork', **options: int) -> Any"
    session.run('await many.read("a", "b", "c", depth=1, context="cold")\nawait many.none()')
    assert [(made.args, made.kwargs, made.context) for made in session.made] == [
        (("a", "b", "c"), {"depth": 1}, {"context": "cold"}),
        ((), {}, {}),
    ]
    assert (
        str(session.fail('many.read("a", "b", 3)')) == f"many.read(): paths[1]: expected str, got int (3). {signature}"
    )
    assert (
        str(session.fail('many.read("a", depth="1")'))
        == f"many.read(): depth: expected int, got str ('1'). {signature}"
    )
    assert str(session.fail("many.none(1)")) == (
        "many.none() takes 0 positional arguments but 1 was given. Signature: many.none() -> Any"
    )
    assert str(session.fail('many.tag({"a": [1, "2"]})')) == (
        "many.tag(): pairs['a'][1]: expected int, got str ('2'). Signature: many.tag(pairs: dict[str, list[int]]) -> Any"
    )
    session.close()


def test_mistake_05_a_variadic_parameter_cannot_be_named() -> None:
    """The reverse of a missing name: the message says how it is given."""
    session = Session(
        Declared(name="many", methods=(Method(name="read", parameters=(parameter("paths", kind="var_positional"),)),))
    )
    assert str(session.fail('many.read(paths=["a"])')) == (
        "many.read() got an unexpected keyword argument 'paths'. Give paths by position: many.read(first, second). "
        "Signature: many.read(*paths: str) -> Any"
    )
    session.close()


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            "await contacts.find(...)",
            "contacts.find(): name on line 2 is still a gap (...). Put the real value there.",
        ),
        (
            'await outbox.send(to=[...], subject="Hello")',
            "outbox.send(): to on line 2 is still a gap (...). Put the real value there.",
        ),
        (
            'await contacts.ask("<your question>")',
            (
                'contacts.ask(): question on line 2 is still the placeholder "<your question>". '
                "Put the real value there, or put this very text in a variable first if it is meant."
            ),
        ),
        (
            'await outbox.send(\n    "<email>",\n    subject="<subject>",\n)',
            (
                'outbox.send(): to on line 3 is still the placeholder "<email>". '
                "Put the real value there, or put this very text in a variable first if it is meant."
            ),
        ),
        (
            'await outbox.send(\n    "a@b.c",\n    subject="<subject>",\n)',
            (
                'outbox.send(): subject on line 4 is still the placeholder "<subject>". '
                "Put the real value there, or put this very text in a variable first if it is meant."
            ),
        ),
        (
            'await outbox.send(["YOUR_EMAIL"], "Hello")',
            (
                'outbox.send(): to on line 2 is still the placeholder "YOUR_EMAIL". '
                "Put the real value there, or put this very text in a variable first if it is meant."
            ),
        ),
        (
            'await contacts.ask("TODO", context="cold")',
            (
                'contacts.ask(): question on line 2 is still the placeholder "TODO". '
                "Put the real value there, or put this very text in a variable first if it is meant."
            ),
        ),
        (
            'await contacts.ask("...")',
            (
                'contacts.ask(): question on line 2 is still the placeholder "...". '
                "Put the real value there, or put this very text in a variable first if it is meant."
            ),
        ),
        (
            'await lookup("<customer_id>")',
            (
                'lookup(): args[0] on line 2 is still the placeholder "<customer_id>". '
                "Put the real value there, or put this very text in a variable first if it is meant."
            ),
        ),
        (
            'await lookup(key="YOUR_API_KEY")',
            (
                'lookup(): key on line 2 is still the placeholder "YOUR_API_KEY". '
                "Put the real value there, or put this very text in a variable first if it is meant."
            ),
        ),
    ],
)
def test_mistake_14_a_placeholder_left_in_an_argument_is_named_with_its_line(
    session: Session, code: str, message: str
) -> None:
    """The argument, the line and the placeholder are named, and nothing crosses."""
    error = session.fail(f"\n{code}")
    assert type(error) is ValueError
    assert str(error) == message
    assert session.made == []
    assert session.refused == 1


@pytest.mark.parametrize(
    "code",
    [
        'text = "TODO"\nawait search.files(text)',  # meant: it came out of a variable
        'await search.files("TODO list")',
        'await search.files("<div>")',
        'await search.files("a < b > c")',
        "await outbox.send('a@b.c', 'Your <b>report</b>')",
        'await outbox.send("Sarah <sarah@b.c>", "Hello...")',
        'await search.files("your_name")',
        'await search.files("")',
    ],
)
def test_mistake_14_text_that_only_resembles_a_placeholder_passes(session: Session, code: str) -> None:
    """Markup, addresses and ellipses in real text are data."""
    session.run(code)
    assert len(session.made) == 1
