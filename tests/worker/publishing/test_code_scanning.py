"""The errand that uploads SARIF: once for each head and verdict, and never for what nobody wants."""

import base64
import gzip
import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.worker.adapters.redis.store_samples import HEAD, NEWER, judge_request, pull_ref
from tests.worker.adapters.redis.test_lease_writes import ledger_entry_of, start_judging_new
from tests.worker.publishing.texts.samples import abstained, accepted, dossier, rejected
from worker.adapters.redis.store import Store
from worker.domain.check.check_run import SarifUpload, UploadRefusal
from worker.domain.dossier import ConfigOrigin, ConfigText, Dossier
from worker.domain.ids import DeliveryId, EvalId, RepositoryName, Sha
from worker.domain.judge_request import PullRef
from worker.domain.lifecycle.judging import Finish, JudgingCompleted, JudgingDiscarded, JudgingOutcome
from worker.domain.verdict.verdict import AbstainReason, Accept, Reject, Verdict
from worker.errors import Unavailable
from worker.publishing import code_scanning
from worker.publishing.code_scanning import SarifUploader, refusal_for, scan_job_for

EVAL = EvalId("eval-1")
SCAN = SarifUpload(pull=pull_ref(), head_sha=HEAD, eval_id=EVAL, origin=EVAL, delivery_id=DeliveryId("d"))


@dataclass
class CodeScanning:
    """What GitHub was given. *answers*: what it says to the next one."""

    runs: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    answers: UploadRefusal | Exception | None = None
    bytes: int = 0

    def upload(self, pull: PullRef, repository: RepositoryName, head_sha: Sha, sarif: str) -> UploadRefusal | None:
        assert (pull.number, repository, head_sha) == (1, "acme/widgets", HEAD)
        packed = base64.b64decode(sarif)
        self.bytes = len(packed)
        [run] = json.loads(gzip.decompress(packed))["runs"]
        self.runs.append(run)
        answer, self.answers = self.answers, None
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def there() -> CodeScanning:
    return CodeScanning()


def on_record(store: Store, verdict: Verdict) -> None:
    taken = start_judging_new(store)
    kept = {"verdict": verdict, "head_sha": HEAD, "eval_id": EVAL}
    store.ledger.append(pull_ref(), ledger_entry_of(EVAL, taken.lease.fence).model_copy(update=kept))
    store.pulls.finish(taken.lease, Finish.JUDGED)


def scanner(store: Store, there: CodeScanning, newest: Sha | None = HEAD) -> SarifUploader:
    return SarifUploader(there, store.scan_notes, store.ledger, store.archive, lambda _: newest)


def wanting(text: str = "sarif: true\n") -> Dossier:
    return dossier(config=(ConfigText(origin=ConfigOrigin.REPOSITORY, text=text),))


def test_what_was_sent_is_not_sent_again_though_its_dossier_is_not_kept(store: Store, there: CodeScanning) -> None:
    on_record(store, rejected())
    scanner(store, there).upload(SCAN)
    scanner(store, there).upload(SCAN)
    [run] = there.runs
    assert [one["ruleId"] for one in run["results"]] == ["stub_body", "no_assertions"]
    assert store.scan_notes.refusal(pull_ref()) is None


def test_a_refusal_is_noted_and_not_asked_for_again(store: Store, there: CodeScanning) -> None:
    on_record(store, rejected())
    there.answers = UploadRefusal.NOT_ENABLED
    scanner(store, there).upload(SCAN)
    scanner(store, there).upload(SCAN)
    assert len(there.runs) == 1
    assert refusal_for(store.scan_notes, pull_ref(), wanting()) is UploadRefusal.NOT_ENABLED
    assert refusal_for(store.scan_notes, pull_ref(), wanting("sarif: false\n")) is None


def test_what_an_outage_stopped_is_sent_again(store: Store, there: CodeScanning) -> None:
    on_record(store, accepted())
    there.answers = Unavailable("GitHub", "reset")
    with pytest.raises(Unavailable):
        scanner(store, there).upload(SCAN)
    scanner(store, there).upload(SCAN)
    assert [run["results"] for run in there.runs] == [[], []]


def test_a_head_that_was_superseded_and_a_verdict_that_was_forgotten_are_left_out(
    store: Store, there: CodeScanning
) -> None:
    scanner(store, there).upload(SCAN)
    on_record(store, rejected())
    scanner(store, there, NEWER).upload(SCAN)
    assert there.runs == []


@pytest.mark.parametrize("verdict", [accepted(), rejected()])
def test_it_is_due_where_the_repository_wants_it(verdict: Accept | Reject) -> None:
    scan = scan_job_for(judge_request(), JudgingCompleted(verdict, wanting()))
    assert scan is not None
    assert (scan.eval_id, scan.origin, scan.head_sha) == (verdict.eval_id, verdict.eval_id, verdict.subject.head_sha)
    carried = verdict.model_copy(update={"carried_from": EVAL})
    again = scan_job_for(judge_request(), JudgingCompleted(carried, wanting()))
    assert again is not None
    assert again.origin == EVAL


@pytest.mark.parametrize(
    "outcome",
    [
        JudgingCompleted(rejected(), dossier()),
        JudgingCompleted(rejected(), wanting("sarif: false\n")),
        JudgingCompleted(abstained(AbstainReason.NEEDS_HUMAN), wanting()),
        JudgingDiscarded("closed"),
    ],
)
def test_it_is_not_due_where_nobody_wants_it_or_nobody_judged(outcome: JudgingOutcome) -> None:
    assert scan_job_for(judge_request(), outcome) is None


def test_where_no_head_is_known_any_more_none_is_newer(store: Store, there: CodeScanning) -> None:
    on_record(store, rejected())
    scanner(store, there, newest=None).upload(SCAN)
    assert len(there.runs) == 1


@pytest.mark.parametrize("spare", [0, -1])
def test_what_is_larger_than_github_takes_is_not_sent_and_said_so(
    store: Store, there: CodeScanning, monkeypatch: pytest.MonkeyPatch, spare: int
) -> None:
    on_record(store, rejected())
    scanner(store, there).upload(SCAN)
    monkeypatch.setattr(code_scanning, "MOST_BYTES", there.bytes + spare)
    scanner(store, there).upload(SCAN.model_copy(update={"origin": EvalId("another")}))
    assert len(there.runs) == 2 + spare
    assert store.scan_notes.refusal(pull_ref()) is (UploadRefusal.TOO_LARGE if spare < 0 else None)
