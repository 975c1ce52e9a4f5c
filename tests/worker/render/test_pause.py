import pytest
from inline_snapshot import snapshot

from worker.render.pause import switched


@pytest.mark.parametrize("is_paused", [True, False])
def test_a_repository_that_is_not_known_is_said_to_be_so(is_paused: bool) -> None:  # noqa: FBT001 - both ways
    assert switched("acme/widgets", 0, is_paused=is_paused) == snapshot("""\
acme/widgets is not known here: nothing of it was judged yet, or it was forgotten.
Check the name, and that REDIS_URL or ASSAY_DATA_DIR lead to the store of the running Assay.
""")


def test_a_switch_says_what_becomes_of_checks_and_how_to_go_back() -> None:
    assert switched("acme/widgets", 1, is_paused=True) == snapshot("""\
Judging is paused in acme/widgets: from now on its checks are neutral, and no model is asked.
`assay resume acme/widgets` goes on.
""")
    assert switched("acme/widgets", 2, is_paused=False) == snapshot("""\
Judging goes on in acme/widgets: at the next push, `/rejudge` or re-run.
`assay pause acme/widgets` stops it.
""")
