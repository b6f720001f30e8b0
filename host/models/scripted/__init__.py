"""Models without a provider, for tests: replies that were written down, or recorded from another model.

- `Scripted([...])` gives written replies in order, `Scripted.for_agents({...})` each agent its own, `Scripted.by(f)`
  what a function says.
- `Recording(model)` passes on to any model, and keeps what was asked and answered. `Scripted.load(path)` replays that,
  and checks that each request is the one that was recorded.
"""

from host.models.scripted.comparing import ScriptMismatch
from host.models.scripted.model import Answered, Scripted, ScriptEnded, Step
from host.models.scripted.recording import Exchange, Recording

__all__ = ["Answered", "Exchange", "Recording", "ScriptEnded", "ScriptMismatch", "Scripted", "Step"]
