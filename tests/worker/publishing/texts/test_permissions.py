"""docs/permissions.md is what the code asks for."""

from pathlib import Path

from worker.domain.config.app_permissions import CORE_PERMISSIONS, OPTIONAL_PERMISSIONS, OptIn, requested_permissions
from worker.publishing.texts.permissions import NEVER, permissions_page

PAGE = Path(__file__).resolve().parents[4] / "docs/permissions.md"


def test_the_page_is_what_the_table_says() -> None:
    assert PAGE.read_text() == permissions_page(), (
        'write it anew: python -c "from worker.publishing.texts.permissions import permissions_page as page; print(page(), end=str())"'
    )


def test_every_permission_stands_there_with_its_reason() -> None:
    page = permissions_page()
    for one in (*CORE_PERMISSIONS, *(extra.permission for extra in OPTIONAL_PERMISSIONS)):
        assert f"| {one.title} | {one.level} | {one.reason} |" in page


def test_what_is_never_asked_for_is_not_asked_for() -> None:
    spelled = {name.lower().replace(" ", "_"): level for name, level in requested_permissions(OptIn).items()}
    for names, _ in NEVER:
        name, _, level = names.partition(": ")
        for one in name.split(", "):
            assert spelled.get(one.lower().replace(" ", "_")) != (
                level or spelled.get(one.lower().replace(" ", "_"), "none")
            )
