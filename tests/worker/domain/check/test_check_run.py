"""External ids, refs and refusals of check runs and SARIF uploads."""

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
from worker.domain.model import DeliveryId, EvalId


def test_external_id_holds_the_pull_request_number() -> None:
    assert pull_number(external_id(12)) == 12


@pytest.mark.parametrize("external", [None, "", "pull:", "pull:x", "pull:٣", "group:12", "12"])
def test_foreign_external_id_holds_no_pull_request_number(external: str | None) -> None:
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
def test_upload_refusal_is_classified_by_the_message_of_github(message: str, refusal: UploadRefusal) -> None:
    assert classify_refusal(f'GitHub refuses POST /x: "{message}".') is refusal


def test_pull_request_ref_is_in_the_base_repository() -> None:
    assert ref_of(pull_ref(7)) == "refs/pull/7/head"


def test_sarif_is_uploaded_once_per_head_and_original_verdict() -> None:
    first, again = EvalId("first"), EvalId("again")
    scan = SarifUpload(pull=pull_ref(), head_sha=HEAD, eval_id=again, origin=first, delivery_id=DeliveryId("d"))
    assert UploadedSarif(head_sha=HEAD, origin=first).matches(scan)
    assert not UploadedSarif(head_sha=NEWER, origin=first).matches(scan)
    assert not UploadedSarif(head_sha=HEAD, origin=again).matches(scan)
