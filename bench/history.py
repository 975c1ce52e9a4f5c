"""The first-parent history of a repository, and which of its commits are clean: ordinary work that no later commit took back.

Reads messages and paths, no contents, since a snapshot may lack some. Commits come newest first, merges as their diff against
the first parent. The choice depends on the history alone, not on the machine.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Final

from worker.adapters.git.git import GitRepository
from worker.domain.model import Sha
from worker.dossier.issues import ListItem, listed_criteria, parse_outline

LONGEST_S: Final = 900.0
FORMAT: Final = "%H%x00%P%x00%an%x00%ae%x00%B"
DESCRIBED: Final = 5
"""Fields of a commit before the paths that it touched."""

MERGED: Final = re.compile(r"\AMerge pull request #(\d+) from (\S+)\s*")
NUMBER: Final = re.compile(r"\s*\((?:PR )?#(\d+)\)\s*\Z")
TRAILER: Final = re.compile(
    r"^(?:[A-Z][\w-]{2,30}-by|[Cc]o-[Aa]uthored-[Bb]y|Change-Id|Generated with|🤖 Generated).*$", re.MULTILINE
)
ADDRESS: Final = re.compile(r"[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,32}){1,4}")
LANGUAGES: Final = {
    "py": "python", "go": "go", "rs": "rust", "java": "java", "rb": "ruby", "cs": "csharp", "php": "php", "kt": "kotlin",
    **dict.fromkeys(("js", "jsx", "mjs", "cjs"), "javascript"), **dict.fromkeys(("ts", "tsx", "mts", "cts"), "typescript"),
}  # fmt: skip
CHORE: Final = re.compile(
    r"^(?:revert|reapply|merge|wip|fixup!|squash!|amend!|release|prepare|bump|version|v?\d+\.\d+|back-?port|publish)\b"
    r"|^(?:chore|build|fix|deps?)\((?:release|deps?)[^)]*\)|^chore: (?:release|version|bump)|\bRelease v?\d"
    r"|^\W*(?:revert|reland|update (?:dependenc|lock|pre-commit|contributors))|\b(?:pre-commit autoupdate|changelog)\b"
    r"|^(?:\w+: )?(?:bump|upgrade|update) \S+ (?:from|to) ",
    re.IGNORECASE,
)
BOT: Final = re.compile(r"\[bot\]|dependabot|renovate|pre-commit-ci|github-actions|-bot\b", re.IGNORECASE)
SIDE_BRANCH: Final = re.compile(r"dependabot|renovate|revert-|release|\b(?:main|master|develop)$", re.IGNORECASE)
TAKEN_BACK: Final = re.compile(r"This reverts commit ([0-9a-f]{7,40})|^Revert \"(.+)\"", re.MULTILINE)
MENTION: Final = re.compile(r"#(\d{1,7})\b|\b([0-9a-f]{8,40})\b")
BESIDE: Final = re.compile(
    r"(?:^|/)(?:vendor|third_party|node_modules|dist|generated|gen)/|\.lock$|-lock\.\w+$|\.min\.|\.snap$|\.pb\.go$"
    r"|(?:^|/)go\.sum$"
)
TEST: Final = re.compile(
    r"(?:^|/)(?:tests?|testing|__tests__|spec)/|(?:^|/)test_[^/]*\.py$|_test\.(?:py|go|rs)$|\.(?:test|spec)\.\w+$"
    r"|Tests?\.(?:java|cs|php|kt)$|_(?:spec|test)\.rb$|\.Tests?/|-test\.[cm]?[jt]s$"
)
LEAST_WORDS: Final = 3
PLACE: Final = re.compile(r"[\w.@-]*[\w@.-]/[\w./@-]+|[\w-]+\.[a-z]{1,4}(?::\d+)?|[0-9a-f]{7,40}|#\d+|https?://\S+")
WORD: Final = re.compile(r"[^\W\d_]{2,}")
STEP_OF_HISTORY: Final = re.compile(r"(?:merge|revert) |\w+(?:-\w+)*-by:", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Commit:
    """One step of the first-parent history. `number` is its pull request's, where the message names it."""

    sha: Sha
    parents: tuple[Sha, ...]
    author: str
    message: str
    touched: tuple[str, ...]

    @property
    def merged_from(self) -> str | None:
        match = MERGED.match(self.message)
        return match[2] if match else None

    @property
    def number(self) -> int | None:
        match = MERGED.match(self.message) or NUMBER.search(self.message.split("\n", 1)[0])
        return int(match[1]) if match else None

    @property
    def title(self) -> str:
        return NUMBER.sub("", self._text.split("\n", 1)[0]).strip()

    @property
    def body(self) -> str:
        _, _, rest = self._text.partition("\n")
        return ADDRESS.sub("someone@example.invalid", TRAILER.sub("", rest)).strip()

    @property
    def _text(self) -> str:
        return MERGED.sub("", self.message).strip()


def read_history(repository: GitRepository, most: int) -> list[Commit]:
    """Read the newest *most* commits of HEAD's first-parent line, newest first."""
    patient = replace(repository, program=replace(repository.program, timeout_s=LONGEST_S))
    raw = patient.read(
        *("log", "--first-parent", "-m", "--raw", "--no-renames", "-z", f"--max-count={most}"),
        *(f"--format={FORMAT}", "HEAD", "--"),
    )
    return list(parse_log(raw.decode(errors="replace").split("\0")))


def parse_log(fields: Sequence[str]) -> Iterator[Commit]:
    """Tell fields apart by their position alone: only NUL occurs in no name and no message."""
    at = 0
    while at + DESCRIBED <= len(fields):
        sha, parents, name, address, message = fields[at : at + DESCRIBED]
        first = at = at + DESCRIBED
        while at < len(fields) and fields[at].lstrip("\n").startswith(":"):  # a status, then its path
            at += 2
        touched = tuple(fields[first + 1 : at : 2])
        yield Commit(sha, tuple(parents.split()), f"{name} <{address}>", message.strip(), touched)


def language_of(path: str) -> str | None:
    return LANGUAGES.get(path.rpartition(".")[2]) if "." in path else None


def main_language(paths: Iterable[str]) -> str:
    """The language of most of *paths*, `other` where none is known."""
    counts = Counter(filter(None, map(language_of, paths)))
    return max(counts, key=lambda name: (counts[name], name)) if counts else "other"


def is_test(path: str) -> bool:
    return TEST.search(path) is not None


def clean_commits(commits: Sequence[Commit], most_files: int, touching: Sequence[str] = ()) -> list[Commit]:
    """The ordinary commits that no later commit reverted or named.

    A commit counts where it changes code, or with *touching* a path that one of these globs matches.
    """
    spoiled = mentioned_later(commits)
    return [
        commit
        for commit in commits
        if commit.sha not in spoiled
        and is_ordinary(commit)
        and len(commit.touched) <= most_files
        and any(
            any(fnmatchcase(path, glob) for glob in touching)
            if touching
            else language_of(path) and not is_test(path) and not BESIDE.search(path)
            for path in commit.touched
        )
    ]


def mentioned_later(commits: Sequence[Commit]) -> set[str]:
    """Commits that a later one reverts or names: by sha, by pull request number, or by title behind "Revert"."""
    by_number = {str(commit.number): commit.sha for commit in reversed(commits) if commit.number is not None}
    by_title = {commit.title: commit.sha for commit in reversed(commits)}
    by_prefix = {commit.sha[:7]: commit.sha for commit in commits}
    spoiled: set[str] = set()
    for commit in commits:
        for sha, title in TAKEN_BACK.findall(commit.message):
            spoiled.add(by_prefix.get(sha[:7], ""))
            spoiled.add(by_title.get(title, by_title.get(title.rpartition(" (#")[0], "")))
        for number, sha in MENTION.findall(commit.message):
            named = by_number.get(number, "") if number else by_prefix.get(sha[:7], "")
            if named != commit.sha:
                spoiled.add(named)
    return spoiled


def is_ordinary(commit: Commit) -> bool:
    """Whether a person did it, as one piece of work: no chore, no bot, no merge of a branch that is kept."""
    if not commit.parents or not commit.title or BOT.search(commit.author) or CHORE.search(commit.title):
        return False
    branch = commit.merged_from
    return len(commit.parents) == 1 if branch is None else not SIDE_BRANCH.search(branch)


def spread(commits: Sequence[Commit]) -> tuple[list[Commit], list[Commit]]:
    """Those with a test and those without, each in an order that is spread over the history."""
    ranked = sorted(commits, key=lambda commit: hashlib.sha256(commit.sha.encode()).digest())
    tested = {commit.sha for commit in ranked if any(map(is_test, commit.touched))}
    with_test = [commit for commit in ranked if commit.sha in tested]
    return with_test, [commit for commit in ranked if commit.sha not in tested]


def listed_items(commit: Commit) -> tuple[str, ...]:
    """What the list items of the message say that the commit does, each on one line, without repetition.

    Left out: boxes to tick, merges, bare lists of files or hashes, items of less than LEAST_WORDS words.
    """
    items = (
        " ".join(part.text.split())
        for part in parse_outline(commit.body)
        if isinstance(part, ListItem) and not part.is_task and not STEP_OF_HISTORY.match(part.text)
    )
    return tuple(dict.fromkeys(item for item in items if count_words(item) >= LEAST_WORDS))


def count_words(item: str) -> int:
    """The words of an item that are neither a path nor the name of a commit or an issue."""
    tokens = (token.strip("`'\"()[],;:*") for token in item.split())
    return sum(WORD.search(token) is not None and PLACE.fullmatch(token) is None for token in tokens)


def as_criteria(items: Sequence[str]) -> str:
    """The text of an issue that asks for exactly these items; empty where their own marks would make other criteria."""
    text = "## Acceptance criteria\n\n" + "".join(f"- {item}\n" for item in items)
    return text if len(listed_criteria(text)) == len(items) else ""
