"""What a pull request or a commit says of earlier ones: that it takes them back, or that it fixes something.

Reads text and keeps none. Does not believe it: whether the commit is one of ours, and whether the lines are, is looked up.
Invariant: never raises; what is not worded as git or GitHub word it takes nothing back.
"""

import re
from collections.abc import Sequence
from typing import Final

from worker.domain.ids import Sha
from worker.domain.pattern import pattern
from worker.dossier.issue_links import find_closing_links

MOST_COMMITS: Final = 20
"""Commits that one push may take back."""

REVERTED_COMMIT: Final = pattern(r"^This reverts commit ([0-9a-f]{40})\b", re.MULTILINE)
"""git's own wording; that of a merge goes on with `, reversing`."""

REVERTING_BRANCH: Final = pattern(r"revert-(\d{1,9})-.+")
"""What GitHub's Revert button calls its branch."""

REVERTED_PULL: Final = pattern(r"^Reverts (?:([\w.-]{1,100}/[\w.-]{1,100}))?#(\d{1,9})\b", re.MULTILINE)
"""What it writes into the body."""

FIX_PATTERN: Final = pattern(
    r"(?<![\w-])(?:fix|fixes|fixed|bugfix|hotfix|revert|reverts|reverted)(?![\w-])", re.IGNORECASE
)


def find_reverted_commits(message: str) -> tuple[Sha, ...]:
    """The commits that a commit says it takes back."""
    return tuple(dict.fromkeys(REVERTED_COMMIT.findall(message)))[:MOST_COMMITS]


def find_reverted_pulls(branch: str, body: str, repository: str) -> tuple[int, ...]:
    """The pull request that GitHub's Revert button took back in this one: branch and body have to name the same."""
    named = REVERTING_BRANCH.fullmatch(branch)
    if named is None:
        return ()
    numbers = {int(number) for where, number in REVERTED_PULL.findall(body) if (where or repository) == repository}
    return (int(named[1]),) if int(named[1]) in numbers else ()


def is_declared_revert(title: str, body: str, messages: Sequence[str]) -> bool:
    """Whether a pull request says of itself that it takes earlier ones back and does nothing else.

    A body that comes to speak of a revert further down is that of a change with more in it.
    """
    begins = REVERTED_COMMIT.match(body.strip()) or REVERTED_PULL.match(body.strip())
    is_all = bool(messages) and all(REVERTED_COMMIT.search(message) for message in messages)
    return _REVERTS.match(title) is not None or begins is not None or is_all


_REVERTS: Final = pattern(r"\W{0,3}revert(?:s|ed|ing)?\b", re.IGNORECASE)
"""git's `Revert "..."`, a conventional commit's `revert: ...`, and what people write."""


def is_declared_fix(title: str, body: str, repository: str) -> bool:
    """Whether a pull request says that it fixes something: by its title, or by closing an issue."""
    return FIX_PATTERN.search(title) is not None or bool(find_closing_links(body, repository))
