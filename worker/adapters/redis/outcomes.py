"""Outcomes of pull requests, on the installation's stream and per pull request, and the pending outcome verdicts.

An outcome is published, listed and counted together, once under its name. After a crash a verdict is made again under the
same id. All deciding times are Redis' own, since clocks of other processes may differ.
"""

import hashlib
import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import (
    RedisClient,
    blob,
    find_server_time,
    items,
    member_scores,
    read_json,
    text,
    whole,
)
from worker.adapters.redis.connection.transactions import Operation, Transaction, in_transaction, read_due, write_all
from worker.adapters.redis.encryption_and_tokens import Codec, SealedPart
from worker.adapters.redis.judging.intake import add_item, milliseconds, rules_at
from worker.adapters.redis.judging.state import load, save
from worker.adapters.redis.keys import PULL_REQUEST_EVENTS
from worker.adapters.redis.ledger_and_events import append_event
from worker.domain.github_events import PullRequestEvent, PullRequestEventKind, hash_issue
from worker.domain.judge_request import PullRef
from worker.domain.lifecycle.work import DuePullRequest
from worker.domain.model import BaseHash, DeliveryId, EvalId, InstallationId, RepositoryId, Sha
from worker.domain.verdict.events import Outcome, OutcomeKind, outcome_event
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import Accept
from worker.settings import Timing

FINAL_OUTCOMES: Final = frozenset({OutcomeKind.MERGED, OutcomeKind.CLOSED_UNMERGED})
"""Outcomes after which nothing more is expected of a pull request."""

LOOKED_AT: Final = 20
"""Due pull requests of which the first is taken whose watch has not expired."""

MOST_MERGES: Final = 100
"""Earlier merges that a fix is compared with."""


class RedisOutcomes(SealedPart):
    """Outcomes in Redis. *most*: events after which an outcome verdict is due."""

    def __init__(
        self, client: RedisClient, codec: Codec, timing: Timing, most: int, event_retention: timedelta
    ) -> None:
        super().__init__(client, codec)
        self._window_ms = milliseconds(timing.lookahead)
        self._hold_ms = milliseconds(timing.open_hold)
        self._most = most
        self._event_retention_ms = int(event_retention.total_seconds() * 1000)

    @in_transaction
    def begin_submission(
        self, transaction: Transaction, pull: PullRef, author: str, base: BaseHash, issues: tuple[tuple[str, int], ...]
    ) -> Operation[bool]:
        """Record base and issues of a submission before its judging, so that edits of them find it.

        Its model cost is charged to its author, under a hash of the name.

        False: one was edited during the read and missed this submission.
        """
        installation, repository, member = (
            pull.installation_id,
            pull.repository_id,
            f"{pull.repository_id}:{pull.number}",
        )
        marks = [hash_issue(*issue) for issue in issues]
        bases = keys.judged_bases(installation, repository, base)
        lists = [(bases, str(pull.number), keys.last_change(installation, rules_at(repository, base)))]
        lists += [
            (keys.issue_pulls(installation, mark), member, keys.last_change(installation, mark)) for mark in marks
        ]
        state = yield from load(transaction, pull)
        for index, name, changed in lists:
            listed, number = yield from transaction.read(("ZSCORE", index.name, name), ("GET", changed.name))
            if listed is None and whole(number) > (state.fence or 0):
                return False
        for at, (index, name, _) in enumerate(lists):
            transaction.write("ZADD", index.name, *(("NX", 0) if at else (transaction.now,)), name)
            transaction.write("EXPIRE", index.name, index.seconds)
        if state.seq is not None:  # else it was forgotten meanwhile
            author_hash = _hash(author.casefold())[:16]
            save(transaction, pull, state, state._replace(judged_by=" ".join((base, *marks)), author=author_hash))
        return True

    @in_transaction
    def add_verdict(
        self, transaction: Transaction, pull: PullRef, entry: LedgerEntry, issues: tuple[tuple[str, int], ...]
    ) -> Operation[None]:
        """Watch a submission from its verdict on. Idempotent."""
        event = PullRequestEvent(
            what=PullRequestEventKind.JUDGED,
            installation_id=pull.installation_id,
            repository_id=pull.repository_id,
            number=pull.number,
            delivery_id=DeliveryId(f"judged-{_hash(entry.eval_id)}"),
            at=entry.created_at,
            head_sha=entry.head_sha,
            issues=tuple(hash_issue(*issue) for issue in issues),
        )
        marker, commit = keys.received_event(event.delivery_id), self._commit(pull, entry.head_sha)
        watch, watch_s = keys.watch(pull).name, keys.watch(pull).seconds
        if not (yield from transaction.mark_once(marker)):
            return
        transaction.write("HSET", watch, "pull", pull.model_dump_json(), "events", 0)
        transaction.write("HDEL", watch, "made", "next", "counted")
        transaction.write("HINCRBY", watch, "turn", 1)
        transaction.write("EXPIRE", watch, watch_s)
        transaction.write("ZADD", keys.LOOKAHEAD.name, transaction.now + self._window_ms, watch)
        if isinstance(entry.verdict, Accept):
            transaction.write("SET", commit.name, pull.number, "EX", commit.seconds)
        if issues:
            item = (event.delivery_id, event.model_dump_json())
            add_item(transaction, PULL_REQUEST_EVENTS, *item)

    @in_transaction
    def publish(
        self, transaction: Transaction, pull: PullRef, name: str, outcome: Outcome | None, *, is_event: bool
    ) -> Operation[None]:
        """Publish an outcome, once under this *name*. None: only a person's action, counted as an event."""
        published, listed = keys.published_event(pull.installation_id, name), keys.outcomes(pull)
        if not (yield from transaction.mark_once(published)):
            return
        if outcome is not None:
            event, stream = outcome_event(pull, outcome), keys.events(pull.installation_id).name
            append_event(transaction, stream, self._event_retention_ms, event.kind, event.dump())
            transaction.write("RPUSH", listed.name, outcome.model_dump_json())
            transaction.write("EXPIRE", listed.name, listed.seconds)
        yield from self._count(transaction, keys.watch(pull), outcome, is_event=is_event)

    def _count(
        self, transaction: Transaction, watch: keys.Key, outcome: Outcome | None, *, is_event: bool
    ) -> Operation[None]:
        """Count an event at a watched pull request, and move the time of its outcome verdict."""
        stored, made, count, due_at = yield from transaction.read(
            ("EXISTS", watch.name),
            ("HEXISTS", watch.name, "made"),
            ("HGET", watch.name, "events"),
            ("ZSCORE", keys.LOOKAHEAD.name, watch.name),
        )
        if not stored:
            return
        transaction.write("EXPIRE", watch.name, watch.seconds)
        transaction.write("HINCRBY", watch.name, "events", int(is_event))
        is_end = outcome is not None and outcome.kind in FINAL_OUTCOMES
        is_due = outcome is not None if made else is_end or whole(count) + is_event >= self._most
        now, due = transaction.now, transaction.now if due_at is None else float(text(due_at))
        if is_due:
            transaction.write("ZADD", keys.LOOKAHEAD.name, min(due, now), watch.name)
        elif due > now:
            transaction.write("ZADD", keys.LOOKAHEAD.name, now + self._window_ms, watch.name)

    def outcomes_of(self, pull: PullRef) -> tuple[Outcome, ...]:
        """Outcomes of a pull request, in order."""
        listed = items(self._client.call("LRANGE", keys.outcomes(pull).name, 0, -1))
        return tuple(read_json(Outcome, text(outcome)) for outcome in listed)

    # Lookups by commit, merge and issue

    def pull_of(self, installation: InstallationId, repository: RepositoryId, sha: Sha) -> PullRef | None:
        """Find the pull request with this commit as accepted head or merge."""
        number = self._client.call("GET", keys.commit(installation, repository, sha).name)
        if not number:
            return None
        return PullRef(installation_id=installation, repository_id=repository, number=int(text(number)))

    def add_merge(self, pull: PullRef, merge_sha: Sha | None, lines: Mapping[str, tuple[str, ...]]) -> None:
        """Record for a while a merge and the hashes of its changed lines."""
        added, merges = keys.merged_lines(pull), keys.merges(pull.installation_id, pull.repository_id)
        sealed = self._codec.seal(json.dumps(dict(lines)).encode(), added.name)
        commits = [self._commit(pull, merge_sha)] if merge_sha else []
        now, merges_s = find_server_time(self._client), merges.seconds
        write_all(
            self._client,
            ("SET", added.name, sealed, "NX", "EX", added.seconds),
            ("ZADD", merges.name, "NX", now, pull.number),
            ("ZREMRANGEBYSCORE", merges.name, "-inf", now - merges_s * 1000),
            ("EXPIRE", merges.name, merges_s),
            *(("SET", commit.name, pull.number, "NX", "EX", added.seconds) for commit in commits),
        )

    def merged_lines(self, pull: PullRef) -> dict[str, frozenset[str]] | None:
        """Hashes of the lines that a merged pull request changed; None: not merged, or expired."""
        key = keys.merged_lines(pull).name
        sealed = self._client.call("GET", key)
        if not sealed:
            return None
        return {path: frozenset(hashes) for path, hashes in json.loads(self._codec.open(blob(sealed), key)).items()}

    def earlier_merges(self, pull: PullRef) -> tuple[PullRef, ...]:
        """Other pull requests of this repository that were merged lately, newest first."""
        name = keys.merges(pull.installation_id, pull.repository_id).name
        newest = [int(text(number)) for number in items(self._client.call("ZRANGE", name, 0, MOST_MERGES, "REV"))]
        return tuple(_beside(pull, number) for number in newest if number != pull.number)

    @in_transaction
    def competing_pulls(self, transaction: Transaction, pull: PullRef, issue: str) -> Operation[tuple[PullRef, ...]]:
        """Others of its repository that close this issue and had their first verdict earlier."""
        key, own = keys.issue_pulls(pull.installation_id, issue), f"{pull.repository_id}:{pull.number}"
        (stored,) = yield from transaction.read(("ZRANGE", key.name, 0, -1, "WITHSCORES"))
        first_verdicts = dict(member_scores(stored))
        judged_at = first_verdicts.get(own) or transaction.now
        if not first_verdicts.get(own):
            transaction.write("ZADD", key.name, judged_at, own)
        transaction.write("EXPIRE", key.name, key.seconds)
        earlier = [member.split(":") for member, at in first_verdicts.items() if 0 < at < judged_at]
        return tuple(_beside(pull, int(number)) for repo, number in earlier if int(repo) == pull.repository_id)

    def newest_head(self, pull: PullRef) -> Sha | None:
        """The head that the newest event named."""
        return text(self._client.call("HGET", keys.pull(pull).name, "head")) or None

    # The outcome verdict

    @in_transaction
    def next_due(self, transaction: Transaction) -> Operation[DuePullRequest | None]:
        """Take the next pull request with a due outcome verdict, for the hold."""
        for watch in (yield from read_due(transaction, keys.LOOKAHEAD, LOOKED_AT)):
            (stored,) = yield from transaction.read(("HMGET", watch, "pull", "turn", "made"))
            pull, turn, made = items(stored)
            if pull is not None:
                transaction.write("ZADD", keys.LOOKAHEAD.name, transaction.now + self._hold_ms, watch)
                return DuePullRequest(read_json(PullRef, text(pull)), whole(turn), made is not None)
            transaction.write("ZREM", keys.LOOKAHEAD.name, watch)
        return None

    @in_transaction
    def claim(
        self, transaction: Transaction, pull: PullRef, eval_id: EvalId, outcomes: int
    ) -> Operation[EvalId | None]:
        """Id of the verdict on this many outcomes: *eval_id*, or that of a crashed attempt. None: already recorded."""
        watch = keys.watch(pull).name
        is_watched, claimed = yield from transaction.read(("EXISTS", watch), ("HGET", watch, "next"))
        if not is_watched:
            return None
        verdict = EvalId(text(claimed) or eval_id)
        (is_recorded,) = yield from transaction.read(("HEXISTS", keys.ledger(pull).name, verdict))
        transaction.write("HSET", watch, "next", verdict)
        if is_recorded:
            return None
        transaction.write("HSET", watch, "counted", outcomes)
        return verdict

    @in_transaction
    def complete(self, transaction: Transaction, due: DuePullRequest) -> Operation[None]:
        """Complete a due verdict, made or not. Later events make it due again."""
        watch = keys.watch(due.pull).name
        stored, count = yield from transaction.read(
            ("HMGET", watch, "turn", "next", "counted"), ("LLEN", keys.outcomes(due.pull).name)
        )
        turn, verdict, counted = items(stored)
        if whole(turn) != due.turn:  # a submission that was judged meanwhile is watched anew
            return
        transaction.write("HDEL", watch, "next", "counted")
        if verdict is not None:
            transaction.write("HSET", watch, "made", text(verdict))
        if counted is not None and whole(count) > whole(counted):
            transaction.write("ZADD", keys.LOOKAHEAD.name, transaction.now, watch)
        else:
            transaction.write("ZREM", keys.LOOKAHEAD.name, watch)

    def _commit(self, pull: PullRef, sha: Sha) -> keys.Key:
        return keys.commit(pull.installation_id, pull.repository_id, sha)


def _hash(text: str) -> str:
    """Hash a name: the hash outlives deletion and must not reveal it."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _beside(pull: PullRef, number: int) -> PullRef:
    return pull.model_copy(update={"number": number})
