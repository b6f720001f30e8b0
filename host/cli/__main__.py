"""`python -m host.cli` is `branchpoint`."""

from __future__ import annotations

from host.cli import main

main(prog_name="branchpoint")
