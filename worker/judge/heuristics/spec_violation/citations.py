"""The places that a case cites as proof, held against the head tree as far as it is known.

Does not ask whether a claim is true. Invariant: what is not known is silence. A citation is surely wrong only where the
place is known not to be there, and no move, no folder left out, no inheritance and no made-up test title explains it.
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from worker.domain.case import Case, CoverageClaim
from worker.domain.claim_pointer import ClaimPointer, read_pointer
from worker.domain.diff import ChangeKind, text_lines
from worker.domain.pattern import pattern
from worker.domain.value import Value
from worker.judge.heuristics.change import Change

_MOST_CLAIMS: Final = 200
_LONGEST: Final = 500
_FILE: Final = pattern(
    r"[\w.@+/ \[\]()$-]*[\w\])-]\.(?:py|pyi|ipynb|[cm]?[jt]sx?|go|rs|java|kts?|rb|cs|php|swift|scala|c|cc|cpp|h|hpp|vue|svelte|sql|sh|md|mdx|rst|txt"
    r"|adoc|json|ya?ml|toml|xml|html|css|scss|cfg|ini|proto|snap|gradle|lock|ex|exs|lua|dart)"
)
_IDENTIFIER: Final = pattern(r"[^\W\d][\w$!?]*")
_WORDS: Final = pattern(r"[^\W\d_][^\W_]{2,}", re.UNICODE)
_MADE_TITLES: Final = pattern(
    r"\.each\b|\$\{|%[sdpij]\b|\bdescribe\.for\b|\.for\(|macro_rules!|rstest|test_case|parametrize|DynamicTest|t\.Run\(\w|concat!|paste!|import \*|globals\(\)|setattr\(|type\("
)
_INHERITS: Final = pattern(
    r"\bextends\b|^\s*class \w+\([^)\s]|\bimplements\b|\bmixin\b|#\[derive|\binclude\b|^\s*export \* from|\bpub use\b|import \*",
    re.MULTILINE,
)


class What(StrEnum):
    FILE = "file"
    LINE = "line"
    NAME = "name"


class Wrong(Value):
    """A citation that points at nothing. `path` is set where the file is one of the dossier's."""

    what: What
    words: str
    is_sure: bool
    path: str | None = None


def wrong_citations(change: Change) -> tuple[Wrong, ...]:
    """What the case cites and the head tree does not hold, each place once."""
    return change.once(_all)


def _all(change: Change) -> tuple[Wrong, ...]:
    case = change.dossier.case
    if case is None:
        return ()
    known = _Known.of(change)
    cited = dict.fromkeys(_cited(case))
    return tuple(wrong for text, claim in cited for wrong in _checked(text, claim, case, known))


def _cited(case: Case) -> Iterator[tuple[str, str]]:
    for claim in case.ac_coverage[:_MOST_CLAIMS]:
        for text in _texts(claim):
            yield text, claim.criterion


def _texts(claim: CoverageClaim) -> Iterator[str]:
    """What stands in backticks first is the place; what people write behind it is not."""
    for text in (claim.addressed_by, claim.evidence):
        if text and len(text) <= _LONGEST:
            quoted = _QUOTED.match(text)
            yield quoted[1] if quoted else text


_QUOTED: Final = pattern(r"\s*`([^`]+)`")


class _Known(Value):
    """Whole texts at the head, paths that are known to be missing, deleted or moved, and all paths that are there."""

    whole: dict[str, str]
    there: frozenset[str]
    absent: frozenset[str]
    gone: frozenset[str]

    @classmethod
    def of(cls, change: Change) -> "_Known":
        whole = dict(change.texts)
        for file in change.files:
            if file.head is not None:
                whole[file.path] = file.head
            if file.diff.change is ChangeKind.DELETED or file.diff.is_symlink:
                whole.pop(file.path, None)
        moved = (
            file.diff.old_path for file in change.files if file.diff.change is ChangeKind.RENAMED and file.diff.old_path
        )
        deleted = (file.path for file in change.files if file.diff.change is ChangeKind.DELETED)
        there = {file.path for file in change.files if file.diff.change is not ChangeKind.DELETED} | whole.keys()
        return cls(
            whole=whole,
            there=frozenset(there),
            absent=frozenset(file.path for file in change.dossier.files or () if not file.exists),
            gone=frozenset((*moved, *deleted)),
        )

    def find(self, path: str) -> str | None:
        """The path that is meant: itself, or the only known one that ends in it."""
        if path in self.there:
            return path
        alike = [one for one in self.there if one.endswith(f"/{path}")]
        return alike[0] if len(alike) == 1 else None


def _checked(text: str, criterion: str, case: Case, known: _Known) -> Iterator[Wrong]:
    pointer = read_pointer(text)
    if pointer is None:
        return
    path = known.find(pointer.path)
    if path is None:
        yield from _missing_file(pointer, criterion, case, known)
    elif path in known.whole:
        yield from _missing_line(pointer, path, known.whole[path])
        yield from _missing_name(pointer, path, known.whole[path])


def _missing_file(pointer: ClaimPointer, criterion: str, case: Case, known: _Known) -> Iterator[Wrong]:
    path = pointer.path
    if path not in known.absent:
        return
    name = path.rpartition("/")[2]
    is_file = _FILE.fullmatch(path) is not None and (
        "/" in path or pointer.line is not None or pointer.name is not None
    )
    is_elsewhere = any(one.rpartition("/")[2] == name for one in (*known.there, *known.gone))
    announced = name in " ".join((*case.uncertainties, *case.work_arounds))
    words = f'the case cites {path} for "{criterion[:80]}", and there is no such file at the head commit'
    yield Wrong(What.FILE, words, is_sure=is_file and not is_elsewhere and not announced)


def _missing_line(pointer: ClaimPointer, path: str, text: str) -> Iterator[Wrong]:
    count = len(text_lines(text))
    first, last = pointer.line, pointer.end_line or pointer.line
    if first is None or last is None or last <= count + 1:  # editors count an empty line behind the last newline
        return
    words = f"the case cites line {first if first > count else last} of {path}, which has {count} lines"
    yield Wrong(What.LINE, words, is_sure=first > count + 1, path=path)


def _missing_name(pointer: ClaimPointer, path: str, text: str) -> Iterator[Wrong]:
    if pointer.name is None:
        return
    is_titled = _TITLED.search(path) is not None
    parts = [
        _tidy(part, is_titled=is_titled)
        for part in (_TITLES if " " in pointer.name.strip() else _PARTS).split(pointer.name)
    ]
    missing = [part for part in parts if part and not _is_there(part, text)]
    if not missing:
        return
    words = f'the case cites "{pointer.name[:120]}" in {path}, and "{missing[0][:80]}" does not stand there'
    yield Wrong(What.NAME, words, _is_surely_missing(missing, parts, text), path)


_PARTS: Final = pattern(r"::| > |#|(?<=\w)\.(?=\w)|(?<=\w)/(?=\w)| › ")
_TITLES: Final = pattern(r"::| > | › ")
_TAIL: Final = pattern(r"[\[(<{].{0,300}$", re.DOTALL)


def _tidy(part: str, *, is_titled: bool) -> str:
    """A name without parameters, brackets and quotes; a title as it is, where tests have titles."""
    bare = _CASE.sub("", part.strip().strip("`'\"").strip())
    first = _TAIL.sub("", (bare.split() or [""])[0]).rstrip(",;:.")
    is_name = _IDENTIFIER.fullmatch(first) and (not is_titled or " " not in bare or _CODE_NAME.search(first))
    return first if is_name else bare


_CASE: Final = pattern(r"\[[^\[\]]{0,100}\]$")


def _is_there(part: str, text: str) -> bool:
    """The name, the title, how it begins, or all of its words."""
    if _IDENTIFIER.fullmatch(part):
        return re.search(rf"(?<!\w){re.escape(part)}(?!\w)", text) is not None
    folded = " ".join(text.replace("\\", "").split())
    return " ".join(part.split()[:_BEGINNING]) in folded or all(
        re.search(rf"\b{re.escape(word)}\b", text) for word in set(_WORDS.findall(part))
    )


_CODE_NAME: Final = pattern(r"_|[a-z][A-Z]|\d")
_BEGINNING: Final = 3
_TITLED: Final = pattern(r"\.(?:[cm]?[jt]sx?|rb|kts?|vue|svelte|go|ex|exs|swift|dart|php|scala)$")


def _is_surely_missing(missing: list[str], parts: list[str], text: str) -> bool:
    """Neither inherited, nor generated from a table, nor words that only describe."""
    if _MADE_TITLES.search(text) and not (len(parts) == 1 and _IDENTIFIER.fullmatch(missing[0])):
        return False
    if _IDENTIFIER.fullmatch(missing[0]):
        return not _INHERITS.search(text) or "_" in missing[0] or len(parts) == 1
    return True
