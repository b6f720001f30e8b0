"""Row 1 and 2 of the usual mistakes: calls that were not awaited, and places that cannot await."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from guest_stdlib.pending import PendingCall
from tests.proxy_session import CONTACTS, NEVER, Session


@pytest.fixture
def session() -> Iterator[Session]:
    session = Session()
    yield session
    session.close()


@pytest.mark.parametrize(
    ("code", "corrected"),
    [
        ('print(contacts.ask("Sarah?"))', 'print(await contacts.ask("Sarah?"))'),
        ('str(contacts.ask("Sarah?"))', 'str(await contacts.ask("Sarah?"))'),
        ('f"to {contacts.ask("Sarah?")}"', 'f"to {await contacts.ask("Sarah?")}"'),
        ('"to %s" % contacts.ask("Sarah?")', '"to %s" % await contacts.ask("Sarah?")'),
        ('"to " + contacts.ask("Sarah?")', '"to " + await contacts.ask("Sarah?")'),
        ('contacts.find("Sarah")[0]', '(await contacts.find("Sarah"))[0]'),
        ('contacts.ask("Sarah?").email', '(await contacts.ask("Sarah?")).email'),
        ('contacts.ask("Sarah?").email.lower()', '(await contacts.ask("Sarah?")).email.lower()'),
        ('await contacts.ask("Sarah?").email', '(await contacts.ask("Sarah?")).email'),
        ('for found in contacts.find("Sarah"): pass', 'for found in await contacts.find("Sarah"): pass'),
        ('len(contacts.find("Sarah"))', 'len(await contacts.find("Sarah"))'),
        ('if contacts.find("Sarah"): pass', 'if await contacts.find("Sarah"): pass'),
        ('contacts.find("Sarah") == []', 'await contacts.find("Sarah") == []'),
        ('"Sarah" in contacts.find("Sarah")', '"Sarah" in await contacts.find("Sarah")'),
        ('contacts.find("Sarah") > 3', 'await contacts.find("Sarah") > 3'),
        ('int(contacts.find("Sarah"))', 'int(await contacts.find("Sarah"))'),
        ('sorted(contacts.find("Sarah"))', 'sorted(await contacts.find("Sarah"))'),
        ('first, second = contacts.find("Sarah")', 'first, second = await contacts.find("Sarah")'),
        ('print(*contacts.find("Sarah"))', 'print(*await contacts.find("Sarah"))'),
        ('x = {"to": contacts.ask("Å?")}["to"]; x.email', 'x = {"to": await contacts.ask("Å?")}["to"]; x.email'),
    ],
)
def test_mistake_01_a_call_used_as_its_answer_is_refused_with_the_corrected_line(
    session: Session, code: str, corrected: str
) -> None:
    """Whatever is done with an unawaited call raises at once, and says what the line should be."""
    error = session.fail(code)
    call = "contacts.ask(...)" if "ask" in code else "contacts.find(...)"
    assert type(error) is TypeError
    assert str(error) == f"{call} on line 1 was not awaited. Write: {corrected}"
    assert session.made == []


def test_mistake_01_the_line_is_that_of_the_call_not_of_its_use(session: Session) -> None:
    """A call that is kept in a name is corrected where it was made."""
    error = session.fail('import json\nanswer = contacts.ask("Sarah?")\nprint("asked")\nprint(answer["email"])')
    assert str(error) == 'contacts.ask(...) on line 2 was not awaited. Write: answer = await contacts.ask("Sarah?")'


def test_mistake_01_a_call_over_several_lines_is_corrected_on_one(session: Session) -> None:
    """The correction of a long call is one line that can be copied."""
    error = session.fail('answer = contacts.ask(\n    "Sarah?",\n    context="cold",\n)\nprint(answer)')
    assert str(error) == (
        "contacts.ask(...) on line 1 was not awaited. Write: answer = await contacts.ask('Sarah?', context='cold')"
    )


def test_mistake_01_all_calls_on_the_line_are_corrected_together(session: Session) -> None:
    """A line with two forgotten awaits is not corrected by halves."""
    error = session.fail('a, b = contacts.find("A"), contacts.find("B")\nprint(b)')
    assert str(error) == (
        'contacts.find(...) on line 1 was not awaited. Write: a, b = await contacts.find("A"), await contacts.find("B")'
    )


def test_mistake_01_a_call_given_to_another_call_is_refused(session: Session) -> None:
    """An unawaited call cannot be an argument: what it stands for would never arrive."""
    error = session.fail('await outbox.send(contacts.ask("Sarah?"), "Hello")')
    assert str(error) == (
        'contacts.ask(...) on line 1 was not awaited. Write: await outbox.send(await contacts.ask("Sarah?"), "Hello")'
    )
    error = session.fail('await outbox.send([contacts.ask("Sarah?")], "Hello")')
    assert str(error) == (
        'contacts.ask(...) on line 1 was not awaited. Write: await outbox.send([await contacts.ask("Sarah?")], "Hello")'
    )
    assert session.made == []
    assert session.refused == 2


def test_mistake_01_calls_never_awaited_are_named_at_the_end(session: Session) -> None:
    """Each call that was written and not made is one sentence, with the line to write."""
    session.run(
        'outbox.send("a@b.c", "Hello")\nfound = [contacts.find(name) for name in "ABC"]\nawait contacts.find("D")\n1'
    )
    assert session.unawaited.sentences() == [
        'outbox.send(...) on line 1 was never awaited, so it was not made. Write: await outbox.send("a@b.c", "Hello")',
        (
            "contacts.find(...) on line 2 was never awaited, 3 times, so these calls were not made. "
            'Write: found = [await contacts.find(name) for name in "ABC"]'
        ),
    ]
    session.run("1")
    assert session.unawaited.sentences() == []


def test_mistake_01_a_call_on_the_last_line_has_a_notice_for_whoever_awaits_it(session: Session) -> None:
    """The runtime awaits the call that a cell ends with, and tells what should have been written."""
    call = session.run('contacts.ask("Sarah?")')
    assert isinstance(call, PendingCall)
    assert call.awaited_for_you() == (
        'contacts.ask(...) on line 1 was awaited for you. Write: await contacts.ask("Sarah?")'
    )
    assert session.block(call) == "contacts.ask('Sarah?',)"
    assert session.unawaited.sentences() == []


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (
            'def address(who):\n    return contacts.ask(who).email\naddress("Sarah?")',
            (
                'address is a plain function, which cannot await. Make it "async def address(...)", '
                'write "await address(...)" where it is called and await this call in it, '
                "or write: return contacts.ask.blocking(who).email"
            ),
        ),
        (
            'ask = lambda who: contacts.ask(who).email\nask("Sarah?")',
            "A lambda cannot await. Write: ask = lambda who: contacts.ask.blocking(who).email",
        ),
        (
            'class Book:\n    owner = contacts.ask("Sarah?").email',
            'A class body cannot await. Write: owner = contacts.ask.blocking("Sarah?").email',
        ),
        (
            'print(*(contacts.find(name)[0] for name in "AB"))',
            'Write: print(*([(await contacts.find(name))[0] for name in "AB"]))',
        ),
        (
            'sum(contacts.find(name) for name in "AB")',
            'Write: sum([await contacts.find(name) for name in "AB"])',
        ),
        (
            'sorted(map(contacts.find, ["A", "B"]))',
            'Write: sorted(map(contacts.find.blocking, ["A", "B"]))',
        ),
        (
            'async def both(a, b=contacts.find("A")[0]):\n    pass',
            'Write: async def both(a, b=(await contacts.find("A"))[0]):',
        ),
    ],
)
def test_mistake_01_where_code_cannot_await_the_correction_says_what_can_be_done(
    session: Session, code: str, advice: str
) -> None:
    """In plain functions, lambdas, class bodies and generators an await alone would be a mistake of its own."""
    assert str(session.fail(code)).split(" was not awaited. ")[1] == advice


def test_mistake_01_without_its_source_a_call_is_still_named(session: Session) -> None:
    """Code that was made at run time has no line to correct."""
    error = session.fail("exec(\"print(contacts.ask('Sarah?'))\")")
    assert str(error) == "contacts.ask(...) on line 1 was not awaited. Write: await contacts.ask(...)"


def test_mistake_01_looking_at_a_call_does_not_fail(session: Session) -> None:
    """repr, hash, and what inspect and copy probe for work on an unawaited call: tracebacks and debuggers use them."""
    call = session.run('contacts.ask("Sarah?", context="cold")')
    assert repr(call) == "<coroutine contacts.ask('Sarah?') on line 1, not awaited>"
    assert repr([call]) == "[<coroutine contacts.ask('Sarah?') on line 1, not awaited>]"
    assert len({call, call}) == 1
    assert not hasattr(call, "cr_code")
    assert not hasattr(call, "__len_hint__")
    call.close()
    assert repr(call) == "<coroutine contacts.ask('Sarah?') on line 1, awaited>"


def test_mistake_01_an_awaited_call_is_still_not_its_answer(session: Session) -> None:
    """After an await the answer is what await gave; the call itself has nothing to read."""
    error = session.fail('call = contacts.ask("Sarah?")\nawait call\nprint(call)')
    assert str(error) == (
        "contacts.ask(...) on line 1 is the call, not its answer. "
        "Keep what await gives: answer = await contacts.ask(...)"
    )


def test_mistake_01_a_call_in_json_is_named_by_the_hint(session: Session) -> None:
    """Where only CPython's own message appears, the hint names the call."""
    hint = session.hint('import json\njson.dumps({"to": contacts.ask("Sarah?")})')
    assert hint == (
        "contacts.ask(...) on line 2 was never awaited, so it was not made. "
        'Write: json.dumps({"to": await contacts.ask("Sarah?")})'
    )


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        (
            "def address(who):\n    answer = await contacts.ask(who)\n    return answer.email",
            (
                'address is a plain function, which cannot await. Make it "async def address(...)", '
                'write "await address(...)" where it is called, or write in it: contacts.ask.blocking(who)'
            ),
        ),
        (
            "import asyncio\ndef pause():\n    await asyncio.sleep(1)",
            (
                'pause is a plain function, which cannot await. Make it "async def pause(...)", '
                'write "await pause(...)" where it is called.'
            ),
        ),
        (
            "class Book:\n    def owner(self):\n        é = 1; return await contacts.ask(self.name)",
            (
                'owner is a plain function, which cannot await. Make it "async def owner(...)", '
                'write "await owner(...)" where it is called, or write in it: contacts.ask.blocking(self.name)'
            ),
        ),
        (
            "ask = lambda who: await contacts.ask(who)",
            "A lambda cannot await. Write: contacts.ask.blocking(who)",
        ),
        (
            "class Book:\n    owner = await contacts.ask('Sarah?')",
            "A class body cannot await. Write: contacts.ask.blocking('Sarah?')",
        ),
        (
            "def addresses(names):\n    return [await contacts.ask(name) for name in names]",
            (
                'addresses is a plain function, which cannot await. Make it "async def addresses(...)", '
                'write "await addresses(...)" where it is called.'
            ),
        ),
        (
            "def addresses(names):\n    async for name in names:\n        pass",
            (
                'addresses is a plain function, which cannot await. Make it "async def addresses(...)", '
                'write "await addresses(...)" where it is called.'
            ),
        ),
    ],
)
def test_mistake_02_await_in_a_plain_def_names_the_function_to_make_async(
    session: Session, code: str, hint: str
) -> None:
    """The hint names the function, and the blocking form where there is one."""
    error = session.fail(code)
    assert isinstance(error, SyntaxError)
    assert session.hint(code) == hint


def test_mistake_02_the_blocking_form_that_the_hint_names_works(session: Session) -> None:
    """A plain def, a lambda, a class body and map can all use it."""
    assert session.run('def f(who):\n    return contacts.ask.blocking(who)\nf("Sarah?")') == "contacts.ask('Sarah?',)"
    assert session.run('(lambda who: contacts.ask.blocking(who))("Sarah?")') == "contacts.ask('Sarah?',)"
    assert (
        session.run('class Book:\n    owner = contacts.ask.blocking("Sarah?")\nBook.owner') == "contacts.ask('Sarah?',)"
    )
    assert session.run('list(map(contacts.find.blocking, ["A", "B"]))') == [
        "contacts.find('A',)",
        "contacts.find('B',)",
    ]


def test_a_correction_never_shows_a_line_that_is_too_long_to_read() -> None:
    """Of a very long line only the call is shown, and of a very long call only its beginning."""
    session = Session(CONTACTS, answer=lambda _: NEVER)
    long = '"' + "x" * 300 + '"'
    said = str(session.fail(f"print(contacts.ask({long}))"))
    assert len(said) < 300
    assert said.endswith("xxx...)")
    session.close()
