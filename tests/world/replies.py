"""What the scripted model says: replies of the schema that the judge asks for.

Does not decide anything. Invariant: a reply built here fits `worker.judge.llm.reply`, and its scores are on the
side of its decision.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from worker.judge.rubric import load_rubric

GOOD, BAD = 8, 2


def accept(*locations: str, criteria: int = 1, **changes: Any) -> dict[str, Any]:
    """Every criterion (AC1 ...) is met at the first of *places* ("upload.py:7"); *changes* replace fields."""
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
    """*category* stands against it at *places*; without any place the criteria are missing."""
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


def _criteria(status: str, count: int, places: Iterable[str]) -> list[Mapping[str, Any]]:
    evidence = _pointers(places)
    return [{"id": f"AC{number}", "status": status, "evidence": evidence} for number in range(1, count + 1)]


def _scores(score: int) -> list[Mapping[str, Any]]:
    words = {"reasoning": "It was looked at.", "improvement": "Little."}
    return [{"criterion": one.id, "score": score, **words} for one in load_rubric().criteria]


def _pointers(places: Iterable[str]) -> list[Mapping[str, Any]]:
    return [_pointer(*place.rsplit(":", 1)) for place in places]


def _pointer(path: str, line: str) -> Mapping[str, Any]:
    """The world's model quotes the line when it has read it."""
    return {"path": path, "line": int(line), "end_line": None, "side": "head", "quote": "", "note": "here"}
