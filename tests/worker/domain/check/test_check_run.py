"""What a check run of ours is told apart by."""

import pytest

from worker.domain.check.check_run import external_id, pull_number


def test_our_own_mark_leads_back_to_the_pull_request() -> None:
    assert pull_number(external_id(12)) == 12


@pytest.mark.parametrize("external", [None, "", "pull:", "pull:x", "pull:٣", "group:12", "12"])
def test_what_is_no_mark_of_ours_leads_nowhere(external: str | None) -> None:
    assert pull_number(external) is None
