"""The webhook route over real HTTP, with a real Redis. Invariant: one answer and one log line per delivery, never a 5xx but 503."""

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from typing import Any, cast

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
from worker.domain.ids import DeliveryId, InstallationId, RepositoryId
from worker.domain.judge_request import CommandRequest, JudgeRequest, PullRef, Trigger
from worker.domain.lifecycle.intake import IntakeOutcome
from worker.domain.pull_request_events import PullRequestEvent

PULL = PullRef(installation_id=InstallationId(1), repository_id=RepositoryId(7), number=3)
BODY = json.dumps(payload()).encode()


def error(response: httpx.Response) -> str:
    return str(response.json()["error"])


def test_an_opened_pull_request_is_queued_and_logged_in_one_line(web_server: WebServer) -> None:
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


def test_what_is_queued_says_which_pull_request_and_why(web_server: WebServer) -> None:
    web_server.deliver("pull_request", payload("synchronize"), {"X-GitHub-Delivery": "d-1"})
    assert web_server.apply() == [IntakeOutcome.QUEUED]
    with web_server.redis.client as redis:
        request = JudgeRequest.model_validate_json(str(redis.hget(keys.pull(PULL).name, "req")))
        assert redis.exists(keys.delivery(DeliveryId("d-1")).name), "by this it is counted once"
    assert (request.pull, request.repository, request.trigger) == (PULL, "acme/widgets", Trigger.PUSHED)
    assert (request.head_sha, request.delivery_id) == ("1" * 40, "d-1")
    assert request.requested_at.tzinfo is not None


def test_a_push_that_a_later_one_was_told_before_changes_nothing(web_server: WebServer) -> None:
    newer, older = payload("synchronize", before="2" * 40), payload("synchronize", before="3" * 40)
    older["pull_request"]["head"] = {"sha": "2" * 40}
    assert [web_server.deliver("pull_request", one).json() for one in (newer, older)] == [{"outcome": "queued"}] * 2
    assert web_server.apply() == [IntakeOutcome.QUEUED, IntakeOutcome.LATE]


def test_a_command_is_taken_down_once_with_its_author(web_server: WebServer) -> None:
    answers = [web_server.deliver("issue_comment", comment("/rejudge"), {"X-GitHub-Delivery": "d-2"}) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [202, 202]
    assert [answer.json() for answer in answers] == [{"outcome": "queued"}, {"outcome": "duplicate"}]
    with web_server.redis.client as redis:
        [taken] = redis.hvals(COMMANDS.texts.name)
    ask = CommandRequest.model_validate_json(taken)
    assert (ask.pull, ask.login, ask.command, ask.comment_id) == (PULL, "alice", "rejudge", 55)


def test_a_long_text_is_read_where_it_keeps_no_other_delivery_waiting(
    web_server: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    translate, seen = webhooks.translate, list[int]()

    def noticed(delivery: Delivery) -> object:
        seen.append(threading.get_ident())
        return translate(delivery)

    monkeypatch.setattr(webhooks, "translate", noticed)
    for text in ("Nice", "/rejudge", "![" * 3000 + "\n/rejudge"):
        assert web_server.deliver("issue_comment", comment(text)).status_code == 202
    loop, again, beside = seen
    assert loop == again != beside


def nested(times: int, inside: object) -> object:
    for _ in range(times):
        inside = [inside]
    return inside


def test_what_is_nested_deep_is_looked_through_all_the_same(web_server: WebServer) -> None:
    deep = b"[" * 900 + b"]" * 900
    assert web_server.deliver("ping", b'{"installation": ' + deep + b"}").json() == {"ignored": "unhandled:ping"}


@pytest.mark.parametrize(
    ("found", "is_long"),
    [
        (None, False),
        ("x" * INLINE_TEXT_BYTES, False),
        ({"a": ["x" * (INLINE_TEXT_BYTES + 1)]}, True),
        ({"a": [{"b": "x" * INLINE_TEXT_BYTES}], "c": "y" * INLINE_TEXT_BYTES}, False),
        ({"a": nested(100_000, "x" * (INLINE_TEXT_BYTES + 1))}, True),
        ({"a": nested(100_000, "x")}, False),
    ],
    ids=["nothing", "just", "long", "much", "deep-long", "deep"],
)
def test_a_text_is_long_by_itself_however_much_or_deep_the_rest_is(found: object, is_long: bool) -> None:  # noqa: FBT001 - a parameter
    assert has_long_text(found) is is_long


def test_a_log_line_holds_nothing_that_a_terminal_obeys(web_server: WebServer) -> None:
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
def test_what_is_not_ours_is_answered_202_with_the_reason(
    web_server: WebServer, event_name: str, content: dict[str, Any], reason: str
) -> None:
    response = web_server.deliver(event_name, content)
    assert (response.status_code, response.json()) == (202, {"ignored": reason})
    assert [(line["outcome"], line["reason"]) for line in web_server.log_lines] == [("ignored", reason)]


def test_what_people_do_about_a_judged_pull_request_is_noted_once_without_a_name_or_a_word(
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
        [noted] = redis.hvals(PULL_REQUEST_EVENTS.texts.name)
    happening = PullRequestEvent.model_validate_json(noted)
    assert (happening.what, happening.pull, happening.mends, happening.by_person) == ("merged", PULL, True, True)
    assert not any(word in str(noted) for word in ("alice", "widgets", "uploads"))


def test_a_reopening_is_queued_and_noted_and_answers_as_it_was_queued(web_server: WebServer) -> None:
    with web_server.redis.client as redis:
        redis.hset(keys.watch(PULL).name, "pull", PULL.model_dump_json())
    answers = [web_server.deliver("pull_request", payload("reopened"), {"X-GitHub-Delivery": "d-4"}) for _ in range(2)]
    assert [answer.json() for answer in answers] == [{"outcome": "queued"}, {"outcome": "duplicate"}]
    assert web_server.apply() == [IntakeOutcome.QUEUED]
    with web_server.redis.client as redis:
        assert len(redis.hvals(PULL_REQUEST_EVENTS.texts.name)) == 1


@pytest.mark.parametrize(
    ("claimed", "said"),
    [
        (None, "is missing"),
        ("", "is no signature"),
        ("sha256=", "is no signature"),
        ("sha1=" + "0" * 40, "is no signature"),
        (signature(BODY).upper(), "is no signature"),
        (signature(BODY) + "\u00e9", "is no signature"),
        ("sha256=" + "\u00e9" * 64, "is no signature"),
        (signature(BODY)[:-1], "is no signature"),
        ("sha256=" + "0" * 64, "does not fit the body"),
        (signature(BODY, "another secret"), "does not fit the body"),
        (signature(BODY + b" "), "does not fit the body"),
    ],
)
def test_a_missing_or_wrong_signature_is_401_and_nothing_is_taken_in(
    web_server: WebServer, claimed: str | None, said: str
) -> None:
    headers = [(name.encode(), value.encode()) for name, value in standard_headers("pull_request", BODY).items()]
    kept = [(name, value) for name, value in headers if name != b"X-Hub-Signature-256"]
    signed = [] if claimed is None else [(b"X-Hub-Signature-256", claimed.encode("latin-1"))]
    response = web_server.http.post(PATH, content=BODY, headers=[*kept, *signed])
    assert response.status_code == 401
    assert said in error(response)
    assert [line["outcome"] for line in web_server.log_lines] == ["refused"]
    with web_server.redis.client as redis:
        assert cast("Any", redis).dbsize() == 0


def test_a_forged_body_is_not_parsed(web_server: WebServer) -> None:
    forged = web_server.deliver("pull_request", b"{", {"X-Hub-Signature-256": "sha256=" + "0" * 64})
    assert (forged.status_code, "JSON" in error(forged)) == (401, False)


def test_a_body_that_grows_over_the_cap_is_413_whatever_was_announced(web_server: WebServer) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(26):
            yield b"x" * (1024 * 1024)

    response = web_server.post(chunks(), standard_headers("pull_request", b""))
    assert response.status_code == 413
    assert error(response) == "The body is over 25 MB, more than GitHub ever sends."


def test_the_largest_body_that_github_sends_is_read(web_server: WebServer) -> None:
    filled = json.dumps(payload(filler="x" * (LARGEST_BODY - len(BODY) - 14))).encode()
    assert len(filled) == LARGEST_BODY
    assert web_server.deliver("pull_request", filled).json() == {"outcome": "queued"}


def test_a_body_in_chunks_is_read_whole(web_server: WebServer) -> None:
    chunks = (BODY[start : start + 7] for start in range(0, len(BODY), 7))
    response = web_server.post(chunks, standard_headers("pull_request", BODY))
    assert response.json() == {"outcome": "queued"}


def parts_of(*parts: bytes) -> Receive:
    """A body of which all is there already."""
    left = [HTTPRequestEvent(type="http.request", body=part, more_body=True) for part in parts]
    left[-1]["more_body"] = False
    messages = iter(left)

    async def receive() -> HTTPRequestEvent:
        return next(messages)

    return receive


@pytest.mark.parametrize("parts", [(b"",), (b"abc",), (b"a", b"", b"bc")])
def test_a_body_that_is_there_already_is_read_whole(parts: tuple[bytes, ...]) -> None:
    assert asyncio.run(read_body({}, parts_of(*parts), BodyReservation(), BodyMemory())) == b"".join(parts)


@pytest.mark.parametrize(
    "parts", [(b"x" * (LARGEST_BODY + 1),), (b"x" * LARGEST_BODY, b"x")], ids=["at-once", "in-two"]
)
def test_a_body_over_the_cap_is_413_though_it_is_there_already(parts: tuple[bytes, ...]) -> None:
    with pytest.raises(DeliveryRefused, match="over 25 MB") as refused:
        asyncio.run(read_body({}, parts_of(*parts), BodyReservation(), BodyMemory()))
    assert refused.value.status == 413


def test_a_connection_that_closes_early_is_noted_and_the_next_delivery_taken(web_server: WebServer) -> None:
    head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nX-Hub-Signature-256: {signature(b'')}\r\n"
    with socket.create_connection(
        (web_server.http.base_url.host, web_server.http.base_url.port or 0), timeout=10
    ) as connection:
        connection.sendall(f"{head}Content-Length: 100\r\n\r\nhalf".encode())
    # the first may overtake the end of that one
    assert [web_server.deliver("pull_request", BODY).json() for _ in range(2)] == [{"outcome": "queued"}] * 2
    assert sorted(line["outcome"] for line in web_server.log_lines) == ["queued", "queued", "refused"]


@pytest.mark.parametrize(
    ("headers", "status", "said"),
    [
        ({"X-GitHub-Event": None}, 400, "X-GitHub-Event is missing"),
        ({"X-GitHub-Delivery": None}, 400, "X-GitHub-Delivery is missing"),
        ({"X-GitHub-Delivery": "a b"}, 400, "X-GitHub-Delivery is no name"),
        ({"X-GitHub-Delivery": "a" * 101}, 400, "X-GitHub-Delivery is no name"),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415, "Choose application/json"),
        ({"Content-Type": None}, 415, 'Content-Type is "": expected application/json'),
    ],
)
def test_a_header_that_is_missing_or_wrong_is_named(
    web_server: WebServer, headers: dict[str, str | None], status: int, said: str
) -> None:
    response = web_server.deliver("pull_request", BODY, headers)
    assert response.status_code == status
    assert said in error(response)


def test_a_content_type_may_have_a_charset(web_server: WebServer) -> None:
    response = web_server.deliver("pull_request", BODY, {"Content-Type": "Application/JSON; charset=utf-8"})
    assert response.status_code == 202


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "The body is not JSON"),
        (b"{", "The body is not JSON"),
        (b"\xff\xfe", "The body is not JSON"),
        (b"[" * 100_000, "The body is not JSON"),
        (b"[]", "The body: expected an object, found an array"),
        (b"null", "The body: expected an object, found null"),
        (b'"text"', "The body: expected an object, found a string"),
        (b'{"action": "opened", "installation": {"id": 100}}', 'Field "repository": '),
        (b'{"action": 1}', 'Field "action": expected a valid string, found a number'),
        (json.dumps(payload(pull_request=None)).encode(), 'Field "pull_request": expected an object, found null'),
        (json.dumps(payload(repository={"id": "7"})).encode(), 'Field "repository.id": expected a valid integer'),
    ],
)
def test_a_body_that_can_not_be_read_is_400_with_the_reason(web_server: WebServer, body: bytes, said: str) -> None:
    response = web_server.deliver("pull_request", body)
    assert response.status_code == 400
    assert said in error(response)
    assert [line["outcome"] for line in web_server.log_lines] == ["refused"]


def test_the_log_never_holds_a_word_of_the_body(web_server: WebServer) -> None:
    secretive = payload(pull_request={"number": 3, "head": {"sha": "canary"}, "title": "canary"}, canary=1)
    for body in (secretive, b'{"canary', b'["canary"]', payload(canary="canary"), comment("canary")):
        response = web_server.deliver("pull_request", body)
        assert "canary" not in response.text
    assert len(web_server.log_lines) == 5
    assert "canary" not in web_server.log.getvalue()


def test_only_post_is_known_at_this_address(web_server: WebServer) -> None:
    assert web_server.http.get(PATH).status_code == 405
    assert web_server.http.get("/github").json() == {"error": "Not Found"}


def test_a_lock_does_not_show_its_secrets_and_compares_bytes_that_are_no_text() -> None:
    verifier = SignatureVerifier((b"secret",))
    assert "secret" not in repr(verifier)
    assert not verifier.is_valid("é".encode(), b"")


async def given(value: int) -> int:
    return value


async def later(value: int, seen: list[str]) -> int:
    try:
        for _ in range(3):
            await asyncio.sleep(0.001)
        return 12 // value
    finally:
        seen.append("over")


def test_what_is_there_already_is_had_at_once() -> None:
    assert start_awaiting(given(3)) == 3


def test_what_is_not_there_yet_is_waited_for_to_its_end_also_where_that_fails() -> None:
    async def run(value: int) -> tuple[int, list[str]]:
        seen = list[str]()
        wait = start_awaiting(later(value, seen))
        assert isinstance(wait, PendingAwait)
        async with asyncio.timeout(5):
            return await wait, seen

    assert asyncio.run(run(3)) == (4, ["over"])
    with pytest.raises(ZeroDivisionError):
        asyncio.run(run(0))


def test_who_is_stopped_while_it_waits_stops_what_was_begun() -> None:
    async def run() -> tuple[str, ...]:
        seen = list[str]()
        wait = start_awaiting(later(3, seen))
        assert isinstance(wait, PendingAwait)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await wait
        return tuple(seen)  # as it is now, while the wait is still known

    assert asyncio.run(run()) == ("over",)
