"""What somebody who does not have the secret, or has it and is broken, can do at the door: nothing."""

import json
import socket
import time
from collections.abc import Awaitable, Callable
from typing import Any, cast

import anyio
import anyio.lowlevel
import pytest
from litestar.types import HTTPRequestEvent

from app.web.timeouts import BODY_TIMEOUT_S, HEADER_TIMEOUT_S, MAX_HEADER_BYTES
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
from tests.app.web.web_server import NEXT_SECRET, PATH, SECRET, SHA, WebServer, comment, payload, signature
from tests.security.unfinished_bodies import GROWS_MIB, measure_slow
from tests.worker.adapters.redis.store_samples import wait_until
from worker.adapters.redis import keys
from worker.adapters.redis.keys import COMMANDS
from worker.domain.ids import InstallationId, RepositoryId
from worker.domain.judge_request import PullRef
from worker.domain.lifecycle.intake import IntakeOutcome

BODY = json.dumps(payload()).encode()
OTHER_BODY = json.dumps(payload(pull_request={"number": 4, "draft": False, "head": {"sha": SHA}})).encode()
GITHUB_WAITS_S = 10.0


def nothing_was_taken(door: WebServer) -> bool:
    with door.redis.client as redis:
        return cast("Any", redis).dbsize() == 0


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Hub-Signature-256": None},
        {"X-Hub-Signature-256": signature(BODY, "a guess")},
        {"X-Hub-Signature-256": signature(OTHER_BODY)},
        {"X-Hub-Signature-256": signature(BODY).removeprefix("sha256=")},
        {"X-Hub-Signature-256": f"{signature(BODY, 'a guess')}, {signature(BODY)}"},
        {"X-Hub-Signature-256": None, "X-Hub-Signature": "sha1=" + "0" * 40},
        {"X-Hub-Signature-256": None, "X-Hub-Signature": signature(BODY)},
        {"X-Hub-Signature-256": signature(BODY, f"{SECRET} {NEXT_SECRET}")},
        {"X-Hub-Signature-256": signature(BODY, "")},
    ],
    ids=["none", "wrong", "another-body", "bare", "two", "sha1", "sha1-name", "both-secrets-as-one", "empty-secret"],
)
def test_only_the_sha256_of_this_very_body_under_one_of_the_secrets_opens_the_door(
    web_server: WebServer, headers: dict[str, str | None]
) -> None:
    refused = web_server.deliver("pull_request", BODY, headers)
    assert refused.status_code == 401
    assert nothing_was_taken(web_server)
    assert SECRET not in refused.text + web_server.log.getvalue()
    assert signature(BODY) not in refused.text, "what the signature should have been is told to nobody"


@pytest.mark.parametrize("secret", [SECRET, NEXT_SECRET])
def test_either_secret_is_good_while_one_is_rotated_out_and_every_one_is_compared(
    web_server: WebServer, secret: str
) -> None:
    assert web_server.deliver("pull_request", BODY, {"X-Hub-Signature-256": signature(BODY, secret)}).status_code == 202
    lock = SignatureVerifier((SECRET.encode(), NEXT_SECRET.encode()))
    assert lock.is_valid(signature(BODY, secret).encode(), BODY)
    assert not lock.is_valid(signature(BODY, secret).encode(), OTHER_BODY)


def test_a_door_without_a_secret_opens_to_nobody() -> None:
    assert not SignatureVerifier(()).is_valid(signature(BODY, "").encode(), BODY)


def test_a_delivery_that_is_played_again_is_counted_once_whatever_it_says_now(web_server: WebServer) -> None:
    first = web_server.deliver("pull_request", BODY, {"X-GitHub-Delivery": "d-1"})
    again = web_server.deliver("pull_request", BODY, {"X-GitHub-Delivery": "d-1"})
    bent = web_server.deliver("pull_request", payload("synchronize"), {"X-GitHub-Delivery": "d-1"})
    assert [one.json()["outcome"] for one in (first, again, bent)] == ["queued", "duplicate", "duplicate"]
    assert web_server.apply() == [IntakeOutcome.QUEUED]
    with web_server.redis.client as redis:
        [state] = cast("Any", redis).keys("assay:*:pull:*")
        assert redis.hget(state, "seq") == "1"


def test_a_command_that_is_played_again_is_given_once(web_server: WebServer) -> None:
    for _ in range(3):
        web_server.deliver("issue_comment", comment("/override Because I say so."), {"X-GitHub-Delivery": "d-2"})
    with web_server.redis.client as redis:
        assert len(redis.hvals(COMMANDS.texts.name)) == 1


def test_a_body_that_is_announced_too_large_is_refused_before_one_byte_of_it_is_read(web_server: WebServer) -> None:
    head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nX-Hub-Signature-256: {signature(b'')}\r\n"
    with connected(web_server) as connection:
        connection.sendall(f"{head}Content-Length: {LARGEST_BODY + 1}\r\n\r\n".encode())
        assert b" 413 " in connection.recv(1000)
    assert nothing_was_taken(web_server)


def test_without_a_signature_nobody_can_make_us_hold_a_body(web_server: WebServer) -> None:
    with connected(web_server) as connection:
        connection.sendall(f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: {LARGEST_BODY}\r\n\r\n".encode())
        assert b" 401 " in connection.recv(1000)


def test_bodies_that_nobody_signed_fill_no_memory_and_those_that_come_whole_pass_beside_them() -> None:
    """Whether the signature fits is not known before all of a body is there."""
    room, held = BodyMemory(2_000_000), [BodyReservation() for _ in range(5)]
    short: list[HTTPRequestEvent] = [
        {"type": "http.request", "body": b"x" * (INLINE_BODY_BYTES // 2), "more_body": more} for more in (True, False)
    ]

    async def next_of_short() -> HTTPRequestEvent:
        await anyio.lowlevel.checkpoint()
        assert room.used_bytes <= 2_000_000
        return short.pop(0)

    async def read() -> None:
        async with anyio.create_task_group() as together:
            for one in held:
                together.start_soon(never_whole, one)
            await anyio.sleep(0.01)
            mine = BodyReservation()
            assert len(await read_body({}, next_of_short, mine, room)) == INLINE_BODY_BYTES
            room.release(mine)
            together.cancel_scope.cancel()

    async def never_whole(one: BodyReservation) -> None:
        try:
            with pytest.raises(TooManyRequests):
                await read_body({}, pieces_of_half_a_megabyte(2), one, room)
        finally:
            room.release(one)

    anyio.run(read)
    assert sum(one.was_evicted for one in held) >= 1
    assert room.used_bytes == 0


def pieces_of_half_a_megabyte(count: int) -> Callable[[], Awaitable[HTTPRequestEvent]]:
    """A body that goes on for so many pieces, and then no further."""
    left = [b"x" * 500_000] * count

    async def piece() -> HTTPRequestEvent:
        await (anyio.lowlevel.checkpoint() if left else anyio.sleep_forever())
        return {"type": "http.request", "body": left.pop(), "more_body": True}

    return piece


def test_the_body_that_is_awaited_for_longest_gives_way_and_its_sender_may_deliver_again() -> None:
    door = WebhookIntake(
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
        answers.append(await door.handle(headers, pieces_of_half_a_megabyte(pieces)))

    async def all_of_them() -> None:
        async with anyio.create_task_group() as together:
            together.start_soon(send, 2)
            await anyio.sleep(0.01)
            together.start_soon(send, 1)
            while not answers:
                await anyio.lowlevel.checkpoint()
            together.cancel_scope.cancel()

    anyio.run(all_of_them)
    [answer] = answers
    assert (answer.status, answer.outcome) == (503, DeliveryOutcome.UNAVAILABLE)
    assert answer.headers == {"Retry-After": "30", "Connection": "close"}
    assert door.body_memory.used_bytes == 0


def test_a_body_that_is_alone_may_be_larger_than_the_room_and_one_that_is_whole_does_not_give_way() -> None:
    room, whole, next_one = BodyMemory(1000), BodyReservation(), BodyReservation()
    room.grow(whole, 5000)
    with pytest.raises(TooManyRequests):
        room.grow(next_one, 1)
    room.release(next_one)
    room.release(whole)
    assert room.used_bytes == 0


def test_many_unfinished_bodies_take_little_memory_and_deliveries_pass_beside_them() -> None:
    at_rest, most, took, refused = measure_slow(600, 100)
    assert most - at_rest < GROWS_MIB, "60 MB were sent"
    assert took
    assert refused == []


def test_of_too_many_connections_those_that_are_awaited_for_longest_are_closed(
    web_server: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.web.timeouts.MAX_CONNECTIONS", 20)
    monkeypatch.setattr("app.web.timeouts.MAX_EVICTIONS", 5)
    head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nX-Hub-Signature-256: {signature(BODY)}\r\nContent-Length: {len(BODY)}\r\n\r\n"
    slow: list[socket.socket] = []
    for _ in range(30):
        slow.append(connected(web_server))
        slow[-1].sendall(head.encode() + BODY[:10])
        assert web_server.http.get("/livez").is_success, "it has come to this one"
    assert web_server.deliver("pull_request", BODY).json() == {"outcome": "queued"}
    closed = [is_closed(connection, b"x") for connection in slow]
    assert closed[:5] == [True] * 5
    assert not closed[-1]
    for connection in slow:
        connection.close()
    assert wait_until(lambda: len(web_server.log_lines) == len(slow) + 1), "each has its line"


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
def test_a_signed_body_that_is_broken_is_refused_in_words_and_in_no_time(web_server: WebServer, body: bytes) -> None:
    begun = time.monotonic()
    refused = web_server.deliver("pull_request", body)
    assert (refused.status_code, bool(refused.json()["error"])) == (400, True), refused.text
    assert time.monotonic() - begun < 1.0
    assert len(refused.text) < 1000
    assert nothing_was_taken(web_server)
    assert [line["outcome"] for line in web_server.log_lines] == ["refused"]


@pytest.mark.parametrize("number", [2**63, 10**30, -1, 0, 1.5, 1e308, True, "7", None, [7]])
@pytest.mark.parametrize("field", ["installation", "repository", "pull_request"])
def test_a_number_that_no_id_can_be_is_refused_or_kept_as_it_is(
    web_server: WebServer, field: str, number: object
) -> None:
    name = "number" if field == "pull_request" else "id"
    changed = payload()
    changed[field] = {**changed[field], name: number}
    answer = web_server.deliver("pull_request", changed)
    assert answer.status_code in (202, 400), answer.text
    assert len(answer.text) < 1000
    if answer.status_code == 202:
        assert isinstance(number, int), "what is no whole number is no id"
        numbers = {"installation": 1, "repository": 7, "pull_request": 3, field: number}
        ref = PullRef(
            installation_id=InstallationId(numbers["installation"]),
            repository_id=RepositoryId(numbers["repository"]),
            number=numbers["pull_request"],
        )
        with web_server.redis.client as redis:
            assert redis.exists(keys.pull(ref).name), "no number becomes another one on its way"


def test_who_sends_a_body_in_drops_is_sent_away_in_time_and_keeps_nobody_else_waiting(web_server: WebServer) -> None:
    head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nX-Hub-Signature-256: {signature(BODY)}\r\nContent-Length: {len(BODY)}\r\n\r\n"
    slow = [connected(web_server) for _ in range(200)]
    try:
        for connection in slow:
            connection.sendall(head.encode() + BODY[:10])
        assert web_server.deliver("pull_request", BODY).json() == {"outcome": "queued"}, "more than there are threads"
    finally:
        for connection in slow:
            connection.close()
    assert GITHUB_WAITS_S < BODY_SECONDS <= 30


async def trickling() -> HTTPRequestEvent:
    """Another byte of a body that never ends."""
    await anyio.sleep(0.001)
    return {"type": "http.request", "body": b"x", "more_body": True}


def test_a_body_that_never_comes_whole_is_given_up() -> None:
    async def read() -> None:
        await read_body({}, trickling, BodyReservation(), BodyMemory(), 0.02)

    with pytest.raises(DeliveryRefused, match="did not come whole") as refused:
        anyio.run(read)
    assert refused.value.status == 408
    assert DeliveryResponse(408, DeliveryOutcome.REFUSED).headers == {"Connection": "close"}


@pytest.mark.slow
def test_a_connection_that_trickles_is_closed_by_us(web_server: WebServer) -> None:
    head = (
        f"POST {PATH} HTTP/1.1\r\nHost: x\r\nX-Hub-Signature-256: {signature(BODY)}\r\nContent-Length: 100000\r\n\r\n"
    )
    begun = time.monotonic()
    with connected(web_server) as connection:
        connection.sendall(head.encode())
        connection.settimeout(0.5)
        said, is_open = b"", True
        while is_open and time.monotonic() - begun < BODY_SECONDS + 10:
            said, is_open = trickles(connection, said)
    assert not is_open
    assert b" 408 " in said
    assert time.monotonic() - begun < BODY_SECONDS + 5


@pytest.mark.slow
def test_who_never_comes_to_the_end_of_a_head_is_sent_away_in_time(web_server: WebServer) -> None:
    begun = time.monotonic()
    silent, trickling_head, second = (connected(web_server) for _ in range(3))
    trickling_head.sendall(f"POST {PATH} HTTP/1.1\r\nHost: x\r\n".encode())
    second.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
    assert b" 200 " in second.recv(1000)
    second.sendall(b"GET /livez HTTP/1.1\r\n")
    open_ones = {silent, trickling_head, second}
    while open_ones and time.monotonic() - begun < HEADER_TIMEOUT_S + 5:
        open_ones -= {one for one in open_ones if is_closed(one, b"" if one is silent else b"X-A: b\r\n")}
    assert not open_ones
    assert time.monotonic() - begun > HEADER_TIMEOUT_S / 2
    for one in (silent, trickling_head, second):
        one.close()


@pytest.mark.slow
@pytest.mark.parametrize("line", [f"POST {PATH}", "GET /livez"])
def test_a_body_that_nobody_reads_keeps_no_connection_open(web_server: WebServer, line: str) -> None:
    """The answer is there long before: without a signature a delivery's body is not read, and nobody else reads any."""
    begun = time.monotonic()
    with connected(web_server) as connection:
        connection.sendall(f"{line} HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n".encode())
        assert connection.recv(1000).startswith(b"HTTP/1.1 ")
        while not (is_over := is_closed(connection, b"x")) and time.monotonic() - begun < BODY_TIMEOUT_S + 10:
            pass
    assert is_over
    assert BODY_TIMEOUT_S - 1 < time.monotonic() - begun < BODY_TIMEOUT_S + 5


def is_closed(connection: socket.socket, more: bytes) -> bool:
    """Whether it is closed by the other side, which is sent *more* until then."""
    connection.settimeout(0.2)
    try:
        connection.sendall(more)
        return not connection.recv(1000)
    except TimeoutError:
        return False
    except OSError:
        return True


@pytest.mark.parametrize("before", [b"", b"POST /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n"])
def test_a_head_without_an_end_fills_no_memory(web_server: WebServer, before: bytes) -> None:
    """Also behind a request that was answered before its body came."""
    line = b"X-Long: " + b"x" * 8_000 + b"\r\n"
    with connected(web_server) as connection:
        if before:
            connection.sendall(before)
            assert connection.recv(1000).startswith(b"HTTP/1.1 ")
            connection.sendall(b"body")
        connection.sendall(f"POST {PATH} HTTP/1.1\r\nHost: x\r\n".encode())
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            connection.sendall(line * (100 * MAX_HEADER_BYTES // len(line)))


def trickles(connection: socket.socket, said: bytes) -> tuple[bytes, bool]:
    """One more byte; what was said so far, and whether the connection is still open."""
    try:
        connection.sendall(b"x")
        heard = connection.recv(1000)
    except TimeoutError:
        return said, True
    except OSError:
        return said, False
    return said + heard, bool(heard)


def connected(door: WebServer) -> socket.socket:
    return socket.create_connection((door.http.base_url.host, door.http.base_url.port or 0), timeout=10)
