"""POST /github/webhooks: check size and signature of the raw bytes, translate, store, answer.

No byte of a body is interpreted before its signature is verified. Each delivery gets one response and one log line, which never holds
the body. 202: stored or ignored; anything else: GitHub may deliver it again.
"""

import hmac
import re
from asyncio import Timeout, timeout
from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from http import HTTPStatus
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar, cast

from anyio import to_thread
from litestar.exceptions import MethodNotAllowedException
from litestar.handlers import ASGIRouteHandler, asgi
from litestar.types import HTTPScope, Receive, ReceiveMessage, Scope, Send
from msgspec import Struct
from msgspec.json import encode

from app.ingest.event_types import Event, Ignored
from app.ingest.events import translate
from app.ingest.intake import EventIntake, RoutedIntake
from app.ingest.payloads import Delivery, Envelope, MalformedPayload, decode_payload, validate_payload
from worker.domain.lifecycle.intake import IntakeOutcome as Taken
from worker.domain.model import DeliveryId
from worker.errors import Unavailable

PATH: Final = "/github/webhooks"

LARGEST_BODY: Final = 25 * 1024 * 1024
"""GitHub's limit."""

BODY_SECONDS: Final = 15.0
"""GitHub gives up after ten."""

INLINE_BODY_BYTES: Final = 128 * 1024
"""A larger body is verified and parsed in a thread, so that it blocks no other delivery."""

MAX_BODY_MEMORY: Final = 12 * 1024 * 1024
"""For incomplete bodies, whose sender can't be verified yet. fly.toml gives the process 256 MB."""

SIGNATURE: Final = re.compile(rb"sha256=[0-9a-f]{64}")
NAME: Final = re.compile(rb"[A-Za-z0-9_.-]{1,100}")
RETRY_SECONDS: Final = "30"

INLINE_TEXT_BYTES: Final = 4096
"""A longer text is parsed in a thread, too: 60 KB of Markdown can take seconds."""

Headers = Mapping[bytes, bytes]
"""By lower-case name, as in ASGI."""

DELIVERY, EVENT, CONTENT = "X-GitHub-Delivery", "X-GitHub-Event", "Content-Type"
RAW: Final = {name: name.lower().encode() for name in (DELIVERY, EVENT, CONTENT)}


class DeliveryOutcome(StrEnum):
    """The result of a delivery."""

    QUEUED = "queued"
    COALESCED = "coalesced"
    DUPLICATE = "duplicate"
    NOTED = "noted"
    IGNORED = "ignored"
    REFUSED = "refused"
    UNAVAILABLE = "unavailable"
    FAILED = "failed"


class DeliveryCounters:
    """Deliveries by outcome. Used in the event loop only, so it needs no lock."""

    def __init__(self) -> None:
        self._counts = Counter[DeliveryOutcome]()

    def count(self, outcome: DeliveryOutcome) -> None:
        self._counts[outcome] += 1

    @property
    def counts(self) -> Mapping[str, int]:
        """Each outcome, including those at zero."""
        return {outcome.value: self._counts[outcome] for outcome in DeliveryOutcome}


class DeliveryLogger(Protocol):
    """Writes one line of the log."""

    def __call__(self, event: str, /, **fields: object) -> None: ...


class DeliveryRefused(Exception):
    """A bad request. The message says what is wrong and what to do."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class TooManyRequests(Exception):
    """No memory is left for this body."""


class BodyReservation:
    """The memory of one body. `limit`: the timeout of its incomplete rest; None: it is complete."""

    __slots__ = ("limit", "size", "was_evicted")

    def __init__(self) -> None:
        self.size = 0
        self.limit: Timeout | None = None
        self.was_evicted = False


class BodyMemory:
    """The memory of all incomplete bodies. Beyond *most* bytes the oldest is evicted: GitHub's are complete within moments.

    A single body may have any size.
    """

    def __init__(self, most: int = MAX_BODY_MEMORY) -> None:
        self._most = most
        self._all: dict[BodyReservation, None] = {}
        self.used_bytes = 0

    def grow(self, held: BodyReservation, more: int) -> None:
        """Reserve *more* bytes. Raises TooManyRequests."""
        if held.was_evicted:
            raise TooManyRequests
        self._all[held] = None
        held.size += more
        self.used_bytes += more
        if self.used_bytes > self._most:
            self._evict(held)

    def release(self, held: BodyReservation) -> None:
        """Free all of its bytes."""
        self.used_bytes -= held.size
        held.size = 0
        self._all.pop(held, None)

    def _evict(self, newest: BodyReservation) -> None:
        incomplete = [body for body in self._all if body is not newest and body.limit is not None]
        for body in incomplete:
            if self.used_bytes <= self._most:
                return
            self.release(body)
            body.was_evicted = True
            if body.limit is not None and not body.limit.expired():
                body.limit.reschedule(0)
        if self.used_bytes > max(self._most, newest.size):  # complete bodies can't be evicted
            raise TooManyRequests


class DeliveryResponse(Struct, frozen=True):
    """The response and the content of the log line. A struct is created five times as fast as a named tuple."""

    status: int
    outcome: DeliveryOutcome
    reason: str = ""
    action: str | None = None

    @property
    def content(self) -> Mapping[str, str]:
        key = REASON_KEYS.get(self.outcome)
        return {"outcome": self.outcome} if key is None else {key: self.reason}

    @property
    def headers(self) -> dict[str, str]:
        if self.status == HTTPStatus.REQUEST_TIMEOUT:
            return CLOSE_HEADERS
        if self.outcome is not DeliveryOutcome.UNAVAILABLE:
            return {}
        return {"Retry-After": RETRY_SECONDS, **(CLOSE_HEADERS if self.reason == TOO_MANY_REQUESTS else {})}


CLOSE_HEADERS: Final = {"Connection": "close"}
"""Otherwise the client keeps sending, and holds the connection."""

REASON_KEYS: Final = {
    DeliveryOutcome.IGNORED: "ignored",
    DeliveryOutcome.REFUSED: "error",
    DeliveryOutcome.UNAVAILABLE: "error",
}
"""The reason's key in the response; other outcomes have none."""

NOTHING_JUDGED: Final = "nothing_judged"
"""Why an event that was looked up has no effect."""

STORED_OUTCOMES: Final = {
    taken: DeliveryOutcome(taken) for taken in Taken if taken not in (Taken.UNKNOWN, Taken.LATE, Taken.UNCONFIRMED)
}


@dataclass(frozen=True, slots=True)
class SignatureVerifier:
    """Verifies signatures by one of the secrets: two while one is rotated out."""

    secrets: tuple[bytes, ...] = field(repr=False)

    def is_valid(self, signature: bytes, body: bytes) -> bool:
        """Compare in constant time, always with every secret."""
        return True in [
            hmac.compare_digest(signature, b"sha256=" + hmac.digest(secret, body, "sha256").hex().encode())
            for secret in self.secrets
        ]


class AcceptedDelivery(Struct, frozen=True):
    """A delivery that is an event."""

    event: Event
    delivery_id: DeliveryId
    action: str | None


@dataclass(frozen=True, slots=True)
class WebhookIntake:
    """The steps of one delivery."""

    verifier: SignatureVerifier
    our_app_id: int
    intake: EventIntake | RoutedIntake
    counters: DeliveryCounters
    log_delivery: DeliveryLogger
    body_memory: BodyMemory = field(default_factory=BodyMemory)

    async def handle(self, headers: Headers, receive: Receive) -> DeliveryResponse:
        """Process one delivery. Raises only for bugs."""
        held = BodyReservation()
        try:
            signature = read_signature(headers)
            body = await read_body(headers, receive, held, self.body_memory)
            if len(body) <= INLINE_BODY_BYTES:
                delivery = self._parse(headers, signature, body)
            else:
                delivery = await to_thread.run_sync(self._parse, headers, signature, body)
        except DeliveryRefused as refused:
            return DeliveryResponse(refused.status, DeliveryOutcome.REFUSED, str(refused))
        except TooManyRequests:
            return DeliveryResponse(HTTPStatus.SERVICE_UNAVAILABLE, DeliveryOutcome.UNAVAILABLE, TOO_MANY_REQUESTS)
        finally:
            self.body_memory.release(held)
        if isinstance(delivery, DeliveryResponse):
            return delivery
        if len(body) <= INLINE_BODY_BYTES and not has_long_text(delivery.values):
            meant = interpret_delivery(delivery)
        else:
            meant = await to_thread.run_sync(interpret_delivery, delivery)
        return meant if isinstance(meant, DeliveryResponse) else await self._store(meant)

    def record(self, headers: Headers, answer: DeliveryResponse) -> None:
        """Count it and write its log line."""
        self.counters.count(answer.outcome)
        self.log_delivery(
            "delivery",
            delivery_id=read_header(headers, DELIVERY)[:100],
            event_name=read_header(headers, EVENT)[:100],
            action=answer.action,
            outcome=answer.outcome,
            status=answer.status,
            reason=answer.reason,
        )

    def _parse(self, headers: Headers, signature: bytes, body: bytes) -> DeliveryResponse | Delivery:
        """Verify and parse it, or the response where it can't be read."""
        if not self.verifier.is_valid(signature, body):
            raise DeliveryRefused(HTTPStatus.UNAUTHORIZED, WRONG_SIGNATURE)
        require_json(headers)
        delivery_id, event_name = read_plain_header(headers, DELIVERY), read_plain_header(headers, EVENT)
        values = decode_payload(body)
        try:
            envelope = validate_payload(Envelope, values, body)
        except MalformedPayload as malformed:
            return DeliveryResponse(HTTPStatus.BAD_REQUEST, DeliveryOutcome.REFUSED, str(malformed))
        return Delivery(DeliveryId(delivery_id), event_name, self.our_app_id, envelope, body, values)

    async def _store(self, meant: AcceptedDelivery) -> DeliveryResponse:
        try:
            outcome = await self.intake.take_in(meant.event, meant.delivery_id)
        except Unavailable as unavailable:
            reason = f"{unavailable}. {REDELIVER}"
            return DeliveryResponse(HTTPStatus.SERVICE_UNAVAILABLE, DeliveryOutcome.UNAVAILABLE, reason, meant.action)
        became = STORED_OUTCOMES.get(outcome)
        if became is None:
            return DeliveryResponse(HTTPStatus.ACCEPTED, DeliveryOutcome.IGNORED, NOTHING_JUDGED, meant.action)
        return DeliveryResponse(HTTPStatus.ACCEPTED, became, "", meant.action)


def interpret_delivery(delivery: Delivery) -> DeliveryResponse | AcceptedDelivery:
    """Translate a delivery to an event, or to the response where nothing follows."""
    action = delivery.envelope.action
    try:
        event = translate(delivery)
    except MalformedPayload as malformed:
        return DeliveryResponse(HTTPStatus.BAD_REQUEST, DeliveryOutcome.REFUSED, str(malformed), action)
    if isinstance(event, Ignored):
        return DeliveryResponse(HTTPStatus.ACCEPTED, DeliveryOutcome.IGNORED, event.reason, action)
    return AcceptedDelivery(event, delivery.delivery_id, action)


def has_long_text(values: object) -> bool:
    """Whether a text among the values exceeds INLINE_TEXT_BYTES. Mostly all of them together do not."""
    with suppress(RecursionError):
        if len(encode(values)) <= INLINE_TEXT_BYTES:
            return False
    left = [values]
    while left:
        value = left.pop()
        if isinstance(value, str) and len(value) > INLINE_TEXT_BYTES:
            return True
        if isinstance(value, dict):
            left.extend(cast("Mapping[str, object]", value).values())
        elif isinstance(value, (list, tuple)):
            left.extend(cast("Sequence[object]", value))
    return False


WRONG_SIGNATURE: Final = (
    "X-Hub-Signature-256 does not fit the body: expected the HMAC-SHA256 of its bytes under ASSAY_WEBHOOK_SECRET. "
    "Set the same secret here and in the App's settings, under Webhook."
)
REDELIVER: Final = "Deliver it again later; it counts once."
TOO_MANY_REQUESTS: Final = f"Too many bodies are on their way. {REDELIVER}"


DeliveryApp = Callable[[Scope, Receive, Send], Awaitable[None]]


def delivery_app(intake: WebhookIntake) -> DeliveryApp:
    """An ASGI application for requests to PATH."""

    async def deliver(scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(reversed([*scope["headers"]]))  # of two with one name the first counts
        answer = await intake.handle(headers, receive)
        intake.record(headers, answer)
        encoded = ENCODED_OUTCOMES.get(answer.outcome) or encode_response(answer.content, answer.headers)
        await _send(send, answer.status, encoded)

    return deliver


def webhook_route(deliver: DeliveryApp) -> ASGIRouteHandler:
    @asgi(PATH, copy_scope=False)
    async def receive(scope: Scope, receive: Receive, send: Send) -> None:
        if cast("HTTPScope", scope)["method"] != "POST":
            raise MethodNotAllowedException(headers={"Allow": "POST"})
        await deliver(scope, receive, send)

    return receive


class EncodedResponse(NamedTuple):
    """Headers and body of a response, as sent."""

    headers: Sequence[tuple[bytes, bytes]]
    body: bytes


def encode_response(content: Mapping[str, str], headers: Mapping[str, str]) -> EncodedResponse:
    body = encode(content)
    raw = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    return EncodedResponse([*raw, *[(name.encode(), value.encode()) for name, value in headers.items()]], body)


async def respond(send: Send, status: int, content: Mapping[str, str], headers: Mapping[str, str]) -> None:
    """Answer with JSON."""
    await _send(send, status, encode_response(content, headers))


async def _send(send: Send, status: int, answer: EncodedResponse) -> None:
    await send({"type": "http.response.start", "status": status, "headers": answer.headers})
    await send({"type": "http.response.body", "body": answer.body, "more_body": False})


ENCODED_OUTCOMES: Final = {outcome: encode_response({"outcome": outcome}, {}) for outcome in STORED_OUTCOMES.values()}
"""The most frequent responses."""


def read_header(headers: Headers, name: str) -> str:
    return headers.get(RAW[name], b"").decode("latin-1")


def read_signature(headers: Headers) -> bytes:
    """The signature as sent. Raises DeliveryRefused before any of the body is read."""
    claimed = headers.get(b"x-hub-signature-256")
    if claimed is None:
        raise DeliveryRefused(
            HTTPStatus.UNAUTHORIZED,
            "X-Hub-Signature-256 is missing: the delivery is not signed. Set a secret in the App's settings, under Webhook.",
        )
    if not SIGNATURE.fullmatch(claimed):
        raise DeliveryRefused(
            HTTPStatus.UNAUTHORIZED,
            "X-Hub-Signature-256 is no signature: expected sha256= and 64 lower-case hex digits.",
        )
    return claimed


async def read_body(
    headers: Headers, receive: Receive, held: BodyReservation, memory: BodyMemory, seconds: float = BODY_SECONDS
) -> bytes:
    """Read at most 25 MB, whatever Content-Length says, within *seconds*. Raises DeliveryRefused, TooManyRequests."""
    if int(headers.get(b"content-length", b"0")) > LARGEST_BODY:
        raise body_too_large()
    first = start_awaiting(receive())
    if not isinstance(first, PendingAwait) and _is_last(first):
        return _read_chunk(first)  # complete already: no timeout needed
    try:
        async with timeout(seconds) as held.limit:
            return await _read_rest(await first if isinstance(first, PendingAwait) else first, receive, held, memory)
    except TimeoutError:
        if held.was_evicted:
            raise TooManyRequests from None
        raise DeliveryRefused(
            HTTPStatus.REQUEST_TIMEOUT, f"The body did not come whole within {seconds:g} s."
        ) from None
    finally:
        held.limit = None


async def _read_rest(message: ReceiveMessage, receive: Receive, held: BodyReservation, memory: BodyMemory) -> bytes:
    parts = [_read_chunk(message)]
    memory.grow(held, len(parts[0]))
    while not _is_last(message):
        message = await receive()
        parts.append(_read_chunk(message))
        if held.size + len(parts[-1]) > LARGEST_BODY:
            raise body_too_large()
        memory.grow(held, len(parts[-1]))
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _is_last(message: ReceiveMessage) -> bool:
    return message["type"] != "http.request" or not message["more_body"]


def _read_chunk(message: ReceiveMessage) -> bytes:
    """The bytes of a message. Raises DeliveryRefused."""
    if message["type"] != "http.request":
        raise DeliveryRefused(HTTPStatus.BAD_REQUEST, "The connection closed before the body was whole.")
    if len(message["body"]) > LARGEST_BODY:
        raise body_too_large()
    return message["body"]


def body_too_large() -> DeliveryRefused:
    return DeliveryRefused(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        f"The body is over {LARGEST_BODY // 1024 // 1024} MB, more than GitHub ever sends.",
    )


def require_json(headers: Headers) -> None:
    """Raises DeliveryRefused for GitHub's other content type, a form."""
    if headers.get(RAW[CONTENT]) == b"application/json":
        return
    content_type = read_header(headers, CONTENT)
    if content_type.partition(";")[0].strip().lower() != "application/json":
        raise DeliveryRefused(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            f'Content-Type is "{content_type[:100]}": expected application/json. '
            "Choose application/json in the App's settings, under Webhook.",
        )


def read_plain_header(headers: Headers, header: str) -> str:
    """The header's value, a plain name. Raises DeliveryRefused."""
    value = headers.get(RAW[header])
    if value is None:
        raise DeliveryRefused(HTTPStatus.BAD_REQUEST, f"{header} is missing. GitHub sends it with every delivery.")
    if not NAME.fullmatch(value):
        raise DeliveryRefused(
            HTTPStatus.BAD_REQUEST, f"{header} is no name: expected up to 100 letters, digits, dots and dashes."
        )
    return value.decode("ascii")


T = TypeVar("T")


class PendingAwait(Generic[T]):
    """The rest of a started wait. To be awaited once, by the same task, before anything else."""

    def __init__(self, steps: Generator[Any, Any, T], waits_for: object) -> None:
        self._steps = steps
        self._waits_for = waits_for

    def __await__(self) -> Generator[Any, Any, T]:
        with closing(self._steps):
            yield self._waits_for
            return (yield from self._steps)


def start_awaiting(wait: Awaitable[T]) -> T | PendingAwait[T]:
    """Start a wait. Returns its result if there is one already, without a turn of the event loop."""
    steps = wait.__await__()
    try:
        waits_for = next(steps)
    except StopIteration as over:
        return over.value
    return PendingAwait(steps, waits_for)
