"""The one comment at a pull request: written, found again, changed, or not written at all."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pytest

from tests.worker.render.samples import abstained, accepted, rejected
from tests.worker.store.played import HEAD, NEWER, pull
from tests.worker.store.test_kept import entry, judging
from worker.domain.feedback import Letter, mark
from worker.domain.ids import DeliveryId, EvalId, RepositoryName, Sha
from worker.domain.request import PullRef
from worker.domain.verdict import AbstainReason, Verdict
from worker.errors import Forbidden, Unavailable
from worker.feedback import Writer
from worker.store.connection import Store
from worker.store.pulls import Finish
from worker.system_clock import SystemClock


@dataclass
class Conversation:
    """The comments at a pull request. *refuses*: what the next writing raises; *is_lost*: it is written all the same."""

    texts: dict[int, str] = field(default_factory=dict[int, str])
    refuses: Exception | None = None
    is_lost: bool = False
    changes: int = 0

    def write(self, pull: PullRef, repository: RepositoryName, text: str) -> int:
        assert (pull.number, repository) == (1, "acme/widgets")
        refused, self.refuses = self.refuses, None
        if refused is None or self.is_lost:
            self.texts[len(self.texts) + 1] = text
        if refused is not None:
            raise refused
        return len(self.texts)

    def change(self, pull: PullRef, repository: RepositoryName, comment_id: int, text: str) -> None:
        assert (pull.number, repository, comment_id in self.texts) == (1, "acme/widgets", True)
        self.texts[comment_id] = text
        self.changes += 1

    def find(self, pull: PullRef, repository: RepositoryName, mark: str, since: datetime) -> int | None:
        assert (pull.number, repository, since.tzinfo is not None) == (1, "acme/widgets", True)
        return next((number for number, text in self.texts.items() if text.endswith(mark)), None)


@pytest.fixture
def there() -> Conversation:
    return Conversation()


def tell(store: Store, there: Conversation, verdict: Verdict, head: Sha = HEAD) -> None:
    """Record this verdict as the newest, and have its author told."""
    taken = judging(store)
    eval_id = EvalId(f"{len(store.ledger.entries(pull()))}-{head[:4]}")
    kept: dict[str, Any] = {"verdict": verdict, "head_sha": head, "eval_id": eval_id}
    store.ledger.append(pull(), entry(eval_id, taken.lease.fence).model_copy(update=kept))
    store.pulls.finish(taken.lease, Finish.JUDGED)
    again(store, there, head)


def again(store: Store, there: Conversation, head: Sha = HEAD, *, is_overridden: bool = False) -> None:
    letter = Letter(
        pull=pull(), head_sha=head, eval_id=EvalId("any"), delivery_id=DeliveryId("d"), is_overridden=is_overridden
    )
    Writer(there, store.notes, store.ledger, lambda _: head, SystemClock(), 5).tell(letter)


def test_what_is_told_ends_in_the_mark_by_which_it_is_found_again(store: Store, there: Conversation) -> None:
    there.refuses, there.is_lost = Unavailable("GitHub", "reset"), True
    with pytest.raises(Unavailable):
        tell(store, there, rejected())
    note = store.notes.of(pull())
    assert note is not None
    assert there.texts[1].endswith(mark(note.nonce))

    again(store, there)
    assert list(there.texts) == [1]
    assert (found := store.notes.of(pull())) is not None
    assert (found.comment_id, found.is_open) == (1, True)


@pytest.mark.parametrize("verdict", [accepted(), abstained(AbstainReason.NEEDS_HUMAN)])
def test_what_is_no_reject_makes_no_comment_where_none_was_written(
    store: Store, there: Conversation, verdict: Verdict
) -> None:
    there.refuses = Forbidden("issues: write")
    tell(store, there, rejected())
    tell(store, there, verdict, NEWER)
    assert there.texts == {}
    assert (note := store.notes.of(pull())) is not None
    assert (note.comment_id, note.is_open) == (None, False)


def test_what_is_no_reject_closes_a_comment_whose_answer_was_lost(store: Store, there: Conversation) -> None:
    there.refuses, there.is_lost = Unavailable("GitHub", "reset"), True
    with pytest.raises(Unavailable):
        tell(store, there, rejected())
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
    tell(store, there, abstained(AbstainReason.CI_FAILED), NEWER)
    assert there.changes == 0
    tell(store, there, rejected(), NEWER)
    tell(store, there, rejected(), NEWER)
    assert there.changes == 1


def test_an_override_of_what_was_told_says_that_nothing_is_left(store: Store, there: Conversation) -> None:
    again(store, there, is_overridden=True)
    tell(store, there, rejected())
    again(store, there, is_overridden=True)
    again(store, there, is_overridden=True)
    assert (len(there.texts), there.changes) == (1, 1)
    assert there.texts[1].startswith("A maintainer overrode")
