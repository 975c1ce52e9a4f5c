"""The folder of a run: what the run depends on, the two files that grow with it, and its money.

All of a folder was judged by one rubric, tier and code over one set of files, in the order of the files. However a run
stopped, the first *n* lines of both files are its first *n* rows. One process writes at a time.

What is reserved and spent never exceeds the limit, in however many processes and however often the run is resumed; what a
killed process had reserved stays spent.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, TypedDict, cast

from pydantic import ValidationError

from worker.domain.judge_request import LOCAL_INSTALLATION, PullRef
from worker.domain.model import Frozen, RepositoryId
from worker.domain.verdict.budget import Bill, Cap, CapLevel, Density, Reservation, from_nano, to_nano
from worker.errors import BudgetReached, InputError
from worker.judge.context import JudgeContext

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
