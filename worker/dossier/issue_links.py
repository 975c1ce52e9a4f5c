"""Which issues a text closes, by GitHub's documented keywords, and which it only mentions.

Does not know links made by hand on GitHub (ask GitHub). Invariant: never raises; words in code, quotations
and HTML comments close nothing, and one keyword closes one issue.
The forms: `Closes #7`, `fixes: #7`, `Resolved acme/widgets#7`, and the issue's URL.
"""

import re
from typing import Final

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
