"""Verdicts as they are shown to whoever may see them."""

from tests.worker.publishing.texts.samples import HEAD, rejected
from worker.domain.check.wait_status import WaitState, WaitStatus
from worker.evaluation.stats.answers import wait_answer

SECRET = "ghp_" + "0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX"


def test_the_answer_names_the_commit_that_was_asked_about_and_a_verdict_without_secrets() -> None:
    verdict = rejected(concern=f"It prints {SECRET} to the log.")
    told = wait_answer(WaitStatus(WaitState.DONE, "It was judged.", 12, verdict=verdict), "acme/widgets", HEAD)
    assert (told["repository"], told["sha"], told["state"], told["number"]) == ("acme/widgets", HEAD, "done", 12)
    assert (told["verdict"]["eval_id"], told["verdict"]["decision"]) == (verdict.eval_id, "reject")
    assert SECRET not in str(told)


def test_where_no_verdict_is_there_none_is_shown() -> None:
    told = wait_answer(
        WaitStatus(
            WaitState.SUPERSEDED, "A newer commit.", 12, newer_head="2" * 40, others=(13,), reason="newer_commit"
        ),
        "acme/widgets",
        HEAD,
    )
    assert (told["state"], told["reason"]) == ("superseded", "newer_commit")
    assert (told["verdict"], told["superseded_by"], told["other_pull_requests"]) == (None, "2" * 40, (13,))
