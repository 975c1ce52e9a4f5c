"""Where several pull requests have one commit. Invariant: nothing passes that one of them stands in the way of."""

from dataclasses import dataclass

import pytest
from inline_snapshot import snapshot

from worker.domain.check.check_run import HELPFUL, CheckContent, Conclusion
from worker.domain.check.shared_head import IN_PROGRESS, OtherPull, check_state, strictness_of
from worker.publishing.texts.check_run import BODY_BYTES, judging_content
from worker.publishing.texts.shared_head import combine_content
from worker.publishing.texts.states import draft_content, existing_pull_content

ACCEPTED = CheckContent("Accepted", "It is good.", "{json}", Conclusion.SUCCESS, buttons=(HELPFUL,))
REJECTED = CheckContent("Rejected", "It is not.", "{json}", Conclusion.FAILURE)
FAILS, ASKS, WAITS, PASSES = (
    OtherPull(12, "failure"),
    OtherPull(14, "action_required"),
    OtherPull(13, IN_PROGRESS),
    OtherPull(11, "success"),
)


@dataclass(frozen=True)
class Said:
    state: str
    title: str
    summary: str


def said(content: CheckContent) -> Said:
    return Said(check_state(content), content.title, content.summary)


def test_an_accept_beside_a_reject_fails_with_it_and_stays_readable() -> None:
    shown = combine_content(ACCEPTED, [PASSES, FAILS, WAITS], is_head=True)
    assert said(shown) == snapshot(
        Said(
            state="failure",
            title="Accepted here, but #12 of the same commit is rejected",
            summary="""\
**Accepted here. #12 has the same commit and is rejected: GitHub shows one check of a name for each commit, so this one fails with it.** This one shows its own state once #12 passes, is closed or gets another commit.

It is good.\
""",
        )
    )
    assert (shown.text, shown.buttons) == (ACCEPTED.text, ACCEPTED.buttons)


def test_what_is_not_judged_yet_holds_what_would_pass() -> None:
    assert said(combine_content(existing_pull_content(), [WAITS], is_head=True)) == snapshot(
        Said(
            state="queued",
            title="Passes here, but #13 of the same commit is not judged yet",
            summary="""\
**Passes here. #13 has the same commit and is not judged yet: GitHub shows one check of a name for each commit, so this one waits for it.** This one shows its own state once #13 passes, is closed or gets another commit.

This pull request was not judged.

**Next step:** push a commit, or comment `/rejudge`.\
""",
        )
    )
    assert combine_content(judging_content(), [ASKS], is_head=True).title == snapshot(
        "Not judged yet, but #14 of the same commit is waiting for a decision"
    )


@pytest.mark.parametrize(
    ("own", "others"),
    [
        (ACCEPTED, []),
        (ACCEPTED, [PASSES]),
        (REJECTED, [FAILS]),
        (judging_content(), [WAITS]),
        (draft_content(), [OtherPull(2, "idle")]),
    ],
)
def test_what_nobody_stands_stricter_beside_says_its_own(own: CheckContent, others: list[OtherPull]) -> None:
    assert combine_content(own, others, is_head=True) is own


def test_an_accept_is_not_made_less_by_one_that_passes_otherwise() -> None:
    assert combine_content(ACCEPTED, [OtherPull(2, "skipped")], is_head=True) is ACCEPTED


def test_a_draft_holds_nobody_and_says_what_the_other_one_does() -> None:
    assert combine_content(ACCEPTED, [OtherPull(2, check_state(draft_content()))], is_head=True) is ACCEPTED
    assert said(combine_content(draft_content(), [PASSES], is_head=True)) == snapshot(
        Said(
            state="success",
            title="As #11, which is accepted",
            summary="""\
#11 has the same commit: GitHub shows one check of a name for each commit, so this one says what that one's does.

A draft is judged when it is marked ready for review, when a review is requested, when its description gets an `assay` block, or when an account with write access comments `/rejudge`.\
""",
        )
    )


@pytest.mark.parametrize("other", [PASSES, FAILS, WAITS, OtherPull(3, "neutral")])
def test_one_that_is_closed_or_has_another_head_says_what_the_others_do(other: OtherPull) -> None:
    shown = combine_content(REJECTED, [other], is_head=False)
    assert strictness_of(check_state(shown)) is other.strictness
    assert combine_content(REJECTED, [], is_head=False) is REJECTED


def test_a_long_text_gives_way_to_what_holds_it() -> None:
    long = CheckContent("Accepted", "x\n\n" * 30_000, conclusion=Conclusion.SUCCESS)
    shown = combine_content(long, [FAILS], is_head=True)
    assert shown.summary.startswith("**Accepted here.")
    assert len(shown.summary.encode()) <= BODY_BYTES
