"""What the check says while nobody judges. Invariant: each text says what ends it."""

from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
from inline_snapshot import snapshot

from tests.golden.golden import Golden, Pages
from tests.worker.publishing.texts.samples import HOSTILE
from worker.domain.check.check_run import HELPFUL, CheckContent, Conclusion
from worker.domain.check.shared_head import IN_PROGRESS, SharedHeadMember, check_state, strictness_of
from worker.domain.judge_request import Trigger
from worker.domain.lifecycle.work import ActivePause
from worker.domain.pause import JudgingPause
from worker.publishing.texts.check_run import BODY_BYTES, judging_content
from worker.publishing.texts.states import (
    combine_content,
    draft_content,
    existing_pull_content,
    github_not_reached,
    not_installed,
    not_paused_message,
    pause_list,
    paused_message,
    quiet_window_content,
    resumed_message,
    started_content,
    unknown_repository,
    with_trigger_reason,
)


def test_the_quiet_window_of_who_has_a_verdict_says_why_that_counts_no_more() -> None:
    at = datetime(2026, 11, 21, 9, 5, 7, tzinfo=UTC)
    plain = quiet_window_content(at, 45.0)
    why = "The earlier verdict was made by the title and description as they stood before. "
    assert quiet_window_content(at, 45.0, why=Trigger.TEXT).summary == f"{why}{plain.summary}"
    assert (plain.is_watched, draft_content().is_watched) == (True, False)
    assert quiet_window_content(at, 45.0, why=Trigger.REOPENED) == plain


def test_else_it_only_says_that_it_judges() -> None:
    assert started_content(Trigger.PUSHED) == judging_content()


def test_a_verdict_says_that_it_was_made_again_and_why() -> None:
    verdict = CheckContent("Accepted", "Solves what the issue asks for.")
    assert with_trigger_reason(verdict, Trigger.PUSHED) == verdict
    assert with_trigger_reason(verdict, Trigger.CRITERIA).summary == snapshot("""\
*Judged again, since the issue was edited.*

Solves what the issue asks for.\
""")


NOON, EVENING = datetime(2026, 11, 20, 12, tzinfo=UTC), datetime(2026, 11, 20, 18, 30, tzinfo=UTC)
FOR_A_WHILE = JudgingPause(by="alice", at=NOON, until=EVENING, reason="load tests", repository="acme/widgets")


@pytest.mark.parametrize("repository", ["acme/widgets", None])
def test_going_on_says_that_what_waited_is_judged_and_where_nothing_was_paused_that(repository: str | None) -> None:
    assert resumed_message(repository) == {
        "acme/widgets": snapshot("Judging goes on in acme/widgets: what was not judged meanwhile is judged now, by itself.\n"),
        None: snapshot("Judging goes on everywhere that is not paused on its own: what was not judged meanwhile is judged now, by itself.\n"),
    }[repository]  # fmt: skip
    assert (
        not_paused_message(repository)
        == {
            "acme/widgets": snapshot(
                "Judging was not paused in acme/widgets. `assay pause --list` shows where judging is paused.\n"
            ),
            None: snapshot(
                "No pause of all repositories is in force. `assay pause --list` shows where judging is paused.\n"
            ),
        }[repository]
    )


def test_what_a_person_wrote_is_one_line_with_nothing_unseen() -> None:
    shown = pause_list([ActivePause(JudgingPause(by=HOSTILE[:90], reason=HOSTILE[:400]), is_everywhere=True)])
    assert shown.count("\n") == 1
    assert "\x1b" not in shown
    assert "\u202e" not in shown


ACCEPTED = CheckContent("Accepted", "It is good.", "{json}", Conclusion.SUCCESS, buttons=(HELPFUL,))
REJECTED = CheckContent("Rejected", "It is not.", "{json}", Conclusion.FAILURE)
FAILS, ASKS, WAITS, PASSES = (
    SharedHeadMember(12, "failure"),
    SharedHeadMember(14, "action_required"),
    SharedHeadMember(13, IN_PROGRESS),
    SharedHeadMember(11, "success"),
)


@dataclass(frozen=True)
class Said:
    state: str
    title: str
    summary: str


def combined(content: CheckContent) -> Said:
    return Said(check_state(content), content.title, content.summary)


def test_an_accept_beside_a_reject_fails_with_it_and_stays_readable() -> None:
    shown = combine_content(ACCEPTED, [PASSES, FAILS, WAITS], is_head=True)
    assert combined(shown) == snapshot(
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
    assert combined(combine_content(existing_pull_content(), [WAITS], is_head=True)) == snapshot(
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
        (draft_content(), [SharedHeadMember(2, "idle")]),
    ],
)
def test_what_nobody_stands_stricter_beside_says_its_own(own: CheckContent, others: list[SharedHeadMember]) -> None:
    assert combine_content(own, others, is_head=True) is own


def test_an_accept_is_not_made_less_by_one_that_passes_otherwise() -> None:
    assert combine_content(ACCEPTED, [SharedHeadMember(2, "skipped")], is_head=True) is ACCEPTED


def test_a_draft_holds_nobody_and_says_what_the_other_one_does() -> None:
    assert combine_content(ACCEPTED, [SharedHeadMember(2, check_state(draft_content()))], is_head=True) is ACCEPTED
    assert combined(combine_content(draft_content(), [PASSES], is_head=True)) == snapshot(
        Said(
            state="success",
            title="As #11, which is accepted",
            summary="""\
#11 has the same commit: GitHub shows one check of a name for each commit, so this one says what that one's does.

A draft is judged when it is marked ready for review, when a review is requested, when its description gets an `assay` block, or when an account with write access comments `/rejudge`.\
""",
        )
    )


@pytest.mark.parametrize("other", [PASSES, FAILS, WAITS, SharedHeadMember(3, "neutral")])
def test_one_that_is_closed_or_has_another_head_says_what_the_others_do(other: SharedHeadMember) -> None:
    shown = combine_content(REJECTED, [other], is_head=False)
    assert strictness_of(check_state(shown)) is other.strictness
    assert combine_content(REJECTED, [], is_head=False) is REJECTED


def test_a_long_text_gives_way_to_what_holds_it() -> None:
    long = CheckContent("Accepted", "x\n\n" * 30_000, conclusion=Conclusion.SUCCESS)
    shown = combine_content(long, [FAILS], is_head=True)
    assert shown.summary.startswith("**Accepted here.")
    assert len(shown.summary.encode()) <= BODY_BYTES


def pages() -> Pages:
    yield "a repository that is not known is said to be so", unknown_repository("acme/widgets")
    yield (
        "one that was looked for at github is said to be",
        not_installed("acme/widgets"),
        github_not_reached("acme/widgets", "GitHub is unavailable: no answer in time."),
    )
    yield (
        "a pause says what becomes of checks how long and how to go back",
        paused_message("acme/widgets", FOR_A_WHILE),
        paused_message("acme/widgets", JudgingPause()),
        paused_message(None, FOR_A_WHILE),
    )
    found = (
        ActivePause(FOR_A_WHILE, is_everywhere=True),
        ActivePause(FOR_A_WHILE, is_everywhere=False),
        ActivePause(JudgingPause(), is_everywhere=False),
    )
    yield "pauses are listed with all that is known of them", pause_list(found), pause_list(())


def test_what_people_read(golden: Golden) -> None:
    golden.holds_pages("prose/texts/pauses.md", pages())
