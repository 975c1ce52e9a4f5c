"""What a text says of issues and of earlier changes: which it closes, mentions, reverts or fixes, by the words of GitHub and git.

The forms: `Closes #7`, `fixes: #7`, `Resolved acme/widgets#7`, and the issue's URL. One keyword closes one issue. Words in code,
quotations and HTML comments close nothing.
"""

import re
from collections.abc import Sequence
from typing import Final

from worker.domain.ids import Sha
from worker.domain.pattern import pattern
from worker.domain.value import Value
from worker.dossier.markdown import parse_blocks, skip_quotations, without_code_spans, without_comments

CLOSING_PATTERN: Final = pattern(
    r"(?<![\w-])(?:close[sd]?|fix(?:es|ed)?|resolve[sd]?)(?::[ \t]*|[ \t]+)"
    r"(?:(?P<repository>[\w.-]{1,100}/[\w.-]{1,100})?#(?P<number>\d{1,9})"
    r"|https?://(?P<host>[\w.-]{1,253})/(?P<url_repository>[\w.-]{1,100}/[\w.-]{1,100})"
    r"/(?:issues|pull)/(?P<url_number>\d{1,9}))(?![\w/])",
    re.IGNORECASE,
)


MENTION_PATTERN: Final = pattern(
    r"(?<![\w/&-])(?:(?P<repository>[\w.-]{1,100}/[\w.-]{1,100})?#|GH-)(?P<number>\d{1,9})(?![\w/])"
    r"|https?://(?P<host>[\w.-]{1,253})/(?P<url_repository>[\w.-]{1,100}/[\w.-]{1,100})"
    r"/(?:issues|pull)/(?P<url_number>\d{1,9})(?!\w)"
)


class IssueLink(Value):
    """An issue to close. `text` is what links it, as written."""

    repository: str
    number: int
    text: str


def find_closing_links(text: str, repository: str, host: str = "github.com") -> tuple[IssueLink, ...]:
    """The issues that *text* (Markdown of a pull request in *repository*) closes, each once, in order."""
    if "#" not in text and "://" not in text:
        return ()
    return _find_links(CLOSING_PATTERN, text, repository, host)


def find_mentions(text: str, repository: str, host: str = "github.com") -> tuple[IssueLink, ...]:
    """Every issue or pull request that *text* refers to, closed by it or not, each once, in order."""
    return _find_links(MENTION_PATTERN, text, repository, host)


def _find_links(form: re.Pattern[str], text: str, repository: str, host: str) -> tuple[IssueLink, ...]:
    links: dict[tuple[str, int], IssueLink] = {}
    for prose in _prose(text):
        for match in form.finditer(prose):
            link = _link(match, repository, host)
            if link is not None:
                links.setdefault((link.repository.casefold(), link.number), link)
    return tuple(links.values())


def _prose(text: str) -> list[str]:
    """What is shown as prose: no code, no quotation, no comment."""
    tokens = skip_quotations(parse_blocks(text))
    shown = (token.content for token in tokens if token.type in {"inline", "html_block"})
    return [without_comments(without_code_spans(part)) for part in shown]


def _link(match: re.Match[str], repository: str, host: str) -> IssueLink | None:
    phrase = " ".join(match[0].split())
    if match["host"] is None:
        return IssueLink(match["repository"] or repository, int(match["number"]), phrase)
    if match["host"].casefold() != host.casefold():
        return None
    return IssueLink(match["url_repository"], int(match["url_number"]), phrase)


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
