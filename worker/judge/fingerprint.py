"""The fingerprint: a hash of all content that a verdict rests on.

It contains changed lines, issues, criteria, case, base rules, CI conclusions, rubric, prompt and judges; no commit ids, title (but as
the criterion of a pull request without an issue), labels, timestamps, log texts, line numbers or ledger.
"""

import hashlib
import json
from typing import Final

from worker.domain.dossier import Dossier
from worker.domain.model import Fingerprint
from worker.dossier.diff import Diff, DiffError, LineKind, diff_of
from worker.judge.context import JudgeContext

_VERSION: Final = 2
"""Raised when the content changes in kind, so that no verdict of an older form is carried over."""


_SHORTEST_ID: Final = 7
"""The shortest length to which git abbreviates object ids."""


def fingerprint_of(dossier: Dossier, context: JudgeContext) -> Fingerprint:
    """The hash of a *completed* dossier under this context; where the diff can't be read, of its bytes."""
    try:
        files = _files(diff_of(dossier.diff))
    except DiffError:
        return hash_text(dossier.diff)
    ci = dossier.ci
    checks = sorted({(check.name, check.conclusion or "") for check in ci.checks}) if ci else []
    content = {
        "form": _VERSION,
        "files": files,
        "issues": sorted([issue.title, issue.body] for issue in dossier.issues),
        "criteria": [[criterion.id, criterion.text, criterion.inferred] for criterion in dossier.criteria or ()],
        "case": dossier.case.model_dump(mode="json") if dossier.case else None,
        "guidance": sorted([rule.path, rule.text] for rule in dossier.guidance),
        "policy": dossier.policy.model_dump(mode="json") if dossier.policy else None,
        "ci": {"state": ci.state, "checks": checks} if ci else None,
        "rubric": context.rubric.model_dump(mode="json"),
        "prompt": context.prompt.version,
        "judges": context.with_chosen_model(dossier.policy).judges,
    }
    return _hash_content(content)


def change_fingerprint(diff: Diff) -> Fingerprint:
    """The hash of what a diff changes, wherever in its files."""
    return _hash_content(_files(diff))


def _hash_content(content: object) -> Fingerprint:
    return hash_text(json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False))


def hash_text(text: str) -> Fingerprint:
    return Fingerprint(f"sha256:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}")


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
