"""Encrypted and small documents: configurations, human decisions, demotions, notes, rubric versions, SARIF uploads.

A last good configuration is kept per base and only used there: a user who may push to any branch could otherwise set
the rules of all others.
"""

import hashlib
import logging
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Final, TypeVar

from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import (
    RedisClient,
    Reply,
    blob,
    field_values,
    find_server_time,
    items,
    read_json,
    text,
    whole,
)
from worker.adapters.redis.connection.transactions import (
    Command,
    Operation,
    RedisPart,
    Transaction,
    in_transaction,
    run,
    write_all,
)
from worker.adapters.redis.encryption_and_tokens import SealedPart
from worker.adapters.redis.judging.intake import expire_with_ledger, set_window
from worker.adapters.redis.judging.state import load
from worker.adapters.redis.records import find_repositories
from worker.domain.check.author_comment import CommentRecord
from worker.domain.check.check_run import UploadedSarif, UploadRefusal
from worker.domain.check.overrides import (
    Contest,
    HumanDecision,
    HumanDecisions,
    Override,
    ReviewDecision,
    ReviewDismissal,
)
from worker.domain.dossier import ConfigOrigin
from worker.domain.judge_request import FirstSeen, PullRef, ReviewRef
from worker.domain.model import BaseHash, DeliveryId, InstallationId, RepositoryId, Sha
from worker.domain.verdict.audit import rubric_digest
from worker.domain.verdict.events import Demotion
from worker.domain.verdict.verdict import VersionedRubric
from worker.errors import RubricRefused, Unreadable

LOG: Final = logging.getLogger(__name__)


class RedisConfigs(SealedPart):
    """The Configs port. All methods raise Unavailable and are idempotent."""

    def exchange(
        self, pull: PullRef, base: BaseHash, good: Mapping[ConfigOrigin, str], broken: Collection[ConfigOrigin]
    ) -> Mapping[ConfigOrigin, str]:
        """Store the good texts, delete those of removed files, and return the last good ones of the broken, if any."""
        bases = {ConfigOrigin.REPOSITORY: base}  # the owner's default is one file for all
        ids = pull.installation_id, pull.repository_id
        locations = {origin: keys.config(*ids, bases.get(origin)) for origin in ConfigOrigin}
        reads = [("HMGET", key.name, str(origin), _digest_field(origin)) for origin, key in locations.items()]
        stored = map(items, self._client.pipeline(reads))
        writes, last_good = list[Command](), dict[ConfigOrigin, str]()
        for (origin, key), (sealed, digest) in zip(locations.items(), stored, strict=True):
            plain = good[origin].encode() if origin in good else None
            if plain is None and origin not in broken:
                writes.append(("HDEL", key.name, str(origin), _digest_field(origin)))
            elif plain is None:
                last_good |= self._open_config(origin, key, sealed)
            elif text(digest) != (new_digest := hashlib.sha256(plain).hexdigest()):
                new = self._codec.seal(plain, key.name)
                writes.append(("HSET", key.name, str(origin), new, _digest_field(origin), new_digest))
            writes.append(("EXPIRE", key.name, key.seconds))
        write_all(self._client, *writes)
        return last_good

    def store_quiet_window(self, pull: PullRef, base: BaseHash, quiet_window: float | None) -> None:
        """Store the quiet window for the web, which reads no configuration."""
        set_window(self._client, pull.installation_id, pull.repository_id, base, quiet_window)

    def _open_config(self, origin: ConfigOrigin, key: keys.Key, sealed: Reply) -> dict[ConfigOrigin, str]:
        """Decrypt a stored text. An unreadable one counts as missing: the defaults apply, and the check run mentions it."""
        try:
            return {origin: self._codec.open(blob(sealed), key.name).decode()} if sealed else {}
        except Unreadable as error:
            LOG.warning("last valid configuration unreadable: %s", error)
            return {}


def _digest_field(origin: ConfigOrigin) -> str:
    return f"{origin}:of"


SpokenT = TypeVar("SpokenT", bound=HumanDecision)

MOST_WORDS: Final = 1_000
"""Limit of one pull request's fields: only users with write access add them."""

MOST_ANSWERS: Final = 20
"""Limit of answers at one pull request in a month; after it there is only the reaction."""

FIELDS: Final = ("override", "contest", "review", "contested", "forced", "dismissed")
REBASED_FIELD: Final = "rebased"
"""Time of the last change of base, in milliseconds, written at the intake."""

REVIEWERS_FIELD: Final = "called"
LABELLED_FIELD: Final = "labelled"
VOUCHED_FIELD: Final = "vouched"


class RedisDecisions(SealedPart):
    """Human decisions in Redis. All methods raise Unavailable and are idempotent."""

    def find_decisions(self, pull: PullRef, head_sha: Sha) -> HumanDecisions:
        """Decisions about this head. An override depends on the head's changes, so it ends with a change of base."""
        name = keys.decisions(pull).name
        stored = self._client.call("HMGET", name, REBASED_FIELD, *(f"{field}:{head_sha}" for field in FIELDS))
        rebased, override, contest, review, contested, forced, dismissed = items(stored)
        passed, since = self._open_decision(override, name, Override), float(text(rebased) or 0) / 1000
        return HumanDecisions(
            override=passed if passed and passed.at.timestamp() >= since else None,
            contest=self._open_decision(contest, name, Contest),
            review=self._open_decision(review, name, ReviewDecision),
            contested_at=_time(contested),
            forced_at=_time(forced),
            dismissed=None if review else self._open_decision(dismissed, name, ReviewDismissal),
        )

    def override(self, pull: PullRef, head_sha: Sha, decision: Override) -> bool:
        """Override this head; False: an earlier override stays in force."""
        if self.find_decisions(pull, head_sha).override is not None:
            return False
        return self._write(pull, f"override:{head_sha}", self._seal_decision(pull, decision))

    def contest(self, pull: PullRef, head_sha: Sha, decision: Contest) -> None:
        """Request a rejudging of this head, with a reason."""
        open_ = (f"contested:{head_sha}", decision.at.isoformat())
        self._write(pull, f"contest:{head_sha}", self._seal_decision(pull, decision), *open_)

    def force(self, pull: PullRef, head_sha: Sha, at: datetime) -> None:
        """Request a rejudging of this head."""
        self._write(pull, f"forced:{head_sha}", at.isoformat())

    def review(self, pull: PullRef, head_sha: Sha, decision: ReviewDecision) -> None:
        """Record a code owner's review of this head; the newest one counts."""
        self._write(pull, f"review:{head_sha}", self._seal_decision(pull, decision))

    def find_dismissal(self, pull: PullRef, review: ReviewRef) -> ReviewDismissal | None:
        """Find the dismissal of this review; None: not dismissed, as far as recorded."""
        name = keys.decisions(pull).name
        return self._open_decision(self._client.call("HGET", name, f"gone:{review.id}"), name, ReviewDismissal)

    def dismiss(self, pull: PullRef, review: ReviewRef, decision: ReviewDismissal) -> None:
        """Record a dismissal, which may arrive before its review is processed."""
        self._write(pull, f"gone:{review.id}", self._seal_decision(pull, decision), is_first=True)

    def withdraw(self, pull: PullRef, head_sha: Sha, decision: ReviewDismissal) -> None:
        """Withdraw the review that decides about this head. An earlier version sees that there is none."""
        self._write(pull, f"dismissed:{head_sha}", self._seal_decision(pull, decision), f"review:{head_sha}", "")

    @in_transaction
    def record_judged(
        self, transaction: Transaction, pull: PullRef, head_sha: Sha, decisions: HumanDecisions
    ) -> Operation[None]:
        """Record that the rejudgings requested up to now are done."""
        times = {"contested": decisions.contested_at, "forced": decisions.forced_at}
        done = {f"{name}:{head_sha}": at.isoformat() for name, at in times.items() if at}
        if not done:
            return
        key = keys.decisions(pull).name
        (stored,) = yield from transaction.read(("HMGET", key, *done))
        for (field, at), value in zip(done.items(), map(text, items(stored)), strict=True):
            if value == at:  # else it was requested again meanwhile
                transaction.write("HDEL", key, field)

    def find_requested_reviewers(self, pull: PullRef) -> tuple[str, ...] | None:
        """Requested reviewers of this pull request; None: none were requested yet."""
        name = keys.decisions(pull).name
        sealed = self._client.call("HGET", name, REVIEWERS_FIELD)
        return tuple(self._codec.open(blob(sealed), name).decode().split()) if sealed else None

    def record_requested_reviewers(self, pull: PullRef, names: tuple[str, ...]) -> None:
        """Record the reviewers, so that nothing is requested twice."""
        sealed = self._codec.seal(" ".join(names).encode(), keys.decisions(pull).name)
        self._write(pull, REVIEWERS_FIELD, sealed, is_first=True)

    def is_labelled(self, pull: PullRef) -> bool:
        """Whether Assay added the repository's label because there was no reviewer."""
        return bool(self._client.call("HGET", keys.decisions(pull).name, LABELLED_FIELD))

    def record_labelled(self, pull: PullRef) -> None:
        """Record the label, so that it is not added after a person removes it."""
        self._write(pull, LABELLED_FIELD, "1", is_first=True)

    def is_vouched(self, pull: PullRef) -> bool:
        """Whether an account with write access asked for a judging of this pull request."""
        return bool(self._client.call("HGET", keys.decisions(pull).name, VOUCHED_FIELD))

    def mark_vouched(self, pull: PullRef) -> None:
        """Record a request by an account with write access: a model may be asked, whatever the author's role."""
        self._write(pull, VOUCHED_FIELD, "1", is_first=True)

    def claim_action(self, pull: PullRef, act: str, delivery: DeliveryId, at: datetime) -> datetime | None:
        """Claim an action for this delivery's task and return its start; None: another delivery's task has it."""
        field = f"did:{_digest(act)}"
        if self._write(pull, field, f"{at.isoformat()} {delivery}", is_first=True):
            return at
        began, _, by = text(self._client.call("HGET", keys.decisions(pull).name, field)).partition(" ")
        return datetime.fromisoformat(began) if by == delivery else None

    def newest_arrival(self, pull: PullRef) -> FirstSeen | None:
        """The newest head, and when it was first seen."""
        head, came = map(text, items(self._client.call("HMGET", keys.pull(pull).name, "head", "came")))
        return FirstSeen(head_sha=head, at=datetime.fromisoformat(came)) if head and came else None

    @in_transaction
    def claim_answer(self, transaction: Transaction, pull: PullRef, what: str, delivery: DeliveryId) -> Operation[bool]:
        """Whether to answer in text: not twice about the same, and not beyond the limit."""
        key, topic = keys.answered_topics(pull), _digest(what)
        answered_for, count = yield from transaction.read(("HGET", key.name, topic), ("HLEN", key.name))
        if answered_for is not None:
            return text(answered_for) == delivery
        if whole(count) >= MOST_ANSWERS:
            return False
        transaction.write("HSET", key.name, topic, delivery)
        transaction.write("EXPIRE", key.name, key.seconds)
        return True

    @in_transaction
    def _write(
        self,
        transaction: Transaction,
        pull: PullRef,
        field: str,
        value: str | bytes,
        *more: str,
        is_first: bool = False,
    ) -> Operation[bool]:
        """Write a decision with *more* fields. *is_first*: unless it was written before. False: it was, or there are too many."""
        name = keys.decisions(pull).name
        count, is_written = yield from transaction.read(("HLEN", name), ("HEXISTS", name, field))
        if (whole(count) >= MOST_WORDS and not is_written) or (is_first and is_written):
            return False
        state = yield from load(transaction, pull)
        (ledger_expires_at,) = yield from transaction.read(("PEXPIRETIME", keys.ledger(pull).name))
        transaction.write("HSET", name, field, value, *more)
        expire_with_ledger(transaction, name, whole(ledger_expires_at), state.ends_at)
        return True

    def _seal_decision(self, pull: PullRef, decision: HumanDecision) -> bytes:
        return self._seal(decision, keys.decisions(pull).name)

    def _open_decision(self, sealed: Reply, key_name: str, kind: type[SpokenT]) -> SpokenT | None:
        return self._open(kind, sealed, key_name) if sealed else None


def _time(reply: Reply) -> datetime | None:
    return datetime.fromisoformat(text(reply)) if reply else None


def _digest(what: str) -> str:
    return hashlib.sha256(what.encode()).hexdigest()[:32]


class RedisDemotions(RedisPart):
    """Demotions in Redis. All methods raise Unavailable and are idempotent."""

    def list_demotions(self, installation: InstallationId) -> tuple[Demotion, ...]:
        """All demotions in force, by name."""
        stored = items(self._client.call("HVALS", keys.demotions(installation).name))
        demotions = (read_json(Demotion, blob(demotion)) for demotion in stored)
        return tuple(sorted(demotions, key=lambda demotion: demotion.signal))

    def signals(self, installation: InstallationId) -> frozenset[str]:
        return frozenset(text(name) for name in items(self._client.call("HKEYS", keys.demotions(installation).name)))

    def demote(self, installation: InstallationId, demotion: Demotion) -> bool:
        """Demote a signal; False: it is already demoted."""
        key = keys.demotions(installation).name
        return self._client.call("HSETNX", key, demotion.signal, demotion.model_dump_json()) == 1

    def promote(self, installation: InstallationId, signal: str) -> bool:
        """Promote a signal; False: it was not demoted. Its rejects are counted from now on in both cases."""
        promoted_at = round(find_server_time(self._client))
        promotion = ("HSET", keys.promotions(installation).name, signal, promoted_at)
        _, removed = self._client.pipeline([promotion, ("HDEL", keys.demotions(installation).name, signal)])
        return removed == 1

    def promotion_times(self, installation: InstallationId) -> dict[str, datetime]:
        """Time of the last promotion of each signal."""
        stored = field_values(self._client.call("HGETALL", keys.promotions(installation).name))
        return {signal: datetime.fromtimestamp(whole(at) / 1000, UTC) for signal, at in stored.items()}


class RedisNotes(RedisPart):
    """The Notes port."""

    def find_record(self, pull: PullRef) -> CommentRecord | None:
        stored = self._client.call("GET", keys.note(pull).name)
        return read_json(CommentRecord, text(stored)) if stored else None

    def put(self, pull: PullRef, record: CommentRecord) -> None:
        write_note(self._client, pull, keys.note(pull), record.model_dump_json())


def write_note(client: RedisClient, pull: PullRef, key: keys.Key, note: str) -> None:
    """Store a note about a pull request, unless it was forgotten."""

    def write(transaction: Transaction) -> Operation[None]:
        (is_known,) = yield from transaction.read(("EXISTS", keys.pull(pull).name))
        if is_known:
            transaction.write("SET", key.name, note, "EX", key.seconds)

    run(client, write)


class RubricVersions(RedisPart):
    """Known rubric versions. Raises Unavailable."""

    def admit(self, rubric: VersionedRubric, name: str = "") -> None:
        """Record the rubric of *name* (a file's). Raises RubricRefused for a version with other content."""
        if refusal := self.refusal(rubric, name):
            raise RubricRefused(refusal)

    def refusal(self, rubric: VersionedRubric, name: str = "") -> str | None:
        """Record the rubric. Return why it can't be used, in a sentence, or None."""
        record = ("HSETNX", keys.RUBRICS.name, _version(rubric), rubric_digest(rubric))
        _, digest = self._client.pipeline([record, ("HGET", keys.RUBRICS.name, _version(rubric))])
        return _refusal(rubric, text(digest), name)

    def check(self, rubric: VersionedRubric, name: str = "") -> str | None:
        """Check as `refusal` does, without recording."""
        digest = self._client.call("HGET", keys.RUBRICS.name, _version(rubric))
        return _refusal(rubric, text(digest), name) if digest else None


def _version(rubric: VersionedRubric) -> str:
    return f"{rubric.id}@{rubric.version}"


def is_version_reused(first: VersionedRubric, other: VersionedRubric) -> bool:
    """Whether two contents have the same version."""
    return _version(first) == _version(other) and rubric_digest(first) != rubric_digest(other)


def _refusal(rubric: VersionedRubric, stored: str, name: str) -> str | None:
    if stored == rubric_digest(rubric):
        return None
    which = name or f'The rubric "{rubric.id}"'
    return (
        f'{which} was changed but still says version "{rubric.version}": raise it. '
        f'Verdicts are on record that name "{rubric.id}" {rubric.version} and were made by other rules.'
    )


class RedisScanNotes(RedisPart):
    """The ScanNotes of `worker.publishing.follow_ups`."""

    def last_scan(self, pull: PullRef) -> UploadedSarif | None:
        stored = self._client.call("GET", _key(pull).name)
        return read_json(UploadedSarif, text(stored)) if stored else None

    def note(self, pull: PullRef, scanned: UploadedSarif, refusal: UploadRefusal | None) -> None:
        """Record an upload, the repository's refusal first: after a crash it is retried."""
        refused = keys.scan_note(pull.installation_id, pull.repository_id, None)
        if refusal is None:
            self._client.call("DEL", refused.name)
        else:
            write_note(self._client, pull, refused, refusal)
        key = _key(pull)
        write_note(self._client, pull, key, scanned.model_dump_json())

    def refusal(self, pull: PullRef) -> UploadRefusal | None:
        return self._refusal(pull.installation_id, pull.repository_id)

    def refusals(self, repository: str) -> tuple[UploadRefusal, ...]:
        """Refusals of all repositories ever judged under this name."""
        refusals = (self._refusal(*numbers) for numbers in find_repositories(self._client, repository))
        return tuple(refusal for refusal in refusals if refusal is not None)

    def _refusal(self, installation: InstallationId, repository: RepositoryId) -> UploadRefusal | None:
        """Read a refusal. A value of a later version counts as none."""
        stored = self._client.call("GET", keys.scan_note(installation, repository, None).name)
        code = text(stored) if stored else ""
        return UploadRefusal(code) if code in set(UploadRefusal) else None


def _key(pull: PullRef) -> keys.Key:
    return keys.scan_note(pull.installation_id, pull.repository_id, pull.number)
