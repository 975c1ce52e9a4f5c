"""Builds model replies that fit the schema of the judge."""

from collections.abc import Iterable, Mapping
from typing import Any

from worker.judge.rubric import load_rubric

GOOD, BAD = 8, 2


def accept(*locations: str, criteria: int = 1, **changes: Any) -> dict[str, Any]:
    """All criteria (AC1 ...) are met at the first of *locations* ("upload.py:7"); *changes* replace fields."""
    return {
        "criteria": _criteria("met", criteria, locations[:1]),
        "scores": _scores(GOOD),
        "concern": "The change does what the issue asks for.",
        "evidence": _pointers(locations),
        "decision": "accept",
        "category": None,
        "next_step": None,
        "confidence": 0.9,
        **changes,
    }


def reject(category: str, *locations: str, criteria: int = 1, **changes: Any) -> dict[str, Any]:
    """A reject of *category* at *locations*; without any, the criteria are missing."""
    return {
        "criteria": _criteria("partial" if locations else "missing", criteria, locations[:1]),
        "scores": _scores(BAD),
        "concern": "The upload is never tried again.",
        "evidence": _pointers(locations),
        "decision": "reject",
        "category": category,
        "next_step": "Call the retry where the upload fails.",
        "confidence": 0.9,
        **changes,
    }


def cannot_tell(criteria: int = 1, **changes: Any) -> dict[str, Any]:
    return {
        "criteria": _criteria("unverifiable", criteria, ()),
        "scores": _scores(5),
        "concern": "Whether the server takes it can't be seen from here.",
        "evidence": [],
        "decision": "cannot_tell",
        "category": None,
        "next_step": "Try it against the server.",
        "confidence": 0.4,
        **changes,
    }


def _criteria(status: str, count: int, locations: Iterable[str]) -> list[Mapping[str, Any]]:
    evidence = _pointers(locations)
    return [{"id": f"AC{number}", "status": status, "evidence": evidence} for number in range(1, count + 1)]


def _scores(score: int) -> list[Mapping[str, Any]]:
    texts = {"reasoning": "It was looked at.", "improvement": "Little."}
    return [{"criterion": criterion.id, "score": score, **texts} for criterion in load_rubric().criteria]


def _pointers(locations: Iterable[str]) -> list[Mapping[str, Any]]:
    return [_pointer(*location.rsplit(":", 1)) for location in locations]


def _pointer(path: str, line: str) -> Mapping[str, Any]:
    """The fake model adds the quote."""
    return {"path": path, "line": int(line), "end_line": None, "side": "head", "quote": "", "note": "here"}
