"""What is read of a payload. Invariant: a complaint names the field and the kind of value, never the value."""

import json
from typing import Any

import pytest

from app.ingest.payloads import Envelope, MalformedPayload, PullRequestPayload, json_type_name, parse_payload

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
