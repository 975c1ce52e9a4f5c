"""Signals for rules of the repository that a change breaks, and for a case that cites what is not there."""

from typing import Final

from worker.signals.signal import Signal
from worker.signals.spec_violation import case_citations, claimed_change_missing, repo_rules

SIGNALS: Final[tuple[Signal, ...]] = (
    repo_rules.forbidden_code_added,
    repo_rules.forbidden_path_touched,
    repo_rules.changelog_entry_missing,
    repo_rules.docstring_missing,
    repo_rules.rule_perhaps_broken,
    case_citations.cited_file_missing,
    case_citations.cited_line_missing,
    case_citations.cited_name_missing,
    case_citations.citation_doubtful,
    claimed_change_missing.claimed_change_missing,
)
