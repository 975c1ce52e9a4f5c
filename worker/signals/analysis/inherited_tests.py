"""Tests that turn off the one of a type above, which does not fit what is tested here.

Does not read the type above, which may be of another repository. Invariant: a test with work of its own turns off none.
"""

from typing import Final

from worker.domain.pattern import pattern
from worker.signals.analysis.change import Source
from worker.signals.analysis.file_roles import Language
from worker.signals.analysis.syntax import ancestors, text_of
from worker.signals.analysis.tests import Test


def is_inherited_test_disabled(test: Test) -> bool:
    """It has no work of its own, and a type above may have a test of its name that does not fit here."""
    function, owner = test.function, test.function.container
    if len(function.statements) > 1:
        return False
    if test.source.language is Language.GO:
        return function.type_name in test.source.cached(_find_embedding_types)
    if test.source.language is Language.JAVA:
        return "@Override" in function.attributes
    return owner is not None and _TESTS_ABOVE.search(text_of(owner.child_by_field_name("superclasses"))) is not None


def _find_embedding_types(source: Source) -> frozenset[str]:
    """The types of Go that take over the methods of another one: a field of theirs has a type and no name."""
    unnamed = (
        field for field in source.nodes.find(("field_declaration",)) if field.child_by_field_name("name") is None
    )
    owners = (around for field in unnamed for around in ancestors(field) if around.type == "type_spec")
    return frozenset(text_of(owner.child_by_field_name("name")) for owner in owners)


_TESTS_ABOVE: Final = pattern(
    r"(?<!\w)(?=\w*?(?:Test|Suite|Base|Mixin|Compliance|Common))\w++(?<!TestCase)(?=[,)\]\s])"
)
