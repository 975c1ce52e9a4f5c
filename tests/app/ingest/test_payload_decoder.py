"""What is taken out of a body in one pass is what reading the whole of it finds. Invariant: or nothing is."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.ingest import comments
from app.ingest.payload_decoder import decode_payload
from app.ingest.payloads import (
    CheckRunPayload,
    Envelope,
    MalformedPayload,
    PayloadModel,
    PullRequestPayload,
    PushPayload,
    validate_payload,
)
from tests.app.ingest.deliveries import ABOUT, ALICE, listed
from tests.world.examples import Example, examples

SHA = "1" * 40


assert comments  # as in the door: who else makes shapes is heard of


def every(shape: type[PayloadModel]) -> list[type[PayloadModel]]:
    return [one for below in shape.__subclasses__() for one in (below, *every(below))]


PAYLOADS = sorted(
    (one for one in every(PayloadModel) if one.__name__.endswith("Payload")), key=lambda one: one.__name__
)


def heard(shape: type[PayloadModel], found: object, body: bytes) -> object:
    try:
        return validate_payload(shape, found, body)
    except MalformedPayload as malformed:
        return str(malformed)


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.id)
def test_of_each_published_payload_every_shape_reads_the_same_either_way(example: Example) -> None:
    body = json.dumps(example.payload).encode()
    found = decode_payload(body)
    for shape in (Envelope, *PAYLOADS):
        assert heard(shape, found, body) == heard(shape, None, body)


def test_what_nobody_reads_is_not_kept() -> None:
    pull = {"number": 3, "head": {"sha": SHA, "ref": "x", "user": {"login": "a"}}, "links": {"a": "b"}}
    about = {**ABOUT, "repository": {**ABOUT["repository"], "owner": {"login": "acme"}, "url": "u"}}
    body = json.dumps({**about, "action": "opened", "pull_request": pull, "organization": {"id": 4}}).encode()
    kept = {"number": 3, "head": {"sha": SHA, "ref": "x"}}
    assert decode_payload(body) == {**ABOUT, "action": "opened", "pull_request": kept}


def test_what_several_kinds_of_events_name_alike_is_kept_for_each_of_them() -> None:
    pull = {"number": 3, "state": "closed", "head": {"sha": SHA, "ref": ""}, "title": "T"}
    run = {"app": {"id": 1}, "head_sha": SHA, "pull_requests": [listed(3)]}
    said = {"commits": [{"message": "m", "added": ["a"]}], "ref": "r", "sender": ALICE}
    body = json.dumps({**ABOUT, "pull_request": pull, "check_run": run, **said}).encode()
    found = decode_payload(body)
    assert validate_payload(PullRequestPayload, found, b"").pull_request.state == "closed"
    assert validate_payload(CheckRunPayload, found, b"").check_run.pull_requests[0].base.repo.id == 7
    assert validate_payload(PushPayload, found, b"").commits[0].added == ("a",)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"a": NaN}',
        b'{"a": "\xed\xa0\x80"}',
        b'{"pull_request": 5}',
        b'{"commits": {"0": {}}}',
        b'{"a": ' + b"[" * 100_000,
        b'{"action": ' + b"1" * 100_000 + b"}",
    ],
    ids=["empty", "cut", "list", "null", "nan", "surrogate", "number", "object", "deep", "long"],
)
def test_what_is_odd_is_left_to_a_closer_look(body: bytes) -> None:
    assert decode_payload(body) is None


ODD = st.sampled_from([None, True, -1, 0, 1.5, 2**63, "", "x", SHA, [], [None], {}, {"id": 1}, {"sha": SHA}])


@given(st.data())
@settings(deadline=None)
def test_whatever_a_field_holds_either_way_hears_the_same(data: st.DataObject) -> None:
    payload: dict[str, Any] = {**ABOUT, "action": "x", "pull_request": {"number": 3, "head": {"sha": SHA}}, "sha": SHA}
    name = data.draw(st.sampled_from([*payload, "changes", "commits", "issue", "check_run", "sender"]))
    body = json.dumps({**payload, name: data.draw(ODD)}).encode()
    found = decode_payload(body)
    for shape in (Envelope, *PAYLOADS):
        assert heard(shape, found, body) == heard(shape, None, body)
