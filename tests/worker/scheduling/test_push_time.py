"""When a head was pushed: as far as somebody told us."""

import pytest

from tests.worker.judge.making import BASE, HEAD, NOW, dossier, pull_request
from worker.domain.ids import DeliveryId, InstallationId, RepositoryId
from worker.domain.judge_request import JudgeRequest, PullRef, Trigger
from worker.scheduling.pipeline import with_push_time

PULL = PullRef(installation_id=InstallationId(100), repository_id=RepositoryId(7), number=12)


def request(trigger: Trigger, head_sha: str | None = HEAD) -> JudgeRequest:
    return JudgeRequest(
        pull=PULL,
        repository="acme/widgets",
        head_sha=head_sha,
        trigger=trigger,
        delivery_id=DeliveryId("d"),
        requested_at=NOW,
    )


@pytest.mark.parametrize("trigger", [Trigger.OPENED, Trigger.PUSHED])
def test_the_delivery_that_announced_the_head_tells_when_it_came(trigger: Trigger) -> None:
    assert with_push_time(dossier(), request(trigger)).pull_request.pushed_at == NOW


@pytest.mark.parametrize(
    "other",
    [request(Trigger.RERUN), request(Trigger.COMMAND, None), request(Trigger.PUSHED, BASE)],
    ids=["rerun", "command", "older"],
)
def test_of_a_head_that_nobody_announced_it_is_not_known(other: JudgeRequest) -> None:
    assert with_push_time(dossier(), other).pull_request.pushed_at is None


def test_what_a_dossier_says_itself_stays() -> None:
    early = NOW.replace(year=2025)
    known = dossier(pull_request=pull_request(pushed_at=early))
    assert with_push_time(known, request(Trigger.PUSHED)).pull_request.pushed_at == early
