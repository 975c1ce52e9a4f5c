"""Rules for open, outdated, doubted, expired and orphaned check runs, each as a table."""

from typing import Any

import pytest

from tests.worker.domain.lifecycle.scenario import ABSENT, HEAD, NEWER, START
from worker.domain.check.check_run import CheckContent, Conclusion
from worker.domain.judge_request import Trigger
from worker.domain.lifecycle.check_runs import (
    CREATION_STARTED,
    CheckRunState,
    OutdatedCheckRun,
    claim,
    conclude,
    expire,
    find_doubt,
    find_outdated,
    forget,
    is_current,
    is_left_to_judge,
    is_long_closed,
    is_orphaned,
    open_check_run,
    release,
    reopen,
    rewrite_idle,
)
from worker.domain.lifecycle.judging import mark_reopened
from worker.domain.lifecycle.state import Phase
from worker.domain.model import CheckRunId

CHECK, OTHER = CheckRunId(77), CheckRunId(78)
DEADLINE = START + 1000
NONE = CheckRunState()
CREATING = CheckRunState(creator="a", open_check=CREATION_STARTED)
OPEN = CheckRunState(CHECK, None, CHECK, DEADLINE)
IDLE = OPEN._replace(is_idle=True)
CONCLUDED = CheckRunState(CHECK)
EXPIRED = CONCLUDED._replace(is_expiring=True)
LOST = CheckRunState(open_check=CREATION_STARTED)
QUEUED = CheckContent("", "", is_queued=True)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (NONE, CREATING),
        (LOST, CREATING),
        (CheckRunState(open_check=CHECK), CREATING._replace(open_check=CHECK)),
        (CREATING._replace(creator="b"), CREATING._replace(creator="b")),
        (OPEN, OPEN),
        (CONCLUDED, CONCLUDED),
    ],
)
def test_one_process_creates_a_check_run(before: CheckRunState, after: CheckRunState) -> None:
    assert claim(before, "a") == claim(after, "a") == after


@pytest.mark.parametrize(("creator", "after"), [("a", LOST), ("b", CREATING)])
def test_only_the_creator_releases_a_check_run_creation(creator: str, after: CheckRunState) -> None:
    assert release(CREATING, creator) == after


@pytest.mark.parametrize("before", [NONE, CREATING, LOST, OPEN, IDLE._replace(is_deferred=True), CONCLUDED, EXPIRED])
def test_each_write_sets_the_check_run_state(before: CheckRunState) -> None:
    for is_reopening in (True, False):
        before = before._replace(is_reopening=is_reopening)
        assert open_check_run(before, CHECK, DEADLINE) == OPEN._replace(is_reopening=is_reopening)
        waiting = open_check_run(before, CHECK, None, is_idle=True, is_deferred=True)
        assert waiting == CheckRunState(
            CHECK, None, CHECK, None, is_idle=True, is_deferred=True, is_reopening=is_reopening
        )
        assert conclude(before, CHECK) == CONCLUDED._replace(is_reopening=is_reopening)
        assert conclude(before) == CheckRunState(before.check, before.creator, is_reopening=is_reopening)
        assert forget(before) == LOST._replace(is_reopening=is_reopening)


@pytest.mark.parametrize("is_expiring", [True, False])
def test_reopened_check_run_is_idle_and_keeps_its_expiry(*, is_expiring: bool) -> None:
    before = OPEN._replace(is_reopening=True, is_expiring=is_expiring)
    assert reopen(before, CHECK, DEADLINE + 1) == before._replace(is_idle=True, deadline=DEADLINE + 1)


@pytest.mark.parametrize(
    ("before", "content", "after"),
    [
        (OPEN, QUEUED, OPEN),
        (CONCLUDED, QUEUED, CONCLUDED),
        (IDLE, QUEUED, IDLE._replace(deadline=DEADLINE + 1)),
        (IDLE, CheckContent("", "", is_queued=True, is_watched=False), IDLE._replace(deadline=None)),
        (IDLE, CheckContent("", "", is_watched=False), OPEN._replace(deadline=DEADLINE + 1)),
    ],
)
def test_idle_content_is_recorded_unless_a_judging_has_started(
    before: CheckRunState, content: CheckContent, after: CheckRunState
) -> None:
    assert rewrite_idle(before, CHECK, content, DEADLINE + 1) == after


@pytest.mark.parametrize(
    ("before", "after"), [(OPEN, EXPIRED), (IDLE, EXPIRED), (CONCLUDED, None), (EXPIRED, None), (LOST, None)]
)
def test_watchdog_concludes_only_the_open_check_run(before: CheckRunState, after: CheckRunState | None) -> None:
    assert expire(before, CHECK) == after
    assert expire(before, OTHER) is None


@pytest.mark.parametrize(
    ("state", "is_present", "is_announced"),
    [
        (NONE, False, False),
        (LOST, False, False),
        (CREATING, True, False),
        (CONCLUDED, True, False),
        (IDLE, True, True),
        (IDLE._replace(is_deferred=True), True, False),
        (IDLE._replace(deadline=None), True, False),
    ],
)
def test_check_run_is_present_once_claimed_and_announced_while_watched(
    state: CheckRunState, *, is_present: bool, is_announced: bool
) -> None:
    assert (state.is_present, state.is_announced) == (is_present, is_announced)


STALE: dict[str, Any] = {"head": HEAD, "phase": Phase.DUE, "outdated_by": Trigger.EDITED}
BY_EDIT, BY_RETURN = OutdatedCheckRun(CHECK, Trigger.EDITED), OutdatedCheckRun(CHECK, None)


@pytest.mark.parametrize(
    ("changes", "state", "published_state", "expected"),
    [
        ({}, CONCLUDED, Conclusion.FAILURE, BY_EDIT),
        ({"phase": Phase.DISPATCHED}, CONCLUDED, Conclusion.FAILURE, BY_EDIT),
        ({}, CONCLUDED, Conclusion.CANCELLED, BY_EDIT),
        ({"is_reopening": True}, OPEN, "in_progress", BY_EDIT),
        ({"is_reopening": True}, CONCLUDED, Conclusion.SKIPPED, BY_EDIT),
        ({"phase": Phase.JUDGING}, CONCLUDED, Conclusion.CANCELLED, BY_RETURN),
        ({"outdated_by": None}, CONCLUDED, Conclusion.CANCELLED, BY_RETURN),
        ({"outdated_by": None, "phase": None}, CONCLUDED, Conclusion.CANCELLED, BY_RETURN),
        ({}, NONE, "", None),
        ({}, CREATING, "", None),
        ({}, CONCLUDED, Conclusion.SKIPPED, None),
        ({}, OPEN, "in_progress", None),
        ({}, OPEN, Conclusion.CANCELLED, None),
        ({"head": NEWER}, CONCLUDED, Conclusion.CANCELLED, None),
        ({"closed_at": START}, CONCLUDED, Conclusion.CANCELLED, None),
        ({"phase": Phase.JUDGING}, CONCLUDED, Conclusion.FAILURE, None),
        ({"phase": Phase.JUDGING, "is_reopening": True}, CONCLUDED, Conclusion.FAILURE, None),
        ({"phase": None}, CONCLUDED, Conclusion.FAILURE, None),
        ({"outdated_by": None}, CONCLUDED, Conclusion.FAILURE, None),
    ],
)
def test_only_outdated_check_runs_of_the_newest_head_are_reopened(
    changes: dict[str, Any], state: CheckRunState, published_state: str, expected: OutdatedCheckRun | None
) -> None:
    assert find_outdated(ABSENT._replace(**{**STALE, **changes}), state, HEAD, published_state) == expected


@pytest.mark.parametrize(("is_reopening", "outdated_by"), [(True, None), (False, Trigger.EDITED)])
def test_reopened_verdict_is_marked_once_per_event(*, is_reopening: bool, outdated_by: Trigger | None) -> None:
    pull = mark_reopened(ABSENT._replace(outdated_by=Trigger.EDITED, is_reopening=is_reopening))
    assert (pull.outdated_by, pull.is_reopening) == (outdated_by, False)


@pytest.mark.parametrize(
    ("phase", "closed_at", "is_closed"),
    [
        (None, None, False),
        (None, START - 600_000, False),
        (None, START - 600_001, True),
        (Phase.DUE, START - 600_001, False),
    ],
)
def test_closed_pull_request_is_long_closed_after_the_age_of_the_list(
    phase: Phase | None, closed_at: float | None, *, is_closed: bool
) -> None:
    assert is_long_closed(ABSENT._replace(phase=phase, closed_at=closed_at), START) is is_closed


@pytest.mark.parametrize(
    ("phase", "head", "state", "expected"),
    [
        (None, HEAD, CONCLUDED, True),
        (None, None, CONCLUDED, True),
        (None, NEWER, CONCLUDED, False),
        (Phase.JUDGING, NEWER, CONCLUDED, True),
        (None, HEAD, CREATING, True),
        (None, HEAD, NONE, False),
        (Phase.DUE, HEAD, LOST, False),
    ],
)
def test_check_run_is_current_for_the_judged_or_newest_head(
    phase: Phase | None, head: str | None, state: CheckRunState, *, expected: bool
) -> None:
    assert is_current(ABSENT._replace(phase=phase, head=head), state, HEAD) is expected


@pytest.mark.parametrize(
    ("changes", "state", "served_run", "server_run", "doubt"),
    [
        ({}, CONCLUDED, None, "run-2", "run-2 3 5"),
        ({"served_run": "run-1"}, CONCLUDED, "run-2", "run-2", "run-2 3 5"),
        ({}, CONCLUDED, "run-1", "run-2", "run-2 3 5"),
        ({"fence": None, "seq": None}, NONE, None, "run-2", "run-2 0 0"),
        ({}, CONCLUDED, None, None, ""),
        ({"served_run": "run-2"}, CONCLUDED, "run-1", "run-2", ""),
        ({}, CONCLUDED, "run-2", "run-2", ""),
        ({"phase": Phase.DUE}, CONCLUDED, None, "run-2", ""),
        ({}, OPEN, None, "run-2", ""),
        ({}, LOST, None, "run-2", ""),
    ],
)
def test_conclusion_is_in_doubt_until_the_new_server_saw_it(
    changes: dict[str, Any], state: CheckRunState, served_run: str | None, server_run: str | None, doubt: str
) -> None:
    pull = ABSENT._replace(**{"fence": 3, "seq": 5, **changes})
    assert find_doubt(pull, state, served_run, server_run) == doubt


@pytest.mark.parametrize(
    ("changes", "is_left", "has_none"),
    [
        ({}, False, False),
        ({"seq": 1}, False, True),
        ({"seq": 1, "outage_count": 1}, False, True),
        ({"seq": 1, "phase": Phase.DUE}, False, False),
        ({"seq": 1, "phase": Phase.DUE, "outage_count": 0}, True, False),
        ({"seq": 1, "phase": Phase.DISPATCHED, "waiting_since": START}, True, False),
    ],
)
def test_open_check_run_is_left_to_a_waiting_judging_or_orphaned(
    changes: dict[str, Any], *, is_left: bool, has_none: bool
) -> None:
    pull = ABSENT._replace(**changes)
    assert (is_left_to_judge(pull), is_orphaned(pull)) == (is_left, has_none)
