"""What the dispatcher does at GitHub besides handing out judgings: one thing each, tried again as its errors say.

Does not do any (`worker.wiring.app` has the clerk). Invariant: an errand knows how it ends and how it is put off.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from math import inf
from typing import Final, Protocol

from worker.adapters.redis.merge_groups import OpenGroup
from worker.adapters.redis.outcomes import Due
from worker.domain.check.author_comment import Letter
from worker.domain.check.code_scanning import Scan
from worker.domain.check.merge_group import MergeGroup
from worker.domain.check.shared_head import Place
from worker.domain.ids import CheckRunId, Sha
from worker.domain.request.greeting import Greeting
from worker.domain.request.judge_request import Ask, JudgeRequest
from worker.domain.request.pull_request_events import Happening
from worker.domain.value import replace
from worker.errors import RetryRule
from worker.settings import Settings

SLOWED: Final = 6
"""How many times as long as at first an errand that somebody waits for is put off at the longest, while GitHub is away."""


class Clerk(Protocol):
    """What errands need of a court. Raises `worker.errors`."""

    def open_check(self, request: JudgeRequest, head_sha: Sha) -> None: ...

    def close_overdue(self, request: JudgeRequest, head_sha: Sha, check: CheckRunId) -> None: ...

    def answer(self, ask: Ask) -> None: ...

    def follow(self, happening: Happening) -> None: ...

    def conclude(self, due: Due) -> None: ...

    def answer_group(self, opened: OpenGroup) -> None: ...

    def close_group(self, group: MergeGroup, check: CheckRunId) -> None: ...

    def tell(self, letter: Letter) -> None: ...

    def scan(self, scan: Scan) -> None: ...

    def greet(self, greeting: Greeting) -> None: ...

    def settle(self, place: Place) -> None: ...

    def tidy(self) -> None: ...

    def catch_up(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Errand:
    """Something to do at GitHub. `done`: it needs no doing any more; `later`: put it off; *again_s*: so soon at first.

    `dropped`: what becomes of it where it is given up; None: it is done then. `installation` 0: of none.
    `is_first`: a queue of merges waits for it; of what a rate limit put off it comes back behind nothing else.
    `is_outside`: it is about what a stranger opened from a fork, and only so many of these are under way at a time.
    """

    name: str
    work: Callable[[Clerk], None]
    done: Callable[[], None]
    later: Callable[[timedelta], None] = lambda _: None
    dropped: Callable[[], None] | None = None
    again_s: float = inf
    attempt: int = 1
    installation: int = 0
    is_first: bool = False
    is_outside: bool = False
    fields: dict[str, object] = field(default_factory=dict[str, object])

    @property
    def key(self) -> tuple[str, ...]:
        """The same for the same errand, when it comes again."""
        return (self.name, *map(str, self.fields.values()))


def rule_of(errand: Errand, settings: Settings) -> RetryRule:
    """How often, and after how long, an errand is tried again; what somebody waits for sooner than the rest."""
    rule = settings.retry_rule
    if errand.again_s == inf:
        return rule
    soon = timedelta(seconds=errand.again_s)
    return replace(rule, first_delay=min(rule.first_delay, soon), longest=min(rule.longest, soon * SLOWED))
