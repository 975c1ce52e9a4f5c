"""The fingerprint: what a verdict was decided on, as one hash. Same content, same verdict.

Does not decide about reuse. Invariant: only content goes in (changed lines, issues, criteria, case, base rules, CI
conclusions, rubric, prompt, judges); never commit ids, the pull request's title (but as its criterion, where it has no issue),
labels, timestamps, log text, line numbers or the ledger.
"""

import hashlib
import json
from typing import Final

from worker.domain.dossier.dossier import Ci, Dossier
from worker.domain.ids import Fingerprint
from worker.domain.verdict.rubric import Rubric
from worker.dossier.diff.parser import Diff, FileDiff, LineKind, diff_of

_VERSION: Final = 2
"""Changes when what goes in changes, so that no verdict of an older form is reused."""

_SHORTEST_ID: Final = 7
"""git abbreviates object ids to this or more, depending on the size of the repository."""


def fingerprint(dossier: Dossier, rubric: Rubric, prompt_version: str, judges: str) -> Fingerprint:
    """Hash a *completed* dossier; *judges* names the allowed tiers and models. Raises DiffError."""
    content = {
        "form": _VERSION,
        "files": _files(diff_of(dossier.diff)),
        "issues": sorted([issue.title, issue.body] for issue in dossier.issues),
        "criteria": [[criterion.id, criterion.text, criterion.inferred] for criterion in dossier.criteria or ()],
        "case": dossier.case.model_dump(mode="json") if dossier.case else None,
        "guidance": sorted([rule.path, rule.text] for rule in dossier.guidance),
        "policy": dossier.policy.model_dump(mode="json") if dossier.policy else None,
        "ci": _conclusions(dossier.ci),
        "rubric": rubric.model_dump(mode="json"),
        "prompt": prompt_version,
        "judges": judges,
    }
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return Fingerprint(f"sha256:{hashlib.sha256(canonical.encode()).hexdigest()}")


def change_fingerprint(diff: Diff) -> Fingerprint:
    """What a diff changes, as one hash, wherever in the files it stands: the part of the fingerprint that is the change."""
    canonical = json.dumps(_files(diff), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return Fingerprint(f"sha256:{hashlib.sha256(canonical.encode()).hexdigest()}")


def _files(diff: Diff) -> list[object]:
    return [_file(file) for file in sorted(diff.files, key=lambda file: (file.path, file.change))]


def _file(file: FileDiff) -> dict[str, object]:
    return {
        "path": file.path,
        "from": file.old_path,
        "change": file.change.value,
        "modes": [file.old_mode, file.new_mode],
        "lines": [
            [line.kind.value, line.text, line.has_newline] for line in file.lines() if line.kind is not LineKind.CONTEXT
        ],
        # a binary file shows no lines: its object ids are its content
        "blobs": [blob[:_SHORTEST_ID] for blob in file.blobs] if file.is_binary and file.blobs else None,
    }


def _conclusions(ci: Ci | None) -> object:
    if ci is None:
        return None
    checks = {(check.name, check.conclusion or "") for check in ci.checks}
    return {"state": ci.state, "checks": sorted([name, conclusion] for name, conclusion in checks)}
