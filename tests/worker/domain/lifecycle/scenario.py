"""A pull request whose clock the test sets, without a store."""

from dataclasses import dataclass, field
from typing import Any, Final

from worker.domain.judge_request import Trigger
from worker.domain.lifecycle import intake, judging
from worker.domain.lifecycle.intake import (
    CheckCompleted,
    IntakeContext,
    IntakeMode,
    IntakeOutcome,
    JudgingRequested,
    NamedHead,
    find_mode,
)
from worker.domain.lifecycle.judging import Finish, FinishResult, JudgingEnded, LeaseRefusal
from worker.domain.lifecycle.state import Phase, PullRequestState
from worker.domain.model import BaseHash, InstallationId, Sha

QUIET_MS, QUIET_MAX_MS, GATHER_MS, GATHERED_MS = 45_000, 300_000, 2_000, 10_000
LEASE_MS, HOLD_MS = 60_000, 15_000
START: Final = 1_800_000_000_000.0
HEAD, NEWER, NEWEST = (digit * 40 for digit in "123")
WINDOWS: Final = {IntakeMode.WINDOW: (QUIET_MS, QUIET_MAX_MS), IntakeMode.MOVED: (QUIET_MS, QUIET_MAX_MS)}
ABSENT: Final = PullRequestState(InstallationId(100))


@dataclass
class PlayedPull:
    """`run`: the run id of the Redis server."""

    state: PullRequestState = ABSENT
    now: float = START
    numbers: int = 0
    run: str | None = "run-1"
    outside_turn_at: float = 0
    intakes: list[intake.Intake] = field(default_factory=list[intake.Intake])

    def request(  # noqa: PLR0913 - the fields of a delivery
        self,
        trigger: Trigger = Trigger.PUSHED,
        head: Sha | None = HEAD,
        *,
        base: BaseHash | None = None,
        by: NamedHead | None = None,
        context: IntakeContext | None = None,
        draft: bool = False,
        outside: bool = False,
        first_seen_at: str | None = None,
        is_confirmed: bool = False,
    ) -> IntakeOutcome:
        self.numbers += 1
        mode = find_mode(trigger, is_draft=draft, has_case=by is not None and by.has_case)
        quiet_ms, quiet_max_ms = WINDOWS.get(mode, (0, 0))
        if mode is IntakeMode.SOON:
            quiet_ms, quiet_max_ms = GATHER_MS, GATHERED_MS
        event = JudgingRequested(
            request=f'{{"trigger":"{trigger}","delivery_id":"{self.numbers}","base":"{base}"}}',
            trigger=trigger,
            mode=mode,
            head=head,
            base=base,
            named_by=by,
            is_confirmed=is_confirmed,
            first_seen_at=first_seen_at,
            is_outside=outside,
            quiet_ms=quiet_ms,
            quiet_max_ms=quiet_max_ms,
            outside_gap_ms=10_000,
            outside_ahead_ms=20_000,
        )
        context = context or IntakeContext(outside_turn_at=self.outside_turn_at)
        received = intake.request_judging(self.state, event, context, self.numbers, self.now)
        self.intakes.append(received)
        self.state = received.state
        self.outside_turn_at = received.outside_turn_at or self.outside_turn_at
        return received.outcome

    def complete_check(self, head: Sha = HEAD, *, is_green: bool = False) -> bool:
        self.numbers += 1
        event = CheckCompleted(head, GATHER_MS, GATHERED_MS, is_green)
        after = intake.retrigger(self.state, event, self.numbers, self.now)
        self.state = after or self.state
        return after is not None

    def close(self, *, has_open_checks: bool = False) -> None:
        self.numbers += 1
        expires_at = self.now + 90 * 86_400_000
        self.state = intake.close_pull_request(
            self.state, expires_at, self.numbers, self.now, has_open_checks=has_open_checks
        )

    def dispatch(self) -> int:
        """Queue the job when it is due; return its fence."""
        assert self.state.queued_at is not None
        self.now = max(self.now, self.state.queued_at)
        self.numbers += 1
        self.state = judging.dispatch(self.state, self.numbers, HOLD_MS, self.now)
        return self.numbers

    def take(self, fence: int, token: str | None = None) -> LeaseRefusal | None:
        token = token or f"worker-{fence}"
        self.state, refusal = judging.take_lease(self.state, fence, token, self.run, lease_ms=LEASE_MS, now=self.now)
        return refusal

    def start(self) -> None:
        assert self.take(self.dispatch()) is None

    def end(self, how: Finish = Finish.JUDGED, **fields: Any) -> FinishResult:
        end = JudgingEnded(token=f"worker-{self.state.fence}", how=how, **fields)
        self.state, result = judging.finish(self.state, end, self.now)
        return result

    def judge(self, head: Sha | None = HEAD, **fields: Any) -> FinishResult:
        self.start()
        return self.end(head=head, **fields)

    def change(self, **fields: Any) -> None:
        self.state = self.state._replace(**fields)

    @property
    def due_in_s(self) -> float | None:
        """Seconds until the judging may start; None: nothing is due."""
        at = self.state.queued_at
        return None if self.state.phase is not Phase.DUE or at is None else (at - self.now) / 1000
