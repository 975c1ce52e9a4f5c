"""Make text of others safe to show: redact, escape, shorten and fence it; and show a change with line numbers.

A fenced text can't contain the fence's word, hidden characters are visible, and no step changes the number of lines.
"""

import hashlib
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from worker.domain.pattern import pattern
from worker.dossier.diff.parser import DiffLine, FileDiff, Hunk, LineKind
from worker.dossier.secrets import redact

_SELECTORS: Final = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0), range(0x180B, 0x1810))
_HIDDEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_BLANK_LETTERS: Final = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f")
_ASCII_SAFE: Final = pattern(r"[\t\n -~]*")


def redact_text(text: str) -> str:
    """Replace what looks like a secret, line by line."""
    return redact(text).text


def escape_hidden(text: str) -> str:
    """Escape every character that hides, reorders or moves text. Line breaks and tabs stay."""
    if _ASCII_SAFE.fullmatch(text):
        return text
    hidden = {ord(char): _escape(char) for char in set(text) if char not in "\t\n" and _is_hidden(char)}
    return text.translate(hidden) if hidden else text


def shown_path(path: str) -> str:
    """A path on one line, as the model reads and cites it."""
    return escape_hidden(redact_text(path)).replace("\t", "\\t").replace("\n", "\\n")


def _is_hidden(char: str) -> bool:
    if char.isascii():
        return not char.isprintable()
    return (
        unicodedata.category(char) in _HIDDEN_CATEGORIES
        or char in _BLANK_LETTERS
        or any(ord(char) in selectors for selectors in _SELECTORS)
    )


def _escape(char: str) -> str:
    code = ord(char)
    if code <= 0xFF:  # noqa: PLR2004 - two hex digits
        return {"\r": "\\r", "\x1b": "\\x1b"}.get(char, f"\\x{code:02x}")
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 - four hex digits


def cut_text(text: str, limit: int) -> str:
    """At most *limit* bytes of *text*, cut after a whole line where there is one, with a note of how much is left out."""
    raw = text.encode("utf-8", "surrogatepass")
    if len(raw) <= limit:
        return text
    kept = raw[:limit].decode("utf-8", "ignore")
    head, newline, _ = kept.rpartition("\n")
    kept = head if newline else kept
    left_out = len(raw) - len(kept.encode())
    return f"{kept}\n[cut here: {left_out} more bytes are not shown]"


@dataclass(frozen=True)
class PromptFence:
    """Marks that no fenced text contains: the word is made from the texts."""

    word: str

    @property
    def announcement(self) -> str:
        """The first line of a request, which names the word once."""
        return f"{_ANNOUNCEMENT}`{self.word}`."

    def enclose(self, label: str, text: str) -> str:
        """*text* between the marks. Paths in *label* have to be `shown_path`s."""
        return f"[[{self.word} begin: {label}]]\n{text}\n[[{self.word} end]]"


def read_fence(turn: str) -> PromptFence | None:
    """The fence that a request announces."""
    match = _ANNOUNCED_WORD.match(turn)
    return PromptFence(match[1]) if match else None


_ANNOUNCEMENT: Final = "In this request MARK is "
_ANNOUNCED_WORD: Final = pattern(rf"{_ANNOUNCEMENT}`([a-z]+)`\.\n")


def make_fence(seed: str, texts: Iterable[str]) -> PromptFence:
    """A fence that is new for every *seed* (an eval id), so that the authors of the texts can't guess it.

    Its word is a few letters, which are few tokens; a text that contains it gets another.
    """
    whole = "\n".join(texts)
    digest = hashlib.sha256(seed.encode())
    digest.update(whole.encode("utf-8", "surrogatepass"))
    word = _word(digest.digest())
    while word in whole:  # pragma: no cover - needs a text that holds its own hash
        word = _word(hashlib.sha256(word.encode()).digest())
    return PromptFence(word)


def _word(digest: bytes) -> str:
    return "".join(chr(ord("a") + byte % 26) for byte in digest[:WORD_LENGTH])


WORD_LENGTH: Final = 10
"""47 bits."""


NO_NEWLINE: Final = "  [no newline at the end of the file]"
STRETCHES_CUT: Final = "[cut here: {} of the {} stretches of this file are not shown]"


@dataclass(frozen=True)
class Stretch:
    """Consecutive lines of one file. `section`: git's heading of the place."""

    section: str
    lines: tuple[DiffLine, ...]


def stretch_of(hunk: Hunk) -> Stretch:
    return Stretch(hunk.section, hunk.lines)


def render_stretches(stretches: Iterable[Stretch]) -> str:
    """Lines with their numbers at head; a removed line (`-`) has its number in the base."""
    whole = tuple(stretches)
    texts = iter(escape_hidden("\n".join(line.text for stretch in whole for line in stretch.lines)).split("\n"))
    rows: list[str] = []
    for stretch in whole:
        rows.append(f"@@ {escape_hidden(stretch.section)}".rstrip())
        for line in stretch.lines:
            number = line.base_line if line.kind is LineKind.REMOVED else line.head_line
            rows.append(f"{number} {line.kind.value}{next(texts)}{'' if line.has_newline else NO_NEWLINE}")
    return "\n".join(rows)


def size_of_hunk(hunk: Hunk) -> int:
    """The most bytes that a hunk takes with its last line break, counted without splitting it into lines."""
    digits = len(str(max(hunk.base_start + hunk.base_count, hunk.head_start + hunk.head_count)))
    count = hunk.body.count(b"\n")
    text = len(escape_hidden(hunk.body.decode("utf-8", "replace")).encode())
    section = len(escape_hidden(hunk.section).encode())
    return text + count * (digits + 2) + section + 4 + len(NO_NEWLINE) * hunk.body.count(b"\n\\")


def describe_file(file: FileDiff, state: str) -> str:
    """A changed file's line in the list of all; lines are counted in the raw bytes."""
    moved = f', was "{shown_path(file.old_path)}"' if file.old_path else ""
    has_new_mode = file.old_mode and file.new_mode and file.old_mode != file.new_mode
    mode = f", mode {file.old_mode} -> {file.new_mode}" if has_new_mode else ""
    added, removed = (
        sum(hunk.body.count(b"\n" + mark) + hunk.body.startswith(mark) for hunk in file.hunks) for mark in (b"+", b"-")
    )
    return f'"{shown_path(file.path)}": {file.change}{moved}{mode}, +{added} -{removed}, {state}'
