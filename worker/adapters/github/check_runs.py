"""Check runs on GitHub: create, update, find and list those of this App.

Each head of a pull request has one check run, even if responses get lost: a retry searches before it creates, and a
duplicate is concluded. An annotation that GitHub already shows is not added again. Each request checks the fence right
before it is sent.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Final

from worker.adapters.github.client import ApiCall, GitHubAccess, GitHubApi, retry_transient
from worker.adapters.github.errors import GitHubBadRequest
from worker.adapters.github.installations import RepositoriesQueryResponse
from worker.adapters.github.merge_groups import newest_published
from worker.adapters.github.pull_request_query import MEMBER_FRAGMENT, GroupMemberResponse
from worker.adapters.github.rate_limits import RequestPriority
from worker.adapters.github.responses import (
    CheckRunResponse,
    CheckRunsPage,
    CreatedRunResponse,
    GraphResponse,
    Page,
    RestResponse,
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
from worker.domain.judge_request import JudgeRequest, PullRef
from worker.domain.model import CheckRunId, InstallationId, RepositoryName, Sha
from worker.domain.ports import Fence
from worker.errors import Forbidden, RateLimited, SubjectGone, Unavailable
from worker.judge.merge_group import PublishedCheckRun
from worker.publishing.texts.check_run import check_text

ANNOTATIONS_PER_REQUEST: Final = 50
PER_PAGE: Final = 100
MOST_PAGES: Final = 10
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
        for page in range(1, MOST_PAGES + 1):
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


LOG: Final = logging.getLogger(__name__)


class GitHubScans:
    """The Scans of `worker.publishing.code_scanning`.

    Skipped when few requests are left, since judging needs them. Raises Gone for a removed App or head.
    """

    def __init__(self, access: GitHubAccess) -> None:
        self._access = access

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
