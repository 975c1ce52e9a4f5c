"""The last `.github/assay.yml` of a repository, at each base, and of its owner's default, that could be used.

Does not read them. Invariant: texts are stored encrypted, what was good last is what comes back, and what was good at one base
never does at another: whoever may push to any branch could write the rules of all others.
"""

import hashlib
import logging
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime
from typing import Final, TypeVar

from worker.adapters.redis import keys
from worker.adapters.redis.client import Argument, RedisClient, Reply, blob, items, text, whole
from worker.adapters.redis.encryption import Codec
from worker.adapters.redis.intake import lifetime_s, set_window
from worker.adapters.redis.records import find_repositories
from worker.adapters.redis.scripts import Script, run_script
from worker.adapters.redis.versioned_json import read_json
from worker.domain.check.author_comment import CommentRecord
from worker.domain.check.code_scanning import UploadedSarif, UploadRefusal
from worker.domain.check.overrides import (
    Contest,
    HumanDecision,
    HumanDecisions,
    Override,
    ReviewDecision,
    ReviewDismissal,
)
from worker.domain.dossier.dossier import ConfigOrigin
from worker.domain.ids import BaseHash, DeliveryId, InstallationId, RepositoryId, Sha
from worker.domain.request.judge_request import FirstSeen, PullRef, ReviewRef
from worker.domain.verdict.audit import rubric_digest
from worker.domain.verdict.outcomes import Demotion
from worker.domain.verdict.rubric import VersionedRubric
from worker.errors import RubricRefused, Unreadable

LOG: Final = logging.getLogger(__name__)
KEEP, FORGET, ASK = "keep", "forget", "ask"
NOTHING: Final = ("", "")


class RedisConfigs:
    """The Configs port. All methods raise Unavailable, and all may be called twice."""

    def __init__(self, wire: RedisClient, codec: Codec) -> None:
        self._wire = wire
        self._codec = codec

    def exchange(
        self, pull: PullRef, base: BaseHash, good: Mapping[ConfigOrigin, str], broken: Collection[ConfigOrigin]
    ) -> Mapping[ConfigOrigin, str]:
        """Keep these, forget what is no more, and get the last good ones of the broken, as far as there are any."""
        places = {origin: _place(pull, base, origin) for origin in ConfigOrigin}
        orders = [part for origin, key in places.items() for part in self._order(key, origin, good, broken)]
        on = [*places.values()]
        return self._opened(places, run_script(self._wire, Script.CONFIG, on, lifetime_s(on[0]), *orders))

    def store_quiet_window(self, pull: PullRef, base: BaseHash, quiet_window: float | None) -> None:
        """The door reads no configuration."""
        set_window(self._wire, pull.installation_id, pull.repository_id, base, quiet_window)

    def _order(
        self, key: keys.Key, origin: ConfigOrigin, good: Mapping[ConfigOrigin, str], broken: Collection[ConfigOrigin]
    ) -> Iterator[Argument]:
        yield str(origin)
        kept = good.get(origin)
        if kept is not None:
            plain = kept.encode()
            yield from (KEEP, hashlib.sha256(plain).hexdigest(), self._codec.seal(plain, key.name))
        else:
            yield from (ASK if origin in broken else FORGET, *NOTHING)

    def _opened(self, places: Mapping[ConfigOrigin, keys.Key], flat: Reply) -> Mapping[ConfigOrigin, str]:
        pairs = items(flat)
        configs = {ConfigOrigin(text(name)): blob(kept) for name, kept in zip(pairs[::2], pairs[1::2], strict=True)}
        opened: dict[ConfigOrigin, str] = {}
        for origin, kept in configs.items():
            try:
                opened[origin] = self._codec.open(kept, places[origin].name).decode()
            except Unreadable as error:  # as where none was kept: the defaults hold, and the check says so
                LOG.warning("the last configuration that could be used is not known: %s", error)
        return opened


def _place(pull: PullRef, base: BaseHash, origin: ConfigOrigin) -> keys.Key:
    """The owner's default is one file, whatever branch a pull request is to be merged into."""
    at = base if origin is ConfigOrigin.REPOSITORY else None
    return keys.config(pull.installation_id, pull.repository_id, at)


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


class RedisDemotions:
    """The demotions in Redis. All methods raise Unavailable, and all may be called twice."""

    def __init__(self, wire: RedisClient) -> None:
        self._wire = wire

    def list_demotions(self, installation: InstallationId) -> tuple[Demotion, ...]:
        """All that stand, by name."""
        flat = items(self._wire.call("HGETALL", keys.demotions(installation).name))
        return tuple(
            sorted((read_json(Demotion, blob(stored)) for stored in flat[1::2]), key=lambda demotion: demotion.signal)
        )

    def signals(self, installation: InstallationId) -> frozenset[str]:
        return frozenset(text(name) for name in items(self._wire.call("HKEYS", keys.demotions(installation).name)))

    def demote(self, installation: InstallationId, demotion: Demotion) -> bool:
        """False: it is a suspicion already."""
        note = demotion.model_dump_json()
        return whole(run_script(self._wire, Script.DEMOTE, [keys.demotions(installation)], demotion.signal, note)) == 1

    def promote(self, installation: InstallationId, signal: str) -> bool:
        """False: it was a fact already; its rejects are counted from now on all the same."""
        on = [keys.demotions(installation), keys.promotions(installation)]
        return whole(run_script(self._wire, Script.PROMOTE, on, signal)) == 1

    def promotion_times(self, installation: InstallationId) -> dict[str, datetime]:
        """When a person promoted which signal the last time."""
        flat = [text(part) for part in items(self._wire.call("HGETALL", keys.promotions(installation).name))]
        pairs = zip(flat[::2], flat[1::2], strict=True)
        return {signal: datetime.fromtimestamp(int(at) / 1000, UTC) for signal, at in pairs}


class RedisNotes:
    """The Notes port."""

    def __init__(self, wire: RedisClient) -> None:
        self._wire = wire

    def find_record(self, pull: PullRef) -> CommentRecord | None:
        stored = self._wire.call("GET", keys.note(pull).name)
        return read_json(CommentRecord, text(stored)) if stored else None

    def put(self, pull: PullRef, record: CommentRecord) -> None:
        key = keys.note(pull)
        run_script(self._wire, Script.NOTE, [key, keys.pull(pull)], record.model_dump_json(), lifetime_s(key))


class RubricVersions:
    """The versions that this store has seen. Raises Unavailable."""

    def __init__(self, wire: RedisClient) -> None:
        self._wire = wire

    def admit(self, rubric: VersionedRubric, name: str = "") -> None:
        """Remember the rubric of *name* (a file's). Raises RubricRefused where its version stands for another content."""
        if refusal := self.refusal(rubric, name):
            raise RubricRefused(refusal)

    def refusal(self, rubric: VersionedRubric, name: str = "") -> str | None:
        """Why this rubric can't be used, in a sentence; None: it may, and its version is remembered."""
        digest = run_script(self._wire, Script.RUBRIC_KNOWN, [keys.RUBRICS], _version(rubric), rubric_digest(rubric))
        return _refusal(rubric, text(digest), name)

    def check(self, rubric: VersionedRubric, name: str = "") -> str | None:
        """The same, and nothing is remembered."""
        digest = self._wire.call("HGET", keys.RUBRICS.name, _version(rubric))
        return _refusal(rubric, text(digest), name) if digest else None


def _version(rubric: VersionedRubric) -> str:
    return f"{rubric.id}@{rubric.version}"


def is_version_reused(first: VersionedRubric, other: VersionedRubric) -> bool:
    """Whether two contents have one version."""
    return _version(first) == _version(other) and rubric_digest(first) != rubric_digest(other)


def _refusal(rubric: VersionedRubric, stored: str, name: str) -> str | None:
    if stored == rubric_digest(rubric):
        return None
    which = name or f'The rubric "{rubric.id}"'
    return (
        f'{which} was changed but still says version "{rubric.version}": raise it. '
        f'Verdicts are on record that name "{rubric.id}" {rubric.version} and were made by other rules.'
    )


class RedisScanNotes:
    """The ScanNotes of `worker.publishing.code_scanning`."""

    def __init__(self, wire: RedisClient) -> None:
        self._wire = wire

    def last_scan(self, pull: PullRef) -> UploadedSarif | None:
        stored = self._wire.call("GET", _key(pull).name)
        return read_json(UploadedSarif, text(stored)) if stored else None

    def note(self, pull: PullRef, scanned: UploadedSarif, refusal: UploadRefusal | None) -> None:
        """The repository's word first: whoever dies in between tries once more."""
        refused = keys.scan_note(pull.installation_id, pull.repository_id, None)
        if refusal is None:
            self._wire.call("DEL", refused.name)
        else:
            run_script(self._wire, Script.NOTE, [refused, keys.pull(pull)], refusal, lifetime_s(refused))
        key = _key(pull)
        run_script(self._wire, Script.NOTE, [key, keys.pull(pull)], scanned.model_dump_json(), lifetime_s(key))

    def refusal(self, pull: PullRef) -> UploadRefusal | None:
        return self._refusal(pull.installation_id, pull.repository_id)

    def refusals(self, repository: str) -> tuple[UploadRefusal, ...]:
        """Of all that was ever judged under this name."""
        refusals = (self._refusal(*numbers) for numbers in find_repositories(self._wire, repository))
        return tuple(refusal for refusal in refusals if refusal is not None)

    def _refusal(self, installation: InstallationId, repository: RepositoryId) -> UploadRefusal | None:
        """A word that only a later version knows is none that this one can tell."""
        stored = self._wire.call("GET", keys.scan_note(installation, repository, None).name)
        word = text(stored) if stored else ""
        return UploadRefusal(word) if word in set(UploadRefusal) else None


def _key(pull: PullRef) -> keys.Key:
    return keys.scan_note(pull.installation_id, pull.repository_id, pull.number)
