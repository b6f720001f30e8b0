"""Findings in SARIF 2.1.0 (OASIS), which code review shows beside the lines.

A relative path stays relative, so that a report that is made at the root of a repository fits it. Columns are in
characters. A misspelt key brings its correction along.
"""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from host.agents import RULES, Checked, Finding, Rule, Span

__all__ = ["as_sarif"]

_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def as_sarif(checked: Checked) -> str:
    """One run with one result for each finding."""
    rules = list(RULES)
    log = {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "branchpoint check",
                        "version": version("branchpoint"),
                        "rules": [_rule(rule) for rule in RULES.values()],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_result(found, rules.index(found.rule)) for found in checked.findings],
            }
        ],
    }
    return json.dumps(log, indent=2)


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.title},
        "defaultConfiguration": {"level": rule.severity},
    }


def _result(found: Finding, index: int) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(found.file)}}
    if found.span is not None:
        place["region"] = _region(found.span)
    location: dict[str, Any] = {"physicalLocation": place}
    if found.key:
        location["logicalLocations"] = [{"fullyQualifiedName": found.key, "kind": "member"}]
    result: dict[str, Any] = {
        "ruleId": found.rule,
        "ruleIndex": index,
        "level": found.severity,
        "message": {"text": f"{found.message} {found.help}".rstrip()},
        "locations": [location],
    }
    if found.fix is not None and found.span is not None:
        replacement = {"deletedRegion": _region(found.span), "insertedContent": {"text": found.fix.new}}
        change = {"artifactLocation": {"uri": _uri(found.file)}, "replacements": [replacement]}
        result["fixes"] = [{"description": {"text": found.help}, "artifactChanges": [change]}]
    return result


def _region(span: Span) -> dict[str, int]:
    return {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }


def _uri(file: Path) -> str:
    return file.as_uri() if file.is_absolute() else quote(file.as_posix())
