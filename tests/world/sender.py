"""Sends webhook deliveries to the product directly: forged, broken, repeated, or as GitHub sends them."""

import hmac
import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self
from uuid import uuid4

import httpx

SECONDS = 30.0
FRESH = httpx.Limits(keepalive_expiry=1)  # the server closes idle connections after five seconds


@dataclass(frozen=True)
class WebhookSender:
    client: httpx.Client
    secret: str

    @classmethod
    def to(cls, url: str, secret: str) -> Self:
        plain = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # unused, but cheaper than the default
        return cls(httpx.Client(base_url=url, timeout=SECONDS, verify=plain, limits=FRESH), secret)

    def send(self, event: str, payload: Mapping[str, Any], **headers: str) -> httpx.Response:
        return self.send_bytes(event, json.dumps(payload).encode(), **headers)

    def send_bytes(self, event: str, body: bytes, **headers: str) -> httpx.Response:
        """Headers are named as arguments: `x_github_delivery="1"`; an empty one is left out."""
        usual = {
            "content_type": "application/json",
            "x_github_event": event,
            "x_github_delivery": str(uuid4()),
            "x_hub_signature_256": self.signature(body),
        }
        named = {name.replace("_", "-"): value.encode() for name, value in {**usual, **headers}.items() if value}
        return self.client.post("/github/webhooks", content=body, headers=_raw(named))

    def status(self, path: str) -> int:
        """The status of a GET, such as of `/livez`."""
        return self.client.get(path).status_code

    def signature(self, body: bytes, secret: str | None = None) -> str:
        return "sha256=" + hmac.new((secret or self.secret).encode(), body, "sha256").hexdigest()


def _raw(headers: Mapping[str, bytes]) -> list[tuple[bytes, bytes]]:
    """As bytes, because a forged header need not be ASCII."""
    return [(name.encode(), value) for name, value in headers.items()]
