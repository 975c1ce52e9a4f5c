"""Which paths the repository never sends: the globs of `never_send`.

Written as in a .gitignore, without its negations, in any case of letters: a name without a slash at any depth, one with a slash
from the root, `**` for any number of folders; what matches a folder withholds everything in it. Linear in the path.
"""

from collections.abc import Sequence
from fnmatch import fnmatchcase

_ANY_DEPTH = "**"


def is_withheld(path: str, globs: Sequence[str]) -> bool:
    """Whether one of the globs matches the path, or a folder that it is in."""
    segments = path.casefold().split("/")
    return any(_matches(_parts(glob), segments) for glob in globs)


def _parts(glob: str) -> tuple[str, ...]:
    written = glob.casefold().removeprefix("./")
    inner = written.rstrip("/")
    parts = tuple(part for part in inner.split("/") if part)
    return parts if "/" in inner else (_ANY_DEPTH, *parts)


def _matches(parts: tuple[str, ...], segments: Sequence[str]) -> bool:
    """Follow all ways to match in one pass: *at* are the indexes of the parts that could be next."""
    at = _skip_any_depth(parts, {0})
    for segment in segments:
        if len(parts) in at:
            return True
        here = {index for index in at if parts[index] == _ANY_DEPTH}
        over = {index + 1 for index in at if parts[index] != _ANY_DEPTH and fnmatchcase(segment, parts[index])}
        at = _skip_any_depth(parts, here | over)
    return len(parts) in at


def _skip_any_depth(parts: tuple[str, ...], at: set[int]) -> set[int]:
    """Add the parts behind each `**`, which may match no folder."""
    reached = set(at)
    for index in sorted(at):
        following = index
        while following < len(parts) and parts[following] == _ANY_DEPTH:
            following += 1
            reached.add(following)
    return reached
