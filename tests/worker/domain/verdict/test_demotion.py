"""When a signal may not reject alone any more."""

from datetime import UTC, datetime

import pytest

from worker.domain.ids import InstallationId
from worker.domain.verdict.demotion import Demotion, RejectCounts


@pytest.mark.parametrize(
    ("rejects", "overturned", "is_too_much"),
    [
        (39, 39, False),
        (40, 2, False),
        (40, 3, True),
        (100, 5, False),
        (100, 6, True),
        (0, 0, False),
    ],
)
def test_more_than_five_per_cent_of_forty_and_more_is_too_much(
    rejects: int, overturned: int, *, is_too_much: bool
) -> None:
    assert RejectCounts(rejects=rejects, overturned=overturned).is_over_limit is is_too_much


def test_the_notice_says_why_and_how_to_take_it_back() -> None:
    demotion = Demotion(
        signal="stub", tally=RejectCounts(rejects=50, overturned=4), at=datetime(2026, 11, 20, tzinfo=UTC)
    )
    assert demotion.notice(InstallationId(7)) == (
        "stub is a suspicion since 2026-11-20: 4 of its 50 rejects were overridden, more than 5 % "
        "(installation 7). `assay rubric promote stub --installation 7` takes it back."
    )
