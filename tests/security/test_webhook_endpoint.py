"""The webhook endpoint against senders without the secret and against broken deliveries."""

import json
import socket
import time
from collections.abc import Awaitable, Callable
from typing import Any, cast

import anyio
import anyio.lowlevel
import pytest
from litestar.types import HTTPRequestEvent

from app.web.server import BODY_TIMEOUT_S, HEADER_TIMEOUT_S, MAX_HEADER_BYTES
from app.web.webhooks import (
    BODY_SECONDS,
    INLINE_BODY_BYTES,
    LARGEST_BODY,
    BodyMemory,
    BodyReservation,
    DeliveryCounters,
    DeliveryOutcome,
    DeliveryRefused,
    DeliveryResponse,
    SignatureVerifier,
    TooManyRequests,
    WebhookIntake,
    read_body,
)
from tests.app.web.web_server import NEXT_SECRET, PATH, SECRET, SHA, WebServer, payload, signature, standard_headers
from tests.security.unfinished_bodies import GROWS_MIB, measure_slow
from tests.worker.adapters.redis.store_samples import wait_until
from worker.adapters.redis import keys
from worker.domain.judge_request import PullRef
from worker.domain.lifecycle.intake import IntakeOutcome
from worker.domain.model import InstallationId, RepositoryId

BODY = json.dumps(payload()).encode()
OTHER_BODY = json.dumps(payload(pull_request={"number": 4, "draft": False, "head": {"sha": SHA}})).encode()
GITHUB_WAITS_S = 10.0


def request_head(length: int, body: bytes | None = BODY) -> bytes:
    """The head of a delivery of *length* bytes, signed as if it were *body*."""
    signed = "" if body is None else f"X-Hub-Signature-256: {signature(body)}\r\n"
    return f"POST {PATH} HTTP/1.1\r\nHost: x\r\n{signed}Content-Length: {length}\r\n\r\n".encode()


def is_store_empty(server: WebServer) -> bool:
    with server.redis.client as redis:
        return cast("Any", redis).dbsize() == 0


HEADER = "X-Hub-Signature-256"
MALFORMED = (
    "",
    "sha256=",
    "sha1=" + "0" * 40,
    signature(BODY).upper(),
    signature(BODY) + "\u00e9",
    "sha256=" + "\u00e9" * 64,
    signature(BODY)[:-1],
    signature(BODY).removeprefix("sha256="),
    f"{signature(BODY, 'a guess')}, {signature(BODY)}",
)
WRONG = (
    "sha256=" + "0" * 64,
    signature(BODY, "a guess"),
    signature(BODY, f"{SECRET} {NEXT_SECRET}"),
    signature(BODY, ""),
    signature(BODY + b" "),
    signature(OTHER_BODY),
)


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        ({}, "is missing"),
        ({"X-Hub-Signature": "sha1=" + "0" * 40}, "is missing"),
        ({"X-Hub-Signature": signature(BODY)}, "is missing"),
        *(({HEADER: value}, "is no signature") for value in MALFORMED),
        *(({HEADER: value}, "does not fit the body") for value in WRONG),
    ],
)
def test_only_a_sha256_signature_of_the_body_is_accepted(
    web_server: WebServer, headers: dict[str, str], message: str
) -> None:
    sent = {**standard_headers("pull_request", BODY), HEADER: None, **headers}
    raw = [(name.encode(), value.encode("latin-1")) for name, value in sent.items() if value is not None]
    refused = web_server.http.post(PATH, content=BODY, headers=raw)
    assert (refused.status_code, message in refused.json()["error"]) == (401, True), refused.text
    assert [line["outcome"] for line in web_server.log_lines] == ["refused"]
    assert is_store_empty(web_server)
    assert SECRET not in refused.text + web_server.log.getvalue()
    assert signature(BODY) not in refused.text


@pytest.mark.parametrize("secret", [SECRET, NEXT_SECRET])
def test_both_secrets_are_valid_during_rotation(web_server: WebServer, secret: str) -> None:
    assert web_server.deliver("pull_request", BODY, {"X-Hub-Signature-256": signature(BODY, secret)}).status_code == 202
    verifier = SignatureVerifier((SECRET.encode(), NEXT_SECRET.encode()))
    assert verifier.is_valid(signature(BODY, secret).encode(), BODY)
    assert not verifier.is_valid(signature(BODY, secret).encode(), OTHER_BODY)


def test_verifier_without_a_secret_accepts_nothing() -> None:
    assert not SignatureVerifier(()).is_valid(signature(BODY, "").encode(), BODY)


def test_replayed_delivery_id_counts_once_even_with_another_body(web_server: WebServer) -> None:
    first = web_server.deliver("pull_request", BODY, {"X-GitHub-Delivery": "d-1"})
    again = web_server.deliver("pull_request", BODY, {"X-GitHub-Delivery": "d-1"})
    changed = web_server.deliver("pull_request", payload("synchronize"), {"X-GitHub-Delivery": "d-1"})
    assert [answer.json()["outcome"] for answer in (first, again, changed)] == ["queued", "duplicate", "duplicate"]
    assert web_server.apply() == [IntakeOutcome.QUEUED]
    with web_server.redis.client as redis:
        [state] = cast("Any", redis).keys("assay:*:pull:*")
        assert redis.hget(state, "seq") == "1"


def test_announced_oversized_body_is_refused_before_it_is_read(web_server: WebServer) -> None:
    with connect(web_server) as connection:
        connection.sendall(request_head(LARGEST_BODY + 1))
        assert b" 413 " in connection.recv(1000)
    assert is_store_empty(web_server)


def test_body_without_a_signature_is_refused_before_it_is_read(web_server: WebServer) -> None:
    with connect(web_server) as connection:
        connection.sendall(request_head(LARGEST_BODY, None))
        assert b" 401 " in connection.recv(1000)


def test_unfinished_bodies_stay_within_the_memory_limit_beside_whole_ones() -> None:
    """A signature can be checked only once the whole body is there."""
    memory, held = BodyMemory(2_000_000), [BodyReservation() for _ in range(5)]
    short: list[HTTPRequestEvent] = [
        {"type": "http.request", "body": b"x" * (INLINE_BODY_BYTES // 2), "more_body": more} for more in (True, False)
    ]

    async def next_of_short() -> HTTPRequestEvent:
        await anyio.lowlevel.checkpoint()
        assert memory.used_bytes <= 2_000_000
        return short.pop(0)

    async def read() -> None:
        async with anyio.create_task_group() as together:
            for reservation in held:
                together.start_soon(never_whole, reservation)
            await anyio.sleep(0.01)
            mine = BodyReservation()
            assert len(await read_body({}, next_of_short, mine, memory)) == INLINE_BODY_BYTES
            memory.release(mine)
            together.cancel_scope.cancel()

    async def never_whole(reservation: BodyReservation) -> None:
        try:
            with pytest.raises(TooManyRequests):
                await read_body({}, unfinished_body(2), reservation, memory)
        finally:
            memory.release(reservation)

    anyio.run(read)
    assert sum(reservation.was_evicted for reservation in held) >= 1
    assert memory.used_bytes == 0


def unfinished_body(count: int) -> Callable[[], Awaitable[HTTPRequestEvent]]:
    """A receiver of *count* pieces that then waits forever."""
    left = [b"x" * 500_000] * count

    async def piece() -> HTTPRequestEvent:
        await (anyio.lowlevel.checkpoint() if left else anyio.sleep_forever())
        return {"type": "http.request", "body": left.pop(), "more_body": True}

    return piece


def test_oldest_unfinished_body_is_evicted_with_retry_after() -> None:
    intake = WebhookIntake(
        SignatureVerifier((SECRET.encode(),)),
        1,
        cast("Any", None),
        DeliveryCounters(),
        cast("Any", None),
        BodyMemory(1_200_000),
    )
    headers = {b"x-hub-signature-256": b"sha256=" + b"0" * 64}
    answers: list[DeliveryResponse] = []

    async def send(pieces: int) -> None:
        answers.append(await intake.handle(headers, unfinished_body(pieces)))

    async def send_both() -> None:
        async with anyio.create_task_group() as together:
            together.start_soon(send, 2)
            await anyio.sleep(0.01)
            together.start_soon(send, 1)
            while not answers:
                await anyio.lowlevel.checkpoint()
            together.cancel_scope.cancel()

    anyio.run(send_both)
    [answer] = answers
    assert (answer.status, answer.outcome) == (503, DeliveryOutcome.UNAVAILABLE)
    assert answer.headers == {"Retry-After": "30", "Connection": "close"}
    assert intake.body_memory.used_bytes == 0


def test_single_body_may_exceed_the_memory_limit_and_is_not_evicted() -> None:
    memory, whole, next_one = BodyMemory(1000), BodyReservation(), BodyReservation()
    memory.grow(whole, 5000)
    with pytest.raises(TooManyRequests):
        memory.grow(next_one, 1)
    memory.release(next_one)
    memory.release(whole)
    assert memory.used_bytes == 0


def test_many_unfinished_bodies_use_little_memory_and_deliveries_pass() -> None:
    at_rest, peak, times, refused = measure_slow(600, 100)
    assert peak - at_rest < GROWS_MIB, "of 60 MB sent"
    assert times
    assert refused == []


def test_oldest_connections_are_closed_when_there_are_too_many(
    web_server: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.web.server.MAX_CONNECTIONS", 20)
    monkeypatch.setattr("app.web.server.MAX_EVICTIONS", 5)
    slow: list[socket.socket] = []
    for _ in range(30):
        slow.append(connect(web_server))
        slow[-1].sendall(request_head(len(BODY)) + BODY[:10])
        assert web_server.http.get("/livez").is_success, "the server has read this one"
    assert web_server.deliver("pull_request", BODY).json() == {"outcome": "queued"}
    closed = [is_closed(connection, b"x") for connection in slow]
    assert closed[:5] == [True] * 5
    assert not closed[-1]
    for connection in slow:
        connection.close()
    assert wait_until(lambda: len(web_server.log_lines) == len(slow) + 1), "each connection has its log line"


NESTED = 100_000


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"a"',
        b"\x00" * 100,
        b"\xff\xfe{}",
        b'{"a": "\xed\xa0\x80"}',
        b"{" + b'"a":{' * NESTED,
        b"[" * NESTED,
        b'{"installation":' + b"[" * NESTED + b"]" * NESTED + b"}",
        b'{"action": ' + b"1" * 100_000 + b"}",
        b'{"action": 1e999999999}',
        b'{"action": NaN}',
        b'{"action": "opened", "action": 3}',
        b'{"installation": {"id": 1' + b"0" * 5000 + b"}}",
    ],
    ids=[
        "empty", "cut", "key", "zeros", "utf16", "surrogate", "deep-open", "deep-list", "deep-inside", "long-number",
        "infinite", "nan", "twice", "five-thousand-digits",
    ],
)  # fmt: skip
def test_signed_broken_body_is_refused_with_a_reason(web_server: WebServer, body: bytes) -> None:
    refused = web_server.deliver("pull_request", body)
    assert (refused.status_code, bool(refused.json()["error"])) == (400, True), refused.text
    assert len(refused.text) < 1000
    assert is_store_empty(web_server)
    assert [line["outcome"] for line in web_server.log_lines] == ["refused"]


@pytest.mark.parametrize("number", [2**63, 10**30, -1, 0, 1.5, 1e308, True, "7", None, [7]])
@pytest.mark.parametrize("field", ["installation", "repository", "pull_request"])
def test_unusual_id_is_refused_or_stored_unchanged(web_server: WebServer, field: str, number: object) -> None:
    name = "number" if field == "pull_request" else "id"
    changed = payload()
    changed[field] = {**changed[field], name: number}
    answer = web_server.deliver("pull_request", changed)
    assert answer.status_code in (202, 400), answer.text
    assert len(answer.text) < 1000
    if answer.status_code == 202:
        assert isinstance(number, int), "an ID is a whole number"
        numbers = {"installation": 1, "repository": 7, "pull_request": 3, field: number}
        ref = PullRef(
            installation_id=InstallationId(numbers["installation"]),
            repository_id=RepositoryId(numbers["repository"]),
            number=numbers["pull_request"],
        )
        with web_server.redis.client as redis:
            assert redis.exists(keys.pull(ref).name), "the number is stored unchanged"


def test_slow_bodies_do_not_delay_other_deliveries(web_server: WebServer) -> None:
    slow = [connect(web_server) for _ in range(200)]
    try:
        for connection in slow:
            connection.sendall(request_head(len(BODY)) + BODY[:10])
        assert web_server.deliver("pull_request", BODY).json() == {"outcome": "queued"}, "more than there are threads"
    finally:
        for connection in slow:
            connection.close()
    assert GITHUB_WAITS_S < BODY_SECONDS <= 30


async def receive_trickle() -> HTTPRequestEvent:
    """The next byte of an endless body."""
    await anyio.sleep(0.001)
    return {"type": "http.request", "body": b"x", "more_body": True}


def test_body_that_never_completes_is_408() -> None:
    async def read() -> None:
        await read_body({}, receive_trickle, BodyReservation(), BodyMemory(), 0.02)

    with pytest.raises(DeliveryRefused, match="did not come whole") as refused:
        anyio.run(read)
    assert refused.value.status == 408
    assert DeliveryResponse(408, DeliveryOutcome.REFUSED).headers == {"Connection": "close"}


@pytest.mark.slow
def test_trickling_connection_is_closed(web_server: WebServer) -> None:
    begun = time.monotonic()
    with connect(web_server) as connection:
        connection.sendall(request_head(100_000))
        connection.settimeout(0.5)
        received, is_open = b"", True
        while is_open and time.monotonic() - begun < BODY_SECONDS + 10:
            try:
                connection.sendall(b"x")
                part = connection.recv(1000)
            except TimeoutError:
                continue
            except OSError:
                part = b""
            received, is_open = received + part, bool(part)
    assert not is_open
    assert b" 408 " in received
    assert time.monotonic() - begun < BODY_SECONDS + 5


@pytest.mark.slow
def test_unfinished_request_head_is_closed_in_time(web_server: WebServer) -> None:
    begun = time.monotonic()
    silent, trickling_head, second = (connect(web_server) for _ in range(3))
    trickling_head.sendall(f"POST {PATH} HTTP/1.1\r\nHost: x\r\n".encode())
    second.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
    assert b" 200 " in second.recv(1000)
    second.sendall(b"GET /livez HTTP/1.1\r\n")
    still_open = {silent, trickling_head, second}
    while still_open and time.monotonic() - begun < HEADER_TIMEOUT_S + 5:
        still_open -= {
            connection
            for connection in still_open
            if is_closed(connection, b"" if connection is silent else b"X-A: b\r\n")
        }
    assert not still_open
    assert time.monotonic() - begun > HEADER_TIMEOUT_S / 2
    for connection in (silent, trickling_head, second):
        connection.close()


@pytest.mark.slow
@pytest.mark.parametrize("line", [f"POST {PATH}", "GET /livez"])
def test_unread_body_keeps_no_connection_open(web_server: WebServer, line: str) -> None:
    """The answer does not wait for the body: one without a signature is not read, nor one of another route."""
    begun = time.monotonic()
    with connect(web_server) as connection:
        connection.sendall(f"{line} HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n".encode())
        assert connection.recv(1000).startswith(b"HTTP/1.1 ")
        while not (is_over := is_closed(connection, b"x")) and time.monotonic() - begun < BODY_TIMEOUT_S + 10:
            pass
    assert is_over
    assert BODY_TIMEOUT_S - 1 < time.monotonic() - begun < BODY_TIMEOUT_S + 5


def is_closed(connection: socket.socket, sent: bytes) -> bool:
    """Whether the other side has closed the connection, after *sent* was sent to it."""
    connection.settimeout(0.2)
    try:
        connection.sendall(sent)
        return not connection.recv(1000)
    except TimeoutError:
        return False
    except OSError:
        return True


@pytest.mark.parametrize("before", [b"", b"POST /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n"])
def test_endless_request_head_is_cut_off(web_server: WebServer, before: bytes) -> None:
    """The limit also holds after a request that was answered before its body came."""
    line = b"X-Long: " + b"x" * 8_000 + b"\r\n"
    with connect(web_server) as connection:
        if before:
            connection.sendall(before)
            assert connection.recv(1000).startswith(b"HTTP/1.1 ")
            connection.sendall(b"body")
        connection.sendall(f"POST {PATH} HTTP/1.1\r\nHost: x\r\n".encode())
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            connection.sendall(line * (100 * MAX_HEADER_BYTES // len(line)))


def connect(server: WebServer) -> socket.socket:
    return socket.create_connection((server.http.base_url.host, server.http.base_url.port or 0), timeout=10)
