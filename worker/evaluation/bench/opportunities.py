"""What a change gives the signals to look at: the denominator of every measured rate.

Does not look for faults. Invariant: a signal that fires on a change had an opportunity there.
"""

from collections.abc import Iterator
from typing import Final

from worker.signals.analysis.change import Change
from worker.signals.analysis.ci_config import is_ci, is_configuration
from worker.signals.analysis.file_roles import Language, Role, role_of
from worker.signals.signal import Looks

_LINE_RULES_ONLY: Final = (".kts", ".scala", ".swift")
"""Code that no grammar of ours reads."""


def looks_at(change: Change) -> Iterator[Looks]:
    """Everything that this change gives an opportunity for."""
    dossier = change.dossier
    yield Looks.ANYTHING
    code = [file for file in change.files if file.language is not None]
    others = [file for file in change.files if file.path.endswith(_LINE_RULES_ONLY)]
    if any(role_of(file.path) is not Role.TEST for file in (*code, *others)):
        yield Looks.PRODUCTION
    if any(role_of(file.path) is Role.TEST or file.language is Language.RUST for file in code):
        yield Looks.TESTS
    if any(is_ci(file.path) or is_configuration(file.path) for file in change.files):
        yield Looks.CONFIGURATION
    if any(not one.inferred for one in dossier.criteria or ()):
        yield Looks.ISSUE
    if dossier.case is not None:
        yield Looks.CASE
    if dossier.guidance:
        yield Looks.RULES
