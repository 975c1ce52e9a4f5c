"""A run of a bench: judge all rows in several processes, write them down in their order, resume where a run stopped.

However a run ends, none of its processes survives it. A finished run can be recorded on the event stream. A dossier is judged
exactly as `assay judge --dossier` would judge it, but for the subject's kind and the row's `evaluate` block, which only adds signals.
"""

import hashlib
import json
import time
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import Final, NamedTuple

from worker.domain.dossier import Dossier
from worker.domain.judge_request import LOCAL_INSTALLATION, JudgeRequest, PullRef, Trigger
from worker.domain.model import DeliveryId, RepositoryId
from worker.domain.ports import Clock
from worker.domain.verdict.events import EvalTrigger, started_event, terminal_event
from worker.domain.verdict.verdict import (
    VERDICT_ADAPTER,
    Abstain,
    AbstainReason,
    Accept,
    EvidencePointer,
    Reject,
    SubjectKind,
)
from worker.dossier.assemble import complete_dossier
from worker.dossier.diff import DiffError
from worker.errors import AssayError
from worker.evaluation.bench.rows import BenchRow, RawRow, RowOutcome, RowTraits, read_lines, read_row
from worker.evaluation.bench.run_folder import RunFiles, open_run_files
from worker.evaluation.engine import Halt, WorkerOpener, run_tasks
from worker.evaluation.evaluate_block import evaluate_response
from worker.evaluation.forecast import CostMeter, Forecast, forecast_cost, with_meter
from worker.evaluation.recorded_verdicts import EventPublisher
from worker.judge.checks.evidence import Places
from worker.judge.context import JudgeContext
from worker.judge.judge import create_header, judge
from worker.process import SystemClock
from worker.scheduling.record import EventPublishing, evaluation_started
from worker.signals.analysis.change import CodeChange
from worker.signals.signal import find_scopes

LIMIT_REACHED: Final = "The limit is reached. Give a larger --max-usd to go on."
NO_REPOSITORY: Final = RepositoryId(0)
"""The repository of a bench's rows on the stream."""

NUMBER_BYTES: Final = 4
"""Bytes of the hash that is a row's pull request number on the stream."""


class NumberedRow(NamedTuple):
    """A row and its number in the run."""

    number: int
    raw: RawRow

    def __str__(self) -> str:
        return self.raw.place


RowLines = tuple[bytes, bytes]
"""A verdict and its traits, as lines of the folder's files."""


def run_bench(
    files: Sequence[Path], folder: Path, opening: WorkerOpener[NumberedRow, RowLines | Halt], jobs: int
) -> Generator[int]:
    """Judge what is not judged yet; yields how many rows the folder has, at first and after each one.

    Raises InputError where it can't go on, HaltedError where no model can be asked, and TaskFailedError. What was judged
    before stays.
    """
    with open_run_files(folder) as run_files:
        done = run_files.truncate_partial()
        yield done
        rows = islice(_number_rows(files), done, None)
        with closing(run_tasks(opening, rows, jobs, is_isolated=True)) as answers:
            yield from write_answers(run_files, done, answers)


def forecast_rows(files: Sequence[Path], total: int, context: JudgeContext, meter: CostMeter) -> Forecast:
    """What the context's model would cost for all rows of the files, *total* of them."""
    return forecast_cost(_number_rows(files), total, partial(judge_to_lines, with_meter(context, meter)), meter)


def _number_rows(files: Sequence[Path]) -> Iterator[NumberedRow]:
    return map(NumberedRow, count(), (raw for path in files for raw in read_lines(path)))


def write_answers(files: RunFiles, done: int, answers: Iterator[tuple[NumberedRow, RowLines]]) -> Generator[int]:
    """Write answers in the order of the rows, from row *done*; when stopped, also those that follow without a gap."""
    ready: dict[int, RowLines] = {}
    try:
        for row, lines in answers:
            ready[row.number] = lines
            while done in ready:
                files.append(*ready[done])
                del ready[done]
                done += 1
                yield done
    finally:  # an interrupt may have come at any of these lines
        done = files.truncate_partial()
        while done in ready:
            files.append(*ready[done])
            done += 1


def judge_to_lines(context: JudgeContext, numbered: NumberedRow) -> RowLines | Halt:
    """Judge a row that was read before: the lines to write. Any error is a bug."""
    try:
        row = read_row(numbered.raw)
        verdict, traits = judge_row(row, numbered.raw.path.name, context, SystemClock())
    except AssayError as error:
        raise RuntimeError("a row that was read before can't be judged") from error
    if context.model is not None:
        if verdict.throttled_reason is not None:
            return Halt(LIMIT_REACHED)
        if isinstance(verdict, Abstain) and verdict.abstain_reason is AbstainReason.JUDGE_UNAVAILABLE:
            return Halt(verdict.concern)
    line = b'{"id": %b, "verdict": %b}\n' % (json.dumps(row.id).encode(), VERDICT_ADAPTER.dump_json(verdict))
    return line, f"{traits.model_dump_json()}\n".encode()


def record_run(outcomes: Iterable[RowOutcome], stream: EventPublisher) -> int:
    """Publish each row's verdict as an evaluation of its own trigger, once; how many were new."""
    new = 0
    for outcome in outcomes:
        # The verdict on a subject that no other row has, the same in each run: rows may share a commit, and ids are free text
        named = hashlib.sha256(f"{outcome.traits.file}\n{outcome.traits.id}".encode()).digest()
        fields = {
            "repository_id": NO_REPOSITORY,
            "number": int.from_bytes(named[:NUMBER_BYTES]),
            "installation_id": LOCAL_INSTALLATION,
        }
        subject = outcome.verdict.subject.model_copy(update=fields)
        verdict = outcome.verdict.model_copy(update={"subject": subject})
        begun = evaluation_started(verdict, EventPublishing(EvalTrigger.BENCHMARK))
        events = started_event(begun), terminal_event(verdict, EvalTrigger.BENCHMARK)
        new += stream.publish(LOCAL_INSTALLATION, f"bench:{verdict.eval_id}", *events)
    return new


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
