"""Signals for tests that pass and prove nothing. A fact is about a test that the change adds or touches."""

from typing import Final

from worker.signals.signal import Signal
from worker.signals.weak_test import (
    assertion_loosened,
    assertion_widened,
    failure_swallowed,
    missing_assertion,
    test_never_runs,
    unreachable_assertion,
    unrelated_test,
    vacuous_assertion,
)

SIGNALS: Final[tuple[Signal, ...]] = (
    missing_assertion.test_empty,
    missing_assertion.test_result_unread,
    missing_assertion.test_without_assertion,
    missing_assertion.test_value_unread,
    vacuous_assertion.assertion_always_true,
    vacuous_assertion.assertion_idle,
    vacuous_assertion.matcher_not_called,
    vacuous_assertion.expectation_not_awaited,
    vacuous_assertion.test_expects_presence_only,
    vacuous_assertion.test_expects_success_only,
    vacuous_assertion.any_error_expected,
    assertion_loosened.assertion_dropped,
    assertion_loosened.assertion_removed,
    assertion_loosened.assertion_loosened,
    assertion_widened.assertion_widened,
    failure_swallowed.failure_swallowed,
    unreachable_assertion.assertion_unreached,
    unreachable_assertion.assertion_behind_switch,
    unreachable_assertion.assertion_conditional,
    unrelated_test.test_of_nothing_changed,
    test_never_runs.new_test_skipped,
    test_never_runs.new_test_may_fail,
    test_never_runs.test_shadowed,
)
