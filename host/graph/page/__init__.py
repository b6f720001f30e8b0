"""The graph of a run as one page: everything in one file, no network, and it works from the keyboard.

What anyone said in a run may be hostile, so nothing of it is ever markup. The run is JSON in a block of the page, in
which "<", ">" and "&" are written as escapes, so that no text can end the block; the page's own script puts texts in as
text. A policy in the page allows its own script and style by their hashes, and nothing else: no other script, no
image, no connection. Where scripts are off, the graph stands there as plain text.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from importlib.resources import files
from typing import Final

from host.graph.page.contents import contents
from host.graph.run import Run
from host.graph.text import render_text

__all__ = ["render_page"]

_ESCAPES: Final = {ord(each): f"\\u{ord(each):04x}" for each in "<>&\u2028\u2029"}


def render_page(run: Run, *, source: str = "a run", form: str = "record", unknown: frozenset[str] = frozenset()) -> str:
    """The page as HTML, which UTF-8 can hold. `source` names the file that the run is from and `form` its kind;
    `unknown` is what it does not say.
    """
    style, script = _own("page.css"), _own("page.js")
    data = json.dumps(contents(run, source=source, form=form, unknown=unknown), allow_nan=False)
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; base-uri 'none';"
        " form-action 'none'"
    )
    return _own("page.html").format(
        policy=html.escape(policy),
        title=_text(source),
        style=style,
        script=script,
        data=data.translate(_ESCAPES),
        text=_text(render_text(run)),
    )


def _text(text: str) -> str:
    """A text as text of a page; half surrogates, which no page can hold, are replaced."""
    return html.escape(text.encode("utf-8", "replace").decode())


def _own(name: str) -> str:
    return (files("host.graph.page") / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """How a policy names a script or style that stands in the page."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
