"""Looks up the pull requests that have or had a commit as their head, and the verdicts on it.

Does not decide who may see it: whoever asks says of which installations. Invariant: nothing is written, and only keys that the
commit leads to are read.
"""

from collections.abc import Collection, Sequence
from typing import Final

from worker.adapters.redis import keys
from worker.adapters.redis.client import Reply, items, text
from worker.adapters.redis.repositories import find_repositories
from worker.adapters.redis.store import Store
from worker.domain.check.wait_status import Due, SeenPull, reason_to_wait
from worker.domain.ids import InstallationId, Sha
from worker.domain.request.judge_request import PullRef
from worker.domain.verdict.verdict import SubjectKind, Verdict


def seen_pulls(
    store: Store, repository: str, sha: Sha, within: Collection[InstallationId] | None = None
) -> list[SeenPull]:
    """*within* these installations; None: all. Raises Unavailable.

    One that an earlier installation of the App knew, too, is told of by the newest: GitHub's numbers grow.
    """
    refs = {
        number: PullRef(installation_id=installation, repository_id=repository_id, number=number)
        for installation, repository_id in find_repositories(store.wire, repository)
        if within is None or installation in within
        for number in _numbers(store, keys.heads(installation, repository_id, sha))
    }
    return [_seen(store, ref, sha) for ref in refs.values()]


def _numbers(store: Store, heads: keys.Key) -> list[int]:
    return [int(text(number)) for number in items(store.wire.call("SMEMBERS", heads.name))]


def _seen(store: Store, ref: PullRef, sha: Sha) -> SeenPull:
    state, head, rests, over, *times = items(
        store.wire.call("HMGET", keys.pull(ref).name, "state", "head", "rests", "over", *_TIMES)
    )
    is_begun = bool(state) and text(state) != "due"
    newest = None if is_begun else _newest(store, ref, sha)
    return SeenPull(
        number=ref.number,
        head=text(head) if head else None,
        pending=reason_to_wait(_due(store, times, is_begun=is_begun), newest) if state else None,
        is_held=bool(rests),
        verdict=None if state else newest,
        overridden_by=None if state else _overrider(store, ref, sha),
        is_over=bool(over),
    )


_TIMES: Final = ("due", "since", "waiting", "limit", "aways")


def _due(store: Store, times: Sequence[Reply], *, is_begun: bool) -> Due:
    seconds, micros = items(store.wire.call("TIME"))
    known = {name: int(float(text(one))) for name, one in zip(_TIMES, times, strict=True) if one}
    return Due(is_begun=is_begun, now=int(text(seconds)) * 1000 + int(text(micros)) // 1000, **known)


def _overrider(store: Store, ref: PullRef, sha: Sha) -> str | None:
    override = store.decisions.of(ref, sha).override
    return override and override.login


def _newest(store: Store, ref: PullRef, sha: Sha) -> Verdict | None:
    """The newest verdict on this very commit; what was judged beside others says nothing here."""
    of_it = [
        one.verdict
        for one in store.ledger.entries(ref)
        if one.head_sha == sha
        and one.verdict.parent_eval_id is None
        and one.verdict.subject.kind is SubjectKind.SUBMISSION
    ]
    return of_it[-1] if of_it else None
