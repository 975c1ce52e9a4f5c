"""Pull requests that have or had a commit as their head, and its verdicts. Reads only.

The caller decides which installations are visible.
"""

from collections.abc import Collection
from typing import Final

from worker.adapters.redis import keys
from worker.adapters.redis.connection.client import find_server_time, items, text, whole
from worker.adapters.redis.records.records import find_repositories
from worker.adapters.redis.store import Store
from worker.domain.check.wait_status import DueJudging, PullWithHead, find_wait_reason
from worker.domain.judge_request import PullRef
from worker.domain.model import InstallationId, Sha
from worker.domain.verdict.verdict import SubjectKind, Verdict


def find_seen_pulls(
    store: Store, repository: str, sha: Sha, within: Collection[InstallationId] | None = None
) -> list[PullWithHead]:
    """Pull requests *within* these installations; None: all. Raises Unavailable.

    If an earlier installation of the App also had it, the newest counts: GitHub's ids grow.
    """
    refs = {
        number: PullRef(installation_id=installation, repository_id=repository_id, number=number)
        for installation, repository_id in find_repositories(store.client, repository)
        if within is None or installation in within
        for number in map(
            whole, items(store.client.call("SMEMBERS", keys.heads(installation, repository_id, sha).name))
        )
    }
    return [_read_head(store, ref, sha) for ref in refs.values()]


def _read_head(store: Store, ref: PullRef, sha: Sha) -> PullWithHead:
    state, head, rests, over, *times = items(
        store.client.call("HMGET", keys.pull(ref).name, "state", "head", "rests", "over", *_TIMES)
    )
    is_begun = bool(state) and text(state) != "due"
    newest = None if is_begun else _newest(store, ref, sha)
    reason, override = None, None
    if state:
        now_ms = int(find_server_time(store.client))
        times_ms = {name: int(float(text(time))) for name, time in zip(_TIMES.values(), times, strict=True) if time}
        reason = find_wait_reason(DueJudging(is_started=is_begun, now=now_ms, **times_ms), newest)
    else:
        override = store.decisions.find_decisions(ref, sha).override
    return PullWithHead(
        number=ref.number,
        head=text(head) if head else None,
        pending_reason=reason,
        is_draft=bool(rests),
        verdict=None if state else newest,
        overridden_by=override and override.login,
        is_closed=bool(over),
    )


_TIMES: Final = {
    "due": "due_at",
    "since": "first_push_at",
    "waiting": "waiting_since",
    "limit": "rate_limit_until",
    "aways": "outage_count",
}
"""Fields of the pull request in Redis, and their names in DueJudging."""


def _newest(store: Store, ref: PullRef, sha: Sha) -> Verdict | None:
    """The newest verdict on exactly this commit, without shadow evaluations."""
    of_it = [
        entry.verdict
        for entry in store.ledger.entries(ref)
        if entry.head_sha == sha
        and entry.verdict.parent_eval_id is None
        and entry.verdict.subject.kind is SubjectKind.SUBMISSION
    ]
    return of_it[-1] if of_it else None
