"""What makes an unwritten function a stage of a larger work: it is neither called nor asked for, or the title announces a stage.

Does not look at what the function does. Invariant: neither excuses a function for good; a fact becomes a suspicion.
"""

import re
from itertools import chain
from typing import Final

from worker.domain.pattern import pattern
from worker.signals.analysis import references
from worker.signals.analysis.change import CodeChange
from worker.signals.analysis.functions import Function, find_functions
from worker.signals.analysis.relatedness import common_stems, stems_in, stems_of


def is_stage(function: Function, change: CodeChange) -> bool:
    """Whether the function may be left for a later change: beside finished work nothing needs it, or the title says so."""
    name = function.name
    is_outside = (
        _CALLED_BY_LANGUAGE.fullmatch(name) or is_of_a_trait(function) or DECORATION.search(function.attributes)
    )
    is_called = is_outside or name in change.cached(_called_names) or name in references.find_passed_names(change)
    is_needed = (
        is_called
        or not change.cached(_requested_stems).isdisjoint(stems_of(name))
        or _is_only_new_function(function, change)
    )
    return not is_needed or is_announced(change)


def is_announced(change: CodeChange) -> bool:
    """Whether the title says that more is to come."""
    return _STAGE.search(change.dossier.pull_request.title) is not None


_STAGE: Final = pattern(
    r"\b(scaffold(s|ed|ing)?|(?<!the )(?:skeletons?|stubs?|placeholders?|draft|prototype)|stubbed|stubbing|boilerplate|wip|work in progress"
    r"|empty tests?|(part|step|phase|stage) ?#?\d|first (part|step|pass|cut|draft)|partial(ly)?|first instal+ments?|ground ?work|preparations?|start(ed)? (of|on))\b"
    r"|[(\[]\d+/(\d+|n)[)\]]|^prepare\b",
    re.IGNORECASE,
)


DECORATION: Final = pattern(r"[@#\[]")
"""A decorator, an attribute or an annotation: what it names may call the function."""


def is_of_a_trait(function: Function) -> bool:
    """Whether a trait of Rust asks for the function."""
    owner = function.container
    return owner is not None and owner.child_by_field_name("trait") is not None


_CALLED_BY_LANGUAGE: Final = pattern(r"__\w+__|constructor|main|equals|hashCode|toString")


def _is_only_new_function(function: Function, change: CodeChange) -> bool:
    """The change writes no function beside it whose body does more than one thing."""
    return not any(_is_beside(other, function) for other in change.cached(_find_working_functions))


def _is_beside(other: Function, function: Function) -> bool:
    """Whether neither stands inside the other."""
    first, second = sorted((other.node, function.node), key=lambda node: (node.start_byte, -node.end_byte))
    return other.source is not function.source or first.end_byte <= second.start_byte


def _find_working_functions(change: CodeChange) -> tuple[Function, ...]:
    """The new functions of production code with at least two statements."""
    return tuple(
        function
        for file in change.production_files()
        for source in file.sources
        for function in find_functions(source)
        if function.first_line in file.added_lines and len(function.statements) > 1
    )


def _requested_stems(change: CodeChange) -> frozenset[str]:
    """The stems of the title, the issues and the criteria: a function that is named after them is what was asked for."""
    dossier = change.dossier
    issues = (f"{issue.title}\n{issue.body}" for issue in dossier.issues)
    criteria = (criterion.text for criterion in dossier.criteria or ())
    return stems_in("\n".join((dossier.pull_request.title, *issues, *criteria))[:_MOST_ASKED]) - common_stems()


_MOST_ASKED: Final = 40_000
"""Characters."""


def _called_names(change: CodeChange) -> frozenset[str]:
    """The names of functions that added lines call."""
    lines = (line[:_LONGEST] for file in change.files for line in file.diff.added_texts)
    return frozenset(chain.from_iterable(_CALL.findall(line) for line in lines if not _NO_CALL.match(line)))


_LONGEST: Final = 1_000
_NO_CALL: Final = pattern(
    r"\s*(?://|\#|\*(?:[\s/]|$)|/\*|--|func\b|(?:[\w$]+ )*[\w$]+\([^()]*\)\s*(?::[^;]*)?\{\s*$|[A-Z]\w*\([^()]*\)\s*(?:[\w*\[(][^;]*)$|\w+\??\([^()]*\)\s*:)"
)
"""Comments, and definitions that begin with the name: of Go, of JavaScript, and those of an interface."""
_CALL: Final = pattern(
    r"(?:^\s*|=>\s*|->\s*|[^\w\s>\])$]\s*|\b(?:return|await|yield|throw|new|not|and|or|in|is|if|elif|else|case|go|defer|assert|raise|when|while|until|unless|do|then|move|match)\s+)"
    r"([A-Za-z_$][\w$]*)(?:::<[^>\n]{0,80}>|<[^>\n(]{0,80}>)?!? ?\("
)
