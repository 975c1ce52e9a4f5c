"""Where a claim of the case points to: the forms in which people and agents name a place.

Does not look whether the place exists (the judge's evidence check does). Invariant: reading never raises,
and a text that names no file is None.

The forms: `path`, `path:12`, `path:12-30`, `path:name`, `path::test`, `path > test`, `path#test`, `path#L12-L30`;
in backticks or quotes, and with words behind them, too.
"""

from typing import Final

from worker.domain.pattern import pattern
from worker.domain.value import Value, replace

BARE_NAMES: Final = frozenset(
    {
        "BUILD",
        "CHANGELOG",
        "CODEOWNERS",
        "Dockerfile",
        "Gemfile",
        "Jenkinsfile",
        "Justfile",
        "LICENSE",
        "Makefile",
        "NOTICE",
        "Procfile",
        "README",
        "Rakefile",
        "VERSION",
        "WORKSPACE",
        "Vagrantfile",
        "justfile",
        "makefile",
    }
)
"""Files that have neither a folder nor an ending in their name."""

SEPARATOR: Final = pattern(r"::|:\s*|#(?!\s)|\s>\s")
ENDING: Final = pattern(r"\.\w{1,12}$")
_MORE: Final = pattern(r"[^\s,;]+\s+\S")
LINES: Final = pattern(r"L?(\d{1,9})(?:[-–]L?(\d{1,9}))?(?![\w.])")


class ClaimPointer(Value):
    """A file, and in it lines or a name (a symbol or a test), or neither. `words` goes on behind a name after a colon."""

    path: str
    line: int | None = None
    end_line: int | None = None
    name: str | None = None
    words: str | None = None


def read_pointer(text: str) -> ClaimPointer | None:
    """Read the first place that *text* names; None if it does not begin with one."""
    unquoted = _marked(text.strip()).replace("`", "").strip("\"'").strip()
    path_text, separator, rest = _cut(unquoted)
    path = _path(path_text)
    if path is None:
        return None
    if path != path_text or not separator:  # words behind the path, or nothing
        return ClaimPointer(_tidy(path))
    if separator.strip() in {"::", ">"}:  # names of tests may hold spaces
        return ClaimPointer(_tidy(path), name=rest.strip() or None)
    placed = _placed(_tidy(path), (rest.split(maxsplit=1) or [""])[0].rstrip(",;"))
    has_more = placed.name is not None and _MORE.match(rest.strip()) is not None
    return replace(placed, words=rest.strip()) if has_more else placed


def _marked(text: str) -> str:
    """What the backticks at its start hold, unless the place goes on behind them."""
    inner, closing, rest = text.removeprefix("`").partition("`") if text.startswith("`") else (text, "", "")
    return inner if closing and not SEPARATOR.match(rest) else text


def _cut(text: str) -> tuple[str, str, str]:
    found = SEPARATOR.search(text)
    if found is None:
        return text, "", ""
    return text[: found.start()].rstrip(), found.group(), text[found.end() :]


def _path(text: str) -> str | None:
    """The path at the start of *text*: its first word if that looks like one, else all of it (folders with spaces)."""
    first = text.split(maxsplit=1)[0].rstrip(",;") if text.strip() else ""
    if first in BARE_NAMES or ENDING.search(first):
        return first
    if "/" not in first:
        return None
    return text if ENDING.search(text) or first == text else first


def _tidy(path: str) -> str:
    return path.removeprefix("./")


def _placed(path: str, rest: str) -> ClaimPointer:
    lines = LINES.match(rest)
    if lines is None:
        return ClaimPointer(path, name=rest or None)
    first, last = int(lines[1]), int(lines[2] or 0)
    if first == 0:
        return ClaimPointer(path)
    return ClaimPointer(path, first, last if last > first else None)


_QUOTING: Final = pattern(
    r"[^\s`\"]{1,300}(?::|#L?)\d{1,9}(?:[-–]L?\d{1,9})?`?\s{0,3}(?:[:,;(=—–-]\s{0,3}|(?:says|reads|is|has|holds|with|now)\s){0,2}"
    r"(?:``?(?P<code>[^`\n]{4,300})``?|\"(?P<words>[^\"\n]{4,300})\"|“(?P<curled>[^”\n]{4,300})”)"
)


def quoted_line(text: str) -> str | None:
    """What *text* says that the cited line reads: words in backticks or quotes right behind `path:12`."""
    found = _QUOTING.match(text.strip().removeprefix("`"))
    return next(filter(None, found.groups()), "").strip() or None if found else None
