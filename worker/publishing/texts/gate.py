"""What `assay doctor` says of permissions, installations, and of a repository's gate.

Does not ask anybody. Invariant: what is not well is named with whose it is, what does not work because of it, and what to do.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, assert_never

from worker.domain.check.branch_protection import Gate, Hold, Installed, hold, unapproved
from worker.domain.check.check_run import CHECK_NAME
from worker.domain.config.app_permissions import EXTRAS, OptIn, extra, lacking, suffices, switched_off
from worker.domain.config.config import Authors, Handling
from worker.domain.request.judge_request import AuthorKind
from worker.dossier.eligibility import handling_of, with_operators
from worker.publishing.texts.doctor import Examined, Health

PERMISSIONS: Final = "App permissions"
REQUIRED: Final = "Required check"
QUEUE: Final = "Merge queue"
OWNERS: Final = "Code owners"
MOST_TEAMS: Final = 5
OPT_INS: Final = {
    OptIn.COMMENTS: "Comments",
    OptIn.REACTIONS: "Reactions",
    OptIn.MERGE_QUEUE: QUEUE,
    OptIn.CODE_SCANNING: "SARIF",
}
HANDLED: Final = {Handling.OBSERVE: "are only observed", Handling.SKIP: "are skipped"}
TAKEN_FOR: Final = {
    AuthorKind.PERSON: (
        "people",
        "An agent whose account, branch, commits and description do not name it counts as a person.",
    ),
    AuthorKind.BOT: ("bots", "An agent whose account Assay does not know counts as a bot."),
}
"""Who else an author may be, with the key of `authors`."""
SETTINGS: Final = "the App's settings: Permissions & events, Repository permissions"


def permission_lines(asked: Mapping[str, str], declined: Collection[OptIn] = ()) -> Iterator[Examined]:
    """What the App itself asks for: all that judging needs, and which opt-ins. *declined*: those that a setting keeps off."""
    lacks = lacking(asked)
    if lacks:
        words = "; ".join(f"{one.spelled} (to {one.reason})" for one in lacks)
        yield Examined(PERMISSIONS, Health.WRONG, f"the App lacks {words}. Add it in {SETTINGS}.")
    else:
        yield Examined(PERMISSIONS, Health.OK, "all there")
    lacking_permission = switched_off(asked)
    for one in EXTRAS:
        if one.opt_in in declined:
            why = f"by choice ({one.switch} is 0)"
        elif one in lacking_permission:
            why = f"the App does not ask for {one.permission.spelled}"
        else:
            continue
        words = f"off: {why}, so {one.lost}"
        yield Examined(OPT_INS[one.opt_in], Health.OK, words)


def installation_lines(
    asked: Mapping[str, str], installed: Sequence[Installed], app_url: str, declined: Collection[OptIn] = ()
) -> Iterator[Examined]:
    """Each installation that is not as the App would have it, by name. What is *declined* is not missed."""
    if not installed:
        words = f"the App is installed nowhere. Choose its repositories at {app_url}/installations/new"
        yield Examined("Installations", Health.MISSING, words)
        return
    lines = [line for one in installed for line in _of_one(asked, one, declined)]
    yield from lines
    if not lines:
        number = f"{len(installed)} installation{'' if len(installed) == 1 else 's'}"
        yield Examined("Installations", Health.OK, f"{number}, with all that the App asks for")


def _of_one(asked: Mapping[str, str], installed: Installed, declined: Collection[OptIn]) -> Iterator[Examined]:
    name = f"Installation {installed.account}"
    if installed.is_suspended:
        words = f"is suspended (installation {installed.id}), so nothing is judged there. Its owner ends that at {installed.url}"
        yield Examined(name, Health.WRONG, words)
    lacks = unapproved(asked, installed)
    if lacks:
        them = "it" if len(lacks) == 1 else "them"
        words = (
            f"has not approved {', '.join(lacks)} (installation {installed.id}). ",
            *_lost(installed.permissions, asked, declined),
            f"Its owner approves {them} at {installed.url}",
        )
        yield Examined(name, Health.WRONG, "".join(words))


def _lost(granted: Mapping[str, str], asked: Mapping[str, str], declined: Collection[OptIn]) -> Iterator[str]:
    """What does not work without that, in whole sentences."""
    for needed in lacking(granted):
        yield f"Judging needs {needed.spelled}, to {needed.reason}. "
    for one in EXTRAS:
        if one.opt_in not in declined and suffices(asked, one.permission) and not suffices(granted, one.permission):
            yield f"Without {one.permission.spelled}, {one.lost}. "


def gate_lines(gate: Gate, our_app_id: int, slug: str, operators: Authors) -> Iterator[Examined]:
    """What is missing for merges of this repository to wait for our check. *operators*: whose pull requests are judged by default."""
    if gate.installed is None:
        words = f"the App is not installed on {gate.repository}, or there is no such repository. Install it there."
        yield Examined("Installed", Health.MISSING, words)
        return
    yield Examined("Installed", Health.OK, f"on {gate.repository} (installation {gate.installed.id})")
    yield _required(gate, our_app_id, slug)
    for author, (key, mistaken) in TAKEN_FOR.items() if gate.required else ():
        handling = handling_of(author, with_operators(gate.authors, operators))
        if handling is not Handling.JUDGE:
            words = (
                f"the pull requests of {key} {HANDLED[handling]}, so the required check never blocks one. {mistaken} "
                f"Set `authors: {{{key}: judge}}` in .github/assay.yml to have the check decide."
            )
            yield Examined(key.capitalize(), Health.WARNING, words)
    yield _queue(gate, gate.installed)
    if gate.teams:
        words = (
            f"{named(gate.teams)} own{'s' if len(gate.teams) == 1 else ''} files. Assay asks a team for a review, but does not read "
            "who is in it (that takes a permission on the whole organization): for a team counts the review of an account that may "
            "override (the roles maintain and admin)."
        )
        yield Examined(OWNERS, Health.OK, words)


def named(teams: Sequence[str]) -> str:
    """The first few of them, by name."""
    left = len(teams) - MOST_TEAMS
    return ", ".join(teams[:MOST_TEAMS]) + (f" and {left} more teams" if left > 0 else "")


def _required(gate: Gate, our_app_id: int, slug: str) -> Examined:
    by = " and ".join(dict.fromkeys(one.by for one in gate.required))
    found = hold(gate, our_app_id)
    match found:
        case Hold.OURS:
            return Examined(
                REQUIRED, Health.OK, f"{CHECK_NAME} is required on {gate.branch} by {by}, from {slug} alone"
            )
        case Hold.ANYBODYS:
            words = (
                f"{CHECK_NAME} is required on {gate.branch} by {by}, but from any source: each account with write access can post a "
                f"status of that name and merge. Choose {slug} as its source, where it is required."
            )
            return Examined(REQUIRED, Health.WRONG, words)
        case Hold.ANOTHERS:
            others = ", ".join(str(one.app_id) for one in gate.required if one.app_id not in {our_app_id, None})
            words = (
                f"{CHECK_NAME} is required on {gate.branch} by {by} from another App (id {others}), so ours never counts and "
                f"nothing can be merged. Choose {slug} as its source instead."
            )
            return Examined(REQUIRED, Health.WRONG, words)
        case Hold.NONE:
            words = (
                f"{CHECK_NAME} is not required on {gate.branch}, so no merge waits for it. To make it a gate, open Settings, "
                f"Rules, Rulesets, and require the status check {CHECK_NAME} with {slug} as its source."
            )
            return Examined(REQUIRED, Health.MISSING, words)
        case _:
            assert_never(found)


def _queue(gate: Gate, installed: Installed) -> Examined:
    wanted = extra(OptIn.MERGE_QUEUE)
    if gate.has_queue is None:
        words = (
            f"no ruleset asks for one on {gate.branch}; whether branch protection does can't be seen without "
            f"{wanted.permission.spelled}"
        )
        return Examined(QUEUE, Health.OK, words)
    if not gate.has_queue:
        return Examined(QUEUE, Health.OK, f"none on {gate.branch}")
    if suffices(installed.permissions, wanted.permission):
        return Examined(QUEUE, Health.OK, f"on for {gate.branch}, and Assay answers for its groups")
    words = (
        f"on for {gate.branch}, but {installed.account} (installation {installed.id}) has not granted "
        f"{wanted.permission.spelled}, so {wanted.lost}. Ask for it in {SETTINGS}; the owner approves it at {installed.url}"
    )
    return Examined(QUEUE, Health.WRONG, words)
