"""Keep check runs of pull requests sharing a head consistent, from the recorded contents and without judging.

Each check shows its pull request's last content beside the last contents of the others, also when several processes write at the same
time. A pull request that GitHub no longer shows at this head holds none of the others.
"""

import logging
from dataclasses import dataclass, replace
from typing import Final

from worker.domain.check.check_run import CheckContent
from worker.domain.check.shared_head import CommitRef, SharedHeadMember, SharedHeadState, find_strictest, hash_content
from worker.domain.judge_request import JudgeRequest, PullRef
from worker.domain.ports import CheckPublisher, CheckRegistry, JudgeRequests, PullSource, SharedHeads
from worker.errors import Forbidden, SubjectGone
from worker.publishing.check_runs import no_lease
from worker.publishing.texts.states import combine_content

LOG: Final = logging.getLogger(__name__)

MAX_WRITES: Final = 30
"""Check runs of a commit that are written in a row before others get their turn."""


@dataclass(frozen=True)
class SharedHeadSync:
    """Syncs the check runs of one commit. Raises as PullSource does, and may be retried."""

    shared_heads: SharedHeads
    checks: CheckPublisher
    registry: CheckRegistry
    pulls: JudgeRequests
    source: PullSource

    def sync(self, commit: CommitRef) -> bool:
        """Write each check that shows something else. False: it is to be done again, as the state has changed or more is to be written."""
        state, written = self.shared_heads.find_state(commit), 0
        for member in state.members:
            own = self.shared_heads.own_content(_ref(commit, member.number), commit.head_sha)
            others = state.others(member.number)
            content = combine_content(own, others, is_head=member.is_here)
            if hash_content(content) == member.shown:
                continue
            if written == MAX_WRITES or (content != own and self._has_left(commit, state, find_strictest(others))):
                return False
            self._show(commit, state, member, content)
            written += 1
        return self.shared_heads.close_version(commit, state.version)

    def _has_left(self, commit: CommitRef, state: SharedHeadState, strictest: SharedHeadMember | None) -> bool:
        """Whether the strictest of the others left this commit without a delivery that told so."""
        request = self._request(commit, state, strictest.number) if strictest else None
        if request is None:
            return False
        try:
            if self.source.head_sha(request) == commit.head_sha:
                return False
        except Forbidden:
            return False
        except SubjectGone as gone:
            if not gone.is_closed:
                return False
        LOG.info("a pull request left a commit, and we were not told", extra={"number": request.pull.number})
        self.shared_heads.leave(request.pull, commit.head_sha)
        return True

    def _show(self, commit: CommitRef, state: SharedHeadState, member: SharedHeadMember, content: CheckContent) -> None:
        """Write one check. Where GitHub refuses the write, what it shows stays unknown, and a later sync retries."""
        request, pull = self._request(commit, state, member.number), _ref(commit, member.number)
        check = self.registry.find(pull, commit.head_sha).check
        if request is None or check is None:
            return  # its creation combines it with the others
        self.shared_heads.mark_updating(pull, commit.head_sha)
        try:
            self.checks.with_fence(no_lease).update(request, check, replace(content, annotations=()))
        except (SubjectGone, Forbidden) as refused:
            LOG.info("a check run can't be updated: %s", refused, extra={"number": member.number})
            return
        self.shared_heads.record_written(pull, commit.head_sha, state.version, content, is_sync=True)

    def _request(self, commit: CommitRef, state: SharedHeadState, number: int) -> JudgeRequest | None:
        """The request of a pull request; one of the same repository, rewritten to it, where it has none."""
        for candidate in (number, *(member.number for member in state.members)):
            if request := self.pulls.find_request(_ref(commit, candidate)):
                return request.model_copy(update={"pull": _ref(commit, number)})
        return None


def _ref(commit: CommitRef, number: int) -> PullRef:
    return PullRef(installation_id=commit.installation_id, repository_id=commit.repository_id, number=number)
