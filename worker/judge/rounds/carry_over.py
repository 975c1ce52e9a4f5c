"""Same content, same verdict: the fingerprint of all content that a verdict rests on, and the verdict that is carried over by it.

The fingerprint contains changed lines, issues, criteria, case, base rules, CI conclusions, rubric, prompt and judges; no commit ids,
title (but as the criterion of a pull request without an issue), labels, timestamps, log texts, line numbers or ledger. A recorded
accept or reject is carried over to a head with the same content, at no cost. An abstain is not, and neither is a verdict with a
pointer whose line is gone. A round is never taken back.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Final

from worker.domain.dossier import Dossier
from worker.domain.ids import Fingerprint
from worker.domain.verdict.ledger import LedgerEntry, conditions_of
from worker.domain.verdict.rubric import Rubric
from worker.domain.verdict.verdict import (
    Abstain,
    Accept,
    ClosingCondition,
    ConditionState,
    CriterionVerdict,
    EvidencePointer,
    Reject,
    Tokens,
)
from worker.dossier.diff.parser import Diff, DiffError, LineKind, diff_of
from worker.judge.checks.evidence import Places
from worker.judge.context import EvaluationHeader, JudgeContext
from worker.signals.heuristic_opinion import form_opinion

_VERSION: Final = 2
"""Raised when the content changes in kind, so that no verdict of an older form is carried over."""

_SHORTEST_ID: Final = 7
"""The shortest length to which git abbreviates object ids."""


def fingerprint(dossier: Dossier, rubric: Rubric, prompt_version: str, judges: str) -> Fingerprint:
    """Hash a *completed* dossier; *judges* names the allowed tiers and models. Raises DiffError."""
    ci = dossier.ci
    checks = sorted({(check.name, check.conclusion or "") for check in ci.checks}) if ci else []
    content = {
        "form": _VERSION,
        "files": _files(diff_of(dossier.diff)),
        "issues": sorted([issue.title, issue.body] for issue in dossier.issues),
        "criteria": [[criterion.id, criterion.text, criterion.inferred] for criterion in dossier.criteria or ()],
        "case": dossier.case.model_dump(mode="json") if dossier.case else None,
        "guidance": sorted([rule.path, rule.text] for rule in dossier.guidance),
        "policy": dossier.policy.model_dump(mode="json") if dossier.policy else None,
        "ci": {"state": ci.state, "checks": checks} if ci else None,
        "rubric": rubric.model_dump(mode="json"),
        "prompt": prompt_version,
        "judges": judges,
    }
    return _hash(content)


def change_fingerprint(diff: Diff) -> Fingerprint:
    """The hash of what a diff changes, wherever in its files."""
    return _hash(_files(diff))


def _hash(content: object) -> Fingerprint:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return Fingerprint(f"sha256:{hashlib.sha256(canonical.encode()).hexdigest()}")


def _files(diff: Diff) -> list[object]:
    return [
        {
            "path": file.path,
            "from": file.old_path,
            "change": file.change.value,
            "modes": [file.old_mode, file.new_mode],
            "lines": [
                [line.kind.value, line.text, line.has_newline]
                for line in file.lines()
                if line.kind is not LineKind.CONTEXT
            ],
            # a binary file shows no lines: its object ids are its content
            "blobs": [blob[:_SHORTEST_ID] for blob in file.blobs] if file.is_binary and file.blobs else None,
        }
        for file in sorted(diff.files, key=lambda file: (file.path, file.change))
    ]


def carry_over_verdict(dossier: Dossier, header: EvaluationHeader, context: JudgeContext) -> Accept | Reject | None:
    """The newest recorded accept or reject of this content, moved to this head; None if there is none."""
    verdicts = [entry.verdict for entry in dossier.ledger]
    recorded = (entry.verdict for entry in reversed(dossier.ledger) if entry.fingerprint == header.fingerprint)
    earlier = next((verdict for verdict in recorded if not isinstance(verdict, Abstain)), None)
    if earlier is None:
        return None
    try:
        places = Places(dossier)
    except DiffError:
        return None
    evidence = _relocate_pointers(earlier.evidence, places)
    criteria: list[CriterionVerdict] = []
    for criterion in earlier.criteria:
        if (moved := _relocate_pointers(criterion.evidence, places)) is None:
            return None
        criteria.append(criterion.model_copy(update={"evidence": tuple(moved)}))
    if evidence is None:
        return None
    return type(earlier).model_validate(
        {
            **dict(earlier),
            "eval_id": header.eval_id,
            "carried_from": earlier.carried_from or earlier.eval_id,
            "subject": header.subject,
            "round": max([earlier.round, *(verdict.round for verdict in verdicts if isinstance(verdict, Reject))]),
            "case_error": dossier.case_error,
            "created_at": header.created_at,
            "evidence": evidence,
            "criteria": criteria,
            "closing_conditions": _conditions(earlier, dossier.ledger),
            "findings": form_opinion(dossier, context.rubric).findings,
            "judge_cost_usd": None if earlier.judge_cost_usd is None else Decimal(0),
            "judge_latency_ms": 0,
            "tokens": Tokens(),
        }
    )


def _conditions(verdict: Accept | Reject, ledger: Sequence[LedgerEntry]) -> tuple[ClosingCondition, ...]:
    """All conditions in the state that *verdict* has them in; those frozen after an accept are resolved by it."""
    conditions = conditions_of(ledger)
    states = {condition.text: condition.state for condition in verdict.closing_conditions}
    is_met = isinstance(verdict, Accept)
    return tuple(
        condition.model_copy(
            update={"state": states.get(condition.text, ConditionState.RESOLVED if is_met else condition.state)}
        )
        for condition in conditions
    )


def _relocate_pointers(pointers: Iterable[EvidencePointer], places: Places) -> list[EvidencePointer] | None:
    located = [places.relocate(pointer) for pointer in pointers]
    return None if None in located else [pointer for pointer in located if pointer is not None]
