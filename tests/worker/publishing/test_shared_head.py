"""Check runs of one commit come to say together what they should, whoever writes, dies or was not heard of meanwhile."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from tests.worker.adapters.redis.store_samples import DELIVERIES, HEAD, NEWER, judge_request, pull_ref
from tests.worker.scheduling.scripted_judging import ScriptedCheckRuns, ScriptedGitHub, raises
from worker.adapters.redis.connection.client import Argument, RedisClient, Reply
from worker.adapters.redis.store import Store
from worker.domain.check.check_run import CheckContent, Conclusion
from worker.domain.check.shared_head import CommitRef
from worker.domain.dossier import Dossier
from worker.domain.ids import InstallationId, RepositoryId, Sha
from worker.domain.judge_request import JudgeRequest, Trigger
from worker.domain.lifecycle.judging import Finish
from worker.domain.lifecycle.work import DispatchLimits, JudgedHead, LeasedJob
from worker.errors import Forbidden, SubjectGone
from worker.publishing.check_runs import MAX_SYNC_WRITES, CheckRunService, SharedHeadSync, no_lease
from worker.publishing.texts.states import closed_content, draft_content, existing_pull_content

HERE = CommitRef(installation_id=InstallationId(100), repository_id=RepositoryId(7), head_sha=HEAD)
AT_NEWER = HERE.model_copy(update={"head_sha": NEWER})
ACCEPTED = CheckContent("Accepted", "Yes.", conclusion=Conclusion.SUCCESS)
REJECTED = CheckContent("Rejected", "No.", conclusion=Conclusion.FAILURE)
HELD = "failure: Accepted here, but #1 of the same commit is rejected"


@dataclass
class Heads:
    """Where GitHub says that the head of each pull request is; None: it is closed."""

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


@pytest.fixture
def desk(store: Store) -> CheckRunService:
    return CheckRunService(ScriptedCheckRuns(store), store.checks(), no_lease, store.shared_heads)


def settling(store: Store, checks: ScriptedCheckRuns | None = None, heads: Heads | None = None) -> SharedHeadSync:
    return SharedHeadSync(
        store.shared_heads, checks or ScriptedCheckRuns(store), store.checks(), store.pulls, heads or Heads()
    )


def settle(sync: SharedHeadSync, store: Store, commit: CommitRef = HERE) -> None:
    """Sync until nothing is left. What is left is due at once, so that the dispatcher takes it."""
    while not sync.sync(commit):
        looked_at = store.shared_heads.next()
        assert looked_at is not None
        assert looked_at[0] == commit


def comes(store: Store, desk: CheckRunService, number: int, content: CheckContent, head_sha: Sha = HEAD) -> None:
    store.pulls.request_judging(judge_request(number, head_sha=head_sha))
    desk.write(judge_request(number), head_sha, content)


def takes(store: Store, number: int) -> LeasedJob:
    """A judge begins this one."""
    while job := store.pulls.next_due(f"call-{next(DELIVERIES)}", DispatchLimits(100, 100)):
        if job.request.pull.number == number:
            taken = store.pulls.take_lease(pull_ref(number), job.fence)
            assert taken is not None
            return taken
    raise AssertionError(number)


def settles_without_a_word(store: Store, world: ScriptedGitHub) -> bool:
    """Nothing is left to be written."""
    written = len(world.notes("wrote"))
    return settling(store).sync(HERE) and len(world.notes("wrote")) == written


def shown(world: ScriptedGitHub) -> list[str]:
    return [said for _, said in sorted(world.checks().items())]


def test_the_others_are_shown_anew_and_then_nobody_has_to_write(
    store: Store, desk: CheckRunService, world: ScriptedGitHub
) -> None:
    comes(store, desk, 1, ACCEPTED)
    comes(store, desk, 2, ACCEPTED)
    desk.write(judge_request(1), HEAD, REJECTED)
    assert shown(world) == ["failure: Rejected", "success: Accepted"]
    assert settling(store).sync(HERE)
    assert shown(world) == ["failure: Rejected", HELD]
    assert settles_without_a_word(store, world)
    desk.write(judge_request(1), HEAD, ACCEPTED)
    assert settling(store).sync(HERE)
    desk.write(judge_request(2), HEAD, ACCEPTED)
    assert settles_without_a_word(store, world), "a judge knows what it wrote"
    assert shown(world) == ["success: Accepted", "success: Accepted"]


def test_who_comes_second_is_never_shown_alone(store: Store, desk: CheckRunService, world: ScriptedGitHub) -> None:
    comes(store, desk, 1, REJECTED)
    comes(store, desk, 2, ACCEPTED)
    assert shown(world) == ["failure: Rejected", HELD]


def test_one_that_nobody_asked_for_is_shown_by_the_repository_of_the_others(
    store: Store, desk: CheckRunService, world: ScriptedGitHub
) -> None:
    desk.open(judge_request(2, trigger=Trigger.SWEEP), HEAD, existing_pull_content())
    assert store.pulls.find_request(pull_ref(2)) is None
    comes(store, desk, 1, REJECTED)
    assert settling(store).sync(HERE)
    assert shown(world)[1].startswith("failure: Passes here")


def test_a_check_run_of_a_closed_pull_request_says_what_the_open_one_does(
    store: Store, desk: CheckRunService, world: ScriptedGitHub
) -> None:
    comes(store, desk, 1, ACCEPTED)
    comes(store, desk, 2, draft_content())
    desk.close(judge_request(2))
    settling(store).sync(HERE)
    assert shown(world) == ["success: Accepted", "success: As #1, which is accepted"]
    desk.close(judge_request(1))
    settling(store).sync(HERE)
    assert shown(world) == ["success: Accepted", f"cancelled: {closed_content().title}"]


@pytest.mark.parametrize("is_over", [False, True])
def test_one_that_we_may_not_see_holds_the_others_and_one_that_is_closed_does_not(
    store: Store,
    desk: CheckRunService,
    world: ScriptedGitHub,
    is_over: bool,  # noqa: FBT001 - both ways
) -> None:
    comes(store, desk, 1, REJECTED)
    comes(store, desk, 2, ACCEPTED)
    assert settling(store).sync(HERE)
    desk.close(judge_request(1), is_over=is_over)
    assert settling(store).sync(HERE)
    assert shown(world)[1] == ("success: Accepted" if is_over else HELD)


@pytest.mark.parametrize("head_sha", [None, NEWER])
def test_nobody_is_held_by_one_that_left_without_our_being_told(
    store: Store, desk: CheckRunService, world: ScriptedGitHub, head_sha: Sha | None
) -> None:
    comes(store, desk, 1, REJECTED)
    comes(store, desk, 2, ACCEPTED)
    store.shared_heads.mark_updating(pull_ref(2), HEAD)
    settle(settling(store, heads=Heads({1: head_sha})), store)
    assert shown(world) == ["success: As #2, which is accepted", "success: Accepted"]


def test_a_reject_at_a_head_that_no_delivery_named_holds_the_others(
    store: Store, desk: CheckRunService, world: ScriptedGitHub
) -> None:
    comes(store, desk, 1, ACCEPTED)
    comes(store, desk, 3, REJECTED, NEWER)
    store.pulls.request_judging(judge_request(2, head_sha=NEWER))
    desk.write(judge_request(2), NEWER, ACCEPTED)
    assert settling(store).sync(AT_NEWER)
    assert store.shared_heads.next() is None
    taken = takes(store, 2)
    desk.write(judge_request(2), HEAD, REJECTED)
    assert settling(store).sync(HERE)
    assert shown(world)[0] == "success: Accepted", "who judges knows more than we were told"
    store.pulls.finish(taken.lease, Finish.JUDGED, of=JudgedHead(HEAD))
    looked_at = [found[0] for found in (store.shared_heads.next(), store.shared_heads.next()) if found]
    assert {one.head_sha for one in looked_at} == {HEAD, NEWER}
    for commit in looked_at:
        settle(settling(store), store, commit)
    assert world.checks()[f"100/1 {HEAD}"] == "failure: Accepted here, but #2 of the same commit is rejected"
    assert world.checks()[f"100/2 {HEAD}"] == "failure: Rejected"


def test_what_is_said_while_somebody_writes_is_what_stays(
    store: Store, desk: CheckRunService, world: ScriptedGitHub
) -> None:
    comes(store, desk, 1, ACCEPTED)
    comes(store, desk, 2, ACCEPTED)
    desk.write(judge_request(1), HEAD, REJECTED)
    slow = ScriptedCheckRuns(store, lambda: desk.write(judge_request(2), HEAD, REJECTED))
    settle(settling(store, slow), store)
    assert shown(world) == ["failure: Rejected", "failure: Rejected"]


def test_who_dies_while_a_verdict_comes_may_have_written_over_it(
    store: Store, desk: CheckRunService, world: ScriptedGitHub
) -> None:
    comes(store, desk, 1, ACCEPTED)
    comes(store, desk, 2, ACCEPTED)
    store.shared_heads.record_content(pull_ref(2), HEAD, draft_content())
    dies = ScriptedCheckRuns(store, lambda: desk.write(judge_request(2), HEAD, REJECTED), raises(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        settling(store, dies).sync(HERE)
    assert shown(world)[1].startswith("success"), "written over"
    assert settling(store).sync(HERE)
    assert shown(world)[1] == "failure: Rejected"
    assert settles_without_a_word(store, world)


def test_a_verdict_that_was_on_its_way_while_another_pull_request_came_is_set_right(
    store: Store, desk: CheckRunService, world: ScriptedGitHub
) -> None:
    def comes_and_is_settled() -> None:
        comes(store, desk, 1, REJECTED)
        settling(store).sync(HERE)

    comes(store, desk, 2, draft_content())
    slow = ScriptedCheckRuns(store, comes_and_is_settled)
    CheckRunService(slow, store.checks(), no_lease, store.shared_heads).write(judge_request(2), HEAD, ACCEPTED)
    assert shown(world) == ["failure: Rejected", "success: Accepted"]
    assert store.shared_heads.next() == (HERE, 1)
    assert settling(store).sync(HERE)
    assert shown(world) == ["failure: Rejected", HELD]


@pytest.mark.parametrize(
    "refusal", [Forbidden("checks: write is missing"), SubjectGone("suspended"), SubjectGone("uninstalled")]
)
def test_where_nothing_can_be_written_nobody_tries_for_ever_and_nothing_is_taken_for_told(
    store: Store, desk: CheckRunService, world: ScriptedGitHub, refusal: Exception
) -> None:
    comes(store, desk, 1, ACCEPTED)
    comes(store, desk, 2, ACCEPTED)
    assert settling(store).sync(HERE)
    desk.write(judge_request(1), HEAD, REJECTED)
    assert settling(store, ScriptedCheckRuns(store, raises(refusal)), Heads(refusal=refusal)).sync(HERE)
    assert store.shared_heads.next() is None
    assert shown(world) == ["failure: Rejected", "success: Accepted"]
    desk.write(judge_request(1), HEAD, REJECTED)
    assert settling(store).sync(HERE)
    assert shown(world) == ["failure: Rejected", HELD]


def test_many_are_written_a_few_at_a_time(store: Store, desk: CheckRunService, world: ScriptedGitHub) -> None:
    numbers = range(2, MAX_SYNC_WRITES + 3)
    for number in numbers:
        comes(store, desk, number, ACCEPTED)
    while not settling(store).sync(HERE):
        pass
    comes(store, desk, 1, REJECTED)
    before = len(world.notes("wrote"))
    assert not settling(store).sync(HERE)
    assert len(world.notes("wrote")) - before == MAX_SYNC_WRITES
    assert settling(store).sync(HERE)
    assert len(world.notes("wrote")) - before == len(numbers)
    assert {said.partition(":")[0] for said in shown(world)} == {"failure"}


def test_one_whose_check_run_is_being_made_is_left_to_its_maker(
    store: Store, desk: CheckRunService, world: ScriptedGitHub
) -> None:
    comes(store, desk, 1, REJECTED)
    store.pulls.request_judging(judge_request(2))
    store.checks().claim(pull_ref(2), HEAD)
    store.shared_heads.record_content(pull_ref(2), HEAD, ACCEPTED)
    assert settling(store).sync(HERE)
    assert shown(world) == ["failure: Rejected"]


def test_where_one_is_alone_a_content_costs_a_few_round_trips_more_and_github_nothing(store: Store) -> None:
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
    for content in (draft_content(), REJECTED, ACCEPTED):  # the scripts are known then
        cost(content, shares=True)
    for content in (draft_content(), REJECTED, ACCEPTED):
        assert cost(content, shares=True) - cost(content, shares=False) <= 7
