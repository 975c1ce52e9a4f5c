"""Each state of a check run before, beside and instead of a verdict of its own: `states.json`, and its words in `prose/states.md`."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from tests.golden.golden import Golden
from tests.golden.judging import blocks_of, body_of, judged, text_of
from tests.golden.test_verdicts import CHECK, structure
from worker.domain.check.check_run import CheckContent, Conclusion
from worker.domain.check.merge_group import GroupEnd
from worker.domain.check.overrides import Contest, Override, Reviewed, Said
from worker.domain.check.shared_head import Sibling
from worker.domain.ids import CheckRunId
from worker.domain.request.judge_request import AuthorKind, Trigger
from worker.domain.verdict.verdict import Accept
from worker.judge.merge_group import Passes, Published, Stops, Why
from worker.publishing.texts import check_run, merge_group
from worker.publishing.texts import states as standing
from worker.publishing.texts.overrides import unjudged, with_people
from worker.publishing.texts.siblings import together

NOW: Final = datetime(2026, 11, 20, 20, 5, tzinfo=UTC)
PLACE: Final = merge_group.Place("https://github.com", "acme/widgets", 12)
PUBLISHED: Final = Published(CheckRunId(5), "neutral", "Skipped: a person's pull request")


def test_each_state_of_a_check_run(golden: Golden) -> None:
    states = {
        name: body_of(content) for name, content in (*waiting(), *without_a_verdict(), *after_decisions(), *of_groups())
    }
    golden.holds_json(
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
    golden.holds("prose/states.md", "\n".join(texts))


def waiting() -> Iterator[tuple[str, CheckContent]]:
    yield "judging", check_run.judging()
    yield "quiet window", standing.waiting(NOW, 60)
    yield "waiting for CI", check_run.waiting_for_ci(("test", "lint"), NOW)
    yield "rate limit", check_run.waiting_for_github(NOW)
    yield "outage of GitHub", check_run.waiting_out(NOW)
    for trigger in Trigger:
        yield f"judging after {trigger.value}", standing.begun(trigger)


def without_a_verdict() -> Iterator[tuple[str, CheckContent]]:
    yield "draft", standing.draft()
    for kind in AuthorKind:
        yield f"skipped {kind.value}", standing.skipped(kind)
    yield "opened before", standing.old()
    yield "opened before, blocking", standing.old(is_blocking=True)
    yield (
        "superseded",
        check_run.superseded("c" * 40, check_run.checks_page("https://github.com", "acme/widgets", "c" * 40)),
    )
    yield "created twice", check_run.doubled()
    yield "closed", check_run.closed()
    yield "failed", check_run.failed("GitHub does not answer", "a-delivery")
    yield "not judged", unjudged()


def after_decisions() -> Iterator[tuple[str, CheckContent]]:
    rejected, doubted = (judged(name) for name in ("model_reject", "model_cannot_tell"))
    shown = check_run.check_content(rejected.heard.verdict, rejected.dossier)
    asked = check_run.check_content(doubted.heard.verdict, doubted.dossier)
    review = Reviewed(login="alice", at=NOW, is_approved=True, review_id=7)
    yield "judged again later", check_run.check_content(doubted.heard.verdict, doubted.dossier, again_at=NOW)
    yield (
        "overridden",
        with_people(
            shown, Said(override=Override(login="alice", reason="It is urgent.", at=NOW)), rejected.heard.verdict
        ),
    )
    yield (
        "contested",
        with_people(
            shown, Said(contest=Contest(login="alice", reason="It is tested.", at=NOW)), rejected.heard.verdict
        ),
    )
    yield "approved by an owner", with_people(asked, Said(review=review), doubted.heard.verdict)
    yield "held by another pull request", together(check_run.judging(), (Sibling(13, "failure"),), is_here=True)


def of_groups() -> Iterator[tuple[str, CheckContent]]:
    accepted, rejected = (judged(name).heard.verdict for name in ("model_accept", "model_reject"))
    assert isinstance(accepted, Accept)
    yield "group, looking", merge_group.looking(PLACE)
    yield "group, waiting", merge_group.waiting(PLACE, NOW)
    yield "group, judging", merge_group.judging(PLACE)
    yield "group, carried", merge_group.carried(PLACE, accepted, PUBLISHED)
    yield "group, passed", merge_group.passed(PLACE, Passes(Conclusion.NEUTRAL, PUBLISHED))
    for why in Why:
        verdict = rejected if why is Why.REJECTED else None
        yield f"group, stopped: {why.value}", merge_group.stopped(PLACE, Stops(why, PUBLISHED, verdict))
    for end in GroupEnd:
        yield f"group, ended: {end.value}", merge_group.ended(end)
    yield "group, failed", merge_group.failed(PLACE, "GitHub does not answer")
