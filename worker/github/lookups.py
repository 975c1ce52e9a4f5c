"""Looks names up in the head tree of a pull request on GitHub, in at most two requests.

Code search is no help: it knows the default branch alone, and not all of its files. So the tree is listed, and the files that
could call the function are read, where they are few. Does not decide which names. Invariant: a name is reported as looked
up only if every file that could call it was read.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from worker.domain.dossier import Dossier
from worker.domain.lookups import Definition, NameLookup, lookup_of
from worker.domain.request import JudgeRequest
from worker.github.client import Api
from worker.github.graph import Asked, PullGraph
from worker.github.replies import Blob, Reply
from worker.github.texts import BATCH

MOST_BYTES: Final = 2_000_000


class TreeEntry(Reply):
    path: str
    type: str
    size: int = 0


class Tree(Reply):
    tree: tuple[TreeEntry, ...]
    truncated: bool


def lookups_at(
    api: Api, request: JudgeRequest, dossier: Dossier, definitions: Sequence[Definition]
) -> tuple[NameLookup, ...]:
    """Read the files that could call the private ones among *definitions*. A name with too many of them is left out."""
    private = [definition for definition in definitions if definition.is_private]
    if not private:
        return ()
    head = dossier.pull_request.head_sha
    tree = api.get(f"/repos/{request.repository}/git/trees/{head}", Tree, recursive=1)
    if tree.truncated:
        return ()
    sizes = {entry.path: entry.size for entry in tree.tree if entry.type == "blob"}
    callers = _callers(private, {path: size for path, size in sizes.items() if path not in dossier.known_paths})
    paths = sorted({path for paths in callers.values() for path in paths})
    graph = PullGraph(api, request.repository, request.pull.number)
    blobs = graph.ask(Asked([f"{head}:{path}" for path in paths])).blobs if paths else ()
    texts = {path: _searchable(blob) for path, blob in zip(paths, blobs, strict=True)}
    return tuple(
        lookup_of(one, [path for path in callers[one] if _holds(texts[path], one.name)], ())
        for one in private
        if one in callers and not any(texts[path] is None for path in callers[one])
    )


def _callers(definitions: Sequence[Definition], sizes: Mapping[str, int]) -> dict[Definition, list[str]]:
    """The files to read for each definition, as long as they are few."""
    chosen = dict[Definition, list[str]]()
    for definition in definitions:
        callers = [path for path in sizes if definition.may_be_called_in(path)]
        paths = {*callers, *(path for others in chosen.values() for path in others)}
        if len(paths) <= BATCH and sum(sizes[path] for path in paths) <= MOST_BYTES:
            chosen[definition] = callers
    return chosen


def _searchable(blob: Blob | None) -> str | None:
    """The whole text; None where GitHub does not show it."""
    if blob is None or blob.is_truncated:
        return None
    return "" if blob.is_binary else blob.text


def _holds(text: str | None, name: str) -> bool:
    return text is not None and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None
