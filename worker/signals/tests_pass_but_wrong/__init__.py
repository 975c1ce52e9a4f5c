"""Signals for changes whose tests pass while the work is wrong: the proof was bent, not the code."""

from typing import Final

from worker.signals.signal import Signal
from worker.signals.tests_pass_but_wrong import (
    ci_weakened,
    hardcoded_result,
    prompt_injection,
    sleep_added,
    subject_mocked,
    test_deleted,
    test_disabled,
    test_environment_branch,
)

SIGNALS: Final[tuple[Signal, ...]] = (
    test_environment_branch.branch_on_test_runner,
    test_environment_branch.nothing_done_in_ci,
    test_environment_branch.asks_for_test_environment,
    test_deleted.test_deleted_alone,
    test_deleted.test_deleted,
    test_deleted.test_hidden,
    test_disabled.test_disabled,
    test_disabled.test_disabled_explained,
    test_disabled.test_only,
    hardcoded_result.expected_value_returned,
    hardcoded_result.constant_result,
    hardcoded_result.branch_on_test_input,
    hardcoded_result.table_of_test_values,
    ci_weakened.check_cannot_fail,
    ci_weakened.check_may_not_fail,
    ci_weakened.tests_left_out,
    ci_weakened.check_removed,
    ci_weakened.strictness_off,
    sleep_added.sleep_added,
    subject_mocked.double_under_test,
    prompt_injection.verdict_planted,
)
