"""What the check on a merge group says, word for word."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from inline_snapshot import snapshot

from tests.worker.publishing.texts.rendered import ACTIVE, shown
from tests.worker.publishing.texts.samples import HOSTILE, abstained, accepted, dossier, rejected
from worker.domain.check.check_run import CheckContent, Conclusion
from worker.domain.check.merge_group import GroupEnd
from worker.domain.ids import CheckRunId, EvalId
from worker.domain.verdict.verdict import AbstainReason
from worker.judge.merge_group import GroupPasses, GroupStopReason, GroupStops, PublishedCheckRun
from worker.publishing.texts.check_run import BODY_BYTES, check_content
from worker.publishing.texts.markdown import code_block
from worker.publishing.texts.merge_group import (
    STOP_TEXTS,
    GroupLocation,
    carried_over_content,
    ended_content,
    group_failed_content,
    group_judging_content,
    group_verdict_content,
    looking_content,
    passed_content,
    stopped_content,
    waiting_content,
)

PLACE = GroupLocation("https://github.com", "acme/widgets", 12)
OURS = PublishedCheckRun(CheckRunId(5), "success", "Accepted: solves what the issue asks for")


def told(content: CheckContent) -> str:
    return f"{content.conclusion}\n{content.title}\n\n{content.summary}"


def test_it_says_at_once_what_it_waits_for() -> None:
    assert told(looking_content(PLACE)) == snapshot("""\
None
Looking up the verdict on #12

The merge queue tries [#12](https://github.com/acme/widgets/pull/12) on this commit. If it changes what was judged, and that was accepted, this check passes in a moment; no model is asked.\
""")
    assert told(waiting_content(PLACE, datetime(2026, 11, 20, 20, 15, tzinfo=UTC))) == snapshot("""\
None
Waiting for the verdict on #12

[#12](https://github.com/acme/widgets/pull/12) has no verdict yet. This check follows it, and is closed at 20:15 UTC if there is none by then.\
""")
    assert told(group_judging_content(PLACE)) == snapshot("""\
None
Judging: this commit differs from #12

[#12](https://github.com/acme/widgets/pull/12) was accepted, but on this commit it changes other lines. So the change is judged as it is here; the verdict appears here.\
""")


def test_the_same_change_is_carried_over_and_links_its_verdict() -> None:
    assert told(carried_over_content(PLACE, accepted(), OURS)) == snapshot("""\
success
Accepted with #12: the same change

On this commit [#12](https://github.com/acme/widgets/pull/12) changes just what was accepted at aaaaaaaaaaaa: the same files, the same lines. The verdict is in [the check of #12](https://github.com/acme/widgets/runs/5).

Uploads are retried three times on 503, and a test proves it.

Cost: $0, no model was asked. Carried over from `0199aaaa-0000-7000-8000-000000000001`.\
""")


def test_who_passes_without_an_accept_is_told_the_same() -> None:
    overridden = PublishedCheckRun(CheckRunId(5), "neutral", "Overridden by @alice: we ship today")
    assert told(passed_content(PLACE, GroupPasses(Conclusion.NEUTRAL, overridden))) == snapshot("""\
neutral
As #12: Overridden by @alice: we ship today

The check of [#12](https://github.com/acme/widgets/pull/12) neither accepts it nor stands in its way, and this one does the same.

It says: Overridden by @&#8203;alice: we ship today. More is in [the check of #12](https://github.com/acme/widgets/runs/5).\
""")
    skipped = PublishedCheckRun(CheckRunId(5), "skipped", "A person's pull request")
    assert passed_content(PLACE, GroupPasses(Conclusion.SKIPPED, skipped)).conclusion is Conclusion.SKIPPED


def test_a_rejected_pull_request_is_named_with_its_reason() -> None:
    content = stopped_content(
        PLACE, GroupStops(GroupStopReason.REJECTED, PublishedCheckRun(CheckRunId(5), "failure", "Rejected"), rejected())
    )
    assert told(content) == snapshot("""\
failure
#12 is rejected: half finished

[#12](https://github.com/acme/widgets/pull/12) is rejected: half finished. `retry` is added and never implemented.

**Next step:** see [the check of #12](https://github.com/acme/widgets/runs/5), then put it into the queue again.\
""")


def test_a_pull_request_without_a_verdict_says_why() -> None:
    verdict = abstained(AbstainReason.BUDGET)
    title = "Not judged: the budget is used up"
    content = stopped_content(
        PLACE,
        GroupStops(GroupStopReason.NOT_JUDGED, PublishedCheckRun(CheckRunId(5), "action_required", title), verdict),
    )
    assert told(content) == snapshot("""\
action_required
Not judged, as #12 is not

[#12](https://github.com/acme/widgets/pull/12) has no accept. Its check says: Not judged: the budget is used up.

**Next step:** see [the check of #12](https://github.com/acme/widgets/runs/5), then put it into the queue again.\
""")


def test_an_accepted_pull_request_that_another_one_of_its_head_holds_says_so() -> None:
    title = "Accepted here, but #13 of the same commit is rejected"
    content = stopped_content(
        PLACE, GroupStops(GroupStopReason.HELD, PublishedCheckRun(CheckRunId(5), "failure", title), accepted())
    )
    assert told(content) == snapshot("""\
action_required
#12 is accepted, and its check does not pass

[#12](https://github.com/acme/widgets/pull/12) is accepted, and its check does not pass now. It says: Accepted here, but #&#8203;13 of the same commit is rejected.

**Next step:** see [the check of #12](https://github.com/acme/widgets/runs/5), then put it into the queue again.\
""")


@pytest.mark.parametrize(
    ("why", "published", "words"),
    [
        (
            GroupStopReason.STRANGE_REF,
            None,
            snapshot("""\
action_required
Not judged: this group names no pull request

The branch of this merge group is not worded as GitHub words it: which pull request it tries is not known.

**Next step:** take the pull request out of the queue, then put it into the queue again.\
"""),
        ),
        (
            GroupStopReason.CLOSED,
            None,
            snapshot("""\
action_required
Not judged: #12 is closed

[#12](https://github.com/acme/widgets/pull/12) was closed.

**Next step:** reopen it, then put it into the queue again.\
"""),
        ),
        (
            GroupStopReason.UNRECORDED,
            OURS,
            snapshot("""\
action_required
Not judged: no accept of #12 is on record

The check of [#12](https://github.com/acme/widgets/pull/12) is green, but no accept of its head is on record, and nothing passes without one.

**Next step:** comment `/rejudge` in [#12](https://github.com/acme/widgets/pull/12), then put it into the queue again.\
"""),
        ),
        (
            GroupStopReason.TOO_LATE,
            None,
            snapshot("""\
action_required
Not judged: #12 has no verdict yet

[#12](https://github.com/acme/widgets/pull/12) had no verdict when the time for this check was over.

**Next step:** wait for the verdict in [#12](https://github.com/acme/widgets/pull/12), then put it into the queue again.\
"""),
        ),
        (
            GroupStopReason.NOT_SHOWN,
            OURS,
            snapshot("""\
action_required
Not judged: no diff to compare with #12

GitHub shows no diff of it, since it is too large or takes too long: whether it changes what [#12](https://github.com/acme/widgets/pull/12) was accepted for.

**Next step:** wait a while, split it, or have a maintainer comment `/override REASON` in [#12](https://github.com/acme/widgets/pull/12), then put it into the queue again.\
"""),
        ),
    ],
)
def test_every_other_reason_says_what_to_do(
    why: GroupStopReason, published: PublishedCheckRun | None, words: str
) -> None:
    content = stopped_content(PLACE, GroupStops(why, published))
    assert told(content) == words
    assert content.conclusion is Conclusion.ACTION_REQUIRED


def test_every_reason_has_words() -> None:
    assert set(STOP_TEXTS) == set(GroupStopReason)


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


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (
            GroupEnd.MERGED,
            snapshot("""\
cancelled
Not needed any more

This merge group is gone. GitHub merged it.\
"""),
        ),
        (
            GroupEnd.INVALIDATED,
            snapshot("""\
cancelled
Not needed any more

This merge group is gone. What it was put upon changed, so that GitHub makes another one.\
"""),
        ),
        (
            GroupEnd.DEQUEUED,
            snapshot("""\
cancelled
Not needed any more

This merge group is gone. The pull request was taken out of the queue.\
"""),
        ),
    ],
)
def test_a_group_that_is_gone_says_why(end: GroupEnd, words: str) -> None:
    assert told(ended_content(end)) == words


def test_a_failure_of_ours_says_nothing_about_the_change() -> None:
    assert told(group_failed_content(PLACE, "GitHub is unavailable: 502")) == snapshot("""\
action_required
Not judged: Assay failed

This says nothing about [#12](https://github.com/acme/widgets/pull/12). What happened: GitHub is unavailable: 502

**Next step:** put the pull request into the queue again. If it happens again, tell the operator of this Assay.\
""")


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
