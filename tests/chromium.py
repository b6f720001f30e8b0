"""A headless Chromium that tests drive: by the pipe of its DevTools protocol, with a profile of its own, and no network."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

FOUND = shutil.which("chromium")
_FLAGS = """
    --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
    --disable-component-update --disable-sync --disable-extensions --disable-dev-shm-usage --hide-scrollbars
    --host-resolver-rules=MAP\u00a0*\u00a0~NOTFOUND --remote-debugging-pipe about:blank
""".split(" ")


class Page:
    """One page under control. `heard` are the events that it sent: what it loaded, logged, and failed by."""

    def __init__(self, to: BinaryIO, back: BinaryIO) -> None:
        self._to, self._back = to, back
        self._number = 0
        self._session: str | None = None
        self._buffer = b""
        self.heard: list[dict[str, Any]] = []
        (target,) = [
            each for each in self._call("Target.getTargets")["targetInfos"] if each["type"] == "page"
        ]  # fmt: skip
        attached = self._call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self._call(f"{domain}.enable")

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        sent = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            sent["sessionId"] = self._session
        self._to.write(json.dumps(sent).encode() + b"\0")
        self._to.flush()
        while True:
            heard = self._next()
            if heard.get("id") == self._number:
                assert "error" not in heard, heard
                result: dict[str, Any] = heard["result"]
                return result
            self.heard.append(heard)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            piece = os.read(self._back.fileno(), 1 << 16)
            assert piece, "the browser is gone"
            self._buffer += piece
        line, _, self._buffer = self._buffer.partition(b"\0")
        heard: dict[str, Any] = json.loads(line)
        return heard

    def open(self, file: Path, *, at: str = "") -> None:
        """Load a file, and wait until it is there."""
        self._call("Page.navigate", url=f"{file.as_uri()}{f'#{at}' if at else ''}")
        while not any(each["method"] == "Page.loadEventFired" for each in self.heard):
            self.heard.append(self._next())

    def ask(self, expression: str) -> Any:
        """The value of an expression in the page."""
        answer = self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def text(self, selector: str) -> str:
        """The text of the first element of this kind."""
        said = self.ask(f"document.querySelector({json.dumps(selector)}).textContent")
        assert isinstance(said, str)
        return said

    def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        for key in keys:
            text = {"Enter": "\r", " ": " "}.get(key, key if len(key) == 1 else "")
            self._call("Input.dispatchKeyEvent", type="keyDown", key=key, **({"text": text} if text else {}))
            self._call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def look(self, *, width: int, height: int = 900, dark: bool = False) -> None:
        """Change the window's size and the colours that its user prefers."""
        self._call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self) -> bytes:
        """The page as PNG."""
        return base64.b64decode(self._call("Page.captureScreenshot")["data"])

    def loaded(self) -> list[str]:
        """The addresses of all that it asked for."""
        return [
            each["params"]["request"]["url"] for each in self.heard if each["method"] == "Network.requestWillBeSent"
        ]  # fmt: skip

    def complaints(self) -> list[dict[str, Any]]:
        """Errors that it threw or logged."""
        wrong = [each for each in self.heard if each["method"] == "Runtime.exceptionThrown"]
        return wrong + [
            each
            for each in self.heard
            if each["method"] == "Log.entryAdded" and each["params"]["entry"]["level"] == "error"
        ]


@contextmanager
def open_page(folder: Path) -> Iterator[Page]:
    """A browser with one empty page; its profile is in the folder."""
    assert FOUND is not None
    to_read, to_write = os.pipe()
    back_read, back_write = os.pipe()
    # It reads commands from descriptor 3 and writes to 4, so a shell puts the pipes there.
    command = ["bash", "-c", f'exec "$@" 3<&{to_read} 4>&{back_write}', "bash", FOUND]
    flags = [flag.strip().replace("\u00a0", " ") for flag in _FLAGS if flag.strip()]
    browser = subprocess.Popen(
        [*command, *flags, f"--user-data-dir={folder / 'profile'}"],
        pass_fds=(to_read, back_write),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(to_read)
    os.close(back_write)
    with os.fdopen(to_write, "wb") as to, os.fdopen(back_read, "rb") as back:
        try:
            page = Page(to, back)
            yield page
            with suppress(AssertionError, OSError):
                page._session = None
                page._call("Browser.close")
        finally:
            with suppress(subprocess.TimeoutExpired):
                browser.wait(10)
            browser.kill()
            browser.wait()
