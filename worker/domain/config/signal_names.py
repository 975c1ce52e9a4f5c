"""The names of all signals, for what is read without a judge: a repository's configuration and its schema.

They are the names of `worker.signals.registry`, and those of signals that were removed.
"""

from typing import TYPE_CHECKING, Final, Literal

_NAMES: Final = """
any_error_expected asks_for_test_environment assertion_always_true assertion_behind_switch assertion_conditional
assertion_dropped assertion_idle assertion_loosened assertion_removed assertion_unreached assertion_widened
body_does_nothing body_empty_suspected branch_empty branch_on_test_input branch_on_test_runner
changelog_entry_missing check_cannot_fail check_may_not_fail check_removed citation_doubtful cited_file_missing
cited_line_missing cited_name_missing claim_shows_nothing claimed_change_missing commented_out_code
conflict_marker constant_result debug_output debugger_left docs_not_changed docstring_missing double_under_test
empty_diff expectation_not_awaited expected_value_returned failure_swallowed forbidden_code_added
forbidden_path_touched foreign_code_edited function_uncalled function_uncalled_suspected import_unused
lock_file_alone matcher_not_called name_not_found new_test_may_fail new_test_skipped nothing_done_in_ci
option_unread parameter_unused path_not_changed rule_perhaps_broken scratch_file site_left_out sleep_added
stray_file strictness_off stub_body stub_suspected table_of_test_values test_deleted test_deleted_alone
test_disabled test_disabled_explained test_empty test_expects_presence_only test_expects_success_only test_hidden
test_not_found test_of_nothing_changed test_only test_result_unread test_shadowed test_value_unread
test_without_assertion tests_left_out type_unused unasked_bump unfinished_function unfinished_todo unrelated_file
verdict_planted
"""
_RETIRED: Final = """
assertion_repeated check_announced_only cited_line_differs claim_outside_change conflict_suspected double_compared
expectation_changed expected_computed_alike expected_is_result handler_unrouted placeholder_value reformatted
retries_added snapshot_rewritten test_branch_empty test_unmarked threshold_lowered
"""
SIGNAL_NAMES: Final = tuple(_NAMES.split())
RETIRED_SIGNALS: Final = frozenset(_RETIRED.split())
"""Signals of the past. Policies and rubrics may name them, and nothing comes of it."""

if TYPE_CHECKING:
    SignalName = str
else:
    SignalName = Literal[*sorted({*SIGNAL_NAMES, *RETIRED_SIGNALS})]
