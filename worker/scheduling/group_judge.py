"""Judges a merge group that changes other lines than what was accepted: the same court, over the group's own change.

Does not decide which groups (`worker.scheduling.merge_queue` does). Invariant: what is judged here is recorded beside the accept of
the pull request, so that no judge is shown it and it counts as no round; and who lost its lease writes nothing.
"""

from collections.abc import Callable
from typing import Protocol

from worker.adapters.redis.merge_groups import TakenGroup
from worker.domain.check.merge_group import MergeGroup, Refusal, pull_of
from worker.domain.dossier.dossier import Dossier
from worker.domain.ids import Sha, eval_id_after
from worker.domain.ports import Clock, Ledger
from worker.domain.request.judge_request import JudgeRequest, PullRef, Trigger
from worker.domain.value import Value
from worker.domain.verdict.audit import Heard
from worker.domain.verdict.ledger import LedgerEntry
from worker.domain.verdict.verdict import SubjectKind
from worker.judge.context import Bench, Docket
from worker.judge.judge import content_of, hear
from worker.judge.merge_group import Accepted, Member, answered, newest, standing
from worker.publishing.texts.merge_group import Place
from worker.scheduling.merge_queue import AT_ONCE, GroupSource, Screen, Tip, Unsettled, Waiting, judged_content
from worker.scheduling.record import Shelves, Telling, record_beside


class Tried(Value):
    """What came of a judging, and what it was made from."""

    heard: Heard
    dossier: Dossier


class Hearing(Protocol):
    """What a group's change is judged from, and by whom."""

    def hear(self, request: JudgeRequest, taken: TakenGroup, hold: Callable[[Dossier, Bench], Heard]) -> Tried: ...


class GroupJudge(Value):
    """Judges groups, one after the other."""

    waiting: Waiting
    source: GroupSource
    screen: Screen
    hearing: Hearing
    ledger: Ledger
    shelves: Shelves
    telling: Telling
    clock: Clock
    site_url: str

    def judge(self, taken: TakenGroup) -> None:
        """Judge one, record it, and say so on its check.

        One that is not to be judged any more is looked at again; likewise where something was told of its pull request meanwhile:
        what its accept was made by may have been edited, and what was judged here with it.
        """
        group, number = taken.lease.group, pull_of(taken.lease.group.head_ref, taken.lease.group.base_ref)
        pull = None if isinstance(number, Refusal) else group.member(number)
        settled = None if pull is None else self.waiting.settled_at(pull)
        head = None if pull is None or settled is None else self.source.head(group, pull.number)
        entries = () if pull is None or head is None else self.ledger.entries(pull)
        parent = None if pull is None or head is None else self._accept(group, pull, head, entries)
        if pull is None or head is None or parent is None or answered(entries, group, parent):
            self.waiting.later(taken.open.queued, AT_ONCE)
            return
        request = _request(group, pull, head.sha)
        tried = self.hearing.hear(request, taken, lambda dossier, bench: self._heard(dossier, parent, entries, bench))
        taken.lease.keep()
        made = record_beside(parent, tried.heard, tried.dossier, self.shelves, self.telling)
        content = judged_content(Place(self.site_url, group.repository, pull.number), made, parent, tried.dossier)

        def stands() -> None:
            taken.lease.keep()
            if self.waiting.settled_at(pull) != settled:
                raise Unsettled

        try:
            stands()
            self.screen.show(group, pull.number, content, stands)
        except Unsettled:
            self.waiting.later(taken.open.queued, AT_ONCE)
        else:
            self.waiting.done(group)

    def _accept(
        self, group: MergeGroup, pull: PullRef, head: Tip, entries: tuple[LedgerEntry, ...]
    ) -> LedgerEntry | None:
        """The accept of its pull request that stands now; None: there is none any more."""
        published = self.source.published(group, pull.number, head.sha)
        found = standing(Member(head.is_closed, published, newest(entries, head.sha)))
        return found.entry if isinstance(found, Accepted) else None

    def _heard(self, dossier: Dossier, parent: LedgerEntry, entries: tuple[LedgerEntry, ...], bench: Bench) -> Heard:
        at = self.clock.now()
        commit = {"kind": SubjectKind.MERGE_GROUP, "head_sha": dossier.pull_request.head_sha}
        subject = parent.verdict.subject.model_copy(update=commit)
        docket = Docket(
            eval_id_after(at, (one.eval_id for one in entries)),
            subject,
            at,
            content_of(dossier, bench),
            self.clock.monotonic_ms,
            parent.eval_id,
        )
        return hear(dossier, docket, bench)


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
