"""What is left of each file of a change, and of what was asked for, to be compared: words, names, folders.

Does not compare (the families do), and understands no language: no tree is needed, so a bare diff is enough.
Invariant: linear in the text, and bounded for each file.
"""

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple

from worker.domain.dossier.dossier import Dossier
from worker.domain.pattern import pattern
from worker.dossier.diff.parser import LineKind
from worker.signals.analysis.change import AnalyzedFile
from worker.signals.analysis.file_roles import FileRole, Language

_LONGEST_LINE: Final = 1_000
_LONGEST_DEFINITION: Final = 300
_MOST_LINES: Final = 4_000
_ALL_LINES: Final = 24_000
_MOST_BACKGROUND: Final = 20_000
"""Characters of a file that say which words are common there."""
_ALL_BACKGROUND: Final = 300_000
_MOST_ASKED: Final = 40_000

NAME_PATTERN: Final = pattern(r"[^\W\d]\w+")
_PART: Final = pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+")
_DEFINITION: Final = pattern(
    r"\b(?:def|class|func|fn|fun|function|interface|struct|enum|trait|type|const|record|let|var|static)\s+"
    r"(?:\([^)]{0,200}\)\s*)?([^\W\d]\w{2,})|(?<!\w)([^\W\d]\w{2,})\s*\([^()]{0,300}\)\s*(?:throws [\w, .]{1,200})?\{\s*$"
)

_COMMON: Final = """
a an the and or not of to in on for with from by is are be was were has have had it its this that these those as at if
else elif then than do does did can could should would will may must but so no yes we you i they he she our your their
there here when where which who what how why all any each some more most other into out up down over only own same too
very just also
def class func fn function return import use pub let mut const var static final public private protected void new self
super none null nil true false int string str bool boolean float double async await try except catch finally throw
throws raise yield lambda pass break continue while case switch match struct enum trait impl interface type extends
implements package module export default
get set add remove test tests assert equal equals expect describe error err value values name object list map dict key
data result com org github io www http https main src lib index java core api util utils
"""
"""Words of every program and every sentence. That two files share one says nothing."""

_USAGE_WORDS: Final = "test tests spec specs it mock fixture create mod init lib index main src unit integration e2e"
"""What a file's name says about its use, not about its subject."""

_ROOTS: Final = """
src main test tests java lib source sources pkg packages __tests__ spec specs unit integration testing kotlin js ts py
python core
"""
"""Folders that tests and code do not share though they belong together."""

_NAMELESS: Final = frozenset({"index", "mod", "lib", "__init__", "main"})
"""Files that are called after their folder."""

_ENDINGS: Final = (("ies", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", ""))
_SHORTEST_STEM: Final = 3


@lru_cache(maxsize=8_192)
def stem(word: str) -> str:
    """The word without the ending that grammar gave it, so that `retries`, `retried` and `retry` meet."""
    word = word.lower()
    for ending, left in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM and not word.endswith("ss"):
            word = word.removesuffix(ending) + left
            break
    if len(word) > _SHORTEST_STEM and word.endswith("e"):
        word = word[:-1]
    return word[:-1] if len(word) > _SHORTEST_STEM and word[-1] == word[-2] else word


@lru_cache(maxsize=8_192)
def stems_of(name: str) -> tuple[str, ...]:
    """The words of one name: `parseHTTPHeaders` and `parse_http_header` give the same."""
    return tuple(stem(part) for part in _PART.findall(name) if len(part) > 1)


def stems_in(text: str) -> frozenset[str]:
    """The words of all names and words of a text."""
    return stems_of_all(set(NAME_PATTERN.findall(text)))


def stems_of_all(names: Iterable[str]) -> frozenset[str]:
    return frozenset[str]().union(*map(stems_of, names))


@lru_cache(maxsize=8_192)
def fold_name(name: str) -> str:
    """A name without case and underscores, so that it is the same in every language's spelling."""
    return name.replace("_", "").lower()


@lru_cache(maxsize=1)
def common_stems() -> frozenset[str]:
    return frozenset(map(stem, _COMMON.split()))


@lru_cache(maxsize=1)
def _usage_stems() -> frozenset[str]:
    return frozenset(map(stem, _USAGE_WORDS.split()))


@lru_cache(maxsize=1)
def _root_folders() -> frozenset[str]:
    return frozenset(_ROOTS.split())


def split_path(path: str) -> frozenset[str]:
    return stems_in(" ".join(part.partition(".")[0] for part in path.split("/")))


def path_subject(path: str) -> frozenset[str]:
    """What a file is about, as its name says: `tests/test_retry_policy.py` and `retryPolicy.ts` give the same."""
    *folders, name = path.split("/")
    bare = name.partition(".")[0]
    return stems_in(folders[-1] if folders and bare in _NAMELESS else bare) - _usage_stems()


def subject_folders(path: str) -> tuple[str, ...]:
    """The folders without those that part tests from code."""
    return tuple(part for part in path.split("/")[:-1] if part.lower() not in _root_folders())


class FileTrace(NamedTuple):
    """What is left of one file for the comparison."""

    size: int
    """Changed lines."""
    words: frozenset[str]
    names: frozenset[str]
    edited_names: frozenset[str]
    """Names, folded, that stand only in the removed (with a minus before them) or only in the added lines."""
    defined_names: frozenset[str]
    context_names: frozenset[str]
    """Words of the lines around, and of the headings of the hunks."""
    path_words: frozenset[str]
    subject: frozenset[str]
    folders: tuple[str, ...]
    unchanged_words: Counter[str]
    """How often each name stands in the part of the file that was not changed."""
    known_names: frozenset[str]
    """Every name of the file, as far as it is read."""
    language: Language | None
    is_test: bool
    is_only_comments: bool


class RequestWords(NamedTuple):
    """The words of title, issue, criteria, commits and case."""

    title: frozenset[str]
    words: frozenset[str]
    names: frozenset[str]


def build_trace(file: AnalyzedFile, files: int = 1) -> FileTrace:
    """The trace of one of so many *files*; the more there are, the less is read of each."""
    lines = list(islice(file.diff.lines(), min(_ALL_LINES // files, _MOST_LINES)))
    gone = _find_names(line.text for line in lines if line.kind is LineKind.REMOVED)
    come = _find_names(line.text for line in lines if line.kind is LineKind.ADDED)
    around = _join_lines(line.text for line in lines if line.kind is LineKind.CONTEXT)
    around += "\n" + "\n".join(hunk.section[:_LONGEST_LINE] for hunk in islice(file.diff.hunks, _MOST_LINES))
    names = gone | come
    unchanged = _count_unchanged(file, around, names, min(_ALL_BACKGROUND // files, _MOST_BACKGROUND))
    left, right = set(map(fold_name, gone)), set(map(fold_name, come))
    return FileTrace(
        size=sum(line.kind is not LineKind.CONTEXT for line in lines),
        words=stems_of_all(names),
        names=names,
        edited_names=frozenset(right - left) | {f"-{name}" for name in left - right},
        defined_names=_find_definitions(line.text for line in lines if line.kind is not LineKind.CONTEXT),
        context_names=stems_in(around),
        path_words=split_path(file.path),
        subject=path_subject(file.path),
        folders=subject_folders(file.path),
        unchanged_words=unchanged,
        known_names=names.union(unchanged),
        language=file.language,
        is_test=file.role is FileRole.TEST,
        is_only_comments=all(_is_comment(line.text) for line in lines if line.kind is not LineKind.CONTEXT),
    )


def find_request_words(dossier: Dossier) -> RequestWords:
    """What was asked for, and what the author says of it."""
    names = frozenset(name for text in list_request_texts(dossier) for name in NAME_PATTERN.findall(text[:_MOST_ASKED]))
    return RequestWords(stems_in(dossier.pull_request.title) - common_stems(), stems_of_all(names), names)


def list_request_texts(dossier: Dossier) -> list[str]:
    """The texts of title, description, commits, issues, criteria and case."""
    pull, case = dossier.pull_request, dossier.case
    texts = [pull.title, pull.body, *(commit.message for commit in pull.commits)]
    texts += [f"{issue.title}\n{issue.body}" for issue in dossier.issues]
    texts += [criterion.text for criterion in dossier.criteria or ()]
    if case is not None:
        texts += [case.summary, *case.work_arounds]
        texts += [f"{claim.addressed_by} {claim.evidence or ''}" for claim in case.ac_coverage]
    return texts


def _is_comment(text: str) -> bool:
    text = text.strip()
    return not text or text.startswith(("#", "//", "/*", "* ", "*/"))


def _join_lines(texts: Iterable[str]) -> str:
    return "\n".join(text[:_LONGEST_LINE] for text in texts)


def _find_names(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(NAME_PATTERN.findall(_join_lines(texts)))


def _find_definitions(texts: Iterable[str]) -> frozenset[str]:
    return frozenset[str]().union(*map(find_defined_names, texts))


def find_defined_names(line: str) -> frozenset[str]:
    """The names that a line of code defines."""
    return frozenset(before or after for before, after in _DEFINITION.findall(line[:_LONGEST_DEFINITION]))


def _count_unchanged(file: AnalyzedFile, around: str, changed: frozenset[str], background: int) -> Counter[str]:
    if file.head_text is None:
        return Counter(NAME_PATTERN.findall(around[:background]))
    counts = Counter(NAME_PATTERN.findall(file.head_text[:background]))
    for name in changed & counts.keys():
        counts[name] -= 1
    return counts
