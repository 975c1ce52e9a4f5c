"""How closely each file of a change belongs to the rest of it, and to what was asked for.

Compares words and names: those that the changed lines share with other files and with issue, criteria and title, weighed
by how rare they are in the code that stays as it was, and the names and folders of the files. Does not judge (the
families do), and understands no language: no tree is needed, so a bare diff is enough. Invariant: linear in the text,
bounded for each file, and the same in every order of files and words (`fsum` rounds once).
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import islice
from math import fsum, log, log1p
from typing import Final, NamedTuple

from worker.domain.diff import LineKind
from worker.domain.dossier import Dossier
from worker.domain.pattern import pattern
from worker.judge.heuristics.change import Change, ChangedFile

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


@lru_cache(maxsize=32_768)
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


@lru_cache(maxsize=32_768)
def stems_of(name: str) -> tuple[str, ...]:
    """The words of one name: `parseHTTPHeaders` and `parse_http_header` give the same."""
    return tuple(stem(part) for part in _PART.findall(name) if len(part) > 1)


def stems_in(text: str) -> frozenset[str]:
    """The words of all names and words of a text."""
    return stems_of_all(set(NAME.findall(text)))


def stems_of_all(names: Iterable[str]) -> frozenset[str]:
    return frozenset(word for name in names for word in stems_of(name))


@lru_cache(maxsize=32_768)
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


class Asked(NamedTuple):
    """The words of title, issue, criteria, commits and case."""

    title: frozenset[str]
    words: frozenset[str]
    names: frozenset[str]


class Ties(NamedTuple):
    """What binds one file to the rest of its change. Each is 0 for a file that has nothing to do with it.

    Those that end the list are differences: this file's own, less the mean of the others.
    """

    size: float
    """log(1 + changed lines): the more was changed, the more ties one could see."""
    shared_words: float
    """The share of its changed words that other files changed, too, by weight."""
    shared_edits: float
    """The share of the names that came or went here which came or went elsewhere, too."""
    same_folder: float
    """The share of the other files that lie in its folder (`src` and `tests` count as one)."""
    asked_names: float
    """How many of its changed names the issue or the title spells out."""
    subject_asked: float
    """1 if a word of its own name stands in what was asked."""
    used_elsewhere: float
    """How many names that it defines the other files' changes use."""
    title_words: float
    """(difference) the share of the title's words that it or its surroundings hold."""
    asked_words: float
    """(difference) how many of its changed words stand in what was asked."""
    shared_subject: float
    """(difference) the share of its name's words that other files are named with."""
    shared_path: float
    """(difference) the share of its path's words that other paths hold."""


def ties_of(change: Change) -> tuple[Ties, ...]:
    """The ties of each file of the change, in the diff's order; compute them with `change.once(ties_of)`."""
    traces = [trace_of(file, len(change.files)) for file in change.files]
    crowd = _Crowd(traces, asked_of(change.dossier))
    return tuple(_relative([crowd.ties(trace) for trace in traces]))


def trace_of(file: ChangedFile, files: int = 1) -> Trace:
    """The trace of one of so many *files*; the more there are, the less is read of each."""
    lines = list(islice(file.diff.lines(), min(_ALL_LINES // files, _MOST_LINES)))
    gone = _names(line.text for line in lines if line.kind is LineKind.REMOVED)
    come = _names(line.text for line in lines if line.kind is LineKind.ADDED)
    around = _joined(line.text for line in lines if line.kind is LineKind.CONTEXT)
    around += "\n" + "\n".join(hunk.section[:_LONGEST_LINE] for hunk in islice(file.diff.hunks, _MOST_LINES))
    names = gone | come
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
        unchanged=_unchanged(file, around, names, min(_ALL_BACKGROUND // files, _MOST_BACKGROUND)),
    )


def asked_of(dossier: Dossier) -> Asked:
    """What was asked for, and what the author says of it."""
    pull, case = dossier.pull_request, dossier.case
    texts = [pull.title, pull.body, *(commit.message for commit in pull.commits)]
    texts += [f"{issue.title}\n{issue.body}" for issue in dossier.issues]
    texts += [criterion.text for criterion in dossier.criteria or ()]
    if case is not None:
        texts += [case.summary, *case.work_arounds]
        texts += [f"{claim.addressed_by} {claim.evidence or ''}" for claim in case.ac_coverage]
    names = frozenset(name for text in texts for name in NAME.findall(text[:_MOST_ASKED]))
    return Asked(stems_in(pull.title) - common_stems(), stems_of_all(names), names)


def _joined(texts: Iterable[str]) -> str:
    return "\n".join(text[:_LONGEST_LINE] for text in texts)


def _names(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(NAME.findall(_joined(texts)))


def _defined(texts: Iterable[str]) -> frozenset[str]:
    found = (one for text in texts for one in _DEFINED.findall(text[:_LONGEST_DEFINITION]))
    return frozenset(before or after for before, after in found)


def _unchanged(file: ChangedFile, around: str, changed: frozenset[str], background: int) -> Counter[str]:
    if file.head is None:
        return Counter(NAME.findall(around[:background]))
    counts = Counter(NAME.findall(file.head[:background]))
    for name in changed & counts.keys():
        counts[name] -= 1
    return counts


_SHARP: Final = 3
_STEEP: Final = 2


class _Crowd:
    """All files of a change together: which words, names and folders occur in how many of them."""

    def __init__(self, traces: Sequence[Trace], asked: Asked) -> None:
        self._others = max(1, len(traces) - 1)
        self._asked = asked
        self._common = common_stems()
        self._in_words = Counter(word for trace in traces for word in trace.words)
        self._in_names = Counter(name for trace in traces for name in trace.names)
        self._in_edits = Counter(name for trace in traces for name in trace.edited)
        self._in_subjects = Counter(word for trace in traces for word in trace.subject)
        self._in_paths = Counter(word for trace in traces for word in trace.path_words)
        self._in_places = Counter(trace.place for trace in traces)
        self._unchanged: Counter[str] = Counter()
        for trace in traces:
            self._unchanged.update(trace.unchanged)
        self._unchanged_words: Counter[str] = Counter()
        self._unchanged_folded: Counter[str] = Counter()
        for name, count in self._unchanged.items():
            self._unchanged_folded[folded(name)] += count
            for word in stems_of(name):
                self._unchanged_words[word] += count
        self._all = self._unchanged.total() + 200
        self._scale = 1 / log(self._all)

    def _rare(self, count: float) -> float:
        """From about 0 for what stands everywhere to 1 for what stands nowhere in the unchanged code."""
        return log(self._all / (count + 1)) * self._scale

    def _of_word(self, word: str) -> float:
        if word in self._common:
            return 0.1
        return self._rare(self._unchanged_words[word] + self._all / 2_000)

    def _of_name(self, name: str) -> float:
        return self._rare(self._unchanged[name])

    def _of_edit(self, name: str) -> float:
        return self._rare(self._unchanged_folded[name.removeprefix("-")])

    def ties(self, trace: Trace) -> Ties:
        words = {word: self._of_word(word) for word in trace.words}
        edits = {name: self._of_edit(name) for name in trace.edited}
        near = trace.words | trace.path_words | trace.around
        asked = (weight for word, weight in words.items() if word in self._asked.words and word not in self._common)
        spelled = (self._of_name(name) for name in trace.names & self._asked.names if len(name) > _SHARP)
        used = (self._of_name(name) for name in trace.defined if self._in_names[name] > (name in trace.names))
        return Ties(
            size=log1p(trace.size),
            shared_words=_share(words, self._in_words),
            shared_edits=_share(edits, self._in_edits),
            same_folder=(self._in_places[trace.place] - 1) / self._others,
            asked_names=log1p(fsum(spelled)),
            subject_asked=float(bool(trace.subject & self._asked.words)),
            used_elsewhere=log1p(fsum(weight**_SHARP for weight in used)),
            title_words=_part(self._asked.title, near),
            asked_words=log1p(fsum(weight**_STEEP for weight in asked)),
            shared_subject=_repeated(trace.subject, self._in_subjects),
            shared_path=_repeated(trace.path_words, self._in_paths),
        )


def _share(weights: dict[str, float], occurring: Counter[str]) -> float:
    """The weight of what occurs in other files as well, as a share of all."""
    total = fsum(weights.values())
    return fsum(weight for one, weight in weights.items() if occurring[one] > 1) / total if total else 0.0


def _part(wanted: frozenset[str], held: frozenset[str]) -> float:
    return len(wanted & held) / len(wanted) if wanted else 0.0


def _repeated(words: frozenset[str], occurring: Counter[str]) -> float:
    return sum(occurring[word] > 1 for word in words) / len(words) if words else 0.3


_RELATIVE: Final = ("title_words", "asked_words", "shared_subject", "shared_path")


def _relative(all_ties: list[Ties]) -> Iterable[Ties]:
    """Each file's own measure says little in a change whose title says nothing; the difference to the others does."""
    others = max(1, len(all_ties) - 1)
    totals = {field: fsum(getattr(ties, field) for ties in all_ties) for field in _RELATIVE}
    for ties in all_ties:
        own: dict[str, float] = {field: getattr(ties, field) for field in _RELATIVE}
        yield ties._replace(**{field: value - (totals[field] - value) / others for field, value in own.items()})
