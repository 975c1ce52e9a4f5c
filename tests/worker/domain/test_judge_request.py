import pytest

from worker.domain.judge_request import Trigger


def test_unknown_trigger_of_a_later_version_is_late() -> None:
    assert Trigger("the_moon_is_full") is Trigger.LATE
    with pytest.raises(ValueError, match="7"):
        Trigger(7)
