"""Builds the adapters from Settings: the only file that names concrete ones.

Does not decide. Invariant: each composition loads only the SDKs that it needs, and makes its clients anew, so
that it may run in a forked job.
"""

from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final, assert_never

from worker.board import Silent
from worker.domain.dossier import Dossier
from worker.domain.events import EvalTrigger
from worker.domain.frozen import build_models
from worker.domain.happenings import Happened, Happening
from worker.domain.ids import CheckRunId, EvalId, Sha
from worker.domain.ledger import LedgerEntry
from worker.domain.money import Caps
from worker.domain.pattern import compile_patterns
from worker.domain.request import Ask, JudgeRequest, PullRef, Trigger
from worker.domain.suspension import Suspension
from worker.domain.value import Value, replace
from worker.domain.verdict import Abstain, Accept, Reject
from worker.errors import InputError
from worker.judge.bench import Bench
from worker.judge.escalation import Pause
from worker.judge.room import Room, room_of
from worker.outage import Outages
from worker.pipeline import CiPatience, Deps, Dropped, Judged, Outcome, Overtaken, WaitForCi, judge_pull_request
from worker.ports import CheckPublisher, Clock, Comments, Desk, Lease, Model, PullSource, Purse, Reviewers
from worker.record import Keepers, Shelves, Telling, record_beside
from worker.render.words import OVERDUE
from worker.rulebook import load_ci_check_rubric, load_prompt, load_rubric
from worker.settings import Settings, Timing
from worker.store.connection import Store
from worker.store.heartbeat import beating
from worker.store.pulls import Finish
from worker.store.switches import Stopped
from worker.system_clock import SystemClock

if TYPE_CHECKING:
    from worker.domain.feedback import Letter
    from worker.domain.greeting import Greeting
    from worker.github.client import AppAccess
    from worker.github.listing import GitHubListing
    from worker.group_court import GroupCourt
    from worker.publish import CheckDesk
    from worker.reception import Reception
    from worker.store.groups import OpenGroup, TakenGroup
    from worker.store.outcomes import Due

ALWAYS: Final = 2.0
OF_JOBS: Final = (
    "worker.ci_checks",
    "worker.configuring",
    "worker.domain.aftermath",
    "worker.domain.criteria",
    "worker.feedback",
    "worker.judge.opinions",
    "worker.outcomes",
    "worker.publish",
    "worker.reviewing",
    "worker.store.checks",
    "worker.store.decisions",
    "worker.store.outcomes",
    "worker.store.demotions",
    "worker.store.purse",
    "worker.store.rubrics",
)
"""What a judging on a laptop may do without."""
READINGS: Final = 3
"""How often a branch that is committed to while it is judged is judged again, on a laptop."""


class Payer(Value):
    """Who pays for a model: the pull request *pull*, out of the books in *store* or, where there is none, of *own*.

    `bound`: what stands around the books in *store*, such as the limit of a run.
    """

    store: Store | None
    pull: PullRef
    own: Purse | None = None
    bound: Callable[[Purse], Purse] | None = None

    def purse(self, caps: Caps) -> Purse | None:
        if self.store is None:
            return self.own
        live = self.store.purse(caps, SystemClock())
        return live if self.bound is None else self.bound(live)

    @property
    def stopped(self) -> Stopped | None:
        """The pause that the repository is under."""
        if self.store is None:
            return None
        return self.store.switches.stopped(self.pull.installation_id, self.pull.repository_id)


class Court(Value):
    """What one process needs to judge the pull requests of the App's installations."""

    settings: Settings
    store: Store
    clock: Clock
    source: PullSource
    checks: CheckPublisher
    desk: Desk
    comments: Comments
    reviewers: Reviewers
    groups: "GroupCourt"
    listing: "GitHubListing"

    def judge(self, request: JudgeRequest, lease: Lease, waiting_since: datetime | None) -> Outcome:
        from worker.configuring import config_of
        from worker.feedback import letter_of
        from worker.publish import CheckBoard
        from worker.reviewing import People

        people = People(self.store.decisions, self.reviewers, lambda dossier: config_of(dossier).review)
        site = site_url(self.settings.github_api_url)
        timing = self.settings.timing
        payer = Payer(self.store, request.pull)
        with open_bench(self.settings, self.settings.tier, payer=payer) as bench:
            outcome = judge_pull_request(
                request,
                Deps(
                    source=self.source,
                    board=CheckBoard(self.source, self._board(), lease, site, people),
                    ledger=self.store.ledger,
                    keepers=replace(_keepers(self.settings, self.store, lease), watch=self.store.outcomes),
                    bench=bench,
                    clock=self.clock,
                    patience=ci_patience(timing, waiting_since),
                    outages=Outages(self.settings.outage_retries, timedelta(seconds=timing.outage_delay)),
                    refused=self.store.rubrics.refusal(bench.rubric),
                    demoted=self.store.demotions.signals(request.pull.installation_id),
                    authors=self.settings.authors,
                    configs=self.store.configs,
                    said=people.said,
                ),
            )
        people.heard(request, outcome, self.store.happenings)
        if letter := letter_of(request, outcome):
            self.store.letters.put(letter)
        return outcome

    def give_up(self, request: JudgeRequest, lease: Lease, reason: str) -> None:
        """Say on the pull request's unfinished checks that nobody judged, and why."""
        lease.keep()
        self._board().fail(request, reason)

    def put_off(self, request: JudgeRequest, lease: Lease, until: datetime) -> None:
        """Say on the pull request's unfinished checks until when GitHub can't be asked."""
        lease.keep()
        self._board().put_off(request, until)

    def open_check(self, request: JudgeRequest, head_sha: Sha) -> None:
        self._reception().open(request, head_sha)

    def greet(self, greeting: "Greeting") -> None:
        """Say on what was open before Assay came that it was. May be called again."""
        from worker.reception import GOES_ON

        if not self._reception().greet(greeting):
            self.store.greetings.goes_on(greeting, GOES_ON)

    def _reception(self) -> "Reception":
        from worker.publish import CheckDesk
        from worker.reception import Reception

        checks, deadline = self.store.checks(), timedelta(seconds=self.settings.timing.check_deadline)
        desk, operators = CheckDesk(self.checks, checks), self.settings.authors
        return Reception(desk, checks, self.store.pulls, self.listing, self.clock, operators, deadline)

    def close_overdue(self, request: JudgeRequest, head_sha: Sha, check: CheckRunId) -> None:
        """Close a check run that nobody finished in time."""
        self._board().expire(request, head_sha, check, OVERDUE)

    def answer(self, ask: Ask) -> None:
        """Do what somebody asks for, if they may, and let them see it. May be called again."""
        from worker.commands import Clerk, request_of
        from worker.reviewing import Owning

        def dossier_of(ask: Ask, eval_id: EvalId) -> Dossier:
            found = self.store.archive.find(eval_id)
            return found or self.source.dossier(request_of(ask, Trigger.COMMAND, ask.asked_at))

        owning = Owning(self.reviewers, self.store.ledger, dossier_of)
        Clerk(self.desk, self.store, self.clock, owning.owns_any).answer(ask)

    def follow(self, happening: Happening) -> None:
        """Tell of every outcome that something which happened is. May be called again."""
        from worker.outcomes import Follower

        Follower(self.store.outcomes, self.store.ledger, self.store.archive).follow(happening)
        if happening.pull is not None and happening.what in {Happened.MERGED, Happened.CLOSED}:
            self.store.ledger.ends_in(happening.pull, timedelta(days=self.settings.ledger_days))
        if happening.pull is not None and happening.what is Happened.REOPENED:
            self.store.ledger.stays(happening.pull)

    def conclude(self, due: "Due") -> None:
        """Record the verdict on a pull request as a whole. May be called again."""
        from worker.outcomes import Concluding
        from worker.rulebook import load_pull_request_rubric

        rubric = load_pull_request_rubric()
        Concluding(self.store.ledger, self.store.outcomes, rubric, self.clock).conclude(due)

    def answer_group(self, opened: "OpenGroup") -> None:
        self.groups.answer(opened)

    def tell(self, letter: "Letter") -> None:
        """Tell a pull request's author what to do next, if that is news. May be called again."""
        from worker.feedback import Writer

        newest, limit = self.store.checks().newest, self.settings.round_limit
        Writer(self.comments, self.store.notes, self.store.ledger, newest, self.clock, limit).tell(letter)

    def judge_group(self, taken: "TakenGroup") -> None:
        self.groups.judge(taken)

    def catch_up(self) -> None:
        """See to what was missed. May be called again."""
        from worker.watch_court import WatchCourt

        WatchCourt(self.settings, self.store, self.clock, self.groups.access, self._board()).catch_up()

    def tidy(self) -> None:
        """Forget who uninstalled the App, and drop what is counted of events that are gone. May be called again."""
        records, rollups = self.store.records(), self.store.rollups()
        for installation in self.store.leaving().due():
            records.forget_installation(installation, self.clock.now())
        for installation in records.installations():
            rollups.trim(installation)
            rollups.catch_up(installation)

    def _board(self) -> "CheckDesk":
        from worker.publish import CheckDesk

        return CheckDesk(self.checks, self.store.checks())


def ci_patience(timing: Timing, since: datetime | None) -> CiPatience:
    """The operator's patience; a repository may choose as much as leaves time to judge before the check's deadline."""
    longest = timedelta(seconds=max(0.0, timing.check_deadline - timing.asking))
    return CiPatience(timedelta(seconds=timing.ci_wait), timedelta(seconds=timing.ci_poll), since, longest)


def site_url(api_url: str) -> str:
    """Where people look at this GitHub: github.com, or the Enterprise Server whose API this is."""
    return "https://github.com" if api_url == "https://api.github.com" else api_url.removesuffix("/api/v3")


@contextmanager
def open_court(settings: Settings, store: Store) -> Generator[Court]:
    """Act as the App. What one opening loads and builds, a forked job finds done; the clients are to be its own."""
    from worker.github.checks import GitHubChecks
    from worker.github.client import app_access
    from worker.github.comments import GitHubComments
    from worker.github.desk import GitHubDesk
    from worker.github.listing import GitHubListing
    from worker.github.reviews import GitHubReviewers
    from worker.group_court import GroupCourt

    _prepare()
    clock = SystemClock()
    with app_access(settings, store.vault, clock, store.rates) as access:
        app_id = settings.require_app().app_id
        yield Court(
            settings=settings,
            store=store,
            clock=clock,
            source=github_source(settings, access),
            checks=GitHubChecks(access, app_id),
            desk=GitHubDesk(access),
            comments=GitHubComments(access),
            reviewers=GitHubReviewers(access),
            groups=GroupCourt(settings, store, clock, access),
            listing=GitHubListing(access),
        )


@cache
def _prepare() -> None:
    """Load and build what jobs need: once in a process, and for all that it forks."""
    for module in OF_JOBS:
        import_module(module)
    load_ci_check_rubric()
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
    pause, suspension = _pause(settings, payer)
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
            rooms={name: _room(settings, one, payer) for name, one in others.items()},
            second=others.get(settings.second_model or ""),
            board=settings.has_board,
            choices={name: others[name] for name in settings.models if name in others},
            asking_ms=int(settings.timing.asking * 1000),
            suspension=suspension,
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


def _pause(settings: Settings, payer: Payer | None) -> tuple[Pause | None, Suspension | None]:
    """The kill switches: the operator's environment, `assay pause`, and a repository's own."""
    if settings.is_paused:
        return Pause.OPERATOR, None
    stopped = payer.stopped if payer else None
    if stopped is None:
        return None, None
    return Pause.OPERATOR if stopped.is_everywhere else Pause.REPOSITORY, stopped.suspension


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


def _keepers(settings: Settings, store: Store, lease: Lease) -> Keepers:
    return Keepers(store.ledger, store.archive, store.events, lease, telling_of(settings))


def telling_of(settings: Settings, trigger: EvalTrigger = EvalTrigger.BUS) -> Telling:
    """What is told of verdicts: their words, too, where the operator asks for it."""
    if not settings.has_event_words:
        return Telling(trigger)
    from worker.judge.untrusted import redacted

    return Telling(trigger, redacted)


def judge_locally(settings: Settings, store: Store, source: PullSource, request: JudgeRequest, tier: str) -> Judged:
    """Judge without showing it anywhere, through the same pipeline. Raises AlreadyJudged, InputError, RubricRefused."""
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
                        keepers=_keepers(settings, store, lease),
                        bench=bench,
                        clock=clock,
                        patience=CiPatience(timedelta(0), timedelta(0), clock.now()),
                        refused=store.rubrics.refusal(bench.rubric),
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
    """Judge a recorded dossier again, as a new entry beside its verdict.

    Raises LeaseLost where that was forgotten, RubricRefused for a rubric that was edited and kept its version.
    """
    from worker.judge.court import hear
    from worker.judge.replay import docket_beside

    store.rubrics.admit(load_rubric())
    if rubric_file is not None:
        store.rubrics.admit(load_rubric(rubric_file), str(rubric_file))
    subject = recorded.verdict.subject
    pull = PullRef(installation_id=subject.installation_id, repository_id=subject.repository_id, number=subject.number)
    with open_bench(settings, settings.tier, rubric_file, Payer(store, pull)) as bench:
        heard = hear(dossier, docket_beside(recorded.verdict, dossier, bench, SystemClock()), bench)
    telling = telling_of(settings, EvalTrigger.BATCH)
    record_beside(recorded, heard, dossier, Shelves(store.ledger, store.archive), telling)
    return heard.verdict
