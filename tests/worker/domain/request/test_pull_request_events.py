"""Open pull requests as a look around finds them."""

from datetime import UTC, datetime
from typing import Any

import pytest

from worker.domain.ids import RepositoryId, hash_base
from worker.domain.request.judge_request import AuthorKind
from worker.domain.request.pull_request_events import OpenPull, OpenRepository, PullSnapshot, Repository

AT = datetime(2026, 11, 1, tzinfo=UTC)


def found(number: int) -> OpenRepository:
    pull = OpenPull(number, "a" * 40, AT, draft=False, author=AuthorKind.AGENT, base=hash_base("main"))
    return OpenRepository(Repository(RepositoryId(1), "acme/shop"), (pull,))


def test_what_two_looks_find_alike_is_one() -> None:
    assert len({found(1), found(1), found(2)}) == 2


def test_a_look_that_forgot_whom_the_repository_judges_is_none() -> None:
    forgetful: Any = PullSnapshot
    with pytest.raises(TypeError, match="PullSnapshot"):
        forgetful(pull=None)
