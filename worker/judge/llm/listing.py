"""The list of all changed files: what each change is, and whether it is shown.

Does not choose. Invariant: the list never takes more than its room; a file of which nothing but its line there tells is read only
if that line stood in it.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from worker.domain.dossier.dossier import Dossier, UnreadReason
from worker.domain.value import Value
from worker.dossier.diff.parser import Diff, FileDiff
from worker.judge.checks.coverage import is_fully_described
from worker.judge.llm.diff_view import FileView
from worker.judge.llm.fencing import shown_path
from worker.judge.llm.generated_files import summarize_generated
from worker.judge.llm.line_numbers import describe_file
from worker.judge.llm.selection import FileSelection, is_shown

SHOWN_STATE, PARTIAL_STATE, UNREAD_STATE = "shown", "shown in part", "not read"
NOTHING_ELSE: Final = "nothing else to show"
LONGEST_STATE_TEXT: Final = f"{UNREAD_STATE}: its content is not text"
LONGEST_REASON: Final = 60
"""Why a file was kept back, and a line break."""

FILES_CUT: Final = "[cut here: {} more files are not listed]"


class ListedChange(Value):
    """A change, and its files as they can be shown."""

    diff: Diff
    dossier: Dossier
    file_views: Sequence[FileView]


class ChangeListing(Value):
    """`hidden`: the files that only their line would have told of, and that found no room."""

    text: str
    hidden: tuple[str, ...]


class _ListingLine(Value):
    path: str
    text: str
    is_complete: bool


def max_listing_bytes(diff: Diff, dossier: Dossier) -> int:
    """What the list takes at most, whatever is shown beside it."""
    paths = frozenset(file.path for file in diff.files)
    descriptions = (describe_file(file, summarize_generated(file, paths) or LONGEST_STATE_TEXT) for file in diff.files)
    kept_back = (shown_path(file.path) for file in dossier.files_unread)
    return sum(len(text.encode()) + LONGEST_REASON for text in (*descriptions, *kept_back)) + 2 * len(FILES_CUT)


def list_changes(change: ListedChange, choice: FileSelection, budget: int) -> ChangeListing:
    """The list beside what was chosen. What is told nowhere else stands first."""
    lines = sorted(_lines(change, choice), key=lambda line: not line.is_complete)
    kept: list[str] = []
    hidden: list[str] = []
    left = budget - len(FILES_CUT) - 8
    for number, line in enumerate(lines):
        left -= len(line.text.encode()) + 1
        if left < 0:
            hidden += [line.path for line in lines[number:] if line.is_complete]
            kept.append(FILES_CUT.format(len(lines) - number))
            break
        kept.append(line.text)
    return ChangeListing("\n".join(kept), tuple(hidden))


def _lines(change: ListedChange, choice: FileSelection) -> Iterator[_ListingLine]:
    dossier, diff = change.dossier, change.diff
    views = {view.position: view for view in change.file_views}
    reasons = {file.path: file.reason for file in dossier.files_unread}
    for position, file in enumerate(diff.files):
        view, reason = views.get(position), reasons.get(file.path)
        state = UNREAD_STATE if reason is UnreadReason.NEVER_SEND else _state(file, dossier, view, choice)
        tells_all = view is None or view.summary is not None
        why = f" (whole text not read: {_shorten_reason(reason)})" if reason else ""
        yield _ListingLine(file.path, describe_file(file, state) + why, tells_all)
    changed = {file.path for file in diff.files}
    for path, reason in reasons.items():
        if path not in changed:
            yield _ListingLine(
                path, f'"{shown_path(path)}": {UNREAD_STATE} ({_shorten_reason(reason)})', is_complete=False
            )


def _shorten_reason(reason: UnreadReason) -> str:
    return reason.replace("_", " ")


def _state(file: FileDiff, dossier: Dossier, view: FileView | None, choice: FileSelection) -> str:
    if view is None:
        return NOTHING_ELSE if is_fully_described(file, dossier) else f"{UNREAD_STATE}: its content is not text"
    if view.summary is not None:
        return view.summary
    if is_shown(view, choice):
        return SHOWN_STATE
    return PARTIAL_STATE if view.position in choice.shown_pieces else UNREAD_STATE
