"""What `assay pause` and `assay resume` say.

Does not switch anything. Invariant: says what becomes of checks, how long, and how to go back; what a person wrote is shown
on one line, with nothing unseen in it.
"""

from collections.abc import Sequence

from worker.domain.request.pause import JudgingPause, format_time
from worker.domain.value import Value
from worker.publishing.texts.visible import one_line


class ListedPause(Value):
    """A pause that is in force. *is_everywhere*: in all repositories."""

    suspension: JudgingPause
    is_everywhere: bool


def unknown_repository(repository: str) -> str:
    return (
        f"{repository} is not known here: nothing of it was judged yet, or it was forgotten.\n"
        "Check the name, and that REDIS_URL or ASSAY_DATA_DIR lead to the store of the running Assay.\n"
    )


def not_installed(repository: str) -> str:
    """GitHub was asked about it, too."""
    return f"{repository} is not known here, and GitHub says that the App is not installed in it. Check the name.\n"


def github_not_reached(repository: str, why: str) -> str:
    """GitHub might know it."""
    return f"{unknown_repository(repository)}GitHub can't be asked about it: {why.rstrip('.')}.\n"


def paused_message(repository: str | None, suspension: JudgingPause) -> str:
    """Judging was stopped in a repository, or everywhere."""
    where = f"in {repository}" if repository else "everywhere"
    how_long = f"until {format_time(suspension.until)}" if suspension.until else "until it is resumed"
    after = "Then what was not judged meanwhile is judged by itself." if suspension.until else _AFTER_RESUME
    return (
        f"Judging is paused {where}: {how_long} checks are neutral, saying so, and no model is asked.\n"
        f"{after}\n`{_command('resume', repository)}` goes on at once.\n"
    )


_AFTER_RESUME = "What was not judged meanwhile is judged when it goes on."


def resumed_message(repository: str | None) -> str:
    """Judging goes on."""
    where = f"in {repository}" if repository else "everywhere that is not paused on its own"
    return f"Judging goes on {where}: what was not judged meanwhile is judged now, by itself.\n"


def not_paused_message(repository: str | None) -> str:
    none = f"Judging was not paused in {repository}." if repository else "No pause of all repositories is in force."
    return f"{none} `assay pause --list` shows where judging is paused.\n"


def pause_list(pauses: Sequence[ListedPause]) -> str:
    """All pauses that are in force."""
    if not pauses:
        return "Judging is paused nowhere.\n"
    return "".join(f"{pause_line(pause)}\n" for pause in pauses)


def pause_line(pause: ListedPause) -> str:
    """One pause on one line: where, until when, by whom and why."""
    suspension = pause.suspension
    where = "Everywhere" if pause.is_everywhere else one_line(suspension.repository or "A repository")
    until = f"until {format_time(suspension.until)}" if suspension.until else "until it is resumed"
    since = f" since {format_time(suspension.at)}" if suspension.at else ""
    by = f", by {one_line(suspension.by)}" if suspension.by else ""
    why = f": {one_line(suspension.reason)}" if suspension.reason else ""
    return f"{where}: paused{since} {until}{by}{why}"


def _command(name: str, repository: str | None) -> str:
    return f"assay {name} {repository}" if repository else f"assay {name}"
