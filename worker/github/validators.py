"""Check runs and commit statuses of a head, as the dossier's CI evidence.

Does not fetch, and does not say what they mean together (`worker.assemble` does). Invariant: our own check is no
evidence, a re-run replaces the run before it, and a required check that has not reported is there as pending.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from worker.domain.check import CHECK_NAME
from worker.domain.dossier import Ci, CiCheck, CiState
from worker.github.replies import CheckNote, GraphContext

REPORT_CHARACTERS: Final = 4000
"""Of one failing check's report; a log belongs to its own page."""

GOOD: Final = frozenset({None, "success", "neutral", "skipped"})
STATUS_CONCLUSIONS: Final = {"SUCCESS": "success", "FAILURE": "failure", "ERROR": "failure"}
NOT_STARTED: Final = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Ourselves:
    """Which checks are Assay's own. Without an App id only the name can tell."""

    app_id: int | None

    def wrote(self, context: GraphContext) -> bool:
        if context.kind == "StatusContext":
            return context.context == CHECK_NAME
        app = context.check_suite.app if context.check_suite else None
        if self.app_id is None or app is None:
            return context.name == CHECK_NAME
        return app.database_id == self.app_id


def ci_of(contexts: Iterable[GraphContext], required: Iterable[str], ourselves: Ourselves) -> Ci:
    """The validators of one head. `required` are the names that the base branch requires."""
    groups: dict[tuple[str, ...], list[GraphContext]] = {}
    for context in contexts:
        if not ourselves.wrote(context):
            groups.setdefault(_identity(context), []).append(context)
    checks = [_check(runs) for runs in groups.values()]
    names = {check.name for check in checks} | {CHECK_NAME}
    awaited = [name for name in dict.fromkeys(required) if name not in names]
    checks += [CiCheck(name=name, status="expected", conclusion=None, required=True) for name in awaited]
    return Ci(checks=tuple(checks)) if checks else Ci(state=CiState.MISSING, checks=())


def _identity(context: GraphContext) -> tuple[str, ...]:
    """What a re-run shares with the run before it. Two workflows may each have a job called `build`."""
    suite = context.check_suite
    app = suite.app.slug if suite and suite.app else ""
    workflow = suite.workflow_run.workflow.name if suite and suite.workflow_run else ""
    return (context.kind, app, workflow, context.name or context.context or "")


def _check(runs: Sequence[GraphContext]) -> CiCheck:
    newest = max(enumerate(runs), key=lambda one: (one[1].started_at or NOT_STARTED, one[0]))[1]
    if newest.kind == "StatusContext":
        return _of_status(newest)
    conclusion = newest.conclusion.lower() if newest.status == "COMPLETED" and newest.conclusion else None
    return CiCheck(
        name=newest.name or "",
        app=newest.check_suite.app.slug if newest.check_suite and newest.check_suite.app else None,
        status=(newest.status or "queued").lower(),
        conclusion=conclusion,
        required=newest.is_required,
        attempt=len(runs),
        summary="" if conclusion in GOOD else _report(newest),
    )


def _of_status(context: GraphContext) -> CiCheck:
    conclusion = STATUS_CONCLUSIONS.get(context.state or "")
    return CiCheck(
        name=context.context or "",
        status="completed" if conclusion else (context.state or "pending").lower(),
        conclusion=conclusion,
        required=context.is_required,
        summary="" if conclusion in GOOD else _cut(context.description or ""),
    )


def _report(run: GraphContext) -> str:
    notes = run.annotations.seen if run.annotations else ()
    parts = [run.title or "", run.summary or "", *(_note(note) for note in notes)]
    return _cut("\n".join(part.strip() for part in parts if part.strip()))


def _note(note: CheckNote) -> str:
    place = f"{note.path}:{note.location.start.line}" if note.location else note.path
    return f"{place}: {': '.join(words for words in (note.title, note.message) if words)}"


def _cut(text: str) -> str:
    return text if len(text) <= REPORT_CHARACTERS else f"{text[:REPORT_CHARACTERS]} …"
