"""How each file of a change is related to the rest of it and to the request: by words, names and folders.

No language is parsed. Words and names are weighted by how rare they are in the unchanged code. The result is the same in every
order of files and words (`fsum` rounds once). The work grows with the text, and with the square of the files.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice, takewhile
from math import fsum, log, log1p
from typing import Final, NamedTuple

from worker.domain.dossier import Dossier
from worker.domain.pattern import pattern
from worker.dossier.diff import LineKind
from worker.signals.analysis.change import AnalyzedFile, CodeChange, memoized
from worker.signals.analysis.file_roles import Language

_LONGEST_LINE: Final = 1_000
_LONGEST_DEFINITION: Final = 300
_MOST_LINES: Final = 4_000
_ALL_LINES: Final = 24_000
_MOST_BACKGROUND: Final = 20_000
"""Characters of a file in which words are counted."""
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
"""Words of every program and every sentence, whether shared or not."""

_USAGE_WORDS: Final = "test tests spec specs it mock fixture create mod init lib index main src unit integration e2e"
"""Words of a file's name about its use, not its subject."""

_ROOTS: Final = frozenset(
    {"src", "main", "test", "tests", "java", "lib", "source", "sources", "pkg", "packages", "__tests__", "spec"}
    | {"specs", "unit", "integration", "testing", "kotlin", "js", "ts", "py", "python", "core"}
)
"""Folders that part tests from their code."""

_NAMELESS: Final = frozenset({"index", "mod", "lib", "__init__", "main"})
"""Files that are called after their folder."""

_ENDINGS: Final = (("ies", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", ""))
_SHORTEST_STEM: Final = 3


@lru_cache(maxsize=8_192)
def stem(word: str) -> str:
    """The word without its grammatical ending: `retries`, `retried` and `retry` are the same."""
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
    """A name without case and underscores, the same in every language's spelling."""
    return name.replace("_", "").lower()


@lru_cache(maxsize=1)
def common_stems() -> frozenset[str]:
    return frozenset(map(stem, _COMMON.split()))


def split_path(path: str) -> frozenset[str]:
    return stems_in(" ".join(part.partition(".")[0] for part in path.split("/")))


def path_subject(path: str) -> frozenset[str]:
    """The subject of a file by its name: `tests/test_retry_policy.py` and `retryPolicy.ts` have the same."""
    *folders, name = path.split("/")
    bare = name.partition(".")[0]
    stems = stems_in(folders[-1] if folders and bare in _NAMELESS else bare)
    return stems.difference(map(stem, _USAGE_WORDS.split()))


def subject_folders(path: str) -> tuple[str, ...]:
    """The folders without those that part tests from code."""
    return tuple(part for part in path.split("/")[:-1] if part.lower() not in _ROOTS)


class FileTrace(NamedTuple):
    """The features of one file that are compared."""

    size: int
    """Changed lines."""
    stems: frozenset[str]
    names: frozenset[str]
    edited_names: frozenset[str]
    """Names, folded, that only the removed (with a minus before them) or only the added lines have."""
    defined_names: frozenset[str]
    context_names: frozenset[str]
    """Words of the lines around, and of the headings of the hunks."""
    path_words: frozenset[str]
    subject: frozenset[str]
    folders: tuple[str, ...]
    unchanged_words: Counter[str]
    """Count of each name in the unchanged part of the file."""
    known_names: frozenset[str]
    """Every name of the file, as far as it is read."""
    language: Language | None
    is_test: bool
    is_only_comments: bool


class RequestWords(NamedTuple):
    """The words of title, issue, criteria, commits and case."""

    title: frozenset[str]
    stems: frozenset[str]
    names: frozenset[str]


def build_trace(file: AnalyzedFile, files: int = 1) -> FileTrace:
    """The trace of one of *files* files; the more there are, the less is read of each."""
    lines = list(islice(file.diff.lines(), min(_ALL_LINES // files, _MOST_LINES)))
    gone = _find_names(line.text for line in lines if line.kind is LineKind.REMOVED)
    come = _find_names(line.text for line in lines if line.kind is LineKind.ADDED)
    around = _join_lines(line.text for line in lines if line.kind is LineKind.CONTEXT)
    around += "\n" + "\n".join(hunk.section[:_LONGEST_LINE] for hunk in islice(file.diff.hunks, _MOST_LINES))
    changed = [line.text for line in lines if line.kind is not LineKind.CONTEXT]
    names = gone | come
    unchanged = _count_unchanged(file, around, names, min(_ALL_BACKGROUND // files, _MOST_BACKGROUND))
    left, right = set(map(fold_name, gone)), set(map(fold_name, come))
    return FileTrace(
        size=len(changed),
        stems=stems_of_all(names),
        names=names,
        edited_names=frozenset(right - left) | {f"-{name}" for name in left - right},
        defined_names=frozenset[str]().union(*map(find_defined_names, changed)),
        context_names=stems_in(around),
        path_words=split_path(file.path),
        subject=path_subject(file.path),
        folders=subject_folders(file.path),
        unchanged_words=unchanged,
        known_names=names.union(unchanged),
        language=file.language,
        is_test=file.is_test,
        is_only_comments=all(map(_is_comment, changed)),
    )


def find_request_words(dossier: Dossier) -> RequestWords:
    """The words of the request, and of what the author says of it."""
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


_WORD_EXPONENT: Final = 3
_NAME_EXPONENT: Final = 4
"""One rare name counts more than many usual ones."""
_PADDING: Final = 200
_RARE_COUNT: Final = 2_000
_USUAL_WORD: Final = 0.1


class Ties(NamedTuple):
    """How one file is related to the rest of its change and to the request."""

    size: float
    """log(1 + changed lines): a larger change has more occasions for ties."""
    same_folder: float
    """The share of the other files that lie in its folder (`src` and `tests` count as one)."""
    near_folder: float
    """How much of its folders the nearest other file shares."""
    same_language: float
    """The share of the other files that are written in its language."""
    is_test: float
    only_comments: float
    """1 if nothing but comments was changed."""
    used_elsewhere: float
    """How many of the names that it defines are used by the other files' changes."""
    others_here: float
    """The share of the names changed elsewhere that it has anywhere."""
    near_words: float
    """The share of changed words that the nearest other file of code shares with it."""
    near_edits: float
    """The share of names added or removed here that were added or removed in the nearest other file."""
    counterpart: float
    """How alike the names of a test and its code are, where the change has both."""
    paths_here: float
    """The share of another file's name that its changed words spell."""
    path_elsewhere: float
    """The share of its own name that other files' changes spell."""
    title_here: float
    """The share of the title's words that it or its surroundings have, less the mean of the other files."""
    title_changed: float
    """The share of the title's words among its changed words."""
    asked_words: float
    """The share of its changed words that the request has."""
    asked_names: float
    """How many of its changed names the request spells out."""
    asked: float
    """log(1 + words of the request): a short one has few occasions for ties."""
    edited_alone: float
    """How many names were added or removed here and nowhere else."""
    asked_for: float
    """1 if the request has all words of the file's name."""


@memoized
def find_ties(change: CodeChange) -> tuple[Ties, ...]:
    """The ties of each file of the change, in the diff's order."""
    traces = [build_trace(file, len(change.files)) for file in change.files]
    finder = _TieFinder(traces, find_request_words(change.dossier))
    ties = [finder.ties(trace) for trace in traces]
    # a file's own measure says little where the title says nothing
    others, total = max(1, len(ties) - 1), fsum(own.title_here for own in ties)
    return tuple(own._replace(title_here=own.title_here - (total - own.title_here) / others) for own in ties)


class _TieFinder:
    """Counts words, names and folders over all files of a change, and weights them by how rare they are."""

    def __init__(self, traces: Sequence[FileTrace], asked: RequestWords) -> None:
        self._traces = traces
        self._others = max(1, len(traces) - 1)
        self._asked = asked
        self._in_words = Counter(word for trace in traces for word in trace.stems)
        self._in_names = Counter(name for trace in traces for name in trace.names)
        self._in_edits = Counter(name for trace in traces for name in trace.edited_names)
        self._in_places = Counter(trace.folders for trace in traces)
        self._in_languages = Counter(trace.language for trace in traces if trace.language is not None)
        unchanged, unchanged_words, unchanged_folded = Counter[str](), Counter[str](), Counter[str]()
        for trace in traces:
            unchanged.update(trace.unchanged_words)
        for name, count in unchanged.items():
            unchanged_folded[fold_name(name)] += count
            for word in stems_of(name):
                unchanged_words[word] += count
        size = unchanged.total() + _PADDING
        scale = 1 / log(size)

        def rarity(count: float) -> float:
            """From about 0 for the most frequent to 1 for what the unchanged code does not have."""
            return log(size / (count + 1)) * scale

        spelled = self._in_words.keys() | asked.title
        self._words = {word: rarity(unchanged_words[word] + size / _RARE_COUNT) for word in spelled}
        self._words |= dict.fromkeys(spelled & common_stems(), _USUAL_WORD)
        self._names = {name: rarity(unchanged[name]) for name in self._in_names}
        self._edits = {name: rarity(unchanged_folded[name.removeprefix("-")]) for name in self._in_edits}
        self._all_names = fsum(self._names.values())
        self._all_words = {id(trace): _weigh(self._words, trace.stems) for trace in traces}
        self._all_edits = {id(trace): _weigh(self._edits, trace.edited_names) for trace in traces}

    def ties(self, trace: FileTrace) -> Ties:
        others = [other for other in self._traces if other is not trace]
        subject = trace.subject - common_stems()
        used = (name for name in trace.defined_names if self._in_names[name] > (name in trace.names))
        spoken = sum(self._in_words[word] > (word in trace.stems) for word in trace.subject)
        spelled = (name for name in trace.names & self._asked.names if len(name) > _WORD_EXPONENT)
        alone = (name for name in trace.edited_names if self._in_edits[name] == 1)
        return Ties(
            size=log1p(trace.size),
            same_folder=(self._in_places[trace.folders] - 1) / self._others,
            near_folder=max((_common_share(trace.folders, other.folders) for other in others), default=0.0),
            same_language=(self._in_languages[trace.language] - 1) / self._others if trace.language else 0.0,
            is_test=float(trace.is_test),
            only_comments=float(trace.is_only_comments),
            used_elsewhere=_weigh_rare(self._names, used, _WORD_EXPONENT),
            others_here=self._others_here(trace),
            near_words=max((self._near_words(trace, other) for other in others if other.language), default=0.0),
            near_edits=max((self._near_edits(trace, other) for other in others), default=0.0),
            counterpart=max((_is_counterpart(trace, other) for other in others), default=0.0),
            paths_here=max((_name_share(other, trace) for other in others), default=0.0),
            path_elsewhere=spoken / max(1, len(trace.subject)),
            title_here=_overlap_share(self._asked.title, trace.stems | trace.path_words | trace.context_names),
            title_changed=_weight_share(
                self._words, self._asked.title & trace.stems, _weigh(self._words, self._asked.title)
            ),
            asked_words=_weight_share(
                self._words, trace.stems & self._asked.stems - common_stems(), self._all_words[id(trace)]
            ),
            asked_names=_weigh_rare(self._names, spelled, _WORD_EXPONENT),
            asked=log1p(len(self._asked.stems)),
            edited_alone=_weigh_rare(self._edits, alone, _NAME_EXPONENT),
            asked_for=float(bool(subject) and subject <= self._asked.stems),
        )

    def _near_words(self, trace: FileTrace, other: FileTrace) -> float:
        total = min(self._all_words[id(trace)], self._all_words[id(other)])
        return _weight_share(self._words, trace.stems & other.stems, total)

    def _near_edits(self, trace: FileTrace, other: FileTrace) -> float:
        total = min(self._all_edits[id(trace)], self._all_edits[id(other)])
        return _weight_share(self._edits, trace.edited_names & other.edited_names, total)

    def _others_here(self, trace: FileTrace) -> float:
        names, present = trace.names, trace.known_names & self._names.keys()
        all_others = self._all_names - fsum(self._names[name] for name in names if self._in_names[name] == 1)
        held = fsum(self._names[name] for name in present if self._in_names[name] > (name in names))
        return held / all_others if held else 0.0


def _weigh(weights: Mapping[str, float], keys: frozenset[str]) -> float:
    return fsum(weights[key] for key in keys)


def _weigh_rare(weights: Mapping[str, float], keys: Iterable[str], exponent: int) -> float:
    """The weight of these keys, where one rare key counts more than many usual ones."""
    return log1p(fsum(weights[key] ** exponent for key in keys))


def _is_counterpart(trace: FileTrace, other: FileTrace) -> float:
    """How much the names of a test and of code have in common."""
    if trace.is_test == other.is_test or other.language is None:
        return 0.0
    return len(trace.subject & other.subject) / max(1, len(trace.subject | other.subject))


def _name_share(named: FileTrace, trace: FileTrace) -> float:
    return _overlap_share(named.subject, trace.stems) if named.subject - common_stems() else 0.0


def _common_share(folders: Sequence[str], other: Sequence[str]) -> float:
    """The share of folders that two paths have in common from the top."""
    same = takewhile(lambda pair: pair[0] == pair[1], zip(folders, other, strict=False))
    return len(list(same)) / max(1, len(folders), len(other))


def _weight_share(weights: Mapping[str, float], keys: frozenset[str], total: float) -> float:
    """The weight of these keys as a share of *total*."""
    return _weigh(weights, keys) / total if total else 0.0


def _overlap_share(wanted: frozenset[str], held: frozenset[str]) -> float:
    return len(wanted & held) / len(wanted) if wanted else 0.0
