"""What is read of a payload. Invariant: the one pass over the body finds what reading the whole finds; an error holds no value."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.ingest import comments
from app.ingest.payloads import (
    CheckRunPayload,
    Envelope,
    MalformedPayload,
    PayloadModel,
    PullRequestPayload,
    PushPayload,
    decode_payload,
    json_type_name,
    parse_payload,
    validate_payload,
)
from tests.app.ingest.deliveries import ABOUT, ALICE, listed
from tests.world.examples import Example, load_examples

SHA = "1" * 40


def payload(**changes: Any) -> dict[str, Any]:
    return {
        "action": "opened",
        "installation": {"id": 1},
        "repository": {"id": 7, "full_name": "acme/widgets", "private": True},
        "pull_request": {"number": 3, "draft": False, "head": {"sha": SHA, "ref": "x"}, "new": "field"},
        **changes,
    }


def complaint(body: Any) -> str:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    with pytest.raises(MalformedPayload) as raised:
        parse_payload(PullRequestPayload, raw)
    return str(raised.value)


def test_fields_that_we_do_not_know_are_left_unread() -> None:
    read_back = parse_payload(PullRequestPayload, json.dumps(payload()).encode())
    assert read_back.pull_request.model_dump(exclude_defaults=True) == {"number": 3, "head": {"sha": SHA, "ref": "x"}}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"pull_request": None}, 'Field "pull_request": expected an object, found null.'),
        ({"pull_request": ["secret"]}, 'Field "pull_request": expected an object, found an array.'),
        ({"pull_request": {}}, 'Field "pull_request.number": expected a value, found nothing.'),
        (
            {"pull_request": {"number": "3", "head": {"sha": SHA}}},
            'Field "pull_request.number": expected a valid integer, found a string.',
        ),
        (
            {"pull_request": {"number": 3, "head": {"sha": "secret"}}},
            """Field "pull_request.head.sha": expected a string that matches pattern '^[0-9a-f]{40}$', found a string.""",
        ),
        ({"installation": {"id": True}}, 'Field "installation.id": expected a valid integer, found a boolean.'),
        ({"installation": {"id": 1.0}}, 'Field "installation.id": expected a valid integer, found a number.'),
        (
            {"installation": {"id": 0}},
            'Field "installation.id": expected greater than or equal to 1, found a number.',
        ),
    ],
)
def test_a_field_of_a_wrong_type_is_named_with_what_was_expected_and_found(changes: dict[str, Any], said: str) -> None:
    assert complaint(payload(**changes)) == said


def test_a_number_beyond_what_redis_and_github_hold_is_refused() -> None:
    assert "installation.id" in complaint(payload(installation={"id": 2**63}))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "The body is not JSON: EOF while parsing a value at line 1 column 0."),
        (b"{", "The body is not JSON: EOF while parsing an object at line 1 column 1."),
        (b"payload=%7B%7D", "The body is not JSON: expected value at line 1 column 1."),
        (b"\xff", "The body is not JSON: expected value at line 1 column 1."),
        (b"[]", "The body: expected an object, found an array."),
        (b"null", "The body: expected an object, found null."),
        (b'"x"', "The body: expected an object, found a string."),
    ],
)
def test_a_body_that_is_no_json_object_is_refused_with_its_place(body: bytes, said: str) -> None:
    assert complaint(body) == said


def test_a_body_nested_without_end_is_refused() -> None:
    assert "recursion" in complaint(b'{"a":' + b"[" * 100_000)


def test_a_complaint_never_repeats_what_the_body_said() -> None:
    raw = b'{"action": ["secret"], "secret'
    for body in (raw, b'{"action": ["secret"]}', b'{"action": {"secret": 1}}'):
        with pytest.raises(MalformedPayload) as raised:
            parse_payload(Envelope, body)
        assert "secret" not in str(raised.value)
        assert raised.value.__cause__ is None


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (None, "null"),
        (True, "a boolean"),
        (1, "a number"),
        (1.5, "a number"),
        ("", "a string"),
        ([], "an array"),
        ({}, "an object"),
    ],
)
def test_kinds_are_named_as_json_names_them(value: object, name: str) -> None:
    assert json_type_name(value) == name


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


@pytest.mark.parametrize("example", load_examples(), ids=lambda example: example.id)
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
