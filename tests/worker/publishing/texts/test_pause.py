from datetime import UTC, datetime

import pytest
from inline_snapshot import snapshot

from tests.worker.publishing.texts.samples import HOSTILE
from worker.domain.request.pause import JudgingPause
from worker.publishing.texts.pause import (
    ListedPause,
    github_not_reached,
    not_installed,
    not_paused_message,
    pause_list,
    paused_message,
    resumed_message,
    unknown_repository,
)

NOON, EVENING = datetime(2026, 11, 20, 12, tzinfo=UTC), datetime(2026, 11, 20, 18, 30, tzinfo=UTC)
FOR_A_WHILE = JudgingPause(by="alice", at=NOON, until=EVENING, reason="load tests", repository="acme/widgets")


def test_a_repository_that_is_not_known_is_said_to_be_so() -> None:
    assert unknown_repository("acme/widgets") == snapshot("""\
acme/widgets is not known here: nothing of it was judged yet, or it was forgotten.
Check the name, and that REDIS_URL or ASSAY_DATA_DIR lead to the store of the running Assay.
""")


def test_one_that_was_looked_for_at_github_is_said_to_be() -> None:
    assert not_installed("acme/widgets") == snapshot(
        "acme/widgets is not known here, and GitHub says that the App is not installed in it. Check the name.\n"
    )
    assert github_not_reached("acme/widgets", "GitHub is unavailable: no answer in time.") == snapshot("""\
acme/widgets is not known here: nothing of it was judged yet, or it was forgotten.
Check the name, and that REDIS_URL or ASSAY_DATA_DIR lead to the store of the running Assay.
GitHub can't be asked about it: GitHub is unavailable: no answer in time.
""")


def test_a_pause_says_what_becomes_of_checks_how_long_and_how_to_go_back() -> None:
    assert paused_message("acme/widgets", FOR_A_WHILE) == snapshot("""\
Judging is paused in acme/widgets: until 2026-11-20 18:30 UTC checks are neutral, saying so, and no model is asked.
Then what was not judged meanwhile is judged by itself.
`assay resume acme/widgets` goes on at once.
""")
    assert paused_message("acme/widgets", JudgingPause()) == snapshot("""\
Judging is paused in acme/widgets: until it is resumed checks are neutral, saying so, and no model is asked.
What was not judged meanwhile is judged when it goes on.
`assay resume acme/widgets` goes on at once.
""")
    assert paused_message(None, FOR_A_WHILE) == snapshot("""\
Judging is paused everywhere: until 2026-11-20 18:30 UTC checks are neutral, saying so, and no model is asked.
Then what was not judged meanwhile is judged by itself.
`assay resume` goes on at once.
""")


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


def test_pauses_are_listed_with_all_that_is_known_of_them() -> None:
    found = (
        ListedPause(FOR_A_WHILE, is_everywhere=True),
        ListedPause(FOR_A_WHILE, is_everywhere=False),
        ListedPause(JudgingPause(), is_everywhere=False),
    )
    assert pause_list(found) == snapshot("""\
Everywhere: paused since 2026-11-20 12:00 UTC until 2026-11-20 18:30 UTC, by alice: load tests
acme/widgets: paused since 2026-11-20 12:00 UTC until 2026-11-20 18:30 UTC, by alice: load tests
A repository: paused until it is resumed
""")  # fmt: skip
    assert pause_list(()) == snapshot("Judging is paused nowhere.\n")


def test_what_a_person_wrote_is_one_line_with_nothing_unseen() -> None:
    shown = pause_list([ListedPause(JudgingPause(by=HOSTILE[:90], reason=HOSTILE[:400]), is_everywhere=True)])
    assert shown.count("\n") == 1
    assert "\x1b" not in shown
    assert "\u202e" not in shown
