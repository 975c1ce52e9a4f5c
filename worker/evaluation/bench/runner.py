"""A run of a bench: judge all rows in several processes, write them down in their order, resume where a run stopped.

However a run ends, none of its processes survives it. A finished run can be recorded on the event stream. A dossier is judged
exactly as `assay judge --dossier` would judge it, but for the subject's kind and the row's `evaluate` block, which only adds signals.

All of a run's folder was judged by one rubric, tier and code over one set of files, in the order of the files. However a run
stopped, the first *n* lines of both files are its first *n* rows. One process writes at a time. What is reserved and spent never
exceeds the limit, in however many processes and however often the run is resumed; what a killed process had reserved stays spent.
"""

import fcntl
import hashlib
import json
import os
import time
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from decimal import Decimal
from functools import partial
from importlib.metadata import version
from itertools import count, islice
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, TypedDict, cast

from pydantic import ValidationError

from worker.domain.dossier import Dossier
from worker.domain.judge_request import LOCAL_INSTALLATION, JudgeRequest, PullRef, Trigger
from worker.domain.model import DeliveryId, Frozen, RepositoryId
from worker.domain.ports import Clock
from worker.domain.verdict.budget import Bill, Cap, CapLevel, Density, Reservation, from_nano, to_nano
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
from worker.errors import AssayError, BudgetReached, InputError
from worker.evaluation.bench.rows import (
    BenchRow,
    RawRow,
    RowOutcome,
    RowSummary,
    RowTraits,
    evaluate_response,
    read_lines,
    read_row,
)
from worker.evaluation.engine import Halt, WorkerOpener, run_tasks
from worker.evaluation.forecast import CostMeter, Forecast, forecast_cost, with_meter
from worker.evaluation.recorded_verdicts import EventPublisher
from worker.judge.checks.evidence import Places
from worker.judge.context import JudgeContext
from worker.judge.judge import create_header, judge
from worker.process import SystemClock
from worker.scheduling.record import EventPublishing, evaluation_started
from worker.signals.analysis.change import CodeChange
from worker.signals.signal import find_scopes

VERDICTS_FILE: Final = "verdicts.jsonl"
TRAITS_FILE: Final = "traits.jsonl"
RUN_FILE: Final = "run.json"


class RunPlan(Frozen):
    """What a run depends on: kept in its folder, and compared before the run is resumed."""

    tier: str
    rubric: str
    prompt: str
    judges: str
    assay: str
    code: str
    files: tuple[tuple[str, str], ...]


def make_plan(files: Sequence[Path], bench: JudgeContext, tier: str) -> RunPlan:
    """What this run would depend on. Raises InputError for a file that can't be read."""
    root = Path(__file__).parent.parent.parent
    folders = (
        "dossier",
        "signals",
        "judge",
        "domain",
    )  # the judge's own source: a changed rule makes another run of it
    sources = sorted(path for folder in folders for path in (root / folder).rglob("*.py"))
    return RunPlan(
        tier=tier,
        rubric=_hash(bench.rubric.model_dump_json().encode()),
        prompt=bench.prompt.version,
        judges=bench.judges,
        assay=version("assay"),
        code=_hash(b"".join(path.read_bytes() for path in [*sources, root / "evaluation/bench/runner.py"])),
        files=tuple((path.name, _hash_file(path)) for path in files),
    )


def _hash(raw: bytes) -> str:
    return f"sha256:{hashlib.sha256(raw).hexdigest()}"


def _hash_file(path: Path) -> str:
    try:
        with path.open("rb") as opened:
            return f"sha256:{hashlib.file_digest(opened, 'sha256').hexdigest()}"
    except OSError as error:
        raise InputError(
            f"{path} can't be read: {error.strerror}. Expected JSON lines, packed with gzip or not."
        ) from error


def prepare_folder(folder: Path, plan: RunPlan) -> None:
    """Make the folder ready for this run. Raises InputError where it holds another one, or can't be written."""
    plan_file = folder / RUN_FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not plan_file.exists() and not (folder / VERDICTS_FILE).exists():
            new_file = plan_file.with_suffix(".new")
            new_file.write_text(f"{plan.model_dump_json(indent=1)}\n", encoding="utf-8")
            new_file.replace(plan_file)
    except OSError as error:
        raise InputError(f"--out {folder} can't be written: {error.strerror}.") from error
    try:
        before = RunPlan.model_validate_json(plan_file.read_bytes())
    except (OSError, ValidationError):
        before = None
    other = [name for name, now in plan if before is None or getattr(before, name) != now]
    if other:
        what = "without a record of its options" if before is None else f"with another {' and '.join(other)}"
        raise InputError(
            f"{folder} holds a run {what}. Give another folder with --out (and this one with --against, to compare "
            f"them), or delete it."
        )


class RunFiles(NamedTuple):
    """The files of verdicts and traits, open for writing."""

    verdicts: BinaryIO
    traits: BinaryIO

    def append(self, verdict: bytes, traits: bytes) -> None:
        """Write one row. What is written survives this process."""
        for file, line in ((self.verdicts, verdict), (self.traits, traits)):
            file.write(line)
            file.flush()

    def truncate_partial(self) -> int:
        """Cut off half-written rows; how many rows both files hold."""
        ends = [list(_line_ends(file)) for file in self]
        rows = min(map(len, ends)) - 1
        for file, at in zip(self, ends, strict=True):
            file.truncate(at[rows])
            file.seek(at[rows])
        return rows


def _line_ends(file: BinaryIO) -> Iterator[int]:
    """Where each whole line ends, after 0."""
    file.seek(0)
    at = 0
    yield at
    for line in file:
        if line.endswith(b"\n"):
            at += len(line)
            yield at


@contextmanager
def open_run_files(folder: Path) -> Generator[RunFiles]:
    """Open the files of a prepared folder. Raises InputError while another process has them open."""
    with _open_file(folder / VERDICTS_FILE) as verdicts, _open_file(folder / TRAITS_FILE) as traits:
        try:
            fcntl.flock(verdicts, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(f"Another `assay bench` is writing to {folder}. Wait for it, or stop it.") from error
        yield RunFiles(verdicts, traits)


def _open_file(path: Path) -> BinaryIO:
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o644), "r+b")


def read_json_lines(path: Path) -> Iterator[tuple[int, object]]:
    """The JSON lines of a file of ours, with their numbers. Raises InputError."""
    number = 0
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                yield number, json.loads(line)
    except ValueError as error:
        raise InputError(f"{path}:{number} is no line of a finished run: {error}.") from error
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror}. Expected the --out folder of a run.") from error


RUN_ACCOUNT: Final = PullRef(installation_id=LOCAL_INSTALLATION, repository_id=RepositoryId(0), number=0)
"""The account that all rows of a run are paid from."""

BUDGET_FILE: Final = "money.json"


class RunMoney(NamedTuple):
    """A run's budget file, and the most that the run may cost."""

    path: Path
    limit_usd: Decimal

    @property
    def spent_usd(self) -> Decimal:
        """What is spent or reserved."""
        with FileBudget(self).open_data() as data:
            return from_nano(data["used"])


class RunBudgetData(TypedDict):
    """Nanodollars: all that is used, and of it what each open reservation holds.

    `dense`: of each model, how many replies were counted, and the highest number of tokens in a byte.
    """

    used: int
    open: dict[str, int]
    dense: dict[str, tuple[int, str]]


class FileBudget:
    """The ModelBudget port over one file."""

    def __init__(self, money: RunMoney) -> None:
        self._money = money

    def density(self, pull: PullRef, model: str) -> Density:  # noqa: ARG002 - a run is one account
        """How dense the prompts of this run have been."""
        with self.open_data() as data:
            replies, most = data["dense"].get(model, (0, "1"))
            return Density(replies, Decimal(most))

    def reserve(self, name: str, pull: PullRef, usd: Decimal) -> Reservation:
        """Reserve money; idempotent by *name*. Raises BudgetReached."""
        wanted = to_nano(usd)
        with self.open_data() as data:
            if name not in data["open"]:
                if data["used"] + wanted > to_nano(self._money.limit_usd):
                    raise BudgetReached(CapLevel(Cap.DAY, from_nano(data["used"]), self._money.limit_usd), usd)
                data["used"] += wanted
                data["open"][name] = wanted
        return Reservation(name, pull, "", usd)

    def settle(self, reservation: Reservation, bill: Bill) -> CapLevel | None:
        """Give back what was not spent, once."""
        with self.open_data() as data:
            held = data["open"].pop(reservation.id, None)
            if held is not None and bill.usd is not None:
                data["used"] += to_nano(bill.usd) - held
            if held is not None and bill.size:
                replies, most = data["dense"].get(bill.model, (0, "0"))
                data["dense"][bill.model] = replies + 1, str(max(Decimal(most), Decimal(bill.tokens) / bill.size))
        return None

    @contextmanager
    def open_data(self) -> Generator[RunBudgetData]:
        """The file's data, locked for this process; changes are written, unless an error ends the block."""
        with os.fdopen(os.open(self._money.path, os.O_RDWR | os.O_CREAT, 0o644), "r+", encoding="ascii") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            before = file.read()
            data = cast("RunBudgetData", json.loads(before)) if before else RunBudgetData(used=0, open={}, dense={})
            yield data
            after = json.dumps(data)
            if after != before:
                file.seek(0)
                file.write(f"{after:<{len(before)}}")
                file.flush()


def read_outcomes(rows: Sequence[RowSummary], folder: Path) -> tuple[RowOutcome, ...]:
    """A finished run and what its rows expected. Raises InputError where the two do not fit together."""
    verdicts, traits = read_json_lines(folder / VERDICTS_FILE), read_json_lines(folder / TRAITS_FILE)
    outcomes = list[RowOutcome]()
    try:
        for row, (_, judged), (_, measured) in zip(rows, verdicts, traits, strict=True):
            line, measures = cast("dict[str, object]", judged), RowTraits.model_validate(measured, strict=False)
            if not row.id == measures.id == line["id"]:
                raise ValueError(f"where {row.id} is expected, {measures.id} stands")  # noqa: TRY301 - named with the folder
            outcomes.append(RowOutcome(row.expect, measures, VERDICT_ADAPTER.validate_python(line["verdict"])))
    except ValueError as error:
        raise InputError(f"{folder} does not fit these files: {error}. Give another --out, or delete it.") from error
    return tuple(outcomes)


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
        composed = evaluate_response(verdict.score, row.evaluate, dossier.case.summary if dossier.case else None)
        verdict = verdict.model_copy(update={"signals": {**verdict.signals, **composed}})
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
