"""A case that cites files, lines and names that the head tree does not hold.

A citation is surely wrong only in a documented form, where the target is known to be missing and no move, omitted folder,
inheritance or generated title explains it. A target named in any other way is doubtful at most. Prose cites nothing.

673 of the 4,127 changes that the rates were measured on came with a case; the others got one of true pointers, made for it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice, takewhile
from typing import Final, assert_never

from worker.domain.pattern import pattern
from worker.domain.verdict.ledger import Case
from worker.domain.verdict.verdict import Category
from worker.dossier.case import FILE_ENDINGS, ClaimPointer, read_pointer
from worker.dossier.diff import ChangeKind, DiffLine, Hunk, text_lines
from worker.signals.analysis.change import AnalyzedFile, CodeChange, memoized
from worker.signals.analysis.file_roles import FileRole, Language, language_of, role_of
from worker.signals.signal import SignalKind, SignalMatch, SignalScope, signal

MOST_CLAIMS: Final = 200
_LONGEST: Final = 500
_FILE: Final = pattern(rf"[\w.@+/ \[\]()$-]*[\w\])-]\.{FILE_ENDINGS}")
_IDENTIFIER: Final = pattern(r"[^\W\d][\w$!?]*")
_WORDS: Final = pattern(r"[^\W\d_][^\W_]{2,}", re.UNICODE)
_GENERATED_TITLES: Final = pattern(
    r"\b(?:it|test|describe|context|specify)(?:\.\w+){0,3}\(\s*(?:[A-Za-z_$][\w.$]*\s*[,)+]|[A-Za-z_$][\w.$]*\(|`\$\{)|\)\(\s*['\"`][%$]|macro_rules!|rstest|test_case|parametrize|DynamicTest|t\.Run\(\w|concat!|paste!"
)
_GENERATED_NAMES: Final = pattern(r"import \*|globals\(\)|setattr\(|type\(")
"""How a Python file gets names that it does not spell."""
_INHERITS: Final = pattern(
    r"\bextends\b|^[^\S\n]*class \w+\([^)\s]|\bimplements\b|\bmixin\b|#\[derive|\binclude\b|^[^\S\n]*export \* from|\bpub use\b|import \*(?! as\b)",
    re.MULTILINE,
)
_ROOTS: Final = frozenset(
    {"", ".", "..", "a", "b", "app", "repo", "repository", "workspace", "project", "root", "code", "src", "work"}
)
"""Usual names of the folder around a repository."""
_MOST_BEHIND: Final = 4
_REMARK: Final = pattern(
    r"[^\w\s'-]|\s-|^-|\b(?:is|are|was|were|now|new|tests?|covers?|checks?|shows?|proves?|verif\w+|asserts?|pass\w*|fail\w*|added|exists?|and|which|that|this"
    r"|these|it|for|see|above|below|lines?|etc|here|there|both|also|too|only|does|do|has|have|did|case|title|describe|block|suite|file)\b",
    re.IGNORECASE,
)
"""Words about a test behind its title, and signs that separate them from it."""
_PARTS: Final = pattern(r"::| > |#|(?<=\w)\.(?=\w)|(?<=\w)/(?=\w)| › ")
_TITLES: Final = pattern(r"::| > | › ")
_TAIL: Final = pattern(r"[\[(<{].{0,300}$", re.DOTALL)
_CASE: Final = pattern(r"\[[^\[\]]{0,100}\]$")
_CODE_NAME: Final = pattern(r"_|[a-z][A-Z]|\d")
_TITLED: Final = pattern(r"\.(?:[cm]?[jt]sx?|rb|kts?|vue|svelte|go|ex|exs|swift|dart|php|scala)$")
_LITERAL: Final = pattern(r"'((?:[^'\\\n]|\\.){1,300})'|\"((?:[^\"\\\n]|\\.){1,300})\"|`((?:[^`\\]|\\.){1,300})`")
_HOLE: Final = pattern(r"\$\{[^{}]{0,200}\}|\$[\w.]+|%[a-z#%]|\{[\w.:]{0,60}\}")
_BEHIND_TITLE: Final = pattern(
    r"\s*(?:[,;]\s|\s[-—–(\[]|[(\[](?![^()\[\]]{0,100}[)\]]\W{1,9}\w)|\.{3}|…).{0,300}$", re.DOTALL
)
"""Text after a title; a bracket at a word, with more words behind it, is the title's own: `parse() fails`."""
_BETWEEN_TITLES: Final = pattern(r"[\s>:/.,-]+")
_MOST_STRINGS: Final = 5_000
_MOST_PATTERNS: Final = 200
_MOST_HOLES: Final = 4
_MOST_STEPS: Final = 20
_FEWEST_WORDS: Final = 2
"""Words that a string must have to be a title, or the fixed part of one."""
_CONTEXT_LINES: Final = 3


class CitationError(StrEnum):
    FILE = "file"
    LINE = "line"
    NAME = "name"


@dataclass(frozen=True)
class WrongCitation:
    """A citation that points at nothing. `path` is set for a file of the dossier; `claim` is the line of the case."""

    kind: CitationError
    text: str
    is_sure: bool
    path: str | None = None
    claim: str = ""


@dataclass(frozen=True)
class _HeadTree:
    """What is known of the head tree: whole texts, line counts, and paths that are there, missing, deleted or moved.

    `visible_texts` is what the diff shows of files that are not known whole, with the headings of its hunks.
    """

    texts: dict[str, str]
    lengths: dict[str, int]
    paths: frozenset[str]
    absent_paths: frozenset[str]
    moved_paths: frozenset[str]
    visible_texts: dict[str, str]
    roots: frozenset[str]
    change: CodeChange

    @classmethod
    def from_change(cls, change: CodeChange) -> "_HeadTree":
        ends = list(_find_last_hunks(change))
        texts = {
            file.path: "".join(f"{line.text}\n" for line in hunk.lines if line.head_line is not None)
            for file, hunk in ends
            if len(file.diff.hunks) == 1 and hunk.head_start == 1
        } | change.texts
        paths, moved, shown = set[str](), set[str](), dict[str, str]()
        for file in change.files:
            diff = file.diff
            if file.head_text is not None:
                texts[file.path] = file.head_text
            if diff.change is ChangeKind.DELETED or diff.is_symlink:
                texts.pop(file.path, None)
            if diff.change is ChangeKind.DELETED:
                moved.add(file.path)
            else:
                paths.add(file.path)
            if diff.change is ChangeKind.RENAMED and diff.old_path:
                moved.add(diff.old_path)
            if file.path not in texts and diff.hunks:
                lines = (*(hunk.section for hunk in diff.hunks), *(line.text for line in diff.lines()))
                shown[file.path] = "\n".join(lines)
        return cls(
            texts=texts,
            lengths={file.path: hunk.head_start + hunk.head_count - 1 for file, hunk in ends},
            paths=frozenset(paths | texts.keys()),
            absent_paths=frozenset(file.path for file in change.dossier.files or () if not file.exists),
            moved_paths=frozenset(moved),
            visible_texts=shown,
            roots=_ROOTS | set(change.dossier.pull_request.repository.casefold().split("/")),
            change=change,
        )

    def strings(self, path: str) -> "FileStrings":
        cache = _cache_strings(self.change)
        if path not in cache:
            cache[path] = FileStrings.from_text(self.texts[path])
        return cache[path]

    def find(self, path: str) -> str | None:
        """The path that is meant: itself, or the only one that ends in it."""
        if path in self.paths:
            return path
        alike = [candidate for candidate in self.paths if candidate.endswith(f"/{path}")]
        return alike[0] if len(alike) == 1 else None


class NamePresence(StrEnum):
    """Whether a file holds a name or a title. PERHAPS: something like it."""

    THERE = "there"
    PERHAPS = "perhaps"
    NOT = "not"


@signal(
    Category.SPEC_VIOLATION,
    SignalKind.FACT,
    SignalScope.CASE,
    "Correct the case: cite a file that exists, or add the one that it cites.",
)
def cited_file_missing(change: CodeChange) -> Iterator[SignalMatch]:
    """The case cites a file as proof that is known not to be in the head tree, nor any file that it may be short for.

    Why it matters: The proof that the author names cannot be looked at.
    Example: `AC1 -> src/upload.py:12`, and there is no `src/upload.py`.
    False alarms: 0 of 870 clean changes with a case (0.0 %, at most 0.44 %).
    """
    return _find_certain(change, CitationError.FILE)


@signal(Category.SPEC_VIOLATION, SignalKind.FACT, SignalScope.CASE, "Correct the case: cite a line that exists.")
def cited_line_missing(change: CodeChange) -> Iterator[SignalMatch]:
    """The case cites a line behind the end of a file.

    Why it matters: The proof that the author names cannot be looked at.
    Example: `AC1 -> src/a.py:120`, and the file has 80 lines.
    False alarms: 0 of 870 clean changes with a case (0.0 %, at most 0.44 %).
    """
    return _find_certain(change, CitationError.LINE)


@signal(
    Category.SPEC_VIOLATION,
    SignalKind.FACT,
    SignalScope.CASE,
    "Correct the case: cite a name that exists, or add the one that it cites.",
)
def cited_name_missing(change: CodeChange) -> Iterator[SignalMatch]:
    """The case cites a function, a type or a test that the file it names does not have.

    Why it matters: The proof that the author names cannot be looked at.
    Example: `AC1 -> src/a.py:retry_upload`, and the file defines no `retry_upload`.
    False alarms: 0 of 870 clean changes with a case (0.0 %, at most 0.44 %).
    """
    return _find_certain(change, CitationError.NAME)


@signal(Category.SPEC_VIOLATION, SignalKind.SUSPICION, SignalScope.CASE)
def citation_doubtful(change: CodeChange) -> Iterator[SignalMatch]:
    """What the case cites is not there, but it may have moved, be inherited, be generated or be still to come.

    Why it matters: The proof may stand somewhere else, where a reader has to look for it.
    Example: `AC1 -> Upload.retry`, and a base class outside of the change may define it.
    False alarms: 0 of 870 clean changes with a case (0.0 %, at most 0.44 %).
    """
    return (
        SignalMatch(citation.text, citation.path, strength=0.6)
        for citation in find_wrong_citations(change)
        if not citation.is_sure
    )


def _find_certain(change: CodeChange, kind: CitationError) -> Iterator[SignalMatch]:
    return (
        SignalMatch(citation.text, citation.path, step=_next_step(citation))
        for citation in find_wrong_citations(change)
        if citation.is_sure and citation.kind is kind
    )


def _next_step(wrong: WrongCitation) -> str:
    mend = f"Correct the line `{wrong.claim}` of the case"
    match wrong.kind:
        case CitationError.FILE:
            return f"{mend}: cite the file that shows it, or add the file that it cites."
        case CitationError.LINE:
            return f"{mend}: cite a line that {wrong.path} has."
        case CitationError.NAME:
            return f"{mend}: cite a name that {wrong.path} has, or add the one that it cites."
        case _:
            assert_never(wrong.kind)


@memoized
def find_wrong_citations(change: CodeChange) -> tuple[WrongCitation, ...]:
    """The citations that the head tree contradicts, each target once."""
    case = change.dossier.case
    if case is None:
        return ()
    tree = _HeadTree.from_change(change)
    cited = dict.fromkeys(_find_citations(case))
    return tuple(
        replace(wrong, claim=f"{criterion[:80]} -> {text[:160]}")
        for text, pointer, criterion in cited
        for wrong in _check_pointer(pointer, criterion, case, tree)
    )


def _find_citations(case: Case) -> Iterator[tuple[str, ClaimPointer, str]]:
    """Each target as it is written and as it is read, with its criterion. Evidence in prose cites none."""
    for claim in case.ac_coverage[:MOST_CLAIMS]:
        for text in (claim.addressed_by, claim.evidence):
            pointer = read_pointer(text) if text and len(text) <= _LONGEST else None
            if text and pointer is not None and (pointer.is_exact or text is claim.addressed_by):
                yield text, pointer, claim.criterion


def _check_pointer(pointer: ClaimPointer, criterion: str, case: Case, tree: _HeadTree) -> Iterator[WrongCitation]:
    path = tree.find(pointer.path)
    if path is None:
        yield from _check_file(pointer, criterion, case, tree)
    elif path in tree.texts:
        yield from _check_line(pointer, path, len(text_lines(tree.texts[path])))
        yield from _check_name(pointer, path, tree)
    elif path in tree.visible_texts:
        if path in tree.lengths:
            yield from _check_line(pointer, path, tree.lengths[path])
        yield from _check_unseen_name(pointer, path, tree.visible_texts[path])


def _check_unseen_name(pointer: ClaimPointer, path: str, shown: str) -> Iterator[WrongCitation]:
    """Check a name in a file of which only the changed parts are known: a claim about this change leans on them."""
    name = _PARTS.split(pointer.name or "")[-1].strip().strip("`'\"").removesuffix("()")
    title = (pointer.name or "").strip("`'\" ")
    if " " in title and _TITLED.search(path):
        name, is_missing = title, not FileStrings.from_text(shown).contains_title(title)
    else:
        is_missing = bool(_IDENTIFIER.fullmatch(name)) and not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", shown)
    if is_missing:
        text = f'the case cites "{name[:120]}" in {path}, and nothing that this change shows of the file is called so'
        yield WrongCitation(CitationError.NAME, text, is_sure=False, path=path)


def _check_file(pointer: ClaimPointer, criterion: str, case: Case, tree: _HeadTree) -> Iterator[WrongCitation]:
    path = pointer.path
    if path not in tree.absent_paths:
        return
    folder, _, name = path.rpartition("/")
    ending = name.rpartition(".")[2]
    # words with a dot in them are no file: a file is called as others of this repository are
    is_like_others = " " not in path and bool(folder) and any(other.endswith(f".{ending}") for other in tree.paths)
    is_placed = "/" in path or pointer.line is not None or pointer.name is not None or not path.endswith(".js")
    is_file = is_placed and (_FILE.fullmatch(path) is not None or is_like_others)
    is_gone = any(other.rpartition("/")[2].casefold() == name.casefold() for other in tree.moved_paths)
    is_elsewhere = is_gone or any(_can_mean(path.casefold(), other.casefold(), tree.roots) for other in tree.paths)
    is_announced = name in " ".join((*case.uncertainties, *case.work_arounds))
    text = f'the case cites {path} for "{criterion[:80]}", and there is no such file at the head commit'
    is_sure = pointer.is_exact and is_file and not is_elsewhere and not is_announced
    yield WrongCitation(CitationError.FILE, text, is_sure)


def _can_mean(cited: str, path: str, roots: frozenset[str]) -> bool:
    """Whether *cited* is *path* with folders left out, or below folders that are not the repository's own.

    Both are case-folded, as some file systems do.
    """
    folders = iter(path.split("/"))
    outer, match, _ = cited.rpartition(f"/{path}")
    is_below = bool(match) and cited.endswith(path) and ("/" in path or outer.rpartition("/")[2].casefold() in roots)
    return is_below or all(part in folders for part in cited.split("/"))


def _check_line(pointer: ClaimPointer, path: str, count: int) -> Iterator[WrongCitation]:
    first, last = pointer.line, pointer.end_line or pointer.line
    if first is None or last is None or last <= count + 1:  # editors count an empty line behind the last newline
        return
    text = f"the case cites line {first if first > count else last} of {path}, which has {count} lines"
    yield WrongCitation(CitationError.LINE, text, is_sure=pointer.is_exact and first > count + 1, path=path)


def _check_name(pointer: ClaimPointer, path: str, tree: _HeadTree) -> Iterator[WrongCitation]:
    if pointer.name is None:
        return
    text, name = tree.texts[path], pointer.name
    is_titled = _TITLED.search(path) is not None
    parts = [
        part.strip() if _is_extended_title(part, path, tree) else _normalize(part, is_titled=is_titled)
        for part in (_TITLES if " " in name.strip() else _PARTS).split(name)
    ]
    looked = ((part, _look_up_name(part, text, tree.strings(path))) for part in parts if part)
    first, presence = next((look for look in looked if look[1] is not NamePresence.THERE), ("", NamePresence.THERE))
    if not first:
        return
    note = f'the case cites "{name[:120]}" in {path}, and "{first[:80]}" does not stand there'
    is_name = " " not in name.strip() or (is_titled and role_of(path) is FileRole.TEST)  # else a remark
    is_stated = pointer.is_exact and pointer.names_code and is_name
    is_sure = is_stated and presence is NamePresence.NOT and _is_surely_missing(first, parts, path, text)
    yield WrongCitation(CitationError.NAME, note, is_sure, path)


def _is_extended_title(part: str, path: str, tree: _HeadTree) -> bool:
    """Whether a few more words complete a title of the file: `parse fails twice`, where `parse fails` is one."""
    strings, title = tree.strings(path), part.strip()
    if _TITLED.search(path) is None or role_of(path) is not FileRole.TEST or strings.contains_title(title):
        return False
    behind = strings.text_behind(title)
    return bool(behind) and len(behind.split()) <= _MOST_BEHIND and not _REMARK.search(behind)


def _normalize(part: str, *, is_titled: bool) -> str:
    """A name without parameters, brackets and quotes; a title as it is, where tests have titles."""
    bare = _CASE.sub("", part.strip().strip("`'\"").strip())
    first = _TAIL.sub("", (bare.split() or [""])[0]).rstrip(",;:.")
    is_name = _IDENTIFIER.fullmatch(first) and (not is_titled or " " not in bare or _CODE_NAME.search(first))
    return first if is_name else bare


def _look_up_name(part: str, text: str, strings: "FileStrings") -> NamePresence:
    if not _IDENTIFIER.fullmatch(part):
        if strings.contains_title(part) or " ".join(part.split()) in " ".join(text.split()):
            return NamePresence.THERE
        if strings.text_behind(part):
            return NamePresence.NOT
        has_all = all(re.search(rf"\b{re.escape(word)}\b", text) for word in set(_WORDS.findall(part)))
        return NamePresence.PERHAPS if has_all else NamePresence.NOT
    if re.search(rf"(?<!\w){re.escape(part)}(?!\w)", text) is not None:
        return NamePresence.THERE
    if "_" in part and strings.contains_title(part.replace("_", " ")):  # Go writes a subtest's title with underscores
        return NamePresence.THERE
    return NamePresence.PERHAPS if part in text else NamePresence.NOT


def _is_surely_missing(missing: str, parts: list[str], path: str, text: str) -> bool:
    """Whether the name can be neither inherited nor generated from a table."""
    is_name, is_alone = _IDENTIFIER.fullmatch(missing) is not None, len(parts) == 1
    is_python = language_of(path) in {None, Language.PYTHON}
    is_generated = _GENERATED_TITLES.search(text) is not None or (is_python and bool(_GENERATED_NAMES.search(text)))
    if is_generated and not (is_alone and is_name):
        return False
    return not is_name or not _INHERITS.search(text) or "_" in missing or is_alone


def _find_last_hunks(change: CodeChange) -> Iterator[tuple[AnalyzedFile, Hunk]]:
    """Modified files whose last hunk reaches the end of the file, with that hunk.

    Git prints three lines of context, and fewer only at the borders of a file. Nothing is known where some hunk shows that the
    diff was printed with another number.
    """
    modified = [file for file in change.files if file.diff.change is ChangeKind.MODIFIED and file.diff.hunks]
    before = {_count_leading_lines(hunk.lines) for file in modified for hunk in file.diff.hunks if hunk.base_start > 1}
    for file in modified if before == {_CONTEXT_LINES} else ():
        last = file.diff.hunks[-1]
        if last.head_count and _count_leading_lines(last.lines[::-1]) < _CONTEXT_LINES:
            yield file, last


def _count_leading_lines(lines: tuple[DiffLine, ...]) -> int:
    """The number of lines before the first that changed."""
    return sum(1 for _ in takewhile(lambda line: line.base_line is not None and line.head_line is not None, lines))


@dataclass(frozen=True)
class FileStrings:
    """The strings of a file: as they are, and those with holes as patterns.

    A title of a test is there if a string holds it, if it is made of whole strings, or if a string with placeholders can become
    it; one that differs in more than words behind a comma or in brackets is not.
    """

    literals: frozenset[str]
    patterns: "tuple[re.Pattern[str], ...]"

    @classmethod
    def from_text(cls, text: str) -> "FileStrings":
        matches = islice(_LITERAL.finditer(text), _MOST_STRINGS)
        folded = dict.fromkeys(_fold(next(filter(None, match.groups()))) for match in matches)
        holed = [literal for literal in folded if 0 < len(_HOLE.findall(literal)) <= _MOST_HOLES][:_MOST_PATTERNS]
        fixed = (list(map(re.escape, _HOLE.split(literal))) for literal in holed if _HOLE.sub("", literal).strip())
        return cls(frozenset(folded), tuple(re.compile(r".{0,200}".join(parts), re.DOTALL) for parts in fixed))

    def contains_title(self, title: str) -> bool:
        """Whether it holds *title*, or the part of it before a comma or a bracket."""
        whole = _fold(title)
        return any(self._has(variant) for variant in {whole, _BEHIND_TITLE.sub("", whole)} if variant)

    def _has(self, title: str) -> bool:
        title_words = sorted(title.replace("'", "").replace('"', "").split())
        return (
            any(title in literal or title_words == sorted(literal.split()) for literal in self.literals)
            or any(made.fullmatch(title) for made in self.patterns)
            or self._is_joined(title)
        )

    def _is_joined(self, title: str) -> bool:
        """Whether the title is a group's title and a test's, one after the other."""
        rest = title
        for _ in range(_MOST_STEPS):
            longest = max((literal for literal in self.literals if rest.startswith(literal)), key=len, default="")
            between = _BETWEEN_TITLES.match(rest, len(longest))
            if not longest or between is None:
                return bool(longest) and rest == longest
            rest = rest[between.end() :]
        return False

    def text_behind(self, title: str) -> str:
        """The rest of *title* behind the longest string, of several words, that it begins with."""
        whole = _fold(title)
        several = (literal for literal in self.literals if len(literal.split()) >= _FEWEST_WORDS)
        longest = max((literal for literal in several if whole.startswith(f"{literal} ")), key=len, default=whole)
        return whole[len(longest) :].strip()


@memoized
def _cache_strings(_: CodeChange) -> dict[str, FileStrings]:
    """The strings of the files that were read so far, by path."""
    return {}


def _fold(text: str) -> str:
    return " ".join(text.replace("\\", "").split())
