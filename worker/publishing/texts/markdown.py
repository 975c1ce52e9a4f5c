"""Text that others wrote, made harmless: invisible characters are shown by name, and Markdown is escaped.

`prose`, `code` and `code_block` turn any string into Markdown that shows this string and nothing else: no markup, HTML, link, image,
mention, reference or new block, also in a table's cell. `visible` leaves no control character but newline and tab, nothing that reorders
or hides text, and nothing that can't be encoded.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Final
from urllib.parse import quote

from worker.domain.pattern import pattern

ZERO_WIDTH_SPACE: Final = "&#8203;"
"""Breaks mentions and links. A backslash does not: GitHub finds them after unescaping."""

ENTITIES: Final = {"&": "&amp;", "<": "&lt;"}
CODE_SPAN: Final = pattern(r"(?<!`)`([^`]+)`(?!`)")
BACKTICKS: Final = pattern("`+")
FENCE: Final = pattern(r"^(?P<ticks>`{3,})(?P<language>[^`]*)$")
"""A line that opens or closes a code block. A line with further backticks is a code span."""
PUNCTUATION: Final = pattern(r"[!-/:-@\[-`{-~]")

SPECIAL: Final = pattern(
    r"(?P<entity>[&<$|])"
    r"|(?P<gap>@|\#(?=\d)|:(?=//)|:(?=[\w+-]+:)|\bwww(?=\.)|\bGH-(?=\d))"
    r"|[\\`*\[\]~]|(?<![^\W_])_|_(?![^\W_])",  # snake_case is left as it is
    re.IGNORECASE,
)
BLOCK_START: Final = pattern(r"^(?P<mark>[-+=#>])|^(?P<number>\d+)(?=[.)])")


def prose(text: str, limit: int = 4_000) -> str:
    """Text as one paragraph. `code` between single backticks stays code, all else is literal."""
    parts = CODE_SPAN.split(fit(one_line(text), limit))
    shown = [code(part) if index % 2 else SPECIAL.sub(_escape_match, part) for index, part in enumerate(parts)]
    shown[0] = BLOCK_START.sub(_escape_block_start, shown[0])
    return "".join(shown)


def _escape_match(match: re.Match[str]) -> str:
    if match["entity"]:
        return ENTITIES.get(match[0]) or _entity(match)
    return match[0] + ZERO_WIDTH_SPACE if match["gap"] else f"\\{match[0]}"


def _escape_block_start(match: re.Match[str]) -> str:
    return f"\\{match['mark']}" if match["mark"] else f"{match['number']}{ZERO_WIDTH_SPACE}"


def code(text: str, limit: int = 500) -> str:
    """A code span that shows exactly this, on one line."""
    shown = fit(exact_line(text), limit) or " "
    if "|" in shown:  # it splits a code span in a table
        return f"<code>{PUNCTUATION.sub(_entity, shown)}</code>"
    ticks = "`" * (_longest_run(shown) + 1)
    pad = " " if shown[0] in "` " or shown[-1] in "` " else ""
    return f"{ticks}{pad}{shown}{pad}{ticks}"


def _entity(match: re.Match[str]) -> str:
    return f"&#{ord(match[0])};"


def code_block(text: str, language: str = "") -> str:
    """A code block whose fence is longer than any run of backticks inside."""
    shown = visible(text)
    ticks = "`" * max(3, _longest_run(shown) + 1)
    return f"{ticks}{language}\n{shown}\n{ticks}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in BACKTICKS.findall(text)), default=0)


def link(label: str, url: str) -> str:
    """A link. *label* is Markdown already; *url* is made by `address`."""
    return f"[{label}]({url})"


def address(*segments: str) -> str:
    """Quoted path segments of a URL; slashes inside a segment stay."""
    return "/".join(quote(segment, safe="/") for segment in segments)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are Markdown already."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def bullets(items: Sequence[str], most: int = 100, limit: int | None = None) -> str:
    """A list of at most *most* items in *limit* bytes, and a line with the number of omitted ones."""
    shown = [f"- {item}" for item in items[:most]]
    if limit is not None:
        shown = shown[: bisect_right([*accumulate(len(item.encode()) + 1 for item in shown)], limit)]
    left = len(items) - len(shown)
    return "\n".join([*shown, f"- … and {left} more"] if left else shown)


def split_blocks(page: str) -> tuple[str, ...]:
    """Split a page by Assay into the blocks that `join_blocks` joins: code blocks and folded parts stay whole."""
    blocks, parts, fence, depth = list[str](), list[str](), "", 0
    for part in page.split("\n\n"):
        parts.append(part)
        for line in part.split("\n"):
            fence = _fence_after(fence, line)
            if not fence:
                depth += line.startswith("<details>") - line.startswith("</details>")
        if not fence and depth <= 0:
            blocks.append("\n\n".join(parts))
            parts, depth = [], 0
    return (*blocks, "\n\n".join(parts)) if parts else tuple(blocks)


def _fence_after(fence: str, line: str) -> str:
    """The fence that is open after this line."""
    run = FENCE.match(line)
    if run is None:
        return fence
    if not fence:
        return run["ticks"]
    return "" if not run["language"] and len(run["ticks"]) >= len(fence) else fence


def join_blocks(parts: Sequence[str], limit: int) -> str:
    """Join as many whole blocks as fit into *limit* bytes, with a note if one does not."""
    note = "*Cut here: the rest does not fit into a check run.*"
    whole = "\n\n".join(parts)
    if len(whole.encode()) <= limit:
        return whole
    ends = [*accumulate(len(block.encode()) + 2 for block in parts)]
    kept = parts[: bisect_right(ends, limit - len(note.encode()))]
    return "\n\n".join([*kept, note])


INVISIBLE: Final = pattern(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls: an ESC among them rewrites the reader's screen
    "\xad\u034f\u061c\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb"  # hide, join or reorder
    "\u115f\u1160\u17b4\u17b5\u3164\uffa0\ufe00-\ufe0d"  # letters without a shape; variations, but for those of emoji
    "\ud800-\udfff\U000e0000-\U000e0fff\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a]"
    # half characters; tags; signs that only lay out others
)

LINE_BREAK: Final = "␤"


def visible(text: str) -> str:
    """Show invisible characters: ESC as ␛, a right-to-left override as ⟨U+202E⟩. Newline and tab stay."""
    if text.isascii() and text.isprintable():  # nearly every text, at a quarter of the search's time
        return text
    return INVISIBLE.sub(_visible_name, text)


def one_line(text: str) -> str:
    """Text on one line, every run of white space as one blank."""
    return visible(" ".join(text.split()))


def exact_line(text: str) -> str:
    """Text on one line with all its blanks, for paths and code; line breaks are shown."""
    return visible(text).replace("\n", LINE_BREAK)


def fit(text: str, limit: int, cut: str = " …") -> str:
    """Shorten to *limit* bytes of UTF-8 between characters, with a mark where it is cut."""
    raw = text.encode()
    if len(raw) <= limit:
        return text
    return raw[: limit - len(cut.encode())].decode(errors="ignore") + cut


def fit_end(text: str, limit: int, cut: str = "… ") -> str:
    """Like `fit`, but keep the end: of a log, or of a path with its line."""
    raw = text.encode()
    if len(raw) <= limit:
        return text
    return cut + raw[len(raw) - limit + len(cut.encode()) :].decode(errors="ignore")


def _visible_name(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:  # noqa: PLR2004 - the C0 controls have pictures of their own
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"  # noqa: PLR2004 - DEL
