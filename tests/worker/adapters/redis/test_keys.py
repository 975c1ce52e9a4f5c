"""Redis keys: their names, patterns and lifetimes."""

from collections.abc import Callable
from fnmatch import fnmatchcase
from inspect import isfunction, signature, unwrap
from typing import cast

import pytest

from worker.adapters.redis import keys
from worker.adapters.redis.keys import Key
from worker.domain.judge_request import PullRef
from worker.domain.model import DeliveryId, EvalId, InstallationId, RepositoryId

PULL = PullRef(installation_id=InstallationId(1), repository_id=RepositoryId(2), number=3)
ARGUMENTS = {
    "ref": PULL,
    "installation": InstallationId(1),
    "installation_id": InstallationId(1),
    "head_sha": "a" * 40,
    "delivery_id": DeliveryId("guid"),
    "eval_id": EvalId("e"),
    "guid": "guid",
    "name": "token",
    "fence": 7,
    "day": "2026-11-20",
    "repository": RepositoryId(2),
    "base": "b" * 32,
    "what": "pull",
    "number": 3,
}


def every_key() -> list[Key]:
    fixed = [value for value in vars(keys).values() if isinstance(value, Key)]
    fixed += [key for value in vars(keys).values() if isinstance(value, keys.QueueKeys) for key in value.keys]
    makers = [
        cast("Callable[..., Key]", value)
        for value in vars(keys).values()
        if isinstance(value, keys.KeyKind)
        or (isfunction(unwrap(value)) and signature(value).return_annotation is Key)  # a cached function is wrapped
    ]
    return [*fixed, *(maker(*(ARGUMENTS[name] for name in signature(maker).parameters)) for maker in makers)]


def test_keys_have_one_prefix_and_are_unique() -> None:
    names = [key.name for key in every_key()]
    assert len(names) > 10
    assert len(set(names)) == len(names)
    assert all(name.startswith("assay:") for name in names)


def test_pull_request_key_is_parsed_back() -> None:
    assert keys.parse_pull(keys.pull(PULL).name) == PULL


@pytest.mark.parametrize(
    ("pattern", "key"),
    [
        (keys.EVERY_NAME, keys.repository_numbers("acme/widgets")),
        (keys.any_pull_key("ledger"), keys.ledger(PULL)),
        (keys.any_installation_key(PULL.installation_id), keys.due(PULL.installation_id)),
        (keys.any_issue_pulls(PULL.installation_id), keys.issue_pulls(PULL.installation_id, "mark")),
        (keys.EVERY_PAUSE, keys.pause(PULL.installation_id, PULL.repository_id)),
        (f"{keys.pulls_of(PULL.installation_id)}*", keys.pull(PULL)),
    ],
)
def test_pattern_matches_its_keys(pattern: str, key: Key) -> None:
    assert fnmatchcase(key.name, pattern)


def test_permanent_key_has_no_lifetime() -> None:
    assert keys.LEADER.seconds == 60
    with pytest.raises(ValueError, match="stays for good"):
        _ = keys.COUNT.seconds


def test_pull_request_keys_have_a_prefix_that_their_repository_deletes() -> None:
    prefixes = tuple(keys.prefix(what, PULL.installation_id, PULL.repository_id) for what in keys.PULL_KEY_KINDS)
    names = [key.name for key in every_key() if f":{PULL.repository_id}:{PULL.number}" in key.name]
    assert len(names) >= 8
    assert [name for name in names if not name.startswith(prefixes)] == []
