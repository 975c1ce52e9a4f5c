"""What is looked up in the head tree before a finding says that nothing there names a function, or that a file is not there.

Does not look. Invariant: a lookup covers the whole head tree but for the files whose text the dossier holds.
"""

from collections.abc import Collection, Iterable
from typing import Annotated, Final

from pydantic import Field

from worker.domain.model import Frozen
from worker.domain.pattern import pattern
from worker.domain.value import Value

MOST_PATHS: Final = 10


class Definition(Value):
    """A new function to look up. `callers`: a regular expression for the paths of files that could call it.

    `is_private`: nothing but the lookup stands between it and a fact.
    """

    name: str
    callers: str
    is_private: bool

    def can_be_called_in(self, path: str) -> bool:
        return pattern(self.callers).search(path) is not None


class LookupRequest(Value):
    """What to look up: functions, and the paths of files that somebody names."""

    definitions: tuple[Definition, ...] = ()
    paths: tuple[str, ...] = ()


class NameLookup(Frozen):
    """A name, and the first files of the head tree that could call it, hold it as a word, and have no text in the dossier."""

    name: Annotated[str, Field(min_length=1)]
    paths: tuple[str, ...] = ()


class LookupResult(Value):
    """What was found. A name that could not be looked up is left out; `absent_paths` are the paths at which nothing stands."""

    names: tuple[NameLookup, ...] = ()
    absent_paths: tuple[str, ...] = ()


def build_lookup(definition: Definition, paths: Iterable[str], dossier_paths: Collection[str]) -> NameLookup:
    """Reduce the *paths* that hold the name to those that could call it. *dossier_paths*: files whose text the dossier holds."""
    callers = dict.fromkeys(path for path in paths if path not in dossier_paths and definition.can_be_called_in(path))
    return NameLookup(name=definition.name, paths=tuple(callers)[:MOST_PATHS])


def find_absent(tree: Collection[str], paths: Iterable[str]) -> tuple[str, ...]:
    """Those of *paths* that are no file of the *tree*, nor the end of one, nor a folder."""
    return tuple(path for path in paths if not any(stands_at(existing, path) for existing in tree))


def stands_at(existing: str, path: str) -> bool:
    """Whether a file is the one that is named, or ends in it, or stands below it, in upper or lower case.

    Markdown takes `__init__.py` for an emphasis.
    """
    folded, wanted = (name.casefold().replace("__", "") for name in (existing, path))
    return folded == wanted or folded.endswith(f"/{wanted}") or folded.startswith(f"{wanted}/")
