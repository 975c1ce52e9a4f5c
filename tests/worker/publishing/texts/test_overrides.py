"""What people said about a head, on its check, word for word. Invariant: the verdict's own text stays below."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from inline_snapshot import snapshot

from tests.worker.publishing.texts.rendered import ACTIVE, GITHUB, Shown
from tests.worker.publishing.texts.samples import HOSTILE, abstained, accepted, dossier, rejected
from worker.domain.check.check_run import CheckContent, Conclusion
from worker.domain.check.overrides import (
    BUTTON_REASON,
    NO_DECISIONS,
    Contest,
    HumanDecisions,
    Override,
    ReviewDecision,
    ReviewDismissal,
    dump_decisions,
)
from worker.domain.ids import EvalId
from worker.domain.verdict.verdict import AbstainReason, Verdict
from worker.publishing.texts.check_run import BODY_BYTES, check_content
from worker.publishing.texts.overrides import RequestedReviews, decision_lines, unjudged_content, with_decisions
from worker.publishing.texts.phrases import TITLE_BYTES

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
NEEDS_ONE = abstained(AbstainReason.NEEDS_HUMAN)


def override(**changes: Any) -> Override:
    standard = {"login": "alice", "reason": "A hotfix.", "at": NOON, "eval_id": EvalId("e")}
    return Override.model_validate({**standard, **changes})


def shown(
    said: HumanDecisions, verdict: Verdict | None, called: RequestedReviews | None = None
) -> tuple[CheckContent, str]:
    """The check, and what stands above the verdict's own text."""
    plain = unjudged_content() if verdict is None else check_content(verdict, dossier())
    content = with_decisions(plain, said, verdict, called)
    assert content.text == plain.text
    assert content.summary.endswith(plain.summary)
    return content, content.summary.removesuffix(plain.summary)


def test_what_nobody_spoke_about_stays_as_it_is() -> None:
    content, note = shown(NO_DECISIONS, rejected())
    assert (content, note) == (check_content(rejected(), dossier()), "")


def test_an_override_says_who_and_why_and_how_long() -> None:
    content, note = shown(HumanDecisions(override=override()), rejected())
    assert (content.title, content.conclusion) == ("Overridden by @alice: A hotfix.", Conclusion.NEUTRAL)
    assert note == snapshot("""\
**Overridden by `alice`** at 2026-11-20 12:00 UTC: A hotfix.

This holds for this commit alone: the next push ends it, and it counts again where the branch comes back to it. The verdict stays as it is; its text follows.

""")
    assert content.annotations == check_content(rejected(), dossier()).annotations


def test_an_override_of_a_commit_without_a_verdict_says_that_there_is_none() -> None:
    content, note = shown(HumanDecisions(override=override(eval_id=None)), None)
    assert content.conclusion is Conclusion.NEUTRAL
    assert note.endswith("where the branch comes back to it. There was no verdict then.\n\n")
    assert content.summary.endswith("No verdict was made on this commit.")


def test_a_long_reason_fits_and_a_full_page_gives_way_as_a_whole() -> None:
    said = HumanDecisions(override=override(reason="é" * 1000))
    full = CheckContent(title="Rejected", summary="x" * BODY_BYTES, text="text", conclusion=Conclusion.FAILURE)
    content = with_decisions(full, said, rejected())
    assert len(content.title.encode()) <= TITLE_BYTES
    assert len(content.summary.encode()) <= BODY_BYTES
    assert content.text == "text"


def test_of_a_page_that_is_too_long_the_first_blocks_are_still_read() -> None:
    full = CheckContent(title="Rejected", summary=f"Above.\n\n{'x' * BODY_BYTES}", text="")
    content = with_decisions(full, HumanDecisions(override=override()), rejected())
    assert "Above.\n\n*Cut here" in content.summary


def test_the_longest_verdict_is_read_below_the_longest_words_of_people() -> None:
    pointer = rejected().evidence[0].model_copy(update={"note": "é" * 3_000})
    verdict = rejected(evidence=(pointer,) * 20)
    content = check_content(verdict, dossier())
    assert "*Cut here" in content.summary
    contest = Contest(login="bob", reason="@" * 1000, at=NOON, eval_id=None)
    said = HumanDecisions(override=override(reason="é" * 1000), contest=contest)
    below = with_decisions(content, said, verdict, RequestedReviews(("a" * 39,) * 5, has_owners=True))
    assert below.summary.endswith(content.summary)
    assert len(below.summary.encode()) <= BODY_BYTES


@pytest.mark.parametrize(
    ("is_approved", "title", "conclusion"),
    [
        (True, "Decided by @alice: approved", Conclusion.NEUTRAL),
        (False, "Decided by @alice: changes requested", Conclusion.ACTION_REQUIRED),
    ],
    ids=["approved", "changes"],
)
def test_a_code_owners_review_decides_what_needs_a_person(
    title: str, conclusion: Conclusion, *, is_approved: bool
) -> None:
    said = HumanDecisions(review=ReviewDecision(login="alice", at=NOON, is_approved=is_approved))
    content, note = shown(said, NEEDS_ONE)
    assert (content.title, content.conclusion) == (title, conclusion)
    assert (
        note
        == {
            True: snapshot("""\
**Decided by `alice`** at 2026-11-20 12:00 UTC: approved. This commit may pass. The verdict stays as it is; its text follows.

"""),
            False: snapshot("""\
**Decided by `alice`** at 2026-11-20 12:00 UTC: changes requested. This commit stays blocked until the next push, or their next review. The verdict stays as it is; its text follows.

"""),
        }[is_approved]
    )
    for verdict in (accepted(), rejected()):
        assert shown(said, verdict)[0] == check_content(verdict, dossier())


def test_a_decision_that_was_taken_back_leaves_the_verdict_and_says_by_whom() -> None:
    said = HumanDecisions(dismissed=ReviewDismissal(login="alice", at=NOON, of="bob"))
    content, note = shown(said, NEEDS_ONE)
    plain = check_content(NEEDS_ONE, dossier())
    assert (content.title, content.conclusion) == (plain.title, plain.conclusion)
    assert note == snapshot("""\
**Taken back by `alice`** at 2026-11-20 12:00 UTC: the review of `bob`, which had decided about this commit, was dismissed. The verdict stands as it was.

""")
    assert shown(said, rejected())[0] == check_content(rejected(), dossier())


def test_an_override_comes_before_a_review() -> None:
    said = HumanDecisions(override=override(), review=ReviewDecision(login="bob", at=NOON, is_approved=False))
    assert shown(said, NEEDS_ONE)[0].conclusion is Conclusion.NEUTRAL


def test_a_contest_is_told_and_a_press_says_how_to_give_a_reason() -> None:
    contest = Contest(login="bob", reason="It is met in upload.py", at=NOON)
    content, note = shown(HumanDecisions(contest=contest), rejected())
    assert content.conclusion is Conclusion.FAILURE
    assert note == snapshot("**Contested by `bob`** at 2026-11-20 12:00 UTC: It is met in upload.py\n\n")
    pressed = contest.model_copy(update={"reason": BUTTON_REASON})
    assert shown(HumanDecisions(contest=pressed), rejected())[1] == snapshot(
        "**Contested by `bob`** at 2026-11-20 12:00 UTC: pressed Contest. To give a reason, comment `/contest REASON`.\n\n"
    )


@pytest.mark.parametrize(
    ("called", "note"),
    [
        (
            RequestedReviews(("bob", "acme/platform")),
            snapshot(
                "**A person has to decide.** Asked for a review: `bob`, `acme/platform`. An approving review of a code owner lets this commit pass, and so does `/override REASON` (roles maintain and admin).\n\n"
            ),
        ),
        (
            RequestedReviews(has_owners=False),
            snapshot(
                "**A person has to decide**, and this repository names no code owners. `/override REASON` (roles maintain and admin) lets this commit pass.\n\n"
            ),
        ),
        (
            RequestedReviews(),
            snapshot(
                "**A person has to decide**, and no code owner could be asked. `/override REASON` (roles maintain and admin) lets this commit pass.\n\n"
            ),
        ),
        (
            RequestedReviews(is_refused=True),
            snapshot(
                "**A person has to decide.** Assay could not ask for a review: GitHub refuses it (it needs *Pull requests: write*). An approving review of a code owner lets this commit pass, and so does `/override REASON` (roles maintain and admin).\n\n"
            ),
        ),
        (
            RequestedReviews(is_declined=True, has_owners=False),
            snapshot(
                "**A person has to decide**, and this repository names no code owners. `/override REASON` (roles maintain and admin) lets this commit pass.\n\n"
            ),
        ),
        (
            RequestedReviews(is_declined=True),
            snapshot(
                "**A person has to decide.** No review was requested: the operator declined that (`ASSAY_COMMENTS`). An approving review of a code owner lets this commit pass, and so does `/override REASON` (roles maintain and admin).\n\n"
            ),
        ),
    ],
    ids=["asked", "no owners", "nobody could be", "refused", "declined without owners", "declined"],
)
def test_the_way_back_is_told(called: RequestedReviews, note: str) -> None:
    assert shown(NO_DECISIONS, NEEDS_ONE, called)[1] == note


def test_words_of_others_do_nothing_on_a_check() -> None:
    words = {"login": HOSTILE, "reason": HOSTILE}
    said = HumanDecisions(
        override=override(**words),
        contest=Contest.model_validate({**words, "at": NOON}),
    )
    content = with_decisions(replace(unjudged_content(), summary="x"), said, None, RequestedReviews((HOSTILE,)))
    taken_back = HumanDecisions(dismissed=ReviewDismissal(login=HOSTILE, at=NOON, of=HOSTILE))
    for one in (content, with_decisions(replace(unjudged_content(), summary="x"), taken_back, NEEDS_ONE)):
        page = Shown(GITHUB.render(one.summary))
        assert set(page.tags) <= {"p", "strong", "code", "em"}
        assert not ACTIVE.search(page.plain.replace("(http", ""))
    assert "\x1b" not in content.title
    assert "\u202e" not in content.title


def test_the_same_stands_in_a_terminal_in_plain_words() -> None:
    review = ReviewDecision(login="bob", at=NOON, is_approved=True)
    contest = Contest(login="carol", reason="It is met.\x1b[2J", at=NOON)
    assert [*decision_lines(HumanDecisions(override=override(), review=review, contest=contest))] == snapshot(
        [
            "Overridden by @alice at 2026-11-20 12:00 UTC: A hotfix.",
            "Decided by @bob at 2026-11-20 12:00 UTC: approved",
            "Contested by @carol at 2026-11-20 12:00 UTC: It is met.␛[2J",
        ]
    )
    refused = review.model_copy(update={"is_approved": False})
    assert [*decision_lines(HumanDecisions(review=refused))] == [
        "Decided by @bob at 2026-11-20 12:00 UTC: changes requested"
    ]
    taken_back = ReviewDismissal(login="alice", at=NOON, of="bob")
    assert [*decision_lines(HumanDecisions(dismissed=taken_back))] == snapshot(
        ["Decision of @bob taken back by @alice at 2026-11-20 12:00 UTC"]
    )
    assert [*decision_lines(NO_DECISIONS)] == []


def test_json_tells_what_was_said_and_nothing_else() -> None:
    assert dump_decisions(NO_DECISIONS) == {}
    assert dump_decisions(HumanDecisions(override=override(), forced_at=NOON)) == {
        "override": {
            "login": "alice",
            "reason": "A hotfix.",
            "at": "2026-11-20T12:00:00Z",
            "eval_id": "e",
            "is_own": False,
        }
    }


def test_an_override_of_their_own_is_titled_as_such() -> None:
    content, above = shown(HumanDecisions(override=override(is_own=True)), rejected())
    assert content.title == "Overridden by @alice, the author: A hotfix."
    assert above.startswith("**Overridden by `alice`, the author** at 2026-11-20 12:00 UTC: A hotfix.")
