"""Other sandboxes, measured with the same work in the same run, each in a process of its own.

A peer's process answers one line of JSON with another: a figure's name with {"value": ...} or {"error": ...}. It is
started once, keeps its pool and sessions, and does nothing while others have their turn. If it ends, its figures end,
and nothing else. `client` is our side; `serving`, with a module for each peer, is theirs, and loads nothing of ours.
"""
