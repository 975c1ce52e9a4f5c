"""Judge on a laptop through the App's pipeline, without showing the verdict anywhere, and rejudge a recorded dossier.

The input is a checkout, the example, a recorded dossier, or a pull request on GitHub. What the other inputs need is not imported.
Also what `assay doctor` asks Redis, GitHub and the model's API, whose SDKs are loaded where they are asked.
"""

import hashlib
import tempfile
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Final, assert_never

from worker.adapters.redis.connection.client import RedisRefused, text
from worker.adapters.redis.store import Store
from worker.domain.dossier import Dossier, DossierError, read_dossier
from worker.domain.judge_request import LOCAL_INSTALLATION, JudgeRequest, PullRef, Trigger
from worker.domain.lifecycle.judging import Finish, JudgingCompleted, JudgingDiscarded, JudgingSuperseded, WaitForCi
from worker.domain.model import DeliveryId, RepositoryId, Sha
from worker.domain.ports import PullSource, TreeLookup
from worker.domain.verdict.events import EvalTrigger
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import Abstain, Accept, Reject
from worker.errors import InputError, Unavailable
from worker.judge.rubric import load_rubric
from worker.process import SystemClock
from worker.scheduling.pipeline import (
    CiWaitPolicy,
    JudgingDependencies,
    NullStatusReporter,
    judge_pull_request,
    renewing_lease,
)
from worker.scheduling.record import VerdictStores, event_publishing, record_beside
from worker.settings import ModelAccess, Settings
from worker.wiring.judge import BudgetAccount, open_judge_context, recorder_of

if TYPE_CHECKING:
    from worker.adapters.git.checkout import CheckoutSource
    from worker.adapters.github.doctor import AppReport, RepositoryNumbers
    from worker.domain.config.github_app import RepositoryProtection


MAX_TRIES: Final = 3
"""How often a branch is judged again that receives commits meanwhile."""


def judge_locally(
    settings: Settings,
    store: Store,
    source: PullSource,
    request: JudgeRequest,
    look_up: TreeLookup | None = None,
    *,
    is_counted: bool = True,
) -> JudgingCompleted:
    """Judge through the App's pipeline. *is_counted*: in figures. Raises AlreadyJudged, InputError, RubricRefused."""
    clock = SystemClock()
    store.events.end_orphaned()  # which the dispatcher does elsewhere
    for _ in range(MAX_TRIES):
        lease = store.pulls.take_local_lease(request)
        try:
            account, recorder = BudgetAccount(store, request.pull), recorder_of(settings, store, lease)
            with (
                open_judge_context(settings, settings.tier, account=account) as context,
                renewing_lease(lease, settings.timing.lease),
            ):
                outcome = judge_pull_request(
                    request,
                    JudgingDependencies(
                        source=source,
                        status=NullStatusReporter(source),
                        ledger=store.ledger,
                        recorder=recorder if is_counted else replace(recorder, publishing=None),
                        context=context,
                        clock=clock,
                        ci_wait=CiWaitPolicy(timedelta(0), timedelta(0), clock.now()),
                        rubric_problem=store.rubrics.refusal(context.rubric),
                        look_up=look_up,
                    ),
                )
        finally:
            store.pulls.finish(lease, Finish.JUDGED)
        match outcome:
            case JudgingCompleted():
                return outcome
            case JudgingDiscarded(reason=reason):
                raise InputError(f"{request.repository}#{request.pull.number} can't be judged: {reason}.")
            case JudgingSuperseded() | WaitForCi():
                continue
            case _:
                assert_never(outcome)
    raise InputError("The branch is committed to faster than it can be judged. Try again when it stands still.")


def rejudge_recorded(
    settings: Settings, store: Store, recorded: LedgerEntry, dossier: Dossier, rubric_file: Path | None
) -> Accept | Reject | Abstain:
    """Judge a recorded dossier again, as a new entry beside its verdict.

    Raises LeaseLost where the verdict was deleted, RubricRefused for an edited rubric with its old version.
    """
    from worker.judge.judge import judge_with_record
    from worker.judge.replay import create_child_header

    store.rubrics.admit(load_rubric())
    if rubric_file is not None:
        store.rubrics.admit(load_rubric(rubric_file), str(rubric_file))
    subject = recorded.verdict.subject
    pull = PullRef(installation_id=subject.installation_id, repository_id=subject.repository_id, number=subject.number)
    with open_judge_context(settings, settings.tier, rubric_file, BudgetAccount(store, pull)) as context:
        header = create_child_header(recorded.verdict, dossier, context, SystemClock())
        evaluated = judge_with_record(dossier, header, context)
    publishing = event_publishing(settings, EvalTrigger.BATCH)
    record_beside(recorded, evaluated, dossier, VerdictStores(store.ledger, store.archive), publishing)
    return evaluated.verdict


class RecordedSource:
    """A PullSource over one dossier."""

    def __init__(self, dossier: Dossier) -> None:
        self._dossier = dossier

    def request(self, at: datetime) -> JudgeRequest:
        pull = self._dossier.pull_request
        digest = hashlib.sha256(pull.repository.encode()).digest()
        return JudgeRequest(
            pull=PullRef(
                installation_id=LOCAL_INSTALLATION,
                repository_id=RepositoryId(int.from_bytes(digest[:6])),
                number=pull.number,
            ),
            repository=pull.repository,
            head_sha=pull.head_sha,
            trigger=Trigger.LOCAL,
            delivery_id=DeliveryId(f"local-{pull.head_sha}-{at.timestamp():.6f}"),
            requested_at=at,
        )

    def head_sha(self, request: JudgeRequest) -> Sha:  # noqa: ARG002 - this source has one pull request
        return self._dossier.pull_request.head_sha

    def dossier(self, request: JudgeRequest) -> Dossier:  # noqa: ARG002 - as above
        return self._dossier


def read_recorded(raw: bytes, name: str) -> RecordedSource:
    """Read a recorded dossier; *name* is the file's. Raises InputError naming the first invalid field."""
    try:
        return RecordedSource(read_dossier(raw))
    except DossierError as error:
        raise InputError(f"{name}: {error}") from error


ANONYMOUS_NOTE: Final = "Read without a token: at most 6 requests and 20 files' texts. Set GITHUB_TOKEN to read it all."


@dataclass(frozen=True)
class JudgeInputs:
    """What is to be judged, with notes for people. `look_up` None: the head tree can't be read."""

    source: PullSource
    request: JudgeRequest
    notes: Sequence[str] = ()
    look_up: TreeLookup | None = None


@dataclass(frozen=True)
class CheckoutOptions:
    """The commits, and texts of files. `junit`: reports of CI, with their names. None: as CheckoutSource finds it."""

    base: str | None = None
    head: str | None = None
    issue: str | None = None
    case: str | None = None
    body: str | None = None
    junit: Sequence[tuple[bytes, str]] = ()


def checkout_source(folder: Path, options: CheckoutOptions) -> "CheckoutSource":
    """The branch of the checkout that contains *folder*. Raises InputError."""
    from worker.adapters.git.checkout import CheckoutInputs, CheckoutSource

    checks = ()
    if options.junit:
        from worker.adapters.git.junit import read_junit

        checks = tuple(read_junit(*report) for report in options.junit)
    inputs = CheckoutInputs(options.issue, options.case, options.body, checks)
    return CheckoutSource(folder, base=options.base, head=options.head, inputs=inputs)


def checkout_inputs(folder: Path, options: CheckoutOptions) -> JudgeInputs:
    source = checkout_source(folder, options)
    return JudgeInputs(source, source.request(SystemClock().now()), source.notes(), source.look_up)


def recorded_inputs(raw: bytes, name: str) -> JudgeInputs:
    """A recorded dossier, called *name*. Raises InputError."""
    source = read_recorded(raw, name)
    return JudgeInputs(source, source.request(SystemClock().now()))


@contextmanager
def open_example() -> Generator[JudgeInputs]:
    """A tiny repository, deleted after the judging."""
    from worker.adapters.git.example_repository import make_example

    with tempfile.TemporaryDirectory(prefix="assay-example-") as folder:
        made = make_example(Path(folder))
        issue, report = made.issue.read_text(encoding="utf-8"), (made.junit.read_bytes(), made.junit.name)
        source = checkout_source(made.checkout, CheckoutOptions(made.base, made.head, issue, junit=[report]))
        yield JudgeInputs(source, source.request(SystemClock().now()), look_up=source.look_up)


@contextmanager
def open_github_pull(settings: Settings, repository: str, number: int) -> Generator[JudgeInputs]:
    """A pull request as GITHUB_TOKEN may read it; without a token, a public one."""
    clock = SystemClock()
    if settings.github_token is None:
        from worker.adapters.github.public_api import open_public_pull

        public = open_public_pull(settings, clock, repository, number)
        source = RecordedSource(public.dossier)
        yield JudgeInputs(source, source.request(clock.now()), (ANONYMOUS_NOTE, *public.notes))
        return
    from worker.adapters.github.public_api import open_token_source

    digest, at = hashlib.sha256(repository.encode()).digest(), clock.now()
    repository_id = RepositoryId(int.from_bytes(digest[:6]))
    request = JudgeRequest(
        pull=PullRef(installation_id=LOCAL_INSTALLATION, repository_id=repository_id, number=number),
        repository=repository,
        head_sha=None,
        trigger=Trigger.LOCAL,
        delivery_id=DeliveryId(f"local-{repository}-{number}-{at.timestamp():.6f}"),
        requested_at=at,
    )
    with open_token_source(settings, clock) as source:
        yield JudgeInputs(source, request, look_up=source.look_up)


@dataclass(frozen=True, slots=True)
class StoreReport:
    """`persistence`: how data survive a restart; "": they do not. `eviction`: the policy when memory is full."""

    version: str
    persistence: str
    eviction: str
    lacks_key: bool = False


def examine_store(store: Store) -> StoreReport:
    """Read version, persistence and eviction policy. Raises Unavailable."""
    lines = text(store.client.call("INFO", "everything")).splitlines()
    info = dict(line.split(":", 1) for line in lines if ":" in line)
    persistence = "AOF" if info.get("aof_enabled") == "1" else ""
    if not persistence:
        try:
            reply = store.client.call("CONFIG", "GET", "save")
            persistence = "RDB" if isinstance(reply, list) and len(reply) > 1 and reply[1] else ""
        except (RedisRefused, Unavailable):  # a hosted Redis may refuse CONFIG; the client reports NOPERM as an outage
            persistence = "by its host"
    return StoreReport(
        version=info.get("valkey_version") or info.get("redis_version", ""),
        persistence=persistence,
        eviction=info.get("maxmemory_policy", ""),
        lacks_key=store.is_key_missing(),
    )


def examine_app(settings: Settings, subscribed: Iterable[str]) -> "AppReport":
    """What each of the App's keys opens at GitHub. *subscribed*: events that the App needs."""
    from worker.adapters.github import doctor

    return doctor.examine_app(settings, SystemClock(), subscribed)


def read_branch_protection(settings: Settings, repository: str) -> "RepositoryProtection":
    """Read a repository's protection as the App. Raises AssayError."""
    from worker.adapters.github import doctor

    return doctor.read_branch_protection(settings, SystemClock(), repository)


def find_numbers(settings: Settings, repository: str) -> "RepositoryNumbers | None":
    """The ids of a repository at GitHub. None: the App does not see it. Raises AssayError."""
    from worker.adapters.github import doctor

    return doctor.find_numbers(settings, SystemClock(), repository)


def count_opened_this_week(settings: Settings, repository: str) -> int:
    """Pull requests that were opened in a week, as GITHUB_TOKEN may see them. Raises AssayError."""
    from worker.adapters.github import doctor

    return doctor.count_opened_this_week(settings, SystemClock(), repository)


def price_model(name: str) -> Decimal | str:
    """What a typical verdict costs in dollars; a clause that says why that is not known."""
    from worker.domain.verdict.budget import typical_cost, unpriced_text

    return typical_cost(name) or unpriced_text(name)


def find_model_problem(access: ModelAccess) -> str | None:
    """Why the model can't be asked, as a clause."""
    from worker.adapters.anthropic import check_key

    price = price_model(access.name)
    return price if isinstance(price, str) else check_key(access)
