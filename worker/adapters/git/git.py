"""Run git to read one repository without executing anything from it.

Git sees the objects, an empty work tree and no index, so attributes of the checkout (drivers, filters, `-diff`) have no
effect. Hooks, pagers, external diffs, file system monitors, lazy fetches and replaced objects are off. Of the
environment only the home folder (for `safe.directory`) reaches git.
"""

import os
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

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
