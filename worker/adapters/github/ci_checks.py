"""CI of a head as evidence in the dossier: check runs, commit statuses, and the logs of failed jobs.

Assay's own check is no evidence, and a re-run replaces the earlier run. A required check without a report is pending. A
workflow that waits for a maintainer's approval, or that the author's commit message skipped, counts as not run.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from worker.adapters.github.client import GitHubApi
from worker.adapters.github.responses import (
    GraphContext,
    GraphPull,
    RuledRefResponse,
)
from worker.domain.check.check_run import CHECK_NAME
from worker.domain.dossier import AWAITING_APPROVAL, FAILED_CONCLUSIONS, NOT_REPORTED, Ci, CiCheck, CiState
from worker.domain.model import RepositoryName
from worker.domain.pattern import pattern
from worker.errors import AssayError, RateLimited
from worker.judge.checks.ci_status import without_ansi

REPORT_CHARACTERS: Final = 4000
"""Limit of one failed check's report; a log belongs on its own page."""

GOOD_CONCLUSIONS: Final = frozenset({None, "success", "neutral", "skipped"})
STATUS_CONCLUSIONS: Final = {"SUCCESS": "success", "FAILURE": "failure", "ERROR": "failure"}
SKIP_CI_PATTERN: Final = pattern(
    r"\[(?:skip ci|ci skip|no ci|skip actions|actions skip)\]|^skip-checks: *true *$", re.IGNORECASE | re.MULTILINE
)
"""Commit texts that skip workflows (GitHub's docs, "Skipping workflow runs") or check suites ("Skipping and requesting
checks").
"""

ACTIONS_SLUG: Final = "github-actions"
BASE_EVENT: Final = "pull_request_target"
"""The event of workflows that a commit message can't skip: they belong to the base branch and don't test the head."""

NOT_STARTED: Final = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class OwnChecks:
    """Which checks are Assay's own. Without an App id only the name identifies them."""

    app_id: int | None

    def is_own(self, context: GraphContext) -> bool:
        if context.kind == "StatusContext":
            return context.context == CHECK_NAME
        if self.app_id is None or context.app_slug is None:
            return context.name == CHECK_NAME
        return context.app_id == self.app_id


@dataclass(frozen=True, slots=True)
class CiContext:
    """Facts about a head's CI besides its reports.

    `required`: check names that the base branch requires. `ignored`: check names that are no evidence.
    `held_workflows`: workflows that wait for approval. `skip_words`: the text with which the head commit's author
    skipped CI, if there is CI to skip.
    """

    required: tuple[str, ...] = ()
    ignored: frozenset[str] = frozenset()
    held_workflows: tuple[str, ...] = ()
    skip_words: str | None = None


def read_ci_context(pull: GraphPull) -> CiContext:
    """Read a pull request's CI context from GitHub's answer."""
    required = tuple(dict.fromkeys(required_checks(pull.base_ref))) if pull.base_ref else ()
    # A suite that GitHub created without a run waits for approval.
    held = dict.fromkeys(
        suite.workflow or suite.app_slug or "a workflow"
        for suite in (pull.tip_suites.visible_nodes if pull.tip_suites else ())
        if suite.conclusion == "ACTION_REQUIRED" and not suite.run_count
    )
    messages = (commit.message for commit in pull.commits.visible_nodes if commit.oid == pull.head_ref_oid)
    # a repository without CI has nothing to skip
    has_ci = bool(set(required) - {CHECK_NAME}) or (pull.base_ref is not None and pull.base_ref.report_count > 0)
    match = SKIP_CI_PATTERN.search(next(messages, "")) if has_ci else None
    return CiContext(required, held_workflows=tuple(held), skip_words=match[0].strip() if match else None)


def required_checks(base: RuledRefResponse) -> Iterator[str]:
    """Checks that branch protection and rulesets require: neither lists the other's."""
    yield from (name for name in base.protected_contexts or () if name)
    for rule in base.rules.visible_nodes if base.rules else ():
        yield from (check.name for check in rule.required_status_checks)


@dataclass(frozen=True)
class CiCheckReport:
    """One check's report. `page`: URL of its full text. `is_workflow`: whether a commit message could have skipped it."""

    check: CiCheck
    page: str = ""
    is_workflow: bool = False


def ci_of(contexts: Iterable[GraphContext], ourselves: OwnChecks, around: CiContext) -> Ci:
    """CI of one head, required checks first."""
    return ci_from(reports_of(contexts, ourselves, around), around)


def reports_of(contexts: Iterable[GraphContext], ourselves: OwnChecks, around: CiContext) -> list[CiCheckReport]:
    """Reports of the checks, required ones first."""
    groups: dict[tuple[str, ...], list[GraphContext]] = {}
    for context in contexts:
        if not ourselves.is_own(context):
            # What a re-run shares with the run before it: two workflows may each have a job called `build`.
            identity = (context.kind, context.app_slug or "", context.workflow, context.name or context.context or "")
            groups.setdefault(identity, []).append(context)
    reports = [
        replace(report, check=report.check.model_copy(update={"required": True}))
        if report.check.name in around.required
        else report
        for runs in groups.values()
        if (report := _to_report(runs)).check.name not in around.ignored
    ]
    names = {report.check.name for report in reports} | {CHECK_NAME} | around.ignored
    awaited = [name for name in dict.fromkeys(around.required) if name not in names]
    reports += [
        CiCheckReport(CiCheck(name=name, status=NOT_REPORTED, conclusion=None, required=True)) for name in awaited
    ]
    reports += [
        CiCheckReport(CiCheck(name=name, status=AWAITING_APPROVAL, conclusion=None)) for name in around.held_workflows
    ]
    return sorted(reports, key=lambda report: report.check.required is not True)


def ci_from(reports: Sequence[CiCheckReport], around: CiContext) -> Ci:
    checks = tuple(report.check for report in reports)
    # CI ran despite a skip text if a workflow ran, or all required checks: Apps of others report anyway.
    done = [report for report in reports if report.check.conclusion is not None]
    required = set(around.required) - {CHECK_NAME} - around.ignored
    is_all_there = bool(required) and required <= {report.check.name for report in done}
    did_run = is_all_there or any(report.is_workflow for report in done)
    silenced = None if did_run else around.skip_words
    return Ci(checks=checks, silenced=silenced) if checks else Ci(state=CiState.MISSING, silenced=silenced)


def _to_report(runs: Sequence[GraphContext]) -> CiCheckReport:
    newest = max(enumerate(runs), key=lambda indexed: (indexed[1].started_at or NOT_STARTED, indexed[0]))[1]
    if newest.kind == "StatusContext":
        return CiCheckReport(_of_status(newest))
    is_workflow = newest.app_slug == ACTIONS_SLUG and newest.event != BASE_EVENT
    return CiCheckReport(_of_run(newest, len(runs)), newest.details_url or "", is_workflow)


def _of_run(newest: GraphContext, attempt: int) -> CiCheck:
    conclusion = newest.conclusion.lower() if newest.status == "COMPLETED" and newest.conclusion else None
    return CiCheck(
        name=newest.name or "",
        app=newest.app_slug,
        status=(newest.status or "queued").lower(),
        conclusion=conclusion,
        required=newest.is_required,
        attempt=attempt,
        summary="" if conclusion in GOOD_CONCLUSIONS else _report(newest),
    )


def _of_status(context: GraphContext) -> CiCheck:
    conclusion = STATUS_CONCLUSIONS.get(context.state or "")
    return CiCheck(
        name=context.context or "",
        status="completed" if conclusion else (context.state or "pending").lower(),
        conclusion=conclusion,
        required=context.is_required,
        summary="" if conclusion in GOOD_CONCLUSIONS else _cut_report(context.description or ""),
    )


def _report(run: GraphContext) -> str:
    notes = run.annotations.visible_nodes if run.annotations else ()
    parts = [run.title or "", run.summary or ""]
    for note in notes:
        location = note.path if note.line is None else f"{note.path}:{note.line}"
        parts.append(f"{location}: {': '.join(text for text in (note.title, note.message) if text)}")
    return _cut_report("\n".join(part.strip() for part in parts if part.strip()))


def _cut_report(text: str) -> str:
    return text if len(text) <= REPORT_CHARACTERS else f"{text[:REPORT_CHARACTERS]} …"


MOST_LOGS: Final = 2
"""Each is a request; the first failures are usually the first to fix."""
MOST_READ: Final = 8 * 1024 * 1024
MOST_KEPT: Final = 64 * 1024
TAIL_CHARACTERS: Final = 4000

ERROR_MARK: Final = "##[error]"
"""Prefix of a line that reports a failed step. Lines after the last such one are cleanup of GitHub Actions."""

JOB_URL: Final = pattern(r"/actions/runs/\d+/job/(\d+)(?:[?#].*)?$")
"""End of a check run's URL that names a job of GitHub Actions."""
TIMESTAMP: Final = pattern(r"^\ufeff?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z ")


@dataclass(frozen=True, slots=True)
class JobLogs:
    """Logs of one repository's jobs."""

    api: GitHubApi
    repository: RepositoryName

    def tail(self, job: str) -> str:
        """Last lines of a job's log, without colours and times; "" for an unavailable log."""
        path = f"/repos/{self.repository}/actions/jobs/{job}/logs"
        try:
            raw = self.api.tail(path, MOST_READ, MOST_KEPT)
        except RateLimited:
            raise
        except AssayError:  # any error: logs may be stored outside GitHub
            return ""
        return last_lines(raw.decode("utf-8", "replace"))


def last_lines(log: str) -> str:
    """End of a log, in whole lines, without the cleanup after its last error."""
    lines = [TIMESTAMP.sub("", without_ansi(line)).rstrip() for line in log.splitlines()]
    last = max((at for at, line in enumerate(lines) if line.startswith(ERROR_MARK)), default=len(lines))
    text = "\n".join(line for line in lines[: last + 1] if line)
    if len(text) <= TAIL_CHARACTERS:
        return text
    return text[-TAIL_CHARACTERS:].partition("\n")[2]


def add_logs(reports: Sequence[CiCheckReport], logs: JobLogs) -> list[CiCheckReport]:
    """Add the ends of their own logs to the first failed checks that are jobs."""
    jobs = [
        (at, JOB_URL.search(report.page))
        for at, report in enumerate(reports)
        if report.check.conclusion in FAILED_CONCLUSIONS
    ]
    with_logs = [*reports]
    for at, job in [(at, job) for at, job in jobs if job][:MOST_LOGS]:
        check = reports[at].check.model_copy(update={"log_tail": logs.tail(job[1])})
        with_logs[at] = replace(reports[at], check=check)
    return with_logs
