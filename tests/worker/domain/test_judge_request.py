import pytest

from worker.domain.judge_request import Trigger


def test_a_reason_to_judge_that_only_a_later_version_knows_is_one_to_judge() -> None:
    assert Trigger("the_moon_is_full") is Trigger.LATE
    with pytest.raises(ValueError, match="7"):
        Trigger(7)
