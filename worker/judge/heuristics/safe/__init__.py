"""A change that can't be wrong: documentation, comments or layout only, where nothing else was asked for.

`asked` reads what was asked for; `prose` proves documents harmless, `programs` source files (`fragments` where only
hunks are known). Does not weigh. Invariant: every file is proved harmless on its own, nothing was found against the
change, and no issue, criterion or title asks for more than words or layout.
"""

from worker.judge.heuristics.change import Change, ChangedFile
from worker.judge.heuristics.safe.asked import answers, asks_for_words_only
from worker.judge.heuristics.safe.programs import is_same_program
from worker.judge.heuristics.safe.prose import is_prose_only


def why_safe(change: Change) -> str | None:
    """Say in a clause why the change can't be wrong; None where that is not proved."""
    if not change.files or not asks_for_words_only(change.dossier, is_code=all(map(_is_code, change.files))):
        return None
    if not answers(change) or not all(map(_is_harmless, change.files)):
        return None
    return "only documentation, comments or white space changed, and nothing else is asked for"


def _is_code(file: ChangedFile) -> bool:
    return file.language is not None


def _is_harmless(file: ChangedFile) -> bool:
    return is_same_program(file) if file.language is not None else is_prose_only(file)
