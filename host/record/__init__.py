"""What a run leaves behind, and what can be read off it: the record, its loops and delegations, cost, and worth."""

from host.record.cost import SHAPES, Cost, Pace, Prices, Shape, Work, at_once, cost_of, costs_of, in_turn
from host.record.errors import RecordError
from host.record.forms import Durable
from host.record.graph import render_graph
from host.record.record import Record, open_record
from host.record.runs import Delegation, Loop, Loops, delegations, loops
from host.record.worth import Report, Verdict, Worth, report, worth_of

__all__ = [
    "SHAPES",
    "Cost",
    "Delegation",
    "Durable",
    "Loop",
    "Loops",
    "Pace",
    "Prices",
    "Record",
    "RecordError",
    "Report",
    "Shape",
    "Verdict",
    "Work",
    "Worth",
    "at_once",
    "cost_of",
    "costs_of",
    "delegations",
    "in_turn",
    "loops",
    "open_record",
    "render_graph",
    "report",
    "worth_of",
]
