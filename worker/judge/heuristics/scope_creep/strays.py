"""New files that nobody meant to commit, and edits of code that is not the repository's own.

Goes by names, and by what else the change holds. Invariant: a file that title, issue, criteria or case name is none.
"""

from collections.abc import Iterator
from typing import Final

from worker.domain.diff import ChangeKind
from worker.domain.pattern import pattern
from worker.domain.verdict import Category
from worker.judge.heuristics.change import Change, ChangedFile
from worker.judge.heuristics.relatedness import NAME
from worker.judge.heuristics.scope_creep.unrelated import asked_by, first_change, is_code
from worker.judge.heuristics.signal import Kind, Looks, Place, signal

_LONGEST_NAME: Final = 100

_LEFT_BY_TOOLS: Final = pattern(
    r"(^|/)(\.DS_Store|Thumbs\.db|desktop\.ini|nohup\.out|\.coverage|\.eslintcache|npm-debug\.log[\w.]*|yarn-error\.log"
    r"|flycheck_[^/]+|\.?#[^/]+|[^/]+\.(orig|rej|bak|backup|swp|swo|pyc|pyo|class|o|obj|stackdump|hprof|pid)|[^/]+~)$"
    r"|(^|/)(__pycache__|node_modules|\.venv|site-packages|\.pytest_cache|\.mypy_cache|\.ruff_cache|\.tox|\.gradle|\.idea"
    r"|htmlcov|\.ipynb_checkpoints)/"
)
_SCRATCH: Final = pattern(
    r"[^/]+\.(log|tmp|temp|out|patch|diff|dump|sqlite3?|db)"
    r"|((re)?pro(duce)?|repro|scratch|tmp|temp|foo|bar|baz|asdf|untitled|playground|debug|deleteme|try|quick|simple|verify"
    r"|check|demo|run|final|comprehensive|manual|edge)([_-]?(test|bug|issue|fix|script|case|check|it|me|demo|cases|final|v)"
    r"|[_-]\w+)?\d*\.(py|js|mjs|cjs|ts|go|rs|java|rb|php|sh|txt|md|ipynb)"
    r"|test(_\w*)?(_fix|_bug|_issue|_repro|_manual|_simple|_debug|_scratch|_tmp|_final|_comprehensive)\w*\.(py|js|ts|rb|sh)"
    r"|(test|new|old|copy|temp)\d?\.(py|js|ts|go|rs|java|rb|sh|txt)"
)
_THEIRS: Final = pattern(r"(^|/)(vendor|vendored|_vendor|third[-_]?party|node_modules|site-packages|external|extern)/")
_FETCHED_BY: Final = pattern(
    r"(^|/)(go\.(mod|sum)|modules\.txt|package(-lock)?\.json|yarn\.lock|[\w.-]*requirements[\w.-]*\.txt|vendor\.(txt|json|conf)"
    r"|\.gitmodules|composer\.(json|lock)|Cargo\.(toml|lock)|pyproject\.toml)$|vendor\w*\.(py|sh|toml|ya?ml|txt)$"
)


@signal(Category.SCOPE_CREEP, Kind.SUSPICION, Looks.ANYTHING)
def stray_file(change: Change) -> Iterator[Place]:
    """A new file is called like what tools and trial runs leave behind: a backup, a cache, a scratch script at the root.

    False alarms: 3 of 5054 clean changes with anything (0.1 %, at most 0.17 %).
    """
    for file in change.files:
        if file.diff.change is ChangeKind.ADDED and _is_stray(file) and not _is_named(file, change):
            line, side = first_change(file)
            yield Place("this file looks left behind by a tool or a trial run", file.path, line, side=side)


@signal(Category.SCOPE_CREEP, Kind.SUSPICION, Looks.ANYTHING)
def foreign_code_edited(change: Change) -> Iterator[Place]:
    """Vendored code was edited beside the repository's own, and nothing in the change fetched it anew.

    False alarms: 0 of 5054 clean changes with anything (0.0 %, at most 0.08 %).
    """
    if not any(map(is_code, change.files)) or any(_FETCHED_BY.search(file.path) for file in change.files):
        return
    for file in change.files:
        if file.diff.change is ChangeKind.MODIFIED and _THEIRS.search(file.path) and not _is_named(file, change):
            line, side = first_change(file)
            yield Place("code of a third party was edited in place", file.path, line, side=side)


def _is_stray(file: ChangedFile) -> bool:
    if _LEFT_BY_TOOLS.search(file.path):
        return True
    if "/" in file.path or len(file.path) > _LONGEST_NAME:
        return False
    return file.diff.is_binary or _SCRATCH.fullmatch(file.path) is not None


def _is_named(file: ChangedFile, change: Change) -> bool:
    """Whether somebody speaks of the file."""
    names = set(NAME.findall(file.path.rpartition("/")[2].partition(".")[0]))
    return bool(names) and names <= change.once(asked_by).names
