"""Checks on GitHub: what CI and others report of a head, and this App's own check runs.

CI is evidence in the dossier: check runs, commit statuses, and the logs of failed jobs. Assay's own check is no evidence, and a re-run
replaces the earlier run. A required check without a report is pending. A workflow that waits for a maintainer's approval, or that the
author's commit message skipped, counts as not run.

Each head of a pull request has one check run of this App, even if responses get lost: a retry searches before it creates, and a duplicate is
concluded. An annotation that GitHub already shows is not added again. Each request checks the fence right before it is sent.
"""

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from worker.adapters.github.client import ApiCall, GitHubAccess, GitHubApi, GitHubPart, retry_transient
from worker.adapters.github.errors_and_rate_limits import GitHubBadRequest, RequestPriority
from worker.adapters.github.pull_request_query import MEMBER_FRAGMENT, GroupMemberResponse, OwnRunResponse
from worker.adapters.github.responses import (
    CheckRunResponse,
    CheckRunsPage,
    CreatedRunResponse,
    GraphContext,
    GraphPull,
    GraphResponse,
    Page,
    RepositoriesQueryResponse,
    RestResponse,
    RuledRefResponse,
)
from worker.domain.check.check_run import (
    CHECK_NAME,
    TOOL_NAME,
    Annotation,
    CheckContent,
    Conclusion,
    UploadRefusal,
    classify_refusal,
    external_id,
    ref_of,
)
from worker.domain.dossier import AWAITING_APPROVAL, FAILED_CONCLUSIONS, NOT_REPORTED, Ci, CiCheck, CiState
from worker.domain.judge_request import JudgeRequest, PullRef
from worker.domain.model import CheckRunId, InstallationId, RepositoryName, Sha
from worker.domain.pattern import pattern
from worker.domain.ports import Fence
from worker.errors import AssayError, Forbidden, RateLimited, SubjectGone, Unavailable
from worker.judge.checks.ci_status import without_ansi
from worker.judge.merge_group import PublishedCheckRun
from worker.publishing.texts.check_run import check_text

LOG: Final = logging.getLogger(__name__)
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
        summary="" if conclusion in GOOD_CONCLUSIONS else _failure_report(newest),
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


def _failure_report(run: GraphContext) -> str:
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


ANNOTATIONS_PER_REQUEST: Final = 50
PER_PAGE: Final = 100
MOST_ANNOTATION_PAGES: Final = 10
UPDATE_ATTEMPTS: Final = 2
CONCLUSIONS: Final = frozenset(Conclusion)
"""Conclusions that Assay publishes. GitHub's own `stale` (open for two weeks) is none of them."""


class AnnotationResponse(RestResponse):
    """An annotation that the check run already has."""

    path: str
    start_line: int
    end_line: int
    annotation_level: str | None = None
    title: str | None = None
    message: str | None = None


class GitHubChecks:
    """The CheckPublisher of the live App, whose App id is `app_id`. *external*: prefix of its runs' external ids."""

    def __init__(self, access: GitHubAccess, app_id: int, external: Callable[[int], str] = external_id) -> None:
        self._access = access
        self._app_id = app_id
        self._external = external

    def with_fence(self, fence: Fence) -> "GitHubCheckRuns":
        return GitHubCheckRuns(self._access, self._app_id, self._external, fence)


class GitHubCheckRuns:
    """The CheckRuns of the live App, written under a fence."""

    def __init__(self, access: GitHubAccess, app_id: int, external: Callable[[int], str], fence: Fence) -> None:
        self._access = access
        self._app_id = app_id
        self._external = external
        self._fence = fence

    def create(self, request: JudgeRequest, head_sha: Sha, content: CheckContent) -> CheckRunId:
        """Create the check run of this head, or update the existing one unless *content* gives way to it."""
        if (run := self._newest(request, head_sha)) is None:
            return self.create_first(request, head_sha, content)
        check = CheckRunId(run.id)
        if not (content.gives_way and run.conclusion in CONCLUSIONS):
            self.update(request, check, content)
        return check

    def create_first(self, request: JudgeRequest, head_sha: Sha, content: CheckContent) -> CheckRunId:
        """Create it without a search: one request."""
        try:
            created = self._create(request, head_sha, content)
        except RateLimited:
            raise
        except Unavailable:
            # The response is lost, but the check run may exist.
            if (run := self.find(request, head_sha)) is None:
                raise
            created = run
        if len(content.annotations) > ANNOTATIONS_PER_REQUEST:
            self.update(request, created, content)
        return created

    def update(self, request: JudgeRequest, check: CheckRunId, content: CheckContent) -> None:
        """Write content to a check run. Idempotent."""
        retry_transient(lambda: self._update(request, check, content), UPDATE_ATTEMPTS)

    def find(self, request: JudgeRequest, head_sha: Sha) -> CheckRunId | None:
        """Find this App's newest check run of this head and pull request."""
        run = self._newest(request, head_sha)
        return CheckRunId(run.id) if run else None

    def _newest(self, request: JudgeRequest, head_sha: Sha) -> CheckRunResponse | None:
        path = f"/repos/{request.repository}/commits/{head_sha}/check-runs"
        params: dict[str, str | int] = {
            "check_name": CHECK_NAME,
            "app_id": self._app_id,  # another App can create enough runs of this name to fill a page
            "filter": "all",
            "per_page": PER_PAGE,
        }
        runs = self._api(request).fetch(
            ApiCall("GET", path, params, is_repeatable=True, need=RequestPriority.STATE), CheckRunsPage
        )
        ours = self._external(request.pull.number)
        mine = [run for run in runs.check_runs if run.external_id == ours and run.app_id == self._app_id]
        mine.sort(key=lambda run: run.id)
        for older in mine[:-1]:
            if older.status != "completed":
                # A process created it after a long pause: GitHub and Assay use the newest.
                from worker.publishing.texts.states import duplicate_content  # noqa: PLC0415 - rarely needed

                self.update(request, CheckRunId(older.id), duplicate_content())
        return mine[-1] if mine else None

    def _create(self, request: JudgeRequest, head_sha: Sha, content: CheckContent) -> CheckRunId:
        many = len(content.annotations) > ANNOTATIONS_PER_REQUEST
        state = {"status": "in_progress"} if many else check_run_state(content)
        body = {
            "name": CHECK_NAME,
            "head_sha": head_sha,
            "external_id": self._external(request.pull.number),
            **state,
            "output": check_run_output(content, () if many else content.annotations),
        }
        path = f"/repos/{request.repository}/check-runs"
        call = ApiCall("POST", path, body=body, need=RequestPriority.STATE, fence=self._fence)
        return CheckRunId(self._api(request).fetch(call, CreatedRunResponse).id)

    def _update(self, request: JudgeRequest, check: CheckRunId, content: CheckContent) -> None:
        path = f"/repos/{request.repository}/check-runs/{check}"
        missing = self._missing_annotations(request, path, content.annotations)
        while len(missing) > ANNOTATIONS_PER_REQUEST:
            self._patch(request, path, {"output": check_run_output(content, missing[:ANNOTATIONS_PER_REQUEST])})
            missing = missing[ANNOTATIONS_PER_REQUEST:]
        self._patch(request, path, {**check_run_state(content), "output": check_run_output(content, missing)})

    def _patch(self, request: JudgeRequest, path: str, body: dict[str, object]) -> None:
        self._api(request).fetch(
            ApiCall("PATCH", path, body=body, need=RequestPriority.STATE, fence=self._fence), CreatedRunResponse
        )

    def _missing_annotations(
        self, request: JudgeRequest, path: str, wanted: Sequence[Annotation]
    ) -> Sequence[Annotation]:
        """Annotations that the check run lacks: an update only adds."""
        if not wanted:
            return ()
        shown: set[tuple[object, ...]] = set()
        for page in range(1, MOST_ANNOTATION_PAGES + 1):
            notes = (
                self._api(request)
                .get(f"{path}/annotations", Page[AnnotationResponse], per_page=PER_PAGE, page=page)
                .root
            )
            shown |= {
                _key(note.path, note.start_line, note.annotation_level or "", note.title or "", note.message or "")
                for note in notes
            }
            if len(notes) < PER_PAGE:
                break
        return [
            note
            for note in wanted
            if _key(note.path, note.start_line, note.level.value, note.title, note.message) not in shown
        ]

    def _api(self, request: JudgeRequest) -> GitHubApi:
        return self._access.api(request.pull.installation_id)


def check_run_state(content: CheckContent) -> dict[str, object]:
    """Status and conclusion. Buttons come with the conclusion: before it there is no verdict to react to."""
    if content.conclusion is None:
        return {"status": "queued" if content.is_queued else "in_progress"}
    buttons = [
        {"label": button.label, "identifier": button.identifier, "description": button.description}
        for button in content.buttons
    ]
    return {"status": "completed", "conclusion": content.conclusion.value, **({"actions": buttons} if buttons else {})}


def check_run_output(content: CheckContent, annotations: Sequence[Annotation]) -> dict[str, object]:
    """The output block. `text` is always sent, to replace an earlier one."""
    block: dict[str, object] = {"title": content.title, "summary": content.summary, "text": check_text(content)}
    if annotations:
        block["annotations"] = [
            {
                "path": annotation.path,
                "start_line": annotation.start_line,
                "end_line": annotation.end_line,
                "annotation_level": annotation.level.value,
                "title": annotation.title,
                "message": annotation.message,
            }
            for annotation in annotations
        ]
    return block


def _key(path: str, line: int, level: str, *texts: str) -> tuple[object, ...]:
    return (path, line, level, *(text.strip() for text in texts))


PULLS_PER_QUERY: Final = 100
"""Costs 12 of GitHub's 5,000 points an hour."""


class OwnRunsResponse(GraphResponse):
    pull_request: GroupMemberResponse | None = None


class GitHubPublishedRuns:
    """Reads check runs of the live App, whose App id is `app_id`. Raises as PullSource does."""

    def __init__(self, access: GitHubAccess, app_id: int) -> None:
        self._access = access
        self._app_id = app_id

    def newest_runs(
        self, installation: InstallationId, asked: Sequence[JudgeRequest]
    ) -> list[PublishedCheckRun | None]:
        """This App's newest run for each pull request on this head; None: no run, or GitHub has another head."""
        api, runs = self._access.api(installation), list[PublishedCheckRun | None]()
        for start in range(0, len(asked), PULLS_PER_QUERY):
            runs += self._some(api, asked[start : start + PULLS_PER_QUERY])
        return runs

    def _some(self, api: GitHubApi, asked: Sequence[JudgeRequest]) -> list[PublishedCheckRun | None]:
        parameters, fields = ["$app: Int!", "$check: String!"], list[str]()
        variables: dict[str, object] = {"app": self._app_id, "check": CHECK_NAME}
        for at, request in enumerate(asked):
            owner, _, name = request.repository.partition("/")
            variables |= {f"owner_{at}": owner, f"name_{at}": name, f"number_{at}": request.pull.number}
            parameters += [f"$owner_{at}: String!", f"$name_{at}: String!", f"$number_{at}: Int!"]
            fields.append(
                f"pull_{at}: repository(owner: $owner_{at}, name: $name_{at}) "
                f"{{ pullRequest(number: $number_{at}) {{ ...member }} }}"
            )
        document = f"query AssayShown({', '.join(parameters)}) {{ {' '.join(fields)} }}{MEMBER_FRAGMENT}"
        answer = api.query(document, variables, RepositoriesQueryResponse, RequestPriority.SWEEP).model_extra or {}
        runs = list[PublishedCheckRun | None]()
        for at, request in enumerate(asked):
            pull = OwnRunsResponse.model_validate(answer.get(f"pull_{at}") or {}).pull_request
            if pull is None or pull.head_ref_oid != request.head_sha:
                runs.append(None)
            else:
                runs.append(newest_published(pull.own_runs() or (), request.pull.number))
        return runs


def newest_published(runs: Sequence[OwnRunResponse], number: int) -> PublishedCheckRun | None:
    """The newest run of this pull request. Raises ValueError for a run whose URL does not end in its id."""
    published = (
        PublishedCheckRun(
            CheckRunId(int(run.url.partition("?")[0].rpartition("/")[2])),
            run.conclusion.lower() if run.status == "COMPLETED" and run.conclusion else None,
            run.title or "",
        )
        for run in runs
        if run.external_id == external_id(number)
    )
    return max(published, key=lambda run: run.check, default=None)


class GitHubScans(GitHubPart):
    """The Scans of `worker.publishing.follow_ups`.

    Skipped when few requests are left, since judging needs them. Raises Gone for a removed App or head.
    """

    def upload(self, pull: PullRef, repository: RepositoryName, head_sha: Sha, sarif: str) -> UploadRefusal | None:
        body = {"commit_sha": head_sha, "ref": ref_of(pull), "sarif": sarif, "tool_name": TOOL_NAME}
        call = ApiCall("POST", f"/repos/{repository}/code-scanning/sarifs", body=body, need=RequestPriority.SWEEP)
        try:
            self._access.api(pull.installation_id).fetch(call, RestResponse)
        except Forbidden as refused:
            return classify_refusal(str(refused))
        except SubjectGone as gone:
            if gone.reason != "deleted":  # a removed App has no page to report to
                raise
            return UploadRefusal.NOT_FOUND
        except GitHubBadRequest as refused:
            LOG.warning("SARIF refused by GitHub: %s", refused, extra={"repository": repository})
            return UploadRefusal.NOT_TAKEN
        return None
