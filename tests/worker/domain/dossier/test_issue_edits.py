"""Whose text of an issue is judged by."""

from datetime import UTC, datetime, timedelta

import pytest

from worker.domain.dossier.dossier import LateEdit
from worker.domain.dossier.issue_edits import JudgedText, TextHistory, TextVersion, select_judged_text

OPENED = datetime(2026, 11, 20, 12, tzinfo=UTC)
NOW = "as it reads now"


def at(minutes: int) -> datetime:
    return OPENED + timedelta(minutes=minutes)


def judged(minutes: int, text: str | None) -> TextVersion:
    return TextVersion(at(minutes), "agent[bot]", is_by_judged=True, text=text)


def person(minutes: int, text: str | None) -> TextVersion:
    return TextVersion(at(minutes), "alice", is_by_judged=False, text=text)


def late(*minutes: int, used: bool = False) -> tuple[LateEdit, ...]:
    return tuple(LateEdit(by="agent[bot]", at=at(minute), used=used) for minute in minutes)


WRITTEN = person(-60, "as written")


@pytest.mark.parametrize(
    "versions",
    [
        pytest.param((), id="never edited"),
        pytest.param((person(5, NOW), WRITTEN), id="by a person"),
        pytest.param((judged(-5, NOW), WRITTEN), id="before there was a pull request"),
        pytest.param((person(9, NOW), judged(5, "easier"), WRITTEN), id="a person took it over"),
        pytest.param((person(9, NOW), judged(5, None)), id="a person took over what is not shown"),
        pytest.param((judged(5, NOW),), id="written by the judged, and an edit of nobody"),
    ],
)
def test_what_reads_now_stands_where_no_edit_of_the_judged_came_last(versions: tuple[TextVersion, ...]) -> None:
    assert select_judged_text(NOW, TextHistory(versions, is_complete=True), OPENED) == JudgedText(NOW)


@pytest.mark.parametrize(
    ("versions", "text", "edits"),
    [
        pytest.param((judged(5, NOW), WRITTEN), "as written", late(5), id="one edit"),
        pytest.param((judged(0, NOW), WRITTEN), "as written", late(0), id="in the second of the opening"),
        pytest.param((judged(9, NOW), judged(5, "easy"), WRITTEN), "as written", late(9, 5), id="several edits"),
        pytest.param((judged(9, NOW), person(7, "hers"), judged(5, "easy"), WRITTEN), "hers", late(9), id="on hers"),
        pytest.param((judged(9, NOW), judged(-5, "early"), WRITTEN), "early", late(9), id="on an early one"),
        pytest.param((judged(9, NOW), judged(5, "his own")), "his own", late(9), id="of what the judged wrote himself"),
        pytest.param((WRITTEN, judged(5, NOW)), "as written", late(5), id="told in another order"),
        pytest.param((judged(5, f"{NOW}\r\n"), WRITTEN), "as written", late(5), id="other ends of lines"),
        pytest.param((judged(5, None), WRITTEN), "as written", late(5), id="the newest is not shown"),
    ],
)
def test_an_edit_of_the_judged_that_came_last_is_not_used(
    versions: tuple[TextVersion, ...], text: str, edits: tuple[LateEdit, ...]
) -> None:
    assert select_judged_text(NOW, TextHistory(versions, is_complete=True), OPENED) == JudgedText(text, edits)


@pytest.mark.parametrize(
    ("history", "edits"),
    [
        pytest.param(TextHistory((judged(9, NOW), judged(5, "easy"))), late(9, 5, used=True), id="more than is told"),
        pytest.param(TextHistory((judged(9, NOW), person(5, None))), late(9, used=True), id="not shown"),
        pytest.param(TextHistory((judged(9, None),)), late(9, used=True), id="the last edit alone is known"),
        pytest.param(
            TextHistory((judged(9, "- his line"), WRITTEN), is_complete=True), late(9, used=True), id="of another text"
        ),
    ],
)
def test_where_what_stood_before_is_not_known_the_present_text_is_used_and_the_edit_is_told(
    history: TextHistory, edits: tuple[LateEdit, ...]
) -> None:
    assert select_judged_text(NOW, history, OPENED) == JudgedText(NOW, edits)


def test_what_anybody_else_left_stands_though_the_history_is_longer_than_it_is_told() -> None:
    history = TextHistory((judged(9, NOW), person(5, "hers"), judged(3, "easy")))
    assert select_judged_text(NOW, history, OPENED) == JudgedText("hers", late(9))
