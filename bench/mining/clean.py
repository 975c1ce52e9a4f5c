"""Which commits of a history count as clean: ordinary work of moderate size that nobody had to take back.

Looks at messages and paths; `fits` at a diff. Invariant: the choice depends on the history alone, not on the machine.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from bench.mining.history import Commit

LANGUAGES: Final = {
    "py": "python",
    **dict.fromkeys(("js", "jsx", "mjs", "cjs"), "javascript"),
    **dict.fromkeys(("ts", "tsx", "mts", "cts"), "typescript"),
    "go": "go",
    "rs": "rust",
    "java": "java",
    "rb": "ruby",
    "cs": "csharp",
    "php": "php",
    "kt": "kotlin",
}
CHORE: Final = re.compile(
    r"^(?:revert|reapply|merge|wip|fixup!|squash!|amend!|release|prepare|bump|version|v?\d+\.\d+|back-?port|publish)\b"
    r"|^(?:chore|build|fix|deps?)\((?:release|deps?)[^)]*\)|^chore: (?:release|version|bump)|\bRelease v?\d"
    r"|^\W*(?:revert|reland|update (?:dependenc|lock|pre-commit|contributors))|\b(?:pre-commit autoupdate|changelog)\b"
    r"|^(?:\w+: )?(?:bump|upgrade|update) \S+ (?:from|to) ",
    re.IGNORECASE,
)
BOT: Final = re.compile(r"\[bot\]|dependabot|renovate|pre-commit-ci|github-actions|-bot\b", re.IGNORECASE)
SIDE_BRANCH: Final = re.compile(r"dependabot|renovate|revert-|release|\b(?:main|master|develop)$", re.IGNORECASE)
TAKEN_BACK: Final = re.compile(r"This reverts commit ([0-9a-f]{7,40})|^Revert \"(.+)\"", re.MULTILINE)
MENTION: Final = re.compile(r"#(\d{1,7})\b|\b([0-9a-f]{8,40})\b")
BESIDE: Final = re.compile(
    r"(?:^|/)(?:vendor|third_party|node_modules|dist|generated|gen)/|\.lock$|-lock\.\w+$|\.min\.|\.snap$|\.pb\.go$"
    r"|(?:^|/)go\.sum$"
)
TEST: Final = re.compile(
    r"(?:^|/)(?:tests?|testing|__tests__|spec)/|(?:^|/)test_[^/]*\.py$|_test\.(?:py|go|rs)$|\.(?:test|spec)\.\w+$"
    r"|Tests?\.(?:java|cs|php|kt)$|_(?:spec|test)\.rb$|\.Tests?/|-test\.[cm]?[jt]s$"
)
LOOSENS: Final = re.compile(
    r"\b(?:disabl|skip|ignor|allow(?:ed)? (?:to )?fail|flak|quarantin|xfail|temporar|loosen|relax|lower|remove test"
    r"|drop test|continue-on-error)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Size:
    """Of a change: how many files, added lines and changed lines."""

    files: int
    added: int
    lines: int


MOST: Final = Size(files=20, added=600, lines=900)
LEAST_ADDED: Final = 3


def language_of(path: str) -> str | None:
    return LANGUAGES.get(path.rpartition(".")[2]) if "." in path else None


def is_test(path: str) -> bool:
    return TEST.search(path) is not None


def declares_a_loosening(commit: Commit) -> bool:
    """Its title says that it switches something off: a strict reader may argue about such a change."""
    return LOOSENS.search(commit.title) is not None


def clean(commits: Sequence[Commit], touching: Sequence[str] = ()) -> list[Commit]:
    """The commits, newest first, that are ordinary and that no later commit took back or came back to."""
    spoiled = _mentioned_later(commits)
    return [
        commit
        for commit in commits
        if commit.sha not in spoiled
        and _is_ordinary(commit)
        and len(commit.touched) <= MOST.files
        and (_touches(commit, touching) if touching else _has_code(commit))
    ]


def spread(commits: Sequence[Commit]) -> tuple[list[Commit], list[Commit]]:
    """Those with a test and those without, each in an order that is spread over the history."""
    ranked = sorted(commits, key=lambda commit: hashlib.sha256(commit.sha.encode()).digest())
    tested = [commit for commit in ranked if any(map(is_test, commit.touched))]
    return tested, [commit for commit in ranked if not any(map(is_test, commit.touched))]


def size_of(diff: str) -> Size | None:
    """None where a binary file is changed, which is no text to judge."""
    if "\nBinary files " in diff or "\nGIT binary patch\n" in diff:
        return None
    lines = diff.split("\n")
    added = sum(line.startswith("+") and not line.startswith("+++ ") for line in lines)
    removed = sum(line.startswith("-") and not line.startswith("--- ") for line in lines)
    return Size(sum(line.startswith("diff --git ") for line in lines), added, added + removed)


def fits(size: Size) -> bool:
    return LEAST_ADDED <= size.added <= MOST.added and size.lines <= MOST.lines and size.files <= MOST.files


def _mentioned_later(commits: Sequence[Commit]) -> set[str]:
    """Commits that a later one reverts or names: by sha, by pull request number, or by title behind "Revert"."""
    by_number = {str(commit.number): commit.sha for commit in reversed(commits) if commit.number is not None}
    by_title = {commit.title: commit.sha for commit in reversed(commits)}
    by_prefix = {commit.sha[:7]: commit.sha for commit in commits}
    spoiled: set[str] = set()
    for commit in commits:
        for sha, title in TAKEN_BACK.findall(commit.message):
            spoiled.add(by_prefix.get(sha[:7], ""))
            spoiled.add(by_title.get(title, by_title.get(title.rpartition(" (#")[0], "")))
        for number, sha in MENTION.findall(commit.message):
            named = by_number.get(number, "") if number else by_prefix.get(sha[:7], "")
            if named != commit.sha:
                spoiled.add(named)
    return spoiled


def _is_ordinary(commit: Commit) -> bool:
    if len(commit.parents) == 0 or BOT.search(commit.author) or CHORE.search(commit.title):
        return False
    branch = commit.merged_from
    if commit.is_merge and branch is None:
        return False
    return bool(commit.title) and not (branch and SIDE_BRANCH.search(branch))


def _has_code(commit: Commit) -> bool:
    return any(language_of(path) and not is_test(path) and not BESIDE.search(path) for path in commit.touched)


def _touches(commit: Commit, globs: Sequence[str]) -> bool:
    return any(fnmatchcase(path, glob) for path in commit.touched for glob in globs)


def main_language(paths: Iterable[str]) -> str:
    """The language of most of *paths*, `other` where none is known."""
    counts: dict[str, int] = {}
    for path in paths:
        known = language_of(path)
        if known:
            counts[known] = counts.get(known, 0) + 1
    return max(counts, key=lambda name: (counts[name], name)) if counts else "other"
