"""Validates recorded requests against GitHub's published API (github/gh-slice.json); GraphQL is validated by the fake GitHub."""

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
"""The only server that the description names."""

MOVED = (HTTPStatus.MOVED_PERMANENTLY, HTTPStatus.TEMPORARY_REDIRECT)
"""Statuses of requests by an old repository name; the description lists few of them."""

GREEDY = re.compile(r"(/(?:git/ref|contents|branches|rules/branches|compare)/)(.+)$")
"""Paths whose last parameter may hold slashes."""


COMMIT_ID = re.compile(r"\b[0-9a-f]{40}\b")
_VALID = set[str]()
"""What was valid: exchanges without their commit ids, since many differ in nothing else, and validating takes long."""


def find_violations(exchanges: Iterable[Exchange]) -> list[str]:
    """Requests that GitHub would refuse, and responses that it would not give."""
    all_violations: list[str] = []
    for exchange in filter(_is_described, exchanges):
        kind = COMMIT_ID.sub("0" * 40, json.dumps({**exchange, "at": 0}))
        if kind not in _VALID:
            violations = _violation(exchange)
            all_violations += violations
            if not violations:
                _VALID.add(kind)
    return all_violations


@cache
def _description() -> OpenAPI:
    unchecked = Config(spec_validator_cls=None)  # pyright: ignore[reportArgumentType] - None is what turns it off
    return OpenAPI.from_file_path(str(SLICE), config=unchecked)


def _is_described(exchange: Exchange) -> bool:
    is_graphql = exchange["path"].endswith("/graphql")
    return not exchange["fault"] and not is_graphql and exchange["status"] != HTTPStatus.NOT_MODIFIED


def _violation(exchange: Exchange) -> list[str]:
    summary = f"{exchange['method']} {exchange['path']} -> {exchange['status']}"
    if exchange["status"] in MOVED:
        is_githubs = set(exchange["received"]) == {"message", "url", "documentation_url"}
        return [] if is_githubs and "/repositories/" in exchange["received"]["url"] else [f"{summary}: leads nowhere"]
    try:
        _validate(exchange)
    except ResponseNotFound:  # the description does not list every error
        return [] if (exchange["status"] or 0) >= HTTPStatus.BAD_REQUEST else [f"{summary}: not an answer of GitHub's"]
    except OpenAPIError as error:
        return [f"{summary}: {_reason(error)}"]
    return []


def _validate(exchange: Exchange) -> None:
    arguments = dict(parse_qsl(exchange["query"].lstrip("?"), keep_blank_values=True))
    path = GREEDY.sub(lambda match: match[1] + match[2].replace("/", "%2F"), exchange["path"])
    sent = exchange["sent"].encode() or None
    method = exchange["method"].lower()
    request = MockRequest(HOST, method, path, args=arguments, data=sent, content_type="application/json")
    _description().validate_request(request)
    status = exchange["status"] or 0
    if exchange["type"].startswith("application/json") and status < HTTPStatus.INTERNAL_SERVER_ERROR:
        received = b"" if exchange["received"] is None else json.dumps(exchange["received"]).encode()
        answer = MockResponse(received, status, content_type="application/json")
        _description().validate_response(request, answer)


def _reason(error: BaseException) -> str:
    deeper = getattr(error, "schema_errors", None)
    if deeper:
        return "; ".join(f"{'.'.join(map(str, error.path))}: {error.message[:160]}" for error in _leaves(deeper))
    return _reason(error.__cause__) if error.__cause__ else f"{type(error).__name__}: {error}"


def _leaves(errors: Iterable[Any]) -> list[Any]:
    """The errors of the best matching branch of a oneOf."""
    return [
        leaf for error in errors for leaf in (_leaves(min(_branches(error), key=len)) if error.context else [error])
    ]


def _branches(error: Any) -> list[list[Any]]:
    branches: dict[int, list[Any]] = {}
    for nested in error.context:
        branches.setdefault(nested.schema_path[0], []).append(nested)
    return list(branches.values())
