"""The author comment (when it is posted, changed, resolved or left alone) and the SARIF upload (once per head and verdict, where the repository asks)."""

import base64
import gzip
import json
from dataclasses import dataclass, field, replace
from datetime import datetime
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
from worker.domain.check.author_comment import AuthorMessage, CommentJob, CommentRecord, comment_marker
from worker.domain.check.check_run import SarifUpload, UploadRefusal
from worker.domain.dossier import ConfigOrigin, ConfigText, Dossier
from worker.domain.judge_request import PullRef
from worker.domain.lifecycle.judging import FindHead, Finish, JudgingCompleted, JudgingDiscarded, JudgingOutcome
from worker.domain.model import DeliveryId, EvalId, RepositoryName, Sha
from worker.domain.ports import PostedComment, PullHead
from worker.domain.verdict.verdict import Abstain, AbstainReason, Accept, Reject, Verdict
from worker.errors import Forbidden, Outage, RateLimited, SubjectGone, Unavailable
from worker.process import SystemClock
from worker.publishing import follow_ups
from worker.publishing.follow_ups import (
    REFUSED_NODE_ID,
    AuthorCommentPublisher,
    EarlyAuthorComment,
    SarifUploader,
    refusal_for,
    scan_job_for,
)


@dataclass
class Comments:
    """Comments of a pull request. `refusal`: what the next post raises; `is_lost`: it is posted all the same."""

    texts: dict[int, str] = field(default_factory=dict[int, str])
    refusal: Exception | None = None
    is_lost: bool = False
    changes: int = 0
    head_reply: PullHead | Exception | None = None
    head_queries: int = 0

    def write(self, pull: PullRef, repository: RepositoryName, text: str) -> PostedComment:
        assert (pull.number, repository) == (1, "acme/widgets")
        refusal, self.refusal = self.refusal, None
        if refusal is None or self.is_lost:
            self.texts[len(self.texts) + 1] = text
        if refusal is not None:
            raise refusal
        return self._posted(len(self.texts))

    def change(self, pull: PullRef, repository: RepositoryName, comment_id: int, text: str) -> PostedComment:
        assert (pull.number, repository, comment_id in self.texts) == (1, "acme/widgets", True)
        self.texts[comment_id] = text
        self.changes += 1
        return self._posted(comment_id)

    def change_and_read_head(self, pull: PullRef, node_id: str, text: str) -> PullHead | None:
        assert (pull.number, node_id) == (1, "IC_1")
        self.head_queries += 1
        if isinstance(self.head_reply, Exception):
            raise self.head_reply
        self.texts[1] = text
        return self.head_reply

    def find(self, pull: PullRef, repository: RepositoryName, marker: str, since: datetime) -> PostedComment | None:
        assert (pull.number, repository, since.tzinfo is not None) == (1, "acme/widgets", True)
        return next((self._posted(number) for number, text in self.texts.items() if text.endswith(marker)), None)

    def _posted(self, number: int) -> PostedComment:
        return PostedComment(number, f"IC_{number}")


@pytest.fixture
def comments() -> Comments:
    return Comments()


def publish_verdict(store: Store, comments: Comments, verdict: Verdict, head: Sha = HEAD) -> None:
    record_verdict(store, verdict, head)
    publish_again(store, comments, head)


def record_verdict(store: Store, verdict: Verdict, head: Sha) -> None:
    leased_job = start_judging_new(store)
    eval_id = EvalId(f"{len(store.ledger.entries(pull_ref()))}-{head[:4]}")
    changes: dict[str, Any] = {"verdict": verdict, "head_sha": head, "eval_id": eval_id}
    store.ledger.append(pull_ref(), ledger_entry_of(eval_id, leased_job.lease.fence).model_copy(update=changes))
    store.pulls.finish(leased_job.lease, Finish.JUDGED)


def lose_reply(store: Store, comments: Comments) -> None:
    """Publish a reject whose reply from GitHub is lost."""
    comments.refusal, comments.is_lost = Unavailable("GitHub", "reset"), True
    with pytest.raises(Unavailable):
        publish_verdict(store, comments, rejected())


def comment_record(store: Store) -> CommentRecord:
    note = store.author_comments.find_record(pull_ref())
    assert note is not None
    return note


def publish_again(store: Store, comments: Comments, head: Sha = HEAD, *, is_overridden: bool = False) -> None:
    job = CommentJob(
        pull=pull_ref(), head_sha=head, eval_id=EvalId("any"), delivery_id=DeliveryId("d"), is_overridden=is_overridden
    )
    open_publisher(store, comments, head).publish(job)


def open_publisher(store: Store, comments: Comments, newest: Sha) -> AuthorCommentPublisher:
    return AuthorCommentPublisher(comments, store.author_comments, store.ledger, lambda _: newest, SystemClock(), 5)


def prepare_early(store: Store, comments: Comments, verdict: Verdict, newest: Sha = NEWER) -> FindHead | None:
    """Prepare the comment on a verdict of NEWER that is sent with the head query."""
    subject = verdict.subject.model_copy(update={"head_sha": NEWER})
    agent_verdict = verdict.model_copy(update={"author_agent": "copilot", "subject": subject})
    assert isinstance(agent_verdict, (Accept, Reject, Abstain))
    early = EarlyAuthorComment(open_publisher(store, comments, newest), store.comment_jobs.is_waiting)
    return early.prepare(judge_request(head_sha=NEWER), JudgingCompleted(agent_verdict, dossier()))


def prepare_accept(store: Store, comments: Comments) -> FindHead:
    """Prepare and record an accept of NEWER."""
    query_head = prepare_early(store, comments, accepted())
    assert query_head is not None
    record_verdict(store, accepted(), NEWER)
    return query_head


def recorded_head(store: Store) -> tuple[Sha | None, str | None]:
    return comment_record(store).head_sha, comment_record(store).node_id


def test_comment_is_found_by_its_marker_after_a_lost_reply(store: Store, comments: Comments) -> None:
    lose_reply(store, comments)
    assert comments.texts[1].endswith(comment_marker(comment_record(store).nonce))

    publish_again(store, comments)
    assert list(comments.texts) == [1]
    assert (comment_record(store).comment_id, comment_record(store).is_open) == (1, True)


@pytest.mark.parametrize("verdict", [accepted(), abstained(AbstainReason.NEEDS_HUMAN)])
def test_accept_or_abstain_posts_no_comment_after_a_refused_one(
    store: Store, comments: Comments, verdict: Verdict
) -> None:
    comments.refusal = Forbidden("issues: write")
    publish_verdict(store, comments, rejected())
    publish_verdict(store, comments, verdict, NEWER)
    assert comments.texts == {}
    assert (comment_record(store).comment_id, comment_record(store).is_open) == (None, False)


def test_accept_resolves_a_comment_whose_reply_was_lost(store: Store, comments: Comments) -> None:
    lose_reply(store, comments)
    publish_verdict(store, comments, accepted(), NEWER)
    assert list(comments.texts) == [1]
    assert comments.texts[1].startswith("Assay accepted")


def test_reject_after_a_refused_comment_posts_the_first_one(store: Store, comments: Comments) -> None:
    comments.refusal = Forbidden("issues: write")
    publish_verdict(store, comments, rejected())
    publish_verdict(store, comments, accepted(), NEWER)
    publish_verdict(store, comments, rejected(), "3" * 40)
    assert [text.startswith(("Assay rejected", "@copilot")) for text in comments.texts.values()] == [True]


def test_abstain_leaves_the_comment_of_its_head_and_accept_changes_it(store: Store, comments: Comments) -> None:
    unjudged = abstained(AbstainReason.JUDGE_UNAVAILABLE)
    for verdict in (rejected(), unjudged, rejected(), unjudged):
        publish_verdict(store, comments, verdict)
    assert (len(comments.texts), comments.changes) == (1, 0)
    publish_verdict(store, comments, accepted())
    assert comments.texts[1].startswith("Assay accepted")
    publish_verdict(store, comments, unjudged)
    assert comments.changes == 1


def test_unavailable_judge_does_not_use_up_the_change_of_a_new_head(store: Store, comments: Comments) -> None:
    publish_verdict(store, comments, rejected())
    publish_verdict(store, comments, abstained(AbstainReason.JUDGE_UNAVAILABLE), NEWER)
    assert comments.changes == 0
    publish_verdict(store, comments, rejected(), NEWER)
    publish_verdict(store, comments, rejected(), NEWER)
    assert comments.changes == 1


def test_failing_ci_is_reported_once_per_head_until_it_passes(store: Store, comments: Comments) -> None:
    red, unjudged = abstained(AbstainReason.CI_FAILED), abstained(AbstainReason.UNPROVEN)
    for verdict in (red, red):
        publish_verdict(store, comments, verdict)
    assert (len(comments.texts), comments.changes) == (1, 0)
    publish_verdict(store, comments, unjudged)
    assert comments.texts[1].startswith("CI does not fail on")
    publish_verdict(store, comments, rejected())
    publish_verdict(store, comments, unjudged)
    assert comments.changes == 2
    assert "Assay rejected" in comments.texts[1]


def test_override_resolves_the_comment_once(store: Store, comments: Comments) -> None:
    publish_again(store, comments, is_overridden=True)
    publish_verdict(store, comments, rejected())
    publish_again(store, comments, is_overridden=True)
    publish_again(store, comments, is_overridden=True)
    assert (len(comments.texts), comments.changes) == (1, 1)
    assert comments.texts[1].startswith("A maintainer overrode")


def test_head_query_changes_an_existing_comment_once(store: Store, comments: Comments) -> None:
    publish_verdict(store, comments, rejected())
    comments.head_reply = PullHead(NEWER, is_open=True)
    query_head = prepare_accept(store, comments)
    assert query_head() == NEWER
    assert comments.texts[1].startswith("Assay accepted")
    assert recorded_head(store) == (NEWER, "IC_1")

    publish_again(store, comments, NEWER)
    assert query_head() is None
    assert (comments.head_queries, comments.changes) == (1, 0)


@pytest.mark.parametrize(
    ("reply", "recorded"),
    [
        (None, (NEWER, "IC_1")),
        (PullHead(NEWER, is_open=False), (NEWER, "IC_1")),
        (SubjectGone("deleted"), (HEAD, REFUSED_NODE_ID)),
        (Forbidden("pull_requests: write"), (HEAD, REFUSED_NODE_ID)),
        (Outage("GitHub", "answered 502"), (HEAD, "IC_1")),
    ],
)
def test_head_query_without_an_open_head_returns_none(
    store: Store, comments: Comments, reply: PullHead | Exception | None, recorded: tuple[Sha, str]
) -> None:
    publish_verdict(store, comments, rejected())
    comments.head_reply = reply
    query_head = prepare_accept(store, comments)
    assert query_head() is None
    assert recorded_head(store) == recorded

    publish_again(store, comments, NEWER)
    assert comments.texts[1].startswith("Assay accepted"), "the job changes what the query did not"
    assert comments.changes == (recorded[0] == HEAD)
    assert recorded_head(store) == (NEWER, recorded[1])


def test_head_query_raises_a_rate_limit(store: Store, comments: Comments) -> None:
    publish_verdict(store, comments, rejected())
    comments.head_reply = RateLimited("GitHub", SystemClock().now())
    query_head = prepare_accept(store, comments)
    with pytest.raises(RateLimited):
        query_head()
    assert recorded_head(store) == (HEAD, "IC_1")


def test_head_query_carries_no_comment_without_news(store: Store, comments: Comments) -> None:
    assert prepare_early(store, comments, rejected()) is None, "there is no comment"
    publish_verdict(store, comments, rejected())
    assert prepare_early(store, comments, abstained(AbstainReason.JUDGE_UNAVAILABLE)) is None
    assert prepare_early(store, comments, accepted().model_copy(update={"carried_from": EvalId("e")})) is None, (
        "a carried verdict asks for no head"
    )
    assert prepare_early(store, comments, accepted(), newest="3" * 40) is None, "a newer head was announced"
    assert prepare_early(store, comments, accepted()) is not None
    publish_verdict(store, comments, accepted())
    assert prepare_early(store, comments, accepted()) is None, "it says so already"
    assert prepare_early(store, comments, rejected()) is not None

    store.comment_jobs.put(CommentJob(pull=pull_ref(), head_sha=HEAD, eval_id=EvalId("e"), delivery_id=DeliveryId("d")))
    assert prepare_early(store, comments, rejected()) is None, "a job may be publishing"


@pytest.mark.parametrize("node_id", [None, REFUSED_NODE_ID])
def test_comment_without_a_usable_node_id_is_left_to_its_job(
    store: Store, comments: Comments, node_id: str | None
) -> None:
    publish_verdict(store, comments, rejected())
    store.author_comments.put(pull_ref(), CommentRecord(nonce="n", comment_id=1, node_id=node_id, head_sha=HEAD))
    assert prepare_early(store, comments, accepted()) is None
    publish_verdict(store, comments, accepted(), NEWER)
    assert recorded_head(store) == (NEWER, "IC_1" if node_id is None else REFUSED_NODE_ID)


def test_declined_comments_are_neither_written_nor_recorded(store: Store, comments: Comments) -> None:
    declining = replace(open_publisher(store, comments, HEAD), is_silent=True)
    record_verdict(store, rejected(), HEAD)
    job = CommentJob(pull=pull_ref(), head_sha=HEAD, eval_id=EvalId("any"), delivery_id=DeliveryId("d"))
    declining.publish(job)
    assert (comments.texts, store.author_comments.find_record(pull_ref())) == ({}, None)

    publish_again(store, comments)
    assert list(comments.texts) == [1]
    record_verdict(store, accepted(), NEWER)
    next_job = job.model_copy(update={"head_sha": NEWER})
    publisher = open_publisher(store, comments, NEWER)
    assert publisher.can_find_head(next_job, AuthorMessage.OVER)
    assert not replace(publisher, is_silent=True).can_find_head(next_job, AuthorMessage.OVER)
    assert replace(publisher, is_silent=True).publish_and_find_head(next_job) is None
    assert (comments.head_queries, comments.changes) == (0, 0)


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


def record_scanned_verdict(store: Store, verdict: Verdict) -> None:
    leased_job = start_judging_new(store)
    changes = {"verdict": verdict, "head_sha": HEAD, "eval_id": EVAL}
    store.ledger.append(pull_ref(), ledger_entry_of(EVAL, leased_job.lease.fence).model_copy(update=changes))
    store.pulls.finish(leased_job.lease, Finish.JUDGED)


def open_uploader(store: Store, uploads: CodeScanning, newest: Sha | None = HEAD) -> SarifUploader:
    return SarifUploader(uploads, store.scan_notes, store.ledger, store.archive, lambda _: newest)


def requesting_dossier(text: str = "sarif: true\n") -> Dossier:
    return dossier(config=(ConfigText(origin=ConfigOrigin.REPOSITORY, text=text),))


def test_upload_is_not_repeated_without_a_dossier(store: Store, uploads: CodeScanning) -> None:
    record_scanned_verdict(store, rejected())
    open_uploader(store, uploads).upload(SCAN)
    open_uploader(store, uploads).upload(SCAN)
    [run] = uploads.runs
    assert [result["ruleId"] for result in run["results"]] == ["stub_body", "no_assertions"]
    assert store.scan_notes.refusal(pull_ref()) is None


def test_refused_upload_is_recorded_and_not_repeated(store: Store, uploads: CodeScanning) -> None:
    record_scanned_verdict(store, rejected())
    uploads.reply = UploadRefusal.NOT_ENABLED
    open_uploader(store, uploads).upload(SCAN)
    open_uploader(store, uploads).upload(SCAN)
    assert len(uploads.runs) == 1
    assert refusal_for(store.scan_notes, pull_ref(), requesting_dossier()) is UploadRefusal.NOT_ENABLED
    assert refusal_for(store.scan_notes, pull_ref(), requesting_dossier("sarif: false\n")) is None


def test_upload_is_repeated_after_an_outage(store: Store, uploads: CodeScanning) -> None:
    record_scanned_verdict(store, accepted())
    uploads.reply = Unavailable("GitHub", "reset")
    with pytest.raises(Unavailable):
        open_uploader(store, uploads).upload(SCAN)
    open_uploader(store, uploads).upload(SCAN)
    assert [run["results"] for run in uploads.runs] == [[], []]


def test_upload_skips_superseded_heads_and_missing_verdicts(store: Store, uploads: CodeScanning) -> None:
    open_uploader(store, uploads).upload(SCAN)
    record_scanned_verdict(store, rejected())
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
    record_scanned_verdict(store, rejected())
    open_uploader(store, uploads, newest=None).upload(SCAN)
    assert len(uploads.runs) == 1


@pytest.mark.parametrize("spare", [0, -1])
def test_upload_over_the_size_limit_is_refused_and_recorded(
    store: Store, uploads: CodeScanning, monkeypatch: pytest.MonkeyPatch, spare: int
) -> None:
    record_scanned_verdict(store, rejected())
    open_uploader(store, uploads).upload(SCAN)
    monkeypatch.setattr(follow_ups, "MOST_BYTES", uploads.bytes + spare)
    open_uploader(store, uploads).upload(SCAN.model_copy(update={"origin": EvalId("another")}))
    assert len(uploads.runs) == 2 + spare
    assert store.scan_notes.refusal(pull_ref()) is (UploadRefusal.TOO_LARGE if spare < 0 else None)
