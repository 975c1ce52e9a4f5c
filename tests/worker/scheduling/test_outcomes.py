"""Outcomes of verdicts: which pull request event is recorded for which verdict."""

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
from worker.domain.github_events import PullRequestEvent
from worker.domain.github_events import PullRequestEventKind as Kind
from worker.domain.judge_request import PullRef
from worker.domain.model import RepositoryName
from worker.domain.verdict.events import Reaction
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import Accept, Reject
from worker.errors import Forbidden, SubjectGone, Unavailable
from worker.scheduling.outcomes import ReactionRecorder, removed_lines
from worker.wiring.app import AppContext

BETWEEN = "3" * 40
LINE = "    return send(data, tries=3)"


def diff_adding(path: str, *lines: str) -> str:
    body = "".join(f"+{line}\n" for line in lines)
    return f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1,0 +1,{len(lines)} @@\n{body}"


def diff_removing(path: str, *lines: str) -> str:
    body = "".join(f"-{line}\n" for line in lines)
    return f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1,{len(lines)} +0,0 @@\n{body}"


@dataclass(frozen=True)
class JudgeStep:
    number: int = 1
    head: str = HEAD
    diff: str = ""
    verdict: Accept | Reject | None = None


def push_event(head: str, before: str | None, number: int = 1) -> PullRequestEvent:
    return pull_request_event(Kind.PUSHED_BY_ANOTHER, number, head_sha=head, before_sha=before, by_person=True)


def failed_ci_event(sha: str) -> PullRequestEvent:
    return pull_request_event(Kind.CI_FAILED, None, head_sha=sha)


def judged_event(number: int, *issues: str) -> PullRequestEvent:
    return pull_request_event(Kind.JUDGED, number, issues=issues)


def reaction_event(kind: Kind) -> PullRequestEvent:
    return pull_request_event(kind, head_sha=HEAD, by_person=True)


Steps = list[JudgeStep | PullRequestEvent]
ONCE, AGAIN, OTHER = JudgeStep(), JudgeStep(head=NEWER), JudgeStep(2, NEWER)
LATER_MERGE = merge_event(2, reverts=(1,), merge_sha="d" * 40, mends=True)
PERSONS = JudgeStep(verdict=accepted(author_agent=None))
ADDS = JudgeStep(diff=diff_adding("upload.py", LINE, "}"))
TAKES = JudgeStep(2, NEWER, diff_removing("upload.py", LINE))
FIX: dict[str, Any] = {"head_sha": NEWER, "merge_sha": "d" * 40, "mends": True}


def merge_then_fix(diff: str, **changes: Any) -> Steps:
    """A pull request adds LINE and is merged; a later one with this diff is judged and merged."""
    return [ADDS, merge_event(1), JudgeStep(2, NEWER, diff), merge_event(2, **{**FIX, **changes})]


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
    "a later fix": (merge_then_fix(diff_removing("upload.py", LINE)), [*MERGED_BOTH, (1, "later_fix", 0)]),
    "no fix by its own text": (merge_then_fix(diff_removing("upload.py", LINE), mends=False), MERGED_BOTH),
    "a fix of another file": (merge_then_fix(diff_removing("other.py", LINE)), MERGED_BOTH),
    "a fix of another line": (merge_then_fix(diff_removing("upload.py", "    return send(data)")), MERGED_BOTH),
    "a fix of a short line": (merge_then_fix(diff_removing("upload.py", "}")), MERGED_BOTH),
    "a fix that adds": (merge_then_fix(diff_adding("upload.py", LINE)), MERGED_BOTH),
    "a fix without a diff": (merge_then_fix(""), MERGED_BOTH),
    "a fix whose diff can't be read": (merge_then_fix("@@ not a diff"), MERGED_BOTH),
    "a fix that reverts": (
        merge_then_fix(diff_removing("upload.py", LINE), reverts=(1,)), [*MERGED_BOTH, (1, "reverted", 0)],
    ),
    "a fix of another head than was judged": (merge_then_fix(diff_removing("upload.py", LINE), head_sha="f" * 40), MERGED_BOTH),
    "red CI on a merge and on its head, once a commit": (
        [ONCE, merge_event(), failed_ci_event(HEAD), failed_ci_event(MERGE), failed_ci_event(MERGE)], [(1, "merged", 0), *[(1, "ci_red_later", 0)] * 2],
    ),
    "red CI on what was rejected": ([JudgeStep(verdict=rejected()), failed_ci_event(HEAD), merge_event(), failed_ci_event(MERGE)], [(1, "merged", 0)]),
    "a person's commit after the verdict": ([ONCE, AGAIN, push_event(NEWER, HEAD)], [(1, "edit_followup", 0)]),
    "a person's commit delivered late": ([ONCE, AGAIN, push_event(BETWEEN, HEAD)], [(1, "edit_followup", 0)]),
    "a person's commit on an unjudged head": ([ONCE, push_event(NEWER, BETWEEN)], []),
    "a person's commit on an unknown head": ([ONCE, push_event(NEWER, None)], []),
    "a person's commit on their own branch": ([PERSONS, push_event(NEWER, HEAD)], []),
    "a person's commit before any verdict": ([push_event(NEWER, HEAD, 2), JudgeStep(2), push_event(HEAD, BETWEEN, 2)], []),
    "asked for again": ([ONCE, pull_request_event(Kind.ASKED_AGAIN, head_sha=None, by_person=True)], [(1, "retry", 0)]),
    "another that closes the same issue": (
        [ONCE, judged_event(1, "abc", "def"), OTHER, judged_event(2, "abc", "def"), judged_event(2, "abc", "def"), judged_event(1, "abc")],
        [(1, "manual_swap", 0)],
    ),
    "another that closes the issue of a merge": (
        [ONCE, judged_event(1, "abc"), merge_event(1), OTHER, judged_event(2, "abc")], [(1, "merged", 0)],
    ),
    "two thumbs up": ([ONCE, AGAIN, reaction_event(Kind.HELPFUL), reaction_event(Kind.HELPFUL)], [(1, "helpful", 0)] * 2),
    "two thumbs down": ([ONCE, AGAIN, reaction_event(Kind.NOT_HELPFUL), reaction_event(Kind.NOT_HELPFUL)], [(1, "not_helpful", 0)] * 2),
    **{
        f"{kind} of an unjudged pull request": (
            [pull_request_event(kind, number, reverted_shas=(MERGE,), issues=("abc",), reverts=(4,), mends=True)], [],
        )
        for kind in sorted(Kind) for number in (1, None)
    },
}  # fmt: skip


@pytest.mark.parametrize(("steps", "expected"), OUTCOMES.values(), ids=OUTCOMES)
def test_outcome_is_recorded_for_its_verdict(store: Store, steps: Steps, expected: list[tuple[int, str, int]]) -> None:
    entries: list[LedgerEntry] = []
    for step in steps:
        if isinstance(step, JudgeStep):
            entries.append(judge_head(store, step.number, step.verdict, step.diff, step.head))
        else:
            record_outcomes(store, step)
    recorded = [(body["number"], body["outcome"], body["eval_id"]) for body in event_bodies(store, "outcome.recorded")]
    assert sorted(recorded) == sorted((number, kind, entries[at].eval_id) for number, kind, at in expected)


def test_merge_of_an_unjudged_head_counts_for_the_newest_verdict(store: Store) -> None:
    entry = judge_head(store, diff=diff_adding("upload.py", LINE))
    record_outcomes(store, merge_event(head_sha="f" * 40))
    assert [body["eval_id"] for body in event_bodies(store, "outcome.recorded")] == [entry.eval_id]
    assert store.outcomes.merged_lines(pull_ref()) == {}, "the merged head was not judged"


def test_expired_merge_is_not_reverted(store: Store) -> None:
    judge_head(store)
    record_outcomes(store, merge_event())
    store.client.call("DEL", keys.merged_lines(pull_ref()).name)  # as if it expired
    record_outcomes(store, revert_event())
    assert recorded_outcomes(store) == [(1, "merged")]


def test_rejected_head_is_not_found_by_its_commit(store: Store) -> None:
    judge_head(store, verdict=rejected())
    assert store.outcomes.pull_of(pull_ref().installation_id, pull_ref().repository_id, HEAD) is None


def test_command_for_a_new_head_is_no_retry(store: Store) -> None:
    judge_head(store)
    store.pulls.request_judging(judge_request(head_sha=NEWER))
    record_outcomes(store, pull_request_event(Kind.ASKED_AGAIN, head_sha=None, by_person=True))
    assert recorded_outcomes(store) == []


def test_fix_without_a_dossier_records_no_later_fix(store: Store) -> None:
    judge_head(store, 1, diff=diff_adding("upload.py", LINE))
    record_outcomes(store, merge_event(1))
    fix = judge_head(store, 2, diff=diff_removing("upload.py", LINE), head=NEWER)
    store.client.call("DEL", keys.dossier(fix.eval_id).name)
    record_outcomes(store, merge_event(2, head_sha=NEWER, mends=True))
    assert recorded_outcomes(store) == [(1, "merged"), (2, "merged")]


def test_removed_lines_of_a_renamed_file_have_its_old_name() -> None:
    diff = (
        "diff --git a/upload.py b/send.py\nsimilarity index 60%\nrename from upload.py\nrename to send.py\n"
        f"--- a/upload.py\n+++ b/send.py\n@@ -1,1 +0,0 @@\n-{LINE}\n"
    )
    assert set(removed_lines(diff)) == {"upload.py"}


def test_merged_lines_are_encrypted_in_redis(store: Store) -> None:
    judge_head(store, 1, diff=diff_adding("upload.py", LINE))
    record_outcomes(store, merge_event(1))
    sealed = store.client.call("GET", keys.merged_lines(pull_ref(1)).name)
    assert b"upload.py" not in bytes(sealed)  # pyright: ignore[reportArgumentType] - a string of Redis
    assert set(store.outcomes.merged_lines(pull_ref(1)) or {}) == {"upload.py"}


def test_recorded_verdict_queues_an_event_with_its_issues(store: Store) -> None:
    judge_head(store)
    pending = store.pull_request_events.next()
    assert pending is not None
    assert (pending.event.what, len(pending.event.issues), pending.event.number) == (Kind.JUDGED, 1, 1)


def test_outcome_event_holds_its_time_and_no_texts(store: Store) -> None:
    judge_head(store)
    record_outcomes(store, merge_event())
    [event] = event_bodies(store, "outcome.recorded")
    assert event["at"] == REQUESTED_AT.isoformat(timespec="milliseconds")
    assert set(event) == {
        "v", "subject_kind", "subject_id", "repository_id", "number", "sensitivity", "outcome", "strength", "eval_id",
        "head_sha", "at",
    }  # fmt: skip


COMMENT = 77


class CommentReactions:
    def __init__(self, *reactions: Reaction, error: Exception | None = None) -> None:
        self.reactions = reactions
        self.error = error
        self.queries: list[tuple[str, int]] = []

    def reactions_to(self, pull: PullRef, repository: RepositoryName, comment_id: int) -> tuple[Reaction, ...]:
        assert pull.number
        self.queries.append((repository, comment_id))
        if self.error:
            raise self.error
        return self.reactions


def reaction(at: datetime, number: int = 1, **changes: Any) -> Reaction:
    fields: dict[str, Any] = {"account": number, "is_bot": False, "content": "+1", **changes}
    return Reaction(id=number, at=at, **fields)


def record_reactions(
    store: Store, reactions: CommentReactions, kind: Kind = Kind.CLOSED, number: int | None = 1
) -> None:
    recorder = ReactionRecorder(reactions, store.author_comments, store.ledger, store.outcomes)
    recorder.record(pull_request_event(kind, number))


@pytest.fixture
def commented_entry(store: Store) -> LedgerEntry:
    """The verdict of a pull request with an author comment."""
    entry = judge_head(store)
    register_pull_requests(store, pull_ref())
    store.author_comments.put(pull_ref(), CommentRecord(nonce="n", comment_id=COMMENT, head_sha=HEAD))
    return entry


def test_reaction_counts_for_the_verdict_shown_at_its_time(store: Store, commented_entry: LedgerEntry) -> None:
    later = judge_head(store, head=NEWER)
    reactions = CommentReactions(
        reaction(later.created_at - timedelta(seconds=1), 1),
        reaction(later.created_at.replace(microsecond=0), 2, content="-1"),
        reaction(commented_entry.created_at - timedelta(days=1), 3),
    )
    for _ in range(2):
        record_reactions(store, reactions)
    assert reactions.queries == [("acme/widgets", COMMENT)] * 2
    bodies = event_bodies(store, "outcome.recorded")
    assert [(body["outcome"], body["eval_id"], body["strength"]) for body in bodies] == [
        ("helpful", commented_entry.eval_id, "explicit"),
        ("not_helpful", later.eval_id, "explicit"),
        ("helpful", commented_entry.eval_id, "explicit"),
    ]


def test_reactions_weigh_in_the_verdict_on_the_whole_pull_request(store: Store, commented_entry: LedgerEntry) -> None:
    record_reactions(store, CommentReactions(reaction(commented_entry.created_at, content="-1")), Kind.MERGED)
    record_outcomes(store, merge_event())
    assert recorded_outcomes(store) == [(1, "not_helpful"), (1, "merged")]
    assert judge_whole_pull_requests(store) == 1
    [whole] = whole_verdicts(store)
    assert (whole.signals["outcome_not_helpful"], whole.signals["strongest"]) == (1, "explicit")


@pytest.mark.parametrize("kind", [Kind.REOPENED, Kind.JUDGED])
def test_reactions_are_not_read_while_the_pull_request_is_open(
    store: Store, commented_entry: LedgerEntry, kind: Kind
) -> None:
    reactions = CommentReactions(reaction(commented_entry.created_at))
    record_reactions(store, reactions, kind)
    record_reactions(store, reactions, Kind.REVERTED, None)
    assert reactions.queries == []


@pytest.mark.parametrize(
    ("is_judged", "record"),
    [(True, None), (True, CommentRecord(nonce="n")), (False, CommentRecord(nonce="n", comment_id=COMMENT))],
    ids=["no comment", "comment not posted", "no verdict"],
)
def test_reactions_are_not_read_without_a_comment_and_a_verdict(
    store: Store, record: CommentRecord | None, *, is_judged: bool
) -> None:
    if is_judged:
        judge_head(store)
    register_pull_requests(store, pull_ref())
    if record is not None:
        store.author_comments.put(pull_ref(), record)
    reactions = CommentReactions()
    record_reactions(store, reactions)
    assert reactions.queries == []


@pytest.mark.parametrize("error", [SubjectGone("the comment"), Forbidden("reactions")])
def test_unreadable_reactions_record_no_outcome(store: Store, commented_entry: LedgerEntry, error: Exception) -> None:
    reactions = CommentReactions(error=error)
    record_reactions(store, reactions)
    assert (len(reactions.queries), recorded_outcomes(store), commented_entry.head_sha) == (1, [], HEAD)


def test_outage_while_reading_reactions_is_raised(store: Store, commented_entry: LedgerEntry) -> None:
    reactions = CommentReactions(reaction(commented_entry.created_at), error=Unavailable("GitHub", "down"))
    with pytest.raises(Unavailable):
        record_reactions(store, reactions)


def test_merge_is_recorded_though_reactions_can_not_be_read(store: Store, commented_entry: LedgerEntry) -> None:
    reactions = CommentReactions(reaction(commented_entry.created_at), error=Unavailable("GitHub", "down"))
    no: Any = dict.fromkeys(["settings", "clock", "source", "checks", "comments", "reviewers", "access"])
    context = AppContext(**no, store=store, reactions=reactions)
    with pytest.raises(Unavailable):
        context.record_outcomes(merge_event())
    assert recorded_outcomes(store) == [(1, "merged")]
    reactions.error = None
    context.record_outcomes(merge_event())
    assert recorded_outcomes(store) == [(1, "merged"), (1, "helpful")]
