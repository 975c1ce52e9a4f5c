"""Check runs of one commit are made to say together what they should: from the record, without judging anything.

Does not decide (`worker.domain.check.shared_head` does) and words nothing. Invariant: what is shown is what each of them said last beside
what the others said last, whoever writes at the same time; and nobody is held by a pull request that GitHub says is not there.
"""

import logging
from typing import Final, Protocol

from worker.domain.check.check_run import CheckContent
from worker.domain.check.shared_head import Member, Met, Place, hash_of, strictest
from worker.domain.ids import CheckRunId, Sha
from worker.domain.ports import CheckPublisher, JudgeRequests, PullSource, SharedHeads
from worker.domain.request.judge_request import JudgeRequest, PullRef
from worker.domain.value import Value, replace
from worker.errors import Forbidden, Gone
from worker.publishing.check_runs import no_lease
from worker.publishing.texts.siblings import together

LOG: Final = logging.getLogger(__name__)

MOST_LOOKS: Final = 3
"""How often in a row a commit is looked at where something is said all the time. Then others are served first."""

MOST_AT_ONCE: Final = 10
"""How many check runs are written at one look."""


class Known(Protocol):
    """Which check run belongs to which head."""

    def known(self, pull: PullRef, head_sha: Sha) -> CheckRunId | None: ...


class Settling(Value):
    """Looks at commits of several pull requests. Raises as PullSource does: whoever asked comes again."""

    siblings: SharedHeads
    checks: CheckPublisher
    registry: Known
    pulls: JudgeRequests
    source: PullSource

    def settle(self, place: Place) -> bool:
        """Have all check runs of a commit say what they should. False: something was said meanwhile. May be called again."""
        for _ in range(MOST_LOOKS):
            met = self.siblings.at(place)
            if self._show_all(place, met) and self.siblings.done(place, met.version):
                return True
        return False

    def _show_all(self, place: Place, met: Met) -> bool:
        """False: there is more to be written, or somebody left."""
        wrong = 0
        for member in met.members:
            own = self.siblings.own(place, member.number)
            content = self._content(own, member, met)
            if hash_of(content) == member.shown:
                continue
            if content != own and self._has_left(place, met, member):
                return False
            wrong += 1
            if wrong > MOST_AT_ONCE:
                return False
            self._show(place, met, member, content)
        return True

    def _content(self, own: CheckContent, member: Member, met: Met) -> CheckContent:
        others = [one.sibling for one in met.members if one.is_here and one != member]
        return together(own, others, is_here=member.is_here)

    def _has_left(self, place: Place, met: Met, member: Member) -> bool:
        """Whether who decides about this one is no open pull request of this commit any more, whatever we were told of it."""
        by = strictest(one.sibling for one in met.members if one.is_here and one != member)
        request = self._request(place, met, by.number) if by else None
        if request is None:
            return False
        try:
            if self.source.head_sha(request) == place.head_sha:
                return False
        except Forbidden:
            return False
        except Gone as gone:
            if not gone.is_over:
                return False
        LOG.info("a pull request left a commit, and we were not told", extra={"number": request.pull.number})
        self.siblings.leaves(request.pull, place)
        return True

    def _show(self, place: Place, met: Met, member: Member, content: CheckContent) -> None:
        """Where GitHub lets us write no more, it may again some day: what it shows is not known until then."""
        request = self._request(place, met, member.number)
        check = self.registry.known(request.pull, place.head_sha) if request else None
        if request is None or check is None:
            return  # who makes it is beside the others then
        self.siblings.tells(place, member.number)
        try:
            self.checks.under(no_lease).update(request, check, replace(content, annotations=()))
        except (Gone, Forbidden) as refused:
            LOG.info("a check run can't be shown anew: %s", refused, extra={"number": member.number})
            return
        self.siblings.settled(request.pull, place.head_sha, met.version, content)

    def _request(self, place: Place, met: Met, number: int) -> JudgeRequest | None:
        """Anybody's of this repository will do for one that nobody asked for yet."""
        for one in (number, *(member.number for member in met.members)):
            if request := self.pulls.request(_ref(place, one)):
                return request.model_copy(update={"pull": _ref(place, number)})
        return None


def _ref(place: Place, number: int) -> PullRef:
    return PullRef(installation_id=place.installation_id, repository_id=place.repository_id, number=number)
