"""What people said about heads of pull requests, and whom we answered: encrypted, by head, for all processes.

Does not know who may say what. Invariant: an override of a head is written once and stands; what is asked for stays open until
it was done, and is open again if it was asked for again meanwhile; nobody is answered the same twice.
"""

import hashlib
from datetime import datetime
from typing import Final, TypeVar

from worker.adapters.redis import keys
from worker.adapters.redis.client import RedisClient, Reply, blob, items, text
from worker.adapters.redis.encryption import Codec
from worker.adapters.redis.intake import lifetime_s
from worker.adapters.redis.scripts import Script, run_script
from worker.domain.check.overrides import (
    Contest,
    HumanDecision,
    HumanDecisions,
    Override,
    ReviewDecision,
    ReviewDismissal,
)
from worker.domain.ids import DeliveryId, Sha
from worker.domain.request.judge_request import FirstSeen, PullRef, ReviewRef

SpokenT = TypeVar("SpokenT", bound=HumanDecision)

MOST_WORDS: Final = 1_000
"""Fields of one pull request: only who may write writes them."""

MOST_ANSWERS: Final = 20
"""At one pull request in a month; beyond that there is only the reaction."""

FIELDS: Final = ("override", "contest", "review", "contested", "forced", "dismissed")
REBASED_FIELD: Final = "rebased"
"""When the pull request went into another base last, in milliseconds: WANT notes it."""

REVIEWERS_FIELD: Final = "called"
LABELLED_FIELD: Final = "labelled"
VOUCHED_FIELD: Final = "vouched"


class RedisDecisions:
    """Decisions in Redis. All methods raise Unavailable, and all may be called twice."""

    def __init__(self, wire: RedisClient, codec: Codec) -> None:
        self._wire = wire
        self._codec = codec

    def find_decisions(self, pull: PullRef, head_sha: Sha) -> HumanDecisions:
        """What was said about this head. An override is of what the head changes: in another base that may be anything."""
        name = keys.decisions(pull).name
        stored = self._wire.call("HMGET", name, REBASED_FIELD, *(f"{field}:{head_sha}" for field in FIELDS))
        rebased, override, contest, review, contested, forced, dismissed = items(stored)
        passed, since = self._opened(override, name, Override), float(text(rebased) or 0) / 1000
        return HumanDecisions(
            override=passed if passed and passed.at.timestamp() >= since else None,
            contest=self._opened(contest, name, Contest),
            review=self._opened(review, name, ReviewDecision),
            contested_at=_time(contested),
            forced_at=_time(forced),
            dismissed=None if review else self._opened(dismissed, name, ReviewDismissal),
        )

    def override(self, pull: PullRef, head_sha: Sha, word: Override) -> bool:
        """Let this head pass; False: somebody did so before, and that stands."""
        if self.find_decisions(pull, head_sha).override is not None:
            return False
        return self._write(pull, f"override:{head_sha}", self._sealed(pull, word))

    def contest(self, pull: PullRef, head_sha: Sha, word: Contest) -> None:
        """Have this head judged anew, with this reason."""
        open_ = (f"contested:{head_sha}", word.at.isoformat())
        self._write(pull, f"contest:{head_sha}", self._sealed(pull, word), *open_)

    def force(self, pull: PullRef, head_sha: Sha, at: datetime) -> None:
        """Have this head judged anew."""
        self._write(pull, f"forced:{head_sha}", at.isoformat())

    def review(self, pull: PullRef, head_sha: Sha, word: ReviewDecision) -> None:
        """A code owner reviewed this head; the newest word stands."""
        self._write(pull, f"review:{head_sha}", self._sealed(pull, word))

    def find_dismissal(self, pull: PullRef, review: ReviewRef) -> ReviewDismissal | None:
        """By whom this review was dismissed; None: it was not, as far as we heard."""
        name = keys.decisions(pull).name
        return self._opened(self._wire.call("HGET", name, f"gone:{review.id}"), name, ReviewDismissal)

    def dismiss(self, pull: PullRef, review: ReviewRef, word: ReviewDismissal) -> None:
        """This review is dismissed: we may hear of that before we looked into the review."""
        self._write(pull, f"gone:{review.id}", self._sealed(pull, word), is_first=True)

    def withdraw(self, pull: PullRef, head_sha: Sha, word: ReviewDismissal) -> None:
        """The review that decided about this head does so no more. An earlier version sees that there is none."""
        self._write(pull, f"dismissed:{head_sha}", self._sealed(pull, word), f"review:{head_sha}", "")

    def record_judged(self, pull: PullRef, head_sha: Sha, decisions: HumanDecisions) -> None:
        """What was asked for by then was done."""
        fields = {"contested": decisions.contested_at, "forced": decisions.forced_at}
        done = [part for name, at in fields.items() if at for part in (f"{name}:{head_sha}", at.isoformat())]
        if done:
            run_script(self._wire, Script.DECIDED, [keys.decisions(pull)], *done)

    def find_requested_reviewers(self, pull: PullRef) -> tuple[str, ...] | None:
        """Who was asked to review this pull request; None: nobody was asked yet."""
        name = keys.decisions(pull).name
        sealed = self._wire.call("HGET", name, REVIEWERS_FIELD)
        return tuple(self._codec.open(blob(sealed), name).decode().split()) if sealed else None

    def record_requested_reviewers(self, pull: PullRef, names: tuple[str, ...]) -> None:
        """These were asked, and nobody is asked again."""
        sealed = self._codec.seal(" ".join(names).encode(), keys.decisions(pull).name)
        self._write(pull, REVIEWERS_FIELD, sealed, is_first=True)

    def is_labelled(self, pull: PullRef) -> bool:
        """Whether this pull request was given the label of its repository, where nobody is asked."""
        return bool(self._wire.call("HGET", keys.decisions(pull).name, LABELLED_FIELD))

    def record_labelled(self, pull: PullRef) -> None:
        """It was, and is not given it again: whoever took it off meant it."""
        self._write(pull, LABELLED_FIELD, "1", is_first=True)

    def is_vouched(self, pull: PullRef) -> bool:
        """Whether an account with write access asked for a judging of this pull request."""
        return bool(self._wire.call("HGET", keys.decisions(pull).name, VOUCHED_FIELD))

    def mark_vouched(self, pull: PullRef) -> None:
        """One did: a model may be asked about it, whoever wrote it."""
        self._write(pull, VOUCHED_FIELD, "1", is_first=True)

    def claim_action(self, pull: PullRef, act: str, delivery: DeliveryId, at: datetime) -> datetime | None:
        """Since when this is being done, by this delivery's errand; None: another one's did the very same."""
        field = f"did:{_digest(act)}"
        if self._write(pull, field, f"{at.isoformat()} {delivery}", is_first=True):
            return at
        began, _, by = text(self._wire.call("HGET", keys.decisions(pull).name, field)).partition(" ")
        return datetime.fromisoformat(began) if by == delivery else None

    def newest_arrival(self, pull: PullRef) -> FirstSeen | None:
        """Which head came last, and when we first heard of it."""
        head, came = map(text, items(self._wire.call("HMGET", keys.pull(pull).name, "head", "came")))
        return FirstSeen(head_sha=head, at=datetime.fromisoformat(came)) if head and came else None

    def claim_answer(self, pull: PullRef, what: str, delivery: DeliveryId) -> bool:
        """Whether this is to be answered in words."""
        key = keys.answered_topics(pull)
        most = (MOST_ANSWERS, lifetime_s(key))
        return bool(run_script(self._wire, Script.ANSWER_ONCE, [key], _digest(what), delivery, *most))

    def _write(self, pull: PullRef, field: str, value: str | bytes, *more: str, is_first: bool = False) -> bool:
        on, fields = [keys.pull(pull), keys.ledger(pull), keys.decisions(pull)], (field, value, *more)
        return run_script(self._wire, Script.DECIDE, on, MOST_WORDS, int(is_first), *fields) == 1

    def _sealed(self, pull: PullRef, word: HumanDecision) -> bytes:
        return self._codec.seal(word.model_dump_json().encode(), keys.decisions(pull).name)

    def _opened(self, sealed: Reply, key_name: str, kind: type[SpokenT]) -> SpokenT | None:
        return kind.model_validate_json(self._codec.open(blob(sealed), key_name), extra="ignore") if sealed else None


def _time(reply: Reply) -> datetime | None:
    return datetime.fromisoformat(text(reply)) if reply else None


def _digest(what: str) -> str:
    return hashlib.sha256(what.encode()).hexdigest()[:32]
