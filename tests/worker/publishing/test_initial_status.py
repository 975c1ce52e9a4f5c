"""What the first check says. Invariant: nothing that lets a pull request pass, unless it was asked who wrote it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from tests.worker.adapters.redis.store_samples import HEAD, NEWER, REQUESTED_AT, judge_request, pull_ref, record_verdict
from tests.worker.scheduling.scripted_judging import ScriptedCheckRuns, ScriptedGitHub
from worker.adapters.redis.judging import intake
from worker.adapters.redis.store import Store
from worker.clock import SystemClock
from worker.domain.check.check_run import CheckContent, Conclusion
from worker.domain.config.config import Authors, Handling
from worker.domain.dossier import Commit, PullRequest
from worker.domain.ids import CheckRunId, DeliveryId, InstallationId, RepositoryId, RepositoryName, hash_base
from worker.domain.judge_request import AuthorKind, JudgeRequest, Trigger
from worker.domain.pull_request_events import OpenPull, PullSnapshot, RepositoryAdded
from worker.errors import SubjectGone
from worker.publishing.check_runs import CheckRunService, no_lease
from worker.publishing.initial_status import MAX_WRITES, InitialStatus
from worker.publishing.texts.states import draft_content
from worker.settings import Timing

NAME = f"100/1 {HEAD}"
QUIET = Timing(quiet_window=45)


@dataclass
class Looks:
    """What GitHub would say of a pull request's author."""

    author: str = "alice"
    message: str = "Retry"
    draft: bool = False
    authors: Authors | None = field(default_factory=Authors)
    listed: tuple[OpenPull, ...] = ()
    asked: int = 0
    is_required: bool = False
    lets_pass: bool = False
    is_closed: bool = False

    def find_author(self, request: JudgeRequest) -> PullSnapshot:
        self.asked += 1
        if self.is_closed:
            raise SubjectGone("closed")
        told = PullRequest(
            repository=request.repository,
            number=request.pull.number,
            title="",
            body="",
            author=self.author,
            base_sha=HEAD,
            head_sha=HEAD,
            draft=self.draft,
            commits=(Commit(sha=HEAD, message=self.message, author=self.author),),
        )
        return PullSnapshot(told, self.authors, self.is_required, self.lets_pass)

    def open_pulls(self, installation: InstallationId, repository: RepositoryName) -> Iterator[OpenPull]:
        assert (installation, repository) == (100, "acme/widgets")
        yield from self.listed


@pytest.fixture
def looks() -> Looks:
    return Looks()


def opening(store: Store, looks: Looks, checks: ScriptedCheckRuns | None = None) -> InitialStatus:
    registry, operators = store.checks(), Authors(people=Handling.SKIP)
    desk = CheckRunService(checks or ScriptedCheckRuns(store), registry, no_lease)
    return InitialStatus(desk, registry, store.pulls, store.ledger, looks, SystemClock(), operators, timedelta(hours=1))


@pytest.fixture
def reception(store: Store, looks: Looks) -> InitialStatus:
    return opening(store, looks)


def opened(store: Store, reception: InitialStatus, author: AuthorKind, timing: Timing = QUIET, **changes: Any) -> str:
    request = judge_request(author=author, **changes)
    intake.request_judging(store.client, request, timing)
    reception.open(request, HEAD)
    return ScriptedGitHub(store).checks()[NAME]


SIGNED = "Retry\n\nCo-Authored-By: Claude <noreply@anthropic.com>"
AGENT, PERSON = AuthorKind.AGENT, AuthorKind.PERSON
LATER = "in_progress: Judging starts at "


@dataclass(frozen=True)
class Opened:
    """A check, and what is left of it. `asked`: how often GitHub was asked for the author."""

    title: str
    is_due: bool = True
    is_idle: bool = True
    asked: int = 1


SKIPPED = Opened("skipped: Skipped: written by a person", is_due=False, is_idle=False)
JUDGED_NOW = Opened("in_progress: Judging", is_idle=False, asked=0)
A_DRAFT = Opened("in_progress: Draft: judged when it is ready", is_due=False, asked=0)
FIRST: dict[str, tuple[AuthorKind, dict[str, Any], dict[str, Any], Opened]] = {
    "an agent's, which nobody has to be asked about": (AGENT, {}, {}, Opened(LATER, asked=0)),
    "without a window": (AGENT, {}, {"timing": Timing(quiet_window=0)}, JUDGED_NOW),
    "a person's": (PERSON, {}, {}, SKIPPED),
    "an agent behind a person": (PERSON, {"message": SIGNED}, {}, Opened(LATER)),
    "as the repository says": (PERSON, {"authors": Authors(people=Handling.JUDGE)}, {}, Opened(LATER)),
    "a configuration that can't be read": (PERSON, {"authors": None}, {}, Opened(LATER)),
    "what somebody asked for": (PERSON, {}, {"trigger": Trigger.COMMAND}, JUDGED_NOW),
    "a draft": (AGENT, {}, {"draft": True}, A_DRAFT),
}


@pytest.mark.parametrize(("author", "told", "changes", "shown"), FIRST.values(), ids=FIRST)
def test_the_first_check_says_what_judging_waits_for(
    store: Store, looks: Looks, author: AuthorKind, told: dict[str, Any], changes: dict[str, Any], shown: Opened
) -> None:
    vars(looks).update(told)
    title = opened(store, opening(store, looks), author, **changes)
    note, is_due = store.checks().find(pull_ref(), HEAD), store.pulls.find_plan(pull_ref()) is not None
    title = LATER if title.startswith(LATER) else title
    assert Opened(title, is_due, note.is_idle, looks.asked) == shown
    assert bool(store.checks().open_checks(pull_ref())) is not title.startswith("skipped")
    assert store.checks().take_expired() == ()


class Told(ScriptedCheckRuns):
    """Keeps what was written last."""

    summary = ""

    def update(self, request: JudgeRequest, check: CheckRunId, content: CheckContent) -> None:
        super().update(request, check, content)
        self.summary = content.summary


@pytest.mark.parametrize("was_judged", [False, True])
@pytest.mark.parametrize("what", [Trigger.BASE, Trigger.TEXT])
def test_a_check_that_waits_tells_of_an_earlier_verdict_only_where_there_was_one(
    store: Store, looks: Looks, what: Trigger, *, was_judged: bool
) -> None:
    if was_judged:
        record_verdict(store)
    told = Told(store)
    reception = opening(store, looks, told)
    opened(store, reception, AGENT)
    assert told.summary.startswith("Judging starts at")
    opened(store, reception, AGENT, trigger=what)
    assert told.summary.startswith("The earlier verdict was made") is was_judged
    assert "Judging starts at" in told.summary


def test_what_only_waited_is_shown_anew_and_what_is_judged_is_left(store: Store, reception: InitialStatus) -> None:
    opened(store, reception, AGENT)
    assert "Draft" in opened(store, reception, AGENT, draft=True, trigger=Trigger.EDITED)
    reception.service.restart(judge_request(), HEAD)
    assert ScriptedGitHub(store).checks()[NAME] == "in_progress: Judging"
    assert opened(store, reception, AGENT) == "in_progress: Judging"


@pytest.mark.parametrize("draft", [False, True])
def test_whoever_began_to_judge_meanwhile_is_asked_to_look_again(store: Store, looks: Looks, *, draft: bool) -> None:
    begins = ScriptedCheckRuns(store, lambda: store.checks().record_opened(pull_ref(), HEAD, CheckRunId(1)))
    store.checks().record_waiting(
        pull_ref(), HEAD, ScriptedCheckRuns(store).create(judge_request(), HEAD, draft_content()), is_watched=True
    )
    opened(store, opening(store, looks, begins), AGENT, draft=draft)
    request = store.pulls.find_request(pull_ref())
    assert request is not None
    assert request.trigger is Trigger.LATE
    assert store.pulls.find_plan(pull_ref()) is not None, "also of a draft: who was told so late asks GitHub"


def old_pull(number: int, head_sha: str = HEAD, *, days: int = 1, author: AuthorKind = AuthorKind.AGENT) -> OpenPull:
    opened_at = REQUESTED_AT - timedelta(days=days)
    return OpenPull(number, head_sha, opened_at, draft=False, author=author, base=hash_base("main"))


def greeting(delivery_id: str = "") -> RepositoryAdded:
    place: dict[str, Any] = {"installation_id": InstallationId(100), "repository_id": RepositoryId(7)}
    return RepositoryAdded(**place, repository="acme/widgets", since=REQUESTED_AT, delivery_id=DeliveryId(delivery_id))


def test_what_was_open_before_gets_a_check_that_lets_it_pass_and_nothing_newer_does(
    store: Store, reception: InitialStatus, looks: Looks
) -> None:
    store.checks().claim(pull_ref(2), HEAD)
    looks.listed = (old_pull(3, days=-1), old_pull(2), old_pull(1))
    assert reception.show_repository_added(greeting())
    assert ScriptedGitHub(store).checks() == {NAME: "neutral: Opened before Assay was installed"}
    assert store.pulls.find_initial_head(pull_ref()) == HEAD
    assert reception.show_repository_added(greeting())


@pytest.mark.parametrize(
    ("told", "concludes"),
    [
        ({"author": "Copilot"}, "action_required"),
        ({"author": "Copilot", "authors": None}, "action_required"),
        ({"message": SIGNED}, "action_required"),
        ({"authors": Authors(people=Handling.JUDGE)}, "action_required"),
        ({"authors": Authors(people=Handling.OBSERVE)}, "neutral"),
        ({"author": "Copilot", "authors": Authors(agents=Handling.OBSERVE)}, "neutral"),
        ({"author": "Copilot", "lets_pass": True}, "neutral"),
    ],
)
def test_what_was_open_before_does_not_pass_a_check_that_merges_wait_for(
    store: Store, reception: InitialStatus, looks: Looks, told: dict[str, Any], concludes: str
) -> None:
    vars(looks).update(told, is_required=True, listed=(old_pull(1, author=AuthorKind.PERSON),))
    assert reception.show_repository_added(greeting())
    assert ScriptedGitHub(store).checks() == {NAME: f"{concludes}: Opened before Assay was installed"}
    assert store.pulls.find_initial_head(pull_ref()) == HEAD


def test_a_verdict_that_we_forgot_of_is_not_greeted_away_and_its_check_is_known_again(
    store: Store, reception: InitialStatus, looks: Looks
) -> None:
    ScriptedCheckRuns(store).create(judge_request(), HEAD, CheckContent("Rejected", "", conclusion=Conclusion.FAILURE))
    looks.listed = (old_pull(1),)
    assert reception.show_repository_added(greeting())
    assert ScriptedGitHub(store).checks() == {NAME: "failure: Rejected"}
    assert store.checks().find(pull_ref(), HEAD).is_present
    assert store.checks().open_checks(pull_ref()) == {}


def greeted(store: Store) -> None:
    store.pulls.record_initial_head(pull_ref(), HEAD)


@pytest.mark.parametrize(
    ("known", "told", "trigger"),
    [
        (record_verdict, {"listed": (old_pull(1, NEWER),)}, Trigger.SWEEP),
        (greeted, {"listed": (old_pull(1, NEWER),)}, Trigger.SWEEP),
        (Store.ping, {"listed": (old_pull(1),), "is_closed": True}, None),
    ],
    ids=["judged before the repository came back", "pushed to since it was greeted", "closed since it was listed"],
)
def test_what_is_known_or_gone_is_not_greeted(
    store: Store, looks: Looks, known: Callable[[Store], None], told: dict[str, Any], trigger: Trigger | None
) -> None:
    known(store)
    vars(looks).update(told)
    assert opening(store, looks).show_repository_added(greeting())
    assert ScriptedGitHub(store).checks() == {}
    request = store.pulls.find_request(pull_ref())
    assert (request and (request.trigger, request.head_sha)) == (trigger and (trigger, NEWER))


def test_what_is_judged_when_a_repository_comes_back_holds_the_id_of_the_delivery_that_told_so(
    store: Store, reception: InitialStatus, looks: Looks
) -> None:
    record_verdict(store)
    told: list[str] = []
    for head, delivery in (
        (NEWER, "guid-1"),
        ("e" * 40, "guid-2"),
    ):  # taken away and given back twice within a few days
        looks.listed = (old_pull(1, head),)
        assert reception.show_repository_added(greeting(delivery))
        request = store.pulls.find_request(pull_ref())
        assert request is not None
        told.append(request.delivery_id)
    assert told == ["greeted-100:7:0-1-guid-1", "greeted-100:7:0-1-guid-2"]


def test_those_that_were_heard_of_hold_nobody_back(store: Store, reception: InitialStatus, looks: Looks) -> None:
    for number in range(1, MAX_WRITES + 2):
        store.pulls.request_judging(judge_request(number))
    looks.listed = tuple(old_pull(number) for number in range(1, MAX_WRITES + 2))
    assert reception.show_repository_added(greeting())
    assert ScriptedGitHub(store).checks() == {}


def test_many_old_ones_take_several_turns(store: Store, reception: InitialStatus, looks: Looks) -> None:
    looks.listed = tuple(old_pull(number, f"{number:040x}") for number in range(1, MAX_WRITES + 2))
    assert not reception.show_repository_added(greeting())
    assert len(ScriptedGitHub(store).checks()) == MAX_WRITES
    assert reception.show_repository_added(greeting())
    assert len(ScriptedGitHub(store).checks()) == MAX_WRITES + 1
    assert NEWER not in {name.split()[1] for name in ScriptedGitHub(store).checks()}
