"""What `assay case`, `assay config` and `assay doctor` print.

A draft of a case parses as one. Of a configuration: mistakes with a caret, the effective values and their sources, the JSON Schema and the
reference page; a test holds docs/assay.schema.json and docs/repository-configuration.md to the last two. A finding of the doctor that is not
OK says what to do.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from enum import StrEnum
from typing import Any, Final, assert_never, cast

from worker.domain.check.check_run import CHECK_NAME
from worker.domain.config.config import (
    CONFIG_PATH,
    DEFAULTS_REPOSITORY,
    MISNAMED_CONFIG_PATH,
    Authors,
    ConfigKeys,
    Handling,
    RepositoryConfig,
    to_keys,
)
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
from worker.domain.dossier import ConfigOrigin
from worker.domain.judge_request import AuthorKind
from worker.domain.verdict.budget import Caps, Week
from worker.domain.verdict.verdict import ClaimStatus
from worker.dossier.authors import find_handling, with_operator_defaults
from worker.dossier.config import EffectiveConfig, Problem
from worker.judge.checks.evidence import CONFIRMATION_MARK, CheckedCase, DraftClaim
from worker.publishing.texts.markdown import exact_line, fit, one_line
from worker.publishing.texts.phrases import value_phrase
from worker.publishing.texts.terminal import Ink, TerminalPage, display_width, label_row, wrap_lines

NO_CRITERIA: Final = "No criterion is known: name the issue with --issue."
TEXT_LIMIT: Final = 160
CLAIM_STATUS: Final = {
    ClaimStatus.VERIFIED: ("there", Ink.GREEN),
    ClaimStatus.UNSUPPORTED: ("not found", Ink.YELLOW),
    ClaimStatus.CONTRADICTED: ("not there", Ink.RED),
    ClaimStatus.OMITTED: ("not named", Ink.YELLOW),
}
CLAIM_COLUMNS: Final = 2 + max(len(name) for name, _ in CLAIM_STATUS.values()) + 2


def draft(title: str, claims: Sequence[DraftClaim]) -> str:
    """A draft of the `assay` block for the description, to be confirmed by its author."""
    lines = [f"summary: {_scalar(f'{title} ({CONFIRMATION_MARK})')}"]
    covered = [line for claim in claims for line in _draft_claim(claim)]
    has_place = any(claim.places for claim in claims)
    lines += ["ac_coverage:" if has_place else "ac_coverage: []", *(covered or [f"  # {NO_CRITERIA}"])]
    return "\n".join(["```assay", *lines, "work_arounds: []", "uncertainties: []", "```", ""])


def _draft_claim(claim: DraftClaim) -> Iterator[str]:
    identity = _printable(claim.criterion.id)
    yield f"  # {identity}: {fit(_printable(claim.criterion.text), TEXT_LIMIT)}"
    if not claim.places:
        yield "  #   No added line speaks of it. Name the place that meets it, or say under uncertainties what is missing."
        return
    yield f"  - criterion: {_scalar(identity)}"
    yield f"    addressed_by: {_scalar(f'{claim.places[0]} ({CONFIRMATION_MARK})')}"
    if claim.tests:
        yield f"    evidence: {_scalar(f'{claim.tests[0]} ({CONFIRMATION_MARK})')}"
    if claim.places[1:]:
        yield f"    # or {_printable(', '.join(claim.places[1:]))}"


def _printable(text: str) -> str:
    """*text* on one line, without characters that YAML does not allow."""
    return "".join(char if char.isprintable() else "?" for char in one_line(text))


def _scalar(text: str) -> str:
    """*text* as YAML: plain if it can only be a string."""
    text = _printable(text)
    is_plain = text[:1].isalpha() and all(char.isalnum() or char in "_./-() " for char in text)
    return text if is_plain else json.dumps(text, ensure_ascii=False)


def parse_error_report(name: str, line: int | None, message: str, page: TerminalPage) -> str:
    """The error of a case that does not parse, with its line in the file."""
    location = one_line(name) if line is None else f"{one_line(name)}:{line}"
    return "\n".join([*wrap_lines(f"{location}: {one_line(message)}", page), ""])


def check_report(name: str, result: CheckedCase, page: TerminalPage) -> str:
    """Each claim with the status of its place, and what has to be mended."""
    lines = list[str]()
    for claim in result.claims:
        status, ink = CLAIM_STATUS[claim.status]
        first, *rest = wrap_lines(one_line(claim.claim), page, CLAIM_COLUMNS)
        lines.append(f"  {page.ink(status, ink)}{' ' * (CLAIM_COLUMNS - 2 - len(status))}{first.lstrip()}")
        lines += [*rest, *(wrap_lines(one_line(claim.note), page, CLAIM_COLUMNS) if claim.note else ())]
    for finding in result.findings:
        effect = "Rejects" if finding.fact else "Doubted"
        lines += wrap_lines(f"{effect} ({finding.signal}): {one_line(finding.note)}", page, 2)
    if result.unread:
        lines += wrap_lines(f"Not read: {one_line(', '.join(result.unread))}. docs/case.md lists the fields.", page, 2)
    if result.unconfirmed_count:
        lines += wrap_lines(
            f'{result.unconfirmed_count} still marked "{CONFIRMATION_MARK}": look at each place, and take the words out.',
            page,
            2,
        )
    if not result.has_criteria:
        lines += wrap_lines(NO_CRITERIA, page, 2)
    end = f"{result.problem_count} to mend." if result.problem_count else "Nothing to mend."
    return "\n".join([page.ink(f"{one_line(name)} holds a case.", Ink.BOLD), *lines, end, ""])


BEFORE_CARET: Final = 200
"""A caret further to the right is out of sight."""

LINE_BYTES: Final = 300
DEFAULT_SOURCE: Final = "default"


def mistake_report(problems: Sequence[Problem], text: str, name: str, page: TerminalPage) -> str:
    """Each mistake, then their number."""
    lines = text.removeprefix("\ufeff").split("\n")
    shown = [line for problem in problems for line in _mistake(problem, lines, name, page)]
    count = f"{len(problems)} mistake{'' if len(problems) == 1 else 's'}"
    end = wrap_lines(
        f"{count}. What has one sets nothing: the last version without any holds there, and nothing is accepted without a model.",
        page,
    )
    return "\n".join([*shown, *end, ""])


def _mistake(problem: Problem, lines: Sequence[str], name: str, page: TerminalPage) -> list[str]:
    head = wrap_lines(f"{exact_line(name)}:{problem.line}:{problem.column}: {problem.message}", page)
    if problem.line > len(lines):
        return [*head, ""]
    line = lines[problem.line - 1].rstrip("\r")
    margin = f"{problem.line} | "
    shown = [page.ink(margin, Ink.DIM) + exact_line(fit(line, LINE_BYTES)).replace("\t", " ")]
    if problem.column <= BEFORE_CARET:
        blanks = " " * display_width(exact_line(line[: problem.column - 1]).replace("\t", " "))
        shown.append(" " * (len(margin) - 2) + page.ink("| ", Ink.DIM) + blanks + page.ink("^", Ink.RED))
    return [page.ink(head[0], Ink.BOLD), *head[1:], *(f"  {part}" for part in shown), ""]


def effective_report(configured: EffectiveConfig, names: Mapping[ConfigOrigin, str], page: TerminalPage) -> str:
    """Every key with its value and source."""
    rows = [
        (key, value_phrase(value), key_source(configured, key, names))
        for key, value in to_keys(configured.config).items()
    ]
    wide = max(len(key) for key, _, _ in rows)
    lines = [f"{exact_line(name)} is valid." for name in names.values()] or ["There is no file: every default holds."]
    lines.append("")
    for key, value, source in rows:
        lines += label_row(key, f"{exact_line(value)} ({source})", page, wide + 1)
    return "\n".join([*lines, ""])


def key_source(configured: EffectiveConfig, key: str, names: Mapping[ConfigOrigin, str]) -> str:
    """The file that sets a key, or `default`."""
    origin = configured.origins.get(key)
    return DEFAULT_SOURCE if origin is None else exact_line(names[origin])


SCHEMA_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
SCHEMA_TITLE: Final = f"Assay: {CONFIG_PATH}"

REFERENCE_HEAD: Final = f"""# `{CONFIG_PATH}`

The configuration of a repository. Every key is optional. Generated by `assay config reference`: do not edit.

- **Source.** `{CONFIG_PATH}` at the base commit, then `{CONFIG_PATH}` on the default branch of the owner's repository `{DEFAULTS_REPOSITORY}` (a
  private one needs the App), then the defaults, key by key at the top level. The operator's caps, tier and models stay above it.
- **A pull request that edits the file** is judged by the base version. The check run lists what would change and what is weaker.
- **An invalid entry** is ignored; its last valid version holds, else the default. Meanwhile no change is accepted without a model. Where
  `never_send` may be affected and no earlier version is known, no file is sent to a model. The check run says so.
- **`{MISNAMED_CONFIG_PATH}`** is not read: no change is accepted without a model, and no file is sent to one.
- `assay config check` prints each mistake with line and column, or the effective configuration. Exit code 0 or 2.
- For editors: `# yaml-language-server: $schema=assay.schema.json` on the first line, with the path of
  [assay.schema.json](assay.schema.json) or of the output of `assay config schema`.
- At most 64 KB of YAML without aliases, tags and duplicate keys. A switch is `true` or `false`; `on`, `off`, `yes`, `no` are texts.
- `assay judge` in a checkout reads the file at the base commit, without the owner's default. `mode` does not change its exit code.

| key | default | meaning |
|---|---|---|
"""

OPERATOR_DEFAULTS: Final = {
    "model": "`ASSAY_MODEL`",
    "quiet_window": "`ASSAY_QUIET_WINDOW`",
    "ci_wait": "`ASSAY_CI_WAIT`",
    "version": "`1`",
}
"""Defaults that are not the type's own."""


def schema() -> str:
    """The JSON Schema as a file."""
    made = {"$schema": SCHEMA_DIALECT, **_without_titles(ConfigKeys.model_json_schema()), "title": SCHEMA_TITLE}
    return f"{json.dumps(made, indent=2, ensure_ascii=False)}\n"


def _without_titles(part: Any) -> Any:
    """Without the titles that pydantic makes of names: editors show them instead of descriptions."""
    match part:
        case dict():
            fields = cast("dict[str, Any]", part).items()
            return {
                name: _without_titles(value) for name, value in fields if name != "title" or not isinstance(value, str)
            }
        case list():
            return [_without_titles(item) for item in cast("list[Any]", part)]
        case _:
            return part


def reference() -> str:
    """The reference page: every key, and an example that sets all of them."""
    rows = "\n".join(f"| `{key}` | {default} | {meaning} |" for key, default, meaning in _reference_rows())
    examples = {key: _yaml(*(field.examples or ())) for key, field in ConfigKeys.model_fields.items()}
    example = "".join(f"{key}: {value}\n" for key, value in examples.items())
    return f"{REFERENCE_HEAD}{rows}\n\n## All of it\n\n```yaml\n{example}```\n"


def _reference_rows() -> Iterator[tuple[str, str, str]]:
    defaults: dict[str, Any] = {**to_keys(RepositoryConfig()), "version": 1}
    for key, field in ConfigKeys.model_fields.items():
        nested = getattr(field.annotation, "model_fields", {})
        default = OPERATOR_DEFAULTS.get(key) or ("as below" if nested else f"`{_yaml(defaults[key])}`")
        yield key, default, str(field.description)
        for name, inner in nested.items():
            yield f"{key}.{name}", f"`{_yaml(defaults[key][name])}`", str(inner.description)


def _yaml(value: Any) -> str:
    """A value in YAML's flow style."""
    match value:
        case None:
            return "none"
        case dict():
            fields = cast("dict[str, Any]", value).items()
            return "{" + ", ".join(f"{name}: {_yaml(item)}" for name, item in fields) + "}"
        case list() | tuple():
            return json.dumps(value, ensure_ascii=False)
        case str():
            return value
        case _:
            return json.dumps(value)


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


HEALTH_INKS: Final = {
    Health.OK: Ink.GREEN,
    Health.WARNING: Ink.YELLOW,
    Health.MISSING: Ink.YELLOW,
    Health.WRONG: Ink.RED,
}
HEALTH_COLUMNS: Final = 9
NAME_COLUMNS: Final = 24


def doctor_report(examined: Sequence[DoctorFinding], page: TerminalPage) -> str:
    """All lines, and how many need a change."""
    lines = list[str]()
    for finding in examined:
        first, *rest = wrap_lines(one_line(finding.message), page, HEALTH_COLUMNS + NAME_COLUMNS)
        name = one_line(finding.name)
        name += " " * max(1, NAME_COLUMNS - display_width(name))
        health = page.ink(finding.health, HEALTH_INKS[finding.health]) + " " * (HEALTH_COLUMNS - len(finding.health))
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
