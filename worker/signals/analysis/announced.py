"""What makes an unwritten function a stage of a larger work: it is neither called nor asked for, or the title announces a stage.

Does not look at what the function does. Invariant: neither excuses a function for good; a fact becomes a suspicion.
"""

import re
from itertools import chain
from typing import Final

from worker.domain.pattern import pattern
from worker.signals.analysis import references
from worker.signals.analysis.change import Change
from worker.signals.analysis.functions import Function, functions_of
from worker.signals.analysis.relatedness import common_stems, stems_in, stems_of


def is_a_stage(function: Function, change: Change) -> bool:
    """Whether the function may be left for a later change: beside finished work nothing needs it, or the title says so."""
    name = function.name
    is_outside = _BY_THE_LANGUAGE.fullmatch(name) or is_of_a_trait(function) or REGISTERED.search(function.attributes)
    is_called = is_outside or name in change.once(_called) or name in references.handed_over(change)
    is_needed = is_called or not change.once(_asked).isdisjoint(stems_of(name)) or _is_all_there_is(function, change)
    return not is_needed or is_announced(change)


def is_announced(change: Change) -> bool:
    """Whether the title says that more is to come."""
    return _STAGE.search(change.dossier.pull_request.title) is not None


_STAGE: Final = pattern(
    r"\b(scaffold(s|ed|ing)?|(?<!the )(?:skeletons?|stubs?|placeholders?|draft|prototype)|stubbed|stubbing|boilerplate|wip|work in progress"
    r"|empty tests?|(part|step|phase|stage) ?#?\d|first (part|step|pass|cut|draft)|partial(ly)?|first instal+ments?|ground ?work|preparations?|start(ed)? (of|on))\b"
    r"|[(\[]\d+/(\d+|n)[)\]]|^prepare\b",
    re.IGNORECASE,
)


REGISTERED: Final = pattern(r"[@#\[]")
"""A decorator, an attribute or an annotation: what it names may call the function."""


def is_of_a_trait(function: Function) -> bool:
    """Whether a trait of Rust asks for the function."""
    owner = function.container
    return owner is not None and owner.child_by_field_name("trait") is not None


_BY_THE_LANGUAGE: Final = pattern(r"__\w+__|constructor|main|equals|hashCode|toString")


def _is_all_there_is(function: Function, change: Change) -> bool:
    """The change writes no function beside it whose body does more than one thing."""
    return not any(_is_beside(other, function) for other in change.once(_works))


def _is_beside(other: Function, function: Function) -> bool:
    """Whether neither stands inside the other."""
    first, second = sorted((other.node, function.node), key=lambda node: (node.start_byte, -node.end_byte))
    return other.source is not function.source or first.end_byte <= second.start_byte


def _works(change: Change) -> tuple[Function, ...]:
    """The new functions of production code with at least two statements."""
    return tuple(
        function
        for file in change.production()
        for source in file.sources
        for function in functions_of(source)
        if function.first in file.added_lines and len(function.statements) > 1
    )


def _asked(change: Change) -> frozenset[str]:
    """The stems of the title, the issues and the criteria: a function that is named after them is what was asked for."""
    dossier = change.dossier
    issues = (f"{issue.title}\n{issue.body}" for issue in dossier.issues)
    criteria = (criterion.text for criterion in dossier.criteria or ())
    return stems_in("\n".join((dossier.pull_request.title, *issues, *criteria))[:_MOST_ASKED]) - common_stems()


_MOST_ASKED: Final = 40_000
"""Characters."""


def _called(change: Change) -> frozenset[str]:
    """The names of functions that added lines call."""
    lines = (line[:_LONGEST] for file in change.files for line in file.diff.added_texts)
    return frozenset(chain.from_iterable(_CALL.findall(line) for line in lines if not _OTHERWISE.match(line)))


_LONGEST: Final = 1_000
_OTHERWISE: Final = pattern(
    r"\s*(?://|\#|\*(?:[\s/]|$)|/\*|--|func\b|(?:[\w$]+ )*[\w$]+\([^()]*\)\s*(?::[^;]*)?\{\s*$|[A-Z]\w*\([^()]*\)\s*(?:[\w*\[(][^;]*)$|\w+\??\([^()]*\)\s*:)"
)
"""Comments, and definitions that begin with the name: of Go, of JavaScript, and those of an interface."""
_CALL: Final = pattern(
    r"(?:^\s*|=>\s*|->\s*|[^\w\s>\])$]\s*|\b(?:return|await|yield|throw|new|not|and|or|in|is|if|elif|else|case|go|defer|assert|raise|when|while|until|unless|do|then|move|match)\s+)"
    r"([A-Za-z_$][\w$]*)(?:::<[^>\n]{0,80}>|<[^>\n(]{0,80}>)?!? ?\("
)
