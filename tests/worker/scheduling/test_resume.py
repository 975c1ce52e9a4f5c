"""What a pause left unjudged is judged when it is over, by itself."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.worker.adapters.redis.played import NEWER, becomes, comes_again, pull, wish
from tests.worker.publishing.texts.samples import abstained, dossier, rejected
from tests.worker.scheduling.test_dispatcher import dispatching
from worker.adapters.redis import keys
from worker.adapters.redis.store import Store
from worker.clock import SystemClock
from worker.domain.judge_request import JudgeRequest, Trigger
from worker.domain.lifecycle.judging import (
    JudgingCompleted,
    JudgingDiscarded,
    JudgingOutcome,
    JudgingSuperseded,
    WaitForCi,
)
from worker.domain.lifecycle.work import PausedRepository
from worker.domain.pause import JudgingPause
from worker.domain.verdict.verdict import AbstainReason
from worker.scheduling.commands import resume_paused_heads, resumed_request, update_paused_heads
from worker.scheduling.queue import judge_queue, rq_connection
from worker.settings import Settings

HERE = PausedRepository.model_validate({"installation_id": 100, "repository_id": 7})
PAUSED = JudgingCompleted(abstained(AbstainReason.PAUSED), dossier())


def resumed(store: Store) -> int:
    """Look at what waits now, not in a while."""
    comes_again(store, keys.PAUSED_REPOSITORIES, HERE.model_dump_json())
    return resume_paused_heads(store, SystemClock())


def test_what_was_left_for_a_pause_is_asked_for_when_it_is_over(store: Store) -> None:
    store.pauses.pause(pull().installation_id, pull().repository_id, JudgingPause(by="alice"))
    update_paused_heads(store, wish(delivery_id="guid-1"), 7, PAUSED)
    assert resumed(store) == 0, "it is paused"
    assert store.pulls.find_request(pull()) is None
    store.pauses.resume(pull().installation_id, pull().repository_id)
    assert resumed(store) == 1
    request = store.pulls.find_request(pull())
    assert request is not None
    assert (request.trigger, request.delivery_id, request.head_sha) == (Trigger.RESUMED, "resumed-7-guid-1", None)
    assert resumed(store) == 0, "once"


def test_a_draft_that_somebody_asked_for_in_a_pause_does_not_wait_when_it_is_over(store: Store) -> None:
    update_paused_heads(store, wish(trigger=Trigger.REVIEW, draft=True), 7, PAUSED)
    assert resumed(store) == 1
    assert store.pulls.find_plan(pull()) is not None


def test_a_pause_of_everything_keeps_all_waiting(store: Store) -> None:
    store.pauses.pause_all(JudgingPause(by="alice"))
    update_paused_heads(store, wish(), 7, PAUSED)
    assert resumed(store) == 0
    store.pauses.resume_all()
    assert resumed(store) == 1


@pytest.mark.parametrize(
    "outcome", [JudgingCompleted(rejected(), dossier()), JudgingDiscarded("closed")], ids=["judged", "closed"]
)
def test_what_was_judged_otherwise_meanwhile_is_not_asked_for_again(store: Store, outcome: JudgingOutcome) -> None:
    update_paused_heads(store, wish(), 7, PAUSED)
    update_paused_heads(store, wish(), 8, outcome)
    assert store.paused_heads.list_requests(HERE) == ()
    assert resumed(store) == 0


@pytest.mark.parametrize(
    "outcome", [JudgingSuperseded(NEWER), WaitForCi(timedelta(0), ())], ids=["overtaken", "waiting"]
)
def test_what_has_not_come_to_its_end_changes_nothing(store: Store, outcome: JudgingOutcome) -> None:
    update_paused_heads(store, wish(), 7, PAUSED)
    update_paused_heads(store, wish(), 8, outcome)
    assert len(store.paused_heads.list_requests(HERE)) == 1


def test_what_is_paused_again_and_again_is_still_told_by_its_first_delivery() -> None:
    once: JudgeRequest = resumed_request(wish(delivery_id="guid-1"), 7)
    assert resumed_request(once, 12).delivery_id == "resumed-12-guid-1"


@pytest.mark.parametrize("is_paused", [False, True], ids=["goes on", "ASSAY_PAUSED is 1"])
def test_the_dispatcher_looks_by_itself_unless_its_operator_paused_everything(
    here: Settings,
    store: Store,
    is_paused: bool,  # noqa: FBT001 - both ways
) -> None:
    update_paused_heads(store, wish(), 7, PAUSED)
    connection = rq_connection(here)
    looked: Callable[[], object] = lambda: judge_queue(connection).job_ids  # noqa: E731 - shown as what it is
    with dispatching(replace(here, is_paused=is_paused)):
        assert becomes(looked, 1.0 if is_paused else 20.0) is not is_paused
    connection.close()
