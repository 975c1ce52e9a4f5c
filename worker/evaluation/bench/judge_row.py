"""One row judged: its verdict, and what the report needs to know of its dossier.

Does not read files and keeps no ledger. Invariant: a dossier is judged exactly as `assay judge --dossier` would, but
for the subject's kind and the row's `evaluate` block, which only adds signals.
"""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from worker.domain.dossier.dossier import Dossier
from worker.domain.ids import DeliveryId
from worker.domain.model import Frozen
from worker.domain.ports import Clock
from worker.domain.request.judge_request import LOCAL_INSTALLATION, JudgeRequest, PullRef, Trigger
from worker.domain.verdict.verdict import Abstain, Accept, EvidencePointer, Reject, Subject, SubjectKind
from worker.dossier.assemble import complete_dossier
from worker.dossier.diff.parser import DiffError
from worker.evaluation.bench.opportunities import opportunities_of
from worker.evaluation.bench.rows import BenchRow
from worker.evaluation.evaluate_block import evaluate_response
from worker.judge.checks.evidence import Places
from worker.judge.context import JudgeContext
from worker.judge.judge import create_header, judge
from worker.signals.analysis.change import CodeChange
from worker.signals.signal import SignalScope

OTHER_LANGUAGE: Final = "other"
_COUNTED_AS: Final = {"javascript": "typescript", "tsx": "typescript"}
"""Languages that are reported as one."""


class RowTraits(Frozen):
    """What the report counts a row by. `bytes` and `lines` are the diff's size; `ms` what judging it took."""

    id: str
    file: str
    repository: str
    language: str
    whole_files: bool
    bytes: int
    lines: int
    ms: float
    looks: tuple[SignalScope, ...] = ()
    pointers: int = 0
    pointers_wrong: tuple[str, ...] = ()


def judge_row(
    row: BenchRow, file: str, bench: JudgeContext, clock: Clock
) -> tuple[Accept | Reject | Abstain, RowTraits]:
    """Judge one row. Raises nothing but for a bug."""
    dossier = complete_dossier(row.dossier)
    request = request_of(dossier, clock)
    started = time.perf_counter()
    verdict = judge(dossier, create_header(request, dossier, bench, clock), bench)
    spent = (time.perf_counter() - started) * 1000
    verdict = verdict.model_copy(update={"subject": _as_benchmark(verdict.subject)})
    if row.evaluate is not None:
        result = evaluate_response(verdict.score, row.evaluate, dossier.case.summary if dossier.case else None)
        verdict = verdict.model_copy(update={"signals": {**verdict.signals, **result.signals}})
    return verdict, _traits(row.id, file, dossier, verdict, spent)


def request_of(dossier: Dossier, clock: Clock) -> JudgeRequest:
    pull = dossier.pull_request
    return JudgeRequest(
        pull=PullRef.model_validate({"installation_id": LOCAL_INSTALLATION, "repository_id": 0, "number": pull.number}),
        repository=pull.repository,
        head_sha=None,
        trigger=Trigger.LOCAL,
        delivery_id=DeliveryId("bench"),
        requested_at=clock.now(),
    )


def _as_benchmark(subject: Subject) -> Subject:
    return subject.model_copy(update={"kind": SubjectKind.BENCHMARK})


def _traits(row: str, file: str, dossier: Dossier, verdict: Accept | Reject | Abstain, ms: float) -> RowTraits:
    with suppress(DiffError):
        return _traits_of_diff(row, file, dossier, verdict, ms)
    return _traits_of_diff(row, file, dossier.model_copy(update={"diff": ""}), verdict, ms)


def _traits_of_diff(row: str, file: str, dossier: Dossier, verdict: Accept | Reject | Abstain, ms: float) -> RowTraits:
    change, places, shown = CodeChange(dossier), Places(dossier), tuple(_pointers(verdict))
    return RowTraits(
        id=row,
        file=file,
        repository=dossier.pull_request.repository,
        language=_language(change),
        whole_files=dossier.files is not None,
        bytes=len(dossier.diff.encode(errors="surrogatepass")),
        lines=sum(len(file.diff.added_lines) + len(file.diff.removed_lines) for file in change.files),
        ms=round(ms, 3),
        looks=tuple(sorted(opportunities_of(change))),
        pointers=len(shown),
        pointers_wrong=tuple(pointer.location for pointer in shown if not _is_true_pointer(pointer, places)),
    )


def _language(change: CodeChange) -> str:
    """The language of most changed lines of code."""
    counts: Counter[str] = Counter()
    for file in change.files:
        if file.language is not None:
            name = file.language.value
            counts[_COUNTED_AS.get(name, name)] += len(file.diff.added_lines) + len(file.diff.removed_lines)
    return counts.most_common(1)[0][0] if counts else OTHER_LANGUAGE


def _pointers(verdict: Accept | Reject | Abstain) -> Iterator[EvidencePointer]:
    """Every place that the verdict names, its findings' too."""
    yield from verdict.evidence
    yield from (pointer for criterion in verdict.criteria for pointer in criterion.evidence)
    for finding in verdict.findings:
        if finding.path is not None:
            yield EvidencePointer(path=finding.path, line=finding.line, end_line=finding.end_line, side=finding.side)


def _is_true_pointer(pointer: EvidencePointer, places: Places) -> bool:
    """Whether the place exists and, where the line is quoted, reads so; of what was redacted, what was sent of it."""
    checked = places.check(pointer)
    reads = isinstance(checked, EvidencePointer) and pointer.quote in {None, checked.quote}
    return reads or places.relocate(pointer) == pointer
