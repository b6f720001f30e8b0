"""The channel's public names, and what it may import."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

from guest_stdlib import channel

FOLDER = Path(channel.__file__).parent


def test_the_public_names() -> None:
    """A change to this list is a change to what others build on."""
    assert sorted(channel.__all__) == sorted(
        [
            *("Codec", "CodecLimits", "End", "GuestChannel", "HostChannel", "Phase", "Via"),
            *("ChannelError", "Damaged", "LocalError", "PeerError", "TooLarge", "Unsendable"),
            *("Event", "FromGuest", "FromHost", "NEED_DATA", "NeedData"),
            *("Abandon", "Call", "Cancel", "Done", "Failed", "Failure", "Interrupted"),
            *("Open", "Output", "Rest", "Return", "Run", "Throw"),
            *("Member", "Opaque", "Record"),
        ]
    )
    assert all(hasattr(channel, name) for name in channel.__all__)


def test_every_module_says_what_it_exports() -> None:
    """And has what it says."""
    for path in FOLDER.glob("*.py"):
        names = [
            ast.literal_eval(node.value)
            for node in ast.parse(path.read_text()).body
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        ]
        assert names, path.name


def test_the_channel_needs_nothing_of_the_outside() -> None:
    """No I/O, no time, no threads, and no package but msgpack."""
    allowed = {
        *(
            "__future__",
            "collections",
            "dataclasses",
            "datetime",
            "decimal",
            "enum",
            "fractions",
            "functools",
            "itertools",
        ),
        *("json", "marshal", "operator", "pickle", "re", "struct", "sys", "types", "typing", "uuid", "zoneinfo"),
        *("msgpack", "guest_stdlib"),
    }
    for path in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                assert {alias.name.partition(".")[0] for alias in node.names} <= allowed
            elif isinstance(node, ast.ImportFrom):
                assert (node.module or "").partition(".")[0] in allowed
                if (node.module or "").startswith("guest_stdlib"):
                    assert (node.module or "").startswith("guest_stdlib.channel")


def test_it_works_without_the_c_code_of_msgpack() -> None:
    """As in the guest."""
    program = (
        "from guest_stdlib.channel import *\n"
        "from guest_stdlib.channel.packing import FASTEST, Lean\n"
        "assert type(FASTEST) is Lean\n"
        "host, guest = HostChannel(), GuestChannel()\n"
        "guest.receive(host.send(Open(), Run(cell=1, source='x')))\n"
        "host.receive(guest.send(Call(call=1, path='a', args=({'x': (1, {2})},)), Rest()))\n"
        "assert host.next_event().args == ({'x': (1, {2})},)\n"
    )
    subprocess.run([sys.executable, "-c", program], env={"MSGPACK_PUREPYTHON": "1"}, cwd=FOLDER.parents[1], check=True)
