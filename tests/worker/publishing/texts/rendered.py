"""Markdown rendered by a real parser with GitHub's tables and strike-through."""

import re
from html.parser import HTMLParser

from markdown_it import MarkdownIt

GITHUB = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])

# Text outside code that GitHub turns into a link or a mention.
ACTIVE = re.compile(r"@\w|#\d|\w://|www\.|:[\w+-]+:|gh-\d", re.IGNORECASE)


class RenderedPage(HTMLParser):
    """The tags and links of a page, all its text, and its text outside code."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.plain = ""
        self.all = ""
        self._in_code = 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in {"href", "src"}]
        self._in_code += tag == "code"

    def handle_endtag(self, tag: str) -> None:
        self._in_code -= tag == "code"

    def handle_data(self, data: str) -> None:
        self.all += data
        self.plain += "" if self._in_code else data


def render(markdown: str) -> RenderedPage:
    return RenderedPage(GITHUB.render(markdown))
