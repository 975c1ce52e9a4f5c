"""Looks names and paths up in the head tree of a checkout.

Does not decide which. Invariant: a name is reported as looked up only if git searched the whole tree for it.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from worker.adapters.git.changes import paths_at
from worker.adapters.git.git import NO_REASON, GitFailedError, Repository
from worker.domain.dossier.dossier import Dossier
from worker.domain.dossier.lookups import Definition, LookedUp, NameLookup, Sought, absent_from, lookup_of
from worker.errors import Unavailable

MOST_BYTES: Final = 2_000_000
SEARCH: Final = (
    *("grep", "-z", "-I", "--word-regexp", "--fixed-strings", "--only-matching"),
    *("--full-name", "--no-color", "--no-textconv"),
)


def looked_up_at(repository: Repository, dossier: Dossier, sought: Sought) -> LookedUp:
    names = lookups_at(repository, dossier, sought.definitions) if sought.definitions else ()
    tree = paths_at(repository, dossier.pull_request.head_sha) if sought.paths else ()
    return LookedUp(names, absent_from(tree, sought.paths))


def lookups_at(repository: Repository, dossier: Dossier, definitions: Sequence[Definition]) -> tuple[NameLookup, ...]:
    """Search the dossier's head commit for all names in one run of git."""
    if repository.ask("config", "--name-only", "--get-regexp", r"^remote\..*\.promisor$"):
        return ()  # git skips the files that a partial clone lacks
    head = dossier.pull_request.head_sha
    names = [word for definition in definitions for word in ("-e", definition.name)]
    try:
        output = repository.read_until(MOST_BYTES, *SEARCH, *names, head, "--")
    except GitFailedError as error:
        if error.complaint != NO_REASON:
            raise
        output = b""  # git ends with 1 where nothing matches
    except Unavailable:
        return ()  # the tree is too large to be searched in time
    if len(output) > MOST_BYTES:
        return ()
    paths = defaultdict[str, list[str]](list)
    for line in output.splitlines():
        path, _, name = line.decode(errors="replace").removeprefix(f"{head}:").partition("\0")
        paths[name].append(path)
    return tuple(lookup_of(definition, paths[definition.name], dossier.known_paths) for definition in definitions)
