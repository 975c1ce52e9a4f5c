"""What people said about heads of pull requests, and whom we answered: encrypted, by head, for all processes.

Does not know who may say what. Invariant: an override of a head is written once and stands; what is asked for stays open until
it was done, and is open again if it was asked for again meanwhile; nobody is answered the same twice.
"""

import hashlib
from datetime import datetime
from typing import Final, TypeVar

from worker.adapters.redis import keys
from worker.adapters.redis.client import Reply, Wire, blob, items, text
from worker.adapters.redis.encryption import Codec
from worker.adapters.redis.intake import lifetime_s
from worker.adapters.redis.scripts import Script, run
from worker.domain.check.overrides import Contest, Dismissed, Override, Reviewed, Said, Spoken
from worker.domain.ids import DeliveryId, Sha
from worker.domain.request.judge_request import Arrival, PullRef, ReviewRef

Word = TypeVar("Word", bound=Spoken)

MOST_WORDS: Final = 1_000
"""Fields of one pull request: only who may write writes them."""

MOST_ANSWERS: Final = 20
"""At one pull request in a month; beyond that there is only the reaction."""

FIELDS: Final = ("override", "contest", "review", "contested", "forced", "dismissed")
REBASED: Final = "rebased"
"""When the pull request went into another base last, in milliseconds: WANT notes it."""

CALLED: Final = "called"
LABELLED: Final = "labelled"
VOUCHED: Final = "vouched"


class Decisions:
    """Decisions in Redis. All methods raise Unavailable, and all may be called twice."""

    def __init__(self, wire: Wire, codec: Codec) -> None:
        self._wire = wire
        self._codec = codec

    def of(self, pull: PullRef, head_sha: Sha) -> Said:
        """What was said about this head. An override is of what the head changes: in another base that may be anything."""
        place = keys.decisions(pull).name
        found = self._wire.call("HMGET", place, REBASED, *(f"{field}:{head_sha}" for field in FIELDS))
        rebased, override, contest, review, contested, forced, dismissed = items(found)
        passed, since = self._opened(override, place, Override), float(text(rebased) or 0) / 1000
        return Said(
            override=passed if passed and passed.at.timestamp() >= since else None,
            contest=self._opened(contest, place, Contest),
            review=self._opened(review, place, Reviewed),
            contested_at=_time(contested),
            forced_at=_time(forced),
            dismissed=None if review else self._opened(dismissed, place, Dismissed),
        )

    def override(self, pull: PullRef, head_sha: Sha, word: Override) -> bool:
        """Let this head pass; False: somebody did so before, and that stands."""
        if self.of(pull, head_sha).override is not None:
            return False
        return self._write(pull, f"override:{head_sha}", self._sealed(pull, word))

    def contest(self, pull: PullRef, head_sha: Sha, word: Contest) -> None:
        """Have this head judged anew, with this reason."""
        open_ = (f"contested:{head_sha}", word.at.isoformat())
        self._write(pull, f"contest:{head_sha}", self._sealed(pull, word), *open_)

    def force(self, pull: PullRef, head_sha: Sha, at: datetime) -> None:
        """Have this head judged anew."""
        self._write(pull, f"forced:{head_sha}", at.isoformat())

    def review(self, pull: PullRef, head_sha: Sha, word: Reviewed) -> None:
        """A code owner reviewed this head; the newest word stands."""
        self._write(pull, f"review:{head_sha}", self._sealed(pull, word))

    def dismissed(self, pull: PullRef, review: ReviewRef) -> Dismissed | None:
        """By whom this review was dismissed; None: it was not, as far as we heard."""
        place = keys.decisions(pull).name
        return self._opened(self._wire.call("HGET", place, f"gone:{review.id}"), place, Dismissed)

    def dismiss(self, pull: PullRef, review: ReviewRef, word: Dismissed) -> None:
        """This review is dismissed: we may hear of that before we looked into the review."""
        self._write(pull, f"gone:{review.id}", self._sealed(pull, word), is_first=True)

    def withdraw(self, pull: PullRef, head_sha: Sha, word: Dismissed) -> None:
        """The review that decided about this head does so no more. An earlier version sees that there is none."""
        self._write(pull, f"dismissed:{head_sha}", self._sealed(pull, word), f"review:{head_sha}", "")

    def judged(self, pull: PullRef, head_sha: Sha, said: Said) -> None:
        """What was asked for by then was done."""
        fields = {"contested": said.contested_at, "forced": said.forced_at}
        done = [part for name, at in fields.items() if at for part in (f"{name}:{head_sha}", at.isoformat())]
        if done:
            run(self._wire, Script.DECIDED, [keys.decisions(pull)], *done)

    def called(self, pull: PullRef) -> tuple[str, ...] | None:
        """Who was asked to review this pull request; None: nobody was asked yet."""
        place = keys.decisions(pull).name
        sealed = self._wire.call("HGET", place, CALLED)
        return tuple(self._codec.open(blob(sealed), place).decode().split()) if sealed else None

    def call(self, pull: PullRef, names: tuple[str, ...]) -> None:
        """These were asked, and nobody is asked again."""
        sealed = self._codec.seal(" ".join(names).encode(), keys.decisions(pull).name)
        self._write(pull, CALLED, sealed, is_first=True)

    def is_labelled(self, pull: PullRef) -> bool:
        """Whether this pull request was given the label of its repository, where nobody is asked."""
        return bool(self._wire.call("HGET", keys.decisions(pull).name, LABELLED))

    def label(self, pull: PullRef) -> None:
        """It was, and is not given it again: whoever took it off meant it."""
        self._write(pull, LABELLED, "1", is_first=True)

    def is_vouched(self, pull: PullRef) -> bool:
        """Whether an account with write access asked for a judging of this pull request."""
        return bool(self._wire.call("HGET", keys.decisions(pull).name, VOUCHED))

    def vouch(self, pull: PullRef) -> None:
        """One did: a model may be asked about it, whoever wrote it."""
        self._write(pull, VOUCHED, "1", is_first=True)

    def begins(self, pull: PullRef, act: str, delivery: DeliveryId, at: datetime) -> datetime | None:
        """Since when this is being done, by this delivery's errand; None: another one's did the very same."""
        field = f"did:{_digest(act)}"
        if self._write(pull, field, f"{at.isoformat()} {delivery}", is_first=True):
            return at
        began, _, by = text(self._wire.call("HGET", keys.decisions(pull).name, field)).partition(" ")
        return datetime.fromisoformat(began) if by == delivery else None

    def arrived(self, pull: PullRef) -> Arrival | None:
        """Which head came last, and when we first heard of it."""
        head, came = map(text, items(self._wire.call("HMGET", keys.pull(pull).name, "head", "came")))
        return Arrival(head_sha=head, at=datetime.fromisoformat(came)) if head and came else None

    def answers(self, pull: PullRef, what: str, delivery: DeliveryId) -> bool:
        """Whether this is to be answered in words."""
        key = keys.answered(pull)
        most = (MOST_ANSWERS, lifetime_s(key))
        return bool(run(self._wire, Script.ANSWER_ONCE, [key], _digest(what), delivery, *most))

    def _write(self, pull: PullRef, field: str, value: str | bytes, *more: str, is_first: bool = False) -> bool:
        on, said = [keys.pull(pull), keys.ledger(pull), keys.decisions(pull)], (field, value, *more)
        return run(self._wire, Script.DECIDE, on, MOST_WORDS, int(is_first), *said) == 1

    def _sealed(self, pull: PullRef, word: Spoken) -> bytes:
        return self._codec.seal(word.model_dump_json().encode(), keys.decisions(pull).name)

    def _opened(self, sealed: Reply, place: str, kind: type[Word]) -> Word | None:
        return kind.model_validate_json(self._codec.open(blob(sealed), place), extra="ignore") if sealed else None


def _time(said: Reply) -> datetime | None:
    return datetime.fromisoformat(text(said)) if said else None


def _digest(what: str) -> str:
    return hashlib.sha256(what.encode()).hexdigest()[:32]
