"""What the check of a pull request says where another one has the same commit.

Pure. Does not know which ones do. Invariant: a check that lets a merge pass says so only where every open pull request of the
commit passes; what it says of its own pull request stays readable below.
"""

from collections.abc import Sequence
from typing import Final

from worker.domain.check.check_run import CheckContent, Conclusion
from worker.domain.check.shared_head import OtherPull, Strictness, check_state, find_strictest, strictness_of
from worker.domain.value import replace
from worker.publishing.texts.check_run import BODY_BYTES
from worker.publishing.texts.markdown import join_blocks, split_blocks

CONCLUSION_TEXTS: Final = {
    Conclusion.SUCCESS.value: "Accepted here",
    Conclusion.NEUTRAL.value: "Passes here",
    Conclusion.SKIPPED.value: "Skipped here",
}
ONE_CHECK: Final = "GitHub shows one check of a name for each commit"
STATE_TEXTS: Final = {
    Conclusion.SUCCESS.value: "accepted",
    Conclusion.NEUTRAL.value: "not blocked",
    Conclusion.SKIPPED.value: "skipped",
    Conclusion.FAILURE.value: "rejected",
    Conclusion.ACTION_REQUIRED.value: "waiting for a decision",
}
NOT_JUDGED_YET: Final = "not judged yet"


def combine_content(own: CheckContent, others: Sequence[OtherPull], *, is_head: bool) -> CheckContent:
    """What is shown. *is_head*: the pull request is open, and the commit is its head."""
    mine, top = strictness_of(check_state(own)), find_strictest(others)
    if top is None or top.strictness is Strictness.IDLE:
        return own
    if not is_head or mine is Strictness.IDLE:
        return _matching_content(own, top)
    return _held_content(own, top) if top.strictness > mine else own


def _held_content(own: CheckContent, by: OtherPull) -> CheckContent:
    """Another one is in the way."""
    here, is_ = CONCLUSION_TEXTS.get(check_state(own), "Not judged yet"), STATE_TEXTS.get(by.state, NOT_JUDGED_YET)
    follows = "fails with it" if by.strictness is Strictness.FAILS else "waits for it"
    why = f"**{here}. #{by.number} has the same commit and is {is_}: {ONE_CHECK}, so this one {follows}.**"
    after = f"This one shows its own state once #{by.number} passes, is closed or gets another commit."
    shown = replace(own, title=f"{here}, but #{by.number} of the same commit is {is_}")
    return _describe_other(shown, by, f"{why} {after}")


def _matching_content(own: CheckContent, other: OtherPull) -> CheckContent:
    """This one counts for nothing, and may be what GitHub looks at."""
    shown = replace(own, title=f"As #{other.number}, which is {STATE_TEXTS.get(other.state, NOT_JUDGED_YET)}")
    return _describe_other(
        shown, other, f"#{other.number} has the same commit: {ONE_CHECK}, so this one says what that one's does."
    )


def _describe_other(shown: CheckContent, other: OtherPull, note: str) -> CheckContent:
    waits = other.strictness is Strictness.WAITS
    conclusion = None if waits else Conclusion(other.state)
    summary = join_blocks([note, *split_blocks(shown.summary)], BODY_BYTES)
    block = None if shown.block is None else replace(shown.block, held_by=other.number)
    return replace(shown, summary=summary, conclusion=conclusion, is_queued=waits, is_idle=False, block=block)
