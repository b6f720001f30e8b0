"""R65: sessions and their copies share one workspace. Files outlive them; what is open in one is its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from sandbox import Limits, Session, SessionBusy, SuspendedError, open_sandbox, resume_sandbox
from sandbox.image import Image
from sandbox.moment import Moment
from sandbox.opening import load_template
from sandbox.settings import Settings
from sandbox.workspace import Workspace, WorkspaceLimits
from tests.calls import Answers

QUICK = Limits(cpu_seconds=0.2, grace_seconds=0.2)
FOREVER = "while True:\n    try:\n        while True: pass\n    except BaseException: pass"
OPENED = "f = open('a', 'w+')\nf.write('one ')\nf.flush()"


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace(tmp_path, limits=WorkspaceLimits(open_files=10)) as made:
        yield made


def contents(workspace: Workspace, name: str = "a") -> str:
    return (Path(workspace.folder) / name).read_text()


async def value(session: Session, source: str) -> object:
    outcome = await session.run(source)
    assert outcome.error is None, outcome.error
    return outcome.value


async def started(image: Image, moment: Moment, workspace: Workspace | None) -> Session:
    """A session that starts from a moment of another one."""
    return Session(await load_template(image), Settings(workspace=workspace), Answers(), moment=moment)


class TestShared:
    async def test_r65_two_sessions_see_each_others_files_at_once(self, image: Image, workspace: Workspace) -> None:
        """In the middle of their cells, too, in both directions."""
        one_wrote, other_wrote = trio.Event(), trio.Event()
        waiting = {"one": other_wrote, "other": one_wrote}

        async def answer(call: object) -> None:
            {"one": one_wrote, "other": other_wrote}[call.args[0]].set()  # type: ignore[attr-defined]
            await waiting[call.args[0]].wait()  # type: ignore[attr-defined]

        source = "open('{0}', 'w').write('by {0}')\nawait wait('{0}')\nopen('{1}').read()"
        async with (
            open_sandbox(answer, names=["wait"], image=image, workspace=workspace) as one,
            open_sandbox(answer, names=["wait"], image=image, workspace=workspace) as other,
            trio.open_nursery() as nursery,
        ):
            seen: list[object] = []

            async def run(session: Session, mine: str, theirs: str) -> None:
                seen.append(await value(session, source.format(mine, theirs)))

            nursery.start_soon(run, one, "one", "other")
            nursery.start_soon(run, other, "other", "one")
        assert sorted(map(str, seen)) == ["by one", "by other"]

    async def test_r65_files_outlive_the_session_that_wrote_them(self, image: Image, workspace: Workspace) -> None:
        """And are there for the next one."""
        async with open_sandbox(image=image, workspace=workspace) as session:
            await value(session, "open('a', 'w').write('kept')")
        async with open_sandbox(image=image, workspace=workspace) as session:
            assert await value(session, "open('a').read()") == "kept"

    async def test_appending_sessions_do_not_write_over_each_other(self, image: Image, workspace: Workspace) -> None:
        """The end is looked for and written to under one lock."""
        source = "with open('log', 'ab', buffering=0) as f:\n    for n in range(100): f.write(b'line\\n')"
        async with (
            open_sandbox(image=image, workspace=workspace) as one,
            open_sandbox(image=image, workspace=workspace) as other,
            trio.open_nursery() as nursery,
        ):
            nursery.start_soon(one.run, source.replace("line", "one"))
            nursery.start_soon(other.run, source.replace("line", "two"))
        assert sorted(contents(workspace, "log").splitlines()) == ["one"] * 100 + ["two"] * 100

    async def test_a_session_closes_what_it_left_open(self, image: Image, workspace: Workspace) -> None:
        """A removed file takes no room any more then."""
        async with open_sandbox(image=image, workspace=workspace) as session:
            await value(session, "import os\nf = open('a', 'wb', buffering=0)\nf.write(b'x' * 100)\nos.remove('a')")
            assert workspace.used == (100, 0)
        assert workspace.used == (0, 0)


class TestForks:
    async def test_r65_a_copy_has_the_same_workspace(self, image: Image, workspace: Workspace) -> None:
        """What either writes, both see, and the names go their own ways."""
        async with open_sandbox(image=image, workspace=workspace) as session:
            await value(session, "open('a', 'w').write('before')\nx = 1")
            async with await session.fork() as copy:
                assert await value(copy, "x = 2\nopen('b', 'w').write('copy')\nopen('a').read()") == "before"
                assert await value(session, "x, open('b').read()") == (1, "copy")

    async def test_a_copy_has_the_same_files_open_at_the_same_places(self, image: Image, workspace: Workspace) -> None:
        """From there on each has a place of its own, and closing it in one leaves it open in the other."""
        async with open_sandbox(image=image, workspace=workspace) as session:
            await value(session, OPENED)
            async with await session.fork() as copy:
                assert await value(session, "f.write('two')\nf.close()") is None
                assert await value(copy, "f.tell(), f.read()") == (4, "two")
                assert await value(copy, "f.seek(0)\nf.read()") == "one two"
            assert await value(session, "f.closed") is True

    async def test_a_copy_of_a_cell_that_waits_with_a_file_open(self, image: Image, workspace: Workspace) -> None:
        """Each goes on writing in its own copy of it."""
        answers = Answers()
        source = f"{OPENED}\nwho = await slow(1)\nf.write(who)\nf.close()"
        async with open_sandbox(answers, names=["slow"], image=image, workspace=workspace) as session:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(session.run, source)
                await answers.started.wait()
                copy = await session.fork(call=Answers(slow=lambda _: "copy"))
                nursery.cancel_scope.cancel()
            async with copy:
                outcome = await copy.finish()
                assert outcome.error is None
        assert contents(workspace) == "one copy"

    async def test_a_moment_brings_no_open_files_along(self, image: Image, workspace: Workspace) -> None:
        """Whoever starts from it may have another workspace, or none. What was kept open is a bad descriptor there, and
        never another file.
        """
        async with open_sandbox(image=image, workspace=workspace) as session:
            await value(session, OPENED)
            moment = await session.moment()
            with Workspace.temporary() as other:
                for given in (other, workspace):
                    async with await started(image, moment, given) as child:
                        await value(child, "g = open('b', 'w')\ng.write('g')\ng.flush()")
                        outcome = await child.run("f.write('lost')\nf.flush()")
                        assert outcome.error is not None
                        assert outcome.error.message == "[Errno 8] Bad file descriptor"
                        assert await value(child, "open('b').read()") == "g"
                assert other.list(()) == [("b", False)]
            async with await started(image, moment, None) as child:
                outcome = await child.run("open('a')")
                assert outcome.error is not None
                assert "There are no files here" in outcome.error.message
                outcome = await child.run("import io\nio.FileIO('/workspace/a')")
                assert outcome.error is not None
                assert outcome.error.type == "FileNotFoundError"
        assert contents(workspace) == "one "

    async def test_a_moment_without_a_workspace_may_be_given_one(self, image: Image, workspace: Workspace) -> None:
        """libc had asked where files are before there were any."""
        async with open_sandbox(image=image) as session:
            await value(session, "import os\nos.path.exists('/workspace')")
            async with await started(image, await session.moment(), workspace) as child:
                assert await value(child, "open('a', 'w').write('x')\nos.getcwd()") == "/workspace"
        assert contents(workspace) == "x"


class TestRollback:
    async def test_files_stay_as_the_cell_left_them_and_the_outcome_says_so(
        self, image: Image, workspace: Workspace
    ) -> None:
        """The names are put back, and the files are not."""
        async with open_sandbox(image=image, limits=QUICK, workspace=workspace) as session:
            await value(session, "open('before', 'w').close()\nx = 1")
            outcome = await session.run(f"open('a', 'w').write('written')\nopen('before').read()\nx = 2\n{FOREVER}")
            assert outcome.session == "restored"
            assert outcome.notices == ("Changes to files that are not undone: /workspace/a.",)
            assert await value(session, "x, open('a').read()") == (1, "written")

    async def test_many_changes_are_shortened(self, image: Image, workspace: Workspace) -> None:
        """Removed and renamed ones, and folders, are among them."""
        source = "import os\nos.mkdir('d')\nopen('a', 'w')\nos.rename('a', 'b')\nos.remove('b')\n"
        many = "for n in range(20): open(str(n), 'w')\n"
        async with open_sandbox(image=image, limits=QUICK, workspace=workspace) as session:
            outcome = await session.run(source + many + FOREVER)
            names = ", ".join(f"/workspace/{name}" for name in ["d", "a", "b", *range(7)])
            assert outcome.notices == (f"Changes to files that are not undone: {names}, ....",)
            outcome = await session.run(FOREVER)
            assert outcome.notices == ()

    async def test_what_the_cell_opened_is_closed_and_what_it_closed_is_open_again(
        self, image: Image, workspace: Workspace
    ) -> None:
        """The table of open files is put back with the memory that knows their numbers."""
        async with open_sandbox(image=image, limits=QUICK, workspace=workspace) as session:
            await value(session, OPENED)
            outcome = await session.run(f"f.close()\ng = open('b', 'w')\n{FOREVER}")
            assert outcome.session == "restored"
            assert session._interpreter is not None
            assert session._interpreter.files.opened == ("/workspace/a",)
            assert await value(session, "f.write('two')\nf.close()\nopen('a').read()") == "one two"

    async def test_a_session_that_is_lost_starts_with_nothing_open(self, image: Image, workspace: Workspace) -> None:
        """The next interpreter has the same workspace."""
        async with open_sandbox(image=image, limits=QUICK, workspace=workspace, rollback=False) as session:
            outcome = await session.run(f"{OPENED}\n{FOREVER}")
            assert outcome.session == "lost"
            assert outcome.notices == ("Changes to files that are not undone: /workspace/a.",)
            assert await value(session, "open('a').read()") == "one "


class TestSleep:
    async def test_a_session_with_open_files_is_not_put_to_sleep(self, image: Image, workspace: Workspace) -> None:
        """It says which, and can go on, close them, and be put to sleep."""
        async with open_sandbox(image=image, workspace=workspace) as session:
            await value(session, OPENED)
            with pytest.raises(SessionBusy, match=r"files open, and cannot .* closed: /workspace/a$"):
                await session.suspend()
            await value(session, "f.close()\nx = 1")
            data = await session.suspend()
        async with resume_sandbox(data, image=image, workspace=workspace) as session:
            assert await value(session, "x, open('a').read()") == (1, "one ")

    async def test_in_the_middle_of_a_cell_too(self, image: Image, workspace: Workspace) -> None:
        """The cell is not ended by the attempt."""
        answers = Answers()
        async with open_sandbox(answers, names=["slow"], image=image, workspace=workspace) as session:
            outcomes = []

            async def run() -> None:
                outcomes.append(await session.run(f"{OPENED}\nawait slow(1)\nf.write('two')\nf.close()"))

            async with trio.open_nursery() as nursery:
                nursery.start_soon(run)
                await answers.started.wait()
                with pytest.raises(SessionBusy, match="files open"):
                    await session.suspend()
                answers.go.set()
            assert outcomes[0].error is None
        assert contents(workspace) == "one two"

    async def test_whoever_wakes_it_brings_a_workspace(self, image: Image, workspace: Workspace) -> None:
        """The same one or another; without one it is not woken. One that had none gets none."""
        async with open_sandbox(image=image, workspace=workspace) as session:
            data = await session.suspend()
        with pytest.raises(SuspendedError, match="opened with a workspace"):
            async with resume_sandbox(data, image=image):
                pass
        with Workspace.temporary() as other:
            async with resume_sandbox(data, image=image, workspace=other) as session:
                await value(session, "open('a', 'w').write('x')")
            assert contents(other) == "x"
        async with open_sandbox(image=image) as session:
            data = await session.suspend()
        async with resume_sandbox(data, image=image, workspace=workspace) as session:
            outcome = await session.run("import io\nio.FileIO('/workspace/b', 'w')")
            assert outcome.error is not None
        assert workspace.used == (0, 0)

    async def test_a_file_that_only_the_checkpoint_had_open_is_a_bad_descriptor(
        self, image: Image, workspace: Workspace
    ) -> None:
        """Closed in the cell in which it was put to sleep, and put back to before that cell after it woke."""
        answers = Answers()
        async with open_sandbox(answers, names=["slow"], image=image, workspace=workspace, limits=QUICK) as session:
            await value(session, OPENED)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(
                    session.run, f"f.close()\ntry:\n    await slow(1)\nexcept Exception: pass\n{FOREVER}"
                )
                await answers.started.wait()
                data = await session.suspend()
        async with resume_sandbox(data, Answers(), image=image, workspace=workspace) as session:
            outcome = await session.finish()
            assert outcome.session == "restored"
            await value(session, "g = open('b', 'w')")
            outcome = await session.run("f.write('x')\nf.flush()")
            assert outcome.error is not None
            assert outcome.error.message == "[Errno 8] Bad file descriptor"
