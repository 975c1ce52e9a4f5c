"""Commands of people: permissions, answers, and the judgings and decisions that follow."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from tests.worker.adapters.redis.store_samples import (
    HEAD,
    NEWER,
    REQUESTED_AT,
    command_request,
    judge_request,
    pull_ref,
)
from worker.adapters.redis.store import Store
from worker.domain.check.overrides import BUTTON_REASON, NO_DECISIONS, HumanDecisions, ReviewDismissal
from worker.domain.config.command_permissions import COMMAND_RIGHTS, Role
from worker.domain.judge_request import CommandName, CommandRequest, FirstSeen, ReviewRef, Trigger
from worker.domain.ports import CurrentPull
from worker.errors import RateLimited, SubjectGone, Unavailable
from worker.process import SystemClock
from worker.scheduling.commands import CommandHandler

REPOSITORY_IDS = pull_ref().installation_id, pull_ref().repository_id
BOBS, LATER = ReviewRef(id=7, login="bob"), REQUESTED_AT + timedelta(minutes=1)
ROLES = {"alice": Role.ADMIN, "carol": Role.MAINTAIN, "bob": Role.WRITE, "trudy": Role.TRIAGE, "mallory": Role.READ}


@dataclass
class GitHub:
    """GitHub's side. `reactions`: at comments; `comments`: Assay's own."""

    author: str = "copilot"
    head_sha: str = HEAD
    is_open: bool = True
    rate_limits: int = 0
    missing_replies: int = 0
    reactions: list[str] = field(default_factory=list[str])
    comments: list[str] = field(default_factory=list[str])
    queries: int = 0
    is_sole_maintainer: bool = False

    def is_only_maintainer(self, ask: CommandRequest) -> bool:
        assert ask.repository
        return self.is_sole_maintainer

    def role(self, ask: CommandRequest) -> Role:
        return ROLES[ask.login]

    def find_pull(self, ask: CommandRequest) -> CurrentPull:
        assert ask.repository
        self.queries += 1
        if self.missing_replies:
            self.missing_replies -= 1
            raise SubjectGone("deleted")
        return CurrentPull(author=self.author, head_sha=self.head_sha, is_open=self.is_open)

    def react(self, ask: CommandRequest, sign: str) -> None:
        if ask.comment_id is not None or ask.review is not None:
            self.reactions.append(sign)

    def post_comment(self, ask: CommandRequest, text: str) -> bool:
        assert ask.repository
        if self.rate_limits:
            self.rate_limits -= 1
            raise RateLimited("GitHub", REQUESTED_AT)
        self.comments.append(text)
        return True


def command_of(
    command: CommandName = CommandName.REJUDGE, login: str = "bob", delivery: str = "d1", **changes: Any
) -> CommandRequest:
    reason = "a reason" if command in {CommandName.CONTEST, CommandName.OVERRIDE} else ""
    standard = {"login": login, "command": command, "delivery_id": delivery, "reason": reason}
    return command_request().model_copy(update={**standard, **changes})


@pytest.fixture
def github() -> GitHub:
    return GitHub()


def answer(store: Store, github: GitHub, command: CommandRequest, base_ref: str | None = "main") -> None:
    """Answer a command in a repository where bob and carol own the code of this base."""
    owners = {"carol": base_ref, "bob": base_ref}
    CommandHandler(github, store, SystemClock(), lambda ask, _: owners.get(ask.login)).answer(command)


def decisions_of(store: Store) -> HumanDecisions:
    return store.decisions.find_decisions(pull_ref(), HEAD)


def trigger_of(store: Store) -> Trigger | None:
    request = store.pulls.find_request(pull_ref())
    return request and request.trigger


@dataclass(frozen=True)
class Answer:
    """The reactions, a part of the comment, and the trigger of the requested judging."""

    reactions: list[str] = field(default_factory=list[str])
    comment: str | None = None
    trigger: Trigger | None = None


SEEN, REFUSED, NOTHING = ["eyes"], ["-1"], Answer()
IN_REVIEW: dict[str, Any] = {"comment_id": None, "in_review": True, "head_sha": HEAD, "review": BOBS}
PRESSED: dict[str, Any] = {"comment_id": None, "head_sha": HEAD}
OWN = Answer(REFUSED, "own pull request")
COMMAND_ANSWERS: dict[str, tuple[CommandRequest, dict[str, Any], Answer]] = {
    "rejudge": (command_of(), {}, Answer(SEEN, trigger=Trigger.COMMAND)),
    "force": (command_of(CommandName.FORCE), {}, Answer(SEEN, trigger=Trigger.FORCE)),
    "contest": (command_of(CommandName.CONTEST), {}, Answer(SEEN, trigger=Trigger.CONTEST)),
    "override": (command_of(CommandName.OVERRIDE, "carol"), {}, Answer(SEEN, trigger=Trigger.COMMAND)),
    "pause": (command_of(CommandName.PAUSE, "carol"), {}, Answer(SEEN, "Judging is paused")),
    "resume": (command_of(CommandName.RESUME, "carol"), {}, Answer(SEEN, "Judging was not paused", Trigger.RESUMED)),
    "help": (command_of(CommandName.HELP), {}, Answer(SEEN, "Assay takes these commands")),
    "an author may rejudge": (command_of(), {"author": "bob"}, Answer(SEEN, trigger=Trigger.COMMAND)),
    "an author may not force": (command_of(CommandName.FORCE, "alice"), {"author": "Alice"}, OWN),
    "an author may not contest": (command_of(CommandName.CONTEST, "alice"), {"author": "Alice"}, OWN),
    "an author may not override": (command_of(CommandName.OVERRIDE, "alice"), {"author": "Alice"}, OWN),
    "a sole maintainer may not contest": (command_of(CommandName.CONTEST, "alice"), {"author": "Alice", "is_sole_maintainer": True}, OWN),
    "a bot": (command_of(CommandName.OVERRIDE, "alice", is_bot=True), {}, NOTHING),
    "a bot that can't spell": (command_of(login="alice", is_bot=True, misspelt="rejuge"), {}, NOTHING),
    "without a reason": (command_of(CommandName.OVERRIDE, "alice", reason=""), {}, Answer(REFUSED, "`/override REASON`")),
    "closed meanwhile": (command_of(), {"is_open": False}, NOTHING),
    "button without permission": (command_of(login="mallory", **PRESSED), {}, NOTHING),
    "in a review": (command_of(**IN_REVIEW), {}, Answer(SEEN, trigger=Trigger.COMMAND)),
    "in a review without permission": (command_of(login="mallory", **IN_REVIEW), {}, Answer(REFUSED, "`/rejudge`")),
    "an override in a review of another commit": (
        command_of(CommandName.OVERRIDE, "alice", **IN_REVIEW | {"head_sha": NEWER}), {}, Answer(REFUSED, "the newest commit"),
    ),
    "a contest in a review of another commit": (
        command_of(CommandName.CONTEST, "alice", **IN_REVIEW | {"head_sha": NEWER}), {}, Answer(REFUSED, "the newest commit"),
    ),
    "an owner's review": (command_of(CommandName.APPROVED, **IN_REVIEW), {}, Answer(trigger=Trigger.COMMAND)),
    "a review of another commit": (command_of(CommandName.APPROVED, **IN_REVIEW | {"head_sha": NEWER}), {}, NOTHING),
    "a review of a maintainer who owns nothing": (command_of(CommandName.APPROVED, "alice", **IN_REVIEW), {}, NOTHING),
    "a stranger's review": (command_of(CommandName.APPROVED, "mallory", **IN_REVIEW), {}, NOTHING),
    "a dismissal of a review that decided nothing": (command_of(CommandName.DISMISSED, "alice", **IN_REVIEW), {}, NOTHING),
    "a dismissal that names no review": (command_of(CommandName.DISMISSED), {}, NOTHING),
}  # fmt: skip


@pytest.mark.parametrize(("command", "changes", "expected"), COMMAND_ANSWERS.values(), ids=COMMAND_ANSWERS)
def test_command_is_followed_refused_or_ignored(
    store: Store, github: GitHub, command: CommandRequest, changes: dict[str, Any], expected: Answer
) -> None:
    vars(github).update(changes)
    answer(store, github, command)
    assert (github.reactions, trigger_of(store)) == (expected.reactions, expected.trigger)
    assert len(github.comments) == (expected.comment is not None)
    assert all((expected.comment or "") in comment for comment in github.comments)
    if expected.trigger is None:
        for head_sha in (HEAD, NEWER):
            assert store.decisions.find_decisions(pull_ref(), head_sha) == NO_DECISIONS


@pytest.mark.parametrize("command", [name for name in CommandName if COMMAND_RIGHTS[name].syntax])
@pytest.mark.parametrize("login", ["mallory", "trudy"])
def test_command_without_write_access_is_refused_without_further_queries(
    store: Store, github: GitHub, command: CommandName, login: str
) -> None:
    answer(store, github, command_of(command, login))
    assert (github.reactions, len(github.comments), github.queries, trigger_of(store)) == (["-1"], 1, 0, None)
    assert decisions_of(store) == NO_DECISIONS


def test_command_is_retried_while_github_does_not_find_its_pull_request(store: Store, github: GitHub) -> None:
    github.missing_replies = 1
    ask = command_of(asked_at=SystemClock().now())
    with pytest.raises(Unavailable, match="does not find it yet"):
        answer(store, github, ask)
    assert (github.reactions, trigger_of(store)) == ([], None)
    answer(store, github, ask)
    assert (github.reactions, trigger_of(store)) == (["eyes"], Trigger.COMMAND)


def test_command_of_a_missing_pull_request_is_dropped_after_its_grace(store: Store, github: GitHub) -> None:
    github.missing_replies = 1
    with pytest.raises(SubjectGone):
        answer(store, github, command_of(asked_at=REQUESTED_AT))


def test_refusal_is_commented_once_per_person(store: Store, github: GitHub) -> None:
    for number, login in enumerate(("mallory", "Mallory", "trudy")):
        answer(store, github, command_of(login=login.lower(), delivery=f"d{number}", comment_id=number + 1))
    assert github.reactions == ["-1"] * 3
    assert ["mallory" in comment for comment in github.comments] == [True, False]


def test_sole_maintainer_may_override_their_own_pull_request(store: Store, github: GitHub) -> None:
    github.author, github.is_sole_maintainer = "Alice", True
    answer(store, github, command_of(CommandName.OVERRIDE, "alice"))
    assert (github.reactions, trigger_of(store)) == (["eyes"], Trigger.COMMAND)
    override = decisions_of(store).override
    assert override is not None
    assert override.is_own


def test_misspelt_command_is_answered_once_with_a_suggestion(store: Store, github: GitHub) -> None:
    for number in (1, 2):
        answer(store, github, command_of(misspelt="rejuge", delivery=f"d{number}", comment_id=number))
    assert github.reactions == ["confused", "confused"]
    hint = "There is no command `/rejuge`. The nearest one is `/rejudge`; `/assay help` lists all of them."
    assert github.comments == [hint]


def test_edited_comment_with_the_same_command_is_followed_once(store: Store, github: GitHub) -> None:
    answer(store, github, command_of(CommandName.CONTEST))
    first = decisions_of(store).contest
    answer(store, github, command_of(CommandName.CONTEST, delivery="d2"))
    assert (github.reactions, decisions_of(store).contest) == (["eyes"], first)
    answer(store, github, command_of(CommandName.CONTEST, delivery="d3", reason="a better one"))
    assert decisions_of(store).open_contest_reason == "a better one"


def test_edited_review_with_the_same_command_is_followed_once(store: Store, github: GitHub) -> None:
    review = dict(IN_REVIEW)
    answer(store, github, command_of(CommandName.CONTEST, **review))
    first = decisions_of(store).contest
    answer(store, github, command_of(CommandName.CONTEST, delivery="d2", **review))
    assert decisions_of(store).contest == first
    review["review"] = ReviewRef(id=8, login="bob")
    answer(store, github, command_of(CommandName.CONTEST, delivery="d3", **review))
    assert decisions_of(store).contest != first


def test_repeated_force_requests_no_second_judging(store: Store, github: GitHub) -> None:
    answer(store, github, command_of(CommandName.FORCE))
    decisions = decisions_of(store)
    store.decisions.record_judged(pull_ref(), HEAD, decisions)
    answer(store, github, command_of(CommandName.FORCE))
    assert github.reactions == ["eyes", "eyes"]
    assert decisions_of(store).rejudge_requested_at == decisions.rejudge_requested_at


def test_comment_is_posted_after_a_rate_limit(store: Store, github: GitHub) -> None:
    github.rate_limits = 1
    with pytest.raises(RateLimited):
        answer(store, github, command_of(CommandName.HELP))
    answer(store, github, command_of(CommandName.HELP))
    assert len(github.comments) == 1


def test_override_records_login_and_reason(store: Store, github: GitHub) -> None:
    answer(store, github, command_of(CommandName.OVERRIDE, "carol"))
    override = decisions_of(store).override
    assert override is not None
    assert (override.login, override.reason, override.eval_id) == ("carol", "a reason", None)


def test_override_delivered_after_a_base_change_does_not_count(store: Store, github: GitHub) -> None:
    store.pulls.request_judging(judge_request(trigger=Trigger.BASE))
    answer(store, github, command_of(CommandName.OVERRIDE, "carol"))
    assert decisions_of(store).override is None


def test_override_of_a_head_newer_than_the_comment_is_refused(store: Store, github: GitHub) -> None:
    later = FirstSeen(head_sha=HEAD, at=REQUESTED_AT + timedelta(seconds=1))
    store.pulls.request_judging(judge_request(arrived=later))
    answer(store, github, command_of(CommandName.OVERRIDE, "alice"))
    assert (github.reactions, decisions_of(store)) == (["-1"], NO_DECISIONS)
    assert "`111111111111`, the newest commit" in github.comments[0]
    answer(
        store,
        github,
        command_of(CommandName.OVERRIDE, "alice", "d2", comment_id=6, asked_at=REQUESTED_AT + timedelta(seconds=2)),
    )
    assert decisions_of(store).override is not None


def test_override_of_an_unannounced_head_is_refused(store: Store, github: GitHub) -> None:
    earlier = FirstSeen(head_sha=NEWER, at=REQUESTED_AT - timedelta(hours=1))
    store.pulls.request_judging(judge_request(head_sha=NEWER, arrived=earlier))
    answer(store, github, command_of(CommandName.OVERRIDE, "alice"))
    assert (github.reactions, decisions_of(store)) == (["-1"], NO_DECISIONS)


def test_contest_by_button_needs_no_reason_and_keeps_an_earlier_one(store: Store, github: GitHub) -> None:
    press: dict[str, Any] = {"comment_id": None, "head_sha": HEAD, "reason": ""}
    answer(store, github, command_of(CommandName.CONTEST, **press))
    assert decisions_of(store).open_contest_reason == BUTTON_REASON
    answer(store, github, command_of(CommandName.CONTEST, delivery="d2"))
    answer(store, github, command_of(CommandName.CONTEST, delivery="d3", **press))
    assert (decisions_of(store).open_contest_reason, github.reactions) == ("a reason", ["eyes"])


def test_pause_records_duration_and_reason_and_ends_with_resume(store: Store, github: GitHub) -> None:
    answer(store, github, command_of(CommandName.PAUSE, "carol", reason="for 2h a release"))
    stopped = store.pauses.find_pause(*REPOSITORY_IDS)
    assert stopped is not None
    assert (stopped.suspension.by, stopped.suspension.reason) == ("carol", "a release")
    assert stopped.suspension.until is not None
    answer(store, github, command_of(CommandName.RESUME, "carol", "d2", comment_id=6))
    answer(store, github, command_of(CommandName.RESUME, "carol", "d3", comment_id=7))
    assert store.pauses.find_pause(*REPOSITORY_IDS) is None
    assert [comment.split(".")[0].split(" until")[0] for comment in github.comments] == [
        "Judging is paused in this repository",
        "Judging goes on",
        "Judging was not paused here",
    ]


def test_pause_with_an_invalid_duration_is_refused(store: Store, github: GitHub) -> None:
    answer(store, github, command_of(CommandName.PAUSE, "carol", reason="for 2hours"))
    assert github.reactions == ["-1"]
    assert '"2hours" is no time' in github.comments[0]
    assert store.pauses.find_pause(*REPOSITORY_IDS) is None


def review_command(
    command: CommandName, login: str = "bob", review: ReviewRef = BOBS, **changes: Any
) -> CommandRequest:
    return command_of(command, login, f"{command} {review.id}", **{**IN_REVIEW, "review": review, **changes})


BOBS_LATER, CAROLS = ReviewRef(id=8, login="bob"), ReviewRef(id=8, login="carol")
BY_MALLORY = ReviewDismissal(login="mallory", at=LATER, of="bob")
APPROVED, CHANGES = review_command(CommandName.APPROVED), review_command(CommandName.CHANGES)
DISMISSED = review_command(CommandName.DISMISSED, "mallory", asked_at=LATER)
Decision = tuple[str, bool] | ReviewDismissal | None
REVIEWS: dict[str, tuple[list[CommandRequest], Decision, Trigger | None]] = {
    "approved": ([APPROVED], ("bob", True), Trigger.COMMAND),
    "changes requested": ([CHANGES], ("bob", False), Trigger.COMMAND),
    "dismissed": ([APPROVED, DISMISSED], BY_MALLORY, Trigger.DISMISSED),
    "dismissed by a bot": ([APPROVED, DISMISSED.model_copy(update={"is_bot": True})], BY_MALLORY, Trigger.DISMISSED),
    "dismissed where only a login is recorded": (
        [APPROVED.model_copy(update={"review": None}), DISMISSED], BY_MALLORY, Trigger.DISMISSED,
    ),
    "another's was dismissed": (
        [review_command(CommandName.APPROVED, "carol", CAROLS), DISMISSED], ("carol", True), Trigger.COMMAND,
    ),
    "checked after its dismissal": ([DISMISSED, APPROVED], BY_MALLORY, Trigger.COMMAND),
    "checked after a newer one": (
        [review_command(CommandName.CHANGES, review=BOBS_LATER, asked_at=LATER), APPROVED], ("bob", False), Trigger.COMMAND,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("commands", "decided", "trigger"), REVIEWS.values(), ids=REVIEWS)
def test_code_owners_review_decides_until_its_dismissal(
    store: Store, github: GitHub, commands: list[CommandRequest], decided: Decision, trigger: Trigger | None
) -> None:
    for command in commands:
        answer(store, github, command)
    decisions = decisions_of(store)
    review = decisions.review and (decisions.review.login, decisions.review.is_approved)
    assert (review or decisions.dismissed, trigger_of(store)) == (decided, trigger)
    assert decisions.review is None or decisions.dismissed is None


def test_newer_review_for_another_base_branch_does_not_replace_an_older_one(store: Store, github: GitHub) -> None:
    answer(store, github, review_command(CommandName.CHANGES, review=BOBS_LATER, asked_at=LATER), "below")
    answer(store, github, review_command(CommandName.APPROVED))
    review = decisions_of(store).review
    assert review is not None
    assert (review.is_approved, review.base_ref) == (True, "main")


@pytest.mark.parametrize("moved", [{"head_sha": NEWER}, {"is_open": False}], ids=["another head", "closed"])
def test_dismissal_at_another_head_or_when_closed_requests_no_judging(
    store: Store, github: GitHub, moved: dict[str, Any]
) -> None:
    answer(store, github, review_command(CommandName.APPROVED))
    for name, value in moved.items():
        setattr(github, name, value)
    answer(store, github, review_command(CommandName.DISMISSED))
    assert (decisions_of(store).review, trigger_of(store)) == (None, Trigger.COMMAND)


def test_interrupted_dismissal_is_completed(store: Store, github: GitHub) -> None:
    answer(store, github, review_command(CommandName.APPROVED))
    store.decisions.withdraw(pull_ref(), HEAD, ReviewDismissal(login="mallory", at=LATER, of="bob"))
    answer(store, github, review_command(CommandName.DISMISSED, "mallory", asked_at=LATER))
    assert trigger_of(store) is Trigger.DISMISSED
