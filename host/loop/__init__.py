"""Loops: an agent at work, from a request to its answer, with all that it starts."""

from host.events import Observe
from host.loop.agent import Agent, Ended, Forks, NoAnswer, TaskEnded, TaskFailed, Tool, ToolError
from host.loop.budget import Budget, BudgetSpent
from host.loop.choosing import choose, chooser, lookup
from host.loop.colleague import Colleague
from host.loop.crew import Crew
from host.loop.dialogue import Dialogue, open_dialogue
from host.loop.rerun import BranchPoint, BranchPoints, Rerun
from host.loop.running import run_agent
from host.loop.tasks import Task, Tasks

__all__ = [
    "Agent",
    "BranchPoint",
    "BranchPoints",
    "Budget",
    "BudgetSpent",
    "Colleague",
    "Crew",
    "Dialogue",
    "Ended",
    "Forks",
    "NoAnswer",
    "Observe",
    "Rerun",
    "Task",
    "TaskEnded",
    "TaskFailed",
    "Tasks",
    "Tool",
    "ToolError",
    "choose",
    "chooser",
    "lookup",
    "open_dialogue",
    "run_agent",
]
