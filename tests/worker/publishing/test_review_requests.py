"""Review requests of a verdict that needs a person, and outcomes of contests."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from tests.worker.adapters.redis.store_samples import REQUESTED_AT, command_request, judge_request, pull_ref
from tests.worker.judge.samples import ledger_entry
from tests.worker.publishing.texts.samples import abstained, accepted, dossier, rejected
from worker.adapters.redis.store import Store
from worker.domain.check.overrides import Contest, Override, ReviewDecision
from worker.domain.codeowners import Owner
from worker.domain.config.command_permissions import Role
from worker.domain.config.config import Review
from worker.domain.dossier import Dossier, Policy, UnreadFile, UnreadReason
from worker.domain.github_events import PullRequestEvent, PullRequestEventKind
from worker.domain.judge_request import CommandName, JudgeRequest, PullRef, ReviewRef
from worker.domain.lifecycle.judging import JudgingCompleted, JudgingDiscarded
from worker.domain.model import EvalId, Sha
from worker.domain.ports import SubmittedReview
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import AbstainReason, Verdict
from worker.errors import Forbidden, RateLimited, SubjectGone, Unavailable
from worker.publishing.review_requests import CodeOwnership, ReviewRequests, changed_paths
from worker.publishing.texts.states import RequestedReviews

HEAD = "a" * 40
NEEDS_ONE = abstained(AbstainReason.NEEDS_HUMAN)
HERE = NEEDS_ONE.subject.head_sha
DIFF = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"


@dataclass
class Reviewers:
    """GitHub's side. `file`: its CODEOWNERS; `asked` and `labels`: what it received."""

    file: str | None = "* @bob @octocat\n*.bin @acme/platform\n"
    error: Exception | None = None
    reviews_error: Exception | None = None
    label_error: Exception | None = None
    reviews: tuple[SubmittedReview, ...] = ()
    review_queries: int = 0
    asked: list[str] = field(default_factory=list[str])
    labels: list[str] = field(default_factory=list[str])

    def read_codeowners(self, pull: PullRef, repository: str, base_sha: Sha) -> str | None:
        assert (pull.number, repository, base_sha) == (1, "acme/widgets", "b" * 40)
        if self.error:
            raise self.error
        return self.file

    def list_reviews(self, request: JudgeRequest) -> tuple[SubmittedReview, ...]:
        assert request.repository == "acme/widgets"
        self.review_queries += 1
        if self.reviews_error:
            raise self.reviews_error
        return self.reviews

    def request_reviews(self, request: JudgeRequest, owners: Sequence[Owner]) -> tuple[Owner, ...]:
        assert request.pull.number == 1
        self.asked += [owner.name for owner in owners]
        return tuple(owners)

    def add_label(self, request: JudgeRequest, name: str) -> None:
        assert request.pull.number == 1
        if self.label_error:
            raise self.label_error
        self.labels.append(name)


class FakeEventQueue(list[PullRequestEvent]):
    def put(self, event: PullRequestEvent) -> None:
        self.append(event)


@pytest.fixture
def reviewers() -> Reviewers:
    return Reviewers()


def open_requests(store: Store, reviewers: Reviewers, review: Review | None = None) -> ReviewRequests:
    return ReviewRequests(store.decisions, store.commands, reviewers, lambda _: review or Review())


def request_reviews(
    store: Store,
    reviewers: Reviewers,
    review: Review | None = None,
    *,
    request: JudgeRequest | None = None,
    verdict: Verdict = NEEDS_ONE,
    is_silent: bool = False,
    **changes: Any,
) -> RequestedReviews | None:
    requests = replace(open_requests(store, reviewers, review), is_silent=is_silent)
    return requests.request_reviews(request or judge_request(), verdict, review_dossier(**changes))


ALL_OWNERS = RequestedReviews(("acme/platform", "bob", "octocat"))
WITH_LABEL = Review(label="needs a person")
LABEL_ONLY = Review(codeowners=False, label="needs a person")
HAS_NO_OWNERS = RequestedReviews(has_owners=False)


def review_dossier(**changes: Any) -> Dossier:
    unread = (UnreadFile(path="x.bin", reason=UnreadReason.BINARY),)
    return dossier(**{"diff": DIFF, "files_unread": unread, "is_required": True, **changes})


@pytest.mark.parametrize(
    "changes", [{"is_required": False}, {"policy": Policy(mode="observe")}], ids=["free", "observed"]
)
def test_optional_check_only_adds_the_label(store: Store, reviewers: Reviewers, changes: dict[str, Any]) -> None:
    assert request_reviews(store, reviewers, WITH_LABEL, **changes) is None
    assert (reviewers.asked, reviewers.labels) == ([], ["needs a person"])


def test_code_owners_are_requested_once_and_reported(store: Store, reviewers: Reviewers) -> None:
    assert request_reviews(store, reviewers, WITH_LABEL) == ALL_OWNERS
    assert request_reviews(store, reviewers, WITH_LABEL) == ALL_OWNERS
    assert (sorted(reviewers.asked), reviewers.labels) == (["acme/platform", "bob", "octocat"], ["needs a person"])


def test_author_is_never_requested(store: Store, reviewers: Reviewers) -> None:
    author = review_dossier().pull_request.author
    reviewers.file = f"* @{author.upper().removesuffix('[BOT]')} @bob"
    pull_request = review_dossier().pull_request.model_copy(update={"author": author.removesuffix("[bot]")})
    assert request_reviews(store, reviewers, pull_request=pull_request) == RequestedReviews(("bob",))


@pytest.mark.parametrize("file", [None, "", "*.rb @bob"], ids=["no file", "empty", "of others"])
def test_missing_owners_are_recorded_and_not_looked_up_again(
    store: Store, reviewers: Reviewers, file: str | None
) -> None:
    reviewers.file = file
    assert request_reviews(store, reviewers) == HAS_NO_OWNERS
    reviewers.error = AssertionError("asked again")
    assert request_reviews(store, reviewers) == HAS_NO_OWNERS
    assert reviewers.asked == []


@pytest.mark.parametrize(
    "verdict", [accepted(), rejected(), abstained(AbstainReason.BUDGET)], ids=["yes", "no", "other"]
)
def test_verdict_that_needs_no_person_requests_no_review(store: Store, reviewers: Reviewers, verdict: Verdict) -> None:
    assert request_reviews(store, reviewers, verdict=verdict) is None
    assert reviewers.review_queries == 0, "GitHub is asked for no reviews"
    assert request_reviews(store, reviewers, Review(codeowners=False)) is None
    assert reviewers.asked == []


TROUBLE = {"forbidden": Forbidden("no"), "missing": SubjectGone("deleted"), "down": Unavailable("GitHub", "502")}


@pytest.mark.parametrize("error", TROUBLE.values(), ids=TROUBLE)
def test_refused_review_request_is_tried_again(store: Store, reviewers: Reviewers, error: Exception) -> None:
    reviewers.reviews_error = reviewers.error = error
    is_refused = not isinstance(error, Unavailable)
    assert request_reviews(store, reviewers) == RequestedReviews(is_refused=is_refused)
    reviewers.error = None
    assert request_reviews(store, reviewers) == ALL_OWNERS, "also where reviews can't be read"


@pytest.mark.parametrize("query", ["reviews_error", "error"], ids=["reviews", "requests"])
def test_rate_limit_of_a_review_request_is_raised(store: Store, reviewers: Reviewers, query: str) -> None:
    setattr(reviewers, query, RateLimited("GitHub", REQUESTED_AT))
    with pytest.raises(RateLimited):
        request_reviews(store, reviewers)


def test_declined_reviews_are_requested_once_the_operator_allows_them(store: Store, reviewers: Reviewers) -> None:
    assert request_reviews(store, reviewers, WITH_LABEL, is_silent=True) == RequestedReviews(is_declined=True)
    reviewers.file, owned = None, reviewers.file
    without_owners = RequestedReviews(is_declined=True, has_owners=False)
    assert request_reviews(store, reviewers, WITH_LABEL, is_silent=True) == without_owners
    assert (reviewers.asked, reviewers.labels) == ([], [])
    reviewers.file = owned
    assert request_reviews(store, reviewers, WITH_LABEL) == ALL_OWNERS
    asked = len(reviewers.asked)
    assert request_reviews(store, reviewers, WITH_LABEL, is_silent=True) == ALL_OWNERS
    assert len(reviewers.asked) == asked


def test_label_without_review_requests_is_added_once(store: Store, reviewers: Reviewers) -> None:
    assert request_reviews(store, reviewers, LABEL_ONLY, is_silent=True) is None
    assert reviewers.labels == []
    assert request_reviews(store, reviewers, LABEL_ONLY) is None
    assert request_reviews(store, reviewers, LABEL_ONLY) is None
    assert (reviewers.asked, reviewers.labels) == ([], ["needs a person"])
    assert request_reviews(store, reviewers) == ALL_OWNERS


def test_failed_label_is_added_by_the_next_try(store: Store, reviewers: Reviewers) -> None:
    reviewers.label_error = Unavailable("GitHub", "502")
    assert request_reviews(store, reviewers, LABEL_ONLY) is None
    reviewers.label_error = None
    assert request_reviews(store, reviewers, LABEL_ONLY) is None
    assert reviewers.labels == ["needs a person"]


@pytest.mark.parametrize("error", [Forbidden("no"), SubjectGone("deleted")], ids=["forbidden", "not there"])
def test_refused_label_does_not_stop_review_requests(store: Store, reviewers: Reviewers, error: Exception) -> None:
    reviewers.label_error = error
    assert request_reviews(store, reviewers, WITH_LABEL) == ALL_OWNERS
    assert request_reviews(store, reviewers, WITH_LABEL) == ALL_OWNERS
    assert len(reviewers.asked) == 3, "once"


def test_unreadable_diff_still_names_unread_files() -> None:
    broken = review_dossier().model_copy(update={"diff": "diff --git nonsense\n@@ x\n"})
    assert changed_paths(broken)[-1] == "x.bin"


# Earlier reviews


def submitted_review(login: str, number: int = 7, **changes: Any) -> SubmittedReview:
    standard: dict[str, Any] = {"head_sha": HERE, "is_approved": True, "at": REQUESTED_AT}
    return SubmittedReview(review=ReviewRef(id=number, login=login), **{**standard, **changes})


def take_review_commands(store: Store) -> list[tuple[str, CommandName]]:
    commands: list[tuple[str, CommandName]] = []
    while pending := store.commands.next():
        command = pending.command
        store.commands.complete(command)
        assert (command.asked_at, command.head_sha, command.in_review) == (REQUESTED_AT, HERE, True)
        assert command.review is not None
        commands.append((command.login, command.command))
    return commands


def test_approval_before_the_verdict_counts_and_requests_no_owner(store: Store, reviewers: Reviewers) -> None:
    reviewers.reviews = (
        submitted_review("carol", 6, is_approved=False),
        submitted_review("Bob"),
        submitted_review("erin", 8, head_sha="9" * 40),
    )
    assert request_reviews(store, reviewers) is None
    assert sorted(take_review_commands(store)) == [("Bob", CommandName.APPROVED), ("carol", CommandName.CHANGES)]
    assert (reviewers.asked, store.decisions.find_requested_reviewers(pull_ref())) == ([], None)


def test_approval_of_a_non_owner_is_checked_and_owners_are_requested(store: Store, reviewers: Reviewers) -> None:
    reviewers.reviews = (submitted_review("erin"),)
    assert request_reviews(store, reviewers, Review(codeowners=False)) is None
    assert take_review_commands(store) == [("erin", CommandName.APPROVED)], "a team may own the file"
    request_reviews(store, reviewers)
    assert len(reviewers.asked) == 3


def test_reviews_are_checked_once_per_judge_request(store: Store, reviewers: Reviewers) -> None:
    reviewers.reviews, request = (submitted_review("bob"),), judge_request()
    for repeated in (request, request, judge_request()):
        request_reviews(store, reviewers, request=repeated)
    assert len(take_review_commands(store)) == 2


@pytest.mark.parametrize(
    "reviews", [(), (submitted_review("bob", is_approved=False),), (submitted_review("bob", head_sha="9" * 40),)]
)
def test_reviews_are_not_checked_without_an_approval_of_the_head(
    store: Store, reviewers: Reviewers, reviews: tuple[SubmittedReview, ...]
) -> None:
    reviewers.reviews = reviews
    request_reviews(store, reviewers)
    assert (take_review_commands(store), len(reviewers.asked)) == ([], 3)


def test_decided_head_requests_no_review(store: Store, reviewers: Reviewers) -> None:
    store.decisions.review(pull_ref(), HERE, ReviewDecision(login="bob", at=REQUESTED_AT, is_approved=True))
    assert request_reviews(store, reviewers) is None
    assert (reviewers.review_queries, reviewers.asked) == (0, [])
    store.decisions.record_requested_reviewers(pull_ref(), ("bob",))
    assert request_reviews(store, reviewers) == RequestedReviews(("bob",))


def test_decision_for_another_base_branch_does_not_count(store: Store, reviewers: Reviewers) -> None:
    decision = ReviewDecision(login="bob", at=REQUESTED_AT, is_approved=True, base_ref="below")
    store.decisions.review(pull_ref(), HERE, decision)
    assert request_reviews(store, reviewers) is not None
    assert (reviewers.review_queries, len(reviewers.asked)) == (1, 3)


# Code owners


@dataclass
class FakeLedger:
    recorded: tuple[LedgerEntry, ...]

    def entries(self, pull: PullRef) -> tuple[LedgerEntry, ...]:
        assert pull.number == 1
        return self.recorded


def find_owned_base(reviewers: Reviewers, login: str, role: Role, *verdicts: Verdict) -> str | None:
    """Return the base branch whose code *login* owns, after an approval of a head with these verdicts."""
    changes = {"login": login, "command": CommandName.APPROVED, "comment_id": None, "head_sha": HEAD, "in_review": True}
    ledger: Any = FakeLedger(tuple(map(ledger_entry, verdicts)))
    ownership = CodeOwnership(reviewers, ledger, lambda _, __: review_dossier())
    return ownership.find_owned_base(command_request().model_copy(update=changes), role)


@pytest.mark.parametrize(
    ("login", "verdict", "counts"),
    [
        ("BOB", NEEDS_ONE, True),
        ("octocat", abstained(AbstainReason.TOO_LARGE), True),
        ("mallory", NEEDS_ONE, False),
        ("acme", NEEDS_ONE, False),
        ("bob", rejected(), False),
        ("bob", None, False),
    ],
    ids=["owner", "another", "stranger", "team name", "no decision needed", "unjudged"],
)
def test_owners_review_counts_if_a_person_has_to_decide(
    reviewers: Reviewers, login: str, verdict: Verdict | None, *, counts: bool
) -> None:
    verdicts = () if verdict is None else (rejected(), verdict)
    base_ref = review_dossier().pull_request.base_ref if counts else None
    assert find_owned_base(reviewers, login, Role.WRITE, *verdicts) == base_ref


@pytest.mark.parametrize("role", Role)
def test_role_with_override_rights_reviews_for_a_team(reviewers: Reviewers, role: Role) -> None:
    is_owner = find_owned_base(reviewers, "erin", role, NEEDS_ONE) is not None
    assert is_owner is (role in {Role.MAINTAIN, Role.ADMIN})
    reviewers.file = "* @bob"
    assert find_owned_base(reviewers, "erin", role, NEEDS_ONE) is None


# Contests


def contest(store: Store, verdict: Verdict, *before: Verdict) -> list[PullRequestEventKind]:
    store.decisions.contest(pull_ref(), HEAD, Contest(login="bob", reason="It is met.", at=REQUESTED_AT))
    decisions = store.decisions.find_decisions(pull_ref(), HEAD)
    entries = [ledger_entry(earlier, eval_id=EvalId(f"before-{number}")) for number, earlier in enumerate(before)]
    ledger = (*entries, ledger_entry(verdict))
    events: Any = FakeEventQueue()
    outcome = JudgingCompleted(verdict, review_dossier().model_copy(update={"ledger": ledger}), None, decisions)
    open_requests(store, Reviewers()).record_outcome(judge_request(), outcome, events)
    return [event.what for event in events]


UPHELD = [PullRequestEventKind.CONTEST_UPHELD]


@pytest.mark.parametrize(
    ("verdict", "before", "kinds"),
    [
        (accepted(), (accepted(), rejected()), UPHELD),
        (NEEDS_ONE, (accepted(), rejected()), UPHELD),
        (rejected(), (rejected(),), []),
        (accepted(), (), []),
        (accepted(), (rejected(), accepted()), []),
        (abstained(AbstainReason.BUDGET), (rejected(),), []),
    ],
    ids=["accepted", "needs a person", "stands", "no earlier verdict", "accepted before", "not judged"],
)
def test_contest_is_upheld_only_if_a_reject_did_not_stand(
    store: Store, verdict: Verdict, before: tuple[Verdict, ...], kinds: list[PullRequestEventKind]
) -> None:
    assert contest(store, verdict, *before) == kinds


@pytest.mark.parametrize(("verdict", "is_open"), [(accepted(), False), (rejected(), False), (NEEDS_ONE, True)])
def test_contest_is_open_until_a_decision(store: Store, verdict: Verdict, *, is_open: bool) -> None:
    contest(store, verdict, rejected())
    assert (store.decisions.find_decisions(pull_ref(), HEAD).rejudge_requested_at is not None) is is_open


def test_contest_of_an_overridden_verdict_stays_open(store: Store, reviewers: Reviewers) -> None:
    store.decisions.contest(pull_ref(), HEAD, Contest(login="bob", reason="It is met.", at=REQUESTED_AT))
    store.decisions.override(pull_ref(), HEAD, Override(login="alice", reason="A hotfix.", at=REQUESTED_AT))
    events: Any = FakeEventQueue()
    outcome = JudgingCompleted(rejected(), review_dossier(), None, store.decisions.find_decisions(pull_ref(), HEAD))
    open_requests(store, reviewers).record_outcome(judge_request(), outcome, events)
    assert store.decisions.find_decisions(pull_ref(), HEAD).rejudge_requested_at == REQUESTED_AT


def test_outcome_without_a_contest_records_no_event(store: Store, reviewers: Reviewers) -> None:
    events: Any = FakeEventQueue()
    open_requests(store, reviewers).record_outcome(
        judge_request(), JudgingCompleted(accepted(), review_dossier()), events
    )
    open_requests(store, reviewers).record_outcome(judge_request(), JudgingDiscarded("closed"), events)
    assert events == []
