"""The table of delivery rules. Invariant: a delivery without a rule is ignored by its name."""

from pathlib import Path
from typing import Any

import pytest

from app.ingest.event_types import Event, Ignored
from app.ingest.events import DELIVERY_RULES, SUBSCRIBED_EVENTS
from app.ingest.payloads import MalformedPayload
from tests.app.ingest.deliveries import translate_payload
from tests.world.examples import Example, load_examples
from worker.domain.config.app_permissions import EVENT_PERMISSIONS, IMPLICIT_EVENTS

DOCS = Path(__file__).resolve().parents[3] / "docs"


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (
            translate_payload("deployment", {"action": "created", "installation": {"id": 1}}),
            "unhandled:deployment.created",
        ),
        (translate_payload("ping", {"zen": "Keep it logically awesome."}), "unhandled:ping"),
        (translate_payload("pull_request", {"action": "opened"}), "no_installation"),
        (translate_payload("installation", {"action": "suspend"}), "suspended"),
    ],
)
def test_unhandled_delivery_is_ignored_with_its_reason(event: Event | Ignored, reason: str) -> None:
    assert event == Ignored(reason)


def test_handled_delivery_with_a_missing_field_is_malformed() -> None:
    with pytest.raises(MalformedPayload, match='"repository": expected a value, found nothing'):
        translate_payload("pull_request", {"action": "opened", "installation": {"id": 1}})


def test_unhandled_delivery_is_not_validated() -> None:
    payload: dict[str, Any] = {"action": "labeled", "pull_request": 5, "installation": "x", "repository": []}
    assert translate_payload("pull_request", payload) == Ignored("label")


def test_each_published_payload_is_an_event_or_ignored() -> None:
    assert [example.id for example in load_examples() if not is_event_or_ignored(example)] == []


def is_event_or_ignored(example: Example) -> bool:
    event = translate_payload(example.name, {**example.payload, "installation": {"id": 1}})
    action = example.payload.get("action", "")
    name = f"{example.name}.{action}" if action else example.name
    return (example.name, action) in DELIVERY_RULES or event == Ignored(f"unhandled:{name}")


def test_app_subscribes_to_handled_events_only() -> None:
    handled = {event_name for (event_name, _), row in DELIVERY_RULES.items() if row.is_handled}
    assert handled - IMPLICIT_EVENTS == SUBSCRIBED_EVENTS
    assert {"pull_request", "issue_comment", "issues", "check_run", "check_suite", "status"} < SUBSCRIBED_EVENTS
    assert not {"member", "membership", "team", "repository", "installation"} & SUBSCRIBED_EVENTS


def test_every_subscription_has_a_known_permission() -> None:
    assert EVENT_PERMISSIONS.keys() >= SUBSCRIBED_EVENTS


def test_triggers_page_lists_every_delivery_rule() -> None:
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
