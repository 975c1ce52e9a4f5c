"""What the check on a merge group says, word for word."""

from dataclasses import replace

from inline_snapshot import snapshot

from tests.worker.publishing.texts.rendered import ACTIVE, shown
from tests.worker.publishing.texts.samples import HOSTILE, accepted, dossier, rejected
from worker.domain.check.check_run import CheckContent, Conclusion
from worker.domain.ids import CheckRunId, EvalId
from worker.judge.merge_group import GroupPasses, GroupStopReason, GroupStops, PublishedCheckRun
from worker.publishing.texts.check_run import BODY_BYTES, check_content
from worker.publishing.texts.markdown import code_block
from worker.publishing.texts.merge_group import (
    GroupLocation,
    carried_over_content,
    group_failed_content,
    group_verdict_content,
    passed_content,
    stopped_content,
)

PLACE = GroupLocation("https://github.com", "acme/widgets", 12)
OURS = PublishedCheckRun(CheckRunId(5), "success", "Accepted: solves what the issue asks for")


def told(content: CheckContent) -> str:
    return f"{content.conclusion}\n{content.title}\n\n{content.summary}"


def test_a_verdict_on_the_group_that_is_too_long_is_cut_between_blocks() -> None:
    shown_code = code_block("x = 1\n\n" * 10_000)
    content = replace(check_content(rejected(), dossier()), summary=f"Above.\n\n{shown_code}\n\nBelow.")
    said = group_verdict_content(PLACE, content, EvalId("0199aaaa-0000-7000-8000-000000000001")).summary
    assert len(said.encode()) <= BODY_BYTES
    assert "Above." in said
    assert "```" not in said
    assert said.endswith("*Cut here: the rest does not fit into a check run.*")


def test_a_verdict_on_the_group_says_what_it_is_about() -> None:
    content = check_content(rejected(), dossier())
    told_so = group_verdict_content(PLACE, content, EvalId("0199aaaa-0000-7000-8000-000000000001"))
    assert (told_so.title, told_so.conclusion) == (f"Merge group of #12: {content.title}", Conclusion.FAILURE)
    assert told_so.summary.removesuffix(content.summary) == snapshot("""\
*This is about [#12](https://github.com/acme/widgets/pull/12) as the merge queue put it upon the base branch. It changes other lines there than what was accepted as `0199aaaa-0000-7000-8000-000000000001`.*

""")
    assert (told_so.text, told_so.annotations) == (content.text, content.annotations)


def test_the_words_of_others_stay_words() -> None:
    ours = PublishedCheckRun(CheckRunId(5), "neutral", HOSTILE)
    for content in (
        passed_content(PLACE, GroupPasses(Conclusion.NEUTRAL, ours)),
        carried_over_content(PLACE, accepted(concern=HOSTILE), ours),
        stopped_content(PLACE, GroupStops(GroupStopReason.REJECTED, ours, rejected(concern=HOSTILE))),
        stopped_content(PLACE, GroupStops(GroupStopReason.NOT_JUDGED, ours)),
        group_failed_content(PLACE, HOSTILE),
    ):
        assert "\n" not in content.title
        assert "\x1b" not in content.title + content.summary
        page = shown(content.summary)
        assert set(page.tags) <= {"p", "strong", "em", "code", "a"}
        assert all(url.startswith("https://github.com/acme/widgets/") for url in page.links)
        assert not ACTIVE.search(page.plain.replace("Next step:", "").replace("#12", ""))


def test_where_no_check_is_shown_the_pull_request_is_linked() -> None:
    stopped = stopped_content(PLACE, GroupStops(GroupStopReason.TOO_LATE))
    assert "wait for the verdict in [#12](https://github.com/acme/widgets/pull/12), then" in stopped.summary
    skipped = PublishedCheckRun(CheckRunId(5), "skipped", "A person's pull request")
    assert passed_content(PLACE, GroupPasses(Conclusion.SKIPPED, skipped)).conclusion is Conclusion.SKIPPED
