"""Text of others, made harmless: characters that act instead of being seen are shown by name.

Does not know Markdown or terminals. Invariant: what comes out holds no control character but newline
and tab, nothing that reorders or hides text, and can always be encoded.
"""

import re
from typing import Final

from worker.domain.pattern import pattern

INVISIBLE: Final = pattern(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls: an ESC among them rewrites the reader's screen
    "\xad\u034f\u061c\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb"  # hide, join or reorder
    "\u115f\u1160\u17b4\u17b5\u3164\uffa0\ufe00-\ufe0d"  # letters without a shape; variations, but for those of emoji
    "\ud800-\udfff\U000e0000-\U000e0fff\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a]"
    # half characters; tags; signs that only lay out others
)

LINE_BREAK: Final = "␤"


def visible(text: str) -> str:
    """Show what can't be seen: ESC as ␛, a right-to-left override as ⟨U+202E⟩. Newline and tab stay."""
    if text.isascii() and text.isprintable():  # most of all that is shown; takes a quarter of a search
        return text
    return INVISIBLE.sub(_visible_name, text)


def one_line(text: str) -> str:
    """The words on one line, every run of white space as one blank."""
    return visible(" ".join(text.split()))


def exact_line(text: str) -> str:
    """One line with all its blanks, for paths and code; a line break is shown."""
    return visible(text).replace("\n", LINE_BREAK)


def fit(text: str, limit: int, cut: str = " …") -> str:
    """Shorten to *limit* bytes of UTF-8, never inside a character, and show that it was cut."""
    raw = text.encode()
    if len(raw) <= limit:
        return text
    return raw[: limit - len(cut.encode())].decode(errors="ignore") + cut


def fit_end(text: str, limit: int, cut: str = "… ") -> str:
    """Like `fit`, but keeps the end: of a log, or of a path with its line."""
    raw = text.encode()
    if len(raw) <= limit:
        return text
    return cut + raw[len(raw) - limit + len(cut.encode()) :].decode(errors="ignore")


def _visible_name(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:  # noqa: PLR2004 - the C0 controls have pictures of their own
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"  # noqa: PLR2004 - DEL
