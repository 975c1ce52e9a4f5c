"""What `assay pause` and `assay resume` say.

Does not switch anything. Invariant: says what becomes of checks, how long, and how to go back; what a person wrote is shown
on one line, with nothing unseen in it.
"""

from collections.abc import Sequence

from worker.domain.request.pause import Suspension, when
from worker.domain.value import Value
from worker.publishing.texts.visible import one_line


class Listed(Value):
    """A pause that is in force. *everywhere*: in all repositories."""

    suspension: Suspension
    everywhere: bool


def unknown(repository: str) -> str:
    return (
        f"{repository} is not known here: nothing of it was judged yet, or it was forgotten.\n"
        "Check the name, and that REDIS_URL or ASSAY_DATA_DIR lead to the store of the running Assay.\n"
    )


def not_seen(repository: str) -> str:
    """GitHub was asked about it, too."""
    return f"{repository} is not known here, and GitHub says that the App is not installed in it. Check the name.\n"


def not_asked(repository: str, why: str) -> str:
    """GitHub might know it."""
    return f"{unknown(repository)}GitHub can't be asked about it: {why.rstrip('.')}.\n"


def paused(repository: str | None, suspension: Suspension) -> str:
    """Judging was stopped in a repository, or everywhere."""
    where = f"in {repository}" if repository else "everywhere"
    how_long = f"until {when(suspension.until)}" if suspension.until else "until it is resumed"
    after = "Then what was not judged meanwhile is judged by itself." if suspension.until else _AFTER
    return (
        f"Judging is paused {where}: {how_long} checks are neutral, saying so, and no model is asked.\n"
        f"{after}\n`{_command('resume', repository)}` goes on at once.\n"
    )


_AFTER = "What was not judged meanwhile is judged when it goes on."


def resumed(repository: str | None) -> str:
    """Judging goes on."""
    where = f"in {repository}" if repository else "everywhere that is not paused on its own"
    return f"Judging goes on {where}: what was not judged meanwhile is judged now, by itself.\n"


def not_paused(repository: str | None) -> str:
    none = f"Judging was not paused in {repository}." if repository else "No pause of all repositories is in force."
    return f"{none} `assay pause --list` shows where judging is paused.\n"


def listed(found: Sequence[Listed]) -> str:
    """All pauses that are in force."""
    if not found:
        return "Judging is paused nowhere.\n"
    return "".join(f"{words(one)}\n" for one in found)


def words(one: Listed) -> str:
    """One pause on one line: where, until when, by whom and why."""
    said = one.suspension
    where = "Everywhere" if one.everywhere else one_line(said.repository or "A repository")
    until = f"until {when(said.until)}" if said.until else "until it is resumed"
    since = f" since {when(said.at)}" if said.at else ""
    by = f", by {one_line(said.by)}" if said.by else ""
    why = f": {one_line(said.reason)}" if said.reason else ""
    return f"{where}: paused{since} {until}{by}{why}"


def _command(name: str, repository: str | None) -> str:
    return f"assay {name} {repository}" if repository else f"assay {name}"
