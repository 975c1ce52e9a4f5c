"""What of a record may be shown or given away: all of it, but the secrets, and but the files that are never sent.

Does not decide who may see it. Invariant: what comes out has the shape of what went in, line for line; hashes and ids, which
hold no secret and look like some, stay.
"""

import json
from collections.abc import Iterator
from typing import Final

from worker.domain.dossier.dossier import Dossier
from worker.domain.verdict.audit import AuditRecord, dump_audit, read_audit
from worker.domain.verdict.opinion import HeuristicOpinion
from worker.domain.verdict.verdict import VERDICT_ADAPTER, Abstain, Accept, Reject
from worker.dossier.diff.parser import DiffError, diff_of
from worker.dossier.secrets import Redaction
from worker.dossier.secrets.redactor import redact_fields
from worker.judge.llm.fencing import redact_text
from worker.judge.llm.redact import redact_dossier

_NO_OPINION: Final = HeuristicOpinion(score=0.5, confidence=0.0, reason="nobody was asked")


def without_secrets(record: AuditRecord) -> AuditRecord:
    """A record to show: the questions left without secrets, the replies may quote some."""
    return read_audit(redact_fields(dump_audit(record)))


def verdict_without_secrets(verdict: Accept | Reject | Abstain) -> Accept | Reject | Abstain:
    """A verdict to show: it quotes lines as they stand, and the model's own words."""
    return VERDICT_ADAPTER.validate_python(redact_fields(verdict.model_dump(mode="json")))


def make_shareable(dossier: Dossier) -> tuple[Dossier, tuple[Redaction, ...]]:
    """A dossier to give away, and what was taken out of it. Where nothing has to go, it is the same dossier."""
    sent = redact_dossier(dossier, _NO_OPINION, ())
    return _with_clean_paths(_with_broken_diff(sent.dossier, dossier)), sent.redactions


def _with_broken_diff(sent: Dossier, dossier: Dossier) -> Dossier:
    """A diff that nobody can read is what may be reported; but of files that are never sent it can't be told apart."""
    if sent.diff or (dossier.policy is not None and dossier.policy.never_send):
        return sent
    return sent.model_copy(update={"diff": redact_text(dossier.diff)})


def _with_clean_paths(dossier: Dossier) -> Dossier:
    """A path may hold a secret, and stands in many places."""
    whole = dossier.model_dump_json(exclude_unset=True)
    clean = whole
    for path in sorted(set(_paths(dossier)), key=len, reverse=True):
        clean = clean.replace(json.dumps(path, ensure_ascii=False)[1:-1], json.dumps(redact_text(path))[1:-1])
    return dossier if clean == whole else Dossier.model_validate_json(clean)


def _paths(dossier: Dossier) -> Iterator[str]:
    """Those that hold a secret."""
    try:
        changed = [path for file in diff_of(dossier.diff).files for path in (file.path, file.old_path) if path]
    except DiffError:
        changed = []
    paths = [file.path for file in (*(dossier.files or ()), *dossier.files_unread, *dossier.guidance)]
    return (path for path in (*changed, *paths) if redact_text(path) != path)
