"""The one comment at a pull request: written, found again, changed, or not written at all."""

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import pytest

from tests.worker.adapters.redis.store_samples import HEAD, NEWER, judge_request, pull_ref
from tests.worker.adapters.redis.test_lease_writes import ledger_entry_of, start_judging_new
from tests.worker.publishing.texts.samples import abstained, accepted, dossier, rejected
from worker.adapters.redis.store import Store
from worker.clock import SystemClock
from worker.domain.check.author_comment import AuthorMessage, CommentJob, CommentRecord, comment_marker
from worker.domain.ids import DeliveryId, EvalId, RepositoryName, Sha
from worker.domain.judge_request import PullRef
from worker.domain.lifecycle.judging import FindHead, Finish, JudgingCompleted
from worker.domain.ports import PostedComment, PullHead
from worker.domain.verdict.verdict import Abstain, AbstainReason, Accept, Reject, Verdict
from worker.errors import Forbidden, Outage, RateLimited, SubjectGone, Unavailable
from worker.publishing.author_comment import REFUSED_NODE_ID, AuthorCommentPublisher, EarlyAuthorComment


@dataclass
class Conversation:
    """The comments at a pull request. *refuses*: what the next writing raises; *is_lost*: it is written all the same."""

    texts: dict[int, str] = field(default_factory=dict[int, str])
    refuses: Exception | None = None
    is_lost: bool = False
    changes: int = 0
    tip: PullHead | Exception | None = None
    looks: int = 0

    def write(self, pull: PullRef, repository: RepositoryName, text: str) -> PostedComment:
        assert (pull.number, repository) == (1, "acme/widgets")
        refused, self.refuses = self.refuses, None
        if refused is None or self.is_lost:
            self.texts[len(self.texts) + 1] = text
        if refused is not None:
            raise refused
        return self._posted(len(self.texts))

    def change(self, pull: PullRef, repository: RepositoryName, comment_id: int, text: str) -> PostedComment:
        assert (pull.number, repository, comment_id in self.texts) == (1, "acme/widgets", True)
        self.texts[comment_id] = text
        self.changes += 1
        return self._posted(comment_id)

    def change_and_read_head(self, pull: PullRef, node_id: str, text: str) -> PullHead | None:
        assert (pull.number, node_id) == (1, "IC_1")
        self.looks += 1
        if isinstance(self.tip, Exception):
            raise self.tip
        self.texts[1] = text
        return self.tip

    def find(self, pull: PullRef, repository: RepositoryName, marker: str, since: datetime) -> PostedComment | None:
        assert (pull.number, repository, since.tzinfo is not None) == (1, "acme/widgets", True)
        return next((self._posted(number) for number, text in self.texts.items() if text.endswith(marker)), None)

    def _posted(self, number: int) -> PostedComment:
        return PostedComment(number, f"IC_{number}")


@pytest.fixture
def there() -> Conversation:
    return Conversation()


def tell(store: Store, there: Conversation, verdict: Verdict, head: Sha = HEAD) -> None:
    """Record this verdict as the newest, and have its author told."""
    on_record(store, verdict, head)
    again(store, there, head)


def on_record(store: Store, verdict: Verdict, head: Sha) -> None:
    taken = start_judging_new(store)
    eval_id = EvalId(f"{len(store.ledger.entries(pull_ref()))}-{head[:4]}")
    kept: dict[str, Any] = {"verdict": verdict, "head_sha": head, "eval_id": eval_id}
    store.ledger.append(pull_ref(), ledger_entry_of(eval_id, taken.lease.fence).model_copy(update=kept))
    store.pulls.finish(taken.lease, Finish.JUDGED)


def lost(store: Store, there: Conversation) -> None:
    """A reject is told, and GitHub's answer to that is lost."""
    there.refuses, there.is_lost = Unavailable("GitHub", "reset"), True
    with pytest.raises(Unavailable):
        tell(store, there, rejected())


def record_of(store: Store) -> CommentRecord:
    note = store.author_comments.find_record(pull_ref())
    assert note is not None
    return note


def again(store: Store, there: Conversation, head: Sha = HEAD, *, is_overridden: bool = False) -> None:
    letter = CommentJob(
        pull=pull_ref(), head_sha=head, eval_id=EvalId("any"), delivery_id=DeliveryId("d"), is_overridden=is_overridden
    )
    writer(store, there, head).publish(letter)


def writer(store: Store, there: Conversation, newest: Sha) -> AuthorCommentPublisher:
    return AuthorCommentPublisher(there, store.author_comments, store.ledger, lambda _: newest, SystemClock(), 5)


def due(store: Store, there: Conversation, verdict: Verdict, newest: Sha = NEWER) -> FindHead | None:
    """What tells of this verdict on the newer head beside the question for the newest."""
    agents = verdict.model_copy(
        update={
            "author_agent": "copilot",
            "subject": verdict.subject.model_copy(update={"head_sha": NEWER}),
        }
    )
    assert isinstance(agents, (Accept, Reject, Abstain))
    riding = EarlyAuthorComment(writer(store, there, newest), store.comment_jobs.is_waiting)
    return riding.prepare(judge_request(head_sha=NEWER), JudgingCompleted(agents, dossier()))


def accept_due(store: Store, there: Conversation) -> FindHead:
    """The newer head is accepted, and on record: what tells of that beside the question for the newest."""
    look = due(store, there, accepted())
    assert look is not None
    on_record(store, accepted(), NEWER)
    return look


def is_noted(store: Store) -> tuple[Sha | None, str | None]:
    return record_of(store).head_sha, record_of(store).node_id


def test_what_is_told_ends_in_the_mark_by_which_it_is_found_again(store: Store, there: Conversation) -> None:
    lost(store, there)
    assert there.texts[1].endswith(comment_marker(record_of(store).nonce))

    again(store, there)
    assert list(there.texts) == [1]
    assert (record_of(store).comment_id, record_of(store).is_open) == (1, True)


@pytest.mark.parametrize("verdict", [accepted(), abstained(AbstainReason.NEEDS_HUMAN)])
def test_what_is_no_reject_makes_no_comment_where_none_was_written(
    store: Store, there: Conversation, verdict: Verdict
) -> None:
    there.refuses = Forbidden("issues: write")
    tell(store, there, rejected())
    tell(store, there, verdict, NEWER)
    assert there.texts == {}
    assert (record_of(store).comment_id, record_of(store).is_open) == (None, False)


def test_what_is_no_reject_closes_a_comment_whose_answer_was_lost(store: Store, there: Conversation) -> None:
    lost(store, there)
    tell(store, there, accepted(), NEWER)
    assert list(there.texts) == [1]
    assert there.texts[1].startswith("Assay accepted")


def test_a_reject_after_that_is_written_for_the_first_time(store: Store, there: Conversation) -> None:
    there.refuses = Forbidden("issues: write")
    tell(store, there, rejected())
    tell(store, there, accepted(), NEWER)
    tell(store, there, rejected(), "3" * 40)
    assert [text.startswith(("Assay rejected", "@copilot")) for text in there.texts.values()] == [True]


def test_at_one_head_an_abstain_changes_nothing_and_what_is_not_so_any_more_is_set_right(
    store: Store, there: Conversation
) -> None:
    unjudged = abstained(AbstainReason.JUDGE_UNAVAILABLE)
    for verdict in (rejected(), unjudged, rejected(), unjudged):
        tell(store, there, verdict)
    assert (len(there.texts), there.changes) == (1, 0)
    tell(store, there, accepted())
    assert there.texts[1].startswith("Assay accepted")
    tell(store, there, unjudged)
    assert there.changes == 1


def test_what_nobody_judged_leaves_the_next_head_its_one_change(store: Store, there: Conversation) -> None:
    tell(store, there, rejected())
    tell(store, there, abstained(AbstainReason.JUDGE_UNAVAILABLE), NEWER)
    assert there.changes == 0
    tell(store, there, rejected(), NEWER)
    tell(store, there, rejected(), NEWER)
    assert there.changes == 1


def test_red_ci_is_told_once_a_head_and_is_over_once_it_is_mended(store: Store, there: Conversation) -> None:
    red, unjudged = abstained(AbstainReason.CI_FAILED), abstained(AbstainReason.UNPROVEN)
    for verdict in (red, red):
        tell(store, there, verdict)
    assert (len(there.texts), there.changes) == (1, 0)
    tell(store, there, unjudged)
    assert there.texts[1].startswith("CI does not fail on")
    tell(store, there, rejected())
    tell(store, there, unjudged)
    assert there.changes == 2
    assert "Assay rejected" in there.texts[1]


def test_an_override_of_what_was_told_says_that_nothing_is_left(store: Store, there: Conversation) -> None:
    again(store, there, is_overridden=True)
    tell(store, there, rejected())
    again(store, there, is_overridden=True)
    again(store, there, is_overridden=True)
    assert (len(there.texts), there.changes) == (1, 1)
    assert there.texts[1].startswith("A maintainer overrode")


def test_a_comment_that_is_there_is_changed_by_what_asks_for_the_newest_head_and_by_nothing_else(
    store: Store, there: Conversation
) -> None:
    tell(store, there, rejected())
    there.tip = PullHead(NEWER, is_open=True)
    look = accept_due(store, there)
    assert look() == NEWER
    assert there.texts[1].startswith("Assay accepted")
    assert is_noted(store) == (NEWER, "IC_1")

    again(store, there, NEWER)
    assert look() is None
    assert (there.looks, there.changes) == (1, 0)


@pytest.mark.parametrize(
    ("tip", "noted"),
    [
        (None, (NEWER, "IC_1")),
        (PullHead(NEWER, is_open=False), (NEWER, "IC_1")),
        (SubjectGone("deleted"), (HEAD, REFUSED_NODE_ID)),
        (Forbidden("pull_requests: write"), (HEAD, REFUSED_NODE_ID)),
        (Outage("GitHub", "answered 502"), (HEAD, "IC_1")),
    ],
)
def test_where_the_answer_names_no_head_it_is_still_to_be_asked_for(
    store: Store, there: Conversation, tip: PullHead | Exception | None, noted: tuple[Sha, str]
) -> None:
    tell(store, there, rejected())
    there.tip = tip
    look = accept_due(store, there)
    assert look() is None
    assert is_noted(store) == noted

    again(store, there, NEWER)
    assert there.texts[1].startswith("Assay accepted"), "the errand tells what was not told"
    assert there.changes == (noted[0] == HEAD)
    assert is_noted(store) == (NEWER, noted[1])


def test_a_rate_limit_is_waited_for(store: Store, there: Conversation) -> None:
    tell(store, there, rejected())
    there.tip = RateLimited("GitHub", SystemClock().now())
    look = accept_due(store, there)
    with pytest.raises(RateLimited):
        look()
    assert is_noted(store) == (HEAD, "IC_1")


def test_nothing_is_told_beside_the_question_where_the_comment_says_nothing_new(
    store: Store, there: Conversation
) -> None:
    assert due(store, there, rejected()) is None, "there is no comment"
    tell(store, there, rejected())
    assert due(store, there, abstained(AbstainReason.JUDGE_UNAVAILABLE)) is None
    assert due(store, there, accepted().model_copy(update={"carried_from": EvalId("e")})) is None, "nobody asks"
    assert due(store, there, accepted(), newest="3" * 40) is None, "a newer head was announced"
    assert due(store, there, accepted()) is not None
    tell(store, there, accepted())
    assert due(store, there, accepted()) is None, "nothing is left, as before"
    assert due(store, there, rejected()) is not None

    store.comment_jobs.put(CommentJob(pull=pull_ref(), head_sha=HEAD, eval_id=EvalId("e"), delivery_id=DeliveryId("d")))
    assert due(store, there, rejected()) is None, "somebody may be at it"


@pytest.mark.parametrize("node_id", [None, REFUSED_NODE_ID])
def test_a_comment_whose_name_is_not_known_or_was_refused_is_left_to_the_errand(
    store: Store, there: Conversation, node_id: str | None
) -> None:
    tell(store, there, rejected())
    store.author_comments.put(pull_ref(), CommentRecord(nonce="n", comment_id=1, node_id=node_id, head_sha=HEAD))
    assert due(store, there, accepted()) is None
    tell(store, there, accepted(), NEWER)
    assert is_noted(store) == (NEWER, "IC_1" if node_id is None else REFUSED_NODE_ID)


def test_where_comments_are_declined_none_is_written_or_changed_and_nothing_is_lost_for_later(
    store: Store, there: Conversation
) -> None:
    silent = replace(writer(store, there, HEAD), is_silent=True)
    on_record(store, rejected(), HEAD)
    letter = CommentJob(pull=pull_ref(), head_sha=HEAD, eval_id=EvalId("any"), delivery_id=DeliveryId("d"))
    silent.publish(letter)
    assert (there.texts, store.author_comments.find_record(pull_ref())) == ({}, None)

    again(store, there)
    assert list(there.texts) == [1]
    on_record(store, accepted(), NEWER)
    later = letter.model_copy(update={"head_sha": NEWER})
    able = writer(store, there, NEWER)
    assert able.can_find_head(later, AuthorMessage.OVER)
    assert not replace(able, is_silent=True).can_find_head(later, AuthorMessage.OVER)
    assert replace(able, is_silent=True).publish_and_find_head(later) is None
    assert (there.looks, there.changes) == (0, 0)
