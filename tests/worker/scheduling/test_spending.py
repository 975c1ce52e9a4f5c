"""Whose pull requests a model is asked about."""

import pytest

from tests.worker.adapters.redis.played import pull, wish
from tests.worker.publishing.texts.samples import dossier
from worker.adapters.redis.store import Store
from worker.domain.dossier.dossier import ConfigOrigin, ConfigText, Dossier
from worker.domain.request.judge_request import MANUAL_TRIGGERS, JudgeRequest, Trigger
from worker.scheduling.spending import SpendingPolicy

EVERYONE = (ConfigText(origin=ConfigOrigin.REPOSITORY, text="ask_model_for: everyone\n"),)


def by(author: str, *, is_from_fork: bool | None, config: tuple[ConfigText, ...] = ()) -> Dossier:
    raw = dossier(config=config)
    changes = {"author": author, "is_from_fork": is_from_fork}
    return raw.model_copy(update={"pull_request": raw.pull_request.model_copy(update=changes)})


def spending(store: Store, *writers: str) -> SpendingPolicy:
    def may_write(request: JudgeRequest, login: str) -> bool:
        assert request.pull == pull()
        return login in writers

    return SpendingPolicy(store.decisions, may_write)


@pytest.mark.parametrize(
    ("read", "is_allowed"),
    [
        (by("mallory", is_from_fork=False), True),
        (by("mallory", is_from_fork=None), True),
        (by("mallory", is_from_fork=True), False),
        (by("bob", is_from_fork=True), True),
        (by("mallory", is_from_fork=True, config=EVERYONE), True),
    ],
    ids=["own branch", "not known", "a stranger's fork", "a writer's fork", "for everyone"],
)
def test_a_strangers_fork_may_not_spend(store: Store, read: Dossier, *, is_allowed: bool) -> None:
    store.pulls.request_judging(wish())
    assert spending(store, "bob").is_allowed(wish(), read) is is_allowed


@pytest.mark.parametrize("trigger", sorted(MANUAL_TRIGGERS))
def test_once_an_account_with_write_access_asked_it_may_from_then_on(store: Store, trigger: Trigger) -> None:
    store.pulls.request_judging(wish())
    who, read = spending(store), by("mallory", is_from_fork=True)
    assert not who.is_allowed(wish(), read)
    assert who.is_allowed(wish(trigger=trigger), read)
    assert who.is_allowed(wish(trigger=Trigger.PUSHED), read)
