"""Run git to read one repository and its changes without executing anything from it.

Git sees the objects, an empty work tree and no index, so attributes of the checkout (drivers, filters, `-diff`) have no
effect. Hooks, pagers, external diffs, file system monitors, lazy fetches and replaced objects are off. Of the
environment only the home folder (for `safe.directory`) reaches git.

A file that is left out of the diff is listed as unread with its reason. The text of a link is its target.
"""

import codecs
import os
import re
import shutil
import subprocess
import tempfile
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Final

from worker.domain.dossier import (
    Commit,
    Definition,
    Dossier,
    HeadFile,
    LookupRequest,
    LookupResult,
    NameLookup,
    UnreadFile,
    UnreadReason,
    build_lookup,
    find_absent,
)
from worker.domain.model import Sha
from worker.errors import InputError, Unavailable

TIMEOUT_S: Final = 60.0
NO_REASON: Final = "no reason given"
OLDEST_VERSION: Final = (2, 31)
"""First version with settings by GIT_CONFIG_COUNT, which turn off filters of any name."""

SAFE_OPTIONS: Final = (
    *("--no-pager", "--literal-pathspecs", "--no-replace-objects"),
    *("-c", "core.fsmonitor=false"),
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", f"core.attributesFile={os.devnull}"),
    *("-c", "core.quotePath=true"),
    *("-c", "diff.external="),
    *("-c", "diff.suppressBlankEmpty=false"),
    *("-c", "log.showSignature=false"),
    *("-c", "submodule.recurse=false"),
)

ENVIRONMENT: Final[Mapping[str, str]] = {
    "PATH": os.defpath,
    "LC_ALL": "C",
    "GIT_ALLOW_PROTOCOL": "none",  # a partial clone must not fetch: that runs what its configuration names
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ATTR_NOSYSTEM": "1",
}


class GitFailedError(Exception):
    """Git exited with an error; `complaint` is the last line of its error output."""

    def __init__(self, command: str, complaint: str) -> None:
        super().__init__(f"git {command}: {complaint}")
        self.command = command
        self.complaint = complaint


@dataclass(frozen=True, slots=True)
class GitProgram:
    """The git program. `timeout_s`: limit of one command."""

    path: str
    timeout_s: float = TIMEOUT_S

    def run(self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], stdin: bytes = b"") -> bytes:
        """Run a command to its end. Raises GitFailedError, and Unavailable after the timeout."""
        try:
            done = subprocess.run(  # noqa: S603 - git itself, with a cleaned environment
                [self.path, *SAFE_OPTIONS, *arguments],
                cwd=folder,
                env=environment,
                input=stdin,
                capture_output=True,
                timeout=self.timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise self._timeout_error(arguments[0]) from error
        if done.returncode != 0:
            raise GitFailedError(arguments[0], _last_words(done.stderr))
        return done.stdout

    def run_until(self, limit: int, arguments: Sequence[str], folder: Path, environment: Mapping[str, str]) -> bytes:
        """Run as `run` does, and stop git after *limit* bytes. A result longer than *limit* means that there is more."""
        with tempfile.TemporaryFile() as complaints:
            command = [self.path, *SAFE_OPTIONS, *arguments]
            with subprocess.Popen(  # noqa: S603 - as above
                command,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=complaints,
            ) as process:
                output = _read_until(limit, process, self.timeout_s)
            if output is None:
                raise self._timeout_error(arguments[0])
            if process.returncode != 0 and len(output) <= limit:
                complaints.seek(0)
                raise GitFailedError(arguments[0], _last_words(complaints.read()))
        return output

    def _timeout_error(self, command: str) -> Unavailable:
        return Unavailable("git", f"`git {command}` took longer than {self.timeout_s:.0f} s")


def _read_until(most: int, process: "subprocess.Popen[bytes]", longest_s: float) -> bytes | None:
    """Output of the process after its exit, at most *most* + 1 bytes; None after the timeout."""
    late = threading.Event()
    clock = threading.Timer(longest_s, lambda: (late.set(), process.kill()))
    clock.start()
    try:
        output = process.stdout.read(most + 1) if process.stdout else b""
        if len(output) > most:
            process.kill()
        process.wait()
    finally:
        clock.cancel()
    return None if late.is_set() else output


def _last_words(stderr: bytes) -> str:
    lines = stderr.decode(errors="replace").strip().splitlines()
    return lines[-1].removeprefix("fatal: ") if lines else NO_REASON


@dataclass(frozen=True, slots=True)
class GitRepository:
    """A repository on this machine. `worktree` is None for a bare one."""

    program: GitProgram
    git_dir: Path
    common_dir: Path
    worktree: Path | None

    def read(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """Run git on objects and refs only. Raises GitFailedError, Unavailable."""
        with tempfile.TemporaryDirectory(prefix="assay-git-") as empty:
            return self.program.run(arguments, Path(empty), self._only_objects(empty), stdin)

    def read_until(self, most: int, *arguments: str) -> bytes:
        with tempfile.TemporaryDirectory(prefix="assay-git-") as empty:
            return self.program.run_until(most, arguments, Path(empty), self._only_objects(empty))

    def read_line(self, *arguments: str) -> str | None:
        """One line of git's output; None if git fails."""
        try:
            answer = self.read(*arguments)
        except GitFailedError:
            return None
        return answer.decode(errors="replace").removesuffix("\n") or None

    def list_uncommitted(self) -> tuple[str, ...]:
        """Paths that differ from the last commit, including new ones. Filters that git would run are off."""
        if self.worktree is None:
            return ()
        arguments = ("status", "--porcelain=v1", "-z", "--untracked-files=normal", "--ignore-submodules=all")
        answer = self.program.run((*arguments, "--no-renames"), self.worktree, self._without_filters())
        return tuple(entry[3:].decode(errors="replace") for entry in answer.split(b"\0") if entry)

    def _only_objects(self, empty: str) -> dict[str, str]:
        return {
            **environment(),
            "GIT_DIR": str(self.git_dir),
            "GIT_WORK_TREE": empty,
            "GIT_INDEX_FILE": str(Path(empty) / "no-index"),
        }

    def _without_filters(self) -> dict[str, str]:
        try:
            names = os.fsdecode(self.read("config", "--name-only", "-z", "--get-regexp", r"^filter\."))
        except GitFailedError:  # there are none
            names = ""
        drivers = sorted({name.rpartition(".")[0] for name in names.split("\0") if name})
        settings = [
            (f"{driver}.{key}", value)
            for driver in drivers
            for key, value in (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false"))
        ]
        made = {**environment(), "GIT_CONFIG_COUNT": str(len(settings))}
        for index, (key, value) in enumerate(settings):
            made |= {f"GIT_CONFIG_KEY_{index}": key, f"GIT_CONFIG_VALUE_{index}": value}
        return made


def environment() -> dict[str, str]:
    """The environment that git gets."""
    try:
        return {**ENVIRONMENT, "HOME": str(Path.home())}
    except RuntimeError:  # pragma: no cover - a user without a home; needs a user that no system has
        return dict(ENVIRONMENT)


def find_program() -> GitProgram:
    """Find git on PATH. Raises InputError."""
    path = shutil.which("git")
    if path is None:
        raise InputError("git was not found on PATH: a checkout can't be read. Install git, or use --dossier FILE.")
    program = GitProgram(path)
    answer = program.run(("version",), Path(os.sep), environment()).decode(errors="replace").strip()
    match = re.search(r"(\d+)\.(\d+)", answer)
    if match is None or (int(match[1]), int(match[2])) < OLDEST_VERSION:
        raise InputError(f'{path} says "{answer}": expected git 2.31 or newer. Install a newer git.')
    return program


def open_repository(path: Path) -> GitRepository:
    """Open the repository that contains *path*. Raises InputError."""
    if not path.is_dir():
        raise InputError(f"{path} is not a folder. Run this in a git checkout.")
    program = find_program()
    try:
        git_dir = _line(program, path, "--absolute-git-dir")
        common_dir = _line(program, path, "--git-common-dir")
        is_bare = _line(program, path, "--is-bare-repository") == "true"
        worktree = None if is_bare else Path(_line(program, path, "--show-toplevel"))
    except GitFailedError as error:
        problem = f"git can't read the repository at {path}: {error.complaint}. Make `git status` work there first."
        if "not a git repository" in error.complaint:
            problem = f"{path} is not in a git repository. Run this in a checkout, or use --dossier FILE."
        raise InputError(problem) from error
    return GitRepository(program, Path(git_dir), (path / common_dir).resolve(), worktree)


def _line(program: GitProgram, path: Path, question: str) -> str:
    return os.fsdecode(program.run(("rev-parse", question), path, environment())).removesuffix("\n")


DIFF_BYTES: Final = 20_000_000
FILE_BYTES: Final = 512_000
ALL_FILES_BYTES: Final = 10_000_000
SNIFFED_BYTES: Final = 8000
"""Prefix in which git looks for a NUL to classify a file as binary."""

SUBMODULE: Final = "160000"
FOLDER: Final = "040000"

DIFF_OPTIONS: Final = (
    *("diff-tree", "-r", "--find-renames=50%", "-l1000", "--no-color", "--no-ext-diff", "--no-textconv"),
    "--ignore-submodules=none",
)
LIST_OPTIONS: Final = ("--raw", "-z", "--no-abbrev")
PATCH_OPTIONS: Final = (
    *("--unified=3", "--inter-hunk-context=0", "--diff-algorithm=myers", "--indent-heuristic"),
    *("--full-index", "--src-prefix=a/", "--dst-prefix=b/", "--submodule=short"),
)


@dataclass(frozen=True, slots=True)
class GitFileChange:
    """One changed file as git lists it. `blob` is None for a deleted one."""

    path: str
    mode: str
    blob: str | None
    sections: int
    """Sections of the diff for this file: two if its type changed (a file became a link)."""

    @property
    def is_file(self) -> bool:
        return self.mode != SUBMODULE


@dataclass(frozen=True, slots=True)
class GitTexts:
    files: tuple[HeadFile, ...]
    unread: tuple[UnreadFile, ...]


def changes_between(repository: GitRepository, base: Sha, head: Sha) -> tuple[GitFileChange, ...]:
    fields = iter(repository.read(*DIFF_OPTIONS, *LIST_OPTIONS, base, head, "--").split(b"\0"))
    changes: list[GitFileChange] = []
    for described in filter(None, fields):
        _, mode, _, blob, status = described.decode().removeprefix(":").split(" ")
        path = next(fields)
        if status[0] in "RC":
            path = next(fields)
        name, is_deleted, sections = path.decode(errors="replace"), status[0] == "D", 2 if status[0] == "T" else 1
        changes.append(GitFileChange(name, mode, None if is_deleted else blob, sections))
    return tuple(changes)


def diff_between(
    repository: GitRepository, base: Sha, head: Sha, changes: Sequence[GitFileChange], most: int = DIFF_BYTES
) -> tuple[str, tuple[UnreadFile, ...]]:
    """The diff as git prints it, in whole files, and the files that exceed *most* bytes."""
    raw = repository.read_until(most, *DIFF_OPTIONS, *PATCH_OPTIONS, base, head, "--")
    if len(raw) <= most:
        return raw.decode(errors="replace"), ()
    raw = raw[: raw.rfind(b"\ndiff --git ") + 1]  # the last file may be cut
    sections = raw.startswith(b"diff --git ") + raw.count(b"\ndiff --git ")
    whole = sum(count <= sections for count in accumulate(change.sections for change in changes))
    return raw.decode(errors="replace"), tuple(
        UnreadFile(path=change.path, reason=UnreadReason.OVER_LIMIT) for change in changes[whole:]
    )


def texts_of(repository: GitRepository, wanted: Sequence[tuple[str, str]]) -> GitTexts:
    """Texts of (path, blob) pairs, in order; binary, non-UTF-8 and oversized files are listed as unread."""
    # A partial clone lacks some objects.
    names = _object_request(blob for _, blob in wanted)
    answer = repository.read("cat-file", "--batch-check=%(objectname) %(objectsize)", stdin=names)
    pairs = (line.split(" ") for line in answer.decode().splitlines())
    sizes = {name: int(size) for name, size in pairs if size.isdigit()}
    unread: dict[str, UnreadReason] = {}
    chosen: list[tuple[str, str]] = []
    bytes_left = ALL_FILES_BYTES
    for path, blob in wanted:
        size = sizes.get(blob)
        if size is None or size > FILE_BYTES:
            unread[path] = UnreadReason.TOO_LARGE
        elif size > bytes_left:
            unread[path] = UnreadReason.OVER_LIMIT
        else:
            bytes_left -= size
            chosen.append((path, blob))
    contents = read_objects(repository, [blob for _, blob in chosen])
    files: list[HeadFile] = []
    for path, blob in chosen:
        content = contents[blob]
        if b"\0" in content[:SNIFFED_BYTES]:
            unread[path] = UnreadReason.BINARY
            continue
        try:
            files.append(HeadFile(path=path, text=content.decode()))
        except UnicodeDecodeError:
            unread[path] = UnreadReason.NOT_UTF8
    return GitTexts(tuple(files), tuple(UnreadFile(path=path, reason=reason) for path, reason in unread.items()))


def read_objects(repository: GitRepository, names: Sequence[str]) -> dict[str, bytes]:
    """Contents of the objects that exist, by name."""
    answer = repository.read("cat-file", "--batch", stdin=_object_request(names))
    contents: dict[str, bytes] = {}
    position = 0
    while position < len(answer):
        end = answer.index(b"\n", position)
        name, _, size = answer[position:end].decode().split(" ")
        start = end + 1
        position = start + int(size) + 1
        contents[name] = answer[start : position - 1]
    return contents


def _object_request(names: Iterable[str]) -> bytes:
    return "".join(f"{name}\n" for name in dict.fromkeys(names)).encode()


@dataclass(frozen=True, slots=True)
class GitTreeEntry:
    """The object at a path of a commit."""

    mode: str
    name: str


def entries_at(repository: GitRepository, commit: Sha, paths: Sequence[str]) -> dict[str, GitTreeEntry]:
    """Objects at *paths*; a missing path is left out."""
    if not paths:
        return {}
    answer = repository.read("ls-tree", "-z", "--full-tree", commit, "--", *paths)
    entries: dict[str, GitTreeEntry] = {}
    for line in answer.split(b"\0"):
        if line:
            described, _, path = line.partition(b"\t")
            mode, _, name = described.decode().split(" ")
            entries[path.decode(errors="replace")] = GitTreeEntry(mode, name)
    return entries


def paths_at(repository: GitRepository, commit: Sha) -> tuple[str, ...]:
    """All files of a commit."""
    answer = repository.read("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit)
    return tuple(path.decode(errors="replace") for path in answer.split(b"\0") if path)


MOST_COMMITS: Final = 250
"""Limit of GitHub's own list of a pull request's commits."""


def commits_between(repository: GitRepository, base: Sha, head: Sha) -> tuple[Commit, ...]:
    """Commits of *head* that *base* lacks, oldest first, at most the newest MOST_COMMITS."""
    answer = repository.read("rev-list", "--topo-order", f"--max-count={MOST_COMMITS}", head, f"^{base}", "--")
    shas = answer.decode().split()[::-1]
    if not shas:
        return ()
    contents = read_objects(repository, shas)
    return tuple(read_commit(sha, contents[sha]) for sha in shas)


def read_commit(sha: Sha, content: bytes) -> Commit:
    head, _, message = content.partition(b"\n\n")
    fields: dict[bytes, bytes] = {}
    for line in head.split(b"\n"):
        key, _, value = line.partition(b" ")
        fields.setdefault(key, value)
    try:
        encoding = codecs.lookup(fields.get(b"encoding", b"utf-8").decode("ascii")).name
        "".encode(encoding)
    except (LookupError, ValueError):  # an unknown one, or none of texts
        encoding = "utf-8"
    name = fields.get(b"author", b"").partition(b" <")[0]
    return Commit(
        sha=sha,
        message=message.decode(encoding, errors="replace").rstrip("\n"),
        author=name.decode(encoding, errors="replace"),
    )


SEARCH_BYTES: Final = 2_000_000
SEARCH_OPTIONS: Final = (
    *("grep", "-z", "-I", "--word-regexp", "--fixed-strings", "--only-matching"),
    *("--full-name", "--no-color", "--no-textconv"),
)


def look_up_at(repository: GitRepository, dossier: Dossier, sought: LookupRequest) -> LookupResult:
    names = find_names_at(repository, dossier, sought.definitions) if sought.definitions else ()
    tree = paths_at(repository, dossier.pull_request.head_sha) if sought.paths else ()
    return LookupResult(names, find_absent(tree, sought.paths))


def find_names_at(
    repository: GitRepository, dossier: Dossier, definitions: Sequence[Definition]
) -> tuple[NameLookup, ...]:
    """Search the dossier's head commit for all names in one run of git."""
    if repository.read_line("config", "--name-only", "--get-regexp", r"^remote\..*\.promisor$"):
        return ()  # git skips the files that a partial clone lacks
    head = dossier.pull_request.head_sha
    names = [word for definition in definitions for word in ("-e", definition.name)]
    try:
        output = repository.read_until(SEARCH_BYTES, *SEARCH_OPTIONS, *names, head, "--")
    except GitFailedError as error:
        if error.complaint != NO_REASON:
            raise
        output = b""  # git ends with 1 where nothing matches
    except Unavailable:
        return ()  # the tree is too large for the time limit
    if len(output) > SEARCH_BYTES:
        return ()
    paths = defaultdict[str, list[str]](list)
    for line in output.splitlines():
        path, _, name = line.decode(errors="replace").removeprefix(f"{head}:").partition("\0")
        paths[name].append(path)
    return tuple(build_lookup(definition, paths[definition.name], dossier.known_paths) for definition in definitions)


MOST_REVERTED_COMMITS: Final = 500
HISTORY_BYTES: Final = 20_000_000
RAW_OPTIONS: Final = ("--raw", "-z", "--no-abbrev", "--no-renames", "--no-ext-diff", "--no-textconv")


def find_reverted_commit(repository: GitRepository, merge_base: Sha, head: Sha) -> Sha | None:
    """The newest of the last MOST_REVERTED_COMMITS commits up to *merge_base* that *head* exactly reverts."""
    undone = frozenset(_files(repository.read("diff-tree", "-r", *RAW_OPTIONS, head, merge_base, "--").split(b"\0")))
    try:
        limit = f"--max-count={MOST_REVERTED_COMMITS}"
        options = (
            "--first-parent",
            "-m",
            limit,
            "--format=commit %H",
            *RAW_OPTIONS,
            "--no-color",
            "--no-show-signature",
        )
        history = repository.read_until(HISTORY_BYTES, "log", *options, merge_base, "--")
    except Unavailable:
        return None  # the commits are too large for the time limit
    _, *parts = _COMMIT.split(history if len(history) <= HISTORY_BYTES else b"")
    commits = zip(parts[::2], parts[1::2], strict=True)
    same = (sha.decode() for sha, files in commits if undone and frozenset(_files(files.split(b"\0"))) == undone)
    return next(same, None)


_COMMIT: Final = re.compile(rb"(?:^|\0)commit ([0-9a-f]{40})(?=\0|$)")


def _files(fields: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Each changed file with its modes and blobs before and after."""
    described = (field for field in fields if field.strip(b"\n"))
    for entry in described:
        yield entry.lstrip(b"\n"), next(described, b"")
