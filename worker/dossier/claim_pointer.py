"""Where a claim of the case points to: a file, and in it lines, a symbol or a test.

The documented forms (docs/case.md) are exact: `path`, `path:12`, `path:12-30`, `path:name`, `path::test`, `path > test`,
`path#test`, `path#L12-L30`, alone or in backticks or quotes. Every other way to name a place is read as well as possible.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Final

from worker.domain.pattern import pattern
from worker.domain.verdict.ledger import Case

BARE_NAMES: Final = frozenset(
    {"BUILD", "CHANGELOG", "CODEOWNERS", "Dockerfile", "Gemfile", "Jenkinsfile", "Justfile", "LICENSE", "Makefile"}
    | {"NOTICE", "Procfile", "README", "Rakefile", "VERSION", "WORKSPACE", "Vagrantfile", "justfile", "makefile"}
)
"""Files that have neither a folder nor an ending in their name."""

FILE_ENDINGS: Final = (
    r"(?:py|pyi|ipynb|[cm]?[jt]sx?|go|rs|java|kts?|rb|cs|php|swift|scala|c|cc|cpp|h|hpp|vue|svelte|sql|sh|md|mdx|rst|txt"
    r"|adoc|json|ya?ml|toml|xml|html|css|scss|cfg|ini|proto|snap|gradle|lock|ex|exs|lua|dart)"
)
"""Endings by which a word in the middle of a sentence is known to be a file."""

SEPARATOR: Final = pattern(r"::|:\s*|#(?!\s)|\s>\s")
ENDING: Final = pattern(r"\.\w{1,12}$")
_LONGEST: Final = 1_000
"""Characters of a text in which a place is looked for."""


@dataclass(frozen=True)
class ClaimPointer:
    """A file, and in it lines or a name (a symbol or a test), or neither. `remark`: a remark behind the place.

    `is_exact`: the text has a documented form, so that it can't mean any other place.
    """

    path: str
    line: int | None = None
    end_line: int | None = None
    name: str | None = None
    remark: str | None = None
    is_exact: bool = True

    @property
    def names_code(self) -> bool:
        """Whether the name is a title, or one of code by its form: a plain word (`TBD`, `logic`) may be a remark."""
        name = self.name or ""
        return " " in name or name.endswith("()") or _CODE_NAME.search(name) is not None


def read_pointer(text: str) -> ClaimPointer | None:
    """Read the first place that *text* names; None if it names no file."""
    bare = _LINK.sub(_link_target, text.strip().translate(_STRAIGHT))
    quoted = _QUOTED_PLACE.match(bare)
    documented = quoted and _read_documented(quoted["place"])
    remark = _remark(bare[quoted.end() :]) if quoted else None
    if documented and (documented.line or documented.name or not remark):
        return replace(documented, remark=remark)
    return _read_documented(_MARKS.sub("", bare).strip("\"'").strip()) or _read_sentence(bare[:_LONGEST])


def cited_paths(case: Case) -> Iterator[str]:
    """The files of the repository that a case points at."""
    for claim in case.ac_coverage:
        for text in (claim.addressed_by, claim.evidence or ""):
            pointer = read_pointer(text)
            path = pointer.path if pointer is not None else ""
            is_named = len(path) <= _LONGEST_PATH and "\0" not in path and path.strip("/") != ""
            if is_named and not path.startswith("/") and ".." not in PurePosixPath(path).parts:
                yield path.rstrip("/")


_LONGEST_PATH: Final = 500

_STRAIGHT: Final = str.maketrans("“”„«»‘’‚", '"""""' + "'" * 3)
"""The quotes that a word processor makes."""
_QUOTED_PLACE: Final = pattern(r"`(?P<place>[^`]+)`(?!\s*(?:::|[:#]\s?\S|>))")
"""A place in backticks that does not go on behind them."""
_MARKS: Final = pattern(r"`|\*\*")


def _read_documented(text: str) -> ClaimPointer | None:
    """The place if the whole text is a documented form of one."""
    separator = SEPARATOR.search(text)
    named = text[: separator.start()].rstrip() if separator else text.rstrip(".,;")
    rest = text[separator.end() :] if separator else ""
    path = _path(named)
    if path is None or path != named or "\\" in path:
        return None
    pointer = ClaimPointer(path.removeprefix("./"), is_exact=_EXACT_PATH.fullmatch(path) is not None)
    if separator is None or not rest.strip():
        return pointer
    if separator.group().strip() in {"::", ">"}:  # titles of tests may hold spaces
        return _with_name(pointer, rest.strip())
    lines = _LINES.fullmatch(rest)
    if lines:
        return _with_lines(pointer, lines["first"], lines["last"])
    if separator.group() not in {":", "#"} or not _NAME.fullmatch(rest) or rest.casefold() in _REMARKS:
        return None
    return _with_name(pointer, rest.rstrip("."))


def _with_name(pointer: ClaimPointer, name: str) -> ClaimPointer:
    is_exact = pointer.is_exact and (" " in name or _EXACT_NAME.fullmatch(name) is not None)
    return replace(pointer, name=name, is_exact=is_exact)


_REMARKS: Final = frozenset(
    {"<module>", "module", "module-level", "script", "file", "top", "top-level", "bottom", "start", "beginning", "end"}
    | {
        "header",
        "footer",
        "body",
        "imports",
        "docstring",
        "class",
        "function",
        "method",
        "constructor",
        "loop",
        "block",
    }
)
"""Words behind a file that name a part of it, and no symbol."""
_EXACT_PATH: Final = pattern(r"(?!.*\.{3})[\w.@+/ \[\]()$~#-]+")
"""No pattern (`*`, `?`, `{a,b}`) and no placeholder (`...`, `<name>`)."""
_IDENTIFIER: Final = r"(?:[^\W\d]|\$)[\w$]*[?!]?"
_EXACT_NAME: Final = pattern(rf"{_IDENTIFIER}(?:(?:\.|::|#){_IDENTIFIER})*(?:\(\))?(?:\[[^\[\]]*\])?")
"""Identifiers, as code or a test's id joins them. Anything else (`N/A`, `if/else`, `MAX=3`) may be a remark."""
_LINES: Final = pattern(r"L?(?P<first>\d{1,9})(?:[-–—]L?(?P<last>\d{1,9}))?")
_NAME: Final = pattern(r"(?!\d+\b)[^\s,;:]+(?:::[^\s,;:]+)*")


def _path(text: str) -> str | None:
    """The path at the start of *text*: its first word if that looks like one, else all of it (folders with spaces)."""
    first = text.split(maxsplit=1)[0].rstrip(",;") if text.strip() else ""
    if first in BARE_NAMES or ENDING.search(first):
        return first
    if "/" not in first:
        return None
    is_one = first == text or (ENDING.search(text) is not None and not first.endswith("/"))
    return text if is_one else first


def _with_lines(pointer: ClaimPointer, first_line: str, last_line: str | None) -> ClaimPointer:
    first, last = int(first_line), int(last_line or 0)
    return replace(pointer, line=first or None, end_line=last if last > first > 0 else None)


def _read_sentence(text: str) -> ClaimPointer | None:
    """The place that a sentence names: `retry() in upload.py`, `upload.py, lines 12 to 30 (the loop)`."""
    plain = _URL.sub(_url_path, text)
    bounds = _find_file(plain)
    if bounds is None:
        return None
    start, end = bounds
    path = plain[start:end].replace("\\", "/").removeprefix("./").rstrip(",;")
    pointer = ClaimPointer(path, is_exact=False)
    before, behind = plain[:start], plain[end:]
    for lines in (_LINES_BEHIND.match(behind), _LINES_BEFORE.search(before)):
        if lines:
            remark = behind[lines.end() :] if lines.string is behind else behind
            return replace(_with_lines(pointer, lines["first"], lines["last"]), remark=_remark(remark))
    name = _NAME_DIRECTLY_BEHIND.match(behind)
    if name and name["bare"].casefold() not in _REMARKS:
        return replace(pointer, name=name["bare"], remark=_remark(behind[name.end() :]))
    name = _NAME_BEHIND.match(behind)
    if name and (symbol := _symbol(name)):
        return replace(pointer, name=symbol, remark=_remark(behind[name.end() :]))
    name = _NAME_BEFORE.search(before)
    return replace(pointer, name=_symbol(name) if name else None, remark=_remark(behind))


def _find_file(text: str) -> tuple[int, int] | None:
    """Where the text names a file."""
    first = _path(text)
    is_file = first is not None and (
        first in BARE_NAMES or ("/" in first and ENDING.search(first)) or _ENDS_AS_FILE.search(first)
    )
    file_match = None if is_file else _FILE.search(text)
    if file_match:
        return file_match.span()
    separator = SEPARATOR.search(text)
    first = _path(text[: separator.start()].rstrip()) if separator else first
    return (0, len(first)) if first else None


_ENDS_AS_FILE: Final = pattern(rf"\.{FILE_ENDINGS}$")
_FILE: Final = pattern(
    rf"(?<![\w/\\.-])(?:[\w.@+$()\[\]-]{{1,100}}[/\\]){{0,20}}[\w.@+$\[\]-]{{0,100}}[\w\]]\.{FILE_ENDINGS}(?![\w/]|\.\w)"
)
_LINK: Final = pattern(r"\[(?P<label>[^\[\]]{1,300})\]\((?P<target>[^()\s]{1,500})\)")
_URL: Final = pattern(
    r"https?://[^/\s]{1,200}(?:/[^/\s]{1,100}/[^/\s]{1,100}(?:/-)?/(?:blob|blame|raw|tree)/[^/\s]{1,200}/"
    r"(?P<path>[^\s#?)]{1,500})(?:\?[^\s#)]{0,100})?(?P<lines>#L\d{1,9}(?:C\d{1,9})?(?:-L?\d{1,9})?)?)?[^\s)]*"
)


def _url_path(url: re.Match[str]) -> str:
    """The path and lines of a file's page on GitHub; nothing of another page."""
    return f"{url['path']}{_COLUMN.sub('', url['lines'] or '')}" if url["path"] else ""


def _link_target(link: re.Match[str]) -> str:
    """A link's target where that is a file, else its words."""
    return link["target"] if _path(link["target"]) else link["label"]


_COLUMN: Final = pattern(r"C\d+")
_CLOSED: Final = r"[`'\"*\])]{0,4}\s{0,3}"
_NUMBERS: Final = r"L?(?P<first>\d{1,9})(?:\s?(?:[-–—]|to|through|until)\s?L?(?P<last>\d{1,9}))?"
_LINES_BEHIND: Final = pattern(
    rf"{_CLOSED}(?:(?:[:,@#(\[–—-]\s{{0,3}})?(?:(?:at|on|in|see|from)\s)?(?:lines?|lns?|ll?)\.?\s?#?|[:@#(\[]\s{{0,3}}){_NUMBERS}(?!\w|\.\d)",
    re.IGNORECASE,
)
_LINES_BEFORE: Final = pattern(
    rf"\blines?\s{_NUMBERS}\s(?:of|in|from)\s(?:the\s)?(?:file\s)?[`'\"*]{{0,4}}$", re.IGNORECASE
)

_KIND: Final = r"(?:functions?|func|fn|def|methods?|class|struct|enum|trait|interface|type|const|constant|symbol|variable|tests?|macro)"
_BARE: Final = r"(?P<bare>[^\W\d][\w$]{0,100}(?:(?:\.|::|#)[^\W\d][\w$]{0,100}){0,10})"
_SYMBOL: Final = rf"(?:(?P<kind>{_KIND}):?\s)?(?:`(?P<quoted>[^`\s]{{1,200}})`|{_BARE}(?P<call>\([^()]{{0,100}}\))?)(?:\s(?P<after>{_KIND})\b)?"
_NAME_DIRECTLY_BEHIND: Final = pattern(rf"[:#]{_BARE}(?:\(\))?(?=\s?[,;(–—]|\s-|[`'\".]*$)")
_NAME_BEHIND: Final = pattern(
    rf"{_CLOSED}(?:(?:::?|[#@,(\[|;>]|[-=]>|→|[-–—]{{1,2}})\s{{0,3}})?(?:(?:in|at|by|with|the|its|new)\s){{0,2}}{_SYMBOL}"
)
_NAME_BEFORE: Final = pattern(
    rf"(?:^|(?<=[\s(])){_SYMBOL}(?:\s|[(@,:–—-]|[-=]>|→|\b(?:in|of|from|at|inside|the|file|module)\b){{1,8}}[`'\"*\[]{{0,4}}$"
)
_CODE_NAME: Final = pattern(r"\w_\w|[a-z][A-Z]|[A-Z]{2}[a-z]{2}|\w\d|^[_$]|\.|::|#")
_NO_NAMES: Final = frozenset({"that", "which", "the", "a", "an", "for", "to", "of", "in", "is", "and", "it", "this"})


def _symbol(name: re.Match[str]) -> str | None:
    """The symbol that the words around a file name, None where they are a remark."""
    if name["quoted"]:
        return name["quoted"].removesuffix("()")
    is_called_one = (name["kind"] or name["after"]) and name["bare"].casefold() not in _NO_NAMES
    if _ENDS_AS_FILE.search(name["bare"]):
        return None  # another file
    is_code = name["call"] is not None or is_called_one or _CODE_NAME.search(name["bare"]) is not None
    return name["bare"] if is_code else None


def _remark(text: str) -> str | None:
    return text.strip(" \t`'\"*()[],;:.>#@-–—→=|") or None
