"""Check runs of one commit are made to say together what they should: from the record, without judging anything.

Does not decide (`worker.domain.check.shared_head` does) and words nothing. Invariant: what is shown is what each of them said last beside
what the others said last, whoever writes at the same time; and nobody is held by a pull request that GitHub says is not there.
"""

import logging
from typing import Final, Protocol

from worker.domain.check.check_run import CheckContent
from worker.domain.check.shared_head import CommitRef, SharedHeadMember, SharedHeadState, find_strictest, hash_content
from worker.domain.ids import CheckRunId, Sha
from worker.domain.ports import CheckPublisher, JudgeRequests, PullSource, SharedHeads
from worker.domain.request.judge_request import JudgeRequest, PullRef
from worker.domain.value import Value, replace
from worker.errors import Forbidden, SubjectGone
from worker.publishing.check_runs import no_lease
from worker.publishing.texts.states import combine_content

LOG: Final = logging.getLogger(__name__)

MAX_ROUNDS: Final = 3
"""How often in a row a commit is looked at where something is said all the time. Then others are served first."""

MAX_WRITES: Final = 10
"""How many check runs are written at one look."""


class KnownChecks(Protocol):
    """Which check run belongs to which head."""

    def find_check_run(self, pull: PullRef, head_sha: Sha) -> CheckRunId | None: ...


class SharedHeadSync(Value):
    """Looks at commits of several pull requests. Raises as PullSource does: whoever asked comes again."""

    shared_heads: SharedHeads
    checks: CheckPublisher
    registry: KnownChecks
    pulls: JudgeRequests
    source: PullSource

    def sync(self, commit: CommitRef) -> bool:
        """Have all check runs of a commit say what they should. False: something was said meanwhile. May be called again."""
        for _ in range(MAX_ROUNDS):
            state = self.shared_heads.find_state(commit)
            if self._show_all(commit, state) and self.shared_heads.close_version(commit, state.version):
                return True
        return False

    def _show_all(self, commit: CommitRef, state: SharedHeadState) -> bool:
        """False: there is more to be written, or somebody left."""
        wrong = 0
        for member in state.members:
            own = self.shared_heads.own_content(commit, member.number)
            content = self._content(own, member, state)
            if hash_content(content) == member.shown:
                continue
            if content != own and self._has_left(commit, state, member):
                return False
            wrong += 1
            if wrong > MAX_WRITES:
                return False
            self._show(commit, state, member, content)
        return True

    def _content(self, own: CheckContent, member: SharedHeadMember, state: SharedHeadState) -> CheckContent:
        others = [other.other_pull for other in state.members if other.is_here and other != member]
        return combine_content(own, others, is_head=member.is_here)

    def _has_left(self, commit: CommitRef, state: SharedHeadState, member: SharedHeadMember) -> bool:
        """Whether who decides about this one is no open pull request of this commit any more, whatever we were told of it."""
        strictest = find_strictest(other.other_pull for other in state.members if other.is_here and other != member)
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
        self.shared_heads.leave(request.pull, commit)
        return True

    def _show(self, commit: CommitRef, state: SharedHeadState, member: SharedHeadMember, content: CheckContent) -> None:
        """Where GitHub lets us write no more, it may again some day: what it shows is not known until then."""
        request = self._request(commit, state, member.number)
        check = self.registry.find_check_run(request.pull, commit.head_sha) if request else None
        if request is None or check is None:
            return  # who makes it is beside the others then
        self.shared_heads.mark_updating(commit, member.number)
        try:
            self.checks.with_fence(no_lease).update(request, check, replace(content, annotations=()))
        except (SubjectGone, Forbidden) as refused:
            LOG.info("a check run can't be shown anew: %s", refused, extra={"number": member.number})
            return
        self.shared_heads.record_shown(request.pull, commit.head_sha, state.version, content)

    def _request(self, commit: CommitRef, state: SharedHeadState, number: int) -> JudgeRequest | None:
        """Anybody's of this repository will do for one that nobody asked for yet."""
        for candidate in (number, *(member.number for member in state.members)):
            if request := self.pulls.find_request(_ref(commit, candidate)):
                return request.model_copy(update={"pull": _ref(commit, number)})
        return None


def _ref(commit: CommitRef, number: int) -> PullRef:
    return PullRef(installation_id=commit.installation_id, repository_id=commit.repository_id, number=number)
