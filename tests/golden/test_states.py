"""Each state of a check run without or beside a verdict: `states.json`, and its texts in `prose/states.md`."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from tests.golden.golden import Golden
from tests.golden.judging import blocks_of, body_of, judge_dossier, text_of
from tests.golden.test_verdicts import CHECK, structure
from worker.domain.check.check_run import CheckContent, Conclusion
from worker.domain.check.overrides import Contest, HumanDecisions, Override, ReviewDecision
from worker.domain.check.shared_head import SharedHeadMember
from worker.domain.github_events import GroupEnd
from worker.domain.judge_request import AuthorKind, Trigger
from worker.domain.model import CheckRunId
from worker.domain.verdict.verdict import Accept
from worker.judge.merge_group import GroupPasses, GroupStopReason, GroupStops, PublishedCheckRun
from worker.publishing.texts import check_run, merge_group
from worker.publishing.texts import states as standing
from worker.publishing.texts.states import combine_content, unjudged_content, with_decisions

NOW: Final = datetime(2026, 11, 20, 20, 5, tzinfo=UTC)
PLACE: Final = merge_group.GroupLocation("https://github.com", "acme/widgets", 12)
PUBLISHED: Final = PublishedCheckRun(CheckRunId(5), "neutral", "Skipped: a person's pull request")


def test_each_state_of_a_check_run(golden: Golden) -> None:
    states = {
        name: body_of(content)
        for name, content in (
            *waiting_states(),
            *states_without_a_verdict(),
            *states_after_decisions(),
            *merge_group_states(),
        )
    }
    golden.check_json(
        "states.json",
        {
            name: {"check": structure({**body, "output": {}}), "block": structure(blocks_of(body)[CHECK])}
            for name, body in states.items()
        },
    )
    texts = (
        f"# {name}\n\n**{body['output']['title']}**\n\n{body['output']['summary']}\n\n{text_of(body)}\n"
        for name, body in states.items()
    )
    golden.check_text("prose/states.md", "\n".join(texts))


def waiting_states() -> Iterator[tuple[str, CheckContent]]:
    yield "judging", standing.judging_content()
    yield "quiet window", standing.quiet_window_content(NOW, 60)
    yield "waiting for CI", standing.waiting_for_ci_content(("test", "lint"), NOW)
    yield "rate limit", standing.rate_limit_content(NOW)
    yield "outage of GitHub", standing.github_outage_content(NOW)
    for trigger in Trigger:
        yield f"judging after {trigger.value}", standing.started_content(trigger)


def states_without_a_verdict() -> Iterator[tuple[str, CheckContent]]:
    yield "draft", standing.draft_content()
    for kind in AuthorKind:
        yield f"skipped {kind.value}", standing.skipped_content(kind)
    yield "opened before", standing.existing_pull_content()
    yield "opened before, blocking", standing.existing_pull_content(is_blocking=True)
    yield (
        "superseded",
        standing.superseded_content("c" * 40, standing.checks_page("https://github.com", "acme/widgets", "c" * 40)),
    )
    yield "created twice", standing.duplicate_content()
    yield "closed", standing.closed_content()
    yield "failed", standing.failed_content("GitHub does not answer", "a-delivery")
    yield "not judged", unjudged_content()


def states_after_decisions() -> Iterator[tuple[str, CheckContent]]:
    rejected, doubted = (judge_dossier(name) for name in ("model_reject", "model_cannot_tell"))
    shown = check_run.check_content(rejected.evaluated.verdict, rejected.dossier)
    asked = check_run.check_content(doubted.evaluated.verdict, doubted.dossier)
    review = ReviewDecision(login="alice", at=NOW, is_approved=True, review_id=7)
    yield "judged again later", check_run.check_content(doubted.evaluated.verdict, doubted.dossier, again_at=NOW)
    yield (
        "overridden",
        with_decisions(
            shown,
            HumanDecisions(override=Override(login="alice", reason="It is urgent.", at=NOW)),
            rejected.evaluated.verdict,
        ),
    )
    yield (
        "contested",
        with_decisions(
            shown,
            HumanDecisions(contest=Contest(login="alice", reason="It is tested.", at=NOW)),
            rejected.evaluated.verdict,
        ),
    )
    yield "approved by an owner", with_decisions(asked, HumanDecisions(review=review), doubted.evaluated.verdict)
    yield (
        "held by another pull request",
        combine_content(standing.judging_content(), (SharedHeadMember(13, "failure"),), is_head=True),
    )


def merge_group_states() -> Iterator[tuple[str, CheckContent]]:
    accepted, rejected = (judge_dossier(name).evaluated.verdict for name in ("model_accept", "model_reject"))
    assert isinstance(accepted, Accept)
    yield "group, looking", merge_group.looking_content(PLACE)
    yield "group, waiting", merge_group.waiting_content(PLACE, NOW)
    yield "group, judging", merge_group.group_judging_content(PLACE)
    yield "group, carried", merge_group.carried_over_content(PLACE, accepted, PUBLISHED)
    yield "group, passed", merge_group.passed_content(PLACE, GroupPasses(Conclusion.NEUTRAL, PUBLISHED))
    for why in GroupStopReason:
        verdict = rejected if why is GroupStopReason.REJECTED else None
        yield f"group, stopped: {why.value}", merge_group.stopped_content(PLACE, GroupStops(why, PUBLISHED, verdict))
    for end in GroupEnd:
        yield f"group, ended: {end.value}", merge_group.ended_content(end)
    yield "group, failed", merge_group.group_failed_content(PLACE, "GitHub does not answer")
