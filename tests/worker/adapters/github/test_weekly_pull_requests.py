"""How many pull requests were opened in the last seven days."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr
from pytest_httpserver import HTTPServer

from tests.worker.adapters.github.conftest import Place
from worker.adapters.github.doctor import count_opened_this_week
from worker.clock import SystemClock
from worker.errors import SubjectGone
from worker.settings import Settings

NOW = datetime(2026, 11, 20, 20, 5, tzinfo=UTC)


class At:
    """A clock that stands, so far from now."""

    def __init__(self, at: datetime) -> None:
        self._at = at

    def now(self) -> datetime:
        return self._at

    def monotonic_ms(self) -> int:
        return 0


@pytest.fixture(scope="module")
def server() -> Iterator[HTTPServer]:
    with HTTPServer(threaded=True) as played:
        yield played


def test_those_of_the_last_seven_days_are_counted(place: Place, settings: Settings) -> None:
    assert count_opened_this_week(settings, SystemClock(), place.name) == 0
    place.pull({"a.py": "x = 7\n"})
    place.push("more", {"a.py": "x = 8\n"})
    place.opened("more")
    token = replace(settings, github_token=SecretStr("bench-bob"))
    assert count_opened_this_week(settings, SystemClock(), place.name) == 2
    assert count_opened_this_week(settings, At(SystemClock().now() + timedelta(days=8)), place.name) == 0
    with pytest.raises(SubjectGone):
        count_opened_this_week(token, SystemClock(), "acme/no-such-thing")


@pytest.mark.parametrize(("pages", "expected", "asked"), [([100, 30], 130, 2), ([100] * 4, 300, 3)])
def test_a_busy_repository_is_read_page_by_page_and_three_of_them(
    server: HTTPServer, tmp_path: Path, pages: list[int], expected: int, asked: int
) -> None:
    server.clear()
    for number, count in enumerate(pages, start=1):
        listed = [{"created_at": "2026-11-19T00:00:00Z"}] * count
        query = {"state": "all", "sort": "created", "direction": "desc", "per_page": "100", "page": str(number)}
        server.expect_request("/repos/acme/busy/pulls", query_string=query).respond_with_json(listed)
    settings = Settings(data_dir=tmp_path, github_api_url=server.url_for("").rstrip("/"))
    assert count_opened_this_week(settings, At(NOW), "acme/busy") == expected
    assert len(server.log) == asked
