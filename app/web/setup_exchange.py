"""The one thing the door ever asks GitHub: what App it made of our manifest.

Does not use GitHub's client (the door loads none) and asks once. Invariant: nothing is followed or tried again, no more than a
small answer is read, and no secret is in an error or a repr.
"""

import http.client
import re
from typing import Final
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
)

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from worker.errors import Unavailable

MAX_RESPONSE_BYTES: Final = 1024 * 1024
CODE: Final = r"[A-Za-z0-9_-]{1,200}"
SERVER_ERROR: Final = 500
TOO_MANY_REQUESTS: Final = 429


class CreatedApp(BaseModel):
    """The App, and its secrets, which GitHub tells once."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    id: int = Field(gt=0)
    # A bound in an expression is as many copies of what it bounds: these two took a twentieth of the door's start.
    slug: str = Field(pattern=r"^[\w.-]+$", max_length=100)
    html_url: str = Field(pattern=r"^https?://[^\s\"<>]+$", max_length=500)
    pem: SecretStr = Field(min_length=1)
    webhook_secret: SecretStr = Field(min_length=1)


class CodeRefused(Exception):
    """GitHub knows no such code, or not any more. The message says so for people."""


def exchange_code(api_url: str, code: str, timeout_s: float) -> CreatedApp:
    """Have the code's App told. Raises CodeRefused, and Unavailable where it may be asked again."""
    if not re.fullmatch(CODE, code):
        raise CodeRefused("That is no code of GitHub's.")
    request = Request(  # noqa: S310 - settings take http(s) only
        f"{api_url}/app-manifests/{quote(code, safe='')}/conversions",
        data=b"",
        headers={"Accept": "application/vnd.github+json", "User-Agent": "assay"},
        method="POST",
    )
    try:
        with _opener().open(request, timeout=timeout_s) as answer:
            return CreatedApp.model_validate_json(answer.read(MAX_RESPONSE_BYTES))
    except HTTPError as error:
        with error:
            raise _error_for(error.code) from None
    except (OSError, http.client.HTTPException) as error:
        raise Unavailable("GitHub", f"did not answer ({type(error).__name__})") from None
    except ValidationError:
        raise CodeRefused("GitHub answered with what is no App.") from None


def _opener() -> OpenerDirector:
    """As urllib's own, but without following anybody: a code that opens an App goes nowhere but to GitHub."""
    opener = OpenerDirector()
    for handler in (ProxyHandler, HTTPHandler, HTTPSHandler, HTTPDefaultErrorHandler, HTTPErrorProcessor):
        opener.add_handler(handler())
    return opener


def _error_for(status: int) -> CodeRefused | Unavailable:
    if status >= SERVER_ERROR or status == TOO_MANY_REQUESTS:
        return Unavailable("GitHub", f"answered {status}")
    return CodeRefused(
        f"GitHub does not take this code (any more): it answered {status}. A code is good for an hour, and once."
    )
