"""Bad input at the door. After each of these the same process answers the next delivery.

What is slow here is proved of the same door, over real HTTP, in `app/test_webhooks.py` and `app/test_payloads.py` as well.
"""

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import httpx
import pytest

from tests.conversations.conftest import Open
from tests.world.changes import ONLY_DOCUMENTATION, PROJECT, STUB
from tests.world.examples import examples
from tests.world.sender import Sender
from tests.world.tester import World

MEGABYTE = 1024 * 1024
WRONG: tuple[object, ...] = (None, [], "x y", -1, 1.5, True)


@pytest.fixture
def opened(world: World) -> Iterator[dict[str, Any]]:
    """The body of a real `pull_request.on_opened`, and the proof afterwards that the same process still answers."""
    world.repository(PROJECT)
    world.agent.opens(ONLY_DOCUMENTATION, title="Document how uploads work", draft=True)
    told = world.github.told(world.here.name, "pull_request")[0]
    told["pull_request"]["draft"] = False  # as a draft it would not be for us
    yield told
    # over a connection of its own: the door closes one whose body it refused
    fresh = Sender.to(world.product.url, world.github.ready.webhook_secret)
    assert fresh.sends("ping", {"zen": "Keep it logically awesome."}).status_code == 202
    fresh.client.close()


def reason(answer: httpx.Response) -> str:
    return str(answer.json()["error"])


def logged(world: World) -> list[tuple[str, str]]:
    """What the log says of deliveries: their event's name, and why they were ignored."""
    lines = [line.fields for line in world.product.log.lines]
    return [(line["event_name"], line["reason"]) for line in lines if line.get("event") == "delivery"]


@pytest.mark.slow
def test_an_unsigned_delivery_is_refused(world: World, opened: dict[str, Any]) -> None:
    answer = world.door.sends("pull_request", opened, x_hub_signature_256="")

    assert answer.status_code == 401
    assert "not signed" in reason(answer)


def test_a_forged_delivery_is_refused(world: World, opened: dict[str, Any]) -> None:
    for forged in ("sha256=" + "0" * 64, "sha256=é", "sha1=abc", "sha256="):
        answer = world.door.sends("pull_request", opened, x_hub_signature_256=forged)

        assert answer.status_code == 401, forged
        assert opened["pull_request"]["head"]["sha"] not in answer.text


@pytest.mark.slow
def test_a_signature_of_another_body_is_refused(world: World, opened: dict[str, Any]) -> None:
    other = world.door.signature(b"{}")

    assert world.door.sends("pull_request", opened, x_hub_signature_256=other).status_code == 401


@pytest.mark.slow
@pytest.mark.usefixtures("opened")
def test_a_body_over_25_megabytes_is_refused(world: World) -> None:
    answer = world.door.sends_bytes("push", b'{"a": "' + b"x" * 25 * MEGABYTE + b'"}')

    assert answer.status_code == 413
    assert "25 MB" in reason(answer)


@pytest.mark.slow
@pytest.mark.usefixtures("opened")
def test_a_body_just_under_25_megabytes_is_read(world: World) -> None:
    answer = world.door.sends_bytes("push", b'{"a": "' + b"x" * (25 * MEGABYTE - 9) + b'"}')

    assert answer.status_code == 202


NO_PAYLOADS = (
    (b"", "not JSON"),
    (b"{", "not JSON"),
    (b"\xff\xfe", "not JSON"),
    (b"[]", "an array"),
    (b"null", "null"),
    (b'"text"', "a string"),
    (b"[" * 100_000, "not JSON"),
    (b'{"action": 5}', "action"),
    (b'{"action": "opened", "installation": {"id": 100}}', "repository"),
)


@pytest.mark.slow
@pytest.mark.usefixtures("opened")
def test_a_body_that_is_no_payload_is_refused_with_a_reason(world: World) -> None:
    for body, words in NO_PAYLOADS:
        answer = world.door.sends_bytes("pull_request", body)

        assert answer.status_code == 400, body[:40]
        assert words in reason(answer), body[:40]


READ = ("pull_request.number", "pull_request.head.sha", "repository.id", "repository.full_name", "installation.id")


@pytest.mark.slow
def test_a_field_of_a_wrong_type_is_named(world: World, opened: dict[str, Any]) -> None:
    for path in READ:
        told = deepcopy(opened)
        *parents, last = path.split(".")
        inner: Any = told
        for name in parents:
            inner = inner[name]
        for wrong in WRONG:
            inner[last] = wrong
            answer = world.door.sends("pull_request", told)

            assert answer.status_code == 400, (path, wrong)
            assert path in reason(answer), wrong


@pytest.mark.slow
def test_a_delivery_without_its_headers_is_refused(world: World, opened: dict[str, Any]) -> None:
    for header in ("x_github_event", "x_github_delivery"):
        answer = world.door.sends("pull_request", opened, **{header: ""})

        assert answer.status_code == 400, header
        assert header.replace("_", "-") in reason(answer).lower()


def test_a_duplicate_delivery_is_taken_and_counted_once(world: World, opened: dict[str, Any]) -> None:
    answers = [world.door.sends("pull_request", opened, x_github_delivery="the-same") for _ in range(3)]
    world.settles()

    assert [one.status_code for one in answers] == [202, 202, 202]
    assert [one.json()["outcome"] for one in answers] == ["queued", "duplicate", "duplicate"]


NOT_OURS = (
    ("pull_request", "assigned", "unhandled:pull_request.assigned"),
    ("star", "created", "unhandled:star.created"),
    ("made_up_tomorrow", "done", "unhandled:made_up_tomorrow.done"),
    ("ping", None, "unhandled:ping"),
)


@pytest.mark.slow
def test_an_event_that_is_not_ours_is_ignored_by_name(world: World, opened: dict[str, Any]) -> None:
    for event, action, why in NOT_OURS:
        answer = world.door.sends(event, {**opened, "action": action})

        assert (answer.status_code, answer.json()) == (202, {"ignored": why})
    named = {(event, why) for event, _, why in NOT_OURS}
    world.until(lambda: named <= {*logged(world)}, "the log says so too")


def test_our_own_check_run_is_ignored(world: World) -> None:
    here = world.repository(PROJECT)
    world.opened(files=STUB)
    told = [one for one in world.github.state(here.name)["deliveries"] if one["event"] == "check_run"]

    assert [json.loads(one["answer"]) for one in told] == [{"ignored": "own_check_run"}] * 2


@pytest.mark.slow
def test_all_published_payloads_pass_the_door(world: World) -> None:
    answers = {one.id: world.door.sends(one.name, one.payload) for one in examples()}

    assert {name: answer.text for name, answer in answers.items() if answer.status_code != 202} == {}
    assert all(answer.json().keys() <= {"ignored", "outcome"} for answer in answers.values())


def test_after_bad_input_the_next_pull_request_is_judged(world: World) -> None:
    world.door.sends_bytes("pull_request", b"{")
    world.door.sends_bytes("pull_request", b"{}", x_hub_signature_256="")
    world.repository(PROJECT)
    pull = world.opened(files=STUB)

    assert pull.check.conclusion == "failure"


@pytest.mark.slow
def test_redis_down_at_the_door_is_503_and_nothing_is_lost(another_world: Open) -> None:
    world = another_world({})
    world.expected_errors = ("edis",)
    here = world.repository(PROJECT)
    world.redis.kill()
    pull = world.agent.opens(STUB)
    world.github.settle()
    [refused] = [one for one in world.github.state(here.name)["deliveries"] if one["action"] == "opened"]
    assert refused["status"] == 503
    assert world.door.status("/readyz") == 503
    assert world.door.status("/livez") == 200

    world.redis.start()
    world.until(lambda: world.door.status("/readyz") == 200, "the door is ready again")
    world.github.verb("redeliver", id=refused["id"])
    world.settles()
    assert pull.check.conclusion == "failure"
    for lost in [one for one in world.github.state(here.name)["deliveries"] if one["status"] == 503]:
        world.github.verb("redeliver", id=lost["id"])


@pytest.mark.slow
def test_a_hanging_redis_does_not_hang_the_door(another_world: Open) -> None:
    world = another_world({"ASSAY_REDIS_TIMEOUT": "0.3"})
    world.expected_errors = ("edis",)
    world.repository(PROJECT)
    with world.redis.frozen():
        answer = world.door.sends("pull_request", _minimal(world))
        assert answer.status_code == 503
        assert world.door.status("/livez") == 200


def _minimal(world: World) -> dict[str, Any]:
    return {
        "action": "opened",
        "installation": {"id": world.installation},
        "repository": {"id": world.here.id, "full_name": world.here.name},
        "pull_request": {"number": 1, "head": {"sha": "0" * 40}},
    }
