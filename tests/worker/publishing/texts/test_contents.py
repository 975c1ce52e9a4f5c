"""The content of a check run in each of its states, for people and for programs."""

import inspect
import json
from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
from inline_snapshot import snapshot

from tests.golden.golden import Golden, Pages
from tests.worker.publishing.texts.rendered import ACTIVE, GITHUB, render
from tests.worker.publishing.texts.samples import HOSTILE, abstained, accepted, dossier, rejected
from worker.domain.check.check_run import (
    BODY_BYTES,
    HELPFUL,
    CheckContent,
    Conclusion,
    UploadRefusal,
    WaitReason,
    WaitState,
)
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
from worker.domain.check.shared_head import IDLE, IN_PROGRESS, SharedHeadMember, check_state
from worker.domain.github_events import GroupEnd
from worker.domain.judge_request import AuthorKind, Trigger
from worker.domain.lifecycle.work import ActivePause
from worker.domain.model import CheckRunId, EvalId
from worker.domain.time_range import JudgingPause
from worker.domain.verdict.verdict import AbstainReason, Category, Verdict
from worker.dossier.authors import AuthorSkipped, DraftHeld
from worker.judge.merge_group import GroupPasses, GroupStopReason, GroupStops, PublishedCheckRun
from worker.publishing.texts import check_run, merge_group, states
from worker.publishing.texts.check_run import BLOCK_BYTES, check_text, json_block
from worker.publishing.texts.markdown import code_block
from worker.publishing.texts.phrases import TITLE_BYTES
from worker.publishing.texts.sarif import sarif_refusal_line, with_sarif_refusal
from worker.publishing.texts.states import RequestedReviews, combine_content, decision_lines, pause_list, with_decisions

DOCS: Final = Path(__file__).parents[4] / "docs"
NOON: Final = datetime(2026, 11, 20, 12, tzinfo=UTC)
EVENING: Final = datetime(2026, 11, 20, 18, 30, tzinfo=UTC)
NEWER: Final = "c" * 40
PLACE: Final = merge_group.GroupLocation("https://github.com", "acme/widgets", 12)
GREEN: Final = PublishedCheckRun(CheckRunId(5), "success", "Accepted: solves what the issue asks for")
NEEDS_ONE: Final = abstained(AbstainReason.NEEDS_HUMAN)
GROUP_PARENT: Final = EvalId("0199aaaa-0000-7000-8000-000000000001")


def content_of(verdict: Verdict | None, **more: Any) -> CheckContent:
    return check_run.check_content(verdict, dossier(), **more) if verdict else states.unjudged_content()


def override(**changes: Any) -> Override:
    standard = {"login": "alice", "reason": "A hotfix.", "at": NOON, "eval_id": EvalId("e")}
    return Override.model_validate({**standard, **changes})


def review(login: str = "bob", *, is_approved: bool = True) -> ReviewDecision:
    return ReviewDecision(login=login, at=NOON, is_approved=is_approved)


OVERRIDDEN: Final = HumanDecisions(override=override())
APPROVED: Final = HumanDecisions(review=review())
REFUSED: Final = HumanDecisions(review=review(is_approved=False))
TAKEN_BACK: Final = HumanDecisions(dismissed=ReviewDismissal(login="alice", at=NOON, of="bob"))
CONTEST: Final = Contest(login="bob", reason="It is met in upload.py", at=NOON)
PRESSED: Final = CONTEST.model_copy(update={"reason": BUTTON_REASON})

DECIDED: Final[list[tuple[HumanDecisions, Verdict | None, RequestedReviews | None]]] = [
    (OVERRIDDEN, rejected(), None),
    (OVERRIDDEN, NEEDS_ONE, None),
    (HumanDecisions(override=override(is_own=True)), rejected(), None),
    (HumanDecisions(override=override(eval_id=None)), None, None),
    (APPROVED, NEEDS_ONE, None),
    (REFUSED, NEEDS_ONE, None),
    (HumanDecisions(override=override(), review=REFUSED.review), NEEDS_ONE, None),
    (TAKEN_BACK, NEEDS_ONE, None),
    (HumanDecisions(contest=CONTEST), rejected(), None),
    (HumanDecisions(contest=PRESSED), rejected(), None),
    (NO_DECISIONS, NEEDS_ONE, RequestedReviews(("bob", "acme/platform"))),
    (NO_DECISIONS, NEEDS_ONE, RequestedReviews(has_owners=False)),
    (NO_DECISIONS, NEEDS_ONE, RequestedReviews()),
    (NO_DECISIONS, NEEDS_ONE, RequestedReviews(is_refused=True)),
    (NO_DECISIONS, NEEDS_ONE, RequestedReviews(is_declined=True, has_owners=False)),
    (NO_DECISIONS, NEEDS_ONE, RequestedReviews(is_declined=True)),
]
ACCEPTED: Final = CheckContent("Accepted", "It is good.", "{json}", Conclusion.SUCCESS, buttons=(HELPFUL,))
REJECTED: Final = CheckContent("Rejected", "It is not.", "{json}", Conclusion.FAILURE)
JUDGING, DRAFT, OPENED_BEFORE = states.judging_content(), states.draft_content(), states.existing_pull_content()
FAILS, ASKS, WAITS, PASSES, NEUTRAL = (
    SharedHeadMember(number, state)
    for number, state in ((12, "failure"), (14, "action_required"), (13, IN_PROGRESS), (11, "success"), (3, "neutral"))
)
combine = partial(combine_content, is_head=True)

CONTENTS: Final[dict[Callable[..., CheckContent], list[CheckContent]]] = {
    check_run.check_content: [
        *map(content_of, (accepted(), rejected(), *map(abstained, AbstainReason))),
        content_of(abstained(AbstainReason.JUDGE_UNAVAILABLE), again_at=EVENING),
    ],
    states.judging_content: [JUDGING],
    states.waiting_for_ci_content: [
        states.waiting_for_ci_content(("test", "l`int")),
        states.waiting_for_ci_content(["test"], NOON),
    ],
    states.rate_limit_content: [states.rate_limit_content(NOON)],
    states.github_outage_content: [states.github_outage_content(NOON)],
    states.superseded_content: [
        states.superseded_content(NEWER),
        states.superseded_content(NEWER, states.checks_page("https://github.example", "acme/widgets", NEWER)),
    ],
    states.duplicate_content: [states.duplicate_content()],
    states.closed_content: [states.closed_content()],
    states.failed_content: [states.failed_content("502"), states.failed_content("502 @acme/team", "d")],
    states.quiet_window_content: [
        states.quiet_window_content(NOON, 45),
        states.quiet_window_content(NOON, 45.0, why=Trigger.TEXT),
        states.quiet_window_content(NOON, 45.0, why=Trigger.REOPENED, is_watched=False),
    ],
    states.draft_content: [DRAFT],
    states.skipped_content: [*map(states.skipped_content, AuthorKind)],
    states.idle_content: [*map(states.idle_content, (DraftHeld(), AuthorSkipped(AuthorKind.BOT)))],
    states.existing_pull_content: [OPENED_BEFORE, states.existing_pull_content(is_blocking=True)],
    states.started_content: [*map(states.started_content, Trigger)],
    states.with_trigger_reason: [
        states.with_trigger_reason(content_of(accepted()), why)
        for why in (Trigger.PUSHED, Trigger.RULES, Trigger.CRITERIA)
    ],
    states.unjudged_content: [states.unjudged_content()],
    states.with_decisions: [
        *(with_decisions(content_of(verdict), decisions, verdict, called) for decisions, verdict, called in DECIDED),
        with_decisions(content_of(NEEDS_ONE, again_at=NOON), OVERRIDDEN, NEEDS_ONE),
    ],
    states.combine_content: [
        combine(content_of(accepted()), [WAITS]),
        combine(content_of(accepted()), [PASSES, FAILS, WAITS]),
        combine(OPENED_BEFORE, [WAITS]),
        combine(JUDGING, [ASKS]),
        combine(DRAFT, [PASSES]),
        combine(DRAFT, [FAILS]),
        *(combine_content(content_of(rejected()), [other], is_head=False) for other in (PASSES, FAILS, WAITS, NEUTRAL)),
    ],
    merge_group.looking_content: [merge_group.looking_content(PLACE)],
    merge_group.waiting_content: [merge_group.waiting_content(PLACE, NOON)],
    merge_group.group_judging_content: [merge_group.group_judging_content(PLACE)],
    merge_group.carried_over_content: [merge_group.carried_over_content(PLACE, accepted(), GREEN)],
    merge_group.passed_content: [
        merge_group.passed_content(PLACE, GroupPasses(Conclusion.NEUTRAL, GREEN)),
        merge_group.passed_content(PLACE, GroupPasses(Conclusion.SKIPPED, replace(GREEN, title="A person's"))),
    ],
    merge_group.stopped_content: [
        *(merge_group.stopped_content(PLACE, GroupStops(reason)) for reason in GroupStopReason),
        merge_group.stopped_content(PLACE, GroupStops(GroupStopReason.REJECTED, GREEN, rejected())),
    ],
    merge_group.group_verdict_content: [merge_group.group_verdict_content(PLACE, content_of(rejected()), GROUP_PARENT)],
    merge_group.ended_content: [*map(merge_group.ended_content, GroupEnd)],
    merge_group.group_failed_content: [merge_group.group_failed_content(PLACE, "502")],
}
"""Every content of a check run, by the function that makes it."""
ALL: Final = [content for contents in CONTENTS.values() for content in contents]


def block_in(content: CheckContent) -> dict[str, Any]:
    """The JSON block at the end of the rendered text."""
    text = check_text(content)
    assert text.endswith("\n\n</details>")
    assert text.count("<details><summary>This check as JSON</summary>") == 1
    *verdict, block = [token for token in GITHUB.parse(text) if token.info == "json"]
    assert len(verdict) == text.count("<details><summary>The verdict as JSON</summary>")
    return json.loads(block.content)


def page_of(content: CheckContent) -> tuple[str, ...]:
    """Title, JSON fields and unusual flags, summary, and the text before the JSON block."""
    usual, text = asdict(CheckContent("", "")), content.text.partition("<details>")[0].strip()
    shown = {name: value for name, value in block_in(content).items() if value is not None and name != "why"}
    flags = ("is_queued", "is_watched", "gives_way", "is_idle", "buttons")
    shown |= {name: getattr(content, name) for name in flags if asdict(content)[name] != usual[name]}
    shown |= {"buttons": [button.identifier for button in content.buttons]} if content.buttons else {}
    facts = "\n".join(f"{name}: {value}" for name, value in shown.items())
    return (content.title, facts, content.summary, *([text] if text and "decision" not in shown else []))


def test_check_contents_match_the_golden_pages(golden: Golden) -> None:
    golden.check_pages("prose/texts/checks.md", map(page_of, ALL))


def test_every_content_function_is_covered() -> None:
    assert CONTENTS.keys() == {
        function
        for room in (check_run, merge_group, states)
        for name, function in inspect.getmembers(room, inspect.isfunction)
        if function.__module__ == room.__name__
        and not name.startswith("_")
        and inspect.signature(function).return_annotation is CheckContent
    }


# JSON blocks


def test_json_block_matches_the_schema_and_the_check() -> None:
    published = json.loads((DOCS / "check.schema.json").read_text("utf-8"))
    enums = {name: field["enum"] for name, field in published["properties"].items() if "enum" in field}
    assert enums == {
        "state": [*WaitState],
        "decision": ["accept", "reject", "abstain", None],
        "reason": [*sorted({*WaitReason, *Category, *AbstainReason}), None],
        "conclusion": [*Conclusion, None],
    }
    for content in ALL:
        block = block_in(content)
        assert block.keys() == set(published["required"]) == published["properties"].keys()
        assert all(block[name] in values for name, values in enums.items()), content.title
        assert block["check_version"] == published["properties"]["check_version"]["const"] == 1
        assert (block["why"], block["conclusion"]) == (content.title, content.conclusion)
        is_decided = block["state"] == "done" or block["reason"] == "judge_unavailable"
        assert (block["decision"] is not None) == is_decided, content.title
        assert is_decided >= ("<details><summary>The verdict as JSON</summary>" in content.text)


def test_json_blocks_cover_every_state_and_reason() -> None:
    blocks = [*map(block_in, ALL)]
    assert {block["state"] for block in blocks} == set(WaitState)
    assert {block["reason"] for block in blocks} >= {*WaitReason, *AbstainReason}
    page = (DOCS / "verdict.md").read_text("utf-8")
    assert [reason for reason in WaitReason if f"`{reason}`" not in page] == []


def test_check_without_a_verdict_ends_in_its_json_block() -> None:
    assert check_text(states.failed_content("GitHub is unavailable", "72d3162e")) == snapshot("""\
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


def test_content_of_an_earlier_version_is_kept() -> None:
    earlier = CheckContent("Not judged", "", conclusion=Conclusion.ACTION_REQUIRED)
    assert check_text(CheckContent("Accepted", "It is good.", "{json}", Conclusion.SUCCESS)) == "{json}"
    for decisions in (OVERRIDDEN, APPROVED):
        assert check_text(with_decisions(earlier, decisions, NEEDS_ONE)) == ""
    assert check_text(combine_content(earlier, [FAILS], is_head=False)) == ""


def test_largest_json_block_fits_below_the_largest_verdict() -> None:
    odd, long = "\U0001f600" * 200, "a" * 70_000
    decisions = HumanDecisions(override=override(login=odd, reason=odd))
    for verdict in (rejected(concern=long, next_step=long), rejected(signals={"a": long}), rejected()):
        decided = with_decisions(content_of(verdict), decisions, verdict)
        held_content = combine(decided, [SharedHeadMember(99_999, "failure")])
        for content in (held_content, replace(held_content, title=odd[:63])):
            assert len(check_text(content).encode()) - len(content.text.encode()) <= BLOCK_BYTES
            assert len(check_text(content).encode()) <= BODY_BYTES
            assert block_in(content)["decision"] == "reject"


def test_verdict_block_keeps_its_limit() -> None:
    whole = len(json_block(rejected(), 60_000))
    for limit in range(whole - 1_000, whole + 1_000, 50):
        assert len(json_block(rejected(), limit).encode()) <= limit


def test_control_character_is_escaped_in_the_json_block() -> None:
    text = check_text(replace(JUDGING, title="a\x7fb"))
    assert "\x7f" not in text
    assert "a\\u007fb" in text


# Hostile text


def test_hostile_text_stays_inert_in_every_content() -> None:
    ours = PublishedCheckRun(CheckRunId(5), "neutral", HOSTILE)
    contest = Contest(login=HOSTILE, reason=HOSTILE, at=NOON)
    decisions = HumanDecisions(override=override(login=HOSTILE, reason=HOSTILE), contest=contest)
    gone = HumanDecisions(dismissed=ReviewDismissal(login=HOSTILE, at=NOON, of=HOSTILE))
    plain = replace(states.unjudged_content(), summary="x")
    for content in (
        merge_group.passed_content(PLACE, GroupPasses(Conclusion.NEUTRAL, ours)),
        merge_group.carried_over_content(PLACE, accepted(concern=HOSTILE), ours),
        merge_group.stopped_content(PLACE, GroupStops(GroupStopReason.REJECTED, ours, rejected(concern=HOSTILE))),
        merge_group.stopped_content(PLACE, GroupStops(GroupStopReason.NOT_JUDGED, ours)),
        merge_group.group_failed_content(PLACE, HOSTILE),
        with_decisions(plain, decisions, None, RequestedReviews((HOSTILE,))),
        with_decisions(plain, HumanDecisions(review=review(HOSTILE)), NEEDS_ONE),
        with_decisions(plain, gone, NEEDS_ONE),
        states.waiting_for_ci_content([HOSTILE, "```", "</details>"], NOON),
    ):
        assert "\n" not in content.title
        assert not {"\x1b", "\u202e"} & {*content.title, *content.summary}
        page = render(content.summary)
        assert set(page.tags) <= {"p", "strong", "em", "code", "a", "ul", "li"}
        assert all(url.startswith("https://github.com/acme/widgets/") for url in page.links)
        assert not ACTIVE.search(page.plain.replace("Next step:", "").replace("#12", "").replace("12:00", ""))
        assert check_text(content).isascii()
        assert block_in(content)["why"] == content.title


# Lines above and below a verdict


@pytest.mark.parametrize(("decisions", "verdict", "called"), DECIDED)
def test_decisions_stand_above_an_unchanged_verdict(
    decisions: HumanDecisions, verdict: Verdict | None, called: RequestedReviews | None
) -> None:
    plain = content_of(verdict)
    content = with_decisions(plain, decisions, verdict, called)
    assert content.summary.endswith(f"\n\n{plain.summary}")
    assert (content.text, content.annotations) == (plain.text, plain.annotations)
    held_content = combine(content, [FAILS])
    assert (held_content.text, block_in(held_content)["eval_id"]) == (plain.text, block_in(plain)["eval_id"])


@pytest.mark.parametrize("decisions", [NO_DECISIONS, APPROVED, REFUSED, TAKEN_BACK])
@pytest.mark.parametrize("verdict", [accepted(), rejected()])
def test_review_does_not_change_a_verdict_that_needs_no_person(decisions: HumanDecisions, verdict: Verdict) -> None:
    assert with_decisions(content_of(verdict), decisions, verdict) == content_of(verdict)


@pytest.mark.parametrize(
    ("own", "others"),
    [
        (ACCEPTED, []),
        (ACCEPTED, [PASSES]),
        (ACCEPTED, [SharedHeadMember(2, "skipped")]),
        (ACCEPTED, [SharedHeadMember(2, check_state(DRAFT))]),
        (REJECTED, [FAILS]),
        (JUDGING, [WAITS]),
        (DRAFT, [SharedHeadMember(2, IDLE)]),
    ],
)
def test_strictest_check_keeps_its_own_content(own: CheckContent, others: list[SharedHeadMember]) -> None:
    assert combine(own, others) is own
    assert combine_content(own, [], is_head=False) is own


def test_held_check_keeps_its_text_and_buttons() -> None:
    held_content = combine(ACCEPTED, [FAILS])
    assert (held_content.text, held_content.buttons) == (ACCEPTED.text, ACCEPTED.buttons)


@pytest.mark.parametrize("refusal", UploadRefusal)
def test_refused_upload_is_one_line_below_the_verdict(refusal: UploadRefusal) -> None:
    plain = content_of(accepted())
    content = with_sarif_refusal(plain, refusal)
    line = content.summary.removeprefix(f"{plain.summary}\n\n")
    assert line.startswith("**SARIF was not uploaded** (`sarif: true`): ")
    assert "\n" not in line
    assert replace(content, summary=plain.summary) == plain


ADDED: Final[dict[str, Callable[[CheckContent], CheckContent]]] = {
    "decisions": lambda plain: with_decisions(
        plain, HumanDecisions(override=override(reason="é" * 1000)), rejected(), RequestedReviews(("a" * 39,) * 5)
    ),
    "another pull request": lambda plain: combine(plain, [FAILS]),
    "trigger": lambda plain: states.with_trigger_reason(plain, Trigger.RULES),
    "merge group": lambda plain: merge_group.group_verdict_content(PLACE, plain, GROUP_PARENT),
    "sarif": lambda plain: with_sarif_refusal(plain, UploadRefusal.FORBIDDEN),
}


@pytest.mark.parametrize("add", ADDED.values(), ids=ADDED)
@pytest.mark.parametrize(
    "long", ["x" * BODY_BYTES, "x\n\n" * 30_000, code_block("x = 1\n\n" * 10_000)], ids=["block", "blocks", "fence"]
)
def test_overlong_page_is_cut_between_its_blocks(add: Callable[[CheckContent], CheckContent], long: str) -> None:
    notes = content_of(rejected()).annotations
    content = add(CheckContent("Accepted", f"Above.\n\n{long}\n\nBelow.", "text", Conclusion.SUCCESS, notes))
    assert len(content.title.encode()) <= TITLE_BYTES
    assert len(content.summary.encode()) <= BODY_BYTES
    assert "Above.\n\n" in content.summary
    assert "```" not in content.summary
    assert content.summary.endswith("\n\n*Cut here: the rest does not fit into a check run.*")
    assert (content.text, content.annotations) == ("text", notes)
    assert notes


def test_longest_decisions_leave_the_longest_verdict_whole() -> None:
    pointer = rejected().evidence[0].model_copy(update={"note": "é" * 3_000})
    content = content_of(rejected(evidence=(pointer,) * 20))
    assert "*Cut here" in content.summary
    contest = Contest(login="bob", reason="@" * 1000, at=NOON, eval_id=None)
    decisions = HumanDecisions(override=override(reason="é" * 1000), contest=contest)
    below = with_decisions(content, decisions, rejected(), RequestedReviews(("a" * 39,) * 5, has_owners=True))
    assert below.summary.endswith(content.summary)
    assert len(below.summary.encode()) <= BODY_BYTES


# Terminal texts


def test_dumped_decisions_hold_only_what_was_decided() -> None:
    fields = {"login": "alice", "reason": "A hotfix.", "at": "2026-11-20T12:00:00Z", "eval_id": "e", "is_own": False}
    assert dump_decisions(NO_DECISIONS) == {}
    assert dump_decisions(HumanDecisions(override=override(), forced_at=NOON)) == {"override": fields}


def test_pause_is_one_line_without_control_characters() -> None:
    text = pause_list([ActivePause(JudgingPause(by=HOSTILE[:90], reason=HOSTILE[:400]), is_everywhere=True)])
    assert text.count("\n") == 1
    assert not {"\x1b", "\u202e"} & {*text}


def pauses() -> Pages:
    yield "a repository that is not known is said to be so", states.unknown_repository("acme/widgets")
    unreached = states.github_not_reached("acme/widgets", "GitHub is unavailable: no answer in time.")
    yield "one that was looked for at github is said to be", states.not_installed("acme/widgets"), unreached
    while_tested = JudgingPause(by="alice", at=NOON, until=EVENING, reason="load tests", repository="acme/widgets")
    yield (
        "a pause says what becomes of checks how long and how to go back",
        states.paused_message("acme/widgets", while_tested),
        states.paused_message("acme/widgets", JudgingPause()),
        states.paused_message(None, while_tested),
    )
    listed = [ActivePause(while_tested, is_everywhere=is_everywhere) for is_everywhere in (True, False)]
    listed.append(ActivePause(JudgingPause(), is_everywhere=False))
    yield "pauses are listed with all that is known of them", pause_list(listed), pause_list(())
    resumed, not_paused = states.resumed_message, states.not_paused_message
    texts = (message(name) for name in ("acme/widgets", None) for message in (resumed, not_paused))
    yield "going on is told, and where nothing was paused that", *texts
    refused = (with_sarif_refusal(ACCEPTED, refusal).summary for refusal in UploadRefusal)
    yield "a refused upload says why and what to do", *refused, sarif_refusal_line(UploadRefusal.PERMISSION)
    contest = CONTEST.model_copy(update={"reason": "It is met.\x1b[2J"})
    decided = (OVERRIDDEN, APPROVED, REFUSED, TAKEN_BACK, HumanDecisions(contest=contest), NO_DECISIONS)
    yield "what people decided in plain words", *("\n".join(decision_lines(decisions)) for decisions in decided)


def test_pause_texts_match_the_golden_pages(golden: Golden) -> None:
    golden.check_pages("prose/texts/pauses.md", pauses())
