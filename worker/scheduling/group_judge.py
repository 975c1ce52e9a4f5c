"""Judges a merge group that changes other lines than what was accepted: the same court, over the group's own change.

Does not decide which groups (`worker.scheduling.merge_queue` does). Invariant: what is judged here is recorded beside the accept of
the pull request, so that no judge is shown it and it counts as no round; and who lost its lease writes nothing.
"""

from collections.abc import Callable
from typing import Protocol

from worker.adapters.redis.merge_groups import LeasedGroup
from worker.domain.check.merge_group import GroupRefusal, MergeGroup, find_pull_number
from worker.domain.dossier.dossier import Dossier
from worker.domain.ids import Sha, eval_id_after
from worker.domain.ports import Clock, Ledger
from worker.domain.request.judge_request import JudgeRequest, PullRef, Trigger
from worker.domain.value import Value
from worker.domain.verdict.audit import EvaluatedVerdict
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import SubjectKind
from worker.judge.context import EvaluationHeader, JudgeContext
from worker.judge.judge import fingerprint_of, judge_with_record
from worker.judge.merge_group import GroupAccepted, GroupPullRequest, find_answer, group_standing, newest_entry
from worker.publishing.texts.merge_group import GroupLocation
from worker.scheduling.merge_queue import (
    NO_DELAY,
    GroupCheck,
    GroupOutdated,
    GroupPullHead,
    GroupQueue,
    GroupSource,
    judged_group_content,
)
from worker.scheduling.record import EventPublishing, VerdictStores, record_beside


class GroupJudgement(Value):
    """What came of a judging, and what it was made from."""

    evaluated: EvaluatedVerdict
    dossier: Dossier


class GroupJudging(Protocol):
    """What a group's change is judged from, and by whom."""

    def judge_dossier(
        self, request: JudgeRequest, taken: LeasedGroup, hold: Callable[[Dossier, JudgeContext], EvaluatedVerdict]
    ) -> GroupJudgement: ...


class GroupJudge(Value):
    """Judges groups, one after the other."""

    queue: GroupQueue
    source: GroupSource
    check: GroupCheck
    judging: GroupJudging
    ledger: Ledger
    stores: VerdictStores
    publishing: EventPublishing
    clock: Clock
    site_url: str

    def judge(self, taken: LeasedGroup) -> None:
        """Judge one, record it, and say so on its check.

        One that is not to be judged any more is looked at again; likewise where something was told of its pull request meanwhile:
        what its accept was made by may have been edited, and what was judged here with it.
        """
        group, number = taken.lease.group, find_pull_number(taken.lease.group.head_ref, taken.lease.group.base_ref)
        pull = None if isinstance(number, GroupRefusal) else group.pull_ref(number)
        settled = None if pull is None else self.queue.settled_at(pull)
        head = None if pull is None or settled is None else self.source.head(group, pull.number)
        entries = () if pull is None or head is None else self.ledger.entries(pull)
        parent = None if pull is None or head is None else self._current_accept(group, pull, head, entries)
        if pull is None or head is None or parent is None or find_answer(entries, group, parent):
            self.queue.postpone(taken.pending.queued, NO_DELAY)
            return
        request = _request(group, pull, head.sha)
        tried = self.judging.judge_dossier(
            request, taken, lambda dossier, bench: self._judge(dossier, parent, entries, bench)
        )
        taken.lease.renew()
        made = record_beside(parent, tried.evaluated, tried.dossier, self.stores, self.publishing)
        content = judged_group_content(
            GroupLocation(self.site_url, group.repository, pull.number), made, parent, tried.dossier
        )

        def stands() -> None:
            taken.lease.renew()
            if self.queue.settled_at(pull) != settled:
                raise GroupOutdated

        try:
            stands()
            self.check.show(group, pull.number, content, stands)
        except GroupOutdated:
            self.queue.postpone(taken.pending.queued, NO_DELAY)
        else:
            self.queue.complete(group)

    def _current_accept(
        self, group: MergeGroup, pull: PullRef, head: GroupPullHead, entries: tuple[LedgerEntry, ...]
    ) -> LedgerEntry | None:
        """The accept of its pull request that stands now; None: there is none any more."""
        published = self.source.published(group, pull.number, head.sha)
        standing = group_standing(GroupPullRequest(head.is_closed, published, newest_entry(entries, head.sha)))
        return standing.entry if isinstance(standing, GroupAccepted) else None

    def _judge(
        self, dossier: Dossier, parent: LedgerEntry, entries: tuple[LedgerEntry, ...], bench: JudgeContext
    ) -> EvaluatedVerdict:
        at = self.clock.now()
        commit = {"kind": SubjectKind.MERGE_GROUP, "head_sha": dossier.pull_request.head_sha}
        subject = parent.verdict.subject.model_copy(update=commit)
        docket = EvaluationHeader(
            eval_id_after(at, (entry.eval_id for entry in entries)),
            subject,
            at,
            fingerprint_of(dossier, bench),
            self.clock.monotonic_ms,
            parent.eval_id,
        )
        return judge_with_record(dossier, docket, bench)


def _request(group: MergeGroup, pull: PullRef, head_sha: Sha) -> JudgeRequest:
    """Its pull request, at its newest head."""
    return JudgeRequest(
        pull=pull,
        repository=group.repository,
        head_sha=head_sha,
        trigger=Trigger.SWEEP,
        delivery_id=group.delivery_id,
        requested_at=group.at,
    )
