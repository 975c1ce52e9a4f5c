"""The verdict as SARIF 2.1.0, one rule per signal and one result per location, and the texts about a refused upload.

Results point at lines of the head, or describe a line of the base; findings without a location are notifications.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import quote

from worker.domain.check.check_run import BODY_BYTES, MOST_RESULTS, CheckContent, UploadRefusal
from worker.domain.dossier import Dossier
from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Abstain, Accept, Category, Reject, Side, Verdict
from worker.dossier.diff import diff_or_empty, text_lines
from worker.publishing.texts import phrases
from worker.publishing.texts.markdown import fit, join_blocks, split_blocks, visible

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
SOURCE_ROOT: Final = "%SRCROOT%"
TEXT_BYTES: Final = 1_000
"""GitHub takes 1024 characters."""
REJECT_TEXT: Final = "The verdict rejects for this reason, at the places that it names."

_LINK: Final = pattern(r"\]\(")
_PLACEHOLDER: Final = pattern(r"\{(?=\d)")


@dataclass(frozen=True)
class SarifRule:
    """A signal. *description*: what it reports, and its measured false alarms."""

    name: str
    category: Category
    is_fact: bool
    description: str


@dataclass(frozen=True)
class SarifResult:
    """One location of a rule. *line*: on *side*; None: the whole file."""

    rule: str
    level: str
    text: str
    path: str
    line: int | None
    end_line: int | None
    side: Side


class _Texts:
    """The lines of the changed files that the dossier holds."""

    def __init__(self, dossier: Dossier | None) -> None:
        self._files: dict[str, list[str]] = {}
        self._shown: dict[tuple[str, Side, int], str] = {}
        if dossier is None:
            return
        self._files = {file.path: text_lines(file.text) for file in dossier.files or () if file.text}
        for file in diff_or_empty(dossier.diff).files:
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


def sarif_text(verdict: Verdict, dossier: Dossier, rules: Sequence[SarifRule], version: str) -> str:
    """One run of Assay on this head, as JSON that ends in a newline."""
    return json.dumps(_log(verdict, dossier, rules, version, [*_results(verdict)]), indent=2) + "\n"


def sarif_for_upload(verdict: Verdict, dossier: Dossier | None, rules: Sequence[SarifRule], version: str) -> str:
    """The same for code scanning, within its limits. An accept has no results, so that earlier alerts close.

    *dossier* None: it is not kept. Alerts are then identified by their text instead of their line.
    """
    listed = (
        [] if isinstance(verdict, Accept) else sorted(_results(verdict), key=lambda result: result.level != "error")
    )
    results = listed[:MOST_RESULTS]
    return json.dumps(_log(verdict, dossier, rules, version, results), separators=(",", ":"))


def _log(
    verdict: Verdict, dossier: Dossier | None, rules: Sequence[SarifRule], version: str, listed: Sequence[SarifResult]
) -> dict[str, Any]:
    described = [
        _describe_rule(
            rule.name, rule.category, " ".join(rule.description.split()), "error" if rule.is_fact else "warning"
        )
        for rule in rules
    ]
    described += [_describe_rule(category.value, category, REJECT_TEXT, "error") for category in Category]
    texts, seen = _Texts(dossier), Counter[str]()
    results = [_result(result, texts, seen) for result in listed]
    run = {
        "tool": {"driver": {"name": "Assay", "version": version, "rules": described, "notifications": _NOTICES}},
        "automationDetails": {"id": f"assay/{verdict.subject.head_sha}"},
        "invocations": [_invocation(verdict, dossier)],
        "originalUriBaseIds": {SOURCE_ROOT: {"description": {"text": "The root of the repository."}}},
        "columnKind": "unicodeCodePoints",
        "results": results,
        "properties": {"evalId": verdict.eval_id, "decision": verdict.decision, "score": verdict.score},
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _describe_rule(name: str, category: Category, text: str, level: str) -> dict[str, Any]:
    precision = "very-high" if level == "error" else "medium"
    return {
        "id": name,
        "shortDescription": {"text": f"{phrases.category_phrase(category).capitalize()}: {name.replace('_', ' ')}"},
        "fullDescription": {"text": fit(text.partition(" False alarms:")[0], TEXT_BYTES)},
        "help": {"text": text},
        "defaultConfiguration": {"level": level},
        "properties": {"tags": [category.value], "precision": precision, "problem.severity": level},
    }


def _results(verdict: Verdict) -> Iterator[SarifResult]:
    """The signals' findings, then the evidence of a reject that is neither one of them nor the base side of a fact's file."""
    findings = [finding for finding in verdict.findings if finding.path]
    suspicion = "note" if isinstance(verdict, Accept) else "warning"
    for finding in findings:
        text = _sentence(finding.note or finding.signal.replace("_", " "))
        level, lines = "error" if finding.fact else suspicion, (finding.line, finding.end_line, finding.side)
        yield SarifResult(finding.signal, level, text, finding.path or "", *lines)
    if isinstance(verdict, Reject):
        facts = {finding.path for finding in findings if finding.fact}
        fact_locations = {(finding.path, finding.line, finding.side) for finding in findings if finding.fact}
        for pointer in verdict.evidence:
            is_before = pointer.side is Side.BASE and pointer.path in facts
            if (pointer.path, pointer.line, pointer.side) not in fact_locations and not is_before:
                text = f"{_with_period(pointer.note or verdict.concern)} Next step: {verdict.next_step}"
                lines = (pointer.line, pointer.end_line, pointer.side)
                yield SarifResult(verdict.category.value, "error", text, pointer.path, *lines)


def _sentence(text: str) -> str:
    """A note of a signal, which starts in lower case, as a sentence."""
    return _with_period(text[:1].upper() + text[1:])


def _with_period(text: str) -> str:
    sentence = text.strip()
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."


def _escape(text: str) -> str:
    """Break SARIF's links and placeholders."""
    return fit(_PLACEHOLDER.sub("{ ", _LINK.sub("] (", visible(text))), TEXT_BYTES)


def _result(result: SarifResult, texts: _Texts, seen: Counter[str]) -> dict[str, Any]:
    before = f" This is about line {result.line} before the change." if result.side is Side.BASE and result.line else ""
    line = texts.line(result.path, result.line, result.side)
    key = "\0".join((result.rule, result.path, result.text if line is None else line.strip()))
    mark = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    seen[mark] += 1
    parts = result.path.split("/")  # a path that leads out of the repository is quoted as a single file name
    slash = "/" if all(parts) and ".." not in parts else ""
    location = {
        "artifactLocation": {"uri": quote(result.path, safe=slash, errors="surrogatepass"), "uriBaseId": SOURCE_ROOT},
        "region": _region(result, texts),
    }
    return {
        "ruleId": result.rule,
        "level": result.level,
        "message": {"text": _escape(result.text) + before},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {"primaryLocationLineHash": f"{mark}:{seen[mark]}"},
    }


def _region(result: SarifResult, texts: _Texts) -> dict[str, int]:
    """The lines at the head; line 1 for a whole file and for deleted lines, since GitHub requires one."""
    is_there = result.line is not None and result.side is Side.HEAD
    start, end = (result.line or 1, result.end_line or result.line or 1) if is_there else (1, 1)
    region = {"startLine": start, "startColumn": 1, "endLine": end}
    last = texts.line(result.path, end, Side.HEAD)
    return region if last is None else {**region, "endColumn": len(last) + 1}


_NOTICES: Final = [{"id": "verdict", "shortDescription": {"text": "What was decided, and what to do next."}}]
_LEVELS: Final = {"accept": "note", "reject": "error", "abstain": "warning"}


def _invocation(verdict: Verdict, dossier: Dossier | None) -> dict[str, Any]:
    """The invocation; an abstain counts as failed, so that its lack of results is no pass."""
    step = "" if verdict.next_step is None else f" Next step: {verdict.next_step}"
    first = "" if dossier is None else f"{phrases.headline(verdict, dossier)}. "
    text = f"{first}{_with_period(verdict.concern)}{step}"
    notices = [{"descriptor": {"id": "verdict"}, **_notice(text, _LEVELS[verdict.decision])}]
    for finding in verdict.findings:
        if not finding.path:
            level = "error" if finding.fact else "warning"
            notices.append(
                {"associatedRule": {"id": finding.signal}, **_notice(_sentence(finding.note or finding.signal), level)}
            )
    return {"executionSuccessful": not isinstance(verdict, Abstain), "toolExecutionNotifications": notices}


def _notice(text: str, level: str) -> dict[str, Any]:
    return {"level": level, "message": {"text": _escape(text)}}


REFUSAL_PHRASES: Final = {
    UploadRefusal.PERMISSION: (
        "the App lacks the permission *Code scanning alerts: write* (`security_events`) here. Ask for it in the App's settings; the "
        "installation's owner approves it."
    ),
    UploadRefusal.NOT_ENABLED: (
        "code scanning is not enabled for this repository (a private one needs GitHub Code Security for it). Enable it "
        "in the repository's settings."
    ),
    UploadRefusal.FORBIDDEN: "GitHub refused it (403). Look at the repository's settings for code scanning.",
    UploadRefusal.NOT_FOUND: "GitHub knows no code scanning here (404). Look whether this GitHub has it.",
    UploadRefusal.NOT_TAKEN: "GitHub did not take the file. Tell the operator of this Assay: its log has GitHub's words.",
    UploadRefusal.TOO_LARGE: "the file is larger than the 10 MB that GitHub takes. The verdict is on the check.",
}
"""Why GitHub refused an upload, in half a sentence, and what to do."""


def sarif_refusal_line(refusal: UploadRefusal) -> str:
    """A refused upload in a terminal."""
    return f"not uploaded when it was tried last: {REFUSAL_PHRASES[refusal].replace('*', '').replace('`', '')}"


def with_sarif_refusal(content: CheckContent, refusal: UploadRefusal) -> CheckContent:
    """A verdict's check with the refusal of the last SARIF upload."""
    line = f"**SARIF was not uploaded** (`sarif: true`): {REFUSAL_PHRASES[refusal]} That was when it was tried last."
    return replace(content, summary=join_blocks([*split_blocks(content.summary), line], BODY_BYTES))
