"""What follows from a happening is found out in the ledgers, and says which verdict it is about."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.worker.adapters.redis.played import AT, HEAD, NEWER, on_record, pull, wish
from tests.worker.adapters.redis.watching import (
    MERGE,
    conclude,
    follow,
    happening,
    judged,
    kinds_of,
    merge,
    outcomes,
    revert,
    told,
    wholes,
)
from tests.worker.publishing.texts.samples import accepted, rejected
from worker.adapters.redis import keys
from worker.adapters.redis.store import Store
from worker.domain.check.author_comment import CommentRecord
from worker.domain.ids import RepositoryName
from worker.domain.judge_request import PullRef
from worker.domain.pull_request_events import PullRequestEvent, PullRequestEventKind
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.outcomes import OutcomeKind, Reaction
from worker.errors import Forbidden, SubjectGone, Unavailable
from worker.scheduling.outcomes import ReactionRecorder, removed_lines
from worker.wiring.app import AppContext

BETWEEN = "3" * 40
LINE = "    return send(data, tries=3)"


def adding(path: str, *lines: str) -> str:
    body = "".join(f"+{line}\n" for line in lines)
    return f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1,0 +1,{len(lines)} @@\n{body}"


def removing(path: str, *lines: str) -> str:
    body = "".join(f"-{line}\n" for line in lines)
    return f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1,{len(lines)} +0,0 @@\n{body}"


def about(store: Store, kind: str) -> list[tuple[int, str | None]]:
    return [(one["number"], one["eval_id"]) for one in told(store, "outcome.recorded") if one["outcome"] == kind]


# The lifecycle


@pytest.mark.parametrize(
    ("what", "kind"),
    [
        (PullRequestEventKind.CLOSED, "closed_unmerged"),
        (PullRequestEventKind.REOPENED, "reopened"),
        (PullRequestEventKind.MERGED, "merged"),
    ],
)
def test_its_end_and_its_return_are_about_the_verdict_on_its_head(
    store: Store, what: PullRequestEventKind, kind: str
) -> None:
    judged(store)
    newest = judged(store, head=NEWER)
    follow(store, happening(what, head_sha=NEWER))
    assert about(store, kind) == [(1, newest.eval_id)]


def test_a_head_that_nobody_judged_leaves_the_newest_verdict(store: Store) -> None:
    made = judged(store, diff=adding("upload.py", LINE))
    follow(store, merge(head_sha="f" * 40))
    assert about(store, "merged") == [(1, made.eval_id)]
    assert store.outcomes.merged_lines(pull()) == {}, "what was merged is not what was judged"


@pytest.mark.parametrize("what", sorted(PullRequestEventKind))
def test_of_a_pull_request_that_was_never_judged_there_is_nothing_to_tell(
    store: Store, what: PullRequestEventKind
) -> None:
    follow(store, happening(what, reverted_shas=(MERGE,), issues=("abc",), reverts=(4,), mends=True))
    assert outcomes(store) == []
    follow(store, happening(what, None, reverted_shas=(MERGE,)))
    assert outcomes(store) == []


# Reverts


def test_a_revert_is_known_by_the_merges_commit(store: Store) -> None:
    made = judged(store)
    follow(store, merge(), revert("0" * 40, MERGE))
    assert about(store, "reverted") == [(1, made.eval_id)]


def test_githubs_button_and_its_commit_tell_of_one_revert(store: Store) -> None:
    judged(store)
    follow(store, merge(), merge(2, reverts=(1,), merge_sha="d" * 40, mends=True), revert())
    assert outcomes(store) == [(1, "merged"), (1, "reverted")]


def test_what_was_not_merged_can_not_be_reverted(store: Store) -> None:
    judged(store)
    follow(store, revert(HEAD), merge(2, reverts=(1,), merge_sha="d" * 40))
    assert outcomes(store) == []


def test_a_merge_of_a_month_ago_is_not_reverted_any_more(store: Store) -> None:
    judged(store)
    follow(store, merge())
    store.client.call("DEL", keys.merged_lines(pull()).name)  # as its time to live does
    follow(store, revert())
    assert outcomes(store) == [(1, "merged")]


# Later fixes


def fixed(store: Store, diff: str, **changes: Any) -> None:
    """One adds LINE and is merged; a later one with this diff is judged and merged."""
    judged(store, 1, diff=adding("upload.py", LINE, "}"))
    follow(store, merge(1))
    judged(store, 2, diff=diff, head=NEWER)
    follow(store, merge(2, **{"head_sha": NEWER, "merge_sha": "d" * 40, "mends": True, **changes}))


def test_a_fix_that_takes_away_lines_of_an_earlier_merge_is_its_later_fix(store: Store) -> None:
    fixed(store, removing("upload.py", LINE))
    assert about(store, "later_fix") == [(1, store.ledger.entries(pull(1))[-1].eval_id)]


@pytest.mark.parametrize(
    ("diff", "changes"),
    [
        (removing("upload.py", LINE), {"mends": False}),
        (removing("other.py", LINE), {}),
        (removing("upload.py", "    return send(data)"), {}),
        (removing("upload.py", "}"), {}),
        (adding("upload.py", LINE), {}),
        ("", {}),
        ("@@ not a diff", {}),
        (removing("upload.py", LINE), {"reverts": (1,)}),
        (removing("upload.py", LINE), {"head_sha": "f" * 40}),
    ],
)
def test_nothing_else_is_a_later_fix(store: Store, diff: str, changes: dict[str, Any]) -> None:
    fixed(store, diff, **changes)
    assert about(store, "later_fix") == []


def test_a_fix_whose_dossier_is_not_kept_finds_nothing(store: Store) -> None:
    judged(store, 1, diff=adding("upload.py", LINE))
    follow(store, merge(1))
    fix = judged(store, 2, diff=removing("upload.py", LINE), head=NEWER)
    store.client.call("DEL", keys.dossier(fix.eval_id).name)
    follow(store, merge(2, head_sha=NEWER, mends=True))
    assert about(store, "later_fix") == []


def test_a_fix_of_a_file_that_it_renames_is_held_against_the_old_name() -> None:
    diff = (
        "diff --git a/upload.py b/send.py\nsimilarity index 60%\nrename from upload.py\nrename to send.py\n"
        f"--- a/upload.py\n+++ b/send.py\n@@ -1,1 +0,0 @@\n-{LINE}\n"
    )
    assert set(removed_lines(diff)) == {"upload.py"}


def test_the_lines_of_a_merge_are_not_readable_in_redis(store: Store) -> None:
    judged(store, 1, diff=adding("upload.py", LINE))
    follow(store, merge(1))
    sealed = store.client.call("GET", keys.merged_lines(pull(1)).name)
    assert b"upload.py" not in bytes(sealed)  # pyright: ignore[reportArgumentType] - a string of Redis
    assert set(store.outcomes.merged_lines(pull(1)) or {}) == {"upload.py"}


# What speaks for itself


def test_red_ci_on_a_merge_or_on_an_accepted_head_is_told_once_a_commit(store: Store) -> None:
    made = judged(store)
    follow(store, merge())
    for sha in (HEAD, MERGE, MERGE):
        follow(store, happening(PullRequestEventKind.CI_FAILED, None, head_sha=sha))
    assert about(store, "ci_red_later") == [(1, made.eval_id)] * 2


def test_red_ci_speaks_against_nothing_that_was_not_accepted(store: Store) -> None:
    judged(store, verdict=rejected())
    here = pull()
    assert store.outcomes.pull_of(here.installation_id, here.repository_id, HEAD) is None
    follow(store, merge(), happening(PullRequestEventKind.CI_FAILED, None, head_sha=MERGE))
    assert about(store, "ci_red_later") == []


def taken_over(head: str, before: str | None, number: int = 1) -> PullRequestEvent:
    return happening(PullRequestEventKind.PUSHED_BY_ANOTHER, number, head_sha=head, before_sha=before, by_person=True)


def test_a_persons_commit_after_the_verdict_is_an_edit_of_what_the_agent_did(store: Store) -> None:
    made = judged(store)
    judged(store, head=NEWER)
    follow(store, taken_over(NEWER, HEAD))
    assert about(store, "edit_followup") == [(1, made.eval_id)]


def test_a_persons_commit_that_is_told_late_is_an_edit_of_the_head_that_it_led_from_and_of_no_newer_one(
    store: Store,
) -> None:
    made = judged(store)
    judged(store, head=NEWER)
    follow(store, taken_over(BETWEEN, HEAD))
    assert about(store, "edit_followup") == [(1, made.eval_id)]


@pytest.mark.parametrize("before", [BETWEEN, None], ids=["another", "unsaid"])
def test_a_persons_commit_on_what_nobody_judged_is_no_edit_of_what_somebody_did(
    store: Store, before: str | None
) -> None:
    judged(store)
    follow(store, taken_over(NEWER, before))
    assert outcomes(store) == []


def test_a_commit_on_a_persons_branch_or_before_any_verdict_is_no_edit(store: Store) -> None:
    judged(store, verdict=accepted(author_agent=None))
    follow(store, taken_over(NEWER, HEAD), taken_over(NEWER, HEAD, 2))
    judged(store, 2)
    follow(store, taken_over(HEAD, BETWEEN, 2))
    assert outcomes(store) == []


def test_asking_again_without_a_new_head_is_a_retry(store: Store) -> None:
    made = judged(store)
    follow(store, happening(PullRequestEventKind.ASKED_AGAIN, head_sha=None, by_person=True))
    assert about(store, "retry") == [(1, made.eval_id)]


def test_asking_for_a_new_head_is_none(store: Store) -> None:
    judged(store)
    store.pulls.request_judging(wish(head_sha=NEWER))
    follow(store, happening(PullRequestEventKind.ASKED_AGAIN, head_sha=None, by_person=True))
    assert outcomes(store) == []


def test_another_that_closes_the_same_issue_takes_over_from_those_before_it(store: Store) -> None:
    first = judged(store, 1)
    follow(store, happening(PullRequestEventKind.JUDGED, 1, issues=("abc", "def")))
    judged(store, 2, head=NEWER)
    takes_over = happening(PullRequestEventKind.JUDGED, 2, issues=("abc", "def"))
    follow(store, takes_over, takes_over, happening(PullRequestEventKind.JUDGED, 1, issues=("abc",)))
    assert about(store, "manual_swap") == [(1, first.eval_id)]


def test_nobody_takes_over_from_what_was_merged(store: Store) -> None:
    judged(store, 1)
    follow(store, happening(PullRequestEventKind.JUDGED, 1, issues=("abc",)), merge(1))
    judged(store, 2, head=NEWER)
    follow(store, happening(PullRequestEventKind.JUDGED, 2, issues=("abc",)))
    assert kinds_of(store, pull(1)) == [OutcomeKind.MERGED]


def test_what_a_judge_recorded_names_the_issues_for_whoever_follows(store: Store) -> None:
    judged(store)
    noted = store.pull_request_events.next()
    assert noted is not None
    assert (noted.event.what, len(noted.event.issues), noted.event.number) == (PullRequestEventKind.JUDGED, 1, 1)


# What is said


@pytest.mark.parametrize("what", [PullRequestEventKind.HELPFUL, PullRequestEventKind.NOT_HELPFUL])
def test_a_thumb_is_about_the_verdict_at_whose_head_it_stood(store: Store, what: PullRequestEventKind) -> None:
    first = judged(store)
    judged(store, head=NEWER)
    follow(store, happening(what, head_sha=HEAD, by_person=True), happening(what, head_sha=HEAD, by_person=True))
    assert about(store, what.value) == [(1, first.eval_id)] * 2, "two people may think the same"


def test_an_outcome_says_when_we_heard_of_it_and_nothing_else_that_is_not_a_number(store: Store) -> None:
    judged(store)
    follow(store, merge())
    [event] = told(store, "outcome.recorded")
    assert event["at"] == AT.isoformat(timespec="milliseconds")
    assert set(event) == {
        "v", "subject_kind", "subject_id", "repository_id", "number", "sensitivity", "outcome", "strength", "eval_id",
        "head_sha", "at",
    }  # fmt: skip


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
def told_author(store: Store) -> LedgerEntry:
    """A pull request that was judged, and whose author was told."""
    made = judged(store)
    on_record(store, pull())
    store.author_comments.put(pull(), CommentRecord(nonce="n", comment_id=COMMENT, head_sha=HEAD))
    return made


def test_a_thumb_is_about_the_verdict_that_the_comment_told_of_then(store: Store, told_author: LedgerEntry) -> None:
    later = judged(store, head=NEWER)
    wall = Wall(
        up(later.created_at - timedelta(seconds=1), 1),
        up(later.created_at.replace(microsecond=0), 2, content="-1"),
        up(told_author.created_at - timedelta(days=1), 3),
    )
    for _ in range(2):
        hear(store, wall)
    assert wall.asked == [("acme/widgets", COMMENT)] * 2
    said = [(one["outcome"], one["eval_id"], one["strength"]) for one in told(store, "outcome.recorded")]
    assert said == [
        ("helpful", told_author.eval_id, "explicit"),
        ("not_helpful", later.eval_id, "explicit"),
        ("helpful", told_author.eval_id, "explicit"),
    ]


def test_the_verdict_on_the_whole_weighs_them(store: Store, told_author: LedgerEntry) -> None:
    hear(store, Wall(up(told_author.created_at, content="-1")), PullRequestEventKind.MERGED)
    follow(store, merge())
    assert outcomes(store) == [(1, "not_helpful"), (1, "merged")]
    assert conclude(store) == 1
    [whole] = wholes(store)
    assert (whole.signals["outcome_not_helpful"], whole.signals["strongest"]) == (1, "explicit")


@pytest.mark.parametrize("what", [PullRequestEventKind.REOPENED, PullRequestEventKind.JUDGED])
def test_nobody_is_asked_while_it_is_open(store: Store, told_author: LedgerEntry, what: PullRequestEventKind) -> None:
    wall = Wall(up(told_author.created_at))
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
    store: Store, told_author: LedgerEntry, fails: Callable[[], Exception]
) -> None:
    wall = Wall(fails=fails())
    hear(store, wall)
    assert (len(wall.asked), outcomes(store), told_author.head_sha) == (1, [], HEAD)


def test_an_outage_is_for_who_tries_again(store: Store, told_author: LedgerEntry) -> None:
    with pytest.raises(Unavailable):
        hear(store, Wall(up(told_author.created_at), fails=Unavailable("GitHub", "down")))


def test_a_merge_is_told_though_reactions_can_not_be_read(store: Store, told_author: LedgerEntry) -> None:
    no: Any = None
    wall = Wall(up(told_author.created_at), fails=Unavailable("GitHub", "down"))
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
