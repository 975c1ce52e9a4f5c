"""Parsing of payloads. Invariant: prior decoding changes no result, and an error quotes no value of the body."""

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
    parse_payload,
    validate_payload,
)
from tests.app.ingest.deliveries import ABOUT, ALICE, listed_pull
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


def error_message(body: Any) -> str:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    with pytest.raises(MalformedPayload) as raised:
        parse_payload(PullRequestPayload, raw)
    return str(raised.value)


def test_unknown_fields_are_ignored() -> None:
    parsed = parse_payload(PullRequestPayload, json.dumps(payload()).encode())
    assert parsed.pull_request.model_dump(exclude_defaults=True) == {"number": 3, "head": {"sha": SHA, "ref": "x"}}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pull_request": None}, 'Field "pull_request": expected an object, found null.'),
        ({"pull_request": ["secret"]}, 'Field "pull_request": expected an object, found an array.'),
        ({"installation": {"id": {}}}, 'Field "installation.id": expected a valid integer, found an object.'),
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
        ({"installation": {"id": 0}}, 'Field "installation.id": expected greater than or equal to 1, found a number.'),
    ],
)
def test_wrong_field_is_named_with_expected_and_actual_type(changes: dict[str, Any], message: str) -> None:
    assert error_message(payload(**changes)) == message


def test_number_beyond_64_bits_is_refused() -> None:
    assert "installation.id" in error_message(payload(installation={"id": 2**63}))


@pytest.mark.parametrize(
    ("body", "message"),
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
def test_body_that_is_no_json_object_is_refused_with_its_position(body: bytes, message: str) -> None:
    assert error_message(body) == message


def test_deeply_nested_body_is_refused() -> None:
    assert "recursion" in error_message(b'{"a":' + b"[" * 100_000)


def test_error_message_never_quotes_the_body() -> None:
    truncated = b'{"action": ["secret"], "secret'
    for body in (truncated, b'{"action": ["secret"]}', b'{"action": {"secret": 1}}'):
        with pytest.raises(MalformedPayload) as raised:
            parse_payload(Envelope, body)
        assert "secret" not in str(raised.value)
        assert raised.value.__cause__ is None


assert comments  # defines further payload models


def subclasses_of(model: type[PayloadModel]) -> list[type[PayloadModel]]:
    return [subclass for below in model.__subclasses__() for subclass in (below, *subclasses_of(below))]


PAYLOADS = sorted(
    (model for model in subclasses_of(PayloadModel) if model.__name__.endswith("Payload")),
    key=lambda model: model.__name__,
)


def parse_result(model: type[PayloadModel], decoded: object, body: bytes) -> object:
    try:
        return validate_payload(model, decoded, body)
    except MalformedPayload as malformed:
        return str(malformed)


@pytest.mark.parametrize("example", load_examples(), ids=lambda example: example.id)
def test_published_payload_parses_the_same_with_and_without_prior_decoding(example: Example) -> None:
    body = json.dumps(example.payload).encode()
    decoded = decode_payload(body)
    for model in (Envelope, *PAYLOADS):
        assert parse_result(model, decoded, body) == parse_result(model, None, body)


def test_decoding_drops_unread_fields() -> None:
    pull = {"number": 3, "head": {"sha": SHA, "ref": "x", "user": {"login": "a"}}, "links": {"a": "b"}}
    about = {**ABOUT, "repository": {**ABOUT["repository"], "owner": {"login": "acme"}, "url": "u"}}
    body = json.dumps({**about, "action": "opened", "pull_request": pull, "organization": {"id": 4}}).encode()
    kept = {"number": 3, "head": {"sha": SHA, "ref": "x"}}
    assert decode_payload(body) == {**ABOUT, "action": "opened", "pull_request": kept}


def test_decoding_keeps_each_field_that_any_event_reads() -> None:
    pull = {"number": 3, "state": "closed", "head": {"sha": SHA, "ref": ""}, "title": "T"}
    run = {"app": {"id": 1}, "head_sha": SHA, "pull_requests": [listed_pull(3)]}
    fields = {"commits": [{"message": "m", "added": ["a"]}], "ref": "r", "sender": ALICE}
    body = json.dumps({**ABOUT, "pull_request": pull, "check_run": run, **fields}).encode()
    decoded = decode_payload(body)
    assert validate_payload(PullRequestPayload, decoded, b"").pull_request.state == "closed"
    assert validate_payload(CheckRunPayload, decoded, b"").check_run.pull_requests[0].base.repo.id == 7
    assert validate_payload(PushPayload, decoded, b"").commits[0].added == ("a",)


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
def test_irregular_body_is_not_decoded_early(body: bytes) -> None:
    assert decode_payload(body) is None


IRREGULAR_VALUES = st.sampled_from(
    [None, True, -1, 0, 1.5, 2**63, "", "x", SHA, [], [None], {}, {"id": 1}, {"sha": SHA}]
)


@given(st.data())
@settings(deadline=None)
def test_irregular_field_parses_the_same_with_and_without_prior_decoding(data: st.DataObject) -> None:
    payload: dict[str, Any] = {**ABOUT, "action": "x", "pull_request": {"number": 3, "head": {"sha": SHA}}, "sha": SHA}
    name = data.draw(st.sampled_from([*payload, "changes", "commits", "issue", "check_run", "sender"]))
    body = json.dumps({**payload, name: data.draw(IRREGULAR_VALUES)}).encode()
    decoded = decode_payload(body)
    for model in (Envelope, *PAYLOADS):
        assert parse_result(model, decoded, body) == parse_result(model, None, body)
