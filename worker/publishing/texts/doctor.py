"""The report of `assay doctor`, one line per finding. A finding that is not OK says what to do."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from enum import StrEnum
from typing import Final, assert_never

from worker.domain.check.check_run import CHECK_NAME
from worker.domain.config.config import Authors, Handling
from worker.domain.config.github_app import (
    OPTIONAL_PERMISSIONS,
    AppInstallation,
    OptIn,
    RepositoryProtection,
    RequirementSource,
    find_missing_opt_ins,
    find_missing_permissions,
    find_optional,
    find_requirement_source,
    is_sufficient,
    list_unapproved,
)
from worker.domain.judge_request import AuthorKind
from worker.domain.verdict.budget import Caps, Week
from worker.dossier.authors import find_handling, with_operator_defaults
from worker.publishing.texts.markdown import one_line
from worker.publishing.texts.terminal import Ink, TerminalPage, display_width, wrap_lines


class Health(StrEnum):
    OK = "ok"
    WARNING = "warning"
    MISSING = "missing"
    WRONG = "wrong"


@dataclass(frozen=True)
class DoctorFinding:
    """One line of the report. *message*: the state and, unless all is well, what to do."""

    name: str
    health: Health
    message: str


def is_healthy(examined: Sequence[DoctorFinding], *, strict: bool) -> bool:
    """Whether nothing has to be changed; *strict*: warnings count as well."""
    passes = {Health.OK} if strict else {Health.OK, Health.WARNING}
    return all(finding.health in passes for finding in examined)


def caps_phrase(caps: Caps) -> str:
    """The caps in words."""
    per_cent = f"{(caps.share * 100).normalize():f} %"
    return (
        f"{dollars(caps.pull_usd)} a pull request, {dollars(caps.day_usd)} a day for each installation, {per_cent} of that "
        "for one repository beside others. `assay doctor OWNER/REPO` estimates what a week costs"
    )


def week_cost_phrase(week: Week, each_usd: Decimal, heads: int) -> str:
    """The estimated cost of the pull requests of the last seven days."""
    if not week.pulls:
        return "no pull request was opened in the last seven days: $0.00"
    pulls = f"{week.pulls} pull request{'' if week.pulls == 1 else 's'}"
    return (
        f"{dollars(week.expected_usd)} for the {pulls} opened in the last seven days, if a model judges each {heads} times "
        f"at {dollars(each_usd)}; the caps allow {dollars(week.most_usd)} at most"
    )


def dollars(usd: Decimal) -> str:
    """An amount in cents, or in hundredths of a cent, rounded up."""
    cents = usd.quantize(Decimal("0.0001"), ROUND_CEILING)
    return f"${cents:f}" if cents % Decimal("0.01") else f"${cents:.2f}"


INKS: Final = {Health.OK: Ink.GREEN, Health.WARNING: Ink.YELLOW, Health.MISSING: Ink.YELLOW, Health.WRONG: Ink.RED}
HEALTH_COLUMNS: Final = 9
NAME_COLUMNS: Final = 24


def doctor_report(examined: Sequence[DoctorFinding], page: TerminalPage) -> str:
    """All lines, and how many need a change."""
    lines = list[str]()
    for finding in examined:
        first, *rest = wrap_lines(one_line(finding.message), page, HEALTH_COLUMNS + NAME_COLUMNS)
        name = one_line(finding.name)
        name += " " * max(1, NAME_COLUMNS - display_width(name))
        health = page.ink(finding.health, INKS[finding.health]) + " " * (HEALTH_COLUMNS - len(finding.health))
        lines += [f"{health}{name}{first.lstrip()}", *rest]
    bad = sum(finding.health not in (Health.OK, Health.WARNING) for finding in examined)
    last = "All is well." if not bad else f"{bad} of {len(examined)} to change; the lines above say how."
    return "\n".join([*lines, "", last, ""])


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
HANDLING_TEXTS: Final = {Handling.OBSERVE: "are only observed", Handling.SKIP: "are skipped"}
AUTHOR_KEYS: Final = {
    AuthorKind.PERSON: (
        "people",
        "An agent whose account, branch, commits and description do not name it counts as a person.",
    ),
    AuthorKind.BOT: ("bots", "An agent whose account Assay does not know counts as a bot."),
}
"""Key of `authors` and a caveat, per kind of author besides agents."""
APP_SETTINGS: Final = "the App's settings: Permissions & events, Repository permissions"


def permission_lines(asked: Mapping[str, str], declined: Collection[OptIn] = ()) -> Iterator[DoctorFinding]:
    """The permissions that the App asks for. *declined*: opt-ins that a setting turns off."""
    lacks = find_missing_permissions(asked)
    if lacks:
        needs = "; ".join(f"{permission.label} (to {permission.reason})" for permission in lacks)
        yield DoctorFinding(PERMISSIONS, Health.WRONG, f"the App lacks {needs}. Add it in {APP_SETTINGS}.")
    else:
        yield DoctorFinding(PERMISSIONS, Health.OK, "all there")
    lacking_permission = find_missing_opt_ins(asked)
    for optional in OPTIONAL_PERMISSIONS:
        if optional.opt_in in declined:
            why = f"by choice ({optional.switch} is 0)"
        elif optional in lacking_permission:
            why = f"the App does not ask for {optional.permission.label}"
        else:
            continue
        yield DoctorFinding(OPT_INS[optional.opt_in], Health.OK, f"off: {why}, so {optional.consequence}")


def installation_lines(
    asked: Mapping[str, str], installed: Sequence[AppInstallation], app_url: str, declined: Collection[OptIn] = ()
) -> Iterator[DoctorFinding]:
    """Each installation that is suspended or lacks a permission which is not *declined*."""
    if not installed:
        text = f"the App is installed nowhere. Choose its repositories at {app_url}/installations/new"
        yield DoctorFinding("Installations", Health.MISSING, text)
        return
    lines = [line for installation in installed for line in _installation_lines(asked, installation, declined)]
    yield from lines
    if not lines:
        number = f"{len(installed)} installation{'' if len(installed) == 1 else 's'}"
        yield DoctorFinding("Installations", Health.OK, f"{number}, with all that the App asks for")


def _installation_lines(
    asked: Mapping[str, str], installed: AppInstallation, declined: Collection[OptIn]
) -> Iterator[DoctorFinding]:
    name = f"Installation {installed.account}"
    if installed.is_suspended:
        text = f"is suspended (installation {installed.id}), so nothing is judged there. Its owner ends that at {installed.url}"
        yield DoctorFinding(name, Health.WRONG, text)
    lacks = list_unapproved(asked, installed)
    if lacks:
        them = "it" if len(lacks) == 1 else "them"
        text = (
            f"has not approved {', '.join(lacks)} (installation {installed.id}). ",
            *_missing_features(installed.permissions, asked, declined),
            f"Its owner approves {them} at {installed.url}",
        )
        yield DoctorFinding(name, Health.WRONG, "".join(text))


def _missing_features(
    granted: Mapping[str, str], asked: Mapping[str, str], declined: Collection[OptIn]
) -> Iterator[str]:
    """What does not work without the missing permissions, in whole sentences."""
    for needed in find_missing_permissions(granted):
        yield f"Judging needs {needed.label}, to {needed.reason}. "
    for optional in OPTIONAL_PERMISSIONS:
        if (
            optional.opt_in not in declined
            and is_sufficient(asked, optional.permission)
            and not is_sufficient(granted, optional.permission)
        ):
            yield f"Without {optional.permission.label}, {optional.consequence}. "


def gate_lines(gate: RepositoryProtection, our_app_id: int, slug: str, operators: Authors) -> Iterator[DoctorFinding]:
    """Whether merges of this repository wait for Assay's check. *operators*: the operator's defaults for `authors`."""
    if gate.installation is None:
        text = f"the App is not installed on {gate.repository}, or there is no such repository. Install it there."
        yield DoctorFinding("Installed", Health.MISSING, text)
        return
    yield DoctorFinding("Installed", Health.OK, f"on {gate.repository} (installation {gate.installation.id})")
    yield _describe_requirement(gate, our_app_id, slug)
    for author, (key, mistaken) in AUTHOR_KEYS.items() if gate.requirements else ():
        handling = find_handling(author, with_operator_defaults(gate.authors, operators))
        if handling is not Handling.JUDGE:
            text = (
                f"the pull requests of {key} {HANDLING_TEXTS[handling]}, so the required check never blocks one. {mistaken} "
                f"Set `authors: {{{key}: judge}}` in .github/assay.yml to have the check decide."
            )
            yield DoctorFinding(key.capitalize(), Health.WARNING, text)
    yield _queue(gate, gate.installation)
    if gate.teams:
        text = (
            f"{team_names(gate.teams)} own{'s' if len(gate.teams) == 1 else ''} files. Assay asks a team for a review, but does not read "
            "who is in it (that takes a permission on the whole organization): for a team counts the review of an account that may "
            "override (the roles maintain and admin)."
        )
        yield DoctorFinding(OWNERS, Health.OK, text)


def team_names(teams: Sequence[str]) -> str:
    """The first few teams by name, and how many more there are."""
    left = len(teams) - MOST_TEAMS
    return ", ".join(teams[:MOST_TEAMS]) + (f" and {left} more teams" if left > 0 else "")


def _describe_requirement(gate: RepositoryProtection, our_app_id: int, slug: str) -> DoctorFinding:
    by = " and ".join(dict.fromkeys(requirement.by for requirement in gate.requirements))
    source = find_requirement_source(gate, our_app_id)
    match source:
        case RequirementSource.OURS:
            return DoctorFinding(
                REQUIRED, Health.OK, f"{CHECK_NAME} is required on {gate.branch} by {by}, from {slug} alone"
            )
        case RequirementSource.ANYBODYS:
            text = (
                f"{CHECK_NAME} is required on {gate.branch} by {by}, but from any source: each account with write access can post a "
                f"status of that name and merge. Choose {slug} as its source, where it is required."
            )
            return DoctorFinding(REQUIRED, Health.WRONG, text)
        case RequirementSource.ANOTHERS:
            others = ", ".join(
                str(requirement.app_id)
                for requirement in gate.requirements
                if requirement.app_id not in {our_app_id, None}
            )
            text = (
                f"{CHECK_NAME} is required on {gate.branch} by {by} from another App (id {others}), so ours never counts and "
                f"nothing can be merged. Choose {slug} as its source instead."
            )
            return DoctorFinding(REQUIRED, Health.WRONG, text)
        case RequirementSource.NONE:
            text = (
                f"{CHECK_NAME} is not required on {gate.branch}, so no merge waits for it. To make it a gate, open Settings, "
                f"Rules, Rulesets, and require the status check {CHECK_NAME} with {slug} as its source."
            )
            return DoctorFinding(REQUIRED, Health.MISSING, text)
        case _:
            assert_never(source)


def _queue(gate: RepositoryProtection, installed: AppInstallation) -> DoctorFinding:
    wanted = find_optional(OptIn.MERGE_QUEUE)
    if gate.has_queue is None:
        text = (
            f"no ruleset asks for one on {gate.branch}; whether branch protection does can't be seen without "
            f"{wanted.permission.label}"
        )
        return DoctorFinding(QUEUE, Health.OK, text)
    if not gate.has_queue:
        return DoctorFinding(QUEUE, Health.OK, f"none on {gate.branch}")
    if is_sufficient(installed.permissions, wanted.permission):
        return DoctorFinding(QUEUE, Health.OK, f"on for {gate.branch}, and Assay answers for its groups")
    text = (
        f"on for {gate.branch}, but {installed.account} (installation {installed.id}) has not granted "
        f"{wanted.permission.label}, so {wanted.consequence}. Ask for it in {APP_SETTINGS}; the owner approves it at {installed.url}"
    )
    return DoctorFinding(QUEUE, Health.WRONG, text)
