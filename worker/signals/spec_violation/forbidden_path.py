"""Rules about paths, held against the files that a change touches.

Does not decide what follows. Invariant: a generated file that its generator may have written anew is no breach of "do not
edit by hand"; only an edit that nothing in the change accounts for is one.
"""

import re
from collections.abc import Iterator
from typing import Final

from worker.domain.pattern import pattern
from worker.domain.verdict.verdict import Side
from worker.dossier.diff.parser import ChangeKind, FileDiff
from worker.dossier.repo_rules.rule import PathTouch, RepoRule, RuleKind
from worker.signals.analysis.change import AnalyzedFile, CodeChange
from worker.signals.spec_violation.generated_files import (
    CODE_FILES,
    GENERATED_FILES,
    LOCK_FILES,
    EditSource,
    find_edit_source,
)
from worker.signals.spec_violation.scopes import is_path_covered, is_path_match, is_root_path_match
from worker.signals.spec_violation.violation import RuleViolation


def find_path_violations(rule: RepoRule, change: CodeChange) -> Iterator[RuleViolation]:
    """The files that *rule* wants left alone and the change touches."""
    for target in rule.targets:
        for file in change.files:
            if _is_touched(rule, file.diff) and _is_target(target, file.diff, rule):
                yield from _build_violations(rule, target, file, change)


def _is_target(target: str, diff: FileDiff, rule: RepoRule) -> bool:
    paths = [diff.path, *([diff.old_path] if diff.change is ChangeKind.RENAMED and diff.old_path else [])]
    return any(is_path_match(target, path, rule.scope.root) and is_path_covered(rule.scope, path) for path in paths)


def _is_touched(rule: RepoRule, diff: FileDiff) -> bool:
    if PathTouch.CHANGE in rule.touches or rule.kind is RuleKind.OWN_PULL_REQUEST:
        return True
    wanted = {
        ChangeKind.ADDED: PathTouch.ADD,
        ChangeKind.COPIED: PathTouch.ADD,
        ChangeKind.DELETED: PathTouch.REMOVE,
        ChangeKind.RENAMED: PathTouch.REMOVE,
    }
    return wanted.get(diff.change) in rule.touches


def _build_violations(rule: RepoRule, target: str, file: AnalyzedFile, change: CodeChange) -> Iterator[RuleViolation]:
    sure = rule.is_sure and not is_path_requested(change, target)
    by_hand = rule.is_by_hand or LOCK_FILES.search(target) is not None or GENERATED_FILES.search(target) is not None
    if rule.kind is RuleKind.OWN_PULL_REQUEST:
        if not any(CODE_FILES.search(other.path) for other in change.files if other is not file):
            return
        sure = sure and not _BUMPS.search(change.dossier.pull_request.title)
        what = "this change also changes code"
    elif by_hand:
        written = find_edit_source(file, target, change, is_copy=_COPY.search(rule.origin.text) is not None)
        if written is EditSource.TOOL:
            return
        sure, what = sure and written is EditSource.HAND, _EDIT_TEXTS[written]
    else:
        what = f"this change touches {file.path}"
    is_exact = by_hand or is_root_path_match(target, file.path, rule.scope.root)
    path, line, side = _first_line(file)
    yield RuleViolation(rule, what, sure and is_exact, path, line, side)


_EDIT_TEXTS: Final = {
    EditSource.HAND: "this change edits it, and nothing in the change would have generated that",
    EditSource.UNKNOWN: "this change edits it, and whether a tool wrote that, it does not show",
}
_COPY: Final = pattern(r"vendor|third[- ]party code|upstream|\bcop(?:y|ied)\b", re.IGNORECASE)
_BUMPS: Final = pattern(
    r"\b(?:bump|upgrade|update|dep|deps|dependenc\w+|migrate|version|pin|unpin|release|msrv|edition|switch to|replace|remove)\b",
    re.IGNORECASE,
)
"""A change about a dependency is that dependency's own pull request, with the code that follows from it."""


def _first_line(file: AnalyzedFile) -> tuple[str, int | None, Side]:
    added = next((line.head_line for line in file.diff.added_lines), None)
    if added is not None:
        return file.path, added, Side.HEAD
    removed = next((line.base_line for line in file.diff.removed_lines), None)
    if removed is None:
        return file.path, None, Side.HEAD
    return file.diff.old_path or file.path, removed, Side.BASE


def is_path_requested(change: CodeChange, target: str) -> bool:
    """Whether an issue names the path: then its owner may have asked for it."""
    name = target.rstrip("/*").rpartition("/")[2]
    asked = " ".join(f"{issue.title} {issue.body}" for issue in change.dossier.issues)
    return len(name) > 3 and name in asked  # noqa: PLR2004 - shorter names stand in every text
