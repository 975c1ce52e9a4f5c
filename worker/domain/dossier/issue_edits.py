"""Which version of an issue's text counts: the judged may not rewrite what they are judged by.

The judged are the pull request's author and bots. Their edits made once the pull request was open never count, as far as the
history is known; what anybody else wrote stands whole. A title and a body are two texts, each with its own history.
"""

from collections.abc import Iterable
from datetime import datetime
from itertools import takewhile

from worker.domain.dossier.dossier import LateEdit
from worker.domain.value import Value


class TextVersion(Value):
    """A text as somebody left it. `text` None: it is not shown. `is_by_judged`: the pull request's author wrote it, or a bot."""

    at: datetime
    author: str
    is_by_judged: bool
    text: str | None


class TextHistory(Value):
    """The versions that are known. `is_complete`: the oldest is the text as it was written, which is no edit."""

    versions: tuple[TextVersion, ...] = ()
    is_complete: bool = False


class JudgedText(Value):
    """The text to judge by, and the edits that came too late to be it."""

    text: str
    late_edits: tuple[LateEdit, ...] = ()


def select_judged_text(present: str, history: TextHistory, since: datetime) -> JudgedText:
    """What is judged by, of a text that reads *present* now. *since*: when the pull request was opened."""
    versions = sorted(history.versions, key=lambda version: version.at, reverse=True)
    edits = versions[:-1] if history.is_complete else versions
    late = [*takewhile(lambda edit: edit.is_by_judged and edit.at >= since, edits)]
    if not late:
        return JudgedText(present)
    before = versions[len(late)].text if len(late) < len(versions) else None
    if before is None or not _is_same(late[0].text, present):
        return JudgedText(present, _to_late_edits(late, used=True))
    return JudgedText(before, _to_late_edits(late, used=False))


def _is_same(shown: str | None, present: str) -> bool:
    """Whether the history can be that of the present text, as far as its newest version shows."""
    return shown is None or shown.split() == present.split()


def _to_late_edits(late: Iterable[TextVersion], *, used: bool) -> tuple[LateEdit, ...]:
    return tuple(LateEdit(by=edit.author, at=edit.at, used=used) for edit in late)
