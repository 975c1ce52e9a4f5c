"""Which verdicts come again when other checks move. Invariant: a verdict on the change never does."""

from datetime import timedelta

import pytest

from tests.worker.adapters.redis.played import AT, HEAD, wish
from tests.worker.publishing.texts.samples import abstained, accepted, rejected
from worker.domain.check.overrides import NO_DECISIONS, HumanDecisions, Override
from worker.domain.request.judge_request import AuthorKind, Trigger
from worker.domain.verdict.verdict import AbstainReason
from worker.scheduling.ci_retrigger import CI_REASONS, is_retriggered_by_ci, request_after_ci


def test_only_what_nobody_judged_because_of_ci_comes_again() -> None:
    assert {reason for reason in AbstainReason if is_retriggered_by_ci(abstained(reason), NO_DECISIONS)} == CI_REASONS
    assert not is_retriggered_by_ci(accepted(), NO_DECISIONS)
    assert not is_retriggered_by_ci(rejected(), NO_DECISIONS)


def test_what_somebody_lets_pass_whatever_checks_say_does_not_come_again() -> None:
    said = HumanDecisions(override=Override(login="alice", reason="We ship.", at=AT))
    assert not any(is_retriggered_by_ci(abstained(reason), said) for reason in CI_REASONS)


@pytest.mark.parametrize("trigger", [Trigger.PUSHED, Trigger.COMMAND])
def test_what_is_asked_for_then_is_the_newest_head_and_whose_it_is(trigger: Trigger) -> None:
    request = wish(trigger=trigger, head_sha=HEAD, author=AuthorKind.BOT, outages=2, delivery_id="guid-1")
    later = request_after_ci(request, 7, AT + timedelta(hours=1))
    assert (later.trigger, later.head_sha, later.author, later.outages) == (Trigger.CI, None, AuthorKind.BOT, 0)
    assert (later.delivery_id, later.requested_at) == ("ci-7-guid-1", AT + timedelta(hours=1))


@pytest.mark.parametrize("before", ["guid-1", "ci-7-guid-1", "resumed-3-guid-1", "resumed-8-ci-7-guid-1"])
def test_what_checks_wake_again_and_again_is_still_told_by_its_first_delivery(before: str) -> None:
    assert request_after_ci(wish(delivery_id=before), 12, AT).delivery_id == "ci-12-guid-1"
