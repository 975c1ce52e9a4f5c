"""The verdict as SARIF 2.1.0, for code scanning and other viewers: one rule a signal, one result a place.

Does not upload it (`worker.publishing.code_scanning` does). Invariant: a result stands at a line of the head or says in words where it stood; what has no place is told
in a notification; words of models and of pull requests hold no link.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final
from urllib.parse import quote

from worker.domain.check.code_scanning import MOST_RESULTS
from worker.domain.dossier.dossier import Dossier
from worker.domain.pattern import pattern
from worker.domain.value import Value
from worker.domain.verdict.verdict import Abstain, Accept, Category, EvidencePointer, Finding, Reject, Side, Verdict
from worker.dossier.diff.parser import DiffError, diff_of, text_lines
from worker.publishing.texts import phrases
from worker.publishing.texts.visible import fit, visible

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
ROOT: Final = "%SRCROOT%"
TEXT_BYTES: Final = 1_000
"""GitHub takes 1024 characters."""
SHOWN: Final = "The verdict rejects for this reason, at the places that it names."

_LINK: Final = pattern(r"\]\(")
_PLACEHOLDER: Final = pattern(r"\{(?=\d)")


class Rule(Value):
    """A signal of the heuristic tier. *sees*: what it sees, in a sentence, and how often that misfired."""

    name: str
    category: Category
    is_fact: bool
    sees: str


class Result(Value):
    """One place of a rule. *line* is of *side*; None: the whole file."""

    rule: str
    level: str
    text: str
    path: str
    line: int | None
    end_line: int | None
    side: Side


class _Texts:
    """The lines of the change, as far as the dossier knows them."""

    def __init__(self, dossier: Dossier | None) -> None:
        self._files: dict[str, list[str]] = {}
        self._shown: dict[tuple[str, Side, int], str] = {}
        if dossier is not None:
            self._read(dossier)

    def _read(self, dossier: Dossier) -> None:
        self._files = {one.path: text_lines(one.text) for one in dossier.files or () if one.text}
        try:
            files = diff_of(dossier.diff).files
        except DiffError:
            files = ()
        for file in files:
            for line in file.lines():
                if line.head_line is not None:
                    self._shown[file.path, Side.HEAD, line.head_line] = line.text
                if line.base_line is not None:
                    self._shown[file.path, Side.BASE, line.base_line] = line.text

    def line(self, path: str, number: int | None, side: Side) -> str | None:
        if number is None:
            return None
        whole = self._files.get(path, []) if side is Side.HEAD else []
        return whole[number - 1] if number <= len(whole) else self._shown.get((path, side, number))


def sarif(verdict: Verdict, dossier: Dossier, rules: Sequence[Rule], version: str) -> str:
    """One run of Assay at this head, as a JSON text that ends in a newline."""
    return json.dumps(_log(verdict, dossier, rules, version, [*_results(verdict)]), indent=2) + "\n"


def uploaded(verdict: Verdict, dossier: Dossier | None, rules: Sequence[Rule], version: str) -> str:
    """The same for code scanning: as much as it shows. An accept has no results, so that every alert before it closes.

    *dossier* None: it is not kept. Then alerts are told apart by their words, and not by the lines that they stand at.
    """
    results = (
        []
        if isinstance(verdict, Accept)
        else sorted(_results(verdict), key=lambda one: one.level != "error")[:MOST_RESULTS]
    )
    return json.dumps(_log(verdict, dossier, rules, version, results), separators=(",", ":"))


def _log(
    verdict: Verdict, dossier: Dossier | None, rules: Sequence[Rule], version: str, listed: Sequence[Result]
) -> dict[str, Any]:
    described = [_rule(one) for one in rules] + [_category(one) for one in Category]
    texts, seen = _Texts(dossier), Counter[str]()
    results = [_result(one, texts, seen) for one in listed]
    run = {
        "tool": {"driver": {"name": "Assay", "version": version, "rules": described, "notifications": _NOTICES}},
        "automationDetails": {"id": f"assay/{verdict.subject.head_sha}"},
        "invocations": [_invocation(verdict, dossier)],
        "originalUriBaseIds": {ROOT: {"description": {"text": "The root of the repository."}}},
        "columnKind": "unicodeCodePoints",
        "results": results,
        "properties": {"evalId": verdict.eval_id, "decision": verdict.decision, "score": verdict.score},
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(one: Rule) -> dict[str, Any]:
    return _described(one.name, one.category, " ".join(one.sees.split()), "error" if one.is_fact else "warning")


def _category(one: Category) -> dict[str, Any]:
    return _described(one.value, one, SHOWN, "error")


def _described(name: str, category: Category, text: str, level: str) -> dict[str, Any]:
    precision = "very-high" if level == "error" else "medium"
    return {
        "id": name,
        "shortDescription": {"text": f"{phrases.category_words(category).capitalize()}: {name.replace('_', ' ')}"},
        "fullDescription": {"text": fit(text.partition(" False alarms:")[0], TEXT_BYTES)},
        "help": {"text": text},
        "defaultConfiguration": {"level": level},
        "properties": {"tags": [category.value], "precision": precision, "problem.severity": level},
    }


def _results(verdict: Verdict) -> Iterator[Result]:
    """What the signals saw, then the places of a reject that are none of theirs, nor what stood there before."""
    found = [one for one in verdict.findings if one.path]
    yield from (_of_finding(one, verdict) for one in found)
    if isinstance(verdict, Reject):
        facts = {one.path for one in found if one.fact}
        told = {(one.path, one.line, one.side) for one in found if one.fact}
        for place in verdict.evidence:
            is_before = place.side is Side.BASE and place.path in facts
            if (place.path, place.line, place.side) not in told and not is_before:
                yield _of_evidence(place, verdict)


def _of_finding(one: Finding, verdict: Verdict) -> Result:
    """A fact is an error; what was suspected of an accepted change is a note."""
    level = "error" if one.fact else "note" if isinstance(verdict, Accept) else "warning"
    text = one.note or one.signal.replace("_", " ")
    return Result(one.signal, level, _sentence(text), one.path or "", one.line, one.end_line, one.side)


def _of_evidence(one: EvidencePointer, verdict: Reject) -> Result:
    text = f"{_ended(one.note or verdict.concern)} Next step: {verdict.next_step}"
    return Result(verdict.category.value, "error", text, one.path, one.line, one.end_line, one.side)


def _sentence(text: str) -> str:
    """Our own words, which begin small."""
    return _ended(text[:1].upper() + text[1:])


def _ended(text: str) -> str:
    said = text.strip()
    return said if said.endswith((".", "!", "?")) else f"{said}."


def _plain(text: str) -> str:
    """SARIF's own links and placeholders are taken apart."""
    return fit(_PLACEHOLDER.sub("{ ", _LINK.sub("] (", visible(text))), TEXT_BYTES)


def _result(one: Result, texts: _Texts, seen: Counter[str]) -> dict[str, Any]:
    before = f" This is about line {one.line} before the change." if one.side is Side.BASE and one.line else ""
    line = texts.line(one.path, one.line, one.side)
    known = "\0".join((one.rule, one.path, one.text if line is None else line.strip()))
    mark = hashlib.sha256(known.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    seen[mark] += 1
    place = {"artifactLocation": {"uri": _address(one.path), "uriBaseId": ROOT}, "region": _region(one, texts)}
    return {
        "ruleId": one.rule,
        "level": one.level,
        "message": {"text": _plain(one.text) + before},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"primaryLocationLineHash": f"{mark}:{seen[mark]}"},
    }


def _address(path: str) -> str:
    """Within the repository, whatever a recorded diff says: a path that leads out of it is the name of one file."""
    parts = path.split("/")
    return quote(path, safe="/" if all(parts) and ".." not in parts else "", errors="surrogatepass")


def _region(one: Result, texts: _Texts) -> dict[str, int]:
    """The lines at head; the first one stands for a file, and for what is not there any more: GitHub wants a line."""
    is_there = one.line is not None and one.side is Side.HEAD
    start, end = (one.line or 1, one.end_line or one.line or 1) if is_there else (1, 1)
    region = {"startLine": start, "startColumn": 1, "endLine": end}
    last = texts.line(one.path, end, Side.HEAD)
    return region if last is None else {**region, "endColumn": len(last) + 1}


_NOTICES: Final = [{"id": "verdict", "shortDescription": {"text": "What was decided, and what to do next."}}]
_LEVELS: Final = {"accept": "note", "reject": "error", "abstain": "warning"}


def _invocation(verdict: Verdict, dossier: Dossier | None) -> dict[str, Any]:
    """Where nobody judged, nothing was executed successfully: no result is no pass."""
    step = "" if verdict.next_step is None else f" Next step: {verdict.next_step}"
    first = "" if dossier is None else f"{phrases.headline(verdict, dossier)}. "
    said = f"{first}{_ended(verdict.concern)}{step}"
    notices = [{"descriptor": {"id": "verdict"}, **_notice(said, _LEVELS[verdict.decision])}]
    for one in verdict.findings:
        if not one.path:
            level = "error" if one.fact else "warning"
            notices.append({"associatedRule": {"id": one.signal}, **_notice(_sentence(one.note or one.signal), level)})
    return {"executionSuccessful": not isinstance(verdict, Abstain), "toolExecutionNotifications": notices}


def _notice(text: str, level: str) -> dict[str, Any]:
    return {"level": level, "message": {"text": _plain(text)}}
