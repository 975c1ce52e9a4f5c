"""What a sweep reads of an installation."""

from uuid import uuid4

from tests.worker.adapters.github.conftest import INSTALLATION, Place
from worker.adapters.github.client import MOST_REMEMBERED, AppAccess
from worker.adapters.github.installations import GitHubRepositories

LIST = "GET /installation/repositories"


def test_a_list_of_repositories_that_is_the_same_is_not_sent_again_and_takes_nothing_of_the_hour(
    place: Place, access: AppAccess
) -> None:
    repositories = GitHubRepositories(access)
    before = len(place.github.traffic(LIST))
    first = repositories.list_page(INSTALLATION, 1)
    assert repositories.list_page(INSTALLATION, 1) == first
    asked, again = place.github.traffic(LIST)[before:]
    assert (asked["status"], again["status"], again["received"]) == (200, 304, None)


def test_a_list_of_repositories_that_has_changed_is_read_anew(place: Place, access: AppAccess) -> None:
    repositories = GitHubRepositories(access)
    assert place.name in names(repositories)
    added = f"things-{uuid4().hex[:8]}"
    place.github.verb("repo", name=added, files={"a.py": "x = 1\n"})
    assert f"acme/{added}" in names(repositories)


def names(repositories: GitHubRepositories) -> list[str]:
    found, number, has_more = list[str](), 0, True
    while has_more:
        number += 1
        page, has_more = repositories.list_page(INSTALLATION, number)
        found += [one.name for one in page]
    return found


def test_each_page_of_a_list_is_known_by_its_own_number(place: Place, access: AppAccess) -> None:
    repositories = GitHubRepositories(access)
    first, second = (repositories.list_page(INSTALLATION, number)[0] for number in (1, 2))
    assert first != second
    assert [repositories.list_page(INSTALLATION, number)[0] for number in (1, 2)] == [first, second]
    assert [one["status"] for one in place.github.traffic(LIST)[-2:]] == [304, 304]


def test_a_token_that_is_another_asks_for_the_list_without_what_the_old_one_was_told(
    place: Place, access: AppAccess
) -> None:
    """GitHub's ETags are of one credential: it sends the list anew, and that counts from then on."""
    repositories = GitHubRepositories(access)
    first = repositories.list_page(INSTALLATION, 1)
    place.github.verb("tokens/expire")
    before = len(place.github.traffic(LIST))
    assert [repositories.list_page(INSTALLATION, 1) for _ in range(2)] == [first, first]
    assert [one["status"] for one in place.github.traffic(LIST)[before:]] == [401, 200, 304]


def test_of_many_pages_those_that_were_asked_for_last_are_remembered(place: Place, access: AppAccess) -> None:
    repositories = GitHubRepositories(access)
    for number in range(1, MOST_REMEMBERED + 2):
        repositories.list_page(INSTALLATION, number)
    before = len(place.github.traffic(LIST))
    for number in (MOST_REMEMBERED + 1, 2, 1):
        repositories.list_page(INSTALLATION, number)
    assert [one["status"] for one in place.github.traffic(LIST)[before:]] == [304, 304, 200]
