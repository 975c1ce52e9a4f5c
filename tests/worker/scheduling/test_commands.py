"""What follows from a command, in a real Redis, with people who are played."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest

from tests.worker.adapters.redis.store_samples import (
    HEAD,
    NEWER,
    REQUESTED_AT,
    expire_hold,
    judge_request,
    pull_ref,
    wait_until,
)
from tests.worker.publishing.texts.samples import abstained, dossier, rejected
from tests.worker.scheduling.test_dispatcher import dispatching
from worker.adapters.redis import keys
from worker.adapters.redis.store import Store
from worker.clock import SystemClock
from worker.domain.check.overrides import BUTTON_REASON, NO_DECISIONS, ReviewDismissal
from worker.domain.config.command_permissions import COMMAND_RIGHTS, Role
from worker.domain.judge_request import CommandName, CommandRequest, FirstSeen, JudgeRequest, ReviewRef, Trigger
from worker.domain.lifecycle.judging import (
    JudgingCompleted,
    JudgingDiscarded,
    JudgingOutcome,
    JudgingSuperseded,
    WaitForCi,
)
from worker.domain.lifecycle.work import PausedRepository
from worker.domain.pause import JudgingPause
from worker.domain.ports import CurrentPull
from worker.domain.verdict.verdict import AbstainReason
from worker.errors import RateLimited, SubjectGone, Unavailable
from worker.scheduling.commands import CommandHandler, resume_paused_heads, resumed_request, update_paused_heads
from worker.scheduling.queue import judge_queue, rq_connection
from worker.settings import Settings

BOBS, LATER = ReviewRef(id=7, login="bob"), REQUESTED_AT + timedelta(minutes=1)
ROLES = {"alice": Role.ADMIN, "carol": Role.MAINTAIN, "bob": Role.WRITE, "trudy": Role.TRIAGE, "mallory": Role.READ}


@dataclass
class Desk:
    """GitHub's side: *author* opened the pull request. `seen`: what is left at comments; `said`: our own comments."""

    author: str = "copilot"
    head_sha: str = HEAD
    is_open: bool = True
    limited: int = 0
    lost: int = 0
    seen: list[str] = field(default_factory=list[str])
    said: list[str] = field(default_factory=list[str])
    looked: int = 0
    is_alone: bool = False

    def is_only_maintainer(self, ask: CommandRequest) -> bool:
        assert ask.repository
        return self.is_alone

    def role(self, ask: CommandRequest) -> Role:
        return ROLES[ask.login]

    def find_pull(self, ask: CommandRequest) -> CurrentPull:
        assert ask.repository
        self.looked += 1
        if self.lost:
            self.lost -= 1
            raise SubjectGone("deleted")
        return CurrentPull(author=self.author, head_sha=self.head_sha, is_open=self.is_open)

    def react(self, ask: CommandRequest, sign: str) -> None:
        if ask.comment_id is not None or ask.review is not None:
            self.seen.append(sign)

    def post_comment(self, ask: CommandRequest, text: str) -> bool:
        assert ask.repository
        if self.limited:
            self.limited -= 1
            raise RateLimited("GitHub", REQUESTED_AT)
        self.said.append(text)
        return True


def asked(
    command: CommandName = CommandName.REJUDGE, login: str = "bob", delivery: str = "d1", **changes: Any
) -> CommandRequest:
    standard = {
        "pull": pull_ref(),
        "repository": "acme/widgets",
        "comment_id": 5,
        "login": login,
        "command": command,
        "delivery_id": delivery,
        "asked_at": REQUESTED_AT,
        "reason": "a reason" if command in {CommandName.CONTEST, CommandName.OVERRIDE} else "",
    }
    return CommandRequest.model_validate({**standard, **changes})


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
def handler(store: Store, desk: Desk) -> CommandHandler:
    return CommandHandler(desk, store, SystemClock(), lambda ask, _: "main" if ask.login in {"carol", "bob"} else None)


def wanted(store: Store) -> Trigger | None:
    request = store.pulls.find_request(pull_ref())
    return request and request.trigger


@dataclass(frozen=True)
class Answer:
    """What is left of a command: the sign at it, our words (a part of them), and the judging that it asks for."""

    seen: list[str] = field(default_factory=list[str])
    said: str | None = None
    trigger: Trigger | None = None


SEEN, REFUSED, NOTHING = ["eyes"], ["-1"], Answer()
IN_REVIEW: dict[str, Any] = {"comment_id": None, "in_review": True, "head_sha": HEAD, "review": BOBS}
PRESSED: dict[str, Any] = {"comment_id": None, "head_sha": HEAD}
OWN = Answer(REFUSED, "own pull request")
ANSWERS: dict[str, tuple[CommandRequest, dict[str, Any], Answer]] = {
    "rejudge": (asked(), {}, Answer(SEEN, trigger=Trigger.COMMAND)),
    "force": (asked(CommandName.FORCE), {}, Answer(SEEN, trigger=Trigger.FORCE)),
    "contest": (asked(CommandName.CONTEST), {}, Answer(SEEN, trigger=Trigger.CONTEST)),
    "override": (asked(CommandName.OVERRIDE, "carol"), {}, Answer(SEEN, trigger=Trigger.COMMAND)),
    "pause": (asked(CommandName.PAUSE, "carol"), {}, Answer(SEEN, "Judging is paused")),
    "resume": (asked(CommandName.RESUME, "carol"), {}, Answer(SEEN, "Judging was not paused", Trigger.RESUMED)),
    "help": (asked(CommandName.HELP), {}, Answer(SEEN, "Assay takes these commands")),
    "an author may have it judged again": (asked(), {"author": "bob"}, Answer(SEEN, trigger=Trigger.COMMAND)),
    "an author may not force": (asked(CommandName.FORCE, "alice"), {"author": "Alice"}, OWN),
    "nor contest": (asked(CommandName.CONTEST, "alice"), {"author": "Alice"}, OWN),
    "nor override": (asked(CommandName.OVERRIDE, "alice"), {"author": "Alice"}, OWN),
    "nor contest alone": (asked(CommandName.CONTEST, "alice"), {"author": "Alice", "is_alone": True}, OWN),
    "a bot": (asked(CommandName.OVERRIDE, "alice", is_bot=True), {}, NOTHING),
    "a bot that can't spell": (asked(login="alice", is_bot=True, misspelt="rejuge"), {}, NOTHING),
    "without a reason": (asked(CommandName.OVERRIDE, "alice", reason=""), {}, Answer(REFUSED, "`/override REASON`")),
    "closed meanwhile": (asked(), {"is_open": False}, NOTHING),
    "pressed by who may not": (asked(login="mallory", **PRESSED), {}, NOTHING),
    "in a review": (asked(**IN_REVIEW), {}, Answer(SEEN, trigger=Trigger.COMMAND)),
    "in a review of who may not": (asked(login="mallory", **IN_REVIEW), {}, Answer(REFUSED, "`/rejudge`")),
    "an override in a review of another commit": (
        asked(CommandName.OVERRIDE, "alice", **IN_REVIEW | {"head_sha": NEWER}), {}, Answer(REFUSED, "the newest commit"),
    ),
    "a contest in a review of another commit": (
        asked(CommandName.CONTEST, "alice", **IN_REVIEW | {"head_sha": NEWER}), {}, Answer(REFUSED, "the newest commit"),
    ),
    "an owner's review": (asked(CommandName.APPROVED, **IN_REVIEW), {}, Answer(trigger=Trigger.COMMAND)),
    "a review of another commit": (asked(CommandName.APPROVED, **IN_REVIEW | {"head_sha": NEWER}), {}, NOTHING),
    "a maintainer's who owns nothing": (asked(CommandName.APPROVED, "alice", **IN_REVIEW), {}, NOTHING),
    "a stranger's review": (asked(CommandName.APPROVED, "mallory", **IN_REVIEW), {}, NOTHING),
    "a dismissal of what decided nothing": (asked(CommandName.DISMISSED, "alice", **IN_REVIEW), {}, NOTHING),
    "a dismissal that names no review": (asked(CommandName.DISMISSED), {}, NOTHING),
}  # fmt: skip


@pytest.mark.parametrize(("command", "told", "answer"), ANSWERS.values(), ids=ANSWERS)
def test_a_command_is_heard_refused_or_left_alone(
    store: Store, desk: Desk, handler: CommandHandler, command: CommandRequest, told: dict[str, Any], answer: Answer
) -> None:
    vars(desk).update(told)
    handler.answer(command)
    assert (desk.seen, wanted(store)) == (answer.seen, answer.trigger)
    assert [(answer.said or "no words") in text for text in desk.said] == [True] * (answer.said is not None)
    if answer.trigger is None:
        for head_sha in (HEAD, NEWER):
            assert store.decisions.find_decisions(pull_ref(), head_sha) == NO_DECISIONS


@pytest.mark.parametrize("command", [one for one in CommandName if COMMAND_RIGHTS[one].syntax])
@pytest.mark.parametrize("login", ["mallory", "trudy"])
def test_who_may_not_write_is_refused_before_more_is_asked(
    store: Store, desk: Desk, handler: CommandHandler, command: CommandName, login: str
) -> None:
    handler.answer(asked(command, login))
    assert (desk.seen, len(desk.said), desk.looked, wanted(store)) == (["-1"], 1, 0, None)
    assert store.decisions.find_decisions(pull_ref(), HEAD) == NO_DECISIONS


def test_a_command_is_answered_though_github_did_not_find_its_pull_request_at_once(
    store: Store, desk: Desk, handler: CommandHandler
) -> None:
    desk.lost = 1
    ask = asked(asked_at=SystemClock().now())
    with pytest.raises(Unavailable, match="does not find it yet"):
        handler.answer(ask)
    assert (desk.seen, wanted(store)) == ([], None)
    handler.answer(ask)
    assert (desk.seen, wanted(store)) == (["eyes"], Trigger.COMMAND)


def test_nobody_looks_for_the_pull_request_of_a_command_for_ever(desk: Desk, handler: CommandHandler) -> None:
    desk.lost = 1
    with pytest.raises(SubjectGone):
        handler.answer(asked(asked_at=REQUESTED_AT))


def test_a_refusal_is_told_once_to_each_person(desk: Desk, handler: CommandHandler) -> None:
    for number, login in enumerate(("mallory", "Mallory", "trudy")):
        handler.answer(asked(login=login.lower(), delivery=f"d{number}", comment_id=number + 1))
    assert desk.seen == ["-1"] * 3
    assert ["mallory" in one for one in desk.said] == [True, False]


def test_the_only_maintainer_overrides_their_own_pull_request(
    store: Store, desk: Desk, handler: CommandHandler
) -> None:
    desk.author, desk.is_alone = "Alice", True
    handler.answer(asked(CommandName.OVERRIDE, "alice"))
    assert (desk.seen, wanted(store)) == (["eyes"], Trigger.COMMAND)
    override = store.decisions.find_decisions(pull_ref(), HEAD).override
    assert override is not None
    assert override.is_own


def test_a_misspelt_command_is_answered_once_with_the_nearest(desk: Desk, handler: CommandHandler) -> None:
    for number in (1, 2):
        handler.answer(asked(misspelt="rejuge", delivery=f"d{number}", comment_id=number))
    assert desk.seen == ["confused", "confused"]
    assert desk.said == [
        "There is no command `/rejuge`. The nearest one is `/rejudge`; `/assay help` lists all of them."
    ]


def test_the_same_words_in_an_edited_comment_are_followed_once(
    store: Store, desk: Desk, handler: CommandHandler
) -> None:
    handler.answer(asked(CommandName.CONTEST))
    first = store.decisions.find_decisions(pull_ref(), HEAD).contest
    handler.answer(asked(CommandName.CONTEST, delivery="d2"))
    assert (desk.seen, store.decisions.find_decisions(pull_ref(), HEAD).contest) == (["eyes"], first)
    handler.answer(asked(CommandName.CONTEST, delivery="d3", reason="a better one"))
    assert store.decisions.find_decisions(pull_ref(), HEAD).open_contest_reason == "a better one"


def test_the_same_words_in_an_edited_review_are_followed_once(store: Store, handler: CommandHandler) -> None:
    review = dict(IN_REVIEW)
    handler.answer(asked(CommandName.CONTEST, **review))
    first = store.decisions.find_decisions(pull_ref(), HEAD).contest
    handler.answer(asked(CommandName.CONTEST, delivery="d2", **review))
    assert store.decisions.find_decisions(pull_ref(), HEAD).contest == first
    review["review"] = ReviewRef(id=8, login="bob")
    handler.answer(asked(CommandName.CONTEST, delivery="d3", **review))
    assert store.decisions.find_decisions(pull_ref(), HEAD).contest != first


def test_an_errand_that_broke_off_goes_on_and_asks_for_nothing_twice(
    store: Store, desk: Desk, handler: CommandHandler
) -> None:
    handler.answer(asked(CommandName.FORCE))
    said = store.decisions.find_decisions(pull_ref(), HEAD)
    store.decisions.record_judged(pull_ref(), HEAD, said)
    handler.answer(asked(CommandName.FORCE))
    assert desk.seen == ["eyes", "eyes"]
    assert store.decisions.find_decisions(pull_ref(), HEAD).rejudge_requested_at == said.rejudge_requested_at, (
        "a verdict made since answers it"
    )


def test_words_that_the_rate_limit_kept_back_are_said_later(desk: Desk, handler: CommandHandler) -> None:
    desk.limited = 1
    with pytest.raises(RateLimited):
        handler.answer(asked(CommandName.HELP))
    handler.answer(asked(CommandName.HELP))
    assert len(desk.said) == 1


def test_an_override_is_written_down_with_name_and_reason(store: Store, handler: CommandHandler) -> None:
    handler.answer(asked(CommandName.OVERRIDE, "carol"))
    override = store.decisions.find_decisions(pull_ref(), HEAD).override
    assert override is not None
    assert (override.login, override.reason, override.eval_id) == ("carol", "a reason", None)


def test_an_override_that_is_told_late_does_not_count_in_another_base(store: Store, handler: CommandHandler) -> None:
    store.pulls.request_judging(judge_request(trigger=Trigger.BASE))
    handler.answer(asked(CommandName.OVERRIDE, "carol"))
    assert store.decisions.find_decisions(pull_ref(), HEAD).override is None


def test_an_override_of_a_commit_that_its_author_can_not_have_seen_is_refused(
    store: Store, desk: Desk, handler: CommandHandler
) -> None:
    later = FirstSeen(head_sha=HEAD, at=REQUESTED_AT + timedelta(seconds=1))
    store.pulls.request_judging(judge_request(arrived=later))
    handler.answer(asked(CommandName.OVERRIDE, "alice"))
    assert (desk.seen, store.decisions.find_decisions(pull_ref(), HEAD)) == (["-1"], NO_DECISIONS)
    assert "`111111111111`, the newest commit" in desk.said[0]
    handler.answer(
        asked(CommandName.OVERRIDE, "alice", "d2", comment_id=6, asked_at=REQUESTED_AT + timedelta(seconds=2))
    )
    assert store.decisions.find_decisions(pull_ref(), HEAD).override is not None


def test_an_override_does_not_fall_upon_a_commit_that_we_were_not_told_of_yet(
    store: Store, desk: Desk, handler: CommandHandler
) -> None:
    store.pulls.request_judging(
        judge_request(head_sha=NEWER, arrived=FirstSeen(head_sha=NEWER, at=REQUESTED_AT - timedelta(hours=1)))
    )
    handler.answer(asked(CommandName.OVERRIDE, "alice"))
    assert (desk.seen, store.decisions.find_decisions(pull_ref(), HEAD)) == (["-1"], NO_DECISIONS)


def test_a_press_contests_without_words_and_takes_none_away(store: Store, desk: Desk, handler: CommandHandler) -> None:
    press: dict[str, Any] = {"comment_id": None, "head_sha": HEAD, "reason": ""}
    handler.answer(asked(CommandName.CONTEST, **press))
    assert store.decisions.find_decisions(pull_ref(), HEAD).open_contest_reason == BUTTON_REASON
    handler.answer(asked(CommandName.CONTEST, delivery="d2"))
    handler.answer(asked(CommandName.CONTEST, delivery="d3", **press))
    assert (store.decisions.find_decisions(pull_ref(), HEAD).open_contest_reason, desk.seen) == ("a reason", ["eyes"])


def test_a_pause_says_how_long_and_why_and_ends_with_resume(store: Store, desk: Desk, handler: CommandHandler) -> None:
    handler.answer(asked(CommandName.PAUSE, "carol", reason="for 2h a release"))
    stopped = store.pauses.find_pause(pull_ref().installation_id, pull_ref().repository_id)
    assert stopped is not None
    assert (stopped.suspension.by, stopped.suspension.reason) == ("carol", "a release")
    assert stopped.suspension.until is not None
    handler.answer(asked(CommandName.RESUME, "carol", "d2", comment_id=6))
    handler.answer(asked(CommandName.RESUME, "carol", "d3", comment_id=7))
    assert store.pauses.find_pause(pull_ref().installation_id, pull_ref().repository_id) is None
    assert [one.split(".")[0].split(" until")[0] for one in desk.said] == [
        "Judging is paused in this repository",
        "Judging goes on",
        "Judging was not paused here",
    ]


def test_a_pause_of_no_length_is_refused(store: Store, desk: Desk, handler: CommandHandler) -> None:
    handler.answer(asked(CommandName.PAUSE, "carol", reason="for 2hours"))
    assert desk.seen == ["-1"]
    assert '"2hours" is no time' in desk.said[0]
    assert store.pauses.find_pause(pull_ref().installation_id, pull_ref().repository_id) is None


def reviewed(command: CommandName, login: str = "bob", review: ReviewRef = BOBS, **changes: Any) -> CommandRequest:
    return asked(command, login, f"{command} {review.id}", **{**IN_REVIEW, "review": review, **changes})


BOBS_LATER, CAROLS = ReviewRef(id=8, login="bob"), ReviewRef(id=8, login="carol")
BY_MALLORY = ReviewDismissal(login="mallory", at=LATER, of="bob")
APPROVED, CHANGES = reviewed(CommandName.APPROVED), reviewed(CommandName.CHANGES)
DISMISSED = reviewed(CommandName.DISMISSED, "mallory", asked_at=LATER)
Decided = tuple[str, bool] | ReviewDismissal | None
REVIEWS: dict[str, tuple[list[CommandRequest], Decided, Trigger | None]] = {
    "approved": ([APPROVED], ("bob", True), Trigger.COMMAND),
    "changes requested": ([CHANGES], ("bob", False), Trigger.COMMAND),
    "dismissed": ([APPROVED, DISMISSED], BY_MALLORY, Trigger.DISMISSED),
    "dismissed by a bot": ([APPROVED, DISMISSED.model_copy(update={"is_bot": True})], BY_MALLORY, Trigger.DISMISSED),
    "dismissed where only a name was noted": (
        [APPROVED.model_copy(update={"review": None}), DISMISSED], BY_MALLORY, Trigger.DISMISSED,
    ),
    "another's was dismissed": (
        [reviewed(CommandName.APPROVED, "carol", CAROLS), DISMISSED], ("carol", True), Trigger.COMMAND,
    ),
    "looked into after it was dismissed": ([DISMISSED, APPROVED], BY_MALLORY, Trigger.COMMAND),
    "looked into after a newer one": (
        [reviewed(CommandName.CHANGES, review=BOBS_LATER, asked_at=LATER), APPROVED], ("bob", False), Trigger.COMMAND,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("commands", "decided", "trigger"), REVIEWS.values(), ids=REVIEWS)
def test_a_code_owners_review_decides_until_it_is_dismissed(
    store: Store, handler: CommandHandler, commands: list[CommandRequest], decided: Decided, trigger: Trigger | None
) -> None:
    for command in commands:
        handler.answer(command)
    said = store.decisions.find_decisions(pull_ref(), HEAD)
    review = said.review and (said.review.login, said.review.is_approved)
    assert (review or said.dismissed, wanted(store)) == (decided, trigger)
    assert said.review is None or said.dismissed is None


def test_an_older_review_decides_where_the_newer_one_is_of_who_owns_another_branch(
    store: Store, desk: Desk, handler: CommandHandler
) -> None:
    other = CommandHandler(desk, store, SystemClock(), lambda _, __: "below")
    other.answer(reviewed(CommandName.CHANGES, review=ReviewRef(id=8, login="bob"), asked_at=LATER))
    handler.answer(reviewed(CommandName.APPROVED))
    review = store.decisions.find_decisions(pull_ref(), HEAD).review
    assert review is not None
    assert (review.is_approved, review.base_ref) == (True, "main")


@pytest.mark.parametrize("moved", [{"head_sha": NEWER}, {"is_open": False}], ids=["another head", "closed"])
def test_what_is_taken_back_where_nobody_looks_is_only_written_down(
    store: Store, desk: Desk, handler: CommandHandler, moved: dict[str, Any]
) -> None:
    handler.answer(reviewed(CommandName.APPROVED))
    for name, value in moved.items():
        setattr(desk, name, value)
    handler.answer(reviewed(CommandName.DISMISSED))
    assert (store.decisions.find_decisions(pull_ref(), HEAD).review, wanted(store)) == (None, Trigger.COMMAND)


def test_a_dismissal_that_broke_off_goes_on(store: Store, handler: CommandHandler) -> None:
    handler.answer(reviewed(CommandName.APPROVED))
    store.decisions.withdraw(pull_ref(), HEAD, ReviewDismissal(login="mallory", at=LATER, of="bob"))
    handler.answer(reviewed(CommandName.DISMISSED, "mallory", asked_at=LATER))
    assert wanted(store) is Trigger.DISMISSED


HERE = PausedRepository.model_validate({"installation_id": 100, "repository_id": 7})
PAUSED = JudgingCompleted(abstained(AbstainReason.PAUSED), dossier())


def resumed(store: Store) -> int:
    """Look at what waits now, not in a while."""
    expire_hold(store, keys.PAUSED_REPOSITORIES, HERE.model_dump_json())
    return resume_paused_heads(store, SystemClock())


def test_what_was_left_for_a_pause_is_asked_for_when_it_is_over(store: Store) -> None:
    store.pauses.pause(pull_ref().installation_id, pull_ref().repository_id, JudgingPause(by="alice"))
    update_paused_heads(store, judge_request(delivery_id="guid-1"), 7, PAUSED)
    assert resumed(store) == 0, "it is paused"
    assert store.pulls.find_request(pull_ref()) is None
    store.pauses.resume(pull_ref().installation_id, pull_ref().repository_id)
    assert resumed(store) == 1
    request = store.pulls.find_request(pull_ref())
    assert request is not None
    assert (request.trigger, request.delivery_id, request.head_sha) == (Trigger.RESUMED, "resumed-7-guid-1", None)
    assert resumed(store) == 0, "once"


def test_a_draft_that_somebody_asked_for_in_a_pause_does_not_wait_when_it_is_over(store: Store) -> None:
    update_paused_heads(store, judge_request(trigger=Trigger.REVIEW, draft=True), 7, PAUSED)
    assert resumed(store) == 1
    assert store.pulls.find_plan(pull_ref()) is not None


def test_a_pause_of_everything_keeps_all_waiting(store: Store) -> None:
    store.pauses.pause_all(JudgingPause(by="alice"))
    update_paused_heads(store, judge_request(), 7, PAUSED)
    assert resumed(store) == 0
    store.pauses.resume_all()
    assert resumed(store) == 1


@pytest.mark.parametrize(
    "outcome", [JudgingCompleted(rejected(), dossier()), JudgingDiscarded("closed")], ids=["judged", "closed"]
)
def test_what_was_judged_otherwise_meanwhile_is_not_asked_for_again(store: Store, outcome: JudgingOutcome) -> None:
    update_paused_heads(store, judge_request(), 7, PAUSED)
    update_paused_heads(store, judge_request(), 8, outcome)
    assert store.paused_heads.list_requests(HERE) == ()
    assert resumed(store) == 0


@pytest.mark.parametrize(
    "outcome", [JudgingSuperseded(NEWER), WaitForCi(timedelta(0), ())], ids=["overtaken", "waiting"]
)
def test_what_has_not_come_to_its_end_changes_nothing(store: Store, outcome: JudgingOutcome) -> None:
    update_paused_heads(store, judge_request(), 7, PAUSED)
    update_paused_heads(store, judge_request(), 8, outcome)
    assert len(store.paused_heads.list_requests(HERE)) == 1


def test_what_is_paused_again_and_again_is_still_told_by_its_first_delivery() -> None:
    once: JudgeRequest = resumed_request(judge_request(delivery_id="guid-1"), 7)
    assert resumed_request(once, 12).delivery_id == "resumed-12-guid-1"


@pytest.mark.parametrize("is_paused", [False, True], ids=["goes on", "ASSAY_PAUSED is 1"])
def test_the_dispatcher_looks_by_itself_unless_its_operator_paused_everything(
    settings: Settings,
    store: Store,
    is_paused: bool,  # noqa: FBT001 - both ways
) -> None:
    update_paused_heads(store, judge_request(), 7, PAUSED)
    connection = rq_connection(settings)
    looked: Callable[[], object] = lambda: judge_queue(connection).job_ids  # noqa: E731 - shown as what it is
    with dispatching(replace(settings, is_paused=is_paused)):
        assert wait_until(looked, 1.0 if is_paused else 20.0) is not is_paused
    connection.close()
