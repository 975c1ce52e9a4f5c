"""Which issues and earlier changes a text closes, reverts or fixes, and which version of an issue's text counts.

The wordings are those of GitHub and git.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from typing import Final

from worker.domain.dossier import LateEdit
from worker.domain.ids import Sha
from worker.domain.pattern import pattern
from worker.dossier.markdown import parse_blocks, skip_quotations, without_code_spans, without_comments

_NAME: Final = r"[\w.-]{1,100}/[\w.-]{1,100}"
_URL: Final = (
    rf"https?://(?P<host>[\w.-]{{1,253}})/(?P<url_repository>{_NAME})/(?:issues|pull)/(?P<url_number>\d{{1,9}})"
)
CLOSING_PATTERN: Final = pattern(
    r"(?<![\w-])(?:close[sd]?|fix(?:es|ed)?|resolve[sd]?)(?::[ \t]*|[ \t]+)"
    rf"(?:(?P<repository>{_NAME})?#(?P<number>\d{{1,9}})|{_URL})(?![\w/])",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class IssueLink:
    """An issue that a text names. `text` is what names it, as written."""

    repository: str
    number: int
    text: str


def find_closing_links(text: str, repository: str, host: str = "github.com") -> tuple[IssueLink, ...]:
    """The issues that *text* (Markdown of a pull request in *repository*) closes, each once, in order."""
    if "#" not in text and "://" not in text:
        return ()
    links: dict[tuple[str, int], IssueLink] = {}
    tokens = skip_quotations(parse_blocks(text))
    for prose in (token.content for token in tokens if token.type in {"inline", "html_block"}):
        for match in CLOSING_PATTERN.finditer(without_comments(without_code_spans(prose))):
            if match["host"] is None:
                name, number = match["repository"] or repository, int(match["number"])
            elif match["host"].casefold() == host.casefold():
                name, number = match["url_repository"], int(match["url_number"])
            else:
                continue
            links.setdefault((name.casefold(), number), IssueLink(name, number, " ".join(match[0].split())))
    return tuple(links.values())


MOST_COMMITS: Final = 20
"""Commits that one push may revert."""

REVERTED_COMMIT: Final = pattern(r"^This reverts commit ([0-9a-f]{40})\b", re.MULTILINE)
"""git's own wording; of a merge it goes on with `, reversing`."""

REVERTING_BRANCH: Final = pattern(r"revert-(\d{1,9})-.+")
"""What GitHub's Revert button calls its branch."""

REVERTED_PULL: Final = pattern(r"^Reverts (?:([\w.-]{1,100}/[\w.-]{1,100}))?#(\d{1,9})\b", re.MULTILINE)
"""What it writes into the body."""

FIX_PATTERN: Final = pattern(
    r"(?<![\w-])(?:fix|fixes|fixed|bugfix|hotfix|revert|reverts|reverted)(?![\w-])", re.IGNORECASE
)


def find_reverted_commits(message: str) -> tuple[Sha, ...]:
    """The commits that a commit's message reverts."""
    return tuple(dict.fromkeys(REVERTED_COMMIT.findall(message)))[:MOST_COMMITS]


def find_reverted_pulls(branch: str, body: str, repository: str) -> tuple[int, ...]:
    """The pull request that GitHub's Revert button reverted in this one: branch and body have to name the same."""
    named = REVERTING_BRANCH.fullmatch(branch)
    if named is None:
        return ()
    numbers = {int(number) for where, number in REVERTED_PULL.findall(body) if (where or repository) == repository}
    return (int(named[1]),) if int(named[1]) in numbers else ()


def is_declared_revert(title: str, body: str, messages: Sequence[str]) -> bool:
    """Whether a pull request declares that it reverts earlier ones and does nothing else.

    A body that mentions a revert further down is that of a change with more in it.
    """
    begins = REVERTED_COMMIT.match(body.strip()) or REVERTED_PULL.match(body.strip())
    is_all = bool(messages) and all(REVERTED_COMMIT.search(message) for message in messages)
    return _REVERTS.match(title) is not None or begins is not None or is_all


_REVERTS: Final = pattern(r"\W{0,3}revert(?:s|ed|ing)?\b", re.IGNORECASE)
"""git's `Revert "..."`, a conventional commit's `revert: ...`, and what people write."""


def is_declared_fix(title: str, body: str, repository: str) -> bool:
    """Whether a pull request declares a fix: by its title, or by closing an issue."""
    return FIX_PATTERN.search(title) is not None or bool(find_closing_links(body, repository))


@dataclass(frozen=True)
class TextVersion:
    """A text after one edit. `text` None: it is not shown. `is_by_judged`: the pull request's author wrote it, or a bot."""

    at: datetime
    author: str
    is_by_judged: bool
    text: str | None


@dataclass(frozen=True)
class TextHistory:
    """The known versions. `is_complete`: the oldest is the original text, which is no edit."""

    versions: tuple[TextVersion, ...] = ()
    is_complete: bool = False


@dataclass(frozen=True)
class JudgedText:
    """The text that counts, and the edits that came too late."""

    text: str
    late_edits: tuple[LateEdit, ...] = ()


def select_judged_text(present: str, history: TextHistory, since: datetime) -> JudgedText:
    """The version that counts, of a text that is *present* now. *since*: when the pull request was opened.

    The judged may not rewrite what they are judged by. The judged are the pull request's author and bots: their edits made once
    the pull request was open never count, as far as the history is known; edits by others count whole. A title and a body are
    two texts, each with its own history.
    """
    versions = sorted(history.versions, key=lambda version: version.at, reverse=True)
    edits = versions[:-1] if history.is_complete else versions
    late = [*takewhile(lambda edit: edit.is_by_judged and edit.at >= since, edits)]
    if not late:
        return JudgedText(present)
    before = versions[len(late)].text if len(late) < len(versions) else None
    newest = late[0].text
    if newest is not None and newest.split() != present.split():
        before = None  # the history is not that of the present text
    edits = tuple(LateEdit(by=edit.author, at=edit.at, used=before is None) for edit in late)
    return JudgedText(present if before is None else before, edits)
