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
from worker.signals.analysis.change import ChangedFile
from worker.signals.analysis.file_roles import Language, Role

_LONGEST_LINE: Final = 1_000
_LONGEST_DEFINITION: Final = 300
_MOST_LINES: Final = 4_000
_ALL_LINES: Final = 24_000
_MOST_BACKGROUND: Final = 20_000
"""Characters of a file that say which words are common there."""
_ALL_BACKGROUND: Final = 300_000
_MOST_ASKED: Final = 40_000

NAME: Final = pattern(r"[^\W\d]\w+")
_PART: Final = pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+")
_DEFINED: Final = pattern(
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

_HOUSEHOLD: Final = "test tests spec specs it mock fixture create mod init lib index main src unit integration e2e"
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
    return stems_of_all(set(NAME.findall(text)))


def stems_of_all(names: Iterable[str]) -> frozenset[str]:
    return frozenset[str]().union(*map(stems_of, names))


@lru_cache(maxsize=8_192)
def folded(name: str) -> str:
    """A name without case and underscores, so that it is the same in every language's spelling."""
    return name.replace("_", "").lower()


@lru_cache(maxsize=1)
def common_stems() -> frozenset[str]:
    return frozenset(map(stem, _COMMON.split()))


@lru_cache(maxsize=1)
def _household() -> frozenset[str]:
    return frozenset(map(stem, _HOUSEHOLD.split()))


@lru_cache(maxsize=1)
def _roots() -> frozenset[str]:
    return frozenset(_ROOTS.split())


def words_of_path(path: str) -> frozenset[str]:
    return stems_in(" ".join(part.partition(".")[0] for part in path.split("/")))


def subject_of(path: str) -> frozenset[str]:
    """What a file is about, as its name says: `tests/test_retry_policy.py` and `retryPolicy.ts` give the same."""
    *folders, name = path.split("/")
    bare = name.partition(".")[0]
    return stems_in(folders[-1] if folders and bare in _NAMELESS else bare) - _household()


def place_of(path: str) -> tuple[str, ...]:
    """The folders without those that part tests from code."""
    return tuple(part for part in path.split("/")[:-1] if part.lower() not in _roots())


class Trace(NamedTuple):
    """What is left of one file for the comparison."""

    size: int
    """Changed lines."""
    words: frozenset[str]
    names: frozenset[str]
    edited: frozenset[str]
    """Names, folded, that stand only in the removed (with a minus before them) or only in the added lines."""
    defined: frozenset[str]
    around: frozenset[str]
    """Words of the lines around, and of the headings of the hunks."""
    path_words: frozenset[str]
    subject: frozenset[str]
    place: tuple[str, ...]
    unchanged: Counter[str]
    """How often each name stands in the part of the file that was not changed."""
    known: frozenset[str]
    """Every name of the file, as far as it is read."""
    language: Language | None
    is_test: bool
    only_comments: bool


class Asked(NamedTuple):
    """The words of title, issue, criteria, commits and case."""

    title: frozenset[str]
    words: frozenset[str]
    names: frozenset[str]


def trace_of(file: ChangedFile, files: int = 1) -> Trace:
    """The trace of one of so many *files*; the more there are, the less is read of each."""
    lines = list(islice(file.diff.lines(), min(_ALL_LINES // files, _MOST_LINES)))
    gone = _names(line.text for line in lines if line.kind is LineKind.REMOVED)
    come = _names(line.text for line in lines if line.kind is LineKind.ADDED)
    around = _joined(line.text for line in lines if line.kind is LineKind.CONTEXT)
    around += "\n" + "\n".join(hunk.section[:_LONGEST_LINE] for hunk in islice(file.diff.hunks, _MOST_LINES))
    names = gone | come
    unchanged = _unchanged(file, around, names, min(_ALL_BACKGROUND // files, _MOST_BACKGROUND))
    left, right = set(map(folded, gone)), set(map(folded, come))
    return Trace(
        size=sum(line.kind is not LineKind.CONTEXT for line in lines),
        words=stems_of_all(names),
        names=names,
        edited=frozenset(right - left) | {f"-{name}" for name in left - right},
        defined=_defined(line.text for line in lines if line.kind is not LineKind.CONTEXT),
        around=stems_in(around),
        path_words=words_of_path(file.path),
        subject=subject_of(file.path),
        place=place_of(file.path),
        unchanged=unchanged,
        known=names.union(unchanged),
        language=file.language,
        is_test=file.role is Role.TEST,
        only_comments=all(_is_comment(line.text) for line in lines if line.kind is not LineKind.CONTEXT),
    )


def asked_of(dossier: Dossier) -> Asked:
    """What was asked for, and what the author says of it."""
    names = frozenset(name for text in asked_texts(dossier) for name in NAME.findall(text[:_MOST_ASKED]))
    return Asked(stems_in(dossier.pull_request.title) - common_stems(), stems_of_all(names), names)


def asked_texts(dossier: Dossier) -> list[str]:
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


def _joined(texts: Iterable[str]) -> str:
    return "\n".join(text[:_LONGEST_LINE] for text in texts)


def _names(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(NAME.findall(_joined(texts)))


def _defined(texts: Iterable[str]) -> frozenset[str]:
    return frozenset[str]().union(*map(defined_in, texts))


def defined_in(line: str) -> frozenset[str]:
    """The names that a line of code defines."""
    return frozenset(before or after for before, after in _DEFINED.findall(line[:_LONGEST_DEFINITION]))


def _unchanged(file: ChangedFile, around: str, changed: frozenset[str], background: int) -> Counter[str]:
    if file.head is None:
        return Counter(NAME.findall(around[:background]))
    counts = Counter(NAME.findall(file.head[:background]))
    for name in changed & counts.keys():
        counts[name] -= 1
    return counts
