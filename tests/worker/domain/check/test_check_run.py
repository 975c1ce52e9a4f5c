"""What a check run of ours is told apart by."""

import pytest

from tests.worker.adapters.redis.store_samples import HEAD, NEWER, pull_ref
from worker.domain.check.check_run import (
    SarifUpload,
    UploadedSarif,
    UploadRefusal,
    classify_refusal,
    external_id,
    pull_number,
    ref_of,
)
from worker.domain.ids import DeliveryId, EvalId


def test_our_own_mark_leads_back_to_the_pull_request() -> None:
    assert pull_number(external_id(12)) == 12


@pytest.mark.parametrize("external", [None, "", "pull:", "pull:x", "pull:٣", "group:12", "12"])
def test_what_is_no_mark_of_ours_leads_nowhere(external: str | None) -> None:
    assert pull_number(external) is None


@pytest.mark.parametrize(
    ("message", "refusal"),
    [
        ("Resource not accessible by integration", UploadRefusal.PERMISSION),
        ("Code Security must be enabled for this repository to use code scanning.", UploadRefusal.NOT_ENABLED),
        ("Advanced Security must be enabled for this repository.", UploadRefusal.NOT_ENABLED),
        ("Repository was archived so is read-only.", UploadRefusal.FORBIDDEN),
    ],
)
def test_githubs_words_beside_a_403_say_what_a_person_has_to_change(message: str, refusal: UploadRefusal) -> None:
    assert classify_refusal(f'GitHub refuses POST /x: "{message}".') is refusal


def test_the_head_of_a_pull_request_stands_in_the_base_repository() -> None:
    assert ref_of(pull_ref(7)) == "refs/pull/7/head"


def test_a_verdict_is_sent_once_a_head_also_where_it_was_carried_over() -> None:
    first, again = EvalId("first"), EvalId("again")
    scan = SarifUpload(pull=pull_ref(), head_sha=HEAD, eval_id=again, origin=first, delivery_id=DeliveryId("d"))
    assert UploadedSarif(head_sha=HEAD, origin=first).matches(scan)
    assert not UploadedSarif(head_sha=NEWER, origin=first).matches(scan)
    assert not UploadedSarif(head_sha=HEAD, origin=again).matches(scan)
