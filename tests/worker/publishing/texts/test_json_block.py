"""What a check says to programs. Invariant: there is nothing that a check can say which lacks it, and only a verdict looks like one."""

import inspect
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from inline_snapshot import snapshot

from tests.worker.publishing.texts.rendered import GITHUB
from tests.worker.publishing.texts.samples import HOSTILE, abstained, accepted, dossier, rejected
from worker.domain.check.check_run import BODY_BYTES, CheckContent, Conclusion
from worker.domain.check.merge_group import GroupEnd
from worker.domain.check.overrides import HumanDecisions, Override, ReviewDecision
from worker.domain.check.shared_head import IN_PROGRESS, SharedHeadMember
from worker.domain.check.wait_status import WaitReason, WaitState
from worker.domain.ids import CheckRunId, EvalId
from worker.domain.judge_request import AuthorKind, Trigger
from worker.domain.verdict.verdict import AbstainReason, Category
from worker.dossier.authors import AuthorSkipped, DraftHeld
from worker.judge.merge_group import GroupPasses, GroupStopReason, GroupStops, PublishedCheckRun
from worker.publishing.texts import check_run, merge_group, overrides, states
from worker.publishing.texts.json_block import BLOCK_BYTES, check_text, json_block

DOCS: Final = Path(__file__).parents[4] / "docs"
NOON: Final = datetime(2026, 11, 20, 12, tzinfo=UTC)
AT_NOON: Final = "2026-11-20T12:00:00+00:00"
NEWER: Final = "c" * 40
PLACE: Final = merge_group.GroupLocation("https://github.com", "acme/widgets", 12)
GREEN: Final = PublishedCheckRun(CheckRunId(5), "success", "Accepted: solves what the issue asks for")
OVERRIDDEN: Final = HumanDecisions(override=Override(login="alice", reason="A hotfix.", at=NOON))
APPROVED: Final = HumanDecisions(review=ReviewDecision(login="bob", at=NOON, is_approved=True))
NEEDS_ONE: Final = abstained(AbstainReason.NEEDS_HUMAN)
ACCEPTED: Final = check_run.check_content(accepted(), dossier())


def of(verdict: Any, **more: Any) -> CheckContent:
    return check_run.check_content(verdict, dossier(), **more)


Told = dict[str, Any]

SAID: Final[dict[Callable[..., CheckContent], list[tuple[CheckContent, Told]]]] = {
    check_run.check_content: [
        (of(accepted()), {"state": "done", "decision": "accept", "conclusion": "success"}),
        (of(rejected()), {"state": "done", "decision": "reject", "reason": "half_finished", "conclusion": "failure"}),
        *((of(abstained(one)), {"state": "done", "decision": "abstain", "reason": one.value}) for one in AbstainReason),
        (
            of(abstained(AbstainReason.JUDGE_UNAVAILABLE), again_at=NOON),
            {"state": "pending", "decision": "abstain", "reason": "judge_unavailable", "until": AT_NOON},
        ),
    ],
    check_run.judging_content: [(check_run.judging_content(), {"state": "pending", "reason": "judging"})],
    check_run.waiting_for_ci_content: [
        (check_run.waiting_for_ci_content(["test"], NOON), {"state": "pending", "reason": "waiting_for_ci", "until": AT_NOON}),
    ],
    check_run.rate_limit_content: [
        (check_run.rate_limit_content(NOON), {"state": "pending", "reason": "rate_limit", "until": AT_NOON}),
    ],
    check_run.github_outage_content: [(check_run.github_outage_content(NOON), {"state": "pending", "reason": "github_outage", "until": AT_NOON})],
    check_run.superseded_content: [
        (check_run.superseded_content(NEWER), {"state": "superseded", "reason": "newer_commit", "superseded_by": NEWER}),
    ],
    check_run.duplicate_content: [(check_run.duplicate_content(), {"state": "none", "reason": "created_twice"})],
    check_run.closed_content: [(check_run.closed_content(), {"state": "none", "reason": "closed"})],
    check_run.failed_content: [
        (check_run.failed_content("502", "d"), {"state": "none", "reason": "assay_failed", "conclusion": "action_required"}),
    ],
    states.quiet_window_content: [
        (states.quiet_window_content(NOON, 45), {"state": "pending", "reason": "quiet_window", "until": AT_NOON}),
    ],
    states.draft_content: [(states.draft_content(), {"state": "none", "reason": "draft"})],
    states.skipped_content: [
        (states.skipped_content(one), {"state": "none", "reason": "skipped", "conclusion": "skipped"}) for one in AuthorKind
    ],
    states.idle_content: [
        (states.idle_content(DraftHeld()), {"state": "none", "reason": "draft"}),
        (states.idle_content(AuthorSkipped(AuthorKind.BOT)), {"state": "none", "reason": "skipped"}),
    ],
    states.existing_pull_content: [
        (states.existing_pull_content(), {"state": "none", "reason": "opened_before_assay", "conclusion": "neutral"}),
        (states.existing_pull_content(is_blocking=True), {"reason": "opened_before_assay", "conclusion": "action_required"}),
    ],
    states.started_content: [(states.started_content(one), {"state": "pending", "reason": "judging"}) for one in Trigger],
    states.with_trigger_reason: [
        (states.with_trigger_reason(of(rejected()), Trigger.RULES), {"state": "done", "decision": "reject"}),
    ],
    overrides.unjudged_content: [(overrides.unjudged_content(), {"state": "none", "reason": "not_judged"})],
    overrides.with_decisions: [
        (
            overrides.with_decisions(of(rejected()), OVERRIDDEN, rejected()),
            {"state": "done", "decision": "reject", "overridden_by": "alice", "conclusion": "neutral"},
        ),
        (
            overrides.with_decisions(of(NEEDS_ONE, again_at=NOON), OVERRIDDEN, NEEDS_ONE),
            {"state": "done", "decision": "abstain", "overridden_by": "alice", "until": None},
        ),
        (
            overrides.with_decisions(overrides.unjudged_content(), OVERRIDDEN, None),
            {"state": "none", "reason": "overridden", "overridden_by": "alice", "conclusion": "neutral"},
        ),
        (
            overrides.with_decisions(of(NEEDS_ONE), APPROVED, NEEDS_ONE),
            {"state": "done", "reason": "needs_human", "reviewed_by": "bob", "conclusion": "neutral"},
        ),
    ],
    states.combine_content: [
        (
            states.combine_content(ACCEPTED, [SharedHeadMember(13, IN_PROGRESS)], is_head=True),
            {"state": "done", "decision": "accept", "held_by": 13, "conclusion": None},
        ),
        (
            states.combine_content(states.draft_content(), [SharedHeadMember(13, "failure")], is_head=True),
            {"state": "none", "reason": "draft", "held_by": 13, "conclusion": "failure"},
        ),
    ],
    merge_group.looking_content: [(merge_group.looking_content(PLACE), {"state": "pending", "reason": "judging"})],
    merge_group.waiting_content: [
        (merge_group.waiting_content(PLACE, NOON), {"state": "pending", "reason": "waiting_for_pull_request", "until": AT_NOON}),
    ],
    merge_group.group_judging_content: [(merge_group.group_judging_content(PLACE), {"state": "pending", "reason": "judging"})],
    merge_group.carried_over_content: [
        (
            merge_group.carried_over_content(PLACE, accepted(), GREEN),
            {"state": "done", "decision": "accept", "eval_id": accepted().eval_id, "conclusion": "success"},
        ),
    ],
    merge_group.passed_content: [
        (
            merge_group.passed_content(PLACE, GroupPasses(Conclusion.NEUTRAL, GREEN)),
            {"state": "none", "reason": "as_pull_request", "conclusion": "neutral"},
        ),
    ],
    merge_group.stopped_content: [
        *(
            (merge_group.stopped_content(PLACE, GroupStops(one)), {"state": "none", "decision": None, "reason": one.value})
            for one in GroupStopReason
            if one is not GroupStopReason.REJECTED
        ),
        (
            merge_group.stopped_content(PLACE, GroupStops(GroupStopReason.REJECTED, GREEN, rejected())),
            {"state": "done", "decision": "reject", "reason": "half_finished", "eval_id": rejected().eval_id},
        ),
        (merge_group.stopped_content(PLACE, GroupStops(GroupStopReason.REJECTED, GREEN)), {"state": "done", "decision": "reject", "reason": None}),
    ],
    merge_group.group_verdict_content: [
        (merge_group.group_verdict_content(PLACE, of(rejected()), EvalId("e")), {"state": "done", "decision": "reject"}),
    ],
    merge_group.ended_content: [(merge_group.ended_content(one), {"state": "none", "reason": "group_gone"}) for one in GroupEnd],
    merge_group.group_failed_content: [(merge_group.group_failed_content(PLACE, "502"), {"state": "none", "reason": "assay_failed"})],
}  # fmt: skip
"""Everything that a check can say, by who words it, and what of it a program reads there."""

ALL: Final = [(content, told) for each in SAID.values() for content, told in each]


def block_in(content: CheckContent) -> dict[str, Any]:
    """The last thing in the text, as GitHub would show it."""
    text = check_text(content)
    assert text.endswith("\n\n</details>")
    assert text.count("<details><summary>This check as JSON</summary>") == 1
    *verdict, block = [token for token in GITHUB.parse(text) if token.info == "json"]
    assert len(verdict) == text.count("<details><summary>The verdict as JSON</summary>")
    return json.loads(block.content)


def test_all_who_word_a_check_are_asked_here() -> None:
    found = {
        one
        for room in (check_run, overrides, merge_group, states)
        for name, one in inspect.getmembers(room, inspect.isfunction)
        if one.__module__ == room.__name__
        and not name.startswith("_")
        and inspect.signature(one).return_annotation is CheckContent
    }
    assert found == SAID.keys()


def test_whatever_a_check_says_a_program_reads_there() -> None:
    for content, told in ALL:
        block = block_in(content)
        assert {name: block[name] for name in told} == told, content.title
        assert (block["check_version"], block["why"]) == (1, content.title)
        assert (block["conclusion"] == "success") == (content.conclusion is Conclusion.SUCCESS)
        is_shown = "<details><summary>The verdict as JSON</summary>" in content.text
        assert is_shown <= (block["decision"] is not None)


def test_every_reason_is_one_of_a_closed_set_and_every_one_is_given() -> None:
    given = {block_in(content)["reason"] for content, _ in ALL}
    assert given <= {None, *WaitReason, *AbstainReason, *Category}
    assert given >= {*WaitReason, *AbstainReason}
    assert {block_in(content)["state"] for content, _ in ALL} == set(WaitState)


def test_every_block_fits_the_published_schema_which_names_each_value_of_a_closed_set() -> None:
    published = json.loads((DOCS / "check.schema.json").read_text("utf-8"))
    enums = {name: field["enum"] for name, field in published["properties"].items() if "enum" in field}
    reasons = sorted({*WaitReason, *Category, *AbstainReason})
    decisions = ["accept", "reject", "abstain", None]
    closed = {
        "state": [*WaitState],
        "decision": decisions,
        "reason": [*reasons, None],
        "conclusion": [*Conclusion, None],
    }
    assert enums == closed
    for content, _ in ALL:
        block = block_in(content)
        assert block.keys() == set(published["required"]) == published["properties"].keys()
        assert all(block[name] in values for name, values in enums.items()), content.title
        assert block["check_version"] == published["properties"]["check_version"]["const"]


def test_every_reason_that_is_no_verdicts_is_explained() -> None:
    page = (DOCS / "verdict.md").read_text("utf-8")
    assert [one for one in WaitReason if f"`{one}`" not in page] == []


def test_only_what_is_decided_has_a_decision() -> None:
    for content, _ in ALL:
        block = block_in(content)
        is_decided = block["state"] == "done" or block["reason"] == "judge_unavailable"
        assert (block["decision"] is not None) == is_decided, content.title


def test_what_is_said_of_a_verdict_later_does_not_rewrite_it() -> None:
    plain = of(rejected())
    shown = states.combine_content(
        overrides.with_decisions(plain, OVERRIDDEN, rejected()), [SharedHeadMember(13, "failure")], is_head=True
    )
    assert shown.text == plain.text
    assert block_in(plain)["eval_id"] == block_in(shown)["eval_id"] == rejected().eval_id


def test_what_nobody_judged_is_told_apart_from_what_was_rejected() -> None:
    assert check_text(check_run.failed_content("GitHub is unavailable", "72d3162e")) == snapshot("""\
Delivery `72d3162e`

<details><summary>This check as JSON</summary>

```json
{
  "check_version": 1,
  "state": "none",
  "decision": null,
  "reason": "assay_failed",
  "why": "Not judged: Assay failed",
  "until": null,
  "conclusion": "action_required",
  "eval_id": null,
  "superseded_by": null,
  "overridden_by": null,
  "reviewed_by": null,
  "held_by": null
}
```

</details>\
""")


def test_what_others_wrote_does_not_leave_its_string() -> None:
    said = HumanDecisions(override=Override(login=HOSTILE, reason=HOSTILE, at=NOON))
    content = overrides.with_decisions(
        check_run.waiting_for_ci_content([HOSTILE, "```", "</details>"], NOON), said, None
    )
    assert check_text(content).isascii()
    assert block_in(content)["why"] == content.title


def test_the_largest_block_has_room_below_the_largest_verdict() -> None:
    odd, long = "\U0001f600" * 200, "a" * 70_000
    said = HumanDecisions(override=Override(login=odd, reason=odd, at=NOON))
    for verdict in (rejected(concern=long, next_step=long), rejected(signals={"a": long}), rejected()):
        shown = states.combine_content(
            overrides.with_decisions(of(verdict), said, verdict), [SharedHeadMember(99_999, "failure")], is_head=True
        )
        for content in (shown, replace(shown, title=odd[:63])):
            assert len(check_text(content).encode()) - len(content.text.encode()) <= BLOCK_BYTES
            assert len(check_text(content).encode()) <= BODY_BYTES
            assert block_in(content)["decision"] == "reject"


def test_what_an_earlier_version_wrote_says_what_it_said() -> None:
    assert check_text(CheckContent("Accepted", "It is good.", "{json}", Conclusion.SUCCESS)) == "{json}"
    earlier = CheckContent("Not judged", "", conclusion=Conclusion.ACTION_REQUIRED)
    for said in (OVERRIDDEN, APPROVED):
        assert check_text(overrides.with_decisions(earlier, said, NEEDS_ONE)) == ""
    assert check_text(states.combine_content(ACCEPTED, [], is_head=True)) == check_text(ACCEPTED)
    assert check_text(states.combine_content(earlier, [SharedHeadMember(13, "failure")], is_head=False)) == ""


def test_no_block_of_a_verdict_is_larger_than_its_room() -> None:
    whole = len(json_block(rejected(), 60_000))
    for limit in range(whole - 1_000, whole + 1_000, 50):
        assert len(json_block(rejected(), limit).encode()) <= limit


def test_a_character_that_not_every_reader_keeps_comes_through_as_it_is() -> None:
    content = replace(check_run.judging_content(), title="a\x7fb")
    said = check_text(content)
    assert "\x7f" not in said
    assert "a\\u007fb" in said
