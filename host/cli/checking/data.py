"""Findings for programs: one JSON object."""

from __future__ import annotations

import json

from host.agents import Checked, Finding

__all__ = ["as_json"]


def as_json(checked: Checked, done: tuple[str, ...]) -> str:
    """file, ok, errors, warnings, fixed (sentences), findings. Lines and columns are from 1, the end exclusive; null
    where a finding is about a file as a whole.
    """
    told = {
        "file": str(checked.file),
        "ok": not checked.errors,
        "errors": checked.errors,
        "warnings": checked.warnings,
        "fixed": list(done),
        "findings": [_finding(found) for found in checked.findings],
    }
    return json.dumps(told, indent=2)


def _finding(found: Finding) -> dict[str, object]:
    span = found.span
    return {
        "rule": found.rule,
        "severity": found.severity,
        "message": found.message,
        "help": found.help,
        "file": str(found.file),
        "key": found.key,
        "line": None if span is None else span.line,
        "column": None if span is None else span.column,
        "end_line": None if span is None else span.end_line,
        "end_column": None if span is None else span.end_column,
        "fixable": found.fixable,
    }
