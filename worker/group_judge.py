"""Judges a merge group that changes other lines than what was accepted: the same court, over the group's own change.

Does not decide which groups (`worker.merge_group` does). Invariant: what is judged here is recorded beside the accept of
the pull request, so that no judge is shown it and it counts as no round; and who lost its lease writes nothing.
"""

from collections.abc import Callable
from typing import Protocol

from worker.domain.audit import Heard
from worker.domain.dossier import Dossier
from worker.domain.group_answer import answered, newest
from worker.domain.ids import eval_id_after
from worker.domain.ledger import LedgerEntry
from worker.domain.merge_group import MergeGroup, Refusal, pull_of
from worker.domain.request import JudgeRequest, PullRef, Trigger
from worker.domain.value import Value
from worker.domain.verdict import Accept, SubjectKind
from worker.judge.bench import Bench, Docket
from worker.judge.court import content_of, hear
from worker.merge_group import AT_ONCE, GroupSource, Screen, Waiting, judged_content
from worker.ports import Clock, Ledger
from worker.record import Shelves, Telling, record_beside
from worker.render.group import Place
from worker.store.groups import TakenGroup


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
        """Judge one, record it, and say so on its check. One that is not to be judged any more is looked at again."""
        group = taken.lease.group
        request = self._request(group)
        entries = () if request is None else self.ledger.entries(request.pull)
        parent = None if request is None or request.head_sha is None else newest(entries, request.head_sha)
        is_wanted = parent is not None and isinstance(parent.verdict, Accept)
        if request is None or parent is None or not is_wanted or answered(entries, group, parent):
            self.waiting.later(taken.open.queued, AT_ONCE)
            return
        tried = self.hearing.hear(request, taken, lambda dossier, bench: self._heard(dossier, parent, entries, bench))
        taken.lease.keep()
        made = record_beside(parent, tried.heard, tried.dossier, self.shelves, self.telling)
        taken.lease.keep()
        place = Place(self.site_url, group.repository, request.pull.number)
        content = judged_content(place, made, parent, tried.dossier)
        self.screen.show(group, request.pull.number, content, taken.lease.keep)
        self.waiting.done(group)

    def _request(self, group: MergeGroup) -> JudgeRequest | None:
        """The pull request that it tries, at its newest head; None: there is none any more."""
        number = pull_of(group.head_ref, group.base_ref)
        head = None if isinstance(number, Refusal) else self.source.head(group, number)
        if head is None or isinstance(number, Refusal):
            return None
        return JudgeRequest(
            pull=PullRef(installation_id=group.installation_id, repository_id=group.repository_id, number=number),
            repository=group.repository,
            head_sha=head.sha,
            trigger=Trigger.SWEEP,
            delivery_id=group.delivery_id,
            requested_at=group.at,
        )

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
