"""What `assay wait` prints."""

from typing import Any

from inline_snapshot import snapshot

from tests.worker.publishing.texts.samples import HEAD, abstained, accepted, rejected
from worker.domain.verdict.verdict import AbstainReason, CiFailure
from worker.publishing.texts.columns import TerminalPage
from worker.publishing.texts.wait_status import wait_status_text

PAGE = TerminalPage()


def said(**changes: Any) -> str:
    standard: dict[str, Any] = {
        "repository": "acme/widgets", "sha": HEAD, "state": "done", "why": "It was judged.", "number": 12, "verdict": None,
    }  # fmt: skip
    return wait_status_text({**standard, **changes}, PAGE)


def test_a_verdict_is_told_with_its_one_next_step() -> None:
    assert said(verdict=rejected().model_dump(mode="json")) == snapshot("""\
acme/widgets@aaaaaaaaaaaa (#12): rejected, half finished
  `retry` is added and never implemented.
  Next step: Implement `retry` in upload.py: three tries on 503.
  Verdict 0199aaaa-0000-7000-8000-000000000001
""")
    assert said(verdict=accepted().model_dump(mode="json")) == snapshot("""\
acme/widgets@aaaaaaaaaaaa (#12): accepted
  Uploads are retried three times on 503, and a test proves it.
  Verdict 0199aaaa-0000-7000-8000-000000000001
""")


def test_what_was_overridden_asks_for_no_next_step() -> None:
    why = "@alice overrode what is said of this commit: nothing is left to do."
    assert said(verdict=rejected().model_dump(mode="json"), overridden_by="alice", why=why) == snapshot("""\
acme/widgets@aaaaaaaaaaaa (#12): rejected, half finished
  `retry` is added and never implemented.
  @alice overrode what is said of this commit: nothing is left to do.
  Verdict 0199aaaa-0000-7000-8000-000000000001
""")


def test_why_there_is_none_is_told() -> None:
    assert said(state="pending", why="It is being judged, or is next.") == snapshot("""\
acme/widgets@aaaaaaaaaaaa (#12): not judged yet
  It is being judged, or is next.
""")
    assert said(state="superseded", why="A newer commit was pushed: \x1b[2J.") == snapshot("""\
acme/widgets@aaaaaaaaaaaa (#12): superseded
  A newer commit was pushed: ␛[2J.
""")
    assert said(state="none", why="Nobody judges it.", number=None) == snapshot("""\
acme/widgets@aaaaaaaaaaaa: no verdict is coming
  Nobody judges it.
""")


def test_red_ci_is_told_with_its_first_failing_test_and_the_log_of_that() -> None:
    failure = CiFailure(check="unit tests", test="tests/test_retry.py::test_503", log="def f():\n    x\x1b[2J = 1\n")
    verdict = abstained(AbstainReason.CI_FAILED, ci_failure=failure).model_dump(mode="json")
    assert said(verdict=verdict) == snapshot("""\
acme/widgets@aaaaaaaaaaaa (#12): not judged, ci failed
  Nothing was found against this change.
  First failing test: tests/test_retry.py::test_503
    def f():
        x␛[2J = 1
  Next step: Have a person review it, or configure a model.
  Verdict 0199aaaa-0000-7000-8000-000000000001
""")
    bare = abstained(AbstainReason.CI_FAILED, ci_failure=CiFailure(check="lint")).model_dump(mode="json")
    assert "failing test" not in said(verdict=bare)


def test_a_case_that_cant_be_read_is_told_with_the_one_thing_to_mend() -> None:
    refused = rejected(case_error="Case refused at summary (line 1 of the block): the text is empty.")
    assert said(verdict=refused.model_dump(mode="json")) == snapshot("""\
acme/widgets@aaaaaaaaaaaa (#12): rejected, half finished
  `retry` is added and never implemented.
  The author's case could not be read, so the change was judged without it.
  Mending it uses no round: Case refused at summary (line 1 of the block): the
  text is empty.
  Next step: Implement `retry` in upload.py: three tries on 503.
  Verdict 0199aaaa-0000-7000-8000-000000000001
""")
