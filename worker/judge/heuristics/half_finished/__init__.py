"""Signals for work that stops half-way: stubs, empty bodies, code that nothing calls, leftovers.

Does not ask whether what is finished is right. Invariant: a fact is about a function or a line that the change adds, and
says no more than what stands there.
"""

from typing import Final

from worker.judge.heuristics.half_finished import (
    branches,
    commented,
    conflicts,
    debugging,
    hollow,
    imports,
    notes,
    options,
    sites,
    stubs,
    unnamed,
    unused,
)
from worker.signals.signal import Signal

SIGNALS: Final[tuple[Signal, ...]] = (
    conflicts.conflict_marker,
    stubs.stub_body,
    stubs.stub_suspected,
    hollow.body_does_nothing,
    hollow.body_empty_suspected,
    notes.unfinished_function,
    notes.unfinished_todo,
    unused.function_uncalled,
    unused.function_uncalled_suspected,
    unused.parameter_unused,
    options.option_unread,
    unnamed.type_unused,
    imports.import_unused,
    branches.branch_empty,
    sites.site_left_out,
    debugging.debugger_left,
    debugging.debug_output,
    commented.commented_out_code,
)
