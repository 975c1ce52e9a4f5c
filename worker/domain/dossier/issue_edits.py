"""Which version of an issue's text counts: the judged may not rewrite what they are judged by.

The judged are the pull request's author and bots. Their edits made once the pull request was open never count, as far as the
history is known; edits by others count whole. A title and a body are two texts, each with its own history.
"""

from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile

from worker.domain.dossier.dossier import LateEdit


@dataclass(frozen=True)
class TextVersion:
    """A text after one edit. `text` None: it is not shown. `is_by_judged`: the pull request's author wrote it, or a bot."""

    at: datetime
    author: str
    is_by_judged: bool
    text: str | None


@dataclass(frozen=True)
class TextHistory:
    """The known versions. `is_complete`: the oldest is the original text, which is no edit."""

    versions: tuple[TextVersion, ...] = ()
    is_complete: bool = False


@dataclass(frozen=True)
class JudgedText:
    """The text that counts, and the edits that came too late."""

    text: str
    late_edits: tuple[LateEdit, ...] = ()


def select_judged_text(present: str, history: TextHistory, since: datetime) -> JudgedText:
    """The version that counts, of a text that is *present* now. *since*: when the pull request was opened."""
    versions = sorted(history.versions, key=lambda version: version.at, reverse=True)
    edits = versions[:-1] if history.is_complete else versions
    late = [*takewhile(lambda edit: edit.is_by_judged and edit.at >= since, edits)]
    if not late:
        return JudgedText(present)
    before = versions[len(late)].text if len(late) < len(versions) else None
    newest = late[0].text
    if newest is not None and newest.split() != present.split():
        before = None  # the history is not that of the present text
    edits = tuple(LateEdit(by=edit.author, at=edit.at, used=before is None) for edit in late)
    return JudgedText(present if before is None else before, edits)
