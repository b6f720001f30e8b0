"""Loops: an agent at work, from a request to its answer."""

from host.loop.agent import Agent, Ended, NoAnswer, Tool, ToolError
from host.loop.choosing import choose, chooser, lookup
from host.loop.run import Observe, run_agent

__all__ = ["Agent", "Ended", "NoAnswer", "Observe", "Tool", "ToolError", "choose", "chooser", "lookup", "run_agent"]
