"""Deliveries in the form of GitHub, and the events that they become."""

import json
from typing import Any, Final

from app.ingest.event_types import Event, Ignored
from app.ingest.events import translate
from app.ingest.payloads import Delivery, Envelope, decode_payload, parse_payload
from worker.domain.check.check_run import external_id
from worker.domain.judge_request import PullRef
from worker.domain.model import DeliveryId, InstallationId, RepositoryId

OUR_APP: Final = 4242
SHA, OLD = "1" * 40, "2" * 40
PULL: Final = PullRef(installation_id=InstallationId(1), repository_id=RepositoryId(7), number=3)
ABOUT: dict[str, Any] = {"installation": {"id": 1}, "repository": {"id": 7, "full_name": "acme/widgets"}}
REPOSITORY: dict[str, Any] = {"pull": PULL, "repository": "acme/widgets"}
SOMEWHERE: dict[str, Any] = {"installation_id": InstallationId(1), "repository_id": RepositoryId(7)}

ALICE, BOT = {"login": "alice", "type": "User"}, {"login": "copilot[bot]", "type": "Bot"}


def translate_payload(event_name: str, payload: dict[str, Any]) -> Event | Ignored:
    """The event of a delivery, which is the same with and without prior decoding."""
    body = json.dumps(payload).encode()
    event = translate(
        Delivery(DeliveryId("d1"), event_name, OUR_APP, parse_payload(Envelope, body), body, decode_payload(body))
    )
    assert event == translate(Delivery(DeliveryId("d1"), event_name, OUR_APP, parse_payload(Envelope, body), body))
    return event


def pull_request(action: str, about: dict[str, Any] | None = None, **changes: Any) -> Event | Ignored:
    """*about*: other fields of the payload."""
    pull = {"number": 3, "draft": False, "head": {"sha": SHA}, **changes}
    return translate_payload("pull_request", {**ABOUT, "action": action, "pull_request": pull, **(about or {})})


def comment(body: str, issue: dict[str, Any] | None = None, **changes: Any) -> Event | Ignored:
    return translate_payload(
        "issue_comment", {**ABOUT, "action": "created", **comment_delivery(body, issue, **changes)}
    )


def comment_delivery(body: str, issue: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    on = {"number": 3, "state": "open", "pull_request": {"url": "x"}, **(issue or {})}
    return {"issue": on, "comment": {"id": 55, "body": body, "user": ALICE, **changes}}


def listed_pull(number: int, sha: str = SHA, base_repository: int = 7) -> dict[str, Any]:
    return {
        "number": number,
        "head": {"sha": sha, "repo": {"id": 7}},
        "base": {"sha": OLD, "repo": {"id": base_repository}},
    }


def check_run(action: str, **changes: Any) -> Event | Ignored:
    run = {
        "app": {"id": OUR_APP},
        "head_sha": SHA,
        "external_id": external_id(3),
        "pull_requests": [listed_pull(3)],
        **changes,
    }
    return translate_payload("check_run", {**ABOUT, "action": action, "check_run": run})


def check_suite(action: str, app: int = OUR_APP) -> Event | Ignored:
    suite: dict[str, Any] = {"app": {"id": app}, "head_sha": SHA, "pull_requests": []}
    return translate_payload("check_suite", {**ABOUT, "action": action, "check_suite": suite})


def button_pressed(identifier: str, about: dict[str, Any] | None = None, **changes: Any) -> Event | Ignored:
    run = {"app": {"id": OUR_APP}, "head_sha": SHA, "external_id": external_id(3), **changes}
    what = {"action": "requested_action", "check_run": run, "requested_action": {"identifier": identifier}}
    return translate_payload("check_run", {**ABOUT, **what, "sender": ALICE, **(about or {})})


def push(*commits: dict[str, Any], ref: str = "refs/heads/main", **more: bool) -> Event | Ignored:
    repository = {**ABOUT["repository"], "default_branch": "main"}
    return translate_payload("push", {**ABOUT, "repository": repository, "ref": ref, "commits": commits, **more})
