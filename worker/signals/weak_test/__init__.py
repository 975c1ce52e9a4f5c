"""Tests that pass and prove nothing.

Does not look at tests that were deleted or switched off (those met the letter of a green run). Invariant: a fact of this
family is about a test that the change adds or touches, at a line of it.
"""

from typing import Final

from worker.signals.signal import Signal
from worker.signals.weak_test import (
    assertion_loosened,
    failure_swallowed,
    missing_assertion,
    test_never_runs,
    unreachable_assertion,
    unrelated_test,
    vacuous,
    widened,
)

SIGNALS: Final[tuple[Signal, ...]] = (
    missing_assertion.test_empty,
    missing_assertion.test_result_unread,
    missing_assertion.test_without_assertion,
    missing_assertion.test_value_unread,
    vacuous.assertion_always_true,
    vacuous.assertion_idle,
    vacuous.matcher_not_called,
    vacuous.expectation_not_awaited,
    vacuous.test_expects_presence_only,
    vacuous.test_expects_success_only,
    vacuous.any_error_expected,
    assertion_loosened.assertion_dropped,
    assertion_loosened.assertion_removed,
    assertion_loosened.assertion_loosened,
    widened.assertion_widened,
    failure_swallowed.failure_swallowed,
    unreachable_assertion.assertion_unreached,
    unreachable_assertion.assertion_behind_switch,
    unreachable_assertion.assertion_conditional,
    unrelated_test.test_of_nothing_changed,
    test_never_runs.new_test_skipped,
    test_never_runs.new_test_may_fail,
    test_never_runs.test_shadowed,
)
