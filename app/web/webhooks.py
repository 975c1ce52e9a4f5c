"""POST /github/webhooks: size, signature over the raw bytes, translate, take in, answer.

Does not judge, and does not interpret a byte of a body before its signature was verified. Invariant: a
delivery gets exactly one answer and one log line, which never holds the body; 202 means that it is in the
store or not for us, everything else that GitHub may deliver it again.
"""

import hmac
import re
from asyncio import Timeout, timeout
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol, cast

from anyio import to_thread
from litestar.exceptions import MethodNotAllowedException
from litestar.handlers import ASGIRouteHandler, asgi
from litestar.status_codes import (
    HTTP_202_ACCEPTED,
    HTTP_400_BAD_REQUEST,
    HTTP_401_UNAUTHORIZED,
    HTTP_408_REQUEST_TIMEOUT,
    HTTP_413_REQUEST_ENTITY_TOO_LARGE,
    HTTP_415_UNSUPPORTED_MEDIA_TYPE,
    HTTP_503_SERVICE_UNAVAILABLE,
)
from litestar.types import HTTPScope, Receive, ReceiveMessage, Scope, Send
from msgspec import Struct
from msgspec.json import encode

from app.ingest.event_types import Event, Ignored
from app.ingest.events import translate
from app.ingest.intake import Intake
from app.ingest.payloads import Delivery, Envelope, Malformed, taken
from app.ingest.slim import slim
from app.web.begun import Begun, begun
from app.web.health import Outcome, Tally
from worker.adapters.redis.intake import Outcome as Taken
from worker.domain.ids import DeliveryId
from worker.errors import Unavailable

PATH: Final = "/github/webhooks"

LARGEST_BODY: Final = 25 * 1024 * 1024
"""GitHub sends no larger one."""

BODY_SECONDS: Final = 15.0
"""GitHub itself gives a delivery up after ten."""

QUICK_BODY: Final = 128 * 1024
"""What is larger is verified and read in a thread, where it keeps no other delivery waiting. Few are."""

MOST_HELD: Final = 12 * 1024 * 1024
"""Of bodies on their way, whose sender is known only when they are whole. fly.toml gives a door 256 MB."""

SIGNATURE: Final = re.compile(rb"sha256=[0-9a-f]{64}")
NAME: Final = re.compile(rb"[A-Za-z0-9_.-]{1,100}")
RETRY_SECONDS: Final = "30"

QUICK_TEXT: Final = 4096
"""A longer text is read in a thread, too: there is Markdown of 60 KB that takes seconds."""

Headers = Mapping[bytes, bytes]
"""By their names in lower case, as ASGI gives them."""

DELIVERY, EVENT, CONTENT = "X-GitHub-Delivery", "X-GitHub-Event", "Content-Type"
RAW: Final = {name: name.lower().encode() for name in (DELIVERY, EVENT, CONTENT)}


class Tell(Protocol):
    """Writes one line of the log."""

    def __call__(self, event: str, /, **told: object) -> None: ...


class Refused(Exception):
    """The caller's fault. The message says what is wrong and what to do."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Crowded(Exception):
    """There is no memory left for this body."""


class Held:
    """What one body takes of a room. `limit` ends the wait for the rest of it; None: all of it is there."""

    __slots__ = ("gave_way", "limit", "size")

    def __init__(self) -> None:
        self.size = 0
        self.limit: Timeout | None = None
        self.gave_way = False


class Room:
    """Memory for bodies on their way, of all connections together.

    Where they are more than *most* bytes, the one that is awaited for longest gives way: GitHub's come whole within moments. A body
    that is alone may be as large as any.
    """

    def __init__(self, most: int = MOST_HELD) -> None:
        self._most = most
        self._all: dict[Held, None] = {}
        self.taken = 0

    def grow(self, held: Held, more: int) -> None:
        """Take *more* bytes for this one. Raises Crowded."""
        if held.gave_way:
            raise Crowded
        self._all[held] = None
        held.size += more
        self.taken += more
        if self.taken > self._most:
            self._make_way(held)

    def release(self, held: Held) -> None:
        """Nothing of this one is held any more."""
        self.taken -= held.size
        held.size = 0
        self._all.pop(held, None)

    def _make_way(self, newest: Held) -> None:
        awaited = [one for one in self._all if one is not newest and one.limit is not None]
        for one in awaited:
            if self.taken <= self._most:
                return
            self.release(one)
            one.gave_way = True
            if one.limit is not None and not one.limit.expired():
                one.limit.reschedule(0)
        if self.taken > max(self._most, newest.size):  # what is whole and looked at can't give way
            raise Crowded


class Answer(Struct, frozen=True):
    """What the sender is told, and what the log line says.

    A struct, as all that is made of each delivery: to make a named tuple takes five times as long.
    """

    status: int
    outcome: Outcome
    reason: str = ""
    action: str | None = None

    @property
    def content(self) -> Mapping[str, str]:
        said = SAID.get(self.outcome)
        return {"outcome": self.outcome} if said is None else {said: self.reason}

    @property
    def headers(self) -> dict[str, str]:
        if self.status == HTTP_408_REQUEST_TIMEOUT:
            return CLOSE
        if self.outcome is not Outcome.UNAVAILABLE:
            return {}
        return {"Retry-After": RETRY_SECONDS, **(CLOSE if self.reason == CROWDED else {})}


CLOSE: Final = {"Connection": "close"}
"""Or it goes on sending, and holds the connection."""

SAID: Final = {Outcome.IGNORED: "ignored", Outcome.REFUSED: "error", Outcome.UNAVAILABLE: "error"}
"""As what the reason is told; the other outcomes need none."""

NOTHING: Final = {Taken.UNKNOWN: "nothing_judged", Taken.LATE: "older_head"}
"""Why nothing follows from what was taken in."""

BECAME: Final = {taken: Outcome(taken) for taken in Taken if taken not in NOTHING}


@dataclass(frozen=True, slots=True)
class Lock:
    """Who may come in: whoever signs with one of the secrets. Two while one is rotated out."""

    secrets: tuple[bytes, ...] = field(repr=False)

    def opens(self, signature: bytes, body: bytes) -> bool:
        """Compare in constant time, and with every secret, whichever fits."""
        return True in [
            hmac.compare_digest(signature, b"sha256=" + hmac.digest(secret, body, "sha256").hex().encode())
            for secret in self.secrets
        ]


class Meant(Struct, frozen=True):
    """A delivery that something follows from."""

    event: Event
    delivery_id: DeliveryId
    action: str | None


@dataclass(frozen=True, slots=True)
class Door:
    """Everything that one delivery passes."""

    lock: Lock
    our_app_id: int
    intake: Intake
    tally: Tally
    tell: Tell
    room: Room = field(default_factory=Room)

    async def answer(self, headers: Headers, receive: Receive) -> Answer:
        """Decide about one delivery. Raises nothing but bugs."""
        held = Held()
        try:
            signature = claimed_signature(headers)
            body = await read_body(headers, receive, held, self.room)
            if len(body) <= QUICK_BODY:
                delivery = self._opened(headers, signature, body)
            else:
                delivery = await to_thread.run_sync(self._opened, headers, signature, body)
        except Refused as refused:
            return Answer(refused.status, Outcome.REFUSED, str(refused))
        except Crowded:
            return Answer(HTTP_503_SERVICE_UNAVAILABLE, Outcome.UNAVAILABLE, CROWDED)
        finally:
            self.room.release(held)
        if isinstance(delivery, Answer):
            return delivery
        if len(body) <= QUICK_BODY and not has_long_text(delivery.found):
            meant = understood(delivery)
        else:
            meant = await to_thread.run_sync(understood, delivery)
        return meant if isinstance(meant, Answer) else await self._taken_in(meant)

    def note(self, headers: Headers, answer: Answer) -> None:
        """Count it and write its one log line."""
        self.tally.count(answer.outcome)
        self.tell(
            "delivery",
            delivery_id=said(headers, DELIVERY)[:100],
            event_name=said(headers, EVENT)[:100],
            action=answer.action,
            outcome=answer.outcome,
            status=answer.status,
            reason=answer.reason,
        )

    def _opened(self, headers: Headers, signature: bytes, body: bytes) -> Answer | Delivery:
        """What was delivered, or the answer where it can't be read."""
        try:
            return self._verified(headers, signature, body)
        except Refused as refused:
            return Answer(refused.status, Outcome.REFUSED, str(refused))
        except Malformed as malformed:
            return Answer(HTTP_400_BAD_REQUEST, Outcome.REFUSED, str(malformed))

    def _verified(self, headers: Headers, signature: bytes, body: bytes) -> Delivery:
        """Raises Refused, or Malformed."""
        if not self.lock.opens(signature, body):
            raise Refused(HTTP_401_UNAUTHORIZED, WRONG_SIGNATURE)
        require_json(headers)
        delivery_id, event_name = named(headers, DELIVERY), named(headers, EVENT)
        found = slim(body)
        envelope = taken(Envelope, found, body)
        return Delivery(DeliveryId(delivery_id), event_name, self.our_app_id, envelope, body, found)

    async def _taken_in(self, meant: Meant) -> Answer:
        try:
            outcome = await self.intake.take_in(meant.event, meant.delivery_id)
        except Unavailable as unavailable:
            reason = f"{unavailable}. {REDELIVER}"
            return Answer(HTTP_503_SERVICE_UNAVAILABLE, Outcome.UNAVAILABLE, reason, meant.action)
        became = BECAME.get(outcome)
        if became is None:
            return Answer(HTTP_202_ACCEPTED, Outcome.IGNORED, NOTHING[outcome], meant.action)
        return Answer(HTTP_202_ACCEPTED, became, "", meant.action)


def understood(delivery: Delivery) -> Answer | Meant:
    """What a delivery asks for, or the answer where that is all."""
    action = delivery.envelope.action
    try:
        event = translate(delivery)
    except Malformed as malformed:
        return Answer(HTTP_400_BAD_REQUEST, Outcome.REFUSED, str(malformed), action)
    if isinstance(event, Ignored):
        return Answer(HTTP_202_ACCEPTED, Outcome.IGNORED, event.reason, action)
    return Meant(event, delivery.delivery_id, action)


def has_long_text(found: object) -> bool:
    """No text is longer than all that was found, written down; and that is short, but for one delivery in many."""
    try:
        if len(encode(found)) <= QUICK_TEXT:
            return False
    except RecursionError:
        pass  # as deep as the door may look: what it holds is looked through below
    return _holds_long_text(found)


def _holds_long_text(found: object) -> bool:
    left = [found]
    while left:
        one = left.pop()
        if isinstance(one, str) and len(one) > QUICK_TEXT:
            return True
        if isinstance(one, dict):
            left.extend(cast("Mapping[str, object]", one).values())
        elif isinstance(one, (list, tuple)):
            left.extend(cast("Sequence[object]", one))
    return False


WRONG_SIGNATURE: Final = (
    "X-Hub-Signature-256 does not fit the body: expected the HMAC-SHA256 of its bytes under ASSAY_WEBHOOK_SECRET. "
    "Set the same secret here and in the App's settings, under Webhook."
)
REDELIVER: Final = "Deliver it again later; it counts once."
CROWDED: Final = f"Too many bodies are on their way. {REDELIVER}"


Deliver = Callable[[Scope, Receive, Send], Awaitable[None]]


def deliveries(door: Door) -> Deliver:
    """Plain ASGI, for requests to PATH."""

    async def deliver(scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(reversed([*scope["headers"]]))  # of two with one name the first counts
        answer = await door.answer(headers, receive)
        door.note(headers, answer)
        await _send(send, answer.status, PLAIN.get(answer.outcome) or written(answer.content, answer.headers))

    return deliver


def webhook_route(deliver: Deliver) -> ASGIRouteHandler:
    @asgi(PATH, copy_scope=False)
    async def receive(scope: Scope, receive: Receive, send: Send) -> None:
        if cast("HTTPScope", scope)["method"] != "POST":
            raise MethodNotAllowedException(headers={"Allow": "POST"})
        await deliver(scope, receive, send)

    return receive


class Written(NamedTuple):
    """The rest of an answer, as it is sent."""

    headers: Sequence[tuple[bytes, bytes]]
    body: bytes


def written(content: Mapping[str, str], headers: Mapping[str, str]) -> Written:
    body = encode(content)
    raw = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    return Written([*raw, *[(name.encode(), value.encode()) for name, value in headers.items()]], body)


async def respond(send: Send, status: int, content: Mapping[str, str], headers: Mapping[str, str]) -> None:
    """Answer with JSON."""
    await _send(send, status, written(content, headers))


async def _send(send: Send, status: int, answer: Written) -> None:
    await send({"type": "http.response.start", "status": status, "headers": answer.headers})
    await send({"type": "http.response.body", "body": answer.body, "more_body": False})


PLAIN: Final = {outcome: written({"outcome": outcome}, {}) for outcome in BECAME.values()}
"""What is answered to nearly everybody."""


def said(headers: Headers, name: str) -> str:
    return headers.get(RAW[name], b"").decode("latin-1")


def claimed_signature(headers: Headers) -> bytes:
    """The signature as sent. Raises Refused when there is none, before any of the body is read."""
    claimed = headers.get(b"x-hub-signature-256")
    if claimed is None:
        raise Refused(
            HTTP_401_UNAUTHORIZED,
            "X-Hub-Signature-256 is missing: the delivery is not signed. Set a secret in the App's settings, under Webhook.",
        )
    if not SIGNATURE.fullmatch(claimed):
        raise Refused(
            HTTP_401_UNAUTHORIZED, "X-Hub-Signature-256 is no signature: expected sha256= and 64 lower-case hex digits."
        )
    return claimed


async def read_body(headers: Headers, receive: Receive, held: Held, room: Room, seconds: float = BODY_SECONDS) -> bytes:
    """The raw bytes, at most 25 MB, whatever Content-Length says, and within *seconds*. Raises Refused, and Crowded."""
    if int(headers.get(b"content-length", b"0")) > LARGEST_BODY:
        raise too_large()
    first = begun(receive())
    if not isinstance(first, Begun) and _is_last(first):
        return _part(first)  # all of it is there: nothing to wait for, and no clock to set
    try:
        async with timeout(seconds) as held.limit:
            return await _whole(await first if isinstance(first, Begun) else first, receive, held, room)
    except TimeoutError:
        if held.gave_way:
            raise Crowded from None
        raise Refused(HTTP_408_REQUEST_TIMEOUT, f"The body did not come whole within {seconds:g} s.") from None
    finally:
        held.limit = None


async def _whole(message: ReceiveMessage, receive: Receive, held: Held, room: Room) -> bytes:
    parts = [_part(message)]
    room.grow(held, len(parts[0]))
    while not _is_last(message):
        message = await receive()
        parts.append(_part(message))
        if held.size + len(parts[-1]) > LARGEST_BODY:
            raise too_large()
        room.grow(held, len(parts[-1]))
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _is_last(message: ReceiveMessage) -> bool:
    return message["type"] != "http.request" or not message["more_body"]


def _part(message: ReceiveMessage) -> bytes:
    """What came of a body. Raises Refused."""
    if message["type"] != "http.request":
        raise Refused(HTTP_400_BAD_REQUEST, "The connection closed before the body was whole.")
    if len(message["body"]) > LARGEST_BODY:
        raise too_large()
    return message["body"]


def too_large() -> Refused:
    return Refused(
        HTTP_413_REQUEST_ENTITY_TOO_LARGE,
        f"The body is over {LARGEST_BODY // 1024 // 1024} MB, more than GitHub ever sends.",
    )


def require_json(headers: Headers) -> None:
    """Raises Refused for the other content type that GitHub offers."""
    if headers.get(RAW[CONTENT]) == b"application/json":
        return
    found = said(headers, CONTENT)
    if found.partition(";")[0].strip().lower() != "application/json":
        raise Refused(
            HTTP_415_UNSUPPORTED_MEDIA_TYPE,
            f'Content-Type is "{found[:100]}": expected application/json. '
            "Choose application/json in the App's settings, under Webhook.",
        )


def named(headers: Headers, header: str) -> str:
    """The header's value, a plain name. Raises Refused."""
    found = headers.get(RAW[header])
    if found is None:
        raise Refused(HTTP_400_BAD_REQUEST, f"{header} is missing. GitHub sends it with every delivery.")
    if not NAME.fullmatch(found):
        raise Refused(
            HTTP_400_BAD_REQUEST, f"{header} is no name: expected up to 100 letters, digits, dots and dashes."
        )
    return found.decode("ascii")
