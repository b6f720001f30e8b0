"""A script that is run as it is, as the root of a tree of loops: it has no model, and what its calls start is below it.

So a record of `branchpoint run` reads like any other: who asked whom, forked or cold, and what each child was sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import trio

from host.capability import Delegation
from host.capability._dispatch import Before
from host.events import Event, LoopBegan, LoopEnded, Printed
from host.loop.code import shown
from host.loop.place import Place, standing
from host.loop.telling import told
from host.loop.tree import Tree
from host.models.port import Usage
from host.session import HostSession
from sandbox import Outcome, SessionBusy

__all__ = ["Keep", "ScriptRun"]

type Keep = Callable[[str, int, bytes], None]


class ScriptRun:
    """One script under way. `record`, `around` and `printed` are for `HostSession.run`; `ended` is told its outcome.

    `keep` is given the interpreter that waits on a delegating call, put to sleep: the delegation's id, the number of
    the call in the session, and the session. `before` does that.
    """

    def __init__(self, name: str, source: str, tree: Tree, *, keep: Keep | None = None) -> None:
        self.loop = tree.next_loop()
        self._tree = tree
        self._keep = keep
        self._began = trio.current_time()
        self._untold: LoopBegan | None = LoopBegan(
            loop=self.loop, agent=name, model="", kind="call", depth=0, request=source, at=tree.now()
        )

    def _tell(self, event: Event) -> None:
        """Tell of it; first of all that the script began, which one that could not be run never did."""
        if self._untold is not None:
            self._tree.tell(self._untold)
            self._untold = None
        self._tree.tell(event)

    def record(self, delegation: Delegation) -> None:
        """A delegating call is about to be made."""
        self._tell(told(delegation, loop=self.loop, call=None, at=self._tree.now()))

    @contextmanager
    def around(self, delegation: Delegation | None, _path: str) -> Iterator[None]:
        """What a call starts joins the tree."""
        made = None if delegation is None else delegation.id
        with standing(Place(tree=self._tree, parent=self.loop, depth=1, delegation=made)):
            yield

    def before(self, session: HostSession) -> Before | None:
        """What is done before each delegating call of a cell of this session; None where nothing is kept."""
        keep = self._keep
        if keep is None:
            return None

        async def kept(delegation: Delegation) -> None:
            if delegation.call is not None:
                with suppress(SessionBusy):  # a blocking call holds a native stack, which cannot be put to sleep
                    copy = await session.fork()
                    keep(delegation.id, delegation.call, await copy.suspend())

        return kept

    def printed(self, stream: str, text: str) -> None:
        """The script printed something."""
        self._tell(Printed(loop=self.loop, stream=stream, text=text))

    def ended(self, outcome: Outcome) -> None:
        """The script is over."""
        self._tell(
            LoopEnded(
                loop=self.loop,
                how="answered" if outcome.ok else "failed",
                text=shown(outcome),
                turns=0,
                usage=Usage(),
                seconds=trio.current_time() - self._began,
                at=self._tree.now(),
            )
        )
