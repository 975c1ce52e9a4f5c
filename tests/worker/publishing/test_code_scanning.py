"""The SARIF upload: once per head and verdict, and only where the repository asks for it."""

import base64
import gzip
import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.worker.adapters.redis.store_samples import (
    HEAD,
    NEWER,
    judge_request,
    ledger_entry_of,
    pull_ref,
    start_judging_new,
)
from tests.worker.publishing.texts.samples import abstained, accepted, dossier, rejected
from worker.adapters.redis.store import Store
from worker.domain.check.check_run import SarifUpload, UploadRefusal
from worker.domain.dossier import ConfigOrigin, ConfigText, Dossier
from worker.domain.judge_request import PullRef
from worker.domain.lifecycle.judging import Finish, JudgingCompleted, JudgingDiscarded, JudgingOutcome
from worker.domain.model import DeliveryId, EvalId, RepositoryName, Sha
from worker.domain.verdict.verdict import AbstainReason, Accept, Reject, Verdict
from worker.errors import Unavailable
from worker.publishing import code_scanning
from worker.publishing.code_scanning import SarifUploader, refusal_for, scan_job_for

EVAL = EvalId("eval-1")
SCAN = SarifUpload(pull=pull_ref(), head_sha=HEAD, eval_id=EVAL, origin=EVAL, delivery_id=DeliveryId("d"))


@dataclass
class CodeScanning:
    """GitHub's uploads. `reply`: its answer to the next one."""

    runs: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    reply: UploadRefusal | Exception | None = None
    bytes: int = 0

    def upload(self, pull: PullRef, repository: RepositoryName, head_sha: Sha, sarif: str) -> UploadRefusal | None:
        assert (pull.number, repository, head_sha) == (1, "acme/widgets", HEAD)
        packed = base64.b64decode(sarif)
        self.bytes = len(packed)
        [run] = json.loads(gzip.decompress(packed))["runs"]
        self.runs.append(run)
        reply, self.reply = self.reply, None
        if isinstance(reply, Exception):
            raise reply
        return reply


@pytest.fixture
def uploads() -> CodeScanning:
    return CodeScanning()


def record_verdict(store: Store, verdict: Verdict) -> None:
    leased_job = start_judging_new(store)
    changes = {"verdict": verdict, "head_sha": HEAD, "eval_id": EVAL}
    store.ledger.append(pull_ref(), ledger_entry_of(EVAL, leased_job.lease.fence).model_copy(update=changes))
    store.pulls.finish(leased_job.lease, Finish.JUDGED)


def open_uploader(store: Store, uploads: CodeScanning, newest: Sha | None = HEAD) -> SarifUploader:
    return SarifUploader(uploads, store.scan_notes, store.ledger, store.archive, lambda _: newest)


def requesting_dossier(text: str = "sarif: true\n") -> Dossier:
    return dossier(config=(ConfigText(origin=ConfigOrigin.REPOSITORY, text=text),))


def test_upload_is_not_repeated_without_a_dossier(store: Store, uploads: CodeScanning) -> None:
    record_verdict(store, rejected())
    open_uploader(store, uploads).upload(SCAN)
    open_uploader(store, uploads).upload(SCAN)
    [run] = uploads.runs
    assert [result["ruleId"] for result in run["results"]] == ["stub_body", "no_assertions"]
    assert store.scan_notes.refusal(pull_ref()) is None


def test_refused_upload_is_recorded_and_not_repeated(store: Store, uploads: CodeScanning) -> None:
    record_verdict(store, rejected())
    uploads.reply = UploadRefusal.NOT_ENABLED
    open_uploader(store, uploads).upload(SCAN)
    open_uploader(store, uploads).upload(SCAN)
    assert len(uploads.runs) == 1
    assert refusal_for(store.scan_notes, pull_ref(), requesting_dossier()) is UploadRefusal.NOT_ENABLED
    assert refusal_for(store.scan_notes, pull_ref(), requesting_dossier("sarif: false\n")) is None


def test_upload_is_repeated_after_an_outage(store: Store, uploads: CodeScanning) -> None:
    record_verdict(store, accepted())
    uploads.reply = Unavailable("GitHub", "reset")
    with pytest.raises(Unavailable):
        open_uploader(store, uploads).upload(SCAN)
    open_uploader(store, uploads).upload(SCAN)
    assert [run["results"] for run in uploads.runs] == [[], []]


def test_upload_skips_superseded_heads_and_missing_verdicts(store: Store, uploads: CodeScanning) -> None:
    open_uploader(store, uploads).upload(SCAN)
    record_verdict(store, rejected())
    open_uploader(store, uploads, NEWER).upload(SCAN)
    assert uploads.runs == []


@pytest.mark.parametrize("verdict", [accepted(), rejected()])
def test_upload_is_due_if_the_repository_requests_it(verdict: Accept | Reject) -> None:
    scan = scan_job_for(judge_request(), JudgingCompleted(verdict, requesting_dossier()))
    assert scan is not None
    assert (scan.eval_id, scan.origin, scan.head_sha) == (verdict.eval_id, verdict.eval_id, verdict.subject.head_sha)
    carried = verdict.model_copy(update={"carried_from": EVAL})
    carried_scan = scan_job_for(judge_request(), JudgingCompleted(carried, requesting_dossier()))
    assert carried_scan is not None
    assert carried_scan.origin == EVAL


@pytest.mark.parametrize(
    "outcome",
    [
        JudgingCompleted(rejected(), dossier()),
        JudgingCompleted(rejected(), requesting_dossier("sarif: false\n")),
        JudgingCompleted(abstained(AbstainReason.NEEDS_HUMAN), requesting_dossier()),
        JudgingDiscarded("closed"),
    ],
)
def test_upload_is_not_due_without_a_request_or_a_verdict(outcome: JudgingOutcome) -> None:
    assert scan_job_for(judge_request(), outcome) is None


def test_upload_happens_if_no_head_is_recorded(store: Store, uploads: CodeScanning) -> None:
    record_verdict(store, rejected())
    open_uploader(store, uploads, newest=None).upload(SCAN)
    assert len(uploads.runs) == 1


@pytest.mark.parametrize("spare", [0, -1])
def test_upload_over_the_size_limit_is_refused_and_recorded(
    store: Store, uploads: CodeScanning, monkeypatch: pytest.MonkeyPatch, spare: int
) -> None:
    record_verdict(store, rejected())
    open_uploader(store, uploads).upload(SCAN)
    monkeypatch.setattr(code_scanning, "MOST_BYTES", uploads.bytes + spare)
    open_uploader(store, uploads).upload(SCAN.model_copy(update={"origin": EvalId("another")}))
    assert len(uploads.runs) == 2 + spare
    assert store.scan_notes.refusal(pull_ref()) is (UploadRefusal.TOO_LARGE if spare < 0 else None)
