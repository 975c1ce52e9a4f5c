"""The webhook route over HTTP with a real Redis. Invariant: a delivery gets one answer and one log line."""

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from litestar.types import HTTPRequestEvent, Receive

from app.ingest.payloads import Delivery
from app.web import webhooks
from app.web.webhooks import (
    INLINE_TEXT_BYTES,
    LARGEST_BODY,
    BodyMemory,
    BodyReservation,
    DeliveryRefused,
    PendingAwait,
    SignatureVerifier,
    has_long_text,
    read_body,
    start_awaiting,
)
from tests.app.web.web_server import PATH, WebServer, comment, payload, signature, standard_headers
from worker.adapters.redis import keys
from worker.adapters.redis.keys import COMMANDS, PULL_REQUEST_EVENTS
from worker.domain.github_events import PullRequestEvent
from worker.domain.judge_request import CommandRequest, JudgeRequest, PullRef, Trigger
from worker.domain.lifecycle.intake import IntakeOutcome
from worker.domain.model import DeliveryId, InstallationId, RepositoryId

PULL = PullRef(installation_id=InstallationId(1), repository_id=RepositoryId(7), number=3)
BODY = json.dumps(payload()).encode()


def error_text(response: httpx.Response) -> str:
    return str(response.json()["error"])


def test_opened_pull_request_is_queued_and_logged_in_one_line(web_server: WebServer) -> None:
    response = web_server.deliver("pull_request", payload(), {"X-GitHub-Delivery": "d-1"})
    assert (response.status_code, response.json()) == (202, {"outcome": "queued"})
    [line] = web_server.log_lines
    assert line.pop("timestamp")
    assert line == {
        "event": "delivery",
        "level": "info",
        "delivery_id": "d-1",
        "event_name": "pull_request",
        "action": "opened",
        "outcome": "queued",
        "status": 202,
        "reason": "",
    }


def test_queued_request_names_its_pull_request_and_trigger(web_server: WebServer) -> None:
    web_server.deliver("pull_request", payload("synchronize"), {"X-GitHub-Delivery": "d-1"})
    assert web_server.apply() == [IntakeOutcome.QUEUED]
    with web_server.redis.client as redis:
        request = JudgeRequest.model_validate_json(str(redis.hget(keys.pull(PULL).name, "req")))
        assert redis.exists(keys.delivery(DeliveryId("d-1")).name), "the delivery ID is stored, so that it counts once"
    assert (request.pull, request.repository, request.trigger) == (PULL, "acme/widgets", Trigger.PUSHED)
    assert (request.head_sha, request.delivery_id) == ("1" * 40, "d-1")
    assert request.requested_at.tzinfo is not None


def test_push_from_another_commit_waits_for_github(web_server: WebServer) -> None:
    newer, older = payload("synchronize", before="2" * 40), payload("synchronize", before="3" * 40)
    older["pull_request"]["head"] = {"sha": "2" * 40}
    assert [web_server.deliver("pull_request", delivery).json() for delivery in (newer, older)] == [
        {"outcome": "queued"}
    ] * 2
    assert web_server.apply() == [IntakeOutcome.QUEUED, IntakeOutcome.UNCONFIRMED]


def test_command_is_queued_once_with_its_author(web_server: WebServer) -> None:
    answers = [web_server.deliver("issue_comment", comment("/rejudge"), {"X-GitHub-Delivery": "d-2"}) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [202, 202]
    assert [answer.json() for answer in answers] == [{"outcome": "queued"}, {"outcome": "duplicate"}]
    with web_server.redis.client as redis:
        [stored] = redis.hvals(COMMANDS.texts.name)
    request = CommandRequest.model_validate_json(stored)
    assert (request.pull, request.login, request.command, request.comment_id) == (PULL, "alice", "rejudge", 55)


def test_long_text_is_translated_in_another_thread(web_server: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    translate, threads = webhooks.translate, list[int]()

    def record_thread(delivery: Delivery) -> object:
        threads.append(threading.get_ident())
        return translate(delivery)

    monkeypatch.setattr(webhooks, "translate", record_thread)
    for text in ("Nice", "/rejudge", "![" * 3000 + "\n/rejudge"):
        assert web_server.deliver("issue_comment", comment(text)).status_code == 202
    loop, loop_again, other_thread = threads
    assert loop == loop_again != other_thread


def nest(times: int, value: object) -> object:
    for _ in range(times):
        value = [value]
    return value


def test_deeply_nested_body_is_accepted(web_server: WebServer) -> None:
    deep = b"[" * 900 + b"]" * 900
    assert web_server.deliver("ping", b'{"installation": ' + deep + b"}").json() == {"ignored": "unhandled:ping"}


@pytest.mark.parametrize(
    ("payload", "is_long"),
    [
        (None, False),
        ("x" * INLINE_TEXT_BYTES, False),
        ({"a": ["x" * (INLINE_TEXT_BYTES + 1)]}, True),
        ({"a": [{"b": "x" * INLINE_TEXT_BYTES}], "c": "y" * INLINE_TEXT_BYTES}, False),
        ({"a": nest(100_000, "x" * (INLINE_TEXT_BYTES + 1))}, True),
        ({"a": nest(100_000, "x")}, False),
    ],
    ids=["nothing", "just", "long", "much", "deep-long", "deep"],
)
def test_long_text_is_found_at_any_depth(payload: object, is_long: bool) -> None:  # noqa: FBT001 - a parameter
    assert has_long_text(payload) is is_long


def test_log_line_escapes_control_characters(web_server: WebServer) -> None:
    assert web_server.deliver("pull_request", payload("\x9b2J\x1b]0;\u202e")).status_code == 202
    assert web_server.log.getvalue().isascii()
    assert "\x1b" not in web_server.log.getvalue()
    assert [line["action"] for line in web_server.log_lines] == ["\x9b2J\x1b]0;\u202e"]


@pytest.mark.parametrize(
    ("event_name", "content", "reason"),
    [
        ("pull_request", payload("assigned"), "unhandled:pull_request.assigned"),
        ("ping", {"zen": "Design for failure."}, "unhandled:ping"),
        ("made_up", {}, "unhandled:made_up"),
        ("pull_request", payload("labeled"), "label"),
    ],
)
def test_ignored_delivery_is_202_with_its_reason(
    web_server: WebServer, event_name: str, content: dict[str, Any], reason: str
) -> None:
    response = web_server.deliver(event_name, content)
    assert (response.status_code, response.json()) == (202, {"ignored": reason})
    assert [(line["outcome"], line["reason"]) for line in web_server.log_lines] == [("ignored", reason)]


def test_reopening_is_queued_and_recorded_once(web_server: WebServer) -> None:
    with web_server.redis.client as redis:
        redis.hset(keys.watch(PULL).name, "pull", PULL.model_dump_json())
    reopening = payload("reopened")
    answers = [web_server.deliver("pull_request", reopening, {"X-GitHub-Delivery": "d-4"}) for _ in range(2)]
    assert [answer.json() for answer in answers] == [{"outcome": "queued"}, {"outcome": "duplicate"}]
    assert web_server.apply() == [IntakeOutcome.QUEUED]
    with web_server.redis.client as redis:
        assert len(redis.hvals(PULL_REQUEST_EVENTS.texts.name)) == 1


def test_merge_of_a_judged_pull_request_is_recorded_once_without_names_or_text(
    web_server: WebServer,
) -> None:
    with web_server.redis.client as redis:
        redis.hset(keys.watch(PULL).name, "pull", PULL.model_dump_json())
    closing = payload("closed", sender={"login": "alice", "type": "User"})
    closing["pull_request"] |= {
        "title": "Fix uploads",
        "body": "Closes #7",
        "merged": True,
        "merge_commit_sha": "2" * 40,
    }
    answers = [web_server.deliver("pull_request", closing, {"X-GitHub-Delivery": "d-3"}) for _ in range(2)]
    assert [answer.json() for answer in answers] == [{"outcome": "queued"}, {"outcome": "duplicate"}]
    assert web_server.apply() == [IntakeOutcome.QUEUED]
    with web_server.redis.client as redis:
        [stored] = redis.hvals(PULL_REQUEST_EVENTS.texts.name)
    event = PullRequestEvent.model_validate_json(stored)
    assert (event.what, event.pull, event.mends, event.by_person) == ("merged", PULL, True, True)
    assert not any(word in str(stored) for word in ("alice", "widgets", "uploads"))


def test_forged_body_is_not_parsed(web_server: WebServer) -> None:
    forged = web_server.deliver("pull_request", b"{", {"X-Hub-Signature-256": "sha256=" + "0" * 64})
    assert (forged.status_code, "JSON" in error_text(forged)) == (401, False)


def test_streamed_body_over_the_limit_is_413(web_server: WebServer) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(26):
            yield b"x" * (1024 * 1024)

    response = web_server.post(chunks(), standard_headers("pull_request", b""))
    assert response.status_code == 413
    assert error_text(response) == "The body is over 25 MB, more than GitHub ever sends."


def test_largest_body_that_github_sends_is_accepted(web_server: WebServer) -> None:
    filled = json.dumps(payload(filler="x" * (LARGEST_BODY - len(BODY) - 14))).encode()
    assert len(filled) == LARGEST_BODY
    assert web_server.deliver("pull_request", filled).json() == {"outcome": "queued"}


def test_chunked_body_is_read_whole(web_server: WebServer) -> None:
    chunks = (BODY[start : start + 7] for start in range(0, len(BODY), 7))
    response = web_server.post(chunks, standard_headers("pull_request", BODY))
    assert response.json() == {"outcome": "queued"}


def receive_parts(*parts: bytes) -> Receive:
    """A receiver whose parts are all there."""
    left = [HTTPRequestEvent(type="http.request", body=part, more_body=True) for part in parts]
    left[-1]["more_body"] = False
    messages = iter(left)

    async def receive() -> HTTPRequestEvent:
        return next(messages)

    return receive


@pytest.mark.parametrize("parts", [(b"",), (b"abc",), (b"a", b"", b"bc")])
def test_buffered_body_is_read_whole(parts: tuple[bytes, ...]) -> None:
    assert asyncio.run(read_body({}, receive_parts(*parts), BodyReservation(), BodyMemory())) == b"".join(parts)


@pytest.mark.parametrize(
    "parts", [(b"x" * (LARGEST_BODY + 1),), (b"x" * LARGEST_BODY, b"x")], ids=["at-once", "in-two"]
)
def test_buffered_body_over_the_limit_is_413(parts: tuple[bytes, ...]) -> None:
    with pytest.raises(DeliveryRefused, match="over 25 MB") as refused:
        asyncio.run(read_body({}, receive_parts(*parts), BodyReservation(), BodyMemory()))
    assert refused.value.status == 413


def test_aborted_delivery_is_logged_and_the_next_one_accepted(web_server: WebServer) -> None:
    head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nX-Hub-Signature-256: {signature(b'')}\r\n"
    with socket.create_connection(
        (web_server.http.base_url.host, web_server.http.base_url.port or 0), timeout=10
    ) as connection:
        connection.sendall(f"{head}Content-Length: 100\r\n\r\nhalf".encode())
    # the first delivery may be answered before the aborted one is noticed
    assert [web_server.deliver("pull_request", BODY).json() for _ in range(2)] == [{"outcome": "queued"}] * 2
    assert sorted(line["outcome"] for line in web_server.log_lines) == ["queued", "queued", "refused"]


@pytest.mark.parametrize(
    ("headers", "status", "message"),
    [
        ({"X-GitHub-Event": None}, 400, "X-GitHub-Event is missing"),
        ({"X-GitHub-Delivery": None}, 400, "X-GitHub-Delivery is missing"),
        ({"X-GitHub-Delivery": "a b"}, 400, "X-GitHub-Delivery is no name"),
        ({"X-GitHub-Delivery": "a" * 101}, 400, "X-GitHub-Delivery is no name"),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415, "Choose application/json"),
        ({"Content-Type": None}, 415, 'Content-Type is "": expected application/json'),
    ],
)
def test_missing_or_wrong_header_is_named(
    web_server: WebServer, headers: dict[str, str | None], status: int, message: str
) -> None:
    response = web_server.deliver("pull_request", BODY, headers)
    assert response.status_code == status
    assert message in error_text(response)


def test_content_type_may_have_a_charset(web_server: WebServer) -> None:
    response = web_server.deliver("pull_request", BODY, {"Content-Type": "Application/JSON; charset=utf-8"})
    assert response.status_code == 202


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "The body is not JSON"),
        (b"[]", "The body: expected an object, found an array"),
        (b'{"action": "opened", "installation": {"id": 100}}', 'Field "repository": '),
        (b'{"action": 1}', 'Field "action": expected a valid string, found a number'),
        (json.dumps(payload(pull_request=None)).encode(), 'Field "pull_request": expected an object, found null'),
        (json.dumps(payload(repository={"id": "7"})).encode(), 'Field "repository.id": expected a valid integer'),
    ],
)
def test_unreadable_body_is_400_with_its_reason(web_server: WebServer, body: bytes, message: str) -> None:
    response = web_server.deliver("pull_request", body)
    assert response.status_code == 400
    assert message in error_text(response)
    assert [line["outcome"] for line in web_server.log_lines] == ["refused"]


def test_log_and_answer_never_quote_the_body(web_server: WebServer) -> None:
    secretive = payload(pull_request={"number": 3, "head": {"sha": "canary"}, "title": "canary"}, canary=1)
    for body in (secretive, b'{"canary', b'["canary"]', payload(canary="canary"), comment("canary")):
        response = web_server.deliver("pull_request", body)
        assert "canary" not in response.text
    assert len(web_server.log_lines) == 5
    assert "canary" not in web_server.log.getvalue()


def test_webhook_route_accepts_only_post(web_server: WebServer) -> None:
    assert web_server.http.get(PATH).status_code == 405
    assert web_server.http.get("/github").json() == {"error": "Not Found"}


def test_signature_verifier_hides_its_secrets_and_accepts_any_bytes() -> None:
    verifier = SignatureVerifier((b"secret",))
    assert "secret" not in repr(verifier)
    assert not verifier.is_valid("é".encode(), b"")


async def return_value(value: int) -> int:
    return value


async def divide_later(value: int, ended: list[str]) -> int:
    try:
        for _ in range(3):
            await asyncio.sleep(0.001)
        return 12 // value
    finally:
        ended.append("over")


def test_finished_coroutine_returns_immediately() -> None:
    assert start_awaiting(return_value(3)) == 3


def test_pending_coroutine_is_awaited_to_its_result_or_error() -> None:
    async def run(value: int) -> tuple[int, list[str]]:
        ended = list[str]()
        wait = start_awaiting(divide_later(value, ended))
        assert isinstance(wait, PendingAwait)
        async with asyncio.timeout(5):
            return await wait, ended

    assert asyncio.run(run(3)) == (4, ["over"])
    with pytest.raises(ZeroDivisionError):
        asyncio.run(run(0))


def test_cancelled_wait_cancels_its_coroutine() -> None:
    async def run() -> tuple[str, ...]:
        ended = list[str]()
        wait = start_awaiting(divide_later(3, ended))
        assert isinstance(wait, PendingAwait)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await wait
        return tuple(ended)  # read while the wait is still referenced

    assert asyncio.run(run()) == ("over",)
