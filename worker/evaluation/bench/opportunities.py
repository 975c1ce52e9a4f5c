"""What a change gives the signals to look at: the denominator of every measured rate.

Does not look for faults. Invariant: a signal that fires on a change had an opportunity there.
"""

from collections.abc import Iterator
from typing import Final

from worker.signals.analysis.change import CodeChange
from worker.signals.analysis.ci_config import is_ci, is_configuration
from worker.signals.analysis.file_roles import FileRole, Language, role_of
from worker.signals.signal import SignalScope

_LINE_RULES_ONLY: Final = (".kts", ".scala", ".swift")
"""Code that no grammar of ours reads."""


def opportunities_of(change: CodeChange) -> Iterator[SignalScope]:
    """Everything that this change gives an opportunity for."""
    dossier = change.dossier
    yield SignalScope.ANYTHING
    code = [file for file in change.files if file.language is not None]
    others = [file for file in change.files if file.path.endswith(_LINE_RULES_ONLY)]
    if any(role_of(file.path) is not FileRole.TEST for file in (*code, *others)):
        yield SignalScope.PRODUCTION
    if any(role_of(file.path) is FileRole.TEST or file.language is Language.RUST for file in code):
        yield SignalScope.TESTS
    if any(is_ci(file.path) or is_configuration(file.path) for file in change.files):
        yield SignalScope.CONFIGURATION
    if any(not criterion.inferred for criterion in dossier.criteria or ()):
        yield SignalScope.ISSUE
    if dossier.case is not None:
        yield SignalScope.CASE
    if dossier.guidance:
        yield SignalScope.RULES
