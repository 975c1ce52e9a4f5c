"""Holds the traffic of a test against GitHub's published API (github/gh-slice.json).

Does not check GraphQL: the bench itself holds every query against GitHub's schema. Invariant: a path that
the slice does not have is a violation; `openapi_slice.py` cuts a new one.
"""

import json
import re
from collections.abc import Iterable
from functools import cache
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl

from openapi_core import Config, OpenAPI
from openapi_core.exceptions import OpenAPIError
from openapi_core.templating.responses.exceptions import ResponseNotFound
from openapi_core.testing import MockRequest, MockResponse

from tests.world.fake_github import Exchange
from tests.world.node import GITHUB

SLICE = GITHUB / "gh-slice.json"
HOST = "https://api.github.com"
"""The slice's server. The bench's own address is not in it."""

MOVED = (HTTPStatus.MOVED_PERMANENTLY, HTTPStatus.TEMPORARY_REDIRECT)
"""Any request by an old name of a repository; the description lists a few of them."""

GREEDY = re.compile(r"(/(?:git/ref|contents|branches|rules/branches|compare)/)(.+)$")
"""Paths whose last parameter may hold slashes."""


def find_violations(exchanges: Iterable[Exchange]) -> list[str]:
    """What of these exchanges GitHub would not do or not accept."""
    return [found for one in exchanges if _is_described(one) for found in _violation(one)]


@cache
def _description() -> OpenAPI:
    unchecked = Config(spec_validator_cls=None)  # pyright: ignore[reportArgumentType] - None is what turns it off
    return OpenAPI.from_file_path(str(SLICE), config=unchecked)


def _is_described(one: Exchange) -> bool:
    is_graphql = one["path"].endswith("/graphql")
    return not one["fault"] and not is_graphql and one["status"] != HTTPStatus.NOT_MODIFIED


def _violation(one: Exchange) -> list[str]:
    said = f"{one['method']} {one['path']} -> {one['status']}"
    if one["status"] in MOVED:
        is_githubs = set(one["received"]) == {"message", "url", "documentation_url"}
        return [] if is_githubs and "/repositories/" in one["received"]["url"] else [f"{said}: leads nowhere"]
    try:
        _validate(one)
    except ResponseNotFound:  # the description does not list every error
        return [] if (one["status"] or 0) >= HTTPStatus.BAD_REQUEST else [f"{said}: not an answer of GitHub's"]
    except OpenAPIError as error:
        return [f"{said}: {_reason(error)}"]
    return []


def _validate(one: Exchange) -> None:
    arguments = dict(parse_qsl(one["query"].lstrip("?"), keep_blank_values=True))
    path = GREEDY.sub(lambda found: found[1] + found[2].replace("/", "%2F"), one["path"])
    sent = one["sent"].encode() or None
    request = MockRequest(HOST, one["method"].lower(), path, args=arguments, data=sent, content_type="application/json")
    _description().validate_request(request)
    status = one["status"] or 0
    if one["type"].startswith("application/json") and status < HTTPStatus.INTERNAL_SERVER_ERROR:
        received = b"" if one["received"] is None else json.dumps(one["received"]).encode()
        answer = MockResponse(received, status, content_type="application/json")
        _description().validate_response(request, answer)


def _reason(error: BaseException) -> str:
    deeper = getattr(error, "schema_errors", None)
    if deeper:
        return "; ".join(f"{'.'.join(map(str, one.path))}: {one.message[:160]}" for one in _leaves(deeper))
    return _reason(error.__cause__) if error.__cause__ else f"{type(error).__name__}: {error}"


def _leaves(errors: Iterable[Any]) -> list[Any]:
    """The errors of the best matching branch of a oneOf, instead of "is not valid under any"."""
    return [leaf for one in errors for leaf in (_leaves(min(_branches(one), key=len)) if one.context else [one])]


def _branches(error: Any) -> list[list[Any]]:
    branches: dict[int, list[Any]] = {}
    for one in error.context:
        branches.setdefault(one.schema_path[0], []).append(one)
    return list(branches.values())
