"""Tests that pass and prove nothing.

Does not look at tests that were deleted or switched off (those met the letter of a green run). Invariant: a fact of this
family is about a test that the change adds or touches, at a line of it.
"""

from typing import Final

from worker.judge.heuristics.weak_test import (
    loosened,
    never_runs,
    swallowed,
    unasserted,
    unreached,
    untouched,
    vacuous,
    widened,
)
from worker.signals.signal import Signal

SIGNALS: Final[tuple[Signal, ...]] = (
    unasserted.test_empty,
    unasserted.test_result_unread,
    unasserted.test_without_assertion,
    unasserted.test_value_unread,
    vacuous.assertion_always_true,
    vacuous.assertion_idle,
    vacuous.matcher_not_called,
    vacuous.expectation_not_awaited,
    vacuous.test_expects_presence_only,
    vacuous.test_expects_success_only,
    vacuous.any_error_expected,
    loosened.assertion_dropped,
    loosened.assertion_removed,
    loosened.assertion_loosened,
    widened.assertion_widened,
    swallowed.failure_swallowed,
    unreached.assertion_unreached,
    unreached.assertion_behind_switch,
    unreached.assertion_conditional,
    untouched.test_of_nothing_changed,
    never_runs.new_test_skipped,
    never_runs.new_test_may_fail,
    never_runs.test_shadowed,
)
