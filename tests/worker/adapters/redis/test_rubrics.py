"""A version of a rubric stands for one content."""

import pytest

from worker.adapters.redis.store import Store
from worker.errors import RubricRefused
from worker.judge.rubric import load_ci_check_rubric, load_pull_request_rubric, load_rubric, shipped_rubrics

EDITED = load_rubric().model_copy(update={"escalation_threshold": 0.123})
CHECKS, WHOLES = load_ci_check_rubric(), load_pull_request_rubric()


def test_the_first_use_of_a_version_says_what_it_stands_for(store: Store) -> None:
    for _ in range(2):
        store.rubrics.admit(load_rubric())
    with pytest.raises(RubricRefused, match=r"^rubrics/x\.yml was changed but still says version .*: raise it\. "):
        store.rubrics.admit(EDITED, "rubrics/x.yml")


def test_a_raised_version_or_another_id_is_another_rubric(store: Store) -> None:
    store.rubrics.admit(load_rubric())
    store.rubrics.admit(EDITED.model_copy(update={"version": "another"}))
    store.rubrics.admit(EDITED.model_copy(update={"id": "another"}))


def test_the_rubrics_that_no_model_reads_are_held_to_their_versions_too(store: Store) -> None:
    for one in shipped_rubrics():
        store.rubrics.admit(one)
    for edited in (CHECKS.model_copy(update={"passed": 0.9}), WHOLES.model_copy(update={"last": 0.6})):
        with pytest.raises(
            RubricRefused, match=f'^The rubric "{edited.id}" was changed but still says version "{edited.version}"'
        ):
            store.rubrics.admit(edited)


def test_to_look_remembers_nothing(store: Store) -> None:
    assert store.rubrics.check(load_rubric()) is None
    assert store.rubrics.check(EDITED) is None
    store.rubrics.admit(load_rubric())
    assert store.rubrics.check(load_rubric()) is None
    assert "raise it" in (store.rubrics.check(EDITED) or "")
