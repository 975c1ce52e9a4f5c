"""Check runs: what the product says on GitHub.

Does not word anything (`worker.publishing.texts` does) and does not know which check belongs to which head (the registry
does). Invariant: one check run per head and pull request, whatever answers get lost: before one is created it is
searched for, whoever finds two ends the older one, and an annotation that is there already is not added again. Nothing is
written unless the fence lets it, which is asked whenever a request is about to be sent.
"""

from collections.abc import Callable, Sequence
from typing import Final

from pydantic import RootModel

from worker.adapters.github.client import Access, Api, Call, repeated
from worker.adapters.github.rate_limits import Need
from worker.adapters.github.responses import CreatedRun, Reply, Run, Runs
from worker.domain.check.check_run import CHECK_NAME, Annotation, CheckContent, Conclusion, external_id
from worker.domain.ids import CheckRunId, Sha
from worker.domain.ports import Fence
from worker.domain.request.judge_request import JudgeRequest
from worker.errors import RateLimited, Unavailable
from worker.publishing.texts.json_block import text_of

ANNOTATIONS_PER_REQUEST: Final = 50
PER_PAGE: Final = 100
MOST_PAGES: Final = 10
UPDATE_ATTEMPTS: Final = 2
CONCLUDED: Final = frozenset(Conclusion)
"""What we say at the end. GitHub's own `stale`, of one that nobody ended for two weeks, is none of it."""


class Note(Reply):
    """An annotation that a check run has already."""

    path: str
    start_line: int
    end_line: int
    annotation_level: str | None = None
    title: str | None = None
    message: str | None = None


class Notes(RootModel[tuple[Note, ...]]):
    """One page of a check run's annotations."""


class GitHubChecks:
    """The CheckPublisher of the live App, whose App id is `app_id`. *external*: what its runs are told apart by."""

    def __init__(self, access: Access, app_id: int, external: Callable[[int], str] = external_id) -> None:
        self._access = access
        self._app_id = app_id
        self._external = external

    def under(self, fence: Fence) -> "GitHubCheckRuns":
        return GitHubCheckRuns(self._access, self._app_id, self._external, fence)


class GitHubCheckRuns:
    """The CheckRuns of the live App, written under this fence."""

    def __init__(self, access: Access, app_id: int, external: Callable[[int], str], fence: Fence) -> None:
        self._access = access
        self._app_id = app_id
        self._external = external
        self._fence = fence

    def create(self, request: JudgeRequest, head_sha: Sha, content: CheckContent) -> CheckRunId:
        """Create the check run of this head, or take the one that is there: it says *content* then, unless that gives way."""
        if (found := self._newest(request, head_sha)) is None:
            return self.make(request, head_sha, content)
        check = CheckRunId(found.id)
        if not (content.gives_way and found.conclusion in CONCLUDED):
            self.update(request, check, content)
        return check

    def make(self, request: JudgeRequest, head_sha: Sha, content: CheckContent) -> CheckRunId:
        """Create it without a look before: one request."""
        try:
            created = self._create(request, head_sha, content)
        except RateLimited:
            raise
        except Unavailable:
            # The answer is lost, the check run perhaps not.
            if (found := self.find(request, head_sha)) is None:
                raise
            created = found
        if len(content.annotations) > ANNOTATIONS_PER_REQUEST:
            self.update(request, created, content)
        return created

    def update(self, request: JudgeRequest, check: CheckRunId, content: CheckContent) -> None:
        """Write content to a check run. Doing it twice leaves it as doing it once."""
        repeated(lambda: self._update(request, check, content), UPDATE_ATTEMPTS)

    def find(self, request: JudgeRequest, head_sha: Sha) -> CheckRunId | None:
        """Our newest check run of this head and this pull request."""
        found = self._newest(request, head_sha)
        return CheckRunId(found.id) if found else None

    def _newest(self, request: JudgeRequest, head_sha: Sha) -> Run | None:
        path = f"/repos/{request.repository}/commits/{head_sha}/check-runs"
        params: dict[str, str | int] = {
            "check_name": CHECK_NAME,
            "app_id": self._app_id,  # anybody who may write checks can create as many of our name as fill a page
            "filter": "all",
            "per_page": PER_PAGE,
        }
        runs = self._api(request).fetch(Call("GET", path, params, is_repeatable=True, need=Need.STATE), Runs)
        ours = self._external(request.pull.number)
        mine = [run for run in runs.check_runs if run.external_id == ours and run.app and run.app.id == self._app_id]
        mine.sort(key=lambda run: run.id)
        for older in mine[:-1]:
            if older.status != "completed":
                self._end_older(request, CheckRunId(older.id))
        return mine[-1] if mine else None

    def _end_older(self, request: JudgeRequest, check: CheckRunId) -> None:
        """Somebody was stopped for so long while he created one that another did: GitHub looks at the newest, and so do we."""
        from worker.publishing.texts.check_run import doubled  # noqa: PLC0415 - hardly anybody needs it

        self.update(request, check, doubled())

    def _create(self, request: JudgeRequest, head_sha: Sha, content: CheckContent) -> CheckRunId:
        many = len(content.annotations) > ANNOTATIONS_PER_REQUEST
        state = {"status": "in_progress"} if many else state_of(content)
        body = {
            "name": CHECK_NAME,
            "head_sha": head_sha,
            "external_id": self._external(request.pull.number),
            **state,
            "output": output(content, () if many else content.annotations),
        }
        path = f"/repos/{request.repository}/check-runs"
        call = Call("POST", path, body=body, need=Need.STATE, fence=self._fence)
        return CheckRunId(self._api(request).fetch(call, CreatedRun).id)

    def _update(self, request: JudgeRequest, check: CheckRunId, content: CheckContent) -> None:
        path = f"/repos/{request.repository}/check-runs/{check}"
        missing = self._missing(request, path, content.annotations)
        while len(missing) > ANNOTATIONS_PER_REQUEST:
            self._patch(request, path, {"output": output(content, missing[:ANNOTATIONS_PER_REQUEST])})
            missing = missing[ANNOTATIONS_PER_REQUEST:]
        self._patch(request, path, {**state_of(content), "output": output(content, missing)})

    def _patch(self, request: JudgeRequest, path: str, body: dict[str, object]) -> None:
        self._api(request).fetch(Call("PATCH", path, body=body, need=Need.STATE, fence=self._fence), CreatedRun)

    def _missing(self, request: JudgeRequest, path: str, wanted: Sequence[Annotation]) -> Sequence[Annotation]:
        """Those of the wanted annotations that the check run does not show yet: an update only ever adds."""
        if not wanted:
            return ()
        shown = {_key_of(note) for note in self._notes(self._api(request), path)}
        return [one for one in wanted if _key(one) not in shown]

    def _notes(self, api: Api, path: str) -> list[Note]:
        found: list[Note] = []
        for page in range(1, MOST_PAGES + 1):
            notes = api.get(f"{path}/annotations", Notes, per_page=PER_PAGE, page=page).root
            found += notes
            if len(notes) < PER_PAGE:
                break
        return found

    def _api(self, request: JudgeRequest) -> Api:
        return self._access.api(request.pull.installation_id)


def state_of(content: CheckContent) -> dict[str, object]:
    """The buttons go with the conclusion: nobody can say yet what they think of a verdict that is not there."""
    if content.conclusion is None:
        return {"status": "queued" if content.is_queued else "in_progress"}
    buttons = [
        {"label": one.label, "identifier": one.identifier, "description": one.description} for one in content.buttons
    ]
    return {"status": "completed", "conclusion": content.conclusion.value, **({"actions": buttons} if buttons else {})}


def output(content: CheckContent, annotations: Sequence[Annotation]) -> dict[str, object]:
    """The output block. `text` is always sent, so that an earlier one does not stay."""
    block: dict[str, object] = {"title": content.title, "summary": content.summary, "text": text_of(content)}
    if annotations:
        block["annotations"] = [_annotation(one) for one in annotations]
    return block


def _annotation(one: Annotation) -> dict[str, object]:
    return {
        "path": one.path,
        "start_line": one.start_line,
        "end_line": one.end_line,
        "annotation_level": one.level.value,
        "title": one.title,
        "message": one.message,
    }


def _key(one: Annotation) -> tuple[str, int, str, str, str]:
    return (one.path, one.start_line, one.level.value, one.title.strip(), one.message.strip())


def _key_of(note: Note) -> tuple[str, int, str, str, str]:
    words = ((note.title or "").strip(), (note.message or "").strip())
    return (note.path, note.start_line, note.annotation_level or "", *words)
