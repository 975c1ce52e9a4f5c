"""What `assay wait` prints."""

from typing import Any

from inline_snapshot import snapshot

from tests.worker.render.samples import HEAD, accepted, rejected
from worker.render.awaited import awaited_words
from worker.render.columns import Page

PAGE = Page()


def said(**changes: Any) -> str:
    standard: dict[str, Any] = {
        "repository": "acme/widgets", "sha": HEAD, "state": "done", "why": "It was judged.", "number": 12, "verdict": None,
    }  # fmt: skip
    return awaited_words({**standard, **changes}, PAGE)


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
