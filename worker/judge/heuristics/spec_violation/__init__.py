"""spec_violation: explicit rules of the repository that a change breaks, and a case that cites what is not there.

Does not hold opinions on style: a rule that is not understood to its last word makes a suspicion at most. Invariant: every
finding quotes the rule with its line, or names what the case cites.
"""

from typing import Final

from worker.judge.heuristics.spec_violation import cases, claims, rules
from worker.signals.signal import Signal

SIGNALS: Final[tuple[Signal, ...]] = (
    rules.forbidden_code_added,
    rules.forbidden_path_touched,
    rules.changelog_entry_missing,
    rules.docstring_missing,
    rules.rule_perhaps_broken,
    cases.cited_file_missing,
    cases.cited_line_missing,
    cases.cited_name_missing,
    cases.citation_doubtful,
    claims.claimed_change_missing,
)
