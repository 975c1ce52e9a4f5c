"""POST /github/webhooks: size, signature over the raw bytes, translate, take in, answer.

Does not judge, and does not interpret a byte of a body before its signature was verified. Invariant: a
delivery gets exactly one answer and one log line, which never holds the body; 202 means that it is in the
store or not for us, everything else that GitHub may deliver it again.
"""

import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from anyio import fail_after, to_thread
from litestar import Request, Response, post
from litestar.exceptions import InternalServerException
from litestar.exceptions.http_exceptions import RequestEntityTooLarge
from litestar.handlers import HTTPRouteHandler
from litestar.status_codes import (
    HTTP_202_ACCEPTED,
    HTTP_400_BAD_REQUEST,
    HTTP_401_UNAUTHORIZED,
    HTTP_408_REQUEST_TIMEOUT,
    HTTP_413_REQUEST_ENTITY_TOO_LARGE,
    HTTP_415_UNSUPPORTED_MEDIA_TYPE,
    HTTP_503_SERVICE_UNAVAILABLE,
)
from structlog.typing import FilteringBoundLogger

from app.events import translate
from app.facts import Ignored
from app.health import Outcome, Tally
from app.intake import Intake
from app.payloads import Delivery, Envelope, Malformed, read
from worker.domain.ids import DeliveryId
from worker.errors import Unavailable
from worker.store.door import Outcome as Taken

LARGEST_BODY: Final = 25 * 1024 * 1024
"""GitHub sends no larger one."""

BODY_SECONDS: Final = 15.0
"""GitHub itself gives a delivery up after ten."""

SIGNATURE: Final = re.compile(r"sha256=[0-9a-f]{64}")
NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,100}")
RETRY_SECONDS: Final = "30"


class Refused(Exception):
    """The caller's fault. The message says what is wrong and what to do."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


@dataclass(frozen=True, slots=True)
class Answer:
    """What the sender is told, and what the log line says."""

    status: int
    outcome: Outcome
    reason: str = ""
    action: str | None = None

    @property
    def content(self) -> Mapping[str, str]:
        match self.outcome:
            case Outcome.IGNORED:
                return {"ignored": self.reason}
            case Outcome.REFUSED | Outcome.UNAVAILABLE:
                return {"error": self.reason}
            case _:
                return {"outcome": self.outcome}

    @property
    def headers(self) -> dict[str, str]:
        if self.status == HTTP_408_REQUEST_TIMEOUT:
            return {"Connection": "close"}  # or it goes on sending, and holds the connection
        return {"Retry-After": RETRY_SECONDS} if self.outcome is Outcome.UNAVAILABLE else {}


@dataclass(frozen=True, slots=True)
class Lock:
    """Who may come in: whoever signs with one of the secrets. Two while one is rotated out."""

    secrets: tuple[bytes, ...] = field(repr=False)

    def opens(self, signature: bytes, body: bytes) -> bool:
        """Compare in constant time, and with every secret, whichever fits."""
        expected = [b"sha256=" + hmac.new(secret, body, "sha256").hexdigest().encode() for secret in self.secrets]
        return sum(hmac.compare_digest(signature, one) for one in expected) > 0


@dataclass(frozen=True, slots=True)
class Door:
    """Everything that one delivery passes."""

    lock: Lock
    our_app_id: int
    intake: Intake
    tally: Tally
    log: FilteringBoundLogger

    async def answer(self, request: "AnyRequest") -> Answer:
        """Decide about one delivery. Raises nothing but bugs."""
        try:
            delivery = await self._verified(request)
        except Refused as refused:
            return Answer(refused.status, Outcome.REFUSED, str(refused))
        except Malformed as malformed:
            return Answer(HTTP_400_BAD_REQUEST, Outcome.REFUSED, str(malformed))
        return await to_thread.run_sync(self._decide, delivery)

    def note(self, request: "AnyRequest", answer: Answer) -> None:
        """Count it and write its one log line."""
        self.tally.count(answer.outcome)
        self.log.info(
            "delivery",
            delivery_id=request.headers.get("x-github-delivery", "")[:100],
            event_name=request.headers.get("x-github-event", "")[:100],
            action=answer.action,
            outcome=answer.outcome,
            status=answer.status,
            reason=answer.reason,
        )

    async def _verified(self, request: "AnyRequest") -> Delivery:
        """Raises Refused, or Malformed."""
        signature = claimed_signature(request)
        body = await read_body(request)
        if not self.lock.opens(signature, body):
            raise Refused(HTTP_401_UNAUTHORIZED, WRONG_SIGNATURE)
        require_json(request)
        return Delivery(
            delivery_id=DeliveryId(named(request, "X-GitHub-Delivery")),
            event_name=named(request, "X-GitHub-Event"),
            our_app_id=self.our_app_id,
            envelope=read(Envelope, body),
            body=body,
        )

    def _decide(self, delivery: Delivery) -> Answer:
        action = delivery.envelope.action
        try:
            event = translate(delivery)
            if isinstance(event, Ignored):
                return Answer(HTTP_202_ACCEPTED, Outcome.IGNORED, event.reason, action)
            taken = self.intake.take_in(event, delivery.delivery_id)
        except Malformed as malformed:
            return Answer(HTTP_400_BAD_REQUEST, Outcome.REFUSED, str(malformed), action)
        except Unavailable as unavailable:
            return Answer(HTTP_503_SERVICE_UNAVAILABLE, Outcome.UNAVAILABLE, f"{unavailable}. {REDELIVER}", action)
        if taken is Taken.NOTED:
            return Answer(HTTP_202_ACCEPTED, Outcome.NOTED, action=action)
        if taken is Taken.UNKNOWN:
            return Answer(HTTP_202_ACCEPTED, Outcome.IGNORED, "nothing_judged", action)
        return Answer(HTTP_202_ACCEPTED, Outcome(taken), action=action)


AnyRequest = Request[Any, Any, Any]

WRONG_SIGNATURE: Final = (
    "X-Hub-Signature-256 does not fit the body: expected the HMAC-SHA256 of its bytes under ASSAY_WEBHOOK_SECRET. "
    "Set the same secret here and in the App's settings, under Webhook."
)
REDELIVER: Final = "Deliver it again later; it counts once."


def webhook_route(door: Door) -> HTTPRouteHandler:
    @post("/github/webhooks", request_max_body_size=LARGEST_BODY)
    async def receive(request: Request[Any, Any, Any]) -> Response[Mapping[str, str]]:
        answer = await door.answer(request)
        door.note(request, answer)
        return Response(answer.content, status_code=answer.status, headers=answer.headers)

    return receive


def claimed_signature(request: AnyRequest) -> bytes:
    """The signature as sent. Raises Refused when there is none, before any of the body is read."""
    claimed = request.headers.get("x-hub-signature-256")
    if claimed is None:
        raise Refused(
            HTTP_401_UNAUTHORIZED,
            "X-Hub-Signature-256 is missing: the delivery is not signed. Set a secret in the App's settings, under Webhook.",
        )
    if not SIGNATURE.fullmatch(claimed):
        raise Refused(
            HTTP_401_UNAUTHORIZED, "X-Hub-Signature-256 is no signature: expected sha256= and 64 lower-case hex digits."
        )
    return claimed.encode("ascii")


async def read_body(request: AnyRequest, seconds: float = BODY_SECONDS) -> bytes:
    """The raw bytes, at most 25 MB, whatever Content-Length says, and within *seconds*. Raises Refused."""
    try:
        with fail_after(seconds):
            return await request.body()
    except TimeoutError:
        raise Refused(HTTP_408_REQUEST_TIMEOUT, f"The body did not come whole within {seconds:g} s.") from None
    except InternalServerException:
        raise Refused(HTTP_400_BAD_REQUEST, "The connection closed before the body was whole.") from None
    except RequestEntityTooLarge:
        raise Refused(
            HTTP_413_REQUEST_ENTITY_TOO_LARGE,
            f"The body is over {LARGEST_BODY // 1024 // 1024} MB, more than GitHub ever sends.",
        ) from None


def require_json(request: AnyRequest) -> None:
    """Raises Refused for the other content type that GitHub offers."""
    found = request.headers.get("content-type", "")
    if found.partition(";")[0].strip().lower() != "application/json":
        raise Refused(
            HTTP_415_UNSUPPORTED_MEDIA_TYPE,
            f'Content-Type is "{found[:100]}": expected application/json. '
            "Choose application/json in the App's settings, under Webhook.",
        )


def named(request: AnyRequest, header: str) -> str:
    """The header's value, a plain name. Raises Refused."""
    found = request.headers.get(header)
    if found is None:
        raise Refused(HTTP_400_BAD_REQUEST, f"{header} is missing. GitHub sends it with every delivery.")
    if not NAME.fullmatch(found):
        raise Refused(
            HTTP_400_BAD_REQUEST, f"{header} is no name: expected up to 100 letters, digits, dots and dashes."
        )
    return found
