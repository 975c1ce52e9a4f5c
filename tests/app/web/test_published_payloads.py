"""The published payloads of GitHub, whole and damaged. Invariant: no body makes the web server fail."""

import json
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.ingest.events import DELIVERY_RULES, translate
from app.ingest.payloads import Delivery, Envelope, MalformedPayload, parse_payload
from tests.app.web.web_server import OUR_APP, WebServer
from tests.world.examples import Example, load_examples
from worker.domain.check.check_run import HELPFUL, external_id
from worker.domain.model import DeliveryId

Path = tuple[str | int, ...]


def test_each_published_payload_is_accepted_or_ignored(web_server: WebServer) -> None:
    for example in load_examples():
        web_server.reset()
        response = web_server.deliver(example.name, example.payload)
        assert response.status_code == 202, (example.id, response.text)
        assert response.json().keys() in ({"ignored"}, {"outcome"}), example.id
        assert [line["status"] for line in web_server.log_lines] == [202], example.id


def test_published_payloads_are_complete() -> None:
    assert (len(load_examples()), len({example.name for example in load_examples()})) == (329, 58)


def adapt_payload(example: Example) -> dict[str, Any]:
    """The payload as our installation would get it, so that all of it is read."""
    payload = deepcopy(example.payload)
    payload["installation"] = {"id": 1}
    if "check_run" in payload:
        payload["check_run"].update(app={"id": OUR_APP}, external_id=external_id(3))
    if "comment" in payload and "issue" in payload:
        payload["issue"].update(state="open", pull_request={})
    if "comment" in payload:
        payload["comment"]["body"] = "/rejudge"
    if "review" in payload:
        payload["review"]["body"] = "/rejudge"
    if example.name == "issues":
        payload["changes"] = {"body": {"from": ""}}
    if "pull_request" in payload and payload["action"] == "edited" and "comment" not in payload:
        payload["pull_request"].update(state="open", body="```assay\nsummary: x\n```\nCloses #7")
        payload["changes"] = {"body": {"from": ""}}
    if "check_suite" in payload and example.payload["action"] == "rerequested":
        payload["check_suite"].update(app={"id": OUR_APP})
    if "requested_action" in payload:
        payload["requested_action"]["identifier"] = HELPFUL.identifier
    if "pusher" in payload:
        payload["ref"] = f"refs/heads/{payload['repository']['default_branch']}"
        payload["commits"] = [{"message": f"This reverts commit {'1' * 40}."}]
    return payload


def rule_name(example: Example) -> tuple[str, str]:
    return (example.name, example.payload.get("action") or "")


HANDLED_RULES = {name for name, row in DELIVERY_RULES.items() if row.is_handled}


def derived_examples() -> Iterator[Example]:
    """Payloads that GitHub does not publish, derived from similar ones."""
    for example in load_examples():
        if rule_name(example) == ("pull_request", "reopened"):
            yield replace(example, payload={**example.payload, "action": "edited"})
        if rule_name(example) == ("pull_request_review", "submitted"):
            yield replace(example, payload={**example.payload, "action": "edited"})
        if rule_name(example) == ("merge_group", "checks_requested"):
            yield replace(example, payload={**example.payload, "action": "destroyed", "reason": "merged"})


ADAPTED_EXAMPLES = [
    (example, adapt_payload(example))
    for example in (*load_examples(), *derived_examples())
    if rule_name(example) in HANDLED_RULES
]


def test_adapted_payloads_reach_every_handled_delivery_rule() -> None:
    assert {rule_name(example) for example, _ in ADAPTED_EXAMPLES} == HANDLED_RULES


def value_paths(value: Any, prefix: Path = ()) -> Iterator[Path]:
    """The paths of all values below *value*."""
    for name, child in child_values(value):
        yield (*prefix, name)
        yield from value_paths(child, (*prefix, name))


def child_values(value: Any) -> list[tuple[str | int, Any]]:
    if isinstance(value, dict):
        return list(cast("dict[str | int, Any]", value).items())
    return list(enumerate(cast("list[Any]", value))) if isinstance(value, list) else []


DROP = object()
DAMAGE: tuple[Any, ...] = (
    DROP,
    None,
    True,
    -1,
    0,
    1.5,
    2**70,
    1e308,
    "",
    "x",
    "\ud800é\0",
    [],
    [None],
    {},
    {"id": "x"},
)


def damage_field(payload: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
    damaged = deepcopy(payload)
    parent: Any = damaged
    for step in path[:-1]:
        parent = parent[step]
    if value is DROP:
        del parent[path[-1]]
    else:
        parent[path[-1]] = value
    return damaged


@given(st.data())
@settings(
    max_examples=settings().max_examples * 3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_payload_with_one_damaged_field_is_refused_or_accepted(web_server: WebServer, data: st.DataObject) -> None:
    example, payload = data.draw(st.sampled_from(ADAPTED_EXAMPLES))
    path = data.draw(st.sampled_from(list(value_paths(payload))))
    damaged = damage_field(payload, path, data.draw(st.sampled_from(DAMAGE)))
    response = web_server.deliver(example.name, damaged)
    assert response.status_code in {202, 400}, response.text
    assert response.status_code == 202 or response.json()["error"]


DAMAGED_PARTS = (
    "action", "installation", "repository", "pull_request", "issue", "comment", "check_run", "requested_action", "sender",
    "ref", "commits", "changes", "review", "check_suite", "workflow_run", "merge_group", "sha", "state", "reason",
    "repositories", "repositories_added",
)  # fmt: skip
DAMAGED_FIELDS = {
    "id", "sha", "login", "type", "full_name", "number", "merged", "merge_commit_sha", "title", "body", "message",
    "default_branch", "identifier", "conclusion", "head_sha", "from", "base", "state", "commit_id", "added", "html_url",
    "draft", "ref", "head_ref", "base_ref", "base_sha", "performed_via_github_app", "app",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("rule", sorted(HANDLED_RULES))
def test_each_damaged_field_that_is_read_gives_an_event_or_an_error(rule: tuple[str, str]) -> None:
    payload = next(adapted for example, adapted in ADAPTED_EXAMPLES if rule_name(example) == rule)
    for path in value_paths({name: payload[name] for name in DAMAGED_PARTS if name in payload}):
        if len(path) <= 2 or path[-1] in DAMAGED_FIELDS:
            for value in DAMAGE:
                body = json.dumps(damage_field(payload, path, value)).encode()
                with suppress(MalformedPayload):  # any other exception is the failure
                    envelope = parse_payload(Envelope, body)
                    translate(Delivery(DeliveryId("d-1"), rule[0], OUR_APP, envelope, body))
