"""Outcomes of pull requests, on the installation's stream and per pull request, and the pending outcome verdicts.

One script publishes, lists and counts an outcome, once under its name. After a crash a verdict is made again under the
same id. All deciding times are Redis' own, since clocks of other processes may differ.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from worker.adapters.redis import keys
from worker.adapters.redis.client import RedisClient, blob, items, text, whole
from worker.adapters.redis.encryption import Codec
from worker.adapters.redis.intake import lifetime_s, milliseconds, rules_at
from worker.adapters.redis.keys import PULL_REQUEST_EVENTS
from worker.adapters.redis.scripts import Script, run_script
from worker.adapters.redis.versioned_json import read_json
from worker.domain.ids import BaseHash, DeliveryId, EvalId, InstallationId, RepositoryId, Sha
from worker.domain.request.judge_request import PullRef
from worker.domain.request.pull_request_events import PullRequestEvent, PullRequestEventKind, hash_issue
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.outcomes import Outcome, OutcomeKind, outcome_event
from worker.domain.verdict.verdict import Accept
from worker.settings import Timing

FINAL_OUTCOMES: Final = frozenset({OutcomeKind.MERGED, OutcomeKind.CLOSED_UNMERGED})
"""Outcomes after which nothing more is expected of a pull request."""

MOST_MERGES: Final = 100
"""Earlier merges that a fix is compared with."""


@dataclass(frozen=True)
class DuePullRequest:
    """A pull request whose outcome verdict is due. `is_reevaluation`: it had one since its last submission."""

    pull: PullRef
    turn: int
    is_reevaluation: bool


class RedisOutcomes:
    """Outcomes in Redis. *most*: events after which an outcome verdict is due."""

    def __init__(self, wire: RedisClient, codec: Codec, timing: Timing, most: int, told_for: timedelta) -> None:
        self._wire = wire
        self._codec = codec
        self._timing = timing
        self._most = most
        self._told_ms = int(told_for.total_seconds() * 1000)

    def begin_submission(self, pull: PullRef, author: str, base: BaseHash, issues: tuple[tuple[str, int], ...]) -> bool:
        """Record base and issues of a submission before its judging, so that edits of them find it.

        Its model cost is charged to its author, under a hash of the name.

        False: one was edited during the read and missed this submission.
        """
        installation, repository = pull.installation_id, pull.repository_id
        into, marks = keys.judged_bases(installation, repository, base), [hash_issue(*issue) for issue in issues]
        on = [keys.pull(pull), into, keys.last_change(installation, rules_at(repository, base))]
        for mark in marks:
            on += [keys.issue_pulls(installation, mark), keys.last_change(installation, mark)]
        kept_s = lifetime_s(keys.issue_pulls(installation, "any"))
        what = (pull.number, lifetime_s(into), f"{repository}:{pull.number}", kept_s, _hash(author.casefold())[:16])
        return bool(run_script(self._wire, Script.WATCH_BEGINS, on, *what))

    def add_verdict(self, pull: PullRef, entry: LedgerEntry, issues: tuple[tuple[str, int], ...]) -> None:
        """Watch a submission from its verdict on. Idempotent."""
        happening = PullRequestEvent(
            what=PullRequestEventKind.JUDGED,
            installation_id=pull.installation_id,
            repository_id=pull.repository_id,
            number=pull.number,
            delivery_id=DeliveryId(f"judged-{_hash(entry.eval_id)}"),
            at=entry.created_at,
            head_sha=entry.head_sha,
            issues=tuple(hash_issue(*issue) for issue in issues),
        )
        received, commit = keys.received_event(happening.delivery_id), self._commit(pull, entry.head_sha)
        on = [keys.watch(pull), keys.LOOKAHEAD, received, PULL_REQUEST_EVENTS.order, PULL_REQUEST_EVENTS.texts]
        on += [commit] if isinstance(entry.verdict, Accept) else []
        noted = happening.model_dump_json() if issues else ""
        window_ms = milliseconds(self._timing.lookahead)
        what = (pull.model_dump_json(), lifetime_s(keys.watch(pull)), window_ms, happening.delivery_id, noted)
        run_script(self._wire, Script.WATCH_JUDGED, on, *what, lifetime_s(received), pull.number, lifetime_s(commit))

    def publish(self, pull: PullRef, name: str, outcome: Outcome | None, *, is_event: bool) -> None:
        """Publish an outcome, once under this *name*. None: only a person's action, counted as an event."""
        published, listed, watch = (
            keys.published_event(pull.installation_id, name),
            keys.outcomes(pull),
            keys.watch(pull),
        )
        on = [published, keys.events(pull.installation_id), listed, watch, keys.LOOKAHEAD]
        event = b"" if outcome is None else outcome_event(pull, outcome).dump()
        what = ("" if outcome is None else outcome.model_dump_json(), lifetime_s(listed), lifetime_s(watch))
        is_end = outcome is not None and outcome.kind in FINAL_OUTCOMES
        window_ms = milliseconds(self._timing.lookahead)
        counted = (int(is_event), self._most, window_ms, int(is_end))
        run_script(self._wire, Script.OUTCOME, on, lifetime_s(published), self._told_ms, event, *what, *counted)

    def outcomes_of(self, pull: PullRef) -> tuple[Outcome, ...]:
        """Outcomes of a pull request, in order."""
        listed = items(self._wire.call("LRANGE", keys.outcomes(pull).name, 0, -1))
        return tuple(read_json(Outcome, text(outcome)) for outcome in listed)

    # Lookups by commit, merge and issue

    def pull_of(self, installation: InstallationId, repository: RepositoryId, sha: Sha) -> PullRef | None:
        """Find the pull request with this commit as accepted head or merge."""
        number = self._wire.call("GET", keys.commit(installation, repository, sha).name)
        if not number:
            return None
        return PullRef(installation_id=installation, repository_id=repository, number=int(text(number)))

    def add_merge(self, pull: PullRef, merge_sha: Sha | None, lines: Mapping[str, tuple[str, ...]]) -> None:
        """Record for a while a merge and the hashes of its changed lines."""
        added, merges = keys.merged_lines(pull), keys.merges(pull.installation_id, pull.repository_id)
        on = [added, merges] + ([self._commit(pull, merge_sha)] if merge_sha else [])
        sealed = self._codec.seal(json.dumps(dict(lines)).encode(), added.name)
        run_script(self._wire, Script.MERGE, on, sealed, lifetime_s(added), pull.number, lifetime_s(merges))

    def merged_lines(self, pull: PullRef) -> dict[str, frozenset[str]] | None:
        """Hashes of the lines that a merged pull request changed; None: not merged, or expired."""
        key = keys.merged_lines(pull).name
        sealed = self._wire.call("GET", key)
        if not sealed:
            return None
        return {path: frozenset(hashes) for path, hashes in json.loads(self._codec.open(blob(sealed), key)).items()}

    def earlier_merges(self, pull: PullRef) -> tuple[PullRef, ...]:
        """Other pull requests of this repository that were merged lately, newest first."""
        name = keys.merges(pull.installation_id, pull.repository_id).name
        newest = [int(text(number)) for number in items(self._wire.call("ZRANGE", name, 0, MOST_MERGES, "REV"))]
        return tuple(_beside(pull, number) for number in newest if number != pull.number)

    def competing_pulls(self, pull: PullRef, issue: str) -> tuple[PullRef, ...]:
        """Others of its repository that close this issue and had their first verdict earlier."""
        key = keys.issue_pulls(pull.installation_id, issue)
        rivals = items(run_script(self._wire, Script.RIVALS, [key], pull.repository_id, pull.number, lifetime_s(key)))
        return tuple(_beside(pull, int(text(rival))) for rival in rivals)

    def newest_head(self, pull: PullRef) -> Sha | None:
        """The head that the newest event named."""
        return text(self._wire.call("HGET", keys.pull(pull).name, "head")) or None

    # The outcome verdict

    def next_due(self) -> DuePullRequest | None:
        """Take the next pull request with a due outcome verdict, for the hold."""
        hold_ms = milliseconds(self._timing.open_hold)
        reply = items(run_script(self._wire, Script.LOOKAHEAD_NEXT, [keys.LOOKAHEAD], hold_ms))
        if not reply:
            return None
        return DuePullRequest(read_json(PullRef, text(reply[0])), int(text(reply[1])), whole(reply[2]) == 1)

    def claim(self, pull: PullRef, eval_id: EvalId, outcomes: int) -> EvalId | None:
        """Id of the verdict on this many outcomes: *eval_id*, or that of a crashed attempt. None: already recorded."""
        on = [keys.watch(pull), keys.ledger(pull)]
        claimed = items(run_script(self._wire, Script.LOOKAHEAD_CLAIM, on, eval_id, outcomes))
        return EvalId(text(claimed[0])) if claimed and not whole(claimed[1]) else None

    def complete(self, due: DuePullRequest) -> None:
        """Complete a due verdict, made or not. Later events make it due again."""
        on = [keys.watch(due.pull), keys.LOOKAHEAD, keys.outcomes(due.pull)]
        run_script(self._wire, Script.LOOKAHEAD_DONE, on, due.turn)

    def _commit(self, pull: PullRef, sha: Sha) -> keys.Key:
        return keys.commit(pull.installation_id, pull.repository_id, sha)


def _hash(text: str) -> str:
    """Hash a name: the hash outlives deletion and must not reveal it."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _beside(pull: PullRef, number: int) -> PullRef:
    return pull.model_copy(update={"number": number})
