"""Two versions run side by side over one Redis: each reads what the other wrote, or leaves it to the other.

`written_before.json` holds what an earlier version stored, as it stored it; it is added to, never edited.
"""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from tests.worker.adapters.redis.played import comes_again, command, pull, wish
from tests.worker.adapters.redis.watching import happening
from worker.adapters.redis import keys
from worker.adapters.redis.connection import versioned_json
from worker.adapters.redis.connection.versioned_json import read_json, read_json_or_none
from worker.adapters.redis.keys import COMMANDS, PULL_REQUEST_EVENTS
from worker.adapters.redis.store import Store
from worker.domain.dossier import Dossier
from worker.domain.judge_request import CommandRequest, JudgeRequest, Trigger
from worker.domain.lifecycle.work import ExpiredCheckRun
from worker.domain.model import Frozen
from worker.domain.pull_request_events import PullRequestEvent, PullRequestEventKind
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.outcomes import Demotion

BEFORE: dict[str, Any] = json.loads(Path(__file__).with_name("written_before.json").read_text(encoding="utf-8"))
KINDS: dict[str, type[Frozen]] = {
    kind.__name__: kind
    for kind in (CommandRequest, Demotion, Dossier, PullRequestEvent, JudgeRequest, LedgerEntry, ExpiredCheckRun)
}
NESTED = ("pull", "verdict", "subject", "tally", "pull_request")


def of_a_later_version(value: Any) -> Any:
    """The same with a field that we don't know, here and in what is inside."""
    inside = {name: of_a_later_version(one) if name in NESTED else one for name, one in value.items()}
    return {**inside, "colour": ["red", {"since": 7}]}


def kind_of(name: str) -> type[Frozen]:
    return KINDS[name.split(maxsplit=1)[0]]


@pytest.mark.parametrize("name", BEFORE)
def test_what_the_version_before_stored_is_read_whole(name: str) -> None:
    found = read_json(kind_of(name), json.dumps(BEFORE[name]))
    assert json.loads(found.model_dump_json(exclude_unset=True)) == BEFORE[name]


@pytest.mark.parametrize("name", BEFORE)
def test_what_a_later_version_stores_is_read_but_for_what_only_that_knows(name: str) -> None:
    found = read_json(kind_of(name), json.dumps(of_a_later_version(BEFORE[name])))
    assert found == read_json(kind_of(name), json.dumps(BEFORE[name]))


def test_each_kind_of_stored_value_has_an_example() -> None:
    assert {name.split(maxsplit=1)[0] for name in BEFORE} == set(KINDS)


def test_a_request_for_a_reason_that_only_a_later_version_knows_is_judged_all_the_same(store: Store) -> None:
    said = wish().model_dump_json().replace('"pushed"', '"the_moon_is_full"')
    assert read_json(JudgeRequest, said).trigger is Trigger.LATE
    store.pulls.request_judging(wish())
    store.client.call("HSET", keys.pull(pull()).name, "req", said)
    request = store.pulls.find_request(pull())
    assert request is not None
    assert request.trigger is Trigger.LATE


def test_a_command_that_only_a_later_version_knows_is_left_to_it_and_nobody_waits_behind_it(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    store.commands.put(command("comment-1"))
    later = command("comment-1").model_dump_json().replace('"rejudge"', '"dance"')
    store.client.call("HSET", COMMANDS.texts.name, "comment-1", later)
    with caplog.at_level(logging.WARNING):
        assert store.commands.next() is None
    assert caplog.messages == ["left for a later version: CommandRequest in command"]
    assert "dance" not in caplog.text, "it is somebody's text"
    store.commands.put(command("comment-2"))
    found = store.commands.next()
    assert found is not None
    assert found.command == command("comment-2")
    comes_again(store, COMMANDS.order, "comment-1")
    assert store.client.call("HGET", COMMANDS.texts.name, "comment-1") == later.encode()


def test_what_happened_in_words_of_a_later_version_is_left_to_it(store: Store) -> None:
    one = happening(PullRequestEventKind.REVERTED)
    store.pull_request_events.put(one)
    said = one.model_dump_json().replace('"reverted"', '"danced"')
    store.client.call("HSET", PULL_REQUEST_EVENTS.texts.name, one.delivery_id, said)
    assert store.pull_request_events.next() is None
    assert read_json_or_none(PullRequestEvent, said) is None


def test_every_stored_value_is_read_this_way() -> None:
    folder = Path(versioned_json.__file__).parent
    strict = [
        f"{path.name}: {line.strip()}"
        for path in sorted(folder.glob("*.py"))
        for line in path.read_text(encoding="utf-8").splitlines()
        if "model_validate_json(" in line and 'extra="ignore"' not in line
    ]
    assert strict == []
