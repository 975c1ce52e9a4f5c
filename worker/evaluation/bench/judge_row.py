"""Judge one row of a bench: its verdict, and the traits that the report counts it by.

A dossier is judged exactly as `assay judge --dossier` would judge it, but for the subject's kind and the row's `evaluate`
block, which only adds signals.
"""

import time
from collections import Counter
from contextlib import suppress
from typing import Final

from worker.domain.dossier import Dossier
from worker.domain.ids import DeliveryId
from worker.domain.judge_request import LOCAL_INSTALLATION, JudgeRequest, PullRef, Trigger
from worker.domain.ports import Clock
from worker.domain.verdict.verdict import Abstain, Accept, EvidencePointer, Reject, SubjectKind
from worker.dossier.assemble import complete_dossier
from worker.dossier.diff.parser import DiffError
from worker.evaluation.bench.rows import BenchRow, RowTraits
from worker.evaluation.evaluate_block import evaluate_response
from worker.judge.checks.evidence import Places
from worker.judge.context import JudgeContext
from worker.judge.judge import create_header, judge
from worker.signals.analysis.change import CodeChange
from worker.signals.signal import find_scopes

OTHER_LANGUAGE: Final = "other"
COUNTED_AS: Final = {"javascript": "typescript", "tsx": "typescript"}
"""Languages that are reported as one."""


def judge_row(
    row: BenchRow, file: str, bench: JudgeContext, clock: Clock
) -> tuple[Accept | Reject | Abstain, RowTraits]:
    """Judge one row of *file*. An exception is a bug."""
    dossier = complete_dossier(row.dossier)
    request = request_of(dossier, clock)
    started = time.perf_counter()
    verdict = judge(dossier, create_header(request, dossier, bench, clock), bench)
    spent = (time.perf_counter() - started) * 1000
    subject = verdict.subject.model_copy(update={"kind": SubjectKind.BENCHMARK})
    verdict = verdict.model_copy(update={"subject": subject})
    if row.evaluate is not None:
        result = evaluate_response(verdict.score, row.evaluate, dossier.case.summary if dossier.case else None)
        verdict = verdict.model_copy(update={"signals": {**verdict.signals, **result.signals}})
    with suppress(DiffError):
        return verdict, _traits(row.id, file, dossier, verdict, spent)
    return verdict, _traits(row.id, file, dossier.model_copy(update={"diff": ""}), verdict, spent)


def request_of(dossier: Dossier, clock: Clock) -> JudgeRequest:
    """A request that no delivery made."""
    pull = dossier.pull_request
    return JudgeRequest(
        pull=PullRef.model_validate({"installation_id": LOCAL_INSTALLATION, "repository_id": 0, "number": pull.number}),
        repository=pull.repository,
        head_sha=None,
        trigger=Trigger.LOCAL,
        delivery_id=DeliveryId("bench"),
        requested_at=clock.now(),
    )


def _traits(row: str, file: str, dossier: Dossier, verdict: Accept | Reject | Abstain, ms: float) -> RowTraits:
    """Raises DiffError."""
    change, places = CodeChange(dossier), Places(dossier)
    pointers = (  # every location that the verdict names, its findings' included
        *verdict.evidence,
        *(pointer for criterion in verdict.criteria for pointer in criterion.evidence),
        *(
            EvidencePointer(path=finding.path, line=finding.line, end_line=finding.end_line, side=finding.side)
            for finding in verdict.findings
            if finding.path is not None
        ),
    )
    lines: Counter[str] = Counter()
    for changed in change.files:
        language = changed.language.value if changed.language is not None else ""
        lines[COUNTED_AS.get(language, language)] += len(changed.diff.added_lines) + len(changed.diff.removed_lines)
    return RowTraits(
        id=row,
        file=file,
        repository=dossier.pull_request.repository,
        language=next((name for name, _ in lines.most_common() if name), OTHER_LANGUAGE),
        whole_files=dossier.files is not None,
        bytes=len(dossier.diff.encode(errors="surrogatepass")),
        lines=lines.total(),
        ms=round(ms, 3),
        looks=tuple(sorted(find_scopes(change))),
        pointers=len(pointers),
        pointers_wrong=tuple(pointer.location for pointer in pointers if not _is_true(pointer, places)),
    )


def _is_true(pointer: EvidencePointer, places: Places) -> bool:
    """Whether the location exists and, where its line is quoted, reads so; of redacted text, as it was sent."""
    checked = places.check(pointer)
    reads = isinstance(checked, EvidencePointer) and pointer.quote in {None, checked.quote}
    return reads or places.relocate(pointer) == pointer
