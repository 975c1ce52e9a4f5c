"""What a token of the API opens, for every route there is, also those that come later."""

import io
from typing import Any, cast

from litestar.routes import HTTPRoute

from app.web.asgi import create_app
from tests.app.web.served import ServedDoor, settings
from tests.worker.adapters.redis.played import AT
from worker.adapters.redis.store import Store
from worker.domain.ids import InstallationId


def routes(store: Store) -> list[HTTPRoute]:
    app = create_app(settings(), store, io.StringIO())
    return [cast("HTTPRoute", one) for one in app.routes if one.path.startswith("/api")]


def paths(store: Store) -> list[str]:
    """Each with something in the place of its parameters."""
    made: list[str] = []
    for route in routes(store):
        parts = cast("list[Any]", route.path_components)
        made.append("/" + "/".join(one if isinstance(one, str) else "1" * 40 for one in parts))
    return made


def test_the_api_only_reads(store: Store) -> None:
    assert len(routes(store)) >= 2
    assert {method for route in routes(store) for method in route.methods} <= {"GET", "OPTIONS", "HEAD"}


def test_no_route_of_the_api_answers_without_a_token_or_with_one_that_was_revoked(
    door: ServedDoor, store: Store
) -> None:
    tokens = store.tokens()
    revoked = tokens.create("gone", [InstallationId(1)], AT)
    tokens.revoke("gone")
    for claimed in (None, "Bearer", "Bearer made-up", f"Bearer {revoked}", f"Basic {revoked}"):
        headers = {"Authorization": claimed} if claimed else {}
        answers = {path: door.http.get(path, headers=headers) for path in paths(store)}
        assert {path: one.status_code for path, one in answers.items()} == dict.fromkeys(answers, 401)
        assert not [one for one in answers.values() if str(revoked) in one.text]


def test_a_token_of_one_installation_opens_nothing_else_and_no_delivery(door: ServedDoor, store: Store) -> None:
    token = store.tokens().create("mine", [InstallationId(1)], AT)
    headers = {"Authorization": f"Bearer {token}"}
    for path in paths(store):
        assert door.http.get(path, headers=headers).status_code in (200, 400, 404), path
    assert door.http.post("/github/webhooks", content=b"{}", headers=headers).status_code == 401
    assert door.http.post("/setup", content=f"token={token}", headers=headers).status_code == 404
