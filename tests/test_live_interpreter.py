"""L: a live interpreter is a value. Forked, put to sleep, woken in another process, in the middle of an await."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import trio

from guest_stdlib.declared import Declared, Method
from sandbox import (
    Call,
    SessionBusy,
    SessionClosed,
    SuspendedError,
    open_sandbox,
    read_suspended,
    resume_sandbox,
    snapshot,
)
from sandbox.image import Image
from tests.calls import NAMES, Answers

ASK = "y = await ask('which?')\n[x, y, sum(x)]"


async def refuse(call: Call) -> object:
    raise AssertionError(f"{call.path} was called")


def constant(value: str) -> Callable[[Call], object]:
    return lambda _call: value


class TestFork:
    async def test_r91_a_fork_has_the_same_names_and_goes_its_own_way(self, image: Image) -> None:
        """Neither sees the other's later changes."""
        async with open_sandbox(image=image) as session:
            await session.run("x = [1]")
            copy = await session.fork()
            await session.run("x.append('original')")
            await copy.run("x.append('copy')")
            assert (await session.run("x")).value == [1, "original"]
            assert (await copy.run("x")).value == [1, "copy"]
            await copy.aclose()

    async def test_r91_in_the_middle_of_an_await_each_copy_settles_the_calls_for_itself(self, image: Image) -> None:
        """Three copies and the original get four answers."""
        answers = Answers(ask=lambda call: "original")
        waits = trio.Event()
        free = trio.Event()

        async def answer(_call: Call) -> object:
            waits.set()
            await free.wait()
            return "original"

        async with open_sandbox(answer, names=["ask"], image=image) as session:
            await session.run("x = [1, 2]")
            outcomes: list[object] = []
            async with trio.open_nursery() as nursery:

                @nursery.start_soon
                async def original() -> None:
                    outcomes.append((await session.run(ASK)).value)

                await waits.wait()
                copies = [await session.fork(call=Answers(ask=constant(name))) for name in ("one", "two", "three")]
                assert [copy.pending[0].call.path for copy in copies] == ["ask"] * 3
                assert not any(copy.pending[0].made for copy in copies)
                for copy in copies:
                    outcomes.append((await copy.finish()).value)
                    await copy.run("x.append(3)")
                free.set()
            assert outcomes == [[[1, 2], name, 3] for name in ("one", "two", "three", "original")]
            for copy in copies:
                await copy.aclose()
        assert answers.calls == []

    async def test_a_guest_in_a_blocking_call_cannot_be_copied(self, image: Image) -> None:
        """It holds a native stack; the error says what to do."""
        answers = Answers()
        async with open_sandbox(answers, names=NAMES, image=image) as session, trio.open_nursery() as nursery:
            nursery.start_soon(session.run, "slow.blocking(1)")
            await answers.started.wait()
            with pytest.raises(SessionBusy, match="it holds a native stack"):
                await session.fork()
            answers.go.set()


class TestSuspend:
    async def asleep(
        self, image: Image, answer: Callable[[Call], object], *, held: tuple[str, ...] = ("ask",)
    ) -> bytes:
        async with open_sandbox(answer, names=["ask", "other"], image=image, held=held) as session:  # type: ignore[arg-type]
            await session.run("x = [1, 2]\nprint('first cell')")
            data = b""
            async with trio.open_nursery() as nursery:

                @nursery.start_soon
                async def run() -> None:
                    outcome = await session.run(f"print('asking')\n{ASK}")
                    assert outcome.error is not None
                    assert (outcome.error.kind, outcome.error.type) == ("cancelled", "Suspended")

                await session.held()
                data = await session.suspend()
            with pytest.raises(SessionClosed):
                await session.run("1")
        return data

    async def test_r92_it_goes_on_in_mid_await(self, image: Image) -> None:
        """The call that was held is made now, and what was printed before is still there."""
        data = await self.asleep(image, refuse)
        answers = Answers(ask=lambda call: call.args[0] + "!")  # type: ignore[operator]
        async with resume_sandbox(data, answers, image=image) as session:
            assert session.waiting
            assert [(waiting.call.path, waiting.call.args, waiting.made) for waiting in session.pending] == [
                ("ask", ("which?",), False)
            ]
            outcome = await session.finish()
            assert outcome.value == [[1, 2], "which?!", 3]
            assert outcome.stdout == "asking\n"
            assert (await session.run("x")).value == [1, 2]

    async def test_r92_in_another_process(self, image: Image, tmp_path: Path) -> None:
        """On the same image."""
        file = tmp_path / "session"
        file.write_bytes(await self.asleep(image, refuse))
        program = """
import sys, trio
from sandbox import resume_sandbox
async def answer(call): return f"{call.path} from another process"
async def main():
    async with resume_sandbox(open(sys.argv[1], "rb").read(), answer) as session:
        print((await session.finish()).value)
trio.run(main)
"""
        run = lambda: subprocess.run(  # noqa: E731
            [sys.executable, "-c", program, str(file)], capture_output=True, text=True, check=False
        )
        result = await trio.to_thread.run_sync(run)
        assert (result.stdout, result.stderr) == ("[[1, 2], 'ask from another process', 3]\n", "")

    async def test_r92_a_call_that_was_made_is_not_made_again(self, image: Image) -> None:
        """Its await raises an exception that tells why."""
        data, answers = await self.in_flight(image, repeatable=False)
        async with resume_sandbox(data, answers, image=image) as session:
            (waiting,) = session.pending
            assert (waiting.call.path, waiting.made) == ("mail.send", True)
            outcome = await session.finish()
        assert outcome.error is not None
        assert outcome.error.message == (
            "mail.send was under way when the session was put to sleep. It may or may not have taken effect, "
            "so it was not made again."
        )
        assert answers.paths == []

    async def test_r92_a_repeatable_call_is_made_again(self, image: Image) -> None:
        """As it was declared to be harmless."""
        data, answers = await self.in_flight(image, repeatable=True)
        async with resume_sandbox(data, answers, image=image) as session:
            assert (await session.finish()).value == "sent"
        assert answers.paths == ["mail.send"]

    async def in_flight(self, image: Image, *, repeatable: bool) -> tuple[bytes, Answers]:
        declared = Declared(name="mail", methods=(Method(name="send", repeatable=repeatable),))
        started = trio.Event()

        async def answer(_call: Call) -> object:
            started.set()
            await trio.sleep_forever()
            raise AssertionError

        async with open_sandbox(answer, capabilities=[declared], image=image) as session:
            data = b""
            async with trio.open_nursery() as nursery:
                nursery.start_soon(session.run, "await mail.send()")
                await started.wait()
                assert [waiting.made for waiting in session.pending] == [True]
                data = await session.suspend()
        return data, Answers(mail=lambda _call: "sent")

    async def test_between_two_cells(self, image: Image) -> None:
        """Then there is nothing to finish, and cells go on."""
        async with open_sandbox(image=image) as session:
            await session.run("import json\nx = json.loads('[1]')\ndef f(): return x")
            data = await session.suspend()
        async with resume_sandbox(data, image=image) as session:
            assert not session.waiting
            assert (await session.run("f() + json.loads('[2]')")).value == [1, 2]

    async def test_it_is_small(self, image: Image) -> None:
        """A small session takes no more than 0.6 MB."""
        async with open_sandbox(image=image) as session:
            await session.run("x = [1, 2, 3]")
            assert len(await session.suspend()) < 600_000

    async def test_timers_go_on_where_they_were(self, image: Image, autojump_clock: object) -> None:
        """A sleep that had a hundred seconds to go still has them."""
        async with open_sandbox(Answers(), names=["ask"], image=image, held=["ask"]) as session:
            data = b""
            async with trio.open_nursery() as nursery:
                source = "import asyncio\nawait asyncio.gather(asyncio.sleep(100, 'slept'), ask('x'))"
                nursery.start_soon(session.run, source)
                await session.held()
                data = await session.suspend()
        async with resume_sandbox(data, Answers(), image=image) as session:
            began = trio.current_time()
            assert (await session.finish()).value == ["slept", "x"]
            assert 99 < trio.current_time() - began < 101


class TestRefusals:
    @pytest.fixture
    async def data(self, image: Image) -> bytes:
        async with open_sandbox(image=image) as session:
            await session.run("x = 1")
            return await session.suspend()

    def refused(self, data: bytes, match: str) -> None:
        with pytest.raises(SuspendedError, match=match):
            read_suspended(data)

    async def test_r92_bytes_that_are_not_ours(self) -> None:
        """Whatever they are."""
        for data in (b"", b"PK\x03\x04", b"branchpoint", bytes(1000)):
            self.refused(data, "no suspended session")

    async def test_r92_damaged_bytes(self, data: bytes) -> None:
        """One bit anywhere is enough."""
        for at in (30, 60, 100, len(data) // 2, len(data) - 1):
            self.refused(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :], "damaged")
        self.refused(data[:-1], "damaged")
        self.refused(data + b"x", "damaged")

    async def test_r92_bytes_of_another_image(self, image: Image, data: bytes) -> None:
        """Both are named."""
        stored = read_suspended(data)
        other = snapshot.Snapshot(image="f" * 64, size=65536, globals=(), runs=(), pages=b"")
        foreign = stored.__class__(**{name: getattr(stored, name) for name in stored.__slots__} | {"memory": other})
        with pytest.raises(SuspendedError, match="was suspended on image ffffffffffff, and the image here is"):
            async with resume_sandbox(foreign, image=image):
                pass

    @pytest.mark.parametrize(
        ("change", "match"),
        [
            ({"size": 65536 * 3 + 1}, "its size"),
            ({"size": 0}, "its (size|pages)"),
            ({"size": 1 << 33}, "needs 8192 MiB"),
            ({"runs": ((4096, 4096), (0, 4096))}, "its pages"),
            ({"runs": ((1, 4096),)}, "its pages"),
            ({"runs": ((65536 * 4, 4096),)}, "its pages"),
            ({"runs": ((0, 0),)}, "its pages"),
            ({"runs": ((-4096, 4096),)}, "its pages"),
            ({"pages": b""}, "its pages"),
        ],
    )
    def test_r92_crafted_bytes(self, change: dict[str, object], match: str) -> None:
        """With a right checksum, and numbers that lead out of the memory."""
        good: dict[str, object] = {
            "image": "i",
            "size": 65536 * 2,
            "globals": (1,),
            "runs": ((0, 4096),),
            "pages": bytes(4096),
        }
        whole = snapshot.Snapshot(**good)  # type: ignore[arg-type]
        assert snapshot.unpack(snapshot.pack(whole, {}), max_memory=1 << 30) == (whole, {})
        crafted = snapshot.Snapshot(**(good | change))  # type: ignore[arg-type]
        with pytest.raises(SuspendedError, match=match):
            snapshot.unpack(snapshot.pack(crafted, {}), max_memory=1 << 30)


def pages(runs: tuple[tuple[int, int], ...]) -> set[int]:
    return {page for at, length in runs for page in range(at, at + length, snapshot.PAGE)}


class TestWhichPages:
    async def test_the_kernel_and_a_comparison_name_the_same_pages(self, image: Image) -> None:
        """Where there is no pagemap, the image is compared; a page that was written but not changed may be missing there."""
        async with open_sandbox(image=image) as session:
            await session.run("x = list(range(1000))")
            guest = (await session.prepare())._guest
            from wasmtime import Store

            from sandbox import capi
            from sandbox.engine import engine

            store = Store(engine())
            store.set_epoch_deadline(capi.FAR)

            def pristine() -> bytes:
                import ctypes

                memory = guest.template.instantiate(store)["memory"]
                return ctypes.string_at(
                    capi.base_address(store._context(), memory), capi.size_of(store._context(), memory)
                )

            from sandbox.threads import on_guest_thread

            original = await on_guest_thread(pristine)
            by_kernel = snapshot._by_pagemap(guest._base, guest.size)
            by_comparison = snapshot._by_comparison(guest._base, guest.size, original)
            assert pages(by_comparison) <= pages(by_kernel)
            assert 0 < len(pages(by_kernel)) < 1000
            store.close()
