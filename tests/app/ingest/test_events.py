"""The table of what a delivery means to us. Invariant: one row, one fact; what is not in it is ignored by name."""

from pathlib import Path
from typing import Any

import pytest

from app.ingest.event_types import Event, Ignored
from app.ingest.events import DELIVERY_RULES, SUBSCRIBED_EVENTS
from app.ingest.payloads import MalformedPayload
from tests.app.ingest.deliveries import head_seen
from tests.world.examples import Example, load_examples
from worker.domain.config.app_permissions import EVENT_PERMISSIONS, IMPLICIT_EVENTS

DOCS = Path(__file__).resolve().parents[3] / "docs"


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (head_seen("deployment", {"action": "created", "installation": {"id": 1}}), "unhandled:deployment.created"),
        (head_seen("ping", {"zen": "Keep it logically awesome."}), "unhandled:ping"),
        (head_seen("pull_request", {"action": "opened"}), "no_installation"),
        (head_seen("installation", {"action": "suspend"}), "suspended"),
    ],
)
def test_what_is_not_for_us_is_ignored_with_its_reason(given: Event | Ignored, reason: str) -> None:
    assert given == Ignored(reason)


def test_one_of_ours_that_can_not_be_read_is_malformed_not_ignored() -> None:
    with pytest.raises(MalformedPayload, match='"repository": expected a value, found nothing'):
        head_seen("pull_request", {"action": "opened", "installation": {"id": 1}})


def test_the_parts_of_what_nothing_follows_from_are_not_looked_at() -> None:
    strange: dict[str, Any] = {"action": "labeled", "pull_request": 5, "installation": "x", "repository": []}
    assert head_seen("pull_request", strange) == Ignored("label")


def test_each_published_payload_is_an_event_or_ignored() -> None:
    assert [example.id for example in load_examples() if not is_known(example)] == []


def is_known(example: Example) -> bool:
    event = head_seen(example.name, {**example.payload, "installation": {"id": 1}})
    is_ours = (example.name, example.payload.get("action", "")) in DELIVERY_RULES
    return is_ours or event == Ignored(f"unhandled:{name(example)}")


def name(example: Example) -> str:
    action = example.payload.get("action")
    return f"{example.name}.{action}" if action else example.name


def test_the_app_subscribes_to_what_something_follows_from_and_to_nothing_else() -> None:
    heard = {event_name for (event_name, _), row in DELIVERY_RULES.items() if row.is_handled}
    assert heard - IMPLICIT_EVENTS == SUBSCRIBED_EVENTS
    assert {"pull_request", "issue_comment", "issues", "check_run", "check_suite", "status"} < SUBSCRIBED_EVENTS
    assert not {"member", "membership", "team", "repository", "installation"} & SUBSCRIBED_EVENTS


def test_every_subscription_needs_a_permission_that_is_known() -> None:
    assert EVENT_PERMISSIONS.keys() >= SUBSCRIBED_EVENTS


def test_the_page_of_triggers_has_a_line_for_each_row_of_the_table() -> None:
    ignored: dict[str, list[str]] = {}
    handled: list[str] = []
    for (event, action), row in DELIVERY_RULES.items():
        name = f"`{event}.{action}`" if action else f"`{event}`"
        if row.is_handled:
            permission = "always" if event in IMPLICIT_EVENTS else f"`{EVENT_PERMISSIONS[event]}`"
            handled.append(f"| {name} | {row.description} | {permission} |")
        else:
            ignored.setdefault(row.description, []).append(name)
    reasons = [f"- {reason}: {', '.join(names)}" for reason, names in ignored.items()]
    table, _, after = (
        (DOCS / "triggers.md").read_text().partition("|---|---|---|\n")[2].partition("\n\nIgnored, by reason:\n\n")
    )
    assert table.splitlines() == handled
    assert after.partition("\n\n")[0].splitlines() == reasons
