"""Findings as people and programs read them: text, JSON, and SARIF 2.1.0 for tools that show results in code."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from host.graph.rules import RULES
from host.graph.rules.finding import Finding, Price, Rule, Severity

__all__ = ["as_plain", "as_sarif", "render_text"]

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_ORDER: Final[tuple[Severity, ...]] = ("error", "warning", "note")
_FIRST_LINE: Final = 2  # of a record's events: before them stands the line that names the format


def render_text(findings: Sequence[Finding], source: str, *, unknown: frozenset[str] = frozenset()) -> str:
    """What was found in one run, for people: each finding with its fix, and a last line that counts."""
    lines = [line for finding in findings for line in _told(finding, source)]
    if unknown:
        lines.append(f"{source} does not say: {', '.join(sorted(unknown))}.")
    counts = Counter(finding.rule.severity for finding in findings)
    said = [f"{counts[each]} {each}{'' if counts[each] == 1 else 's'}" for each in _ORDER if counts[each]]
    lines.append(f"{source}: {', '.join(said) or 'nothing found'}.")
    return "\n".join(lines)


def _told(finding: Finding, source: str) -> Iterator[str]:
    rule = finding.rule
    yield f"{source}: {rule.severity} {rule.id} at {finding.node}: {finding.message}."
    yield f"  finding: {rule.title}"
    yield f"  cost: {finding.price}"
    yield f"  fix in: {finding.fix}"
    yield f"  next run: {finding.expect}"
    for cause in finding.causes:
        yield f"  seen: {cause}"


def as_plain(findings: Sequence[Finding], source: str, *, unknown: frozenset[str] = frozenset()) -> dict[str, object]:
    """What was found in one run, as JSON data."""
    return {"source": source, "unknown": sorted(unknown), "findings": [_plain(finding) for finding in findings]}


def _plain(finding: Finding) -> dict[str, object]:
    return {
        "rule": finding.rule.id,
        "severity": finding.rule.severity,
        "title": finding.rule.title,
        "message": finding.message,
        "loop": finding.loop,
        "agent": finding.agent,
        "node": finding.node,
        "event": finding.at,
        "fix": finding.fix,
        "expect": finding.expect,
        "price": _price(finding.price),
        "causes": list(finding.causes),
    }


def _price(price: Price) -> dict[str, object]:
    seconds = price.seconds
    return {
        "tokens": price.tokens,
        "fresh": None if price.fresh is None else round(price.fresh, 1),
        "seconds": None if seconds is None or math.isnan(seconds) else round(seconds, 3),
        "basis": price.basis,
    }


def as_sarif(found: Sequence[tuple[str, bool, Sequence[Finding]]], version: str) -> dict[str, object]:
    """What was found in runs, as one SARIF log. Of each run: the file as it was named, whether it is a record of ours
    (whose lines are its events), and its findings.
    """
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {"name": "branchpoint", "version": version, "rules": [_sarif_rule(r) for r in RULES]}
                },
                "results": [
                    _sarif_result(finding, source, is_record=is_record)
                    for source, is_record, findings in found
                    for finding in findings
                ],
                "columnKind": "unicodeCodePoints",
            }
        ],
    }


def _sarif_rule(rule: Rule) -> dict[str, object]:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.sign},
        "defaultConfiguration": {"level": rule.severity},
    }


def _sarif_result(finding: Finding, source: str, *, is_record: bool) -> dict[str, object]:
    place: dict[str, object] = {"artifactLocation": {"uri": source.replace("\\", "/")}}
    if is_record:
        place["region"] = {"startLine": finding.at + _FIRST_LINE}
    return {
        "ruleId": finding.rule.id,
        "ruleIndex": [rule.id for rule in RULES].index(finding.rule.id),
        "level": finding.rule.severity,
        "message": {
            "text": f"{finding.message}. Cost: {finding.price}. Fix in {finding.fix}. Next run: {finding.expect}."
        },
        "locations": [
            {
                "physicalLocation": place,
                "logicalLocations": [{"fullyQualifiedName": finding.node, "kind": "member"}],
            }
        ],
        "properties": {"agent": finding.agent, "price": _price(finding.price), "causes": list(finding.causes)},
    }
