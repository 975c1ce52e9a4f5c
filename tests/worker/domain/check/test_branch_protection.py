"""Whether merges wait for our check, by what the rules say."""

import pytest

from worker.domain.check.branch_protection import Gate, Hold, Installed, Requirement, hold, unapproved

OURS = 4711


@pytest.mark.parametrize(
    ("sources", "found"),
    [
        ([], Hold.NONE),
        ([None], Hold.ANYBODYS),
        ([OURS], Hold.OURS),
        ([None, OURS], Hold.OURS),
        ([99], Hold.ANOTHERS),
        ([OURS, 99], Hold.ANOTHERS),
        ([None, 99], Hold.ANOTHERS),
    ],
)
def test_one_requirement_that_names_us_is_enough_and_one_of_another_app_is_too_much(
    sources: list[int | None], found: Hold
) -> None:
    gate = Gate("acme/widgets", required=tuple(Requirement("a ruleset", one) for one in sources))
    assert hold(gate, OURS) is found


def test_what_was_not_approved_is_what_is_asked_beyond_what_was_granted() -> None:
    installed = Installed(1, "acme", {"checks": "write", "contents": "read", "issues": "read"})
    asked = {"checks": "read", "contents": "read", "issues": "write", "merge_queues": "read"}
    assert unapproved(asked, installed) == ("issues: write", "merge_queues: read")
    assert unapproved({}, installed) == ()
