"""Signals for changes whose tests pass while the work is wrong: what was bent is the proof, not the code.

Does not run tests. Invariant: each signal says what stands in the change, never what its author meant.
"""

from typing import Final

from worker.judge.heuristics.tests_pass_but_wrong import (
    ci,
    disabled,
    doubles,
    environment,
    literals,
    lost,
    planted,
    races,
    strictness,
)
from worker.signals.signal import Signal

SIGNALS: Final[tuple[Signal, ...]] = (
    environment.branch_on_test_runner,
    environment.nothing_done_in_ci,
    environment.asks_for_test_environment,
    lost.test_deleted_alone,
    lost.test_deleted,
    lost.test_hidden,
    disabled.test_disabled,
    disabled.test_disabled_explained,
    disabled.test_only,
    literals.expected_value_returned,
    literals.constant_result,
    literals.branch_on_test_input,
    literals.table_of_test_values,
    ci.check_cannot_fail,
    ci.check_may_not_fail,
    ci.tests_left_out,
    ci.check_removed,
    strictness.strictness_off,
    races.sleep_added,
    doubles.double_under_test,
    planted.verdict_planted,
)
