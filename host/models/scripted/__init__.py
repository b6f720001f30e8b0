"""Models without a provider, for tests: replies that were written down, or recorded from another model.

- `Scripted([...])` gives written replies in order, `Scripted.for_agents({...})` each agent its own, `Scripted.by(f)`
  what a function says.
- `Recording(model)` passes on to any model, and keeps what was asked and answered. `Scripted.load(path)` replays that,
  and checks that each request is the one that was recorded.

A reply is its text, or a `Reply`, with calls of tools if it makes some:

    from host.conversation import ToolCall
    from host.models import Reply
    from host.models.scripted import Scripted

    code = ToolCall(id="1", name="run_code", arguments='{"code": "6 * 7"}')
    model = Scripted([Reply.of("I compute.", code), "It is 42."])
"""

from host.models.scripted.comparing import ScriptMismatch
from host.models.scripted.model import Answered, Scripted, ScriptEnded, Step
from host.models.scripted.recording import Exchange, Recording

__all__ = ["Answered", "Exchange", "Recording", "ScriptEnded", "ScriptMismatch", "Scripted", "Step"]
