"""Whom a verdict that needs a person asks, and what follows when it was contested; in a real Redis."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from tests.worker.adapters.redis.store_samples import REQUESTED_AT, judge_request, pull_ref
from tests.worker.publishing.texts.samples import abstained, accepted, dossier, rejected
from worker.adapters.redis.store import Store
from worker.domain.check.overrides import Contest, Override, ReviewDecision
from worker.domain.codeowners import Owner
from worker.domain.config.command_permissions import Role
from worker.domain.config.config import Review
from worker.domain.dossier import Dossier, Policy, UnreadFile, UnreadReason
from worker.domain.ids import EvalId, Sha
from worker.domain.judge_request import CommandName, CommandRequest, JudgeRequest, PullRef, ReviewRef
from worker.domain.lifecycle.judging import JudgingCompleted, JudgingDiscarded
from worker.domain.ports import SubmittedReview
from worker.domain.pull_request_events import PullRequestEvent, PullRequestEventKind
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import Abstain, AbstainReason, Accept, Reject
from worker.errors import Forbidden, RateLimited, SubjectGone, Unavailable
from worker.publishing.review_requests import CodeOwnership, ReviewRequests, changed_paths
from worker.publishing.texts.overrides import RequestedReviews

HEAD = "a" * 40
NEEDS_ONE = abstained(AbstainReason.NEEDS_HUMAN)
HERE = NEEDS_ONE.subject.head_sha
DIFF = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"


@dataclass
class Reviewers:
    """GitHub's side: *file* is CODEOWNERS. `asked`, `labels`: what came of it."""

    file: str | None = "* @bob @octocat\n*.bin @acme/platform\n"
    error: Exception | None = None
    deaf: Exception | None = None
    unlabelled: Exception | None = None
    reviews: tuple[SubmittedReview, ...] = ()
    looked: int = 0
    asked: list[str] = field(default_factory=list[str])
    labels: list[str] = field(default_factory=list[str])

    def read_codeowners(self, pull: PullRef, repository: str, base_sha: Sha) -> str | None:
        assert (pull.number, repository, base_sha) == (1, "acme/widgets", "b" * 40)
        if self.error:
            raise self.error
        return self.file

    def list_reviews(self, request: JudgeRequest) -> tuple[SubmittedReview, ...]:
        assert request.repository == "acme/widgets"
        self.looked += 1
        if self.deaf:
            raise self.deaf
        return self.reviews

    def request_reviews(self, request: JudgeRequest, owners: Sequence[Owner]) -> tuple[Owner, ...]:
        assert request.pull.number == 1
        self.asked += [one.name for one in owners]
        return tuple(owners)

    def add_label(self, request: JudgeRequest, name: str) -> None:
        assert request.pull.number == 1
        if self.unlabelled:
            raise self.unlabelled
        self.labels.append(name)


@dataclass
class Notes:
    """What is noted down as having happened."""

    noted: list[PullRequestEvent] = field(default_factory=list[PullRequestEvent])

    def put(self, happening: PullRequestEvent) -> None:
        self.noted.append(happening)


@pytest.fixture
def reviewers() -> Reviewers:
    return Reviewers()


def people(store: Store, reviewers: Reviewers, review: Review | None = None) -> ReviewRequests:
    return ReviewRequests(store.decisions, store.commands, reviewers, lambda _: review or Review())


ALL = RequestedReviews(("acme/platform", "bob", "octocat"))
LABELLED = Review(label="needs a person")


def of(**changes: Any) -> Dossier:
    unread = (UnreadFile(path="x.bin", reason=UnreadReason.BINARY),)
    return dossier(**{"diff": DIFF, "files_unread": unread, "is_required": True, **changes})


@pytest.mark.parametrize(
    "changes", [{"is_required": False}, {"policy": Policy(mode="observe")}], ids=["free", "observed"]
)
def test_where_no_merge_waits_for_the_check_only_the_label_is_put_on(
    store: Store, reviewers: Reviewers, changes: dict[str, Any]
) -> None:
    assert people(store, reviewers, LABELLED).request_reviews(judge_request(), NEEDS_ONE, of(**changes)) is None
    assert (reviewers.asked, reviewers.labels) == ([], ["needs a person"])


def test_the_owners_of_what_changed_are_asked_once_and_told_of(store: Store, reviewers: Reviewers) -> None:
    one = people(store, reviewers, LABELLED)
    called = one.request_reviews(judge_request(), NEEDS_ONE, of())
    assert called == ALL
    assert one.request_reviews(judge_request(), NEEDS_ONE, of()) == called
    assert (sorted(reviewers.asked), reviewers.labels) == (["acme/platform", "bob", "octocat"], ["needs a person"])


def test_the_author_is_never_asked(store: Store, reviewers: Reviewers) -> None:
    author = of().pull_request.author
    reviewers.file = f"* @{author.upper().removesuffix('[BOT]')} @bob"
    pull_request = of().pull_request.model_copy(update={"author": author.removesuffix("[bot]")})
    called = people(store, reviewers).request_reviews(
        judge_request(), NEEDS_ONE, of().model_copy(update={"pull_request": pull_request})
    )
    assert called == RequestedReviews(("bob",))


@pytest.mark.parametrize("file", [None, "", "*.rb @bob"], ids=["no file", "empty", "of others"])
def test_without_owners_nobody_is_asked_and_that_is_known_from_then_on(
    store: Store, reviewers: Reviewers, file: str | None
) -> None:
    reviewers.file = file
    one = people(store, reviewers)
    assert one.request_reviews(judge_request(), NEEDS_ONE, of()) == RequestedReviews(has_owners=False)
    reviewers.error = AssertionError("asked again")
    assert one.request_reviews(judge_request(), NEEDS_ONE, of()) == RequestedReviews(has_owners=False)
    assert reviewers.asked == []


@pytest.mark.parametrize(
    "verdict", [accepted(), rejected(), abstained(AbstainReason.BUDGET)], ids=["yes", "no", "other"]
)
def test_what_needs_nobody_asks_nobody(store: Store, reviewers: Reviewers, verdict: Accept | Reject | Abstain) -> None:
    assert people(store, reviewers).request_reviews(judge_request(), verdict, of()) is None
    assert reviewers.looked == 0, "nor is GitHub asked who reviewed it"
    assert people(store, reviewers, Review(codeowners=False)).request_reviews(judge_request(), NEEDS_ONE, of()) is None
    assert reviewers.asked == []


TROUBLE = {"forbidden": Forbidden("no"), "not there": SubjectGone("deleted"), "down": Unavailable("GitHub", "502")}


@pytest.mark.parametrize("error", TROUBLE.values(), ids=TROUBLE)
def test_what_github_refuses_stops_nothing_and_is_tried_again(
    store: Store, reviewers: Reviewers, error: Exception
) -> None:
    reviewers.deaf = reviewers.error = error
    one, is_refused = people(store, reviewers), not isinstance(error, Unavailable)
    assert one.request_reviews(judge_request(), NEEDS_ONE, of()) == RequestedReviews(is_refused=is_refused)
    reviewers.error = None
    assert one.request_reviews(judge_request(), NEEDS_ONE, of()) == ALL, "also where reviews can't be read"


@pytest.mark.parametrize("of_what", ["deaf", "error"], ids=["reviews", "requests"])
def test_the_rate_limit_is_waited_for(store: Store, reviewers: Reviewers, of_what: str) -> None:
    setattr(reviewers, of_what, RateLimited("GitHub", REQUESTED_AT))
    with pytest.raises(RateLimited):
        people(store, reviewers).request_reviews(judge_request(), NEEDS_ONE, of())


def test_where_the_operator_declined_it_nobody_is_asked_and_once_it_is_chosen_they_are(
    store: Store, reviewers: Reviewers
) -> None:
    one = people(store, reviewers, LABELLED)
    assert replace(one, is_silent=True).request_reviews(judge_request(), NEEDS_ONE, of()) == RequestedReviews(
        is_declined=True
    )
    reviewers.file, owned = None, reviewers.file
    assert replace(one, is_silent=True).request_reviews(judge_request(), NEEDS_ONE, of()) == RequestedReviews(
        is_declined=True, has_owners=False
    )
    assert (reviewers.asked, reviewers.labels) == ([], [])
    reviewers.file = owned
    assert one.request_reviews(judge_request(), NEEDS_ONE, of()) == ALL
    asked = len(reviewers.asked)
    assert replace(one, is_silent=True).request_reviews(judge_request(), NEEDS_ONE, of()) == RequestedReviews(
        ("acme/platform", "bob", "octocat")
    )
    assert len(reviewers.asked) == asked


def test_a_label_alone_is_put_on_once_and_nobody_is_asked(store: Store, reviewers: Reviewers) -> None:
    one = people(store, reviewers, Review(codeowners=False, label="needs a person"))
    assert replace(one, is_silent=True).request_reviews(judge_request(), NEEDS_ONE, of()) is None
    assert reviewers.labels == []
    assert one.request_reviews(judge_request(), NEEDS_ONE, of()) is None
    assert one.request_reviews(judge_request(), NEEDS_ONE, of()) is None
    assert (reviewers.asked, reviewers.labels) == ([], ["needs a person"])
    assert people(store, reviewers).request_reviews(judge_request(), NEEDS_ONE, of()) == RequestedReviews(
        ("acme/platform", "bob", "octocat")
    )


def test_a_label_alone_that_github_failed_at_is_put_on_by_who_tries_again(store: Store, reviewers: Reviewers) -> None:
    reviewers.unlabelled = Unavailable("GitHub", "502")
    one = people(store, reviewers, Review(codeowners=False, label="needs a person"))
    assert one.request_reviews(judge_request(), NEEDS_ONE, of()) is None
    reviewers.unlabelled = None
    assert one.request_reviews(judge_request(), NEEDS_ONE, of()) is None
    assert reviewers.labels == ["needs a person"]


@pytest.mark.parametrize("error", [Forbidden("no"), SubjectGone("deleted")], ids=["forbidden", "not there"])
def test_a_label_that_github_does_not_take_stops_nothing_and_who_was_asked_is_told_of(
    store: Store, reviewers: Reviewers, error: Exception
) -> None:
    reviewers.unlabelled = error
    one = people(store, reviewers, LABELLED)
    asked = ALL
    assert one.request_reviews(judge_request(), NEEDS_ONE, of()) == asked
    assert one.request_reviews(judge_request(), NEEDS_ONE, of()) == asked
    assert len(reviewers.asked) == 3, "once"


def test_a_diff_that_can_not_be_read_has_the_files_that_are_named_elsewhere() -> None:
    broken = of().model_copy(update={"diff": "diff --git nonsense\n@@ x\n"})
    assert changed_paths(broken)[-1] == "x.bin"


# --- who reviewed it before


def given(login: str, number: int = 7, **changes: Any) -> SubmittedReview:
    standard: dict[str, Any] = {"head_sha": HERE, "is_approved": True, "at": REQUESTED_AT}
    return SubmittedReview(review=ReviewRef(id=number, login=login), **{**standard, **changes})


def waiting(store: Store) -> list[tuple[str, CommandName]]:
    found: list[tuple[str, CommandName]] = []
    while one := store.commands.next():
        store.commands.complete(one.command)
        assert (one.command.asked_at, one.command.head_sha, one.command.in_review) == (REQUESTED_AT, HERE, True)
        assert one.command.review is not None
        found.append((one.command.login, one.command.command))
    return found


def test_who_approved_this_very_commit_before_the_verdict_is_heard_and_no_owner_is_asked_then(
    store: Store, reviewers: Reviewers
) -> None:
    reviewers.reviews = (given("carol", 6, is_approved=False), given("Bob"), given("erin", 8, head_sha="9" * 40))
    one = people(store, reviewers)
    assert one.request_reviews(judge_request(), NEEDS_ONE, of()) is None
    assert sorted(waiting(store)) == [("Bob", CommandName.APPROVED), ("carol", CommandName.CHANGES)]
    assert (reviewers.asked, store.decisions.find_requested_reviewers(pull_ref())) == ([], None)


def test_an_approval_of_who_owns_nothing_is_looked_into_and_the_owners_are_asked(
    store: Store, reviewers: Reviewers
) -> None:
    reviewers.reviews = (given("erin"),)
    assert people(store, reviewers, Review(codeowners=False)).request_reviews(judge_request(), NEEDS_ONE, of()) is None
    assert waiting(store) == [("erin", CommandName.APPROVED)], "of a team, perhaps"
    people(store, reviewers).request_reviews(judge_request(), NEEDS_ONE, of())
    assert len(reviewers.asked) == 3


def test_the_same_judging_asks_once(store: Store, reviewers: Reviewers) -> None:
    reviewers.reviews, request = (given("bob"),), judge_request()
    for one in (request, request, judge_request()):
        people(store, reviewers).request_reviews(one, NEEDS_ONE, of())
    assert len(waiting(store)) == 2


@pytest.mark.parametrize("reviews", [(), (given("bob", is_approved=False),), (given("bob", head_sha="9" * 40),)])
def test_where_nobody_approves_this_commit_nothing_is_looked_into(
    store: Store, reviewers: Reviewers, reviews: tuple[SubmittedReview, ...]
) -> None:
    reviewers.reviews = reviews
    people(store, reviewers).request_reviews(judge_request(), NEEDS_ONE, of())
    assert (waiting(store), len(reviewers.asked)) == ([], 3)


def test_what_somebody_decided_is_not_asked_for_again(store: Store, reviewers: Reviewers) -> None:
    store.decisions.review(pull_ref(), HERE, ReviewDecision(login="bob", at=REQUESTED_AT, is_approved=True))
    assert people(store, reviewers).request_reviews(judge_request(), NEEDS_ONE, of()) is None
    assert (reviewers.looked, reviewers.asked) == (0, [])
    store.decisions.record_requested_reviewers(pull_ref(), ("bob",))
    assert people(store, reviewers).request_reviews(judge_request(), NEEDS_ONE, of()) == RequestedReviews(("bob",))


def test_what_an_owner_of_another_branch_decided_is_no_decision_about_this_one(
    store: Store, reviewers: Reviewers
) -> None:
    word = ReviewDecision(login="bob", at=REQUESTED_AT, is_approved=True, base_ref="below")
    store.decisions.review(pull_ref(), HERE, word)
    assert people(store, reviewers).request_reviews(judge_request(), NEEDS_ONE, of()) is not None
    assert (reviewers.looked, len(reviewers.asked)) == (1, 3)


# --- whose review counts


def recorded(verdict: Accept | Reject | Abstain, **changes: Any) -> LedgerEntry:
    standard = {
        "eval_id": verdict.eval_id,
        "created_at": verdict.created_at,
        "round": 1,
        "fence": 1,
        "head_sha": HEAD,
        "fingerprint": verdict.fingerprint,
        "diff_summary": "",
        "verdict": verdict,
    }
    return LedgerEntry.model_validate({**standard, **changes})


@dataclass
class Ledger:
    kept: tuple[LedgerEntry, ...]

    def entries(self, pull: PullRef) -> tuple[LedgerEntry, ...]:
        assert pull.number == 1
        return self.kept


def review_by(login: str) -> CommandRequest:
    fields = {"login": login, "command": CommandName.APPROVED, "comment_id": None, "head_sha": HEAD}
    return CommandRequest.model_validate(
        {
            "pull": pull_ref(),
            "repository": "acme/widgets",
            "delivery_id": "d",
            "asked_at": REQUESTED_AT,
            "in_review": True,
            **fields,
        }
    )


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
    ids=["owner", "another", "stranger", "a team is no person", "not a person's", "unjudged"],
)
def test_an_owners_review_counts_where_a_person_has_to_decide(
    reviewers: Reviewers, login: str, verdict: Accept | Reject | Abstain | None, *, counts: bool
) -> None:
    ledger: Any = Ledger(() if verdict is None else (recorded(rejected()), recorded(verdict)))
    owning = CodeOwnership(reviewers, ledger, lambda _, __: of())
    assert owning.find_owned_base(review_by(login), Role.WRITE) == (of().pull_request.base_ref if counts else None)


@pytest.mark.parametrize("role", Role)
def test_for_a_team_speaks_who_may_override_anyway(reviewers: Reviewers, role: Role) -> None:
    ledger: Any = Ledger((recorded(NEEDS_ONE),))
    owning = CodeOwnership(reviewers, ledger, lambda _, __: of())
    assert (owning.find_owned_base(review_by("erin"), role) is not None) is (role in {Role.MAINTAIN, Role.ADMIN})
    reviewers.file = "* @bob"
    assert owning.find_owned_base(review_by("erin"), role) is None


# --- what a contest came to


def heard(
    store: Store, verdict: Accept | Reject | Abstain, *before: Accept | Reject | Abstain
) -> list[PullRequestEventKind]:
    store.decisions.contest(pull_ref(), HEAD, Contest(login="bob", reason="It is met.", at=REQUESTED_AT))
    said = store.decisions.find_decisions(pull_ref(), HEAD)
    entries = [recorded(one, eval_id=EvalId(f"before-{number}")) for number, one in enumerate(before)]
    ledger = (*entries, recorded(verdict))
    notes: Any = Notes()
    outcome = JudgingCompleted(verdict, of().model_copy(update={"ledger": ledger}), None, said)
    people(store, Reviewers()).record_outcome(judge_request(), outcome, notes)
    return [one.what for one in notes.noted]


UPHELD = [PullRequestEventKind.CONTEST_UPHELD]


@pytest.mark.parametrize(
    ("verdict", "before", "told"),
    [
        (accepted(), (accepted(), rejected()), UPHELD),
        (NEEDS_ONE, (accepted(), rejected()), UPHELD),
        (rejected(), (rejected(),), []),
        (accepted(), (), []),
        (accepted(), (rejected(), accepted()), []),
        (abstained(AbstainReason.BUDGET), (rejected(),), []),
    ],
    ids=["accepted", "a person's", "stands", "none before", "accepted before", "not judged"],
)
def test_only_a_reject_that_did_not_stand_is_told_as_a_contest_that_was_right(
    store: Store,
    verdict: Accept | Reject | Abstain,
    before: tuple[Accept | Reject, ...],
    told: list[PullRequestEventKind],
) -> None:
    assert heard(store, verdict, *before) == told


@pytest.mark.parametrize(("verdict", "is_open"), [(accepted(), False), (rejected(), False), (NEEDS_ONE, True)])
def test_a_contest_is_open_until_somebody_decided(
    store: Store, verdict: Accept | Reject | Abstain, *, is_open: bool
) -> None:
    heard(store, verdict, rejected())
    assert (store.decisions.find_decisions(pull_ref(), HEAD).rejudge_requested_at is not None) is is_open


def test_what_was_overridden_was_judged_by_nobody(store: Store, reviewers: Reviewers) -> None:
    store.decisions.contest(pull_ref(), HEAD, Contest(login="bob", reason="It is met.", at=REQUESTED_AT))
    store.decisions.override(pull_ref(), HEAD, Override(login="alice", reason="A hotfix.", at=REQUESTED_AT))
    notes: Any = Notes()
    outcome = JudgingCompleted(rejected(), of(), None, store.decisions.find_decisions(pull_ref(), HEAD))
    people(store, reviewers).record_outcome(judge_request(), outcome, notes)
    assert store.decisions.find_decisions(pull_ref(), HEAD).rejudge_requested_at == REQUESTED_AT


def test_what_nobody_asked_for_anew_changes_nothing(store: Store, reviewers: Reviewers) -> None:
    notes: Any = Notes()
    people(store, reviewers).record_outcome(judge_request(), JudgingCompleted(accepted(), of()), notes)
    people(store, reviewers).record_outcome(judge_request(), JudgingDiscarded("closed"), notes)
    assert notes.noted == []
