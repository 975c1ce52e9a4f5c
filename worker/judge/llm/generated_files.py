"""Files that a tool wrote: told in one line instead of being shown, where the line tells what matters.

A lock file is told so where the same change holds a manifest that it follows (in its folder or below, as of a workspace);
generated code where its generator signed it and the change holds its source, a file of the same name in another format. Both
count as read then: the manifest and the source are read, and the rest is the tool's work. Without them nobody knows why the
file changed, and it is shown like any other, last. So is whatever somebody suspects. A folder's name alone (`dist`, `vendor`)
proves nothing: code there may be anybody's. Invariant: nothing is told in one line whose reason is not in the change itself.
"""

from collections.abc import Collection
from itertools import islice
from pathlib import PurePosixPath
from typing import Final

from worker.domain.pattern import pattern
from worker.dossier.diff.parser import ChangeKind, FileDiff
from worker.judge.llm.fencing import shown_path
from worker.signals.analysis.file_roles import SIGNED_LINES, is_signed_by_generator

_NODE: Final = ("package.json", "pnpm-workspace.yaml")
_MANIFESTS: Final = {
    "package-lock.json": _NODE,
    "npm-shrinkwrap.json": _NODE,
    "yarn.lock": _NODE,
    "pnpm-lock.yaml": _NODE,
    "bun.lock": _NODE,
    "Cargo.lock": ("Cargo.toml",),
    "go.sum": ("go.mod", "go.work"),
    "poetry.lock": ("pyproject.toml",),
    "uv.lock": ("pyproject.toml",),
    "pdm.lock": ("pyproject.toml",),
    "Pipfile.lock": ("Pipfile",),
    "Gemfile.lock": ("Gemfile",),
    "composer.lock": ("composer.json",),
    "gradle.lockfile": ("build.gradle", "build.gradle.kts"),
    "Package.resolved": ("Package.swift",),
    "mix.lock": ("mix.exs",),
    "Podfile.lock": ("Podfile",),
    "deno.lock": ("deno.json", "deno.jsonc"),
}
"""Which manifests each lock file follows."""

_GENERATED_NAME: Final = pattern(
    r"^(.+?)(?:\.pb\.\w+|_pb2(?:_grpc)?\.pyi?|\.min\.\w+|[._](?:generated|gen)\.\w+|\.g\.\w+)$"
)
_HOST: Final = pattern(rb"\n\+[^\n]*?https?://([\w.-]{1,100})")
MOST_HOSTS: Final = 5


def summarize_generated(file: FileDiff, paths: Collection[str]) -> str | None:
    """What is said of the file instead of showing it, *paths* being all that changed; None where it has to be shown."""
    if file.change is ChangeKind.DELETED or file.is_binary or file.is_symlink or not file.hunks:
        return None
    reason = _manifest_of(file.path, paths) or _source_of(file, paths)
    if reason is None:
        return None
    hosts = _hosts(file)
    loaded = f"; its added lines load from {hosts}" if hosts else ""
    return f'summarised: written by a tool, it follows "{shown_path(reason)}"{loaded}'


def _manifest_of(path: str, paths: Collection[str]) -> str | None:
    lock = PurePosixPath(path)
    names = _MANIFESTS.get(lock.name, ())
    manifests = (path for path in paths if path.rpartition("/")[2] in names)
    return min((path for path in manifests if PurePosixPath(path).is_relative_to(lock.parent)), default=None)


def _source_of(file: FileDiff, paths: Collection[str]) -> str | None:
    """A changed file of the same name, as that of a generator's input and its output is."""
    name = file.path.rpartition("/")[2]
    named = _GENERATED_NAME.match(name)
    if named is None or not _is_signed(file):
        return None
    alike = (path for path in paths if path != file.path and _stem(path) == named[1])
    return min((path for path in alike if _GENERATED_NAME.match(path.rpartition("/")[2]) is None), default=None)


def _stem(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0]


def _is_signed(file: FileDiff) -> bool:
    """Whether the first lines that the diff shows are a generator's. A hunk further down shows no signature."""
    hunk = file.hunks[0]
    start = hunk.body[:4_000].decode("utf-8", "replace").split("\n")[:SIGNED_LINES]
    return hunk.head_start <= 1 and is_signed_by_generator("\n".join(start))


def _hosts(file: FileDiff) -> str:
    """Where the added lines point to: a lock file that loads from elsewhere is no routine."""
    hosts = dict.fromkeys(host for hunk in file.hunks for host in _HOST.findall(b"\n" + hunk.body))
    named = [shown_path(host.decode("utf-8", "replace")) for host in islice(hosts, MOST_HOSTS)]
    return ", ".join([*named, *(["and more"] if len(hosts) > MOST_HOSTS else [])])
