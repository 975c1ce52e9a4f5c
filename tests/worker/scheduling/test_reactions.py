"""Thumbs at our comment are told when the pull request is over."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.worker.adapters.redis.played import HEAD, NEWER, on_record, pull
from tests.worker.adapters.redis.watching import conclude, follow, happening, judged, merge, outcomes, told, wholes
from worker.adapters.redis.store import Store
from worker.domain.check.author_comment import CommentRecord
from worker.domain.ids import RepositoryName
from worker.domain.judge_request import PullRef
from worker.domain.pull_request_events import PullRequestEventKind
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.outcomes import Reaction
from worker.errors import Forbidden, SubjectGone, Unavailable
from worker.scheduling.outcomes import ReactionRecorder
from worker.wiring.app import AppContext

COMMENT = 77


class Wall:
    """The reactions at comments, by number."""

    def __init__(self, *given: Reaction, fails: Exception | None = None) -> None:
        self.given = given
        self.fails = fails
        self.asked: list[tuple[str, int]] = []

    def reactions_to(self, pull: PullRef, repository: RepositoryName, comment_id: int) -> tuple[Reaction, ...]:
        assert pull.number
        self.asked.append((repository, comment_id))
        if self.fails:
            raise self.fails
        return self.given


def up(at: datetime, number: int = 1, **changes: Any) -> Reaction:
    fields: dict[str, Any] = {"account": number, "is_bot": False, "content": "+1", **changes}
    return Reaction(id=number, at=at, **fields)


def hear(store: Store, wall: Wall, what: PullRequestEventKind = PullRequestEventKind.CLOSED) -> None:
    ReactionRecorder(wall, store.author_comments, store.ledger, store.outcomes).record(happening(what))


@pytest.fixture
def rejected(store: Store) -> LedgerEntry:
    """A pull request that was judged, and whose author was told."""
    made = judged(store)
    on_record(store, pull())
    store.author_comments.put(pull(), CommentRecord(nonce="n", comment_id=COMMENT, head_sha=HEAD))
    return made


def test_a_thumb_is_about_the_verdict_that_the_comment_told_of_then(store: Store, rejected: LedgerEntry) -> None:
    later = judged(store, head=NEWER)
    wall = Wall(
        up(later.created_at - timedelta(seconds=1), 1),
        up(later.created_at.replace(microsecond=0), 2, content="-1"),
        up(rejected.created_at - timedelta(days=1), 3),
    )
    for _ in range(2):
        hear(store, wall)
    assert wall.asked == [("acme/widgets", COMMENT)] * 2
    said = [(one["outcome"], one["eval_id"], one["strength"]) for one in told(store, "outcome.recorded")]
    assert said == [
        ("helpful", rejected.eval_id, "explicit"),
        ("not_helpful", later.eval_id, "explicit"),
        ("helpful", rejected.eval_id, "explicit"),
    ]


def test_the_verdict_on_the_whole_weighs_them(store: Store, rejected: LedgerEntry) -> None:
    hear(store, Wall(up(rejected.created_at, content="-1")), PullRequestEventKind.MERGED)
    follow(store, merge())
    assert outcomes(store) == [(1, "not_helpful"), (1, "merged")]
    assert conclude(store) == 1
    [whole] = wholes(store)
    assert (whole.signals["outcome_not_helpful"], whole.signals["strongest"]) == (1, "explicit")


@pytest.mark.parametrize("what", [PullRequestEventKind.REOPENED, PullRequestEventKind.JUDGED])
def test_nobody_is_asked_while_it_is_open(store: Store, rejected: LedgerEntry, what: PullRequestEventKind) -> None:
    wall = Wall(up(rejected.created_at))
    hear(store, wall, what)
    ReactionRecorder(wall, store.author_comments, store.ledger, store.outcomes).record(
        happening(PullRequestEventKind.REVERTED, None)
    )
    assert wall.asked == []


@pytest.mark.parametrize("note", [None, CommentRecord(nonce="n")])
def test_nobody_is_asked_where_nothing_was_written(store: Store, note: CommentRecord | None) -> None:
    made, wall = judged(store), Wall()
    on_record(store, pull())
    if note is not None:
        store.author_comments.put(pull(), note)
    hear(store, wall)
    assert (wall.asked, made.verdict.decision) == ([], "accept")


def test_nobody_is_asked_about_what_was_forgotten(store: Store) -> None:
    on_record(store, pull())
    store.author_comments.put(pull(), CommentRecord(nonce="n", comment_id=COMMENT))
    wall = Wall()
    hear(store, wall)
    assert wall.asked == []


def gone() -> Exception:
    return SubjectGone("the comment")


def forbidden() -> Exception:
    return Forbidden("reactions")


@pytest.mark.parametrize("fails", [gone, forbidden])
def test_a_comment_that_nobody_may_look_at_says_nothing(
    store: Store, rejected: LedgerEntry, fails: Callable[[], Exception]
) -> None:
    wall = Wall(fails=fails())
    hear(store, wall)
    assert (len(wall.asked), outcomes(store), rejected.head_sha) == (1, [], HEAD)


def test_an_outage_is_for_who_tries_again(store: Store, rejected: LedgerEntry) -> None:
    with pytest.raises(Unavailable):
        hear(store, Wall(up(rejected.created_at), fails=Unavailable("GitHub", "down")))


def test_a_merge_is_told_though_reactions_can_not_be_read(store: Store, rejected: LedgerEntry) -> None:
    no: Any = None
    wall = Wall(up(rejected.created_at), fails=Unavailable("GitHub", "down"))
    known = {
        "settings": no,
        "clock": no,
        "source": no,
        "checks": no,
        "command_api": no,
        "comments": no,
        "reviewers": no,
    }
    context = AppContext(**known, store=store, reactions=wall, scans=no, access=no, listing=no)
    with pytest.raises(Unavailable):
        context.record_outcomes(merge())
    assert outcomes(store) == [(1, "merged")]
    wall.fails = None
    context.record_outcomes(merge())
    assert outcomes(store) == [(1, "merged"), (1, "helpful")]
