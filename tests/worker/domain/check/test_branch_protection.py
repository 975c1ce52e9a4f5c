"""Whether merges wait for our check, by what the rules say."""

import pytest

from worker.domain.check.branch_protection import (
    AppInstallation,
    RepositoryProtection,
    Requirement,
    RequirementSource,
    find_requirement_source,
    list_unapproved,
)

OURS = 4711


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        ([], RequirementSource.NONE),
        ([None], RequirementSource.ANYBODYS),
        ([OURS], RequirementSource.OURS),
        ([None, OURS], RequirementSource.OURS),
        ([99], RequirementSource.ANOTHERS),
        ([OURS, 99], RequirementSource.ANOTHERS),
        ([None, 99], RequirementSource.ANOTHERS),
    ],
)
def test_one_requirement_that_names_us_is_enough_and_one_of_another_app_is_too_much(
    sources: list[int | None], expected: RequirementSource
) -> None:
    gate = RepositoryProtection(
        "acme/widgets", requirements=tuple(Requirement("a ruleset", source) for source in sources)
    )
    assert find_requirement_source(gate, OURS) is expected


def test_what_was_not_approved_is_what_is_asked_beyond_what_was_granted() -> None:
    installed = AppInstallation(1, "acme", {"checks": "write", "contents": "read", "issues": "read"})
    asked = {"checks": "read", "contents": "read", "issues": "write", "merge_queues": "read"}
    assert list_unapproved(asked, installed) == ("issues: write", "merge_queues: read")
    assert list_unapproved({}, installed) == ()
