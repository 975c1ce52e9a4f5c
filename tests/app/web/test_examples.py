"""GitHub's published payloads through the door, whole and damaged. Invariant: no body makes it fail."""

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
from worker.domain.ids import DeliveryId

Path = tuple[str | int, ...]


def test_each_published_payload_is_taken_or_ignored(web_server: WebServer) -> None:
    for example in load_examples():
        web_server.reset()
        response = web_server.deliver(example.name, example.payload)
        assert response.status_code == 202, (example.id, response.text)
        assert response.json().keys() in ({"ignored"}, {"outcome"}), example.id
        assert [line["status"] for line in web_server.log_lines] == [202], example.id


def test_the_published_payloads_are_all_there() -> None:
    assert (len(load_examples()), len({example.name for example in load_examples()})) == (329, 58)


def as_ours(example: Example) -> dict[str, Any]:
    """The payload as our own installation would get it, so that the door reads it to the end."""
    made = deepcopy(example.payload)
    made["installation"] = {"id": 1}
    if "check_run" in made:
        made["check_run"].update(app={"id": OUR_APP}, external_id=external_id(3))
    if "comment" in made and "issue" in made:
        made["issue"].update(state="open", pull_request={})
    if "comment" in made:
        made["comment"]["body"] = "/rejudge"
    if "review" in made:
        made["review"]["body"] = "/rejudge"
    if example.name == "issues":
        made["changes"] = {"body": {"from": ""}}
    if "pull_request" in made and made["action"] == "edited" and "comment" not in made:
        made["pull_request"].update(state="open", body="```assay\nsummary: x\n```\nCloses #7")
        made["changes"] = {"body": {"from": ""}}
    if "check_suite" in made and example.payload["action"] == "rerequested":
        made["check_suite"].update(app={"id": OUR_APP})
    if "requested_action" in made:
        made["requested_action"]["identifier"] = HELPFUL.identifier
    if "pusher" in made:
        made["ref"] = f"refs/heads/{made['repository']['default_branch']}"
        made["commits"] = [{"message": f"This reverts commit {'1' * 40}."}]
    return made


def row_of(example: Example) -> tuple[str, str]:
    return (example.name, example.payload.get("action") or "")


HEARD = {name for name, row in DELIVERY_RULES.items() if row.is_handled}


def unpublished() -> Iterator[Example]:
    """What nobody published an example of, made of what is nearest to it."""
    for example in load_examples():
        if row_of(example) == ("pull_request", "reopened"):
            yield replace(example, payload={**example.payload, "action": "edited"})
        if row_of(example) == ("pull_request_review", "submitted"):
            yield replace(example, payload={**example.payload, "action": "edited"})
        if row_of(example) == ("merge_group", "checks_requested"):
            yield replace(example, payload={**example.payload, "action": "destroyed", "reason": "merged"})


READ = [(example, as_ours(example)) for example in (*load_examples(), *unpublished()) if row_of(example) in HEARD]


def test_as_ours_the_published_payloads_reach_every_row_that_something_follows_from() -> None:
    assert {row_of(example) for example, _ in READ} == HEARD


def places(value: Any, at: Path = ()) -> Iterator[Path]:
    """The paths of all values below *value*."""
    for name, below in entries(value):
        yield (*at, name)
        yield from places(below, (*at, name))


def entries(value: Any) -> list[tuple[str | int, Any]]:
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


def damaged(payload: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
    made = deepcopy(payload)
    parent: Any = made
    for step in path[:-1]:
        parent = parent[step]
    if value is DROP:
        del parent[path[-1]]
    else:
        parent[path[-1]] = value
    return made


@given(st.data())
@settings(
    max_examples=settings().max_examples * 3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_published_payload_with_one_field_damaged_is_refused_or_ignored_never_a_failure(
    web_server: WebServer, data: st.DataObject
) -> None:
    example, payload = data.draw(st.sampled_from(READ))
    path = data.draw(st.sampled_from(list(places(payload))))
    made = damaged(payload, path, data.draw(st.sampled_from(DAMAGE)))
    response = web_server.deliver(example.name, made)
    assert response.status_code in {202, 400}, response.text
    assert response.status_code == 202 or response.json()["error"]


LOOKED_AT = (
    "action", "installation", "repository", "pull_request", "issue", "comment", "check_run", "requested_action", "sender",
    "ref", "commits", "changes", "review", "check_suite", "workflow_run", "merge_group", "sha", "state", "reason",
    "repositories", "repositories_added",
)  # fmt: skip
NAMED = {
    "id", "sha", "login", "type", "full_name", "number", "merged", "merge_commit_sha", "title", "body", "message",
    "default_branch", "identifier", "conclusion", "head_sha", "from", "base", "state", "commit_id", "added", "html_url",
    "draft", "ref", "head_ref", "base_ref", "base_sha", "performed_via_github_app", "app",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("row", sorted(HEARD))
def test_each_field_that_is_read_may_be_damaged_in_every_way(row: tuple[str, str]) -> None:
    """Without HTTP, so that it can be all of them."""
    payload = next(made for example, made in READ if row_of(example) == row)
    for path in places({name: payload[name] for name in LOOKED_AT if name in payload}):
        if len(path) <= 2 or path[-1] in NAMED:
            for value in DAMAGE:
                answers_or_complains(row[0], damaged(payload, path, value))


def answers_or_complains(event_name: str, payload: dict[str, Any]) -> None:
    body = json.dumps(payload).encode()
    with suppress(MalformedPayload):  # any other exception is the failure
        translate(Delivery(DeliveryId("d-1"), event_name, OUR_APP, parse_payload(Envelope, body), body))
