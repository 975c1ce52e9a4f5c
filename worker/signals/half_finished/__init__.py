"""Signals for work that stops half-way: stubs, empty bodies, code that nothing calls, leftovers."""

from typing import Final

from worker.signals.half_finished import (
    commented_out_code,
    conflict_marker,
    debug_leftovers,
    empty_body,
    empty_branch,
    missed_replacement,
    stub_body,
    uncalled_function,
    unfinished_todo,
    unused_import,
    unused_option,
    unused_type,
)
from worker.signals.signal import Signal

SIGNALS: Final[tuple[Signal, ...]] = (
    conflict_marker.conflict_marker,
    stub_body.stub_body,
    stub_body.stub_suspected,
    empty_body.body_does_nothing,
    empty_body.body_empty_suspected,
    unfinished_todo.unfinished_function,
    unfinished_todo.unfinished_todo,
    uncalled_function.function_uncalled,
    uncalled_function.function_uncalled_suspected,
    uncalled_function.parameter_unused,
    unused_option.option_unread,
    unused_type.type_unused,
    unused_import.import_unused,
    empty_branch.branch_empty,
    missed_replacement.site_left_out,
    debug_leftovers.debugger_left,
    debug_leftovers.debug_output,
    commented_out_code.commented_out_code,
)
