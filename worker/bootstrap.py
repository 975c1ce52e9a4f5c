"""Builds the adapters from Settings: the only file that names concrete ones.

Does not decide. Invariant: each composition loads only the SDKs that it needs, and makes its clients anew, so
that it may run in a forked job.
"""

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final, assert_never

from worker.board import Silent
from worker.domain.dossier import Dossier
from worker.domain.frozen import build_models
from worker.domain.ids import CheckRunId, DeliveryId, Sha
from worker.domain.ledger import LedgerEntry
from worker.domain.money import Caps
from worker.domain.pattern import compile_patterns
from worker.domain.request import Ask, JudgeRequest, PullRef, Trigger
from worker.domain.value import Value, replace
from worker.domain.verdict import Abstain, Accept, Reject
from worker.errors import InputError
from worker.judge.bench import Bench
from worker.judge.escalation import Pause
from worker.judge.room import Room, room_of
from worker.outage import Outages
from worker.pipeline import CiPatience, Deps, Dropped, Judged, Outcome, Overtaken, WaitForCi, judge_pull_request
from worker.ports import CheckPublisher, Clock, Desk, Lease, Model, PullSource, Purse
from worker.record import Keepers, record_beside
from worker.render.words import OVERDUE
from worker.rulebook import load_prompt, load_rubric
from worker.settings import Settings
from worker.store.connection import Store
from worker.store.heartbeat import beating
from worker.store.pulls import Finish
from worker.system_clock import SystemClock

if TYPE_CHECKING:
    from worker.github.client import AppAccess
    from worker.publish import CheckDesk

ALWAYS: Final = 2.0
OF_JOBS: Final = (
    "worker.domain.criteria",
    "worker.judge.opinions",
    "worker.publish",
    "worker.store.checks",
    "worker.store.purse",
)
"""What a judging on a laptop may do without."""
READINGS: Final = 3
"""How often a branch that is committed to while it is judged is judged again, on a laptop."""


class Payer(Value):
    """Who pays for a model: the pull request *pull*, out of the books in *store* or, where there is none, of *own*."""

    store: Store | None
    pull: PullRef
    own: Purse | None = None

    def purse(self, caps: Caps) -> Purse | None:
        return self.own if self.store is None else self.store.purse(caps, SystemClock())

    @property
    def is_paused(self) -> bool:
        """Whether the repository stopped all judging."""
        return self.store is not None and self.store.switches.is_paused(
            self.pull.installation_id, self.pull.repository_id
        )


class Court(Value):
    """What one process needs to judge the pull requests of the App's installations."""

    settings: Settings
    store: Store
    clock: Clock
    source: PullSource
    checks: CheckPublisher
    desk: Desk

    def judge(self, request: JudgeRequest, lease: Lease, waiting_since: datetime | None) -> Outcome:
        from worker.publish import CheckBoard

        timing = self.settings.timing
        payer = Payer(self.store, request.pull)
        with open_bench(self.settings, self.settings.tier, payer=payer) as bench:
            return judge_pull_request(
                request,
                Deps(
                    source=self.source,
                    board=CheckBoard(self.source, self._board(), lease, site_url(self.settings.github_api_url)),
                    ledger=self.store.ledger,
                    keepers=Keepers(self.store.ledger, self.store.archive, lease),
                    bench=bench,
                    clock=self.clock,
                    patience=CiPatience(
                        timedelta(seconds=timing.ci_wait), timedelta(seconds=timing.ci_poll), waiting_since
                    ),
                    outages=Outages(self.settings.outage_retries, timedelta(seconds=timing.outage_delay)),
                ),
            )

    def give_up(self, request: JudgeRequest, lease: Lease, reason: str) -> None:
        """Say on the pull request's unfinished checks that nobody judged, and why."""
        lease.keep()
        self._board().fail(request, reason)

    def open_check(self, request: JudgeRequest, head_sha: Sha) -> None:
        self._board().open(request, head_sha)

    def close_overdue(self, request: JudgeRequest, head_sha: Sha, check: CheckRunId) -> None:
        """Close a check run that nobody finished in time."""
        self._board().expire(request, head_sha, check, OVERDUE)

    def answer(self, ask: Ask) -> None:
        """Do what a comment asks for, if its author may, and show that it was seen. May be called again."""
        if not self.desk.may_command(ask):
            self.desk.react(ask, "-1")
            return
        self.store.pulls.want(
            JudgeRequest(
                pull=ask.pull,
                repository=ask.repository,
                head_sha=None,
                trigger=Trigger.COMMAND,
                delivery_id=DeliveryId(f"ask-{ask.delivery_id}"),
                requested_at=ask.asked_at,
            )
        )
        self.desk.react(ask, "eyes")

    def _board(self) -> "CheckDesk":
        from worker.publish import CheckDesk

        return CheckDesk(self.checks, self.store.checks())


def site_url(api_url: str) -> str:
    """Where people look at this GitHub: github.com, or the Enterprise Server whose API this is."""
    return "https://github.com" if api_url == "https://api.github.com" else api_url.removesuffix("/api/v3")


@contextmanager
def open_court(settings: Settings, store: Store) -> Generator[Court]:
    """Act as the App. What one opening loads and builds, a forked job finds done; the clients are to be its own."""
    from worker.github.checks import GitHubChecks
    from worker.github.client import app_access
    from worker.github.desk import GitHubDesk

    _prepare()
    clock = SystemClock()
    with app_access(settings, store.vault, clock) as access:
        app_id = settings.require_app().app_id
        yield Court(
            settings=settings,
            store=store,
            clock=clock,
            source=github_source(settings, access),
            checks=GitHubChecks(access, app_id),
            desk=GitHubDesk(access),
        )


@cache
def _prepare() -> None:
    """Load and build what jobs need: once in a process, and for all that it forks."""
    for module in OF_JOBS:
        import_module(module)
    build_models()
    compile_patterns()


def github_source(settings: Settings, access: "AppAccess") -> PullSource:
    from worker.github.source import GitHubPullSource, looking

    return GitHubPullSource(access, looking(settings.require_app().app_id, settings.github_api_url))


@contextmanager
def open_bench(
    settings: Settings, tier: str, rubric_file: Path | None = None, payer: Payer | None = None
) -> Generator[Bench]:
    """Who judges: the rubric (ours, or a file's) and our prompt, and a model where one is set up and may be asked."""
    rubric = load_rubric(rubric_file)
    hybrid = rubric.escalation_threshold if settings.threshold is None else settings.threshold
    threshold = {"heuristic": 0.0, "hybrid": hybrid, "llm": ALWAYS}[tier]
    pause = _pause(settings, payer)
    asked = 0.0 if pause else threshold
    with open_model(settings, asked, payer) as model, open_others(settings, asked, payer) as others:
        yield Bench(
            rubric,
            load_prompt(),
            threshold,
            model,
            pause,
            settings.round_limit,
            room=_room(settings, model, payer),
            second=others.get(settings.second_model or ""),
            board=settings.has_board,
            choices={name: others[name] for name in settings.models if name in others},
            asking_ms=int(settings.timing.asking * 1000),
        )


@contextmanager
def open_others(settings: Settings, threshold: float, payer: Payer | None) -> Generator[dict[str, Model]]:
    """The models beside the first, by their names: each at its own price."""
    names = dict.fromkeys((*settings.models, *([settings.second_model] if settings.second_model else ())))
    with ExitStack() as stack:
        others = {name: stack.enter_context(open_model(_asking(settings, name), threshold, payer)) for name in names}
        yield {name: model for name, model in others.items() if model is not None}


def _asking(settings: Settings, name: str) -> Settings:
    return settings if settings.model is None else replace(settings, model=replace(settings.model, name=name))


def _room(settings: Settings, model: Model | None, payer: Payer | None) -> Room:
    """How much a question may hold: the tokens that are set, in bytes as dense as this installation's were."""
    purse = payer.purse(settings.caps) if payer and model else None
    if purse is None or payer is None or model is None:
        return Room(settings.prompt_tokens)
    return room_of(settings.prompt_tokens, purse.density(payer.pull, model.name))


def _pause(settings: Settings, payer: Payer | None) -> Pause | None:
    """The two kill switches: the operator's environment, and a repository's own."""
    if settings.is_paused:
        return Pause.OPERATOR
    if payer and payer.is_paused:
        return Pause.REPOSITORY
    return None


@contextmanager
def open_model(settings: Settings, threshold: float, payer: Payer | None = None) -> Generator[Model | None]:
    """The model, if there is one and it may be asked; metered, where somebody pays."""
    if settings.model is None or threshold <= 0:
        yield None
        return
    from worker.llm.anthropic_model import AnthropicModel
    from worker.llm.metered import Metered

    model = AnthropicModel(settings.model)
    try:
        purse = payer.purse(settings.caps) if payer else None
        yield Metered(model, purse, payer.pull) if payer and purse else model
    finally:
        model.close()


def judge_locally(settings: Settings, store: Store, source: PullSource, request: JudgeRequest, tier: str) -> Judged:
    """Judge without showing it anywhere, through the same pipeline. Raises AlreadyJudged, InputError."""
    clock = SystemClock()
    for _ in range(READINGS):
        lease = store.pulls.seize(request)
        try:
            payer = Payer(store, request.pull)
            with open_bench(settings, tier, payer=payer) as bench, beating(lease, settings.timing.lease):
                outcome = judge_pull_request(
                    request,
                    Deps(
                        source=source,
                        board=Silent(source),
                        ledger=store.ledger,
                        keepers=Keepers(store.ledger, store.archive, lease),
                        bench=bench,
                        clock=clock,
                        patience=CiPatience(timedelta(0), timedelta(0), clock.now()),
                    ),
                )
        finally:
            store.pulls.finish(lease, Finish.JUDGED)
        match outcome:
            case Judged():
                return outcome
            case Dropped(reason=reason):
                raise InputError(f"{request.repository}#{request.pull.number} can't be judged: {reason}.")
            case Overtaken() | WaitForCi():
                continue
            case _:
                assert_never(outcome)
    raise InputError("The branch is committed to faster than it can be judged. Try again when it stands still.")


def judge_anew(
    settings: Settings, store: Store, recorded: LedgerEntry, dossier: Dossier, rubric_file: Path | None
) -> Accept | Reject | Abstain:
    """Judge a recorded dossier again, as a new entry beside its verdict. Raises LeaseLost where that was forgotten."""
    from worker.judge.court import hear
    from worker.judge.replay import docket_beside

    subject = recorded.verdict.subject
    pull = PullRef(installation_id=subject.installation_id, repository_id=subject.repository_id, number=subject.number)
    with open_bench(settings, settings.tier, rubric_file, Payer(store, pull)) as bench:
        heard = hear(dossier, docket_beside(recorded.verdict, dossier, bench, SystemClock()), bench)
    record_beside(recorded, heard, dossier, store.ledger, store.archive)
    return heard.verdict
