"""What follows from a happening is found out in the ledgers, and says which verdict it is about."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.worker.adapters.redis.outcome_samples import (
    MERGE,
    event_bodies,
    judge_head,
    judge_whole_pull_requests,
    merge_event,
    pull_request_event,
    record_outcomes,
    recorded_outcomes,
    revert_event,
    whole_verdicts,
)
from tests.worker.adapters.redis.store_samples import (
    HEAD,
    NEWER,
    REQUESTED_AT,
    judge_request,
    pull_ref,
    register_pull_requests,
)
from tests.worker.publishing.texts.samples import accepted, rejected
from worker.adapters.redis import keys
from worker.adapters.redis.store import Store
from worker.domain.check.author_comment import CommentRecord
from worker.domain.ids import RepositoryName
from worker.domain.judge_request import PullRef
from worker.domain.pull_request_events import PullRequestEvent
from worker.domain.pull_request_events import PullRequestEventKind as Kind
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.outcomes import Reaction
from worker.domain.verdict.verdict import Accept, Reject
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


@dataclass(frozen=True)
class Judged:
    """A judging of a head."""

    number: int = 1
    head: str = HEAD
    diff: str = ""
    verdict: Accept | Reject | None = None


def taken_over(head: str, before: str | None, number: int = 1) -> PullRequestEvent:
    return pull_request_event(Kind.PUSHED_BY_ANOTHER, number, head_sha=head, before_sha=before, by_person=True)


def red(sha: str) -> PullRequestEvent:
    return pull_request_event(Kind.CI_FAILED, None, head_sha=sha)


def closes(number: int, *issues: str) -> PullRequestEvent:
    """A verdict on a pull request that closes these issues was recorded."""
    return pull_request_event(Kind.JUDGED, number, issues=issues)


def thumb(what: Kind) -> PullRequestEvent:
    return pull_request_event(what, head_sha=HEAD, by_person=True)


Steps = list[Judged | PullRequestEvent]
ONCE, AGAIN, OTHER = Judged(), Judged(head=NEWER), Judged(2, NEWER)
LATER_MERGE = merge_event(2, reverts=(1,), merge_sha="d" * 40, mends=True)
PERSONS = Judged(verdict=accepted(author_agent=None))
ADDS = Judged(diff=adding("upload.py", LINE, "}"))
TAKES = Judged(2, NEWER, removing("upload.py", LINE))
FIX: dict[str, Any] = {"head_sha": NEWER, "merge_sha": "d" * 40, "mends": True}


def fixed(diff: str, **changes: Any) -> Steps:
    """One adds LINE and is merged; a later one with this diff is judged and merged."""
    return [ADDS, merge_event(1), Judged(2, NEWER, diff), merge_event(2, **{**FIX, **changes})]


MERGED_BOTH = [(1, "merged", 0), (2, "merged", 1)]
OUTCOMES: dict[str, tuple[Steps, list[tuple[int, str, int]]]] = {
    "closed": ([ONCE, AGAIN, pull_request_event(Kind.CLOSED, head_sha=NEWER)], [(1, "closed_unmerged", 1)]),
    "reopened": ([ONCE, AGAIN, pull_request_event(Kind.REOPENED, head_sha=NEWER)], [(1, "reopened", 1)]),
    "merged": ([ONCE, AGAIN, pull_request_event(Kind.MERGED, head_sha=NEWER)], [(1, "merged", 1)]),
    "a revert of the merge's commit": ([ONCE, merge_event(), revert_event("0" * 40, MERGE)], [(1, "merged", 0), (1, "reverted", 0)]),
    "a revert by GitHub's button and by its commit": (
        [ONCE, merge_event(), LATER_MERGE, revert_event()], [(1, "merged", 0), (1, "reverted", 0)],
    ),
    "a revert of what was not merged": ([ONCE, revert_event(HEAD), LATER_MERGE], []),
    "a later fix": (fixed(removing("upload.py", LINE)), [*MERGED_BOTH, (1, "later_fix", 0)]),
    "no fix by its own words": (fixed(removing("upload.py", LINE), mends=False), MERGED_BOTH),
    "a fix of another file": (fixed(removing("other.py", LINE)), MERGED_BOTH),
    "a fix of another line": (fixed(removing("upload.py", "    return send(data)")), MERGED_BOTH),
    "a fix of a short line": (fixed(removing("upload.py", "}")), MERGED_BOTH),
    "a fix that adds": (fixed(adding("upload.py", LINE)), MERGED_BOTH),
    "a fix without a diff": (fixed(""), MERGED_BOTH),
    "a fix whose diff can't be read": (fixed("@@ not a diff"), MERGED_BOTH),
    "a fix that reverts": (
        fixed(removing("upload.py", LINE), reverts=(1,)), [*MERGED_BOTH, (1, "reverted", 0)],
    ),
    "a fix of another head than was judged": (fixed(removing("upload.py", LINE), head_sha="f" * 40), MERGED_BOTH),
    "red CI on a merge and on its head, once a commit": (
        [ONCE, merge_event(), red(HEAD), red(MERGE), red(MERGE)], [(1, "merged", 0), *[(1, "ci_red_later", 0)] * 2],
    ),
    "red CI on what was rejected": ([Judged(verdict=rejected()), red(HEAD), merge_event(), red(MERGE)], [(1, "merged", 0)]),
    "a person's commit after the verdict": ([ONCE, AGAIN, taken_over(NEWER, HEAD)], [(1, "edit_followup", 0)]),
    "a person's commit that is told late": ([ONCE, AGAIN, taken_over(BETWEEN, HEAD)], [(1, "edit_followup", 0)]),
    "a person's commit on what nobody judged": ([ONCE, taken_over(NEWER, BETWEEN)], []),
    "a person's commit on what is not said": ([ONCE, taken_over(NEWER, None)], []),
    "a person's commit on their own branch": ([PERSONS, taken_over(NEWER, HEAD)], []),
    "a person's commit before any verdict": ([taken_over(NEWER, HEAD, 2), Judged(2), taken_over(HEAD, BETWEEN, 2)], []),
    "asked for again": ([ONCE, pull_request_event(Kind.ASKED_AGAIN, head_sha=None, by_person=True)], [(1, "retry", 0)]),
    "another that closes the same issue": (
        [ONCE, closes(1, "abc", "def"), OTHER, closes(2, "abc", "def"), closes(2, "abc", "def"), closes(1, "abc")],
        [(1, "manual_swap", 0)],
    ),
    "another that closes the issue of a merge": (
        [ONCE, closes(1, "abc"), merge_event(1), OTHER, closes(2, "abc")], [(1, "merged", 0)],
    ),
    "two thumbs up": ([ONCE, AGAIN, thumb(Kind.HELPFUL), thumb(Kind.HELPFUL)], [(1, "helpful", 0)] * 2),
    "two thumbs down": ([ONCE, AGAIN, thumb(Kind.NOT_HELPFUL), thumb(Kind.NOT_HELPFUL)], [(1, "not_helpful", 0)] * 2),
    **{
        f"{kind} of what was never judged": (
            [pull_request_event(kind, number, reverted_shas=(MERGE,), issues=("abc",), reverts=(4,), mends=True)], [],
        )
        for kind in sorted(Kind) for number in (1, None)
    },
}  # fmt: skip


@pytest.mark.parametrize(("steps", "told_of"), OUTCOMES.values(), ids=OUTCOMES)
def test_what_happened_is_told_of_the_verdict_that_it_is_about(
    store: Store, steps: Steps, told_of: list[tuple[int, str, int]]
) -> None:
    made: list[LedgerEntry] = []
    for step in steps:
        if isinstance(step, Judged):
            made.append(judge_head(store, step.number, step.verdict, step.diff, step.head))
        else:
            record_outcomes(store, step)
    found = [(one["number"], one["outcome"], one["eval_id"]) for one in event_bodies(store, "outcome.recorded")]
    assert sorted(found) == sorted((number, kind, made[at].eval_id) for number, kind, at in told_of)


def test_a_head_that_nobody_judged_leaves_the_newest_verdict(store: Store) -> None:
    made = judge_head(store, diff=adding("upload.py", LINE))
    record_outcomes(store, merge_event(head_sha="f" * 40))
    assert [one["eval_id"] for one in event_bodies(store, "outcome.recorded")] == [made.eval_id]
    assert store.outcomes.merged_lines(pull_ref()) == {}, "what was merged is not what was judged"


def test_a_merge_of_a_month_ago_is_not_reverted_any_more(store: Store) -> None:
    judge_head(store)
    record_outcomes(store, merge_event())
    store.client.call("DEL", keys.merged_lines(pull_ref()).name)  # as its time to live does
    record_outcomes(store, revert_event())
    assert recorded_outcomes(store) == [(1, "merged")]


def test_only_an_accepted_head_is_found_by_its_commit(store: Store) -> None:
    judge_head(store, verdict=rejected())
    assert store.outcomes.pull_of(pull_ref().installation_id, pull_ref().repository_id, HEAD) is None


def test_asking_for_a_new_head_is_no_retry(store: Store) -> None:
    judge_head(store)
    store.pulls.request_judging(judge_request(head_sha=NEWER))
    record_outcomes(store, pull_request_event(Kind.ASKED_AGAIN, head_sha=None, by_person=True))
    assert recorded_outcomes(store) == []


def test_a_fix_whose_dossier_is_not_kept_finds_nothing(store: Store) -> None:
    judge_head(store, 1, diff=adding("upload.py", LINE))
    record_outcomes(store, merge_event(1))
    fix = judge_head(store, 2, diff=removing("upload.py", LINE), head=NEWER)
    store.client.call("DEL", keys.dossier(fix.eval_id).name)
    record_outcomes(store, merge_event(2, head_sha=NEWER, mends=True))
    assert recorded_outcomes(store) == [(1, "merged"), (2, "merged")]


def test_a_fix_of_a_file_that_it_renames_is_held_against_the_old_name() -> None:
    diff = (
        "diff --git a/upload.py b/send.py\nsimilarity index 60%\nrename from upload.py\nrename to send.py\n"
        f"--- a/upload.py\n+++ b/send.py\n@@ -1,1 +0,0 @@\n-{LINE}\n"
    )
    assert set(removed_lines(diff)) == {"upload.py"}


def test_the_lines_of_a_merge_are_not_readable_in_redis(store: Store) -> None:
    judge_head(store, 1, diff=adding("upload.py", LINE))
    record_outcomes(store, merge_event(1))
    sealed = store.client.call("GET", keys.merged_lines(pull_ref(1)).name)
    assert b"upload.py" not in bytes(sealed)  # pyright: ignore[reportArgumentType] - a string of Redis
    assert set(store.outcomes.merged_lines(pull_ref(1)) or {}) == {"upload.py"}


def test_what_a_judge_recorded_names_the_issues_for_whoever_follows(store: Store) -> None:
    judge_head(store)
    noted = store.pull_request_events.next()
    assert noted is not None
    assert (noted.event.what, len(noted.event.issues), noted.event.number) == (Kind.JUDGED, 1, 1)


def test_an_outcome_says_when_we_heard_of_it_and_nothing_else_that_is_not_a_number(store: Store) -> None:
    judge_head(store)
    record_outcomes(store, merge_event())
    [event] = event_bodies(store, "outcome.recorded")
    assert event["at"] == REQUESTED_AT.isoformat(timespec="milliseconds")
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


def hear(store: Store, wall: Wall, what: Kind = Kind.CLOSED) -> None:
    ReactionRecorder(wall, store.author_comments, store.ledger, store.outcomes).record(pull_request_event(what))


@pytest.fixture
def told_author(store: Store) -> LedgerEntry:
    """A pull request that was judged, and whose author was told."""
    made = judge_head(store)
    register_pull_requests(store, pull_ref())
    store.author_comments.put(pull_ref(), CommentRecord(nonce="n", comment_id=COMMENT, head_sha=HEAD))
    return made


def test_a_thumb_is_about_the_verdict_that_the_comment_told_of_then(store: Store, told_author: LedgerEntry) -> None:
    later = judge_head(store, head=NEWER)
    wall = Wall(
        up(later.created_at - timedelta(seconds=1), 1),
        up(later.created_at.replace(microsecond=0), 2, content="-1"),
        up(told_author.created_at - timedelta(days=1), 3),
    )
    for _ in range(2):
        hear(store, wall)
    assert wall.asked == [("acme/widgets", COMMENT)] * 2
    said = [(one["outcome"], one["eval_id"], one["strength"]) for one in event_bodies(store, "outcome.recorded")]
    assert said == [
        ("helpful", told_author.eval_id, "explicit"),
        ("not_helpful", later.eval_id, "explicit"),
        ("helpful", told_author.eval_id, "explicit"),
    ]


def test_the_verdict_on_the_whole_weighs_them(store: Store, told_author: LedgerEntry) -> None:
    hear(store, Wall(up(told_author.created_at, content="-1")), Kind.MERGED)
    record_outcomes(store, merge_event())
    assert recorded_outcomes(store) == [(1, "not_helpful"), (1, "merged")]
    assert judge_whole_pull_requests(store) == 1
    [whole] = whole_verdicts(store)
    assert (whole.signals["outcome_not_helpful"], whole.signals["strongest"]) == (1, "explicit")


@pytest.mark.parametrize("what", [Kind.REOPENED, Kind.JUDGED])
def test_nobody_is_asked_while_it_is_open(store: Store, told_author: LedgerEntry, what: Kind) -> None:
    wall = Wall(up(told_author.created_at))
    hear(store, wall, what)
    ReactionRecorder(wall, store.author_comments, store.ledger, store.outcomes).record(
        pull_request_event(Kind.REVERTED, None)
    )
    assert wall.asked == []


@pytest.mark.parametrize("note", [None, CommentRecord(nonce="n")])
def test_nobody_is_asked_where_nothing_was_written(store: Store, note: CommentRecord | None) -> None:
    made, wall = judge_head(store), Wall()
    register_pull_requests(store, pull_ref())
    if note is not None:
        store.author_comments.put(pull_ref(), note)
    hear(store, wall)
    assert (wall.asked, made.verdict.decision) == ([], "accept")


def test_nobody_is_asked_about_what_was_forgotten(store: Store) -> None:
    register_pull_requests(store, pull_ref())
    store.author_comments.put(pull_ref(), CommentRecord(nonce="n", comment_id=COMMENT))
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
    assert (len(wall.asked), recorded_outcomes(store), told_author.head_sha) == (1, [], HEAD)


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
        context.record_outcomes(merge_event())
    assert recorded_outcomes(store) == [(1, "merged")]
    wall.fails = None
    context.record_outcomes(merge_event())
    assert recorded_outcomes(store) == [(1, "merged"), (1, "helpful")]
