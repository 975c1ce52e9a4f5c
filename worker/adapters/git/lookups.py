"""Looks names and paths up in the head tree of a checkout.

Does not decide which. Invariant: a name is reported as looked up only if git searched the whole tree for it.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from worker.adapters.git.changes import paths_at
from worker.adapters.git.git import NO_REASON, GitFailedError, GitRepository
from worker.domain.dossier.dossier import Dossier
from worker.domain.dossier.lookups import Definition, LookupRequest, LookupResult, NameLookup, build_lookup, find_absent
from worker.errors import Unavailable

MOST_BYTES: Final = 2_000_000
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
        output = repository.read_until(MOST_BYTES, *SEARCH_OPTIONS, *names, head, "--")
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
    return tuple(build_lookup(definition, paths[definition.name], dossier.known_paths) for definition in definitions)
