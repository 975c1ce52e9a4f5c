"""The Redis keys and log fields of one conversation: a stub is rejected, overridden and merged."""

import json
import re
from collections.abc import Iterator
from math import ceil
from typing import Any, Final

from tests.golden.golden import HERE, Golden
from tests.golden.redis_keys import is_durable
from tests.world.changes import ISSUE, STUB
from tests.world.world import World

FLEETING_S: Final = 3_600
"""Keys with a shorter life may have expired already."""
DAY_S: Final = 86_400
PARTS: Final = (
    (re.compile(r"\b[0-9a-f]{40}\b"), "{commit}"),
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "{id}"),
    (re.compile(r"\b[0-9a-f]{16,64}\b"), "{hash}"),
    (re.compile(r"\b\d+\b"), "{number}"),
)


def test_conversation_leaves_golden_redis_keys_and_log_fields(world: World, golden: Golden) -> None:
    before = sum(bool(line.fields) for line in world.product.log.lines)
    issue = world.alice.write_issue(*ISSUE)
    pull = world.open_and_judge(files=STUB, body=f"Closes #{issue.number}")
    assert pull.check.conclusion == "failure"
    world.comment_and_wait(pull, "/override it is needed today", by=world.alice)
    world.wait_after(world.alice.merge(pull))

    with world.redis.client as client:
        names = sorted(find_keys(client, world.repository.id))
        keys = {mask_ids(name): describe_key(client, name, world.repository.id) for name in names}
    golden.check_json("conversation_redis_durable.json", {name: keys[name] for name in keys if is_durable(name)})
    golden.check_json("conversation_redis_transient.json", {name: keys[name] for name in keys if not is_durable(name)})

    lines = [line.fields for line in world.product.log.lines if line.fields]
    always = set[str].intersection(*(set(fields) for fields in lines if "logger" in fields))
    golden.check_json("conversation_log.json", {"on every line of the worker": sorted(always)})
    known_fields = {*json.loads((HERE / "log_names.json").read_text())["fields"], *always, "exception"}
    assert {name for fields in lines[before:] for name in fields} <= known_fields, (
        "log_names.py does not find where these are logged"
    )


def find_keys(client: Any, repository: int) -> Iterator[str]:
    """The keys of the repository and its verdicts, without leases and queues, and the stream."""
    verdicts = set[str]()
    for name in client.scan_iter(f"assay:*:*:{repository}*"):
        if name.split(":")[3] != str(repository):
            continue
        if is_durable(name) or client.ttl(name) > FLEETING_S:
            yield name
        if ":ledger:" in name:
            verdicts.update(client.hkeys(name))
    for verdict in verdicts:
        yield from client.scan_iter(f"assay:*:{verdict}")
    yield from client.scan_iter("assay:*:events")


def describe_key(client: Any, name: str, repository: int) -> dict[str, Any]:
    """Type and time to live, and the field names of a durable key."""
    type_, seconds = client.type(name), client.ttl(name)
    layout: dict[str, Any] = {"type": type_, "days": None if seconds < 0 else ceil(seconds / DAY_S)}
    if type_ == "hash" and is_durable(name):
        layout["fields"] = sorted({mask_ids(field) for field in client.hkeys(name)})
    if type_ == "stream":
        layout["kinds"] = read_event_fields(client, name, repository)
    return layout


def read_event_fields(client: Any, name: str, repository: int) -> dict[str, list[str]]:
    """Field names of the repository's events, by kind."""
    fields_by_kind: dict[str, set[str]] = {}
    for _, fields in client.xrange(name):
        body = json.loads(fields["j"])
        if body["repository_id"] == repository:
            fields_by_kind.setdefault(fields["k"], set()).update(body)
    return {kind: sorted(names) for kind, names in fields_by_kind.items()}


def mask_ids(name: str) -> str:
    for part, placeholder in PARTS:
        name = part.sub(placeholder, name)
    return name
