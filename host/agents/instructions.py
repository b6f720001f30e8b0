"""What an agent is told: a text in the file itself, or a file beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from host.agents.settings import AgentSettings

__all__ = ["Unreadable", "instructions_of"]

_LARGEST: Final = 1 << 20  # bytes


class Unreadable(Exception):
    """A file of instructions cannot be used. The message says why, without the file's name."""


def instructions_of(agent: AgentSettings, folder: Path) -> str:
    """The instructions of an agent, without spaces around them; empty where it has none. Raises Unreadable."""
    if agent.instructions is not None:
        return agent.instructions.strip()
    if agent.instructions_file is None:
        return ""
    file = folder / Path(agent.instructions_file).expanduser()
    try:
        if file.stat().st_size > _LARGEST:
            raise Unreadable(f"is larger than {_LARGEST >> 20} MiB")
        return file.read_bytes().decode("utf-8-sig").strip()
    except FileNotFoundError:
        raise Unreadable("does not exist") from None
    except IsADirectoryError:
        raise Unreadable("is a folder") from None
    except UnicodeDecodeError:
        raise Unreadable("is no UTF-8 text") from None
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror}") from None
    except ValueError:  # a NUL in it
        raise Unreadable("cannot be the name of a file") from None
