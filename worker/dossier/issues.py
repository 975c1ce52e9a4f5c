"""Issues: which ones a text closes, which version of their text counts, and the criteria in it; what a text reverts or fixes.

The wordings of links are those of GitHub and git. Criteria come from Markdown, which is read as an outline first. Best first: the
section named like "Acceptance criteria" (list items, table rows, else its paragraphs), Gherkin scenarios, task lists, else the
whole issue, marked `inferred`. A template that was not filled in asks for nothing. There is always at least one criterion: AC1,
AC2 ... of issues, else DESCRIPTION.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from worker.domain.dossier import DESCRIPTION, Criterion, Issue, LateEdit
from worker.domain.model import Sha
from worker.domain.pattern import pattern
from worker.dossier.markup import case_fences, parse_blocks, skip_quotations, without_code_spans, without_comments

if TYPE_CHECKING:
    from markdown_it.token import Token


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


LABEL_LEVEL: Final = 7
"""The level of a title that is no heading: bold text, `<summary>`, a line that ends in a colon."""

BOLD_LINE: Final = pattern(r"(?:\*\*|__)([^*_\n][^\n]*?)(?:\*\*|__)\s*:?")
COLON_LINE: Final = pattern(r"([^\n:]{1,60}):")
SUMMARY: Final = pattern(r"<summary>(.{0,200}?)</summary>", re.IGNORECASE | re.DOTALL)
TAG: Final = pattern(r"</?\w+>")
GHERKIN: Final = frozenset({"gherkin", "cucumber", "feature"})
FEATURE: Final = pattern(r"\s*(?:[@#][^\n]*\n\s*){0,10}(?:Feature|Background|Scenario(?: Outline| Template)?):")
BOX: Final = pattern(r"\[[ xX]\]\s+")


@dataclass(frozen=True)
class OutlineTitle:
    """`level` counts from 1 (`#`); LABEL_LEVEL is the lowest. An empty text ends a `<details>`."""

    text: str
    level: int


@dataclass(frozen=True)
class ListItem:
    """The first paragraph of a list item. `depth` counts lists from 1."""

    text: str
    depth: int
    is_task: bool


@dataclass(frozen=True)
class TableRow:
    """A table's row under its header."""

    header: tuple[str, ...]
    cells: tuple[str, ...]


@dataclass(frozen=True)
class Paragraph:
    """Text outside lists."""

    text: str


@dataclass(frozen=True)
class GherkinBlock:
    """A fenced block of Gherkin: what it is marked as, or how an unmarked one begins."""

    text: str


OutlinePart = OutlineTitle | ListItem | TableRow | Paragraph | GherkinBlock


def parse_outline(markdown: str) -> Iterator[OutlinePart]:
    """The titles, list items, table rows, paragraphs and Gherkin of *markdown*, in order.

    Other code, quotations and HTML comments give no part, nor does Gherkin in a list. A line in bold or a `<summary>` is a title
    below all headings.
    """
    reader = _OutlineReader()
    for token in skip_quotations(parse_blocks(markdown)):
        yield from reader.read(token)


class _OutlineReader:
    """The place in the document: in which heading, how deep in lists, in which row."""

    def __init__(self) -> None:
        self.heading = 0
        self.depth = 0
        self.item_begins = False
        self.header: tuple[str, ...] = ()
        self.cells: list[str] = []
        self.in_table = False

    def read(self, token: "Token") -> Iterable[OutlinePart]:
        match token.type:
            case "inline":
                return self._text(token.content)
            case "html_block":
                return _read_html_titles(token.content)
            case "tr_close":
                return self._row()
            case "fence" if not self.depth:
                marked = token.info.casefold().split()[:1]
                is_gherkin = marked[0] in GHERKIN if marked else FEATURE.match(token.content) is not None
                return (GherkinBlock(token.content),) if is_gherkin else ()
            case "heading_open":
                self.heading = int(token.tag[1:])
            case "heading_close":
                self.heading = 0
            case "bullet_list_open" | "ordered_list_open":
                self.depth += 1
            case "bullet_list_close" | "ordered_list_close":
                self.depth -= 1
            case "list_item_open":
                self.item_begins = True
            case "list_item_close":
                self.item_begins = False
            case "table_open" | "table_close":
                self.in_table, self.header = token.type == "table_open", ()
            case _:
                pass
        return ()

    def _text(self, text: str) -> Iterable[OutlinePart]:
        if self.heading:
            return (OutlineTitle(text, self.heading),)
        if self.in_table:
            self.cells.append(text)
            return ()
        if self.item_begins:
            self.item_begins = False
            box = BOX.match(text)
            return (ListItem(text[box.end() :] if box else text, self.depth, is_task=box is not None),)
        return () if self.depth else _paragraph(text)

    def _row(self) -> Iterable[OutlinePart]:
        cells, self.cells = tuple(self.cells), []
        if self.header:
            return (TableRow(self.header, cells),)
        self.header = cells
        return ()


def _paragraph(text: str) -> Iterable[OutlinePart]:
    label = BOLD_LINE.fullmatch(text) or COLON_LINE.fullmatch(text)
    if label:
        return (OutlineTitle(label[1], LABEL_LEVEL),)
    first, _, rest = text.partition("\n")
    label = BOLD_LINE.fullmatch(first)
    return (OutlineTitle(label[1], LABEL_LEVEL), Paragraph(rest)) if label else (Paragraph(text),)


def _read_html_titles(html: str) -> Iterable[OutlinePart]:
    """The titles of an HTML block's `<summary>`, and the end of its `<details>`."""
    shown = without_comments(html)
    titles = [OutlineTitle(TAG.sub("", summary).strip(), LABEL_LEVEL) for summary in SUMMARY.findall(shown)]
    return [*titles, OutlineTitle("", LABEL_LEVEL)] if "</details>" in shown.lower() else titles


MOST_CRITERIA: Final = 100
MOST_PROSE: Final = 6000
MOST_TITLE: Final = 120

CRITERIA_TITLES: Final = (
    pattern(r"acceptance(?: criteri(?:a|on)| tests?| conditions?| checklist)?|success criteri(?:a|on)|acs?"),
    pattern(r"definition of done|dod|done when|exit criteria|completion criteria|scenarios?"),
    pattern(r"(?:functional |technical )?requirements?|must[- ]haves?|deliverables?"),
)
"""Best first: where an issue has several such sections, the ones of the best row count."""

OTHER_TITLES: Final = pattern(r"(?:out of scope|non[- ]?goals?|notes?|not in scope|nice to haves?|optional)\b.*")
PLACEHOLDER: Final = pattern(
    r"\[[^\]]*\]|<[^>]*>|\W*|(?:todo|tb[ad]|n/?a|none|nothing|xxx)(?: yet| so far)?\W*"
    r"|(?:(?:first|second|third|another|your) )?(?:criteri(?:a|on)|items?|steps?|requirements?|tasks?|ac|example)\s?#?\d{0,2}\W*",
    re.IGNORECASE | re.DOTALL,
)
STRIKE_MARK, NO_WORD = "~~", pattern(r"\W*")
BOLD_MARK: Final = pattern(r"\*\*(?=\S)|(?<=\S)\*\*|(?<!\w)__(?=\S)|(?<=\S)__(?!\w)")
CRITERION_COLUMN: Final = pattern(r"criteri|requirement|description|acceptance|expected|must", re.IGNORECASE)
SCENARIO: Final = pattern(r"^[^\S\n]*Scenario(?: Outline| Template)?:[^\n]*$", re.MULTILINE)
TAGS: Final = pattern(r"^[^\S\n]*@[^\n]*$", re.MULTILINE)
NEWLINE: Final = pattern(r"\r\n?|\n")  # as markdown-it counts lines
OWN_NUMBER: Final = pattern(r"#(\d{1,3})(?:[.:)]|\s+[-–—])?\s+(?=\S)")
TRAILER: Final = pattern(r"[A-Z][A-Za-z-]*-[Bb]y: .*")


def criteria_of(issues: Sequence[Issue], title: str, body: str) -> tuple[Criterion, ...]:
    """The criteria of *issues*; without an issue the only one is that the change does what its *title* and *body* claim."""
    if not issues:
        return (Criterion(id=DESCRIPTION, text=describe_own_task(title, body), inferred=True),)
    made: list[Criterion] = []
    for issue in issues:
        source = f"{issue.repository or ''}#{issue.number}" if issue.number else issue.url
        listed = listed_criteria(issue.body)
        for text in listed or (describe_own_task(issue.title, issue.body),):
            made.append(Criterion(id=f"AC{len(made) + 1}", text=text, source=source, inferred=not listed))
    return tuple(made)


def listed_criteria(markdown: str) -> tuple[str, ...]:
    """The criteria that are written as such; none if it is all prose."""
    parts = list(parse_outline(markdown))
    sections = list(_sections(parts))
    best = min((section.rank for section in sections), default=None)
    asked = [text for section in sections if section.rank == best for text in section.texts()]
    prose = (part.text for part in parts if isinstance(part, Paragraph | GherkinBlock))
    scenarios = (scenario for text in prose for scenario in _scenarios_of(text))
    tasks = (part.text for part in parts if isinstance(part, ListItem) and part.is_task)
    texts = asked or _without_placeholders(scenarios) or _without_placeholders(tasks)
    numbers = [OWN_NUMBER.match(text) for text in texts]
    if [match and int(match[1]) for match in numbers] == list(range(1, len(texts) + 1)):
        texts = [OWN_NUMBER.sub("", text, count=1) for text in texts]  # `#1 Retries`, each numbered by its place
    return tuple(dict.fromkeys(texts))[:MOST_CRITERIA]


class _Section:
    """A part of the issue whose title asks for something. `depth` is that of its items."""

    def __init__(self, rank: int, level: int, depth: int) -> None:
        self.rank = rank
        self.level = level
        self.depth = depth
        self.muted = False
        self.items: list[str] = []
        self.paragraphs: list[str] = []

    def texts(self) -> list[str]:
        return _without_placeholders(self.items or self.paragraphs)

    def holds(self, part: OutlinePart) -> bool:
        """Whether the section goes on at *part*."""
        match part:
            case OutlineTitle(level=level):
                return level > self.level
            case ListItem(depth=depth):
                return depth >= self.depth
            case _:
                return self.depth == 1  # a list's own section ends with the list

    def take(self, part: OutlinePart) -> None:
        match part:
            case OutlineTitle(text=text):
                self.muted = OTHER_TITLES.fullmatch(_normalize_title(text)) is not None
            case _ if self.muted:
                pass
            case ListItem(text=text, depth=depth) if depth == self.depth:
                self.items.append(text)
            case TableRow(header=header, cells=cells):
                named = [cell for name, cell in zip(header, cells, strict=False) if CRITERION_COLUMN.search(name)]
                self.items.append(named[0] if named else max(cells, key=len, default=""))
            case GherkinBlock(text=text):
                self.items += _scenarios_of(text)
            case Paragraph(text=text) if not text.rstrip().endswith(":"):
                self.paragraphs.append(text)
            case _:
                pass


def _sections(parts: Iterable[OutlinePart]) -> Iterator[_Section]:
    section: _Section | None = None
    for part in parts:
        opened = _open_section(part)
        if opened is not None:
            section = opened
            yield section
        elif section is not None and section.holds(part):
            section.take(part)
        else:
            section = None


def _open_section(part: OutlinePart) -> _Section | None:
    """The section that *part* opens: a title that asks, or a list item named like one (its own list follows)."""
    match part:
        case OutlineTitle(text=text, level=level):
            depth = 1
        case ListItem(text=text, depth=above, is_task=False):
            level, depth = 0, above + 1
        case _:
            return None
    plain = _normalize_title(text)
    rank = next((rank for rank, asking in enumerate(CRITERIA_TITLES) if asking.fullmatch(plain)), None)
    return None if rank is None else _Section(rank, level, depth)


def _normalize_title(title: str) -> str:
    """A title in small letters, without emoji, numbers, marks and brackets behind it."""
    rest = re.sub(r"\([^)]*\)\s*:?\s*$", "", BOLD_MARK.sub("", title[:MOST_TITLE]).strip())
    return re.sub(r"^[\W\d_]+|[\W_]+$", "", rest).casefold()


def _scenarios_of(text: str) -> list[str]:
    """Gherkin: each scenario is one criterion, without its name."""
    return SCENARIO.split(TAGS.sub("", text))[1:]


def _is_struck(text: str) -> bool:
    """`~~all of it~~.`, found from its end, so that a text of nothing else takes no longer."""
    tail = NO_WORD.match(text[::-1])
    length = len(text) - (tail.end() if tail is not None else 0)
    return text.startswith(STRIKE_MARK) and text.find(STRIKE_MARK, max(len(STRIKE_MARK), length)) >= 0


def _without_placeholders(texts: Iterable[str]) -> list[str]:
    tidied = (" ".join(BOLD_MARK.sub("", text).split()) for text in texts)
    return [text for text in tidied if not PLACEHOLDER.fullmatch(text) and not _is_struck(text)]


def describe_own_task(title: str, body: str) -> str:
    """Its title and text without comments, our own block and trailers, cut at MOST_PROSE characters."""
    plain = NEWLINE.sub("\n", without_comments(body))
    lines = plain.split("\n")
    for fence in reversed(case_fences(plain)):
        del lines[fence.start : fence.end]
    while lines and (not lines[-1].strip() or TRAILER.fullmatch(lines[-1])):
        lines.pop()
    text = "\n\n".join(part for part in (title.strip(), "\n".join(lines).strip()) if part) or "(no title)"
    return text if len(text) <= MOST_PROSE else text[: MOST_PROSE - 2].rstrip() + " …"
