"""The list of all changed files: what each change is, and whether it is shown.

Does not choose. Invariant: the list never takes more than its room; a file of which nothing but its line there tells is read only
if that line stood in it.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from worker.domain.dossier.dossier import Dossier, UnreadReason
from worker.domain.value import Value
from worker.dossier.diff.parser import Diff, FileDiff
from worker.judge.checks.coverage import is_told
from worker.judge.llm.choosing import Choice, is_shown
from worker.judge.llm.diff_view import Sheet
from worker.judge.llm.fencing import shown_path
from worker.judge.llm.line_numbers import listed
from worker.judge.llm.toolmade import told_in_a_line

SHOWN, IN_PART, NOT_READ = "shown", "shown in part", "not read"
TOLD_HERE: Final = "nothing else to show"
LONGEST_STATE: Final = f"{NOT_READ}: its content is not text"
LONGEST_REASON: Final = 60
"""Why a file was kept back, and a line break."""

MORE: Final = "[cut here: {} more files are not listed]"


class Changed(Value):
    """A change, and its files as they can be shown."""

    diff: Diff
    dossier: Dossier
    sheets: Sequence[Sheet]


class Listing(Value):
    """`hidden`: the files that only their line would have told of, and that found no room."""

    text: str
    hidden: tuple[str, ...]


class _Line(Value):
    path: str
    text: str
    tells_all: bool


def most_bytes(diff: Diff, dossier: Dossier) -> int:
    """What the list takes at most, whatever is shown beside it."""
    paths = frozenset(file.path for file in diff.files)
    told = (listed(file, told_in_a_line(file, paths) or LONGEST_STATE) for file in diff.files)
    kept_back = (shown_path(one.path) for one in dossier.files_unread)
    return sum(len(text.encode()) + LONGEST_REASON for text in (*told, *kept_back)) + 2 * len(MORE)


def listing(change: Changed, choice: Choice, room: int) -> Listing:
    """The list beside what was chosen. What is told nowhere else stands first."""
    lines = sorted(_lines(change, choice), key=lambda line: not line.tells_all)
    kept: list[str] = []
    hidden: list[str] = []
    left = room - len(MORE) - 8
    for number, line in enumerate(lines):
        left -= len(line.text.encode()) + 1
        if left < 0:
            hidden += [one.path for one in lines[number:] if one.tells_all]
            kept.append(MORE.format(len(lines) - number))
            break
        kept.append(line.text)
    return Listing("\n".join(kept), tuple(hidden))


def _lines(change: Changed, choice: Choice) -> Iterator[_Line]:
    dossier, diff = change.dossier, change.diff
    sheets = {sheet.position: sheet for sheet in change.sheets}
    reasons = {file.path: file.reason for file in dossier.files_unread}
    for position, file in enumerate(diff.files):
        sheet, reason = sheets.get(position), reasons.get(file.path)
        state = NOT_READ if reason is UnreadReason.NEVER_SEND else _state(file, dossier, sheet, choice)
        tells_all = sheet is None or sheet.summary is not None
        why = f" (whole text not read: {_said(reason)})" if reason else ""
        yield _Line(file.path, listed(file, state) + why, tells_all)
    changed = {file.path for file in diff.files}
    for path, reason in reasons.items():
        if path not in changed:
            yield _Line(path, f'"{shown_path(path)}": {NOT_READ} ({_said(reason)})', tells_all=False)


def _said(reason: UnreadReason) -> str:
    return reason.replace("_", " ")


def _state(file: FileDiff, dossier: Dossier, sheet: Sheet | None, choice: Choice) -> str:
    if sheet is None:
        return TOLD_HERE if is_told(file, dossier) else f"{NOT_READ}: its content is not text"
    if sheet.summary is not None:
        return sheet.summary
    if is_shown(sheet, choice):
        return SHOWN
    return IN_PART if sheet.position in choice.shown else NOT_READ
