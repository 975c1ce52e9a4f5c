"""Whether a pull request still changes just what it changed when it was last read: by git's own object ids, without its diff.

Does not ask. Invariant: it is said only where it follows from what GitHub told in one answer: all commits of the pull request
with their parents, and whole object ids; ids that a diff abbreviates prove nothing, but may contradict. A doubt is a no, and costs
a request.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha1
from typing import Final

from pydantic import TypeAdapter

from worker.domain.diff import ChangeKind, DiffError, FileDiff, base_text, diff_of
from worker.domain.dossier import Dossier
from worker.domain.ids import Sha
from worker.github.queries import trace_alias
from worker.github.replies import Blob, GraphReply, Nodes

LISTED: Final = 100
"""Commits that a query lists; of a longer history the beginning is not known."""

MOST_PARENTS: Final = 10
MOST_TRACED: Final = 120


class Named(GraphReply):
    """A git object's id."""

    oid: str


class Entry(Named):
    """What stands at a path. `mode` is a number, where a diff writes it in octal."""

    mode: int


class LinkedCommit(Named):
    tree: Named
    parents: Nodes[Named]


class Link(GraphReply):
    commit: LinkedCommit


class Chain(Nodes[Link]):
    total_count: int


class ListedFile(GraphReply):
    path: str


class Target(GraphReply):
    target: dict[str, object] | None = None


class Trail(GraphReply):
    """Of a pull request: the files that it changes, its commits, and the newest commit of its base branch."""

    head_ref_oid: str
    base_ref_oid: str
    changed_files: int
    files: Nodes[ListedFile] | None = None
    chain: Chain
    now: Target | None = None

    @property
    def commits(self) -> Mapping[str, LinkedCommit]:
        """All of them by their ids; none where some are not known."""
        found = {link.commit.oid: link.commit for link in self.chain.seen}
        is_whole = len(found) == self.chain.total_count and all(
            len(one.parents.seen) < MOST_PARENTS for one in found.values()
        )
        return found if is_whole else {}

    @property
    def base_tip(self) -> str | None:
        oid = self.now.target.get("oid") if self.now and self.now.target else None
        return oid if isinstance(oid, str) else None


@dataclass(frozen=True, slots=True)
class Traces:
    """What stands at each traced path, in the head commit and in the newest one of the base branch. None: nothing."""

    head: Mapping[str, Entry | None]
    base: Mapping[str, Entry | None]


_ENTRY: Final = TypeAdapter[Entry | None](Entry | None)


def traces_of(paths: tuple[str, ...], head: Mapping[str, object], base: Mapping[str, object]) -> Traces:
    """Read the answers to `trace_alias`."""
    aliases = {path: trace_alias(index) for index, path in enumerate(paths)}

    def at(found: Mapping[str, object]) -> dict[str, Entry | None]:
        return {path: _ENTRY.validate_python(found[alias]) for path, alias in aliases.items() if alias in found}

    return Traces(at(head), at(base))


def to_trace(before: Dossier) -> tuple[str, ...]:
    """The paths that tell whether the change is the same."""
    return tuple(
        dict.fromkeys(path for file in diff_of(before.diff).files for path in (file.path, file.old_path) if path)
    )


def is_same_change(before: Dossier, trail: Trail, traces: Traces) -> bool:
    """Whether the pull request's diff is the one in *before*."""
    commits = trail.commits
    known = {one.sha for one in before.pull_request.commits}
    if (
        trail.head_ref_oid not in commits
        or trail.changed_files != len(diff_of(before.diff).files)
        or len(known) >= LISTED
    ):
        return False
    return _is_untouched(before, trail, known) or (
        _starts_at_its_base(trail) and _changes_the_same(before, trail, traces)
    )


def _is_untouched(before: Dossier, trail: Trail, known: set[Sha]) -> bool:
    """Whether only empty commits came upon what was read: it forks off where it did, and its files are the same.

    Where it forks off follows from which commits are its own.
    """
    commits, at = trail.commits, trail.head_ref_oid
    new: set[str] = set()
    while at not in known:
        commit = commits.get(at)
        if commit is None or len(commit.parents.seen) != 1 or at in new:
            return False
        new.add(at)
        at = commit.parents.seen[0].oid
    is_all = set(commits) == known | new
    return is_all and at == before.pull_request.head_sha and commits[at].tree == commits[trail.head_ref_oid].tree


def _starts_at_its_base(trail: Trail) -> bool:
    """Whether it forks off, or was last merged with, the newest commit of its base branch: its diff is against that commit."""
    commits, tip = trail.commits, trail.base_tip
    outside = {parent.oid for one in commits.values() for parent in one.parents.seen} - commits.keys()
    return tip is not None and (outside == {tip} or (tip in outside and tip == trail.base_ref_oid))


def _changes_the_same(before: Dossier, trail: Trail, traces: Traces) -> bool:
    """Whether each file was what it was before the change, and became what it became; and no other file changes."""
    files = diff_of(before.diff).files
    listed = sorted(one.path for one in trail.files.seen) if trail.files else []
    texts = {one.path: one.text for one in before.files or () if one.text is not None}
    try:
        return listed == sorted(file.path for file in files) and all(
            _is(traces.head, path, mode, text) if is_head else _is(traces.base, path, mode, text)
            for file in files
            for is_head, path, mode, text in _sides(file, texts)
        )
    except (DiffError, KeyError):
        return False


Side = tuple[bool, str, str | None, str | None]
"""Whether it is the head's; path, mode and text there. No text: no file."""


def _sides(file: FileDiff, texts: Mapping[str, str]) -> Iterator[Side]:
    """What has to stand where. Raises KeyError, DiffError for a file whose texts are not known, as of a binary one."""
    after = "" if file.change is ChangeKind.DELETED else texts[file.path]
    text = base_text(after, file)
    yield (True, file.path, file.new_mode, None if file.change is ChangeKind.DELETED else after)
    yield (False, file.old_path or file.path, file.old_mode, None if file.change is ChangeKind.ADDED else text)
    if file.old_path:
        yield (True, file.old_path, None, None)
        yield (False, file.path, None, None)


def _is(found: Mapping[str, Entry | None], path: str, mode: str | None, text: str | None) -> bool:
    entry = found[path]
    if entry is None or text is None:
        return entry is None and text is None
    return f"{entry.mode:o}" == mode and entry.oid == blob_id(text)


def may_be_of(diff: str, changed_files: int, texts: Mapping[str, Blob]) -> bool:
    """Whether nothing tells that a diff is of another head than these texts of it, and the number of files that it changes."""
    files = diff_of(diff).files
    return len(files) == changed_files and all(
        blob_id(text).startswith(file.blobs[1])
        for file in files
        if file.blobs and (text := _whole(texts.get(file.path))) is not None
    )


def _whole(blob: Blob | None) -> str | None:
    """The text of a file whose bytes are known from it."""
    text = blob.text if blob is not None and not blob.is_truncated else None
    return None if text is None or "\ufffd" in text else text


def blob_id(text: str) -> str:
    """The id that git gives to a file of this text."""
    raw = text.encode("utf-8", "surrogatepass")
    return sha1(b"blob %d\0" % len(raw) + raw, usedforsecurity=False).hexdigest()
