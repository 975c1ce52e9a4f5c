"""What the check says while nobody judges. Invariant: each text says what ends it."""

from datetime import UTC, datetime

import pytest
from inline_snapshot import snapshot

from worker.domain.check.check_run import CheckContent
from worker.domain.request.judge_request import AuthorKind, Trigger
from worker.publishing.texts.check_run import judging_content
from worker.publishing.texts.states import (
    draft_content,
    existing_pull_content,
    quiet_window_content,
    skipped_content,
    started_content,
    with_trigger_reason,
)


def said(content: CheckContent) -> str:
    state = content.conclusion or ("queued" if content.is_queued else "in_progress")
    return f"{state}\n{content.title}\n{content.summary}"


def test_the_quiet_window_says_when_it_ends_and_what_ends_it_now() -> None:
    shown = quiet_window_content(datetime(2026, 11, 21, 9, 5, 7, tzinfo=UTC), 45.0)
    assert shown.is_watched
    assert said(shown) == snapshot("""\
queued
Judging starts at 09:05:07 UTC
Judging starts at 09:05:07 UTC, 45 s after the last push or edit. Green CI, a review request, an `assay` block in the description or `/rejudge` starts it at once.\
""")


def test_the_quiet_window_of_who_has_a_verdict_says_why_that_counts_no_more() -> None:
    at = datetime(2026, 11, 21, 9, 5, 7, tzinfo=UTC)
    assert said(quiet_window_content(at, 45.0, why=Trigger.TEXT)) == snapshot("""\
queued
Judging starts at 09:05:07 UTC
The earlier verdict was made by the title and description as they stood before. Judging starts at 09:05:07 UTC, 45 s after the last push or edit. Green CI, a review request, an `assay` block in the description or `/rejudge` starts it at once.\
""")
    assert quiet_window_content(at, 45.0, why=Trigger.REOPENED) == quiet_window_content(at, 45.0)


def test_a_draft_says_what_has_it_judged() -> None:
    assert not draft_content().is_watched
    assert said(draft_content()) == snapshot("""\
queued
Draft: judged when it is ready
A draft is judged when it is marked ready for review, when a review is requested, when its description gets an `assay` block, or when an account with write access comments `/rejudge`.\
""")


@pytest.mark.parametrize(
    ("author", "text"),
    [
        (
            AuthorKind.PERSON,
            snapshot("""\
skipped
Skipped: written by a person
Assay judges coding agents here, and neither account, nor branch, nor any commit of this pull request is an agent's.

An account with write access has it judged all the same: comment `/rejudge`. Whose pull requests are judged is set in `.github/assay.yml`, under `authors`.\
"""),
        ),
        (
            AuthorKind.BOT,
            snapshot("""\
skipped
Skipped: opened by a bot that is no coding agent
Bots that keep dependencies up to date, say, are left alone here.

An account with write access has it judged all the same: comment `/rejudge`. Whose pull requests are judged is set in `.github/assay.yml`, under `authors`.\
"""),
        ),
        (
            AuthorKind.AGENT,
            snapshot("""\
skipped
Skipped: a coding agent's pull requests are not judged here
This repository has pull requests of coding agents left alone.

An account with write access has it judged all the same: comment `/rejudge`. Whose pull requests are judged is set in `.github/assay.yml`, under `authors`.\
"""),
        ),
    ],
)
def test_whoever_is_left_alone_is_told_why_and_the_way_in(author: AuthorKind, text: str) -> None:
    assert said(skipped_content(author)) == text


def test_what_was_open_before_says_how_to_have_it_judged() -> None:
    assert said(existing_pull_content()) == snapshot("""\
neutral
Opened before Assay was installed
This pull request was not judged.

**Next step:** push a commit, or comment `/rejudge`.\
""")
    assert said(existing_pull_content(is_blocking=True)) == snapshot("""\
action_required
Opened before Assay was installed
The base branch requires this check, so a change that was not judged does not pass. `abstains: {unproven: neutral}` in `.github/assay.yml` lets it pass.

**Next step:** push a commit, or comment `/rejudge`.\
""")


@pytest.mark.parametrize(
    ("trigger", "text"),
    [
        (
            Trigger.CRITERIA,
            snapshot("""\
in_progress
Judging again: the issue was edited
The earlier verdict was made by the issue as it stood before. The new one appears here.\
"""),
        ),
        (
            Trigger.EDITED,
            snapshot("""\
in_progress
Judging again: the linked issues changed
The earlier verdict was made by other issues. The new one appears here.\
"""),
        ),
        (
            Trigger.RULES,
            snapshot("""\
in_progress
Judging again: the rules changed
The earlier verdict was made by the base branch's rules as they stood before. The new one appears here.\
"""),
        ),
        (
            Trigger.TEXT,
            snapshot("""\
in_progress
Judging again: its title or description was edited
The earlier verdict was made by the title and description as they stood before. The new one appears here.\
"""),
        ),
        (
            Trigger.BASE,
            snapshot("""\
in_progress
Judging again: the base changed
The earlier verdict was made for another base. The new one appears here.\
"""),
        ),
        (
            Trigger.CI,
            snapshot("""\
in_progress
Judging again: other checks finished
The earlier verdict waited for them, or said that they failed. The new one appears here.\
"""),
        ),
    ],
)
def test_a_verdict_that_counts_no_more_is_replaced_by_the_reason(trigger: Trigger, text: str) -> None:
    assert said(started_content(trigger)) == text


def test_else_it_only_says_that_it_judges() -> None:
    assert started_content(Trigger.PUSHED) == judging_content()


def test_a_verdict_says_that_it_was_made_again_and_why() -> None:
    verdict = CheckContent("Accepted", "Solves what the issue asks for.")
    assert with_trigger_reason(verdict, Trigger.PUSHED) == verdict
    assert with_trigger_reason(verdict, Trigger.CRITERIA).summary == snapshot("""\
*Judged again, since the issue was edited.*

Solves what the issue asks for.\
""")
