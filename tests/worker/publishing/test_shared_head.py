"""Sync of the check runs of pull requests that share a head commit."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from tests.worker.adapters.redis.store_samples import HEAD, NEWER, judge_request, pull_ref, start_judging
from tests.worker.scheduling.scripted_judging import ScriptedCheckRuns, ScriptedGitHub, raise_error
from worker.adapters.redis.connection.client import Argument, RedisClient, Reply
from worker.adapters.redis.store import Store
from worker.domain.check.check_run import CheckContent, Conclusion
from worker.domain.check.shared_head import CommitRef
from worker.domain.dossier import Dossier
from worker.domain.judge_request import JudgeRequest, Trigger
from worker.domain.lifecycle.judging import Finish
from worker.domain.lifecycle.work import JudgedHead
from worker.domain.model import InstallationId, RepositoryId, Sha
from worker.errors import Forbidden, SubjectGone
from worker.publishing.check_runs import MAX_SYNC_WRITES, CheckRunService, SharedHeadSync, no_lease
from worker.publishing.texts.states import closed_content, draft_content, existing_pull_content

COMMIT = CommitRef(installation_id=InstallationId(100), repository_id=RepositoryId(7), head_sha=HEAD)
NEWER_COMMIT = COMMIT.model_copy(update={"head_sha": NEWER})
ACCEPTED = CheckContent("Accepted", "Yes.", conclusion=Conclusion.SUCCESS)
REJECTED = CheckContent("Rejected", "No.", conclusion=Conclusion.FAILURE)
HELD = "failure: Accepted here, but #1 of the same commit is rejected"


@dataclass
class Heads:
    """GitHub's head of each pull request; None: it is closed."""

    at: dict[int, Sha | None] = field(default_factory=dict[int, Sha | None])
    refusal: Exception | None = None

    def dossier(self, request: JudgeRequest) -> Dossier:
        raise AssertionError(request)

    def head_sha(self, request: JudgeRequest) -> Sha:
        if self.refusal:
            raise self.refusal
        head_sha = self.at.get(request.pull.number, HEAD)
        if head_sha is None:
            raise SubjectGone("closed")
        return head_sha


def service_of(store: Store, checks: ScriptedCheckRuns | None = None) -> CheckRunService:
    return CheckRunService(checks or ScriptedCheckRuns(store), store.checks(), no_lease, store.shared_heads)


def open_sync(store: Store, checks: ScriptedCheckRuns | None = None, heads: Heads | None = None) -> SharedHeadSync:
    return SharedHeadSync(
        store.shared_heads, checks or ScriptedCheckRuns(store), store.checks(), store.pulls, heads or Heads()
    )


def sync_all(sync: SharedHeadSync, store: Store, commit: CommitRef = COMMIT) -> None:
    """Sync until nothing is left; what is left is due immediately."""
    while not sync.sync(commit):
        due = store.shared_heads.next()
        assert due is not None
        assert due[0] == commit


def write_check(store: Store, number: int, content: CheckContent, head_sha: Sha = HEAD) -> None:
    store.pulls.request_judging(judge_request(number, head_sha=head_sha))
    service_of(store).write(judge_request(number), head_sha, content)


def is_in_sync(store: Store, world: ScriptedGitHub) -> bool:
    """Return whether a sync writes nothing."""
    written = len(world.notes("wrote"))
    return open_sync(store).sync(COMMIT) and len(world.notes("wrote")) == written


def checks_shown(world: ScriptedGitHub) -> list[str]:
    return [text for _, text in sorted(world.checks().items())]


def test_sync_updates_other_checks_until_all_agree(store: Store, world: ScriptedGitHub) -> None:
    write_check(store, 1, ACCEPTED)
    write_check(store, 2, ACCEPTED)
    service_of(store).write(judge_request(1), HEAD, REJECTED)
    assert checks_shown(world) == ["failure: Rejected", "success: Accepted"]
    assert open_sync(store).sync(COMMIT)
    assert checks_shown(world) == ["failure: Rejected", HELD]
    assert is_in_sync(store, world)
    service_of(store).write(judge_request(1), HEAD, ACCEPTED)
    assert open_sync(store).sync(COMMIT)
    service_of(store).write(judge_request(2), HEAD, ACCEPTED)
    assert is_in_sync(store, world), "a judge knows what it wrote"
    assert checks_shown(world) == ["success: Accepted", "success: Accepted"]


def test_second_check_shows_an_earlier_reject_immediately(store: Store, world: ScriptedGitHub) -> None:
    write_check(store, 1, REJECTED)
    write_check(store, 2, ACCEPTED)
    assert checks_shown(world) == ["failure: Rejected", HELD]


def test_unrequested_pull_request_is_held_by_a_reject(store: Store, world: ScriptedGitHub) -> None:
    service_of(store).open(judge_request(2, trigger=Trigger.SWEEP), HEAD, existing_pull_content())
    assert store.pulls.find_request(pull_ref(2)) is None
    write_check(store, 1, REJECTED)
    assert open_sync(store).sync(COMMIT)
    assert checks_shown(world)[1].startswith("failure: Passes here")


def test_check_of_a_closed_pull_request_follows_the_open_one(store: Store, world: ScriptedGitHub) -> None:
    write_check(store, 1, ACCEPTED)
    write_check(store, 2, draft_content())
    service_of(store).close(judge_request(2))
    open_sync(store).sync(COMMIT)
    assert checks_shown(world) == ["success: Accepted", "success: As #1, which is accepted"]
    service_of(store).close(judge_request(1))
    open_sync(store).sync(COMMIT)
    assert checks_shown(world) == ["success: Accepted", f"cancelled: {closed_content().title}"]


@pytest.mark.parametrize("is_over", [False, True])
def test_inaccessible_pull_request_holds_others_and_closed_one_does_not(
    store: Store, world: ScriptedGitHub, *, is_over: bool
) -> None:
    write_check(store, 1, REJECTED)
    write_check(store, 2, ACCEPTED)
    assert open_sync(store).sync(COMMIT)
    service_of(store).close(judge_request(1), is_over=is_over)
    assert open_sync(store).sync(COMMIT)
    assert checks_shown(world)[1] == ("success: Accepted" if is_over else HELD)


@pytest.mark.parametrize("head_sha", [None, NEWER])
def test_reject_does_not_hold_others_after_its_head_moved_or_closed(
    store: Store, world: ScriptedGitHub, head_sha: Sha | None
) -> None:
    write_check(store, 1, REJECTED)
    write_check(store, 2, ACCEPTED)
    store.shared_heads.mark_updating(pull_ref(2), HEAD)
    sync_all(open_sync(store, heads=Heads({1: head_sha})), store)
    assert checks_shown(world) == ["success: As #2, which is accepted", "success: Accepted"]


def test_reject_at_a_head_without_a_delivery_holds_others(store: Store, world: ScriptedGitHub) -> None:
    write_check(store, 1, ACCEPTED)
    write_check(store, 3, REJECTED, NEWER)
    store.pulls.request_judging(judge_request(2, head_sha=NEWER))
    service_of(store).write(judge_request(2), NEWER, ACCEPTED)
    assert open_sync(store).sync(NEWER_COMMIT)
    assert store.shared_heads.next() is None
    leased_job = start_judging(store, pull_ref(2))
    service_of(store).write(judge_request(2), HEAD, REJECTED)
    assert open_sync(store).sync(COMMIT)
    assert checks_shown(world)[0] == "success: Accepted", "its judging has not ended"
    store.pulls.finish(leased_job.lease, Finish.JUDGED, of=JudgedHead(HEAD))
    due = [pending[0] for pending in (store.shared_heads.next(), store.shared_heads.next()) if pending]
    assert {commit.head_sha for commit in due} == {HEAD, NEWER}
    for commit in due:
        sync_all(open_sync(store), store, commit)
    assert world.checks()[f"100/1 {HEAD}"] == "failure: Accepted here, but #2 of the same commit is rejected"
    assert world.checks()[f"100/2 {HEAD}"] == "failure: Rejected"


def test_verdict_during_a_sync_stays(store: Store, world: ScriptedGitHub) -> None:
    write_check(store, 1, ACCEPTED)
    write_check(store, 2, ACCEPTED)
    service_of(store).write(judge_request(1), HEAD, REJECTED)
    concurrent = ScriptedCheckRuns(store, lambda: service_of(store).write(judge_request(2), HEAD, REJECTED))
    sync_all(open_sync(store, concurrent), store)
    assert checks_shown(world) == ["failure: Rejected", "failure: Rejected"]


def test_next_sync_restores_a_verdict_that_a_killed_sync_overwrote(store: Store, world: ScriptedGitHub) -> None:
    write_check(store, 1, ACCEPTED)
    write_check(store, 2, ACCEPTED)
    store.shared_heads.record_content(pull_ref(2), HEAD, draft_content())
    killed = ScriptedCheckRuns(
        store, lambda: service_of(store).write(judge_request(2), HEAD, REJECTED), raise_error(KeyboardInterrupt())
    )
    with pytest.raises(KeyboardInterrupt):
        open_sync(store, killed).sync(COMMIT)
    assert checks_shown(world)[1].startswith("success"), "written over"
    assert open_sync(store).sync(COMMIT)
    assert checks_shown(world)[1] == "failure: Rejected"
    assert is_in_sync(store, world)


def test_verdict_written_after_a_concurrent_sync_is_corrected(store: Store, world: ScriptedGitHub) -> None:
    def write_and_sync() -> None:
        write_check(store, 1, REJECTED)
        open_sync(store).sync(COMMIT)

    write_check(store, 2, draft_content())
    concurrent = ScriptedCheckRuns(store, write_and_sync)
    service_of(store, concurrent).write(judge_request(2), HEAD, ACCEPTED)
    assert checks_shown(world) == ["failure: Rejected", "success: Accepted"]
    assert store.shared_heads.next() == (COMMIT, 1)
    assert open_sync(store).sync(COMMIT)
    assert checks_shown(world) == ["failure: Rejected", HELD]


@pytest.mark.parametrize(
    "refusal", [Forbidden("checks: write is missing"), SubjectGone("suspended"), SubjectGone("uninstalled")]
)
def test_refused_sync_ends_and_records_nothing_as_shown(
    store: Store, world: ScriptedGitHub, refusal: Exception
) -> None:
    write_check(store, 1, ACCEPTED)
    write_check(store, 2, ACCEPTED)
    assert open_sync(store).sync(COMMIT)
    service_of(store).write(judge_request(1), HEAD, REJECTED)
    assert open_sync(store, ScriptedCheckRuns(store, raise_error(refusal)), Heads(refusal=refusal)).sync(COMMIT)
    assert store.shared_heads.next() is None
    assert checks_shown(world) == ["failure: Rejected", "success: Accepted"]
    service_of(store).write(judge_request(1), HEAD, REJECTED)
    assert open_sync(store).sync(COMMIT)
    assert checks_shown(world) == ["failure: Rejected", HELD]


def test_sync_writes_a_limited_number_of_checks(store: Store, world: ScriptedGitHub) -> None:
    numbers = range(2, MAX_SYNC_WRITES + 3)
    for number in numbers:
        write_check(store, number, ACCEPTED)
    while not open_sync(store).sync(COMMIT):
        pass
    write_check(store, 1, REJECTED)
    before = len(world.notes("wrote"))
    assert not open_sync(store).sync(COMMIT)
    assert len(world.notes("wrote")) - before == MAX_SYNC_WRITES
    assert open_sync(store).sync(COMMIT)
    assert len(world.notes("wrote")) - before == len(numbers)
    assert {text.partition(":")[0] for text in checks_shown(world)} == {"failure"}


def test_sync_skips_a_check_that_is_being_created(store: Store, world: ScriptedGitHub) -> None:
    write_check(store, 1, REJECTED)
    store.pulls.request_judging(judge_request(2))
    store.checks().claim(pull_ref(2), HEAD)
    store.shared_heads.record_content(pull_ref(2), HEAD, ACCEPTED)
    assert open_sync(store).sync(COMMIT)
    assert checks_shown(world) == ["failure: Rejected"]


def test_unshared_head_costs_at_most_seven_more_round_trips(store: Store) -> None:
    class Counting(RedisClient):
        calls = 0

        def call(self, *command: Argument) -> Reply:
            type(self).calls += 1
            return super().call(*command)

        def pipeline(self, commands: Sequence[tuple[Argument, ...]]) -> list[Reply]:
            type(self).calls += 1
            return super().pipeline(commands)

    def cost(content: CheckContent, *, shares: bool) -> int:
        wire = Counting(store.url.get_secret_value(), 5)
        counted = Store(wire, store.codec, store.url, store.timing)
        before = Counting.calls
        CheckRunService(
            ScriptedCheckRuns(store), counted.checks(), no_lease, counted.shared_heads if shares else None
        ).write(judge_request(), HEAD, content)
        wire.close()
        return Counting.calls - before

    store.pulls.request_judging(judge_request())
    for content in (draft_content(), REJECTED, ACCEPTED):  # loads the scripts
        cost(content, shares=True)
    for content in (draft_content(), REJECTED, ACCEPTED):
        assert cost(content, shares=True) - cost(content, shares=False) <= 7
