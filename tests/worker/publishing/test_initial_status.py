"""The first check run of a head: its status and conclusion before any judging."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from typing_extensions import override

from tests.worker.adapters.redis.store_samples import HEAD, NEWER, REQUESTED_AT, judge_request, pull_ref, record_verdict
from tests.worker.scheduling.scripted_judging import ScriptedCheckRuns, ScriptedGitHub
from worker.adapters.redis.judging import intake
from worker.adapters.redis.store import Store
from worker.domain.check.check_run import CheckContent, Conclusion
from worker.domain.config.config import Authors, Handling
from worker.domain.dossier import Commit, PullRequest
from worker.domain.github_events import OpenPull, PullSnapshot, RepositoryAdded
from worker.domain.judge_request import AuthorKind, JudgeRequest, Trigger
from worker.domain.model import CheckRunId, InstallationId, RepositoryName, hash_base
from worker.errors import SubjectGone
from worker.process import SystemClock
from worker.publishing.check_runs import CheckRunService, no_lease
from worker.publishing.initial_status import MAX_WRITES, InitialStatus
from worker.publishing.texts.states import draft_content
from worker.settings import Timing

NAME = f"100/1 {HEAD}"
QUIET = Timing(quiet_window=45)


@dataclass
class Listing:
    """GitHub's snapshots of a pull request and its author."""

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
        pull_request = PullRequest(
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
        return PullSnapshot(pull_request, self.authors, self.is_required, self.lets_pass)

    def open_pulls(self, installation: InstallationId, repository: RepositoryName) -> Iterator[OpenPull]:
        assert (installation, repository) == (100, "acme/widgets")
        yield from self.listed


@pytest.fixture
def listing() -> Listing:
    return Listing()


def open_initial_status(store: Store, listing: Listing, checks: ScriptedCheckRuns | None = None) -> InitialStatus:
    registry, operators = store.checks(), Authors(people=Handling.SKIP)
    service = CheckRunService(checks or ScriptedCheckRuns(store), registry, no_lease)
    return InitialStatus(
        service, registry, store.pulls, store.ledger, listing, SystemClock(), operators, timedelta(hours=1)
    )


def open_check(
    store: Store, initial_status: InitialStatus, author: AuthorKind, timing: Timing = QUIET, **changes: Any
) -> str:
    request = judge_request(author=author, **changes)
    intake.request_judging(store.client, request, timing)
    initial_status.open(request, HEAD)
    return ScriptedGitHub(store).checks()[NAME]


SIGNED = "Retry\n\nCo-Authored-By: Claude <noreply@anthropic.com>"
AGENT, PERSON = AuthorKind.AGENT, AuthorKind.PERSON
LATER = "in_progress: Judging starts at "


@dataclass(frozen=True)
class OpenedCheck:
    """State after the check run was opened. `asked`: how often GitHub was asked for the author."""

    title: str
    is_due: bool = True
    is_idle: bool = True
    asked: int = 1


SKIPPED = OpenedCheck("skipped: Skipped: written by a person", is_due=False, is_idle=False)
JUDGED_NOW = OpenedCheck("in_progress: Judging", is_idle=False, asked=0)
A_DRAFT = OpenedCheck("in_progress: Draft: judged when it is ready", is_due=False, asked=0)
FIRST_CHECKS: dict[str, tuple[AuthorKind, dict[str, Any], dict[str, Any], OpenedCheck]] = {
    "an agent's": (AGENT, {}, {}, OpenedCheck(LATER, asked=0)),
    "without a window": (AGENT, {}, {"timing": Timing(quiet_window=0)}, JUDGED_NOW),
    "a person's": (PERSON, {}, {}, SKIPPED),
    "an agent behind a person": (PERSON, {"message": SIGNED}, {}, OpenedCheck(LATER)),
    "as the repository says": (PERSON, {"authors": Authors(people=Handling.JUDGE)}, {}, OpenedCheck(LATER)),
    "a configuration that can't be read": (PERSON, {"authors": None}, {}, OpenedCheck(LATER)),
    "requested by command": (PERSON, {}, {"trigger": Trigger.COMMAND}, JUDGED_NOW),
    "a draft": (AGENT, {}, {"draft": True}, A_DRAFT),
}


@pytest.mark.parametrize(("author", "snapshot", "changes", "shown"), FIRST_CHECKS.values(), ids=FIRST_CHECKS)
def test_first_check_shows_what_judging_waits_for(
    store: Store,
    listing: Listing,
    author: AuthorKind,
    snapshot: dict[str, Any],
    changes: dict[str, Any],
    shown: OpenedCheck,
) -> None:
    vars(listing).update(snapshot)
    title = open_check(store, open_initial_status(store, listing), author, **changes)
    note, is_due = store.checks().find(pull_ref(), HEAD), store.pulls.find_plan(pull_ref()) is not None
    title = LATER if title.startswith(LATER) else title
    assert OpenedCheck(title, is_due, note.is_idle, listing.asked) == shown
    assert bool(store.checks().open_checks(pull_ref())) is not title.startswith("skipped")
    assert store.checks().take_expired() == ()


class SummaryChecks(ScriptedCheckRuns):
    """Check runs that keep the last summary."""

    summary = ""

    @override
    def update(self, request: JudgeRequest, check: CheckRunId, content: CheckContent) -> None:
        super().update(request, check, content)
        self.summary = content.summary


@pytest.mark.parametrize("was_judged", [False, True])
@pytest.mark.parametrize("trigger", [Trigger.BASE, Trigger.TEXT])
def test_waiting_check_mentions_an_earlier_verdict_only_if_one_exists(
    store: Store, listing: Listing, trigger: Trigger, *, was_judged: bool
) -> None:
    if was_judged:
        record_verdict(store)
    checks = SummaryChecks(store)
    initial_status = open_initial_status(store, listing, checks)
    open_check(store, initial_status, AGENT)
    assert checks.summary.startswith("Judging starts at")
    open_check(store, initial_status, AGENT, trigger=trigger)
    assert checks.summary.startswith("The earlier verdict was made") is was_judged
    assert "Judging starts at" in checks.summary


def test_waiting_check_is_updated_and_running_one_is_kept(store: Store, listing: Listing) -> None:
    initial_status = open_initial_status(store, listing)
    open_check(store, initial_status, AGENT)
    assert "Draft" in open_check(store, initial_status, AGENT, draft=True, trigger=Trigger.EDITED)
    initial_status.service.restart(judge_request(), HEAD)
    assert ScriptedGitHub(store).checks()[NAME] == "in_progress: Judging"
    assert open_check(store, initial_status, AGENT) == "in_progress: Judging"


@pytest.mark.parametrize("draft", [False, True])
def test_judging_that_starts_meanwhile_is_requested_again(store: Store, listing: Listing, *, draft: bool) -> None:
    begins = ScriptedCheckRuns(store, lambda: store.checks().record_opened(pull_ref(), HEAD, CheckRunId(1)))
    store.checks().record_waiting(
        pull_ref(), HEAD, ScriptedCheckRuns(store).create(judge_request(), HEAD, draft_content()), is_watched=True
    )
    open_check(store, open_initial_status(store, listing, begins), AGENT, draft=draft)
    request = store.pulls.find_request(pull_ref())
    assert request is not None
    assert request.trigger is Trigger.LATE
    assert store.pulls.find_plan(pull_ref()) is not None, "also of a draft"


def old_pull(number: int, head_sha: str = HEAD, *, days: int = 1, author: AuthorKind = AuthorKind.AGENT) -> OpenPull:
    opened_at = REQUESTED_AT - timedelta(days=days)
    return OpenPull(number, head_sha, opened_at, draft=False, author=author, base=hash_base("main"))


def show_added(store: Store, listing: Listing, delivery_id: str = "", *, is_done: bool = True) -> dict[str, str]:
    """Open the initial checks of an added repository, and return all check runs."""
    ids: dict[str, Any] = {"installation_id": 100, "repository_id": 7, "delivery_id": delivery_id}
    added = RepositoryAdded(**ids, repository="acme/widgets", since=REQUESTED_AT)
    assert open_initial_status(store, listing).show_repository_added(added) is is_done
    return ScriptedGitHub(store).checks()


def test_only_pull_requests_older_than_assay_get_a_passing_check(store: Store, listing: Listing) -> None:
    store.checks().claim(pull_ref(2), HEAD)
    listing.listed = (old_pull(3, days=-1), old_pull(2), old_pull(1))
    assert show_added(store, listing) == {NAME: "neutral: Opened before Assay was installed"}
    assert store.pulls.find_initial_head(pull_ref()) == HEAD
    show_added(store, listing)


@pytest.mark.parametrize(
    ("snapshot", "concludes"),
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
def test_required_check_of_an_older_pull_request_blocks_what_would_be_judged(
    store: Store, listing: Listing, snapshot: dict[str, Any], concludes: str
) -> None:
    vars(listing).update(snapshot, is_required=True, listed=(old_pull(1, author=AuthorKind.PERSON),))
    assert show_added(store, listing) == {NAME: f"{concludes}: Opened before Assay was installed"}
    assert store.pulls.find_initial_head(pull_ref()) == HEAD


def test_existing_verdict_is_kept_and_its_check_is_registered_again(store: Store, listing: Listing) -> None:
    ScriptedCheckRuns(store).create(judge_request(), HEAD, CheckContent("Rejected", "", conclusion=Conclusion.FAILURE))
    listing.listed = (old_pull(1),)
    assert show_added(store, listing) == {NAME: "failure: Rejected"}
    assert store.checks().find(pull_ref(), HEAD).is_present
    assert store.checks().open_checks(pull_ref()) == {}


def record_initial_head(store: Store) -> None:
    store.pulls.record_initial_head(pull_ref(), HEAD)


@pytest.mark.parametrize(
    ("prepare", "snapshot", "trigger"),
    [
        (record_verdict, {"listed": (old_pull(1, NEWER),)}, Trigger.SWEEP),
        (record_initial_head, {"listed": (old_pull(1, NEWER),)}, Trigger.SWEEP),
        (Store.ping, {"listed": (old_pull(1),), "is_closed": True}, None),
    ],
    ids=["judged before the repository came back", "pushed to since its initial check", "closed since it was listed"],
)
def test_known_or_closed_pull_request_gets_no_initial_check(
    store: Store, listing: Listing, prepare: Callable[[Store], None], snapshot: dict[str, Any], trigger: Trigger | None
) -> None:
    prepare(store)
    vars(listing).update(snapshot)
    assert show_added(store, listing) == {}
    request = store.pulls.find_request(pull_ref())
    assert (request and (request.trigger, request.head_sha)) == (trigger and (trigger, NEWER))


def test_request_for_a_returned_repository_carries_its_delivery_id(store: Store, listing: Listing) -> None:
    record_verdict(store)
    delivery_ids: list[str] = []
    for head, delivery in ((NEWER, "guid-1"), ("e" * 40, "guid-2")):
        listing.listed = (old_pull(1, head),)
        show_added(store, listing, delivery)
        request = store.pulls.find_request(pull_ref())
        assert request is not None
        delivery_ids.append(request.delivery_id)
    assert delivery_ids == ["greeted-100:7:0-1-guid-1", "greeted-100:7:0-1-guid-2"]


def test_known_pull_requests_do_not_use_up_the_writes_of_a_round(store: Store, listing: Listing) -> None:
    for number in range(1, MAX_WRITES + 2):
        store.pulls.request_judging(judge_request(number))
    listing.listed = tuple(old_pull(number) for number in range(1, MAX_WRITES + 2))
    assert show_added(store, listing) == {}


def test_initial_checks_of_many_pull_requests_take_several_rounds(store: Store, listing: Listing) -> None:
    listing.listed = tuple(old_pull(number, f"{number:040x}") for number in range(1, MAX_WRITES + 2))
    assert len(show_added(store, listing, is_done=False)) == MAX_WRITES
    assert len(show_added(store, listing)) == MAX_WRITES + 1
    assert NEWER not in {name.split()[1] for name in ScriptedGitHub(store).checks()}
